"""The search for texts: against a walk by definition, and its stated rates of misses, false positives and coverage."""

import math
from collections import Counter
from itertools import product

import numpy as np
import pytest
from scipy import stats

from shuffledp.errors import DataError, ParameterError
from shuffledp.estimators import text_search
from shuffledp.histogram.labels import NO_TEXT, OTHER_TEXT, NotAValue
from shuffledp.histogram.text_code import END, FIRST_PIECE, NONE, OTHER, Step, TextCode
from shuffledp.protocols.free_text import MOST_EQUAL, FreeText, LocalMessages, TallyCounts
from shuffledp.protocols.shuffled.hashed import HashedHistogram
from shuffledp.protocols.target import Target

RATE = 1e-6
"""The rate of false failures of each statistical test."""

CODE = TextCode(levels=3, longest=8, alphabet="abcd", normalisation=())
WIDE = TextCode(levels=3, longest=8, alphabet="abc", width=2, normalisation=())
LISTED = TextCode(levels=3, longest=8, pieces=("a", "b", "ab", "bc", "c"), normalisation=())


def searching(code=CODE, users=1500, epsilon=4):
    return FreeText.for_target(code, users=users, epsilon=epsilon, delta=1e-4)


def tallied(search, held, rng):
    """The tally of messages that everybody made on their own device."""
    rows = np.repeat([search.code.values_of(text) for text in held], list(held.values()), axis=0)
    return search.protocol.tally(search.protocol.randomize(rows, rng=rng))


def support(protocol, tally, level, value):
    """The number of messages of a level that are consistent with a value, by hashing it with each seed."""
    part = protocol.level(tally, level)
    seeds, buckets = np.divmod(part.symbols, protocol.family.modulus)
    same = protocol.family.buckets(seeds, np.full(seeds.size, value)) == buckets
    return int(part.counts[same].sum())


def walked(search, tally, *, risk):
    """The reported texts with the sum of their counts, from the definition of the tests, one text at a time."""
    code, protocol, tests = search.code, search.protocol, search.tests
    levels, pieces = code.levels, range(FIRST_PIECE, code.symbols)

    def count(path, level):
        return support(protocol, tally, level, code.parent(path[:level]) * code.symbols + path[level])

    def texts(length):
        return [path for path in product(pieces, repeat=length) if code.cut(code.text(path)) == path]

    kept = {(): True}
    for length in range(1, levels):
        for path in texts(length):
            kept[path] = kept.get(path[:-1], False) and count(path, length - 1) >= tests.prefix
    found = {}
    for length in range(1, levels + 1):
        ended = [path for path in texts(length) if kept.get(path if length < levels else path[:-1], False)]
        candidates = len(ended)
        if length == levels:
            parents = [path for path in kept if len(path) == levels - 1 and kept[path] and code.continues(path)]
            candidates = len(parents) * len(pieces)
        copies = max(1, levels - length)
        threshold = tests.threshold(copies, tests.share(length) * risk / max(1, candidates))
        for path in ended:
            whole = path + (END,) * (levels - length)
            totals = np.cumsum([count(whole, level) for level in range(min(length, levels - 1), levels)])
            passes = all(totals[at] >= tests.ended(at + 1) for at in (0, 1, 3) if at < len(totals) - 1)
            if passes and totals[-1] >= threshold:
                found[code.text(path)] = int(totals[-1])
    return found


@pytest.mark.parametrize("code", [CODE, WIDE, LISTED], ids=["alphabet", "wide", "list"])
@pytest.mark.parametrize("seed", range(3))
def test_the_search_finds_what_a_walk_by_definition_finds(code, seed):
    rng = np.random.default_rng(seed)
    search = searching(code, users=900)
    texts = ["a", "b", "ab", "abc", "abb", "cab", "ccc", "bcc", "ca", "x", ""]
    held = dict(zip(texts, rng.multinomial(900, 1 / np.arange(1, 12) / sum(1 / np.arange(1, 12))), strict=True))
    tally = tallied(search, held, rng)
    estimate = search.estimate(tally, risk=0.3, reports=900)
    expected = walked(search, tally, risk=0.3)
    assert len(expected) > 2
    found = {label: at for at, label in enumerate(estimate.labels.tolist()) if isinstance(label, str)}
    assert set(found) == set(expected)
    for text, total in expected.items():
        copies = search.tests.copies(len([symbol for symbol in code.path(text) if symbol >= FIRST_PIECE]))
        assert estimate.counts[found[text]] == search.tests.counted(copies).estimate(np.array([total]))[0]
    for label, symbol in ((OTHER_TEXT, OTHER), (NO_TEXT, NONE)):
        path = (symbol, END, END)
        values = [code.parent(path[:level]) * code.symbols + path[level] for level in range(3)]
        total = sum(support(search.protocol, tally, level, value) for level, value in enumerate(values))
        assert estimate[label] == pytest.approx(search.tests.counted(3).estimate(np.array([total]))[0])


def local(search, held, rng, **options):
    return search.estimate_local(LocalMessages(search, held, rng=rng), **options)


def shown(estimate):
    return {label for label in estimate.labels.tolist() if not isinstance(label, NotAValue)}


@pytest.mark.slow
def test_texts_at_the_limit_are_found_as_often_as_stated():
    beta, trials, rng = 0.25, 40, np.random.default_rng(1)
    search = searching(users=2500)
    limit = search.plan(beta=beta).detection_limit
    texts = ["a", "bc", "abc", "dda", "ddd", "cba"]
    held = {**dict.fromkeys(texts, limit), "": 2500 - len(texts) * limit}
    found, stated = 0, set()
    for _ in range(trials):
        estimate = local(search, held, rng, beta=beta)
        stated.add(estimate.detection.limit)
        found += sum(text in estimate for text in texts)
    assert max(stated) <= limit
    fewest = stats.binom.ppf(RATE, trials * len(texts), 1 - beta)
    assert found >= fewest
    # of texts that half as many people hold, so many are not found
    half = {**dict.fromkeys(texts, limit // 2), "": 2500 - len(texts) * (limit // 2)}
    assert sum(len(shown(local(search, half, rng, beta=beta))) for _ in range(trials)) < fewest


@pytest.mark.slow
@pytest.mark.parametrize("held", [{"abc": 1500}, {"a": 700, "ab": 500, "": 300}], ids=["one text", "few texts"])
def test_false_positives_are_as_rare_as_stated(held):
    risk, trials, rng = 0.5, 60, np.random.default_rng(2)
    search = searching()
    estimates = [local(search, held, rng, risk=risk) for _ in range(trials)]
    wrong = sum(bool(shown(estimate) - set(held)) for estimate in estimates)
    assert wrong <= stats.binom.ppf(1 - RATE, trials, risk)
    assert all(set(held) - {""} <= shown(estimate) for estimate in estimates)


@pytest.mark.slow
def test_the_risk_is_used_and_not_only_kept():
    """Texts that nobody holds pass about as often as their part of the risk allows."""
    trials, rng, search = 100, np.random.default_rng(3), searching()
    wrong = sum(bool(shown(local(search, {"abc": 1500}, rng, risk=0.9)) - {"abc"}) for _ in range(trials))
    assert wrong >= stats.binom.ppf(RATE, trials, 0.15) > 0


@pytest.mark.slow
def test_intervals_hold_all_at_once_as_often_as_stated():
    beta, trials, rng = 0.3, 60, np.random.default_rng(4)
    search = searching()
    held = Counter({"a": 300, "ab": 250, "abc": 250, "dd": 200, "ccc": 150, "bad": 60, "x": 90, "": 200})
    failed = 0
    for _ in range(trials):
        estimate = local(search, held, rng, beta=beta)
        for text, people in held.items():
            label = {"x": OTHER_TEXT, "": NO_TEXT}.get(text, text)
            low, high = estimate.interval(label)
            if not low <= people <= high:
                failed += 1
                break
    assert failed <= stats.binom.ppf(1 - RATE, trials, beta)


@pytest.mark.slow
@pytest.mark.parametrize(("text", "length"), [("a", 1), ("abc", 3)])
def test_estimates_are_unbiased_with_the_stated_variance(text, length):
    trials, rng, search = 250, np.random.default_rng(5), searching()
    held, values, errors = {"a": 800, "abc": 700}, CODE.values_of(text), []
    estimator = search.tests.counted(search.tests.copies(length))
    levels = range(length, 3) if length < 3 else [2]  # those on which the whole text is counted
    for _ in range(trials):
        messages = LocalMessages(search, held, rng=rng)
        total = sum(messages.count(level, values[level : level + 1]) for level in levels)
        errors.append(estimator.estimate(total)[0] - held[text])
    chi = sum(error**2 for error in errors) / estimator.variance(held[text])
    low, high = stats.chi2.ppf([RATE / 2, 1 - RATE / 2], trials)
    assert low < chi < high
    assert trials * 0.7**2 < low  # so noise that is 30% off is rejected
    assert trials * 1.3**2 > high


def test_everybody_with_one_text_is_found():
    search = searching()
    estimate = local(search, {"dcb": 1500}, np.random.default_rng(6))
    assert shown(estimate) == {"dcb"}
    assert estimate.interval("dcb")[0] <= 1500 == estimate.interval("dcb")[1]
    assert estimate.interval("aaa") == (0, estimate.simultaneous.unreported_high)


class GivenCounts:
    """One count for (other), (none) and the only text of a code with one level."""

    def __init__(self, count):
        self._row = [0, count, count, count]

    def supports(self, level, parents):
        return np.array([self._row])

    def count(self, level, values):
        raise AssertionError("all values of one level are continuations")


@pytest.mark.slow
def test_a_missed_text_and_an_interval_share_the_failure_probability():
    """Exact failure probabilities, summed over all counts of messages, for every number of people who hold a text.

    A statement about a text fails if it is reported with a wrong interval, or not reported and above the bound.
    """
    beta, users = 0.3, 20
    search = searching(TextCode(levels=1, longest=8, alphabet="a", normalisation=()), users=users, epsilon=3)
    buckets, rate = search.protocol.family.modulus, search.protocol.dummies.rate
    numbers = np.arange(150)
    values = np.repeat(search.code.values_of("a"), users)
    tally = search.protocol.tally(search.protocol.randomize(values, rng=np.random.default_rng(12)))
    estimates = [search.estimate(tally, reports=users, beta=beta, counts=GivenCounts(at)) for at in numbers.tolist()]

    def failure(label, people, *, simultaneous):
        others = stats.binom.pmf(np.arange(users - people + 1), users - people, 1 / buckets)
        noise = np.convolve(others, stats.poisson.pmf(numbers, rate))
        chances = np.concatenate([np.zeros(people), noise])[: numbers.size]
        assert chances.sum() == pytest.approx(1, abs=1e-9)
        failed = []
        for estimate in estimates:
            low, high = estimate.interval(label, simultaneous=simultaneous)
            failed.append(not low <= people <= high)
        return float(chances[failed].sum())

    alone = [failure("a", people, simultaneous=False) for people in range(users + 1)]
    assert 0.5 * beta < max(alone) <= beta
    together = [
        failure("a", people, simultaneous=True)
        + failure(NO_TEXT, users - people, simultaneous=True)
        + failure(OTHER_TEXT, 0, simultaneous=True)
        for people in range(users + 1)
    ]
    assert 0.3 * beta < max(together) <= beta


def test_one_person_is_never_found():
    search = FreeText.for_target(CODE, users=1, epsilon=4, delta=1e-4)
    estimate = local(search, {"abc": 1}, np.random.default_rng(7))
    assert estimate.detection.limit == 2
    assert estimate.simultaneous.unreported_high == 1
    assert shown(estimate) == set()


def test_answers_without_a_text_have_a_place():
    rng, search = np.random.default_rng(8), searching(users=1200)
    held = {None: 200, "": 100, "aaaa": 150, "\x00": 150, "\ud800": 150, "A": 150, "x" * 999: 100, "dad": 200}
    estimate = local(search, held, rng)
    assert shown(estimate) == {"dad"}
    for label, people in ((OTHER_TEXT, 700), (NO_TEXT, 300)):
        low, high = estimate.interval(label)
        assert low <= people <= high


@pytest.mark.parametrize(
    "code",
    [
        CODE,
        TextCode(levels=3, longest=5, alphabet="ab", width=2, normalisation=()),
        LISTED,
        TextCode(levels=3, longest=4, pieces=("a", "aa", " ", "/", "a/"), normalisation=(Step.TRIM, Step.SLASH)),
    ],
    ids=["letters", "pairs", "list", "normalised"],
)
def test_every_text_is_a_candidate_and_nothing_that_is_cut_otherwise(code):
    every = {code.path("".join(chars)) for size in range(1, 7) for chars in product("abc /", repeat=size)}
    pieces = {tuple(symbol for symbol in path if symbol >= FIRST_PIECE) for path in every if path[0] >= FIRST_PIECE}
    for path in product(range(FIRST_PIECE, code.symbols), repeat=2):
        prefixes = {path, path[:1]}
        for one in prefixes:
            if any(text[: len(one)] == one for text in pieces):
                assert code.starts_text(one)
                assert all(code.continues(one[:at]) for at in range(len(one)))
            elif not code.normalisation and "d" not in code.text(one):
                assert not code.starts_text(one)


def test_a_tally_and_messages_made_level_by_level_agree():
    """The same messages give the same estimate, however they are counted."""
    rng, search = np.random.default_rng(9), searching()
    tally = tallied(search, {"a": 500, "abc": 1000}, rng)
    one = search.estimate(tally, reports=1500)
    other = search.estimate(tally, reports=1500, counts=TallyCounts(search.protocol, tally, threads=2))
    assert one.to_csv() == other.to_csv()


def test_fewer_reports_have_a_weaker_guarantee():
    rng, search = np.random.default_rng(10), searching()
    tally = tallied(search, {"abc": 1200}, rng)
    with pytest.raises(DataError, match="reports="):
        search.estimate(tally)
    estimate = search.estimate(tally, reports=1200)
    assert estimate.people == 1200
    assert estimate.guarantee.epsilon > 4
    assert abs(estimate["abc"] - 1200) < 60


def test_a_protocol_of_another_code_is_refused():
    target = Target(users=100, bins=50, epsilon=4, delta=1e-4)
    with pytest.raises(ParameterError, match="protocol must have the levels, values and pieces of the code"):
        FreeText(code=CODE, protocol=HashedHistogram.for_target(target))
    with pytest.raises(DataError, match="the texts have 7 people"):
        LocalMessages(searching(), {"a": 7})


def test_the_plan_is_an_upper_bound_of_the_released_limit():
    search = searching()
    plan = search.plan()
    estimate = local(search, {"abc": 900, "dd": 600}, np.random.default_rng(11))
    assert estimate.detection.limit <= plan.detection_limit <= plan.all_reported
    assert plan.bytes == pytest.approx(plan.messages * plan.bits_per_message / 8)
    assert plan.messages == search.protocol.messages_per_user.expected


# forged reports -------------------------------------------------------------------------------------------------------

WORDS = TextCode(levels=4, longest=4, alphabet="abcdefghijklmnopqrst", normalisation=())


def planted(protocol, code, *, level, path, number):
    """Forged messages of a level that are consistent with all continuations of a path: the first coefficient is 0."""
    family, seeds = protocol.family, np.arange(1 << 17)
    seeds = seeds[family.coefficients(seeds)[:, 0] == 0][:number]
    assert seeds.size == number
    buckets = family.buckets(seeds, np.full(number, code.parent(path) * code.symbols))
    return (level * family.seeds + seeds) * family.modulus + buckets


@pytest.mark.slow
def test_forged_messages_do_not_make_a_search_endless(monkeypatch):
    monkeypatch.setattr(text_search, "FEWEST_CONTINUED", 30)
    rng, search = np.random.default_rng(5), searching(WORDS, users=900)
    protocol, tests = search.protocol, search.tests
    rows = np.repeat([WORDS.values_of(text) for text in ("abc", "dddd", "e")], 300, axis=0)
    honest = protocol.randomize(rows, rng=rng)
    number = tests.prefix
    forged = [planted(protocol, WORDS, level=0, path=(), number=number)]
    forged += [planted(protocol, WORDS, level=1, path=(piece,), number=number) for piece in range(FIRST_PIECE, 23)]
    forged += [
        planted(protocol, WORDS, level=level, path=path, number=number)
        for level in (2, 3)
        for path in [WORDS.path("abc")[:level], WORDS.path("dddd")[:level]]
    ]
    alone = search.estimate(protocol.tally(honest), reports=900)
    found = search.estimate(protocol.tally(np.concatenate([honest, *forged])), reports=900, forged=True)
    most = tests.most_continued * 20
    assert tests.most_continued < 20 * 20
    assert all(0 < compared <= most + 4 * tests.most_continued for compared in found.detection.candidates)
    assert shown(alone) == {"abc", "dddd", "e"} <= shown(found)
    assert len(found) <= 4 * tests.most_continued
    assert 300 > found.detection.limit > alone.detection.limit
    assert found.simultaneous.unreported_high > alone.simultaneous.unreported_high


def test_a_repeated_message_counts_a_few_times():
    """Honest messages may be equal by chance; a forger gains next to nothing."""
    rng, search = np.random.default_rng(6), searching(users=900)
    honest = search.protocol.randomize(np.repeat([CODE.values_of("abc")], 900, axis=0), rng=rng)
    last = honest[CODE.levels - 1]  # of the first person, on the last level
    estimates = [
        search.estimate(search.protocol.tally(each), reports=900, forged=True)
        for each in (honest, np.append(honest, last), np.append(honest, np.full(500, last)))
    ]
    alone, twice, often = (float(estimate["abc"]) for estimate in estimates)
    assert alone < twice < often < alone + MOST_EQUAL + 1


@pytest.mark.slow
def test_about_the_planned_number_of_forged_messages_plants_a_text():
    """The planned number plants the text "a" in about 0.45 of all runs, and half of it in 0.005.

    With probabilities of at least 0.4 and at most 0.02, each assertion on 60 runs fails by chance at most once in 10^7.
    """
    search, rng = searching(), np.random.default_rng(31)
    tests, planned = search.tests, search.plan().planting_messages
    prefix = math.ceil(tests.prefix - tests.nobody(1).mean)
    seen = Counter()
    for share in (0.5, 1.0):
        first = round(share * prefix)
        later = round((share * planned - first) / (search.code.levels - 1))
        for _ in range(60):
            honest = search.protocol.randomize(np.tile(search.code.values_of("zz"), (1500, 1)), rng=rng)
            forged = [
                level * search.protocol.family.messages + search.protocol._hashed(np.full(number, value), rng)
                for level, (value, number) in enumerate(
                    zip(search.code.values_of("a").tolist(), (first, later, later), strict=True)
                )
            ]
            tally = search.protocol.tally(np.concatenate([honest, *forged]))
            seen[share] += "a" in search.estimate(tally, reports=1500, forged=True)
    assert seen[0.5] < 15
    assert seen[1.0] > 5

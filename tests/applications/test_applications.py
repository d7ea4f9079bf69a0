"""Support identification, pointer chasing, pointer jumping and Bernoulli means, against oracles of their own."""

import json
import math
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest
from experiments import table2
from scipy import stats

from shuffledp import BinarySum, DataError, DummyHistogram, Histogram, ParameterError, SparseHistogram, run
from shuffledp.applications import (
    BernoulliMean,
    PointerChasing,
    PointerInstance,
    PointerJumping,
    SupportIdentification,
    search,
    separate,
)
from shuffledp.applications.bernoulli import binary_sum, blanket_sum, central_sum, local_sum
from shuffledp.applications.coupons import chance_all_found, everybody_has
from shuffledp.applications.local_baselines import LocalChasing, LocalJumping, LocalSupport
from shuffledp.applications.pointer_chasing import rank, unrank
from shuffledp.applications.pointer_jumping import Level
from shuffledp.applications.search import judged, measured_users, smallest_users
from shuffledp.applications.separation import Cell, Column, Separation
from shuffledp.noise.discrete_laplace import DiscreteLaplace
from shuffledp.protocols import BlanketSum, StabilityHistogram
from shuffledp.protocols.local import HadamardResponse, RandomizedResponse
from shuffledp.report.separation_table import notes
from tests.cli.commands import command
from tests.oracles.goodness import FALSE_FAILURE_RATE, assert_law, p_value

BINS = 10**9
GUARANTEE = {"epsilon": 1, "delta": 1e-6}
FINDERS = {
    "paper": lambda users: Histogram.from_theorem(users=users, bins=BINS, epsilon=0.5, delta=5e-7),
    "exact": lambda users: Histogram.calibrate(users=users, bins=BINS, **GUARANTEE),
    "sparse": lambda users: SparseHistogram.calibrate(users=users, bins=BINS, **GUARANTEE),
    "central": lambda users: StabilityHistogram.calibrate(users=users, bins=BINS, **GUARANTEE),
}


def agrees(successes, trials, probability):
    """Whether so many successes are likely, up to the false-failure rate."""
    return stats.binomtest(int(successes), trials, min(1.0, probability)).pvalue > FALSE_FAILURE_RATE


# collecting coupons -----------------------------------------------------------------------------------------------


def enumerated(users, items, wanted, chance):
    """The same probability, by listing who holds what."""
    total = Fraction(0)
    for held in product(range(items), repeat=users):
        total += math.prod(chance(held.count(item)) for item in range(wanted))
    return total / items**users


@pytest.mark.parametrize(("users", "items", "wanted"), [(7, 3, 3), (8, 2, 2), (6, 3, 1), (5, 4, 2), (4, 1, 1)])
def test_coupons_match_enumeration(users, items, wanted):
    def chance(count):
        return Fraction(count * count, count * count + 3)

    exact = enumerated(users, items, wanted, chance)
    found = chance_all_found(users=users, items=items, wanted=wanted, chance=lambda count: float(chance(count)))
    assert found == pytest.approx(float(exact), abs=1e-12)


@pytest.mark.parametrize(("users", "items"), [(10, 10), (60, 10), (400, 50), (3000, 300)])
def test_classical_coupons_match_inclusion_and_exclusion(users, items):
    ways = sum((-1) ** j * math.comb(items, j) * (items - j) ** users for j in range(items + 1))
    exact = float(Fraction(ways, items**users))
    assert everybody_has(users=users, items=items, copies=1) == pytest.approx(exact, abs=1e-9)


def test_two_items_are_a_binomial_interval():
    users, copies = 100_000, 49_700
    exact = stats.binom.cdf(users - copies, users, 0.5) - stats.binom.cdf(copies - 1, users, 0.5)
    assert everybody_has(users=users, items=2, copies=copies) == pytest.approx(exact, abs=1e-9)


# how likely a bin is reported -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FINDERS)
@pytest.mark.parametrize("thresholded", [False, True])
def test_report_chance_is_how_often_a_bin_is_reported(name, thresholded):
    protocol, rng = FINDERS[name](7000), np.random.default_rng(1)
    error = protocol.error(0.05, occupied_bins=1).simultaneous
    at_least = error + 1 if thresholded else 0.0
    # a count for which it is nearly a coin flip
    count = next(c for c in range(1, 7000) if protocol.report_chance(c, at_least=at_least) > 0.4)
    trials = 500 if name == "sparse" else 1500
    counts = {0: count, 1: 7000 - count}
    seen = 0
    for _ in range(trials):
        estimate = protocol.estimate(protocol.sample_tally(counts, rng=rng))
        seen += 0 in estimate and estimate[0] >= at_least
    assert agrees(seen, trials, protocol.report_chance(count, at_least=at_least))
    assert protocol.report_chance(0, at_least=at_least) == 0


def test_report_chance_of_the_histogram_is_its_definition():
    protocol = Histogram(users=12, bins=5, missing_probability=0.25)
    for count, at_least in product(range(13), (0.0, 2.5, 5.0)):
        exact = sum(protocol.noise.pmf_fraction(m) for m in range(13) if count - m > 0 and count - m + 3 >= at_least)
        assert protocol.report_chance(count, at_least=at_least) == pytest.approx(float(exact), abs=1e-12)


# support identification -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["any", "paper"])
@pytest.mark.parametrize(("name", "items"), [("paper", 2), ("exact", 2), ("exact", 8), ("sparse", 8), ("central", 8)])
def test_the_sample_size_is_right_and_not_more_than_needed(name, items, rule):
    if (name, rule) == ("sparse", "paper"):
        items = 2
    problem, rng = SupportIdentification(items_in_support=items, bins=BINS), np.random.default_rng(2)
    users = problem.sample_size(FINDERS[name], rule=rule)
    protocol = FINDERS[name](users)
    exact = problem.success(protocol, rule=rule)
    assert 0.99 <= exact < 0.9999
    error = problem.error_bound(protocol) if rule == "paper" else None
    trials, found = 400 if name == "sparse" else 1000, 0
    for _ in range(trials):
        support = problem.draw(rng=rng)
        tally = protocol.sample_tally(problem.sample(support, users=users, rng=rng), rng=rng)
        found += problem.identify(protocol.estimate(tally), error=error) == set(support)
    assert agrees(found, trials, exact)
    if name != "paper":  # the theorem asks for 6,081 people whatever the problem
        fewer = max(int(0.85 * users), type(protocol).minimum_users(**GUARANTEE))
        assert problem.success(FINDERS[name](fewer), rule=rule) < 0.99


@pytest.mark.parametrize("items", [1, 2, 10, 50])
def test_the_claim_holds_with_room_to_spare(items):
    """The paper's proof is enough, by about a factor of two even with the paper's own noise."""
    problem = SupportIdentification(items_in_support=items, bins=BINS)
    claimed = problem.claimed_sample_size(**GUARANTEE)
    assert problem.success(FINDERS["paper"](claimed), rule="paper") >= 0.99
    assert problem.sample_size(FINDERS["paper"], rule="any") <= problem.sample_size(FINDERS["paper"], rule="paper")
    assert problem.sample_size(FINDERS["paper"], rule="paper") <= claimed
    assert claimed < 1000 * items * max(1, math.log(items)) * math.log(1e6)
    assert problem.sample_size(FINDERS["exact"]) < claimed / 30


def test_the_number_of_bins_does_not_matter():
    for name in (Histogram, SparseHistogram, StabilityHistogram):
        chances = {
            SupportIdentification(items_in_support=3, bins=bins).success(
                name.calibrate(users=400, bins=bins, **GUARANTEE)
            )
            for bins in (400, 10**6, 2 * math.factorial(1000))
        }
        assert max(chances) - min(chances) < 1e-12


def test_drawn_supports_are_uniform():
    problem, rng = SupportIdentification(items_in_support=2, bins=5), np.random.default_rng(3)
    pairs = [(a, b) for a in range(5) for b in range(a + 1, 5)]
    drawn = [pairs.index(problem.draw(rng=rng)) for _ in range(5000)]
    assert p_value(np.bincount(drawn, minlength=10), np.full(10, 0.1)) > FALSE_FAILURE_RATE


# pointer chasing --------------------------------------------------------------------------------------------------

WITH_PHANTOMS = DummyHistogram.calibrate(users=500, bins=12, **GUARANTEE)
BY_HAND = PointerInstance(first=(3, 1, 4, 2), second=(2, 4, 1, 3))
# a_1 = 3, b_3 = 1, a_1 = 3, ...; from 3 to 1 and back for ever
OTHER = PointerInstance(first=(2, 3, 1), second=(3, 1, 2))
# a_1 = 2, b_2 = 1, a_1 = 2, ... and with b = (3, 2, 1): 2, 2, 3, 1, 1 below
LONGER = PointerInstance(first=(2, 3, 1), second=(3, 2, 1))
# a_1 = 2, b_2 = 2, a_2 = 3, b_3 = 1, a_1 = 2


def test_the_chase_by_hand():
    def chased(instance, steps):
        return [PointerChasing(steps=k, length=len(instance.first)).answer(instance) for k in range(1, steps + 1)]

    assert chased(BY_HAND, 4) == [3, 1, 3, 1]
    assert chased(OTHER, 3) == [2, 1, 2]
    assert chased(LONGER, 5) == [2, 2, 3, 1, 2]


def test_a_chase_without_a_permutation_that_it_needs_has_no_answer():
    first, second = BY_HAND.support
    assert PointerChasing(steps=1, length=4).chase([first]) == 3
    assert PointerChasing(steps=2, length=4).chase([first]) is None
    assert PointerChasing(steps=1, length=4).chase([second]) is None


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_permutations_are_numbered(length):
    listed = list(permutations(range(1, length + 1)))
    assert [rank(permutation) for permutation in listed] == list(range(len(listed)))
    assert [unrank(place, length) for place in range(len(listed))] == listed
    problem = PointerChasing(steps=2, length=length)
    labels = [(part, permutation) for part in (1, 2) for permutation in listed]
    assert problem.encode(labels).tolist() == list(range(problem.bins))
    assert [problem.decode(number) for number in range(problem.bins)] == labels


@pytest.mark.parametrize("by_messages", [True, False])
def test_messages_and_the_drawn_law_agree_for_short_permutations(by_messages):
    """Every coordinate of the tally, and how often the chase succeeds, for all 2 * 3! values."""
    problem, rng = PointerChasing(steps=2, length=3), np.random.default_rng(4)
    protocol = Histogram(users=30, bins=problem.bins, missing_probability=0.3125)
    first, second = problem.encode(LONGER.support).tolist()
    noise, solved, trials = [], 0, 1500
    for _ in range(trials):
        if by_messages:
            values = rng.choice([first, second], size=30)
            tally = protocol.tally(rng.permutation(protocol.randomize(values, rng=rng)))
            counts = np.bincount(values, minlength=problem.bins)
            noise.append(counts + 30 - tally.counts)
        else:
            sample = problem.sample(LONGER, users=30, rng=rng)
            tally = protocol.sample_tally(sample, rng=rng)
            noise.append(sample.counts + 30 - tally.counts)
        solved += problem.solved(LONGER, protocol.estimate(tally))
    for coordinate in np.array(noise).T:
        assert_law(coordinate, 0, protocol.noise.window.pmf)
    assert agrees(solved, trials, problem.success(protocol))
    assert 0.1 < problem.success(protocol) < 0.9


def test_a_whole_run_with_messages():
    problem, rng = PointerChasing(steps=2, length=4), np.random.default_rng(5)
    protocol = Histogram.calibrate(users=300, bins=problem.bins, **GUARANTEE)
    values = rng.choice(problem.encode(BY_HAND.support), size=300)
    assert problem.solve(run(protocol, values, rng=rng)) == 1


@pytest.mark.parametrize("length", [10, 10_000])
def test_long_permutations_are_solved_by_few_people(length):
    problem, rng = PointerChasing(steps=2, length=length), np.random.default_rng(6)
    trials, solved = 40, 0
    protocol = Histogram.calibrate(users=200, bins=problem.bins, **GUARANTEE)
    for _ in range(trials):
        instance = problem.draw(rng=rng)
        tally = protocol.sample_tally(problem.sample(instance, users=200, rng=rng), rng=rng)
        solved += problem.solved(instance, protocol.estimate(tally, domain=problem.domain))
    assert problem.success(protocol) > 0.999
    assert solved >= 38


def test_one_step_needs_one_permutation():
    protocol = FINDERS["exact"](160)
    one, two = (PointerChasing(steps=k, length=50).success(protocol) for k in (1, 2))
    halves = stats.binom.pmf(np.arange(161), 160, 0.5)
    assert one == pytest.approx(sum(halves * [protocol.report_chance(c) for c in range(161)]), abs=1e-9)
    assert two < one < 1
    assert PointerChasing(steps=7, length=50).success(protocol) == two


# pointer jumping --------------------------------------------------------------------------------------------------


def test_the_path_by_hand():
    problem = PointerJumping(levels=3, branching=2)
    items = [(2, (1, 0)), (1, (1,)), (3, (0, 1, 1, 0))]
    # the root says 1; node 1 of level 2 says 0; that is node 2 of level 3, which says 1
    assert problem.path(items) == (1, 0, 1)
    assert problem.path(items[:2]) is None
    assert problem.bins == 2**1 + 2**2 + 2**4


def test_levels_too_large_to_list_are_made_on_demand():
    problem, rng = PointerJumping(levels=8), np.random.default_rng(7)
    assert problem.branching == 8**4
    instance = problem.draw(rng=rng)
    path, node = [], 0
    for level in instance:
        path.append(level.label(node))
        node = node * 8**4 + path[-1]
    assert problem.answer(instance) == tuple(path)
    assert all(0 <= label < 8**4 for label in path)
    with pytest.raises(DataError, match="no such node"):
        instance[1].label(8**4)


def test_labels_are_uniform():
    level = Level(3, 10, b"key")
    assert p_value(np.bincount([level.label(node) for node in range(100)], minlength=10), np.full(10, 0.1)) > 1e-6
    assert len(level.item[1]) == 100
    assert Level(3, 10, b"key").item == level.item != Level(3, 10, b"another").item


def test_jumping_is_solved_as_often_as_computed():
    problem, rng = PointerJumping(levels=4), np.random.default_rng(8)
    protocol = Histogram.calibrate(users=250, bins=problem.bins, **GUARANTEE)
    trials, solved = 500, 0
    for _ in range(trials):
        instance = problem.draw(rng=rng)
        tally = protocol.sample_tally(problem.sample(instance, users=250, rng=rng), rng=rng)
        solved += problem.solved(instance, protocol.estimate(tally))
    assert 0.5 < problem.success(protocol) < 0.99
    assert agrees(solved, trials, problem.success(protocol))


# local baselines --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [HadamardResponse, RandomizedResponse])
@pytest.mark.parametrize("held", [[2], [0, 3, 5], [0, 1, 2, 3, 4, 5]])
def test_the_law_of_reports_is_that_of_the_messages(kind, held):
    oracle, rng = kind(users=20_000, bins=6, epsilon=1.0), np.random.default_rng(9)
    shares = np.zeros(6)
    shares[held] = 1 / len(held)
    law = oracle.report_law(shares)
    assert law.sum() == pytest.approx(1)
    messages = oracle.randomize(rng.choice(held, size=20_000), rng=rng)
    sent = np.bincount(messages, minlength=oracle.symbols)
    assert p_value(sent, law) > FALSE_FAILURE_RATE
    assert np.array_equal(oracle.supports_of(sent), oracle.supports(messages))


@pytest.mark.parametrize(
    "baseline",
    [
        LocalChasing(problem=PointerChasing(steps=2, length=5), users=600, epsilon=1.0),
        LocalChasing(problem=PointerChasing(steps=2, length=4), users=12, epsilon=4.0),
        LocalJumping(problem=PointerJumping(levels=2), users=300, epsilon=1.0),
        LocalSupport(problem=SupportIdentification(items_in_support=3, bins=50), users=800, epsilon=1.0),
    ],
    ids=["chasing", "chasing by randomized response", "jumping", "support"],
)
def test_baselines_drawn_from_their_law_succeed_as_often_as_with_messages(baseline):
    rng, trials = np.random.default_rng(10), 1500
    drawn, made = (sum(method(rng) for _ in range(trials)) for method in (baseline.run, baseline.run_messages))
    assert 0.2 * trials < drawn < 0.97 * trials
    table = [[drawn, trials - drawn], [made, trials - made]]
    assert stats.fisher_exact(table).pvalue > FALSE_FAILURE_RATE


def test_a_local_baseline_with_hardly_any_privacy_needs_only_the_sample():
    problem = PointerChasing(steps=2, length=5)
    rng = np.random.default_rng(11)
    assert all(LocalChasing(problem=problem, users=200, epsilon=20.0).run(rng) for _ in range(50))
    assert sum(LocalChasing(problem=problem, users=200, epsilon=0.01).run(rng) for _ in range(200)) < 60


# the search -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("trials", [100, 1000])
@pytest.mark.parametrize("level", [0.01, 1e-4])
def test_verdicts_are_those_of_clopper_and_pearson(trials, level):
    for failures in range(0, 60):
        lower = 0.0 if failures == trials else stats.beta.ppf(level, trials - failures, failures + 1)
        upper = 1.0 if failures == 0 else stats.beta.ppf(1 - level, trials - failures + 1, failures)
        expected = True if lower >= 0.99 else False if upper <= 0.99 else None
        assert judged(failures=failures, trials=trials, target=0.99, level=level) == expected


def test_the_smallest_number_is_found():
    assert smallest_users(lambda users: users / 1000) == 990
    assert smallest_users(lambda users: users / 1000, target=0.5, least=700) == 700
    with pytest.raises(ParameterError, match="no number of people"):
        smallest_users(lambda users: 0.5)


def known_success(users):
    """1 - e^(-users / 100): 0.99 at 460.5 people."""
    return 1 - math.exp(-users / 100)


@pytest.mark.parametrize("start", [2.0, 100.0, 460.0, 9000.0])
def test_a_measured_number_brackets_the_true_one(start):
    found = measured_users(
        lambda users, rng: bool(rng.random() < known_success(users)), start=start, rng=np.random.default_rng(12)
    )
    assert found.too_few < 460.5 <= found.users
    assert found.users < 1.8 * found.too_few


def test_measured_numbers_are_as_sure_as_they_say():
    """With confidence 0.9, at most a tenth of the pairs may be wrong (and with Bonferroni far fewer are)."""
    rng, wrong = np.random.default_rng(13), 0
    for _ in range(30):
        found = measured_users(
            lambda users, rng: bool(rng.random() < known_success(users)), start=450.0, rng=rng, confidence=0.9
        )
        wrong += not found.too_few < 460.5 <= found.users
    assert stats.binomtest(wrong, 30, 0.1, alternative="greater").pvalue > FALSE_FAILURE_RATE


def test_the_levels_of_all_looks_and_tests_add_up_to_the_error(monkeypatch):
    levels = []

    def undecided_for_long(*, level, **_):
        levels.append(level)
        return {60: True, 120: False}.get(len(levels))

    monkeypatch.setattr(search, "judged", undecided_for_long)
    measured_users(lambda users, rng: users >= 10**6, start=1e6, rng=np.random.default_rng(1), confidence=0.95)
    assert len(levels) == 120
    assert 0.04 < sum(levels) <= 0.05
    assert all(level > 0 for level in levels)


# Bernoulli means --------------------------------------------------------------------------------------------------


def binary_sum_estimates(protocol, estimator):
    def draw(ones, rng):
        return protocol.estimate(protocol.sample_tally(ones, rng=rng), estimator=estimator)[1]

    return draw


def coin_flips(users):
    oracle = RandomizedResponse(users=users, bins=2, epsilon=1.0)

    def draw(ones, rng):
        bits = np.arange(users) < ones
        return oracle.estimate(oracle.tally(oracle.randomize(bits.astype(np.int64), rng=rng)))[1]

    return draw


def laplace(ones, rng):
    return ones + int(DiscreteLaplace(decay=round(math.exp(-1) * 2**53) / 2**53).sample(1, rng=rng)[0])


@pytest.mark.parametrize("mean", [0.0, 0.06, 0.5, 0.9])
@pytest.mark.parametrize("name", ["local", "exact", "paper", "blanket", "central"])
def test_success_of_a_mean_is_that_of_the_protocol(name, mean):
    users, alpha = {"local": 400, "exact": 200, "paper": 3000, "blanket": 250, "central": 100}[name], 0.05
    calibrated = BinarySum.calibrate(users=200, **GUARANTEE)
    published = BinarySum.from_theorem(users=3000, **GUARANTEE)
    blanket = BlanketSum.calibrate(users=250, **GUARANTEE)
    law, draw = {
        "local": (local_sum(users=400, epsilon=1.0), coin_flips(400)),
        "exact": (binary_sum(calibrated, estimator="unbiased"), binary_sum_estimates(calibrated, "unbiased")),
        "paper": (binary_sum(published, estimator="truncated"), binary_sum_estimates(published, "truncated")),
        "blanket": (blanket_sum(blanket), binary_sum_estimates(blanket, "unbiased")),
        "central": (central_sum(users=100, epsilon=1.0), laplace),
    }[name]
    rng, trials = np.random.default_rng(14), 600
    close = 0
    for _ in range(trials):
        estimate = draw(int(rng.binomial(users, mean)), rng)
        close += abs(estimate - users * mean) <= alpha * users + 1e-9
    assert agrees(close, trials, BernoulliMean(alpha=alpha).success(law, users=users, mean=mean))


SUMS = {
    "local": lambda users: local_sum(users=users, epsilon=1.0),
    "exact": lambda users: binary_sum(BinarySum.calibrate(users=users, **GUARANTEE), estimator="unbiased"),
    "paper": lambda users: binary_sum(BinarySum.from_theorem(users=users, **GUARANTEE), estimator="truncated"),
    "blanket": lambda users: blanket_sum(BlanketSum.calibrate(users=users, **GUARANTEE)),
    "central": lambda users: central_sum(users=users, epsilon=1.0),
}


@pytest.mark.parametrize("alpha", [0.1, 0.17])
@pytest.mark.parametrize("users", [211, 775])
@pytest.mark.parametrize("name", ["local", "exact", "central"])
def test_the_worst_mean_is_found(name, users, alpha):
    """Against p on both sides of every one at which some estimate becomes too far away."""
    problem, protocol = BernoulliMean(alpha=alpha), SUMS[name](users)
    estimates = np.unique(protocol(0.5).estimates)
    step = estimates[1] - estimates[0]
    lattice = estimates[0] + step * np.arange(-estimates[0] // step - 2 * users, 3 * users)
    edges = np.concatenate([lattice / users - alpha, lattice / users + alpha])
    near = (edge + side for edge in edges for side in (-1e-7, 1e-7))
    worst = min(problem.success(protocol, users=users, mean=mean) for mean in near if 0 <= mean <= 1)
    assert problem.worst_success(protocol, users=users) == pytest.approx(worst, abs=1e-5)


@pytest.mark.parametrize(
    ("name", "alpha"), [("local", 0.1), ("exact", 0.1), ("blanket", 0.1), ("central", 0.1), ("paper", 0.3)]
)
def test_so_many_people_are_enough_for_every_mean(name, alpha):
    """And so are all numbers in the next few ripples, but not one person fewer."""
    problem = BernoulliMean(alpha=alpha)
    users = problem.sample_size(SUMS[name])
    means = np.concatenate([np.linspace(0, 1, 21), np.linspace(0.48, 0.52, 81), [alpha + 1e-6]])
    for number in range(users, users + 30, 1 if users < 1000 else 7):
        protocol = SUMS[name](number)
        assert min(problem.success(protocol, users=number, mean=mean) for mean in means) >= 0.99
    assert problem.worst_success(SUMS[name](users - 1), users=users - 1) < 0.99


@pytest.mark.parametrize("mean", [0.03, 0.4, 0.97])
def test_edges_are_where_estimates_are_lost_among_millions_of_people(mean):
    users, problem = 6_647_507, BernoulliMean(alpha=0.01)
    protocol = local_sum(users=users, epsilon=0.1)
    estimates = protocol(mean).estimates
    for side, sign in (("above", 1), ("below", -1)):
        origin, step = problem._edges(protocol, users)[side]
        edge = origin + round((mean - origin) / step) * step
        assert np.abs(estimates + sign * problem.alpha * users - edge * users).min() < 5e-7


def test_means_near_one_half_are_not_missed():
    assert BernoulliMean(alpha=0.1).worst_success(SUMS["local"](775), users=775) < 0.9893
    assert BernoulliMean(alpha=0.1).worst_success(SUMS["central"](172), users=172) < 0.9890


def test_the_local_model_pays_for_privacy_in_the_leading_term():
    """Local: 1 / (alpha epsilon)^2. Shuffled: 1 / alpha^2 and a term that matters less as alpha falls."""
    wish = {"epsilon": 0.5, "delta": 1e-6}
    ratios = []
    for alpha in (0.1, 0.02):
        problem = BernoulliMean(alpha=alpha)
        local = problem.sample_size(lambda users: local_sum(users=users, epsilon=0.5))
        shuffled = problem.sample_size(
            lambda users: binary_sum(BinarySum.calibrate(users=users, **wish), estimator="unbiased")
        )
        central = problem.sample_size(lambda users: central_sum(users=users, epsilon=0.5))
        # with coin flips the variance is that of the sample, 1/4, times ((e^eps + 1) / (e^eps - 1))^2
        assert local == pytest.approx(stats.norm.ppf(0.995) ** 2 / 4 / alpha**2 / math.tanh(0.25) ** 2, rel=0.03)
        assert central < shuffled < local
        assert local >= problem.local_bound(epsilon=0.5)
        ratios.append(shuffled / central)
    assert ratios[1] < ratios[0]
    assert ratios[1] < 1.1


# the separation ---------------------------------------------------------------------------------------------------


def test_the_local_curve_grows_and_the_shuffled_ones_do_not():
    result = separate("pointer-chasing", sizes=(4, 24), seed=1, **GUARANTEE)
    small, large = result.column("local")
    assert large.too_few > 3 * small.users
    for name in ("claim", "paper", "exact", "sparse", "central"):
        users = {cell.users for cell in result.column(name)}
        assert len(users) == 1
    (central,), (sparse,), (exact,), (paper,) = (
        {cell.users for cell in result.column(name)} for name in ("central", "sparse", "exact", "paper")
    )
    assert central < sparse < exact < paper


def test_what_cannot_be_had_says_why():
    result = separate("support", sizes=(2,), seed=1, epsilon=3, delta=1e-6, local=False)
    (paper,) = result.column("paper")
    assert paper.users is None
    assert "above 1" in paper.problem
    assert result.column("exact")[0].users < 100
    (bound,) = separate("pointer-jumping", sizes=(2,), seed=1, branching=5, local=False, **GUARANTEE).column(
        "local-bound"
    )
    assert "h^4" in bound.problem


def test_notes_name_every_row_that_is_missing_and_the_halves_of_the_theorem():
    lines = notes(separate("support", sizes=(2, 4), seed=1, epsilon=3, delta=1e-6, local=False))
    missing = [line for line in lines if "in total" in line]
    assert [line.split(":")[0] for line in missing] == ["shuffled, paper's proof", "shuffled, paper's noise"]
    assert all("for (3, 1e-06) in total the theorem is used with half of it, (1.5, 5e-07)" in line for line in missing)
    assert any("h max(1, log h)" in line for line in lines)


def test_notes_count_trials_only_if_there_were_some():
    column = Column(name="local", model="local", how="measured", title="local")
    for trials, said in ((None, False), (500, True)):
        cell = Cell(users=trials, trials=trials, problem="" if trials else "no")
        result = Separation(problem="support", size_name="h", sizes=(2,), confidence=0.99, columns=(column,),
                            cells=((cell,),), **GUARANTEE)  # fmt: skip
        assert any("trials" in line for line in notes(result)) == said


def test_the_claim_is_for_the_total_delta():
    """(1 / 400)^(1/25) = 0.787 lies between delta / 2 and delta."""
    with pytest.raises(ParameterError, match=r"delta=0\.8 "):
        SupportIdentification(items_in_support=2, bins=9).claimed_sample_size(epsilon=1, delta=0.8)


def test_many_levels_have_a_number_of_bins():
    assert PointerJumping(levels=48).bins == PointerJumping(levels=100).bins == 2**4096
    assert PointerJumping(levels=12, branching=2).bins == sum(2**2**depth for depth in range(12))
    assert PointerJumping(levels=13, branching=2).bins == 2**4096


def test_the_command_prints_tables_json_and_figures(tmp_path):
    wish = ["separate", "--epsilon", "1", "--delta", "1e-6"]
    result = command(*wish, "--problem", "pointer-chasing", "--l", "10,10000", "--no-local", "--figure", "f.png",
                     cwd=tmp_path)  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "l = 10,000" in result.stdout
    assert (tmp_path / "f.png").stat().st_size > 10_000
    data = json.loads(command(*wish, "--problem", "bernoulli", "--alpha", "0.1", "--json").stdout)
    assert {column["name"] for column in data["columns"]} >= {"local", "paper", "exact", "blanket", "central"}
    assert all(cell["users"] > 0 for column in data["columns"] for cell in column["cells"])


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--problem", "chess"], "problem must be one of pointer-chasing"),
        (["--problem", "support", "--l", "3"], "--l does not belong to support"),
        (["--problem", "pointer-chasing", "--l", "ten"], "l must be whole numbers"),
        (["--problem", "pointer-chasing", "--l", "0"], "l must be at least 1"),
        (["--problem", "pointer-jumping", "--h", "1"], "h must be at least 2"),
        (["--problem", "pointer-jumping", "--s", "0"], "s must be at least 1"),
        (["--problem", "pointer-jumping", "--s", "3,4"], "s must be one whole number"),
        (["--problem", "pointer-jumping", "--h", "2", "--s", "\u00b2"], "s must be one whole number"),
        (["--problem", "pointer-jumping", "--h", "1000000"], "h must be at most"),
        (["--problem", "bernoulli", "--alpha", "1.5"], "alpha must lie strictly between 0 and 1"),
        (["--problem", "support", "--figure", "f.txt"], "a figure must end in"),
        (["--problem", "support", "--seed", "-1"], "seed must be at least 0"),
    ],
)
def test_bad_requests_are_one_clear_error(arguments, reason):
    result = command("separate", "--epsilon", "1", "--delta", "1e-6", *arguments)
    assert result.returncode == 2
    assert reason in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (lambda: SupportIdentification(items_in_support=0, bins=5), "items_in_support must be at least 1"),
        (lambda: SupportIdentification(items_in_support=6, bins=5), "must not exceed bins=5"),
        (lambda: SupportIdentification(items_in_support=2, bins=5).sample_size(FINDERS["exact"], rule="x"), "rule"),
        (lambda: SupportIdentification(items_in_support=10**6, bins=10**6).claimed_sample_size(epsilon=1, delta=0.99),
         "as the claim asks"),
        (lambda: SupportIdentification(items_in_support=2, bins=5).sample((1,), users=5), "2 different items"),
        (lambda: PointerChasing(steps=0, length=3), "steps must be at least 1"),
        (lambda: PointerChasing(steps=2, length=2.5), "length must be a whole number"),
        (lambda: PointerChasing(steps=2, length=9).encode([]), "too long for messages"),
        (lambda: PointerInstance((1, 2), (1, 1)), "permutations"),
        (lambda: PointerInstance((1, 2), (1, 2, 3)), "permutations"),
        (lambda: PointerJumping(levels=0), "levels must be at least 1"),
        (lambda: PointerJumping(levels=2, branching=-1), "branching must be at least 1"),
        (lambda: LocalChasing(problem=PointerChasing(steps=3, length=4), users=9, epsilon=1.0), "steps=2"),
        (lambda: BernoulliMean(alpha=0), "alpha must lie strictly"),
        (lambda: PointerJumping(levels=2, branching=0), "branching must be at least 1"),
        (lambda: PointerJumping(levels=3).answer(PointerJumping(levels=2).draw()), "not one of 3 levels"),
        (lambda: PointerJumping(levels=2, branching=3).sample(PointerJumping(levels=2).draw(), users=9), "branching 3"),
        (lambda: PointerChasing(steps=2, length=3).answer(BY_HAND), "not of 1 .. 3"),
        (lambda: PointerChasing(steps=2, length=3).encode([(3, (1, 2, 3))]), "1 or 2 and a permutation"),
        (lambda: PointerChasing(steps=2, length=3).encode([(1, (1, 2, 2))]), "1 or 2 and a permutation"),
        (lambda: PointerChasing(steps=2, length=3).encode([7]), "1 or 2 and a permutation"),
        (lambda: PointerChasing(steps=2, length=3).decode(12), "numbered 0 .. 11"),
        (lambda: PointerChasing(steps=2, length=3).decode(-1), "numbered 0 .. 11"),
        (lambda: SupportIdentification(items_in_support=2, bins=5).success(WITH_PHANTOMS), "phantom bins"),
        (lambda: PointerChasing(steps=2, length=3).success(WITH_PHANTOMS), "phantom bins"),
        (lambda: separate("support", seed=1, branching=3, **GUARANTEE), "branching is no option of support"),
        (lambda: separate("bernoulli", seed=1, bins=3, **GUARANTEE), "bins is no option of bernoulli"),
        (lambda: separate("support", seed=1, sizes=3, **GUARANTEE), "sizes must be a list"),
        (lambda: separate(["support"], seed=1, **GUARANTEE), "problem must be one of"),
        (lambda: separate("pointer-jumping", seed=1, sizes=(2,), branching=0, **GUARANTEE), "at least 1"),
        (lambda: separate("go", seed=1, **GUARANTEE), "problem must be one of"),
        (lambda: separate("support", sizes=(), seed=1, **GUARANTEE), "at least one value"),
    ],
)  # fmt: skip
def test_bad_parameters(wrong, reason):
    with pytest.raises((ParameterError, DataError), match=reason):
        wrong()


def test_table_2_is_written(tmp_path):
    (tmp_path / "figures").mkdir()
    runs = (
        ("pointer-jumping", {"epsilon": 1, "sizes": (2,), "local": False}),
        ("bernoulli", {"epsilon": 1, "sizes": (0.2,)}),
    )
    table2.main(tmp_path, runs=runs)
    page = (tmp_path / "table2.md").read_text()
    assert "## Pointer jumping, epsilon 1" in page
    assert "| shuffled, exact | 163 |" in page
    assert (tmp_path / "figures" / "table2.png").stat().st_size > 10_000

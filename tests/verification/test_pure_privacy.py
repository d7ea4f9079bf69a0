"""Section 4 of the paper in exact fractions: claim, theorem, both counterexamples, and the lemma of CSU+19."""

import math
import re
from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product
from pathlib import Path

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp import BinarySum, DataError, ParameterError
from shuffledp.protocols import HadamardResponse, RandomizedResponse, UnaryEncoding
from shuffledp.verification.exact.divergence import logarithm_above
from shuffledp.verification.exact.enumeration import exact_delta, shuffled_law
from shuffledp.verification.exact.finite import FiniteRandomizer
from shuffledp.verification.exact.gap import Gap, best_gap, largest_log_ratio
from shuffledp.verification.exact.pure import generating_ratio, opposite_bits, removal_cost, shuffler_removal
from tests.oracles.goodness import FALSE_FAILURE_RATE, p_value

HALF = Fraction(1, 2)


def laws(outcomes, *, zeros=True):
    """Random exact laws on the given outcomes; with `zeros`, some outcomes may be impossible."""
    weights = st.lists(st.integers(0 if zeros else 1, 9), min_size=len(outcomes), max_size=len(outcomes))
    return weights.filter(any).map(
        lambda w: {outcome: Fraction(x, sum(w)) for outcome, x in zip(outcomes, w, strict=True)}
    )


@st.composite
def single_message(draw):
    values, symbols = draw(st.integers(2, 3)), draw(st.integers(2, 4))
    zeros = draw(st.booleans())
    return FiniteRandomizer.single({v: draw(laws(range(symbols), zeros=zeros)) for v in range(values)})


@st.composite
def multi_message(draw):
    """Up to two messages over two symbols, in any order."""
    sent = [(), (0,), (1,), (0, 0), (0, 1), (1, 0), (1, 1)]
    return FiniteRandomizer({v: draw(laws(sent, zeros=draw(st.booleans()))) for v in range(2)})


def neighbours(randomizer, users):
    """By the definition, in the slowest way: all ordered datasets, and all that differ in one row."""
    for dataset in product(randomizer.values, repeat=users):
        for row, value in product(range(users), randomizer.values):
            if value != dataset[row]:
                yield dataset, (*dataset[:row], value, *dataset[row + 1 :])


def by_definition(randomizer, users, ratio):
    outputs = {
        dataset: shuffled_law(randomizer.table[value] for value in dataset)
        for dataset in product(randomizer.values, repeat=users)
    }
    return max(exact_delta(outputs[x], outputs[y], ratio=ratio) for x, y in neighbours(randomizer, users))


@settings(max_examples=40, deadline=None)
@given(st.one_of(single_message(), multi_message()), st.integers(1, 3), st.fractions(1, 6, max_denominator=7))
def test_delta_is_its_definition_over_all_ordered_datasets(randomizer, users, ratio):
    worst = randomizer.shuffled_delta(users=users, ratio=ratio)
    assert worst.delta == by_definition(randomizer, users, ratio)
    first, second = (shuffled_law(randomizer.table[v] for v in data) for data in (worst.dataset, worst.neighbour))
    assert exact_delta(first, second, ratio=ratio) == worst.delta


@settings(max_examples=60, deadline=None)
@given(st.one_of(single_message(), multi_message()), st.integers(1, 3), st.fractions(0, HALF, max_denominator=50))
def test_the_exact_ratio_is_enough_and_nothing_smaller_is(randomizer, users, delta):
    exact = randomizer.shuffled_privacy(users=users, delta=delta)
    if exact.ratio is None:
        assert by_definition(randomizer, users, Fraction(10**30)) > delta
        return
    assert by_definition(randomizer, users, exact.ratio) <= delta
    if exact.ratio > 1:
        assert by_definition(randomizer, users, exact.ratio * (1 - Fraction(1, 10**9))) > delta
    with mpmath.workdps(50):
        logarithm = mpmath.log(mpmath.mpf(exact.ratio.numerator) / exact.ratio.denominator)
        assert logarithm <= exact.epsilon <= logarithm * (1 + mpmath.mpf("2e-15"))


@settings(max_examples=60, deadline=None)
@given(st.one_of(single_message(), multi_message()), st.integers(1, 4))
def test_the_witness_attains_the_pure_ratio(randomizer, users):
    exact = randomizer.shuffled_privacy(users=users)
    assert sum(a != b for a, b in zip(exact.dataset, exact.neighbour, strict=True)) == 1
    here = randomizer.shuffled_law(exact.dataset)[exact.outcome]
    there = randomizer.shuffled_law(exact.neighbour).get(exact.outcome, 0)
    assert here == exact.ratio * there if exact.ratio is not None else (here > 0 and there == 0)


@settings(max_examples=40, deadline=None)
@given(st.one_of(single_message(), multi_message()), st.data())
def test_the_fast_law_is_the_plain_one(randomizer, data):
    dataset = data.draw(st.lists(st.sampled_from(randomizer.values), min_size=1, max_size=4))
    plain = shuffled_law(randomizer.table[value] for value in dataset)
    assert randomizer.shuffled_law(dataset) == {outcome: p for outcome, p in plain.items() if p}


def larger(ratio):
    return math.inf if ratio is None else ratio


@settings(max_examples=40, deadline=None)
@given(multi_message())
def test_every_further_person_helps_or_does_nothing(randomizer):
    """More people are post-processing, so epsilon falls from as sent to pre-shuffled to two people and on."""
    ratios = [randomizer.privacy().ratio, randomizer.pre_shuffled().privacy().ratio]
    ratios += [randomizer.shuffled_privacy(users=n).ratio for n in range(1, 6)]
    falling = [larger(ratio) for ratio in ratios]
    assert falling == sorted(falling, reverse=True)
    assert ratios[1] == ratios[2]


# Claim 4.2 --------------------------------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(single_message(), st.integers(1, 6))
def test_claim_4_2_a_single_message_is_as_private_alone(randomizer, users):
    assert randomizer.single_message
    assert randomizer.shuffled_privacy(users=users).ratio == randomizer.privacy().ratio


@pytest.mark.parametrize("users", [10, 40])
def test_claim_4_2_for_many_people(users):
    randomizer = FiniteRandomizer.single({0: {0: HALF, 1: HALF}, 1: {0: Fraction(1, 7), 1: Fraction(6, 7)}})
    exact = randomizer.shuffled_privacy(users=users)
    assert exact.ratio == Fraction(7, 2)
    # the pair of the paper's proof: everybody holds the same value, but for one
    assert (exact.dataset, set(exact.neighbour[1:]), set(exact.outcome)) == ((0,) * users, {0}, {0})


def test_claim_4_2_is_false_for_several_messages_and_for_approximate_privacy():
    gap = Gap.uniform().randomizer
    assert gap.shuffled_privacy(users=3).ratio < larger(gap.pre_shuffled().privacy().ratio)
    response = FiniteRandomizer.of(RandomizedResponse(users=8, bins=2, epsilon=1), range(2))
    delta = Fraction(1, 100)
    assert response.shuffled_privacy(users=20, delta=delta).epsilon < 0.8 * response.privacy(delta=delta).epsilon


@settings(max_examples=80, deadline=None)
@given(multi_message(), st.integers(1, 4), st.fractions(Fraction(1, 50), 50), st.fractions(Fraction(1, 50), 50))
def test_generating_polynomials_bound_epsilon_for_every_n(randomizer, users, first, second):
    bound = generating_ratio(randomizer, {0: first, 1: second})
    assert larger(randomizer.shuffled_privacy(users=users).ratio) >= bound


@settings(max_examples=30, deadline=None)
@given(single_message())
def test_generating_polynomials_give_claim_4_2(randomizer):
    """With nearly all weight on one symbol the bound is that symbol's likelihood ratio."""
    tiny = Fraction(1, 10**12)
    bounds = [
        generating_ratio(randomizer, {s: Fraction(1) if s == chosen else tiny for s in randomizer.symbols})
        for chosen in randomizer.symbols
    ]
    local = randomizer.privacy().ratio
    assert max(bounds) > 10**9 if local is None else max(bounds) == pytest.approx(float(local), rel=1e-9)


# the counterexamples ----------------------------------------------------------------------------------------------


def test_r_infinity_says_everything_as_sent_and_nothing_shuffled():
    randomizer = opposite_bits()
    assert randomizer.privacy().ratio is None
    assert randomizer.privacy().epsilon == math.inf
    assert randomizer.pre_shuffled().privacy().ratio == 1
    for users in (1, 2, 7, 30):
        exact = randomizer.shuffled_privacy(users=users)
        assert exact.ratio == 1
        assert exact.epsilon == 0
        assert exact.outcome == (0,) * users + (1,) * users


def test_r_gap_is_finite_from_two_people_on():
    gap = Gap.uniform()
    assert gap.randomizer.pre_shuffled().privacy().ratio is None
    alone = gap.privacy(users=1)
    assert (alone.ratio, sum(alone.outcome)) == (None, 2)
    ratios = [gap.privacy(users=n).ratio for n in range(2, 12)]
    assert ratios[:2] == [Fraction(5, 2), Fraction(125, 64)]
    assert ratios == sorted(ratios, reverse=True)
    # the ends, no ones or all of them, are as telling for any number of people: 10 / 16
    assert set(ratios[2:]) == {Fraction(16, 10)}
    assert gap.floor == pytest.approx(math.log(1.6))


@settings(max_examples=40, deadline=None)
@given(laws(range(5), zeros=False), laws([0, 1, 3, 4], zeros=False), st.integers(2, 5))
def test_r_gap_with_any_probabilities(zero, one, users):
    gap = Gap(zero=tuple(zero.values()), one=(one[0], one[1], Fraction(0), one[3], one[4]))
    exact = gap.privacy(users=users)
    assert exact.ratio is not None
    in_floats = largest_log_ratio(*(np.array([float(p) for p in law]) for law in (gap.zero, gap.one)), users=users)
    assert exact.epsilon == pytest.approx(in_floats, rel=1e-9)
    assert exact.epsilon >= gap.floor - 1e-12


@pytest.mark.parametrize(("users", "hole"), [(2, Fraction(3, 8)), (3, Fraction(3, 8)), (4, Fraction(1, 20))])
def test_the_best_r_gap_is_better_than_all_on_a_grid(users, hole):
    best = best_gap(users=users, hole=hole, rng=np.random.default_rng(0), restarts=3)
    assert best.hole == hole
    epsilon = best.privacy(users=users).epsilon
    width = float(1 - hole) / 2
    for x, y in product(np.linspace(0.02, 0.98, 49), repeat=2):
        zero = np.array([width * x, width * (1 - x), float(hole), width * (1 - x), width * x])
        one = np.array([y, 1 - y, 0, 1 - y, y]) / 2
        assert largest_log_ratio(zero, one, users=users) >= epsilon * (1 - 1e-5)
    if hole == Fraction(3, 8):  # that of the uniform choice
        assert epsilon < Gap.uniform().privacy(users=users).epsilon


def test_the_best_r_gap_need_not_be_symmetric():
    symmetric = best_gap(users=3, hole=Fraction(3, 8), restarts=0)
    assert symmetric.zero == symmetric.zero[::-1]
    free = best_gap(users=3, hole=Fraction(3, 8), rng=np.random.default_rng(0), restarts=6)
    assert free.privacy(users=3).epsilon < 0.9 * symmetric.privacy(users=3).epsilon


def test_the_best_r_gaps_of_the_documentation_are_reached():
    text = (Path(__file__).parents[2] / "docs" / "explanation" / "pure-privacy.md").read_text()
    rows = re.findall(r"^\| (\d+/\d+) \|(.*)\|$", text, flags=re.MULTILINE)
    assert len(rows) == 2
    for hole, figures in rows:
        stated = dict(zip((2, 3, 5, 10, 20), map(float, figures.split("|")), strict=True))
        for users in (2, 10):  # where the best one that is found is symmetric
            epsilon = best_gap(users=users, hole=Fraction(hole), restarts=0).privacy(users=users).epsilon
            assert epsilon == pytest.approx(stated[users], rel=0.01)


def test_a_small_hole_makes_r_gap_as_private_as_one_likes():
    epsilons = [best_gap(users=2, hole=Fraction(1, k), restarts=0).privacy(users=2).epsilon for k in (10, 100, 1000)]
    assert epsilons[2] < 0.002
    assert epsilons == sorted(epsilons, reverse=True)


def test_what_is_not_r_gap_is_refused():
    good = Gap.uniform()
    with pytest.raises(ParameterError, match="but two"):
        Gap(zero=good.one, one=good.zero)
    with pytest.raises(ParameterError, match="five"):
        Gap(zero=good.zero[:4], one=good.one)
    with pytest.raises(ParameterError, match="hole"):
        best_gap(users=2, hole=Fraction(0))
    with pytest.raises(ParameterError, match="at least 2"):
        best_gap(users=1, hole=HALF)


# the lemma of CSU+19 ----------------------------------------------------------------------------------------------


@settings(max_examples=100, deadline=None)
@given(single_message(), st.integers(1, 5), st.fractions(1, 8, max_denominator=9))
def test_lemma_of_csu19_on_removing_the_shuffler(randomizer, users, ratio):
    assert shuffler_removal(randomizer, users=users, ratio=ratio).holds


def test_the_lemma_of_csu19_needs_its_ln_n():
    """With less than n in place of n it is false, so a test of it can fail."""
    n = 6
    randomizer = FiniteRandomizer.single({0: {0: Fraction(99, 100), 1: Fraction(1, 100)}, 1: {0: HALF, 1: HALF}})
    for ratio in (Fraction(1), Fraction(4)):
        check = shuffler_removal(randomizer, users=n, ratio=ratio)
        assert check.holds
        assert randomizer.delta(ratio=ratio).delta > check.shuffled_delta


PROTOCOLS = [
    RandomizedResponse(users=2, bins=2, epsilon=1),
    RandomizedResponse(users=2, bins=3, epsilon=0.5),
    HadamardResponse(users=2, bins=3, epsilon=1),
    UnaryEncoding(users=2, bins=2, epsilon=1),
    UnaryEncoding(users=2, bins=3, epsilon=1, optimised=False),
]


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda p: type(p).__name__)
def test_the_cost_of_removing_the_shuffler_from_real_protocols(protocol):
    randomizer = FiniteRandomizer.of(protocol, range(protocol.bins))
    for users in (2, 5):
        cost = removal_cost(randomizer, users=users, delta=Fraction(1, 1000))
        assert 0 < cost.gap < math.log(users)  # by amplification, the shuffled epsilon is below the local one
        pure = removal_cost(randomizer, users=users, delta=Fraction(0))
        assert pure.gap == pytest.approx(math.log(users), abs=1e-12)


def test_the_table_of_the_documentation_is_true():
    text = (Path(__file__).parents[2] / "docs" / "explanation" / "pure-privacy.md").read_text()
    rows = re.findall(r"^\| (\w+), (\d) bins \| (\d+) \|(.*)\|$", text, flags=re.MULTILINE)
    assert len(rows) == 5
    kinds = {kind.__name__: kind for kind in (RandomizedResponse, HadamardResponse, UnaryEncoding)}
    for name, bins, users, figures in rows:
        protocol = kinds[name](users=1, bins=int(bins), epsilon=1)
        randomizer = FiniteRandomizer.of(protocol, range(protocol.bins))
        cost = removal_cost(randomizer, users=int(users), delta=Fraction(1, 1000))
        measured = (cost.shuffled.epsilon, cost.promised, cost.local.epsilon, cost.gap)
        assert [float(x) for x in figures.split("|")] == pytest.approx(measured, abs=6e-4)


def test_the_lemma_is_about_single_messages():
    with pytest.raises(ParameterError, match="single-message"):
        shuffler_removal(opposite_bits(), users=2, ratio=Fraction(1))
    # and it is false for several
    assert opposite_bits().delta(ratio=Fraction(2)).delta > opposite_bits().shuffled_delta(users=2, ratio=1).delta


# tables and samplers ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda p: type(p).__name__)
def test_local_protocols_are_exactly_as_private_as_they_say(protocol):
    exact = FiniteRandomizer.of(protocol, range(protocol.bins)).privacy()
    with mpmath.workdps(60):
        promised = mpmath.exp(mpmath.mpf(protocol.epsilon))
        ratio = mpmath.mpf(exact.ratio.numerator) / exact.ratio.denominator
        assert ratio <= promised
        assert ratio > promised * (1 - mpmath.mpf("1e-13"))


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda p: type(p).__name__)
def test_tables_are_the_laws_of_the_samplers(protocol):
    rng, draws = np.random.default_rng(11), 40_000
    for value in range(protocol.bins):
        law = protocol.randomizer_law(value)
        sent = protocol.randomize(np.full(draws, value), rng=rng)
        seen = [m.tobytes() if isinstance(m, np.void) else int(m) for m in sent]
        observed = np.array([seen.count(message) for (message,) in law])
        assert observed.sum() == draws
        assert p_value(observed, np.array([float(p) for p in law.values()])) > FALSE_FAILURE_RATE


def test_a_table_draws_from_its_law():
    randomizer = FiniteRandomizer({"a": {(): Fraction(1, 3), ("x",): Fraction(1, 6), ("x", "y"): HALF}})
    rng = np.random.default_rng(12)
    sizes = np.array([len(randomizer.randomize("a", rng=rng)) for _ in range(6000)])
    assert p_value(np.bincount(sizes), np.array([1 / 3, 1 / 6, 1 / 2])) > FALSE_FAILURE_RATE
    assert randomizer.randomize(["a"] * 3, rng=np.random.default_rng(1)) == randomizer.randomize(
        ["a"] * 3, rng=np.random.default_rng(1)
    )


def test_two_messages_for_one_sum():
    """P^zsum among three: infinite for pure privacy, and the exact epsilon of a delta."""
    randomizer = FiniteRandomizer.of(BinarySum(users=3, missing_probability=0.25), [0, 1])
    assert not randomizer.single_message
    assert randomizer.shuffled_privacy(users=3).ratio is None
    exact = randomizer.shuffled_privacy(users=3, delta=Fraction(27, 64))
    assert exact.ratio == by_hand_for_three(Fraction(27, 64))


def by_hand_for_three(delta):
    """Bin(3, 1/4) against itself shifted by one: the largest ratio of prefixes, over both directions."""
    pmf = [Fraction(math.comb(3, k) * 3 ** (3 - k), 64) for k in range(4)]
    p, q = [*pmf, Fraction(0)], [Fraction(0), *pmf]
    events = [[k for k in range(5) if chosen[k]] for chosen in product((0, 1), repeat=5)]
    ratios = [
        (sum(a[k] for k in event) - delta) / sum(b[k] for k in event)
        for a, b in permutations((p, q))
        for event in events
        if sum(b[k] for k in event)
    ]
    return max(1, *ratios)


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ({}, "at least one value"),
        ({0: {0: Fraction(1)}}, "tuples"),
        ({0: {(0,): 0.5, (1,): 0.5}}, "fractions"),
        ({0: {(0,): Fraction(3, 2), (1,): -HALF}}, "negative"),
        ({0: {(0,): HALF}}, "sum to 1"),
    ],
)
def test_wrong_tables_are_refused(table, reason):
    with pytest.raises(ParameterError, match=reason):
        FiniteRandomizer(table)


def test_wrong_questions_are_refused():
    lonely = FiniteRandomizer({0: {(): Fraction(1)}})
    with pytest.raises(ParameterError, match="two values"):
        lonely.privacy()
    with pytest.raises(ParameterError, match="two values"):
        lonely.delta(ratio=Fraction(2))
    with pytest.raises(ParameterError, match="delta"):
        opposite_bits().privacy(delta=Fraction(1))
    with pytest.raises(ParameterError, match="ratio"):
        opposite_bits().delta(ratio=Fraction(0))
    with pytest.raises(DataError, match="table"):
        opposite_bits().shuffled_law((0, 7))
    with pytest.raises(DataError, match="table"):
        opposite_bits().randomize(7)
    with pytest.raises(ParameterError, match="weight"):
        generating_ratio(opposite_bits(), {0: Fraction(1)})
    with pytest.raises(ParameterError, match="two values"):
        generating_ratio(lonely, {})


def test_floats_are_the_fractions_that_they_are():
    coin = FiniteRandomizer.of(RandomizedResponse(users=1, bins=2, epsilon=1), range(2))
    exact = coin.shuffled_privacy(users=5, delta=Fraction(0.01))
    assert coin.shuffled_privacy(users=5, delta=0.01) == exact
    assert removal_cost(coin, users=5, delta=0.01).shuffled == exact
    assert coin.shuffled_delta(users=3, ratio=1.5) == coin.shuffled_delta(users=3, ratio=Fraction(3, 2))
    assert shuffler_removal(coin, users=3, ratio=1.5).ratio == Fraction(3, 2)
    assert generating_ratio(coin, {0: 0.5, 1: 2}) == generating_ratio(coin, {0: HALF, 1: Fraction(2)})
    best = best_gap(users=2, hole=0.05, restarts=0)
    assert best.hole == Fraction(0.05)
    assert all(type(p) is Fraction for p in (*best.zero, *best.one))


@pytest.mark.parametrize("wrong", [math.nan, math.inf, "1/2", None, True])
def test_what_is_no_number_is_refused_by_name(wrong):
    coin = FiniteRandomizer.of(RandomizedResponse(users=1, bins=2, epsilon=1), range(2))
    for name, question in {
        "ratio": lambda: coin.shuffled_delta(users=2, ratio=wrong),
        "delta": lambda: coin.privacy(delta=wrong),
        "hole": lambda: best_gap(users=2, hole=wrong),
        "weight": lambda: generating_ratio(coin, {0: wrong, 1: 1}),
        "zero": lambda: Gap(zero=(wrong,) * 5, one=Gap.uniform().one),
    }.items():
        with pytest.raises(ParameterError, match=rf"^{name} must be"):
            question()


def test_probabilities_of_r_gap_sum_to_one():
    good = Gap.uniform()
    for wrong in ((HALF,) * 5, (0.1, 0.2, 0.4, 0.2, 0.1)):
        with pytest.raises(ParameterError, match="sum to exactly 1"):
            Gap(zero=wrong, one=good.one)
    assert Gap(zero=(0.125, 0.125, 0.5, 0.125, 0.125), one=good.one).hole == HALF
    assert best_gap(users=2, hole=1 - Fraction(1, 10**6), restarts=0).hole == 1 - Fraction(1, 10**6)
    with pytest.raises(ParameterError, match="hole must lie"):
        best_gap(users=2, hole=1 - 1e-12)


def test_logarithms_are_never_too_small():
    for ratio in (
        Fraction(1),
        1 + Fraction(1, 10**30),
        Fraction(3, 2),
        Fraction(10**400, 7),
        Fraction(10**5000, 3**900),
    ):
        with mpmath.workdps(60):
            exact = mpmath.log(mpmath.mpf(ratio.numerator) / ratio.denominator)
            assert exact <= logarithm_above(ratio) <= exact * (1 + mpmath.mpf("1e-8"))


def test_all_multisets_of_the_others_are_walked():
    randomizer = FiniteRandomizer.single({v: {v: HALF, "?": HALF} for v in range(3)})
    pairs = list(randomizer._multisets(4).neighbours())
    assert {pair.others for pair in pairs} == set(combinations_with_replacement(range(3), 3))
    assert len(pairs) == 10 * 6


def test_modules_do_not_dodge_cycles_by_importing_inside_functions():
    folder = Path(__file__).parents[2] / "src" / "shuffledp" / "verification"
    for path in folder.rglob("*.py"):
        assert not re.search(r"^ +(from shuffledp|import shuffledp)", path.read_text(), flags=re.MULTILINE), path.name

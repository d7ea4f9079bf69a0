"""Finite randomizers: exact privacy by its definition, witnesses, tables and samplers."""

import math
from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp import BinarySum, DataError, ParameterError
from shuffledp.paper.finite_randomizer import FiniteRandomizer, exact_delta
from shuffledp.paper.pure_privacy import generating_ratio, opposite_bits
from tests.oracles.enumerable_protocols import ENUMERABLE
from tests.oracles.exact import shuffled_distribution
from tests.oracles.goodness import FALSE_FAILURE_RATE, p_value
from tests.oracles.random_randomizers import HALF, larger, multi_message, single_message


def neighbours(randomizer, users):
    """By the definition, in the slowest way: all ordered datasets, and all that differ in one row."""
    for dataset in product(randomizer.values, repeat=users):
        for row, value in product(range(users), randomizer.values):
            if value != dataset[row]:
                yield dataset, (*dataset[:row], value, *dataset[row + 1 :])


def by_definition(randomizer, users, ratio):
    outputs = {
        dataset: shuffled_distribution(randomizer.table[value] for value in dataset)
        for dataset in product(randomizer.values, repeat=users)
    }
    return max(exact_delta(outputs[x], outputs[y], ratio=ratio) for x, y in neighbours(randomizer, users))


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.one_of(single_message(), multi_message()), st.integers(1, 3), st.fractions(1, 6, max_denominator=7))
def test_delta_is_its_definition_over_all_ordered_datasets(randomizer, users, ratio):
    worst = randomizer.shuffled_delta(users=users, ratio=ratio)
    assert worst.delta == by_definition(randomizer, users, ratio)
    first, second = (
        shuffled_distribution(randomizer.table[v] for v in data) for data in (worst.dataset, worst.neighbour)
    )
    assert exact_delta(first, second, ratio=ratio) == worst.delta


@pytest.mark.slow
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


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.one_of(single_message(), multi_message()), st.integers(1, 4))
def test_the_witness_attains_the_pure_ratio(randomizer, users):
    exact = randomizer.shuffled_privacy(users=users)
    assert sum(a != b for a, b in zip(exact.dataset, exact.neighbour, strict=True)) == 1
    here = randomizer.shuffled_distribution(exact.dataset)[exact.outcome]
    there = randomizer.shuffled_distribution(exact.neighbour).get(exact.outcome, 0)
    assert here == exact.ratio * there if exact.ratio is not None else (here > 0 and there == 0)


@settings(max_examples=40, deadline=None)
@given(st.one_of(single_message(), multi_message()), st.data())
def test_the_fast_distribution_is_the_plain_one(randomizer, data):
    dataset = data.draw(st.lists(st.sampled_from(randomizer.values), min_size=1, max_size=4))
    plain = shuffled_distribution(randomizer.table[value] for value in dataset)
    assert randomizer.shuffled_distribution(dataset) == {outcome: p for outcome, p in plain.items() if p}


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(multi_message())
def test_every_further_person_helps_or_does_nothing(randomizer):
    """More people are post-processing, so epsilon falls from as sent to pre-shuffled to two people and on."""
    ratios = [randomizer.privacy().ratio, randomizer.pre_shuffled().privacy().ratio]
    ratios += [randomizer.shuffled_privacy(users=n).ratio for n in range(1, 6)]
    falling = [larger(ratio) for ratio in ratios]
    assert falling == sorted(falling, reverse=True)
    assert ratios[1] == ratios[2]


@pytest.mark.parametrize("protocol", ENUMERABLE, ids=lambda p: type(p).__name__)
def test_local_protocols_are_exactly_as_private_as_they_say(protocol):
    exact = FiniteRandomizer.of(protocol, range(protocol.bins)).privacy()
    with mpmath.workdps(60):
        promised = mpmath.exp(mpmath.mpf(protocol.epsilon))
        ratio = mpmath.mpf(exact.ratio.numerator) / exact.ratio.denominator
        assert ratio <= promised
        assert ratio > promised * (1 - mpmath.mpf("1e-13"))


@pytest.mark.parametrize("protocol", ENUMERABLE, ids=lambda p: type(p).__name__)
def test_tables_are_the_distributions_of_the_samplers(protocol):
    rng, draws = np.random.default_rng(11), 40_000
    for value in range(protocol.bins):
        distribution = protocol.randomizer_distribution(value)
        sent = protocol.randomize(np.full(draws, value), rng=rng)
        seen = [m.tobytes() if isinstance(m, np.void) else int(m) for m in sent]
        observed = np.array([seen.count(message) for (message,) in distribution])
        assert observed.sum() == draws
        assert p_value(observed, np.array([float(p) for p in distribution.values()])) > FALSE_FAILURE_RATE


def test_a_table_draws_from_its_distribution():
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
        opposite_bits().shuffled_distribution((0, 7))
    with pytest.raises(DataError, match="table"):
        opposite_bits().randomize(7)
    with pytest.raises(ParameterError, match="weight"):
        generating_ratio(opposite_bits(), {0: Fraction(1)})
    with pytest.raises(ParameterError, match="two values"):
        generating_ratio(lonely, {})


def test_all_multisets_of_the_others_are_walked():
    randomizer = FiniteRandomizer.single({v: {v: HALF, "?": HALF} for v in range(3)})
    pairs = list(randomizer._multisets(4).neighbours())
    assert {pair.others for pair in pairs} == set(combinations_with_replacement(range(3), 3))
    assert len(pairs) == 10 * 6

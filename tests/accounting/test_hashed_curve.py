"""The curve of hashed messages against enumerated messages and against sums over Poisson numbers.

The enumerations share nothing with the curve: they list the messages of tiny families with fractions, or sum the
likelihoods of all numbers of messages on every meeting of graphs.
"""

import math
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.stats import poisson

from shuffledp.accounting import calibration
from shuffledp.accounting.curve import moved_bins
from shuffledp.accounting.support_curves import HashedCurve
from shuffledp.errors import ParameterError
from shuffledp.noise.compound_poisson import poisson as dummies

# One value ----------------------------------------------------------------------------------------------------------


def enumerated(family, *, rate, ratio, most):
    """Bounds on delta from all numbers of messages up to `most` on every pair of a seed and a bucket.

    `family` has the buckets of the values 0 and 1 under every seed. Numbers on different pairs are independent, each
    Poisson(rate / seeds), and the person's message is one more on a random pair of the graph of their value.
    """
    seeds, buckets = len(family), 1 + max(max(row) for row in family)
    mean, pairs = Fraction(rate) / seeds, list(product(range(seeds), range(buckets)))
    weights = [mean**k / math.factorial(k) for k in range(most + 1)]
    own = [[pairs.index((seed, row[value])) for seed, row in enumerate(family)] for value in (0, 1)]
    total = Fraction(0)
    for counts in product(range(most + 1), repeat=len(pairs)):
        chances = []
        for graph in own:
            chance = Fraction(0)
            for at in graph:
                if counts[at]:
                    rest = [weights[c - (i == at)] for i, c in enumerate(counts)]
                    chance += math.prod(rest) / seeds
            chances.append(chance)
        total += max(chances[0] - ratio * chances[1], Fraction(0))
    found = float(total) * math.exp(-float(mean) * len(pairs))
    beyond = len(pairs) * float(poisson.sf(most - 1, float(mean)))
    return found, found + beyond


FAMILIES = {
    "never meet": [(0, 1), (1, 0)],
    "meet under one seed": [(0, 1), (1, 1)],
    "always meet": [(0, 0), (1, 1)],
    "one seed": [(0, 1)],
    "unequal buckets": [(0, 1), (0, 1)],
    "linear modulo 3": [(0, 0), (0, 1), (0, 2)],
}
"""The buckets of two values under every seed; most of them are no good hash functions."""


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("ratio", [Fraction(1), Fraction(2)])
def test_no_family_reveals_more_than_graphs_that_never_meet(name, ratio):
    family = FAMILIES[name]
    most = {2: 12, 4: 6, 9: 1}[len(family) * (1 + max(max(row) for row in family))]
    low, high = enumerated(family, rate=Fraction(3, 2) if most > 1 else Fraction(1, 3), ratio=ratio, most=most)
    curve = HashedCurve(rate=1.5 if most > 1 else 1 / 3)
    delta = curve.delta(math.log(ratio))
    assert low <= delta
    meetings = sum(one == other for one, other in family)
    if not meetings:
        assert delta <= high + 1e-12
        assert high - low < 0.02
    elif most > 1:
        assert high < 0.95 * delta


def one_value(rate, shared, ratio):
    """E (N - ratio N')_+ / rate for two numbers with a common part."""
    numbers = np.arange(int(rate + 12 * math.sqrt(rate)) + 30)
    alone, both = poisson.pmf(numbers, rate * (1 - shared)), poisson.pmf(numbers, rate * shared)
    own, other = numbers[:, None], numbers[None, :]
    gains = [alone @ np.maximum(own + common - ratio * (other + common), 0) @ alone for common in numbers]
    return float(both @ gains) / rate


def test_the_figures_of_two_values_that_share_a_quarter():
    assert one_value(3.0, 0.25, math.e) == pytest.approx(0.06866, abs=5e-6)
    assert HashedCurve(rate=3.0).delta(1.0) == pytest.approx(0.09902, abs=5e-6)


@pytest.mark.parametrize("rate", [0.5, 3.0, 15.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 2.5])
def test_messages_on_both_graphs_only_hide(rate, epsilon):
    deltas = [one_value(rate, shared, math.exp(epsilon)) for shared in (0, 0.01, 0.1, 0.25, 0.6, 0.99)]
    assert HashedCurve(rate=rate).delta(epsilon) == pytest.approx(deltas[0], rel=1e-9)
    assert all(later < earlier for earlier, later in pairwise(deltas))


@pytest.mark.parametrize(("epsilon", "rate"), [(0.5, 136.10), (1.0, 42.66), (2.0, 18.09)])
def test_rates_of_one_value(epsilon, rate):
    assert needed(epsilon=epsilon) == pytest.approx(rate, rel=1e-3)


def needed(*, values=1, shared=0.0, epsilon=1.0, delta=1e-6):
    found = calibration.first_rate(
        lambda rate: math.log(HashedCurve(rate=rate, values=values, shared=shared).delta(epsilon) / delta),
        start=30.0,
        largest=2000.0,
    )
    assert found is not None
    return found


# Several values -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("values", "rate"), [(2, 75.2), (4, 144.9), (8, 287.0), (16, 572.4)])
def test_rates_of_several_levels(values, rate):
    assert needed(values=values) == pytest.approx(rate, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("levels", [2, 8])
def test_levels_compose_as_in_another_library(levels):
    library = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    rate, epsilon = 40.0, 2.0
    numbers = range(200)
    one = {k: float(poisson.logpmf(k, rate)) for k in numbers}
    more = {k + 1: p for k, p in one.items()}
    pairs = [
        library.from_two_probability_mass_functions(
            lower, upper, value_discretization_interval=1e-4, pessimistic_estimate=pessimistic, symmetric=False
        )
        for pessimistic in (False, True)
        for lower, upper in ((one, more), (more, one))
    ]
    low, high = (
        first.compose(second).self_compose(levels).get_delta_for_epsilon(epsilon)
        for first, second in (pairs[:2], pairs[2:])
    )
    delta = HashedCurve(rate=rate, values=levels).delta(epsilon)
    assert low <= delta <= 1.002 * high
    assert high < 1.02 * low


def ways(graphs, counts):
    """The number of ways to pick a different message for every graph, by summation over the partitions of graphs."""
    total = 0
    for partition in partitions(list(graphs)):
        factor = math.prod((-1) ** (len(part) - 1) * math.factorial(len(part) - 1) for part in partition)
        parts = [sum((c for meeting, c in counts.items() if set(part) <= meeting), 0) for part in partition]
        total = total + factor * math.prod(parts)
    return total


def partitions(items):
    if not items:
        yield []
        return
    first, *rest = items
    for partition in partitions(rest):
        yield [[first], *partition]
        for at, part in enumerate(partition):
            yield [*partition[:at], [first, *part], *partition[at + 1 :]]


def several_values(values, meetings, *, rate, epsilon, cut):
    """A lower bound on delta, short by about `cut`, with messages on meetings of graphs with these means.

    Graphs 0 .. values - 1 are the person's, the others the neighbour's.
    """
    means = {frozenset([a]): rate - sum(m for t, m in meetings.items() if a in t) for a in range(2 * values)} | meetings
    listed = [np.arange(int(poisson.isf(cut if len(t) == 1 else 1e-3, mean)) + 1) for t, mean in means.items()]
    grids = np.meshgrid(*listed, indexing="ij", sparse=True)
    counts = dict(zip(means, grids, strict=True))
    chance = math.prod(poisson.pmf(counts[meeting], mean) for meeting, mean in means.items())
    own, other = ways(range(values), counts), ways(range(values, 2 * values), counts)
    return float((chance * np.maximum(own - math.exp(epsilon) * other, 0)).sum()) / rate**values


def test_ways_to_pick_messages_are_counted():
    """Against a list of all of them: two messages on graph 0 alone, one on 0 and 1, one on all three graphs."""
    messages = [{0}, {0}, {0, 1}, {0, 1, 2}, {2}]
    counts = {frozenset(m): sum(m == other for other in messages) for m in messages}
    listed = sum(
        len({*picked}) == 3 and all(graph in messages[at] for graph, at in enumerate(picked))
        for picked in product(range(5), repeat=3)
    )
    assert ways(range(3), counts) == listed


TWO = {
    "own values meet": lambda part: {frozenset([0, 1]): part, frozenset([2, 3]): part},
    "the person's meet": lambda part: {frozenset([0, 1]): part},
    "the neighbour's meet": lambda part: {frozenset([2, 3]): part},
    "all meet at once": lambda part: {frozenset([0, 1, 2, 3]): part},
    "three at once": lambda part: {frozenset([0, 1, 2]): part, frozenset([2, 3]): part},
    "three pairs": lambda part: {frozenset([a, b]): part for a, b in ((0, 1), (0, 2), (2, 3))},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TWO)
@pytest.mark.parametrize(("rate", "shared"), [(3.0, 0.1), (6.0, 0.02)])
def test_two_values_reveal_at_most_what_the_curve_says(name, rate, shared):
    for epsilon in (0.0, 1.0, 2.0):
        truth = several_values(2, TWO[name](rate * shared), rate=rate, epsilon=epsilon, cut=1e-6)
        assert truth <= HashedCurve(rate=rate, values=2, shared=shared).delta(epsilon)


@pytest.mark.slow
def test_own_values_that_meet_reveal_more_and_all_at_once_less():
    """So that the correction is needed: without it the curve would be below the truth."""
    apart, own, at_once = (
        several_values(2, meetings, rate=6.0, epsilon=1.0, cut=1e-6)
        for meetings in ({}, TWO["own values meet"](0.3), TWO["all meet at once"](0.3))
    )
    assert at_once < 0.95 * apart < apart < 0.95 * own
    assert HashedCurve(rate=6.0, values=2).delta(1.0) == pytest.approx(apart, rel=1e-3)
    assert (
        HashedCurve(rate=6.0, values=2).delta(1.0) < 0.97 * own <= HashedCurve(rate=6.0, values=2, shared=0.05).delta(1)
    )


@pytest.mark.slow
@pytest.mark.parametrize("all_at_once", [False, True])
def test_three_values_reveal_at_most_what_the_curve_says(all_at_once):
    person, neighbour = frozenset([0, 1, 2]), frozenset([3, 4, 5])
    part = 1.5 * 0.1
    meetings = {person | neighbour: part} if all_at_once else {person: part, neighbour: part}
    truth = several_values(3, meetings, rate=1.5, epsilon=1.0, cut=1e-4)
    apart = several_values(3, {}, rate=1.5, epsilon=1.0, cut=1e-4)
    assert (truth > 1.02 * apart) != all_at_once
    assert truth <= HashedCurve(rate=1.5, values=3, shared=0.1).delta(1.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("values", "shared", "most"),
    [
        (2, 1e-3, 1.02),
        (4, 1e-4, 1.01),
        (4, 1e-3, 1.04),
        (8, 1e-4, 1.02),
        (8, 1e-3, 1.10),
        (16, 1e-5, 1.01),
        (16, 1e-4, 1.04),
    ],
)
def test_shared_messages_cost_few_dummies(values, shared, most):
    apart = needed(values=values)
    assert apart < needed(values=values, shared=shared) <= most * apart


def test_the_curve_is_monotone_and_total():
    curve = HashedCurve(rate=60.0, values=4, shared=1e-3)
    deltas = [curve.delta(epsilon) for epsilon in (0.0, 1e-9, 0.1, 0.5, 1.0, 3.0, 10.0, 100.0)]
    assert deltas == sorted(deltas, reverse=True)
    assert 0 < deltas[-1] <= 1e-20
    assert curve.delta(0.7) < HashedCurve(rate=60.0, values=4, shared=3e-3).delta(0.7)
    assert curve.delta(0.7) > HashedCurve(rate=70.0, values=4, shared=1e-3).delta(0.7)
    assert curve.epsilon(curve.delta(1.0)) == pytest.approx(1.0, abs=1e-6)
    for values, shared, rate in ((2, 0.5, 0.5), (16, 0.5, 900.0), (16, 1e-9, 0.01), (2, 1.0, 5000.0)):
        assert 0 < HashedCurve(rate=rate, values=values, shared=shared).delta(0.5) <= 1
    assert HashedCurve(rate=900.0, values=16, shared=0.5).delta(0.5) == 1
    for one in (curve, HashedCurve(rate=5.0)):
        with pytest.raises(ParameterError, match="epsilon"):
            one.delta(-0.1)
    with pytest.raises(ParameterError, match="shared"):
        HashedCurve(rate=1.0, shared=1.5)


def test_several_rows_have_the_bound_of_any_curve():
    """Two rows of one person whose values all differ: at least their composition, which a release of both could be."""
    one = HashedCurve(rate=200.0)
    two = one.for_rows(2)
    assert one.for_rows(1) is one
    assert not two.exact
    composed = moved_bins(dummies(200.0), values=2)
    for epsilon in (0.5, 1.0):
        assert one.delta(epsilon) < composed.delta(epsilon) <= two.delta(epsilon)

"""A person with several rows: the curve of k replaced rows, against every way to replace them in fractions."""

import math
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from shuffledp import DummyHistogram, Histogram, SparseHistogram
from shuffledp.accounting import Amplification, PrivacyCurve, Shift, StatedCurve, composed
from shuffledp.accounting.bounds import GroupCurve, GroupPrivacy, PureCurve, SplitAndMixCurve, group_privacy
from shuffledp.accounting.curve import REPLACE_ONE, Comparison, moved_bins
from shuffledp.accounting.support_curves import SupportCurve
from shuffledp.accounting.threshold_curve import ThresholdCurve
from shuffledp.errors import ParameterError
from shuffledp.noise import Binomial, CompoundPoisson
from shuffledp.noise.compound_poisson import SIZE_GRID
from shuffledp.noise.discrete_laplace import DiscreteLaplace
from shuffledp.paper.divergence import exponential_above
from shuffledp.protocols import CATALOGUE, LaplaceHistogram, Ranges, Target
from shuffledp.protocols.local import RandomizedResponse
from shuffledp.protocols.shuffled.blanket import BlanketHistogram

# The oracle: all datasets, all replacements of rows, all outcomes -------------------------------------------------


def datasets(users, bins):
    """The counts of every dataset, by the values of all rows."""
    for values in combinations_with_replacement(range(bins), users):
        yield tuple(values.count(value) for value in range(bins))


def delta_of(pairs, ratio):
    """The delta of independent coordinates, each a list of (p, q) over its outcomes; equal ratios are merged."""
    together = {Fraction(1): Fraction(1)}
    for pair in pairs:
        merged = {}
        for p, q in pair:
            if p:
                merged[q / p] = merged.get(q / p, 0) + p
        step = {}
        for (x, one), (y, other) in product(together.items(), merged.items()):
            step[x * y] = step.get(x * y, 0) + one * other
        together = step
    return sum(p * max(0, 1 - ratio * x) for x, p in together.items())


def worst(distribution, *, users, bins, rows, ratio):
    """The largest delta over all datasets that differ in at most `rows` rows; `distribution` is of a bin's count."""

    @cache
    def outcomes(before, after):
        one, other = distribution(before), distribution(after)
        return [(one.get(k, Fraction(0)), other.get(k, Fraction(0))) for k in {*one, *other}]

    @cache
    def delta(moved):
        return delta_of([outcomes(*counts) for counts in moved], ratio)

    found = Fraction(0)
    for one, other in product(datasets(users, bins), repeat=2):
        if sum(max(0, a - b) for a, b in zip(one, other, strict=True)) <= rows:
            found = max(found, delta(tuple(sorted((a, b) for a, b in zip(one, other, strict=True) if a != b))))
    return found


def added(count, noise):
    """A count plus noise."""
    return {count + k: p for k, p in noise.items()}


def coins(trials, chance):
    """The number of heads, one coin at a time."""
    heads = {0: Fraction(1)}
    for _ in range(trials):
        step = {}
        for k, p in heads.items():
            step[k] = step.get(k, 0) + p * (1 - chance)
            step[k + 1] = step.get(k + 1, 0) + p * chance
        heads = step
    return heads


def poisson(rate, *, most=11):
    """The Poisson distribution in fractions; what is left out is below 1e-17 for a rate of 1/8."""
    return {k: Fraction(math.exp(-rate)) * Fraction(rate) ** k / math.factorial(k) for k in range(most)}


def laplace(count, decay, *, last):
    """A count plus discrete Laplace noise; below 0 and from `last` on as one, where the ratio does not change."""
    inside = {k: (1 - decay) / (1 + decay) * decay ** abs(k - count) for k in range(last)}
    return inside | {end: decay ** abs(end - count) / (1 + decay) for end in (-1, last)}


USERS, BINS = 3, 4
CHANCE = Fraction(3, 8)

SHIFTED = {
    "hist": (
        Histogram(users=USERS, bins=BINS, missing_probability=float(CHANCE)),
        lambda count: added(count, coins(USERS, 1 - CHANCE)),
    ),
    "dummy": (
        DummyHistogram(users=USERS, bins=BINS, noise=Binomial(trials=USERS, probability=float(CHANCE))),
        lambda count: added(count, coins(USERS, CHANCE)),
    ),
    "dummy-poisson": (
        DummyHistogram(users=USERS, bins=BINS, noise=CompoundPoisson(rate=0.125, size_weights=(SIZE_GRID,))),
        lambda count: added(count, poisson(0.125)),
    ),
    "laplace": (
        LaplaceHistogram(users=USERS, bins=BINS, noise=DiscreteLaplace(decay=0.5)),
        lambda count: laplace(count, Fraction(1, 2), last=USERS + 1),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("name", SHIFTED)
def test_the_curve_is_the_worst_of_all_ways_to_replace_the_rows(name, rows):
    protocol, distribution = SHIFTED[name]
    curve = protocol.privacy.for_rows(rows)
    assert curve.exact
    for epsilon in (0.0, 0.25, 1.0, 2.0):
        ratio = exponential_above(epsilon)
        truth = float(worst(distribution, users=USERS, bins=BINS, rows=rows, ratio=ratio))
        assert truth <= curve.delta(epsilon)
        assert curve.delta(epsilon) == pytest.approx(truth, rel=1e-9, abs=1e-10)


def test_each_direction_of_several_ones_of_a_sum_is_considered():
    """All ones become zeros, or all zeros ones; each is the larger one somewhere."""
    larger = set()
    for chance, epsilon in product((Fraction(1, 8), Fraction(30, 64)), np.linspace(0.1, 3, 30).tolist()):
        noise, ratio = coins(5, chance), exponential_above(epsilon)
        one = Shift(distribution=Binomial(trials=5, probability=float(chance)), by=1)
        deltas = [
            float(sum(max(0, noise.get(k, 0) - ratio * noise.get(k - by, 0)) for k in range(8))) for by in (2, -2)
        ]
        assert PrivacyCurve.of_shifts(one).for_rows(2).delta(epsilon) == pytest.approx(max(deltas), rel=1e-9)
        larger.add(deltas[0] > deltas[1])
    assert larger == {True, False}


@pytest.mark.parametrize(("rows", "epsilon"), [(2, 2.153), (3, 3.410), (5, 6.227)])
def test_figures_of_the_papers_histogram(rows, epsilon):
    protocol = Histogram.calibrate(users=10_000, bins=100, epsilon=1, delta=1e-6)
    assert protocol.privacy.for_rows(rows).epsilon(1e-6) == pytest.approx(epsilon, abs=5e-4)
    # more than this number of releases
    assert protocol.privacy.for_rows(rows).epsilon(1e-6) > 1.4 * protocol.privacy.times(rows).epsilon(1e-6)


def test_rows_in_groups_of_ordered_values():
    """Every level of the tree is a group of its own; composed on a grid, so slightly above the truth."""
    users, rows, chance = 2, 2, Fraction(1, 4)
    small = Ranges.calibrate(users=400, bins=4, epsilon=2, delta=1e-3, branching=2)
    noise = Binomial(trials=users, probability=float(chance))
    nodes = type(small.nodes)(
        users=users, bins=small.tree.nodes, noise=noise, values_per_person=small.tree.levels, padding_bins=0
    )
    ranges = Ranges(bins=4, branching=2, nodes=nodes)
    curve, counted = ranges.privacy.for_rows(rows), coins(users, chance)
    totals = [ranges.tree.totals(np.array(counts)).tolist() for counts in datasets(users, 4)]
    for epsilon in (0.5, 1.5):
        ratio = exponential_above(epsilon)
        truth = max(
            delta_of(
                [
                    [(counted.get(k - a, Fraction(0)), counted.get(k - b, Fraction(0))) for k in range(2 * users + 1)]
                    for a, b in zip(one, other, strict=True)
                    if a != b
                ],
                ratio,
            )
            for (i, one), (j, other) in product(enumerate(totals), repeat=2)
            if i != j
        )
        assert float(truth) <= curve.delta(epsilon) <= 1.01 * float(truth)


# Upper bounds -----------------------------------------------------------------------------------------------------

EVEN = CompoundPoisson(rate=1.0, size_weights=(SIZE_GRID // 16, SIZE_GRID - SIZE_GRID // 16))
"""Clusters of two, nearly always: a count that moves by one is told by its parity, and one that moves by two is not."""


@pytest.mark.parametrize("rows", [2, 3])
def test_noise_that_is_not_log_concave_has_an_upper_bound(rows):
    """Rows in bins of their own tell more than all in one bin, so a longer shift would be too little."""
    curve = moved_bins(EVEN)
    bound = curve.for_rows(rows)
    scaled = PrivacyCurve(frozenset((release.for_rows(rows), times) for release, times in curve.releases))
    assert not EVEN.log_concave
    assert not bound.exact
    noise = EVEN.window.pmf[:9]
    still, moved = np.append(noise, 0.0), np.append(0.0, noise)
    one, other = np.ones(1), np.ones(1)
    for p, q in [(still, moved), (moved, still)] * rows:
        one, other = np.multiply.outer(one, p).ravel(), np.multiply.outer(other, q).ravel()
    for epsilon in (0.5, 1.0, 2.0):
        apart = float(np.maximum(one - math.exp(epsilon) * other, 0).sum())  # from below: some outcomes are left out
        assert scaled.delta(epsilon) < apart <= bound.delta(epsilon)


def test_one_noise_that_is_not_log_concave_makes_it_an_upper_bound():
    single = CompoundPoisson(rate=3.0, size_weights=(SIZE_GRID,))
    assert single.log_concave
    for curve in (moved_bins(EVEN, single), moved_bins(single, EVEN)):
        assert curve.for_rows(2) == GroupCurve(curve=curve, rows=2)


def test_rows_with_several_values_have_an_upper_bound():
    """Rows may move different bins of their sets."""
    noise, rows, values = Binomial(trials=200, probability=0.5), 2, 2
    curve = moved_bins(noise, values=values).for_rows(rows)
    apart = moved_bins(noise, values=rows * values)
    assert not curve.exact
    assert curve == GroupCurve(curve=moved_bins(noise, values=values), rows=rows)
    for both in (
        (moved_bins(noise, values=values), moved_bins(noise)),
        (moved_bins(noise), moved_bins(noise, values=values)),
    ):
        together = both[0].compose(both[1])
        assert together.for_rows(rows) == GroupCurve(curve=together, rows=rows)
    assert all(curve.delta(epsilon) >= apart.delta(epsilon) for epsilon in (0.0, 0.5, 1.0))


@pytest.mark.parametrize("rows", [2, 3])
@pytest.mark.parametrize("local_epsilon", [0.5, 2.0])
def test_amplified_messages_have_an_upper_bound(rows, local_epsilon):
    local = RandomizedResponse(users=3, bins=3, epsilon=local_epsilon)
    messages = [local.randomizer_distribution(value) for value in range(3)]

    @cache
    def tally(values):
        found = {(): Fraction(1)}
        for value in values:
            step = {}
            for (sent, p), (message, q) in product(found.items(), messages[value].items()):
                key = tuple(sorted([*sent, message]))
                step[key] = step.get(key, 0) + p * q
            found = step
        return found

    curve = Amplification(local_epsilon=local_epsilon, users=3).for_rows(rows)
    assert not curve.exact
    for epsilon in (0.0, 0.5, 1.0):
        ratio, truth = exponential_above(epsilon), 0
        for kept in combinations_with_replacement(range(3), 3 - rows):
            for one, other in product(combinations_with_replacement(range(3), rows), repeat=2):
                first, second = (tally(tuple(sorted((*kept, *some)))) for some in (one, other))
                truth = max(truth, sum(max(0, p - ratio * second[key]) for key, p in first.items()))
        assert float(truth) <= curve.delta(epsilon)
    assert curve.delta(rows * local_epsilon) <= 1e-9


CURVES = {
    "hist": Histogram.calibrate(users=2000, bins=10, epsilon=1, delta=1e-6).privacy,
    "sets": Histogram.calibrate(users=2000, bins=10, epsilon=1, delta=1e-6, values_per_person=3).privacy,
    "sparse": SparseHistogram.calibrate(users=2000, bins=10, epsilon=1, delta=1e-6).privacy,
    "blanket": BlanketHistogram(users=40, bins=2, flip_probability=0.25).privacy,
    "support": SupportCurve(noise_messages=3000, elements=3),
    "amplified": Amplification(local_epsilon=2.0, users=1000),
    "pure": PureCurve(pure_epsilon=0.5),
    "stated": StatedCurve(stated_epsilon=0.5, stated_delta=1e-7),
    "threshold": ThresholdCurve(noise=DiscreteLaplace(decay=0.75), threshold=80),
    "threshold of sets": ThresholdCurve(noise=DiscreteLaplace(decay=0.75), threshold=80, values=2),
    "shares": SplitAndMixCurve(
        noise=PrivacyCurve.of_shifts(Shift(distribution=DiscreteLaplace(decay=0.96875), by=16)), security_bits=40
    ),
}
CURVES["several"] = composed([CURVES["hist"], CURVES["hist"], CURVES["stated"]])


def test_releases_whose_curves_become_equal_by_rounding_all_count():
    one, other = PureCurve(pure_epsilon=0.1), PureCurve(pure_epsilon=math.nextafter(0.1, 1))
    assert one.for_rows(3) == other.for_rows(3)
    assert composed([one, other]).for_rows(3) == composed([one, one]).for_rows(3)
    assert composed([one, other]).for_rows(3).epsilon(1e-6) > 0.6 - 1e-5


@pytest.mark.parametrize("name", CURVES)
def test_every_curve_has_a_curve_for_rows(name):
    curve = CURVES[name]
    assert curve.for_rows(1) == curve
    assert curve.for_rows(1).neighbours == REPLACE_ONE
    several = [curve, *(curve.for_rows(rows) for rows in (2, 3))]
    assert several[2].neighbours == "datasets of equal size in which 3 rows of one person are replaced"
    assert hash(several[2]) == hash(curve.for_rows(3))
    for epsilon in (0.1, 1.0, 3.0):
        deltas = [each.delta(epsilon) for each in several]
        assert deltas == sorted(deltas)
        assert deltas[2] <= 1
    found = several[2].epsilon(1e-5)
    assert found > several[0].epsilon(1e-5)
    assert math.isinf(found) or several[2].delta(found) <= 1e-5 * (1 + 1e-9)
    with pytest.raises(ParameterError, match="for_rows needs a curve for datasets"):
        several[1].for_rows(2)


@pytest.mark.parametrize("rows", [0, -1, 1.5, "2", None, True, float("nan")])
@pytest.mark.parametrize("name", CURVES)
def test_bad_numbers_of_rows_are_refused(name, rows):
    with pytest.raises(ParameterError, match="rows"):
        CURVES[name].for_rows(rows)


@pytest.mark.parametrize("epsilon", [-0.1, float("nan"), "1"])
def test_bad_epsilons_are_refused(epsilon):
    for curve in (CURVES["stated"].for_rows(2), CURVES["threshold"].for_rows(2)):
        with pytest.raises(ParameterError, match="epsilon"):
            curve.delta(epsilon)


@pytest.mark.parametrize("rows", [2, 3, 5])
def test_the_bound_is_close_where_the_truth_is_known(rows):
    exact = CURVES["hist"].for_rows(rows)
    bound = GroupCurve(curve=CURVES["hist"], rows=rows)
    for delta in (1e-4, 1e-6):
        assert exact.epsilon(delta) <= bound.epsilon(delta) <= 1.03 * exact.epsilon(delta)
    for epsilon in np.linspace(0, 8, 33):
        assert exact.delta(epsilon) <= bound.delta(epsilon)


@pytest.mark.parametrize("rows", [2, 4])
def test_a_stated_guarantee_gives_the_classical_bound(rows):
    curve = CURVES["stated"].for_rows(rows)
    classical = 1e-7 * sum(math.exp(0.5 * step) for step in range(rows))
    assert curve.delta(0.5 * rows) == pytest.approx(classical, rel=1e-4)
    assert curve.epsilon(1.2 * classical) == pytest.approx(0.5 * rows, rel=1e-3)
    assert curve.epsilon(classical / 2) == math.inf


def test_releases_of_several_rows_compose_like_any_others():
    curve = CURVES["hist"]
    together = composed([curve] * 3).for_rows(2)
    assert together.epsilon(1e-6) == composed([curve.for_rows(2)] * 3, neighbours=together.neighbours).epsilon(1e-6)
    with pytest.raises(ParameterError, match="neighbouring"):
        composed([curve, curve.for_rows(2)])


# Noise ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "noise",
    [
        Binomial(trials=7, probability=0.375),
        Binomial(trials=5000, probability=0.0625),
        DiscreteLaplace(decay=0.875),
        CompoundPoisson(rate=30.0, size_weights=(SIZE_GRID,)),
        CompoundPoisson(rate=0.25, size_weights=(SIZE_GRID,)),
    ],
    ids=repr,
)
def test_noise_that_claims_it_is_log_concave(noise):
    assert noise.log_concave
    steps = np.diff(noise.window.log_pmf)
    assert (np.diff(steps) <= 1e-9).all()


def test_other_noise_need_not_be_log_concave():
    assert (np.diff(np.diff(EVEN.window.log_pmf)) > 0.1).any()


# The record -------------------------------------------------------------------------------------------------------


def test_the_record_is_at_the_same_delta_if_possible():
    found = group_privacy(CURVES["hist"], 3, epsilon=1.0, delta=1e-6)
    assert found == GroupPrivacy(rows=3, epsilon=CURVES["hist"].for_rows(3).epsilon(1e-6), delta=1e-6, exact=True)


def test_the_record_of_a_release_that_reveals_more_with_more_rows():
    """Nothing holds at the same delta: a published value reveals the person, the more likely the more rows."""
    protocol = CATALOGUE["stability"].make(Target(users=1000, bins=10, epsilon=1.0, delta=1e-6))
    found = group_privacy(protocol.privacy, 3, epsilon=1.0, delta=1e-6)
    assert protocol.privacy.for_rows(3).epsilon(1e-6) == math.inf
    assert found.delta == 1e-5
    assert protocol.privacy.for_rows(3).delta(found.epsilon) <= found.delta


def test_the_record_states_no_delta_above_one_in_a_hundred():
    curve = StatedCurve(stated_epsilon=1.0, stated_delta=0.004)
    assert math.isfinite(curve.for_rows(2).epsilon(0.04))
    found = group_privacy(curve, 2, epsilon=1.0, delta=0.004)
    assert (found.epsilon, found.delta) == (math.inf, 0.004)


@pytest.mark.parametrize("delta", [0.3, 0.07, 1e-3])
def test_the_record_of_a_large_delta(delta):
    found = group_privacy(CURVES["hist"], 2, epsilon=1.0, delta=delta)
    assert (found.delta, found.epsilon) == (delta, CURVES["hist"].for_rows(2).epsilon(delta))


def test_the_record_of_a_release_without_noise():
    curve = PrivacyCurve.of_shifts(Shift(distribution=Binomial(trials=3, probability=0.5), by=1))
    assert group_privacy(curve, 3, epsilon=1.0, delta=1e-6).epsilon == math.inf
    assert group_privacy(PureCurve(pure_epsilon=0.5), 3, epsilon=0.5, delta=0.0).epsilon == 1.5


def test_shifts_grow_with_the_rows():
    shift = Shift(distribution=Binomial(trials=3, probability=0.5), by=-2)
    assert (
        Comparison.of([shift]).for_rows(3).each == [shift.times(3)] == [Shift(distribution=shift.distribution, by=-6)]
    )


def test_very_many_rows_have_an_answer_at_once():
    """Each step of a loop over the rows would take minutes."""
    curve = GroupCurve(curve=StatedCurve(stated_epsilon=1e-9, stated_delta=1e-15), rows=10**6)
    assert curve.delta(2e-3) == pytest.approx(10**6 * 1e-15, rel=1e-2)
    assert curve.delta(2e-3) >= 10**6 * 1e-15
    assert GroupCurve(curve=curve.curve, rows=10**12).epsilon(1e-6) == math.inf

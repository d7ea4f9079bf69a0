"""The curve of published counts with several values for each person, against sums over all outcomes in fractions."""

import math
from fractions import Fraction
from itertools import combinations_with_replacement, product

import pytest

from shuffledp.accounting.threshold_curve import ThresholdCurve, ThresholdRowsCurve, _Block, loss_of_shifts
from shuffledp.errors import ParameterError
from shuffledp.noise.discrete_laplace import DiscreteLaplace
from shuffledp.paper.divergence import exponential_above
from shuffledp.protocols import LaplaceHistogram, StabilityHistogram
from shuffledp.protocols.central import _private_pairs

MANY = 44
"""People in a value that is published whatever the noise is, except for 2^-40."""


def published(count, decay, threshold, *, last):
    """What is published of a value that this number of people hold: None, or a noisy count; `last` and more as one."""
    if not count:
        return {None: Fraction(1)}
    distribution = {k: (1 - decay) / (1 + decay) * decay ** abs(k - count) for k in range(threshold, last)}
    distribution[last] = decay ** (last - count) / (1 + decay)
    return {None: 1 - sum(distribution.values())} | distribution


def noisy(count, decay, *, last):
    """What is published where every value is; -1 and less as one, and so are `last` and more."""
    distribution = {k: (1 - decay) / (1 + decay) * decay ** abs(k - count) for k in range(last)}
    return distribution | {end: decay ** abs(end - count) / (1 + decay) for end in (-1, last)}


def ratios(one, other):
    """Of a value in two datasets: the ratio of probabilities, None where it is infinite, with the chance of it."""
    found = {}
    for outcome, chance in one.items():
        ratio = chance / other[outcome] if other.get(outcome) else None
        found[ratio] = found.get(ratio, Fraction(0)) + chance
    return found


def exact_delta(moved, *, ratio, distribution):
    """Of independent values whose counts differ: {(before, after): ...}, summed over all that can be published."""
    together = {Fraction(1): Fraction(1)}
    for before, after in moved:
        step, old = {}, together
        for (x, p), (y, q) in product(old.items(), ratios(distribution(before), distribution(after)).items()):
            both = None if x is None or y is None else x * y
            step[both] = step.get(both, Fraction(0)) + p * q
        together = step
    return sum(p * (1 if x is None else max(Fraction(0), 1 - ratio / x)) for x, p in together.items())


def neighbours(values, *, left, entered):
    """Every way to leave and to enter some values, by how many hold them before; each at most `values` times."""
    for number in range(values + 1):
        yield from (
            [*((c, c - 1) for c in down), *((c, c + 1) for c in up)]
            for down in combinations_with_replacement(left, number)
            for up in combinations_with_replacement(entered, number)
        )


@pytest.mark.parametrize("values", [1, 2, 3])
@pytest.mark.parametrize(("decay", "threshold"), [(0.5, 2), (0.5, 4), (0.125, 2)])
@pytest.mark.parametrize("epsilon", [0.0, 1.0])
def test_the_curve_is_the_worst_of_all_neighbours(values, decay, threshold, epsilon):
    """Small counts never tell more, and large ones together with empty values tell exactly as much."""
    curve = ThresholdCurve(noise=DiscreteLaplace(decay=decay), threshold=threshold, values=values)
    many, small = MANY, [2] if values < 3 else []
    distributions = {c: published(c, Fraction(decay), threshold, last=many + 1) for c in [0, 1, 2, 3, many - 1, many]}

    def reached(**counts):
        found = neighbours(values, **counts)
        return max(
            exact_delta(moved, ratio=exponential_above(epsilon), distribution=distributions.__getitem__)
            for moved in found
        )

    worst = float(reached(left=[1, *small, many], entered=[0, *small, many - 1]))
    assert worst <= curve.delta(epsilon)
    assert curve.delta(epsilon) == pytest.approx(worst, rel=1e-9)


@pytest.mark.parametrize(
    ("emptied", "new", "decay", "threshold", "epsilon"),
    [(0, 0, 5, 12, 1.0), (0, 1, 5, 2, 0.25), (1, 0, 11, 9, 0.75), (2, 0, 13, 12, 0.125)],
)
def test_each_kind_of_neighbours_can_be_the_worst(emptied, new, decay, threshold, epsilon):
    """Of two values each: how many become empty, and how many were. So none may be left out."""
    distributions = {c: published(c, Fraction(decay, 16), threshold, last=201) for c in (0, 1, 199, 200)}

    def reached(a, b):
        moved = [(1, 0)] * a + [(200, 199)] * (2 - a) + [(0, 1)] * b + [(199, 200)] * (2 - b)
        return exact_delta(moved, ratio=exponential_above(epsilon), distribution=distributions.__getitem__)

    deltas = {(a, b): float(reached(a, b)) for a, b in product(range(3), repeat=2)}
    assert max(deltas, key=deltas.get) == (emptied, new)
    curve = ThresholdCurve(noise=DiscreteLaplace(decay=decay / 16), threshold=threshold, values=2)
    assert curve.delta(epsilon) == pytest.approx(max(deltas.values()), rel=1e-9)


@pytest.mark.parametrize("values", [1, 2, 3, 5])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.5])
def test_shifted_counts_are_summed_exactly(values, epsilon):
    """Both for the curve of all values with noise and for the part of the other one."""
    noise = DiscreteLaplace(decay=0.75)
    distributions = {c: noisy(c, Fraction(3, 4), last=3) for c in (1, 2)}
    truth = float(
        exact_delta([(1, 2), (2, 1)] * values, ratio=exponential_above(epsilon), distribution=distributions.__getitem__)
    )
    protocol = LaplaceHistogram(users=9, bins=9, noise=noise, values_per_person=values)
    for claimed in (float(loss_of_shifts(noise, 2 * values).delta(epsilon)), protocol.privacy.delta(epsilon)):
        assert truth <= claimed
        assert claimed == pytest.approx(truth, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("values", [1, 2, 3, 7, 40])
def test_deciding_is_the_same_as_computing(values):
    noise = DiscreteLaplace(decay=0.9375)
    for threshold in (60, 120, 240):
        curve = ThresholdCurve(noise=noise, threshold=threshold, values=values)
        for epsilon in (0.5, 1.0, 3.0):
            delta = curve.delta(epsilon)
            assert curve.keeps(epsilon, delta * (1 + 1e-9))
            assert not curve.keeps(epsilon, delta * (1 - 1e-9))


@pytest.mark.parametrize("values", [2, 5])
def test_the_best_of_blocks_is_the_largest_of_all_pairs(values):
    noise = DiscreteLaplace(decay=0.875)
    for threshold, epsilon in product((8, 20, 60), (0.1, 0.6, 1.5)):
        seen = noise.window.above(threshold - 2)
        hidden = math.log1p(-seen)
        every = [
            1
            - (1 - seen) ** a
            + (1 - seen) ** a * loss_of_shifts(noise, 2 * values - a - b).delta(epsilon - (a - b) * hidden)
            for a, b in product(range(values + 1), repeat=2)
        ]
        found = ThresholdCurve(noise=noise, threshold=threshold, values=values).delta(epsilon)
        assert found == pytest.approx(min(1.0, float(max(every))), rel=1e-10)


def test_more_values_tell_more_and_a_higher_threshold_less():
    noise = DiscreteLaplace(decay=0.875)
    by_values = [ThresholdCurve(noise=noise, threshold=30, values=values).delta(1.0) for values in (1, 2, 4, 8)]
    assert by_values == sorted(by_values)
    by_threshold = [ThresholdCurve(noise=noise, threshold=at, values=3).delta(1.0) for at in (5, 10, 20, 40, 80)]
    assert by_threshold == sorted(by_threshold, reverse=True)


@pytest.mark.slow
@pytest.mark.parametrize("values", [1, 2, 3, 8, 30])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.3, 1e-4)])
def test_the_threshold_is_the_first_that_is_private(values, epsilon, delta):
    asked = {"users": 10**5, "bins": 10**4, "epsilon": epsilon, "delta": delta, "values_per_person": values}
    protocol = StabilityHistogram.calibrate(**asked)
    assert protocol.privacy.delta(epsilon) <= delta
    lower = ThresholdCurve(noise=protocol.noise, threshold=protocol.threshold - 1, values=values)
    assert lower.delta(epsilon) > delta


@pytest.mark.parametrize(("epsilon", "delta", "values"), [(0.5, 0.05, 4), (1.0, 0.01, 3), (0.5, 0.05, 1)])
def test_every_noise_that_is_tried_has_the_first_threshold_that_is_private(epsilon, delta, values):
    """Also where some values become empty and others move, which tells more than either alone."""
    tried = _private_pairs(epsilon, delta, values=values)
    assert len(tried) > 20
    for noise, threshold in tried:
        assert ThresholdCurve(noise=noise, threshold=threshold, values=values).delta(epsilon) <= delta
        lower = ThresholdCurve(noise=noise, threshold=max(1, threshold - 1), values=values)
        assert threshold == 2 or lower.delta(epsilon) > delta


def ways(rows, *, counts):
    """Every way for rows to leave bins of these counts, or to enter them: a list of (before, after)."""
    for number in range(rows + 1):
        for sizes in partitions(number):
            yield from product(*(counts(size) for size in sizes))


def partitions(number, most=None):
    """Every way to write a number as a sum of positive numbers."""
    if not number:
        yield ()
    for first in range(min(number, most or number), 0, -1):
        yield from ((first, *rest) for rest in partitions(number - first, first))


@pytest.mark.slow
@pytest.mark.parametrize("rows", [2, 3])
@pytest.mark.parametrize(("decay", "threshold"), [(0.5, 2), (0.5, 4), (0.75, 5), (0.125, 2)])
@pytest.mark.parametrize("epsilon", [0.0, 1.0])
def test_the_curve_of_several_rows_is_the_worst_of_all_neighbours(rows, decay, threshold, epsilon):
    """Rows leave bins that become empty, stay small or are large; they enter empty, small or large bins."""
    curve = ThresholdCurve(noise=DiscreteLaplace(decay=decay), threshold=threshold).for_rows(rows)
    many = MANY if decay <= 0.5 else 3 * MANY
    distributions = {
        c: published(c, Fraction(decay), threshold, last=many + 4)
        for c in {*range(2 * rows + 2), *range(many - rows, many + rows + 1)}
    }
    small = [1] if rows < 3 else []
    leaving = list(ways(rows, counts=lambda size: [(c + size, c) for c in (0, *small, many - rows)]))
    entering = list(ways(rows, counts=lambda size: [(c, c + size) for c in (0, *small, many - rows)]))
    found = max(
        exact_delta([*left, *entered], ratio=exponential_above(epsilon), distribution=distributions.__getitem__)
        for left, entered in product(leaving, entering)
        if sum(a - b for a, b in left) == sum(b - a for a, b in entered)
    )
    assert float(found) <= curve.delta(epsilon)
    assert curve.delta(epsilon) == pytest.approx(float(found), rel=1e-9)


@pytest.mark.parametrize("rows", [2, 3])
def test_several_rows_of_several_values_can_move_as_many_bins_as_all_values_together(rows):
    noise = DiscreteLaplace(decay=0.5)
    curve = ThresholdCurve(noise=noise, threshold=6, values=2).for_rows(rows)
    apart = ThresholdCurve(noise=noise, threshold=6, values=2 * rows)
    assert not curve.exact
    for epsilon in (0.0, 1.0, 3.0):
        assert curve.delta(epsilon) >= apart.delta(epsilon)


def test_one_row_of_several_is_the_curve_of_one():
    for decay, threshold, epsilon in product((0.5, 0.9375), (3, 40), (0.0, 0.5, 2.0)):
        curve = ThresholdCurve(noise=DiscreteLaplace(decay=decay), threshold=threshold)
        rows = ThresholdRowsCurve(noise=curve.noise, threshold=threshold, rows=1)
        assert rows.delta(epsilon) == pytest.approx(curve.delta(epsilon), rel=1e-9)


def test_a_block_has_a_bound_for_each_of_its_pairs():
    """A bound that is too small would leave the worst pair out of the search."""
    for decay, threshold, epsilon in product((0.5, 0.875), (2, 6, 20), (0.0, 0.5, 1.5)):
        curve = ThresholdCurve(noise=DiscreteLaplace(decay=decay), threshold=threshold, values=3)
        hidden = math.log1p(-curve.noise.window.above(threshold - 2))
        single = {(a, b): curve._bound(_Block(a, a, b, b), epsilon, hidden) for a, b in product(range(4), repeat=2)}
        for (a, b), (c, d) in product(combinations_with_replacement(range(4), 2), repeat=2):
            inside = max(single[pair] for pair in product(range(a, b + 1), range(c, d + 1)))
            assert curve._bound(_Block(a, b, c, d), epsilon, hidden) >= inside * (1 - 1e-12)


def test_a_value_that_is_always_published_reveals_everything():
    for values, epsilon in product((1, 3), (0.0, 5.0)):
        curve = ThresholdCurve(noise=DiscreteLaplace(decay=0.5), threshold=-10_000, values=values)
        assert curve.delta(epsilon) == 1
        assert curve.for_rows(2).delta(epsilon) == 1
    nearly = ThresholdCurve(noise=DiscreteLaplace(decay=2.0**-20), threshold=2, values=40)
    assert nearly.delta(0.0) <= 1


@pytest.mark.parametrize("epsilon", [-0.5, -1e-9])
def test_negative_epsilons_are_refused(epsilon):
    with pytest.raises(ParameterError, match="epsilon must not be negative"):
        ThresholdCurve(noise=DiscreteLaplace(decay=0.5), threshold=3).delta(epsilon)

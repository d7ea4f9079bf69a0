"""Quantiles, shares and bands of a distribution function, against all functions inside a small band."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from shuffledp.histogram.ordered_estimate import Distribution, rising_band, whole_bounds

BANDS = [
    ([0, 2, 3, 5], [2, 3, 5, 6]),
    ([1, 1, 4, 4], [1, 4, 4, 4]),
    ([0, 0, 0, 6], [6, 6, 6, 6]),
    ([0, 3, 3, 4], [0, 3, 4, 6]),
    ([2, 2, 2, 2], [2, 2, 2, 2]),
    ([0, 1, 2, 3], [3, 4, 5, 7]),
]
SHARES = [0.01, 0.2, 0.25, 0.3, 0.5, 0.6, 0.75, 0.8, 0.99]
banded = pytest.mark.parametrize(("low", "high"), BANDS)


def functions(low, high):
    """All non-decreasing numbers of people inside a band."""
    values = product(*(range(a, b + 1) for a, b in zip(low, high, strict=True)))
    return [numbers for numbers in values if list(numbers) == sorted(numbers)]


def quantile(numbers, share):
    """The place of the first value that at least this share of the people do not exceed."""
    return next(at for at, number in enumerate(numbers) if number >= Fraction(repr(share)) * numbers[-1])


def distribution(low, high, *, edges=None):
    people = (np.array(low) + np.array(high)) / 2
    return Distribution(
        edges=edges, labels=np.array(list("abcd")), people=people, low=np.array(low), high=np.array(high)
    )


@banded
@pytest.mark.parametrize("share", SHARES)
def test_a_quantile_is_between_the_ends_of_all_possible_ones(low, high, share):
    """Every possible quantile is inside, and both ends are possible."""
    possible = {quantile(numbers, share) for numbers in functions(low, high)}
    found = distribution(low, high).quantile(share)
    assert (found.low, found.high) == ("abcd"[min(possible)], "abcd"[max(possible)])
    assert found.low <= found.value <= found.high


@banded
@pytest.mark.parametrize("share", SHARES)
def test_the_ends_of_a_quantile_between_edges(low, high, share):
    """From the edge below the first possible interval to the edge above the last one; the outer ones are open."""
    possible = {quantile(numbers, share) for numbers in functions(low, high)}
    found = distribution(low, high, edges=(10, 20, 30)).quantile(share)
    assert (found.low, found.high) == ((None, 10, 20, 30)[min(possible)], (10, 20, 30, None)[max(possible)])


@banded
def test_shares_are_between_those_of_all_functions(low, high):
    _, least, most = distribution(low, high).shares
    every = np.array([[Fraction(n, numbers[-1]) for n in numbers] for numbers in functions(low, high)])
    # everyone with a value is in the last share, whose lower bound is not used
    assert least[:-1] == pytest.approx(every.min(axis=0).astype(float)[:-1])
    assert most == pytest.approx(every.max(axis=0).astype(float))


@pytest.mark.parametrize(
    ("low", "high"), [([0, 3, 2], [5, 4, 6]), ([1, 0, 0], [2, 2, 1]), ([0, 2, 1, 4], [3, 5, 4, 6])]
)
def test_a_rising_band_has_the_ends_of_all_rising_functions(low, high):
    every = np.array(functions(low, high))
    found = rising_band(np.array(low), np.array(high))
    assert [end.tolist() for end in found] == [every.min(axis=0).tolist(), every.max(axis=0).tolist()]


@pytest.mark.parametrize(
    ("count", "too_high", "too_low", "ends"),
    [
        (10.0, 3.0, 2.0, (7, 12)),
        (10.0, 2.5, 1.5, (8, 11)),
        (10.0, 3.0 - 1e-9, 2.0 - 1e-9, (7, 12)),  # rounding
        (10.0, 3.0 - 1e-3, 2.0 - 1e-3, (8, 11)),
        (1.2, 3.0, 2.0, (0, 3)),
        (29.0, 3.0, 2.0, (26, 30)),
        (-5.0, 1.0, 2.0, (0, 0)),
        (40.0, 1.0, 2.0, (30, 30)),
    ],
)
def test_bounds_are_the_whole_numbers_inside(count, too_high, too_low, ends):
    low, high = whole_bounds(np.array([count]), np.array([too_high]), np.array([too_low]), people=30)
    assert (low[0], high[0]) == ends

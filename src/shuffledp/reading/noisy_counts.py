"""From counts to estimates and their errors, where each bin's count is (true count) + (people) - M with known noise M.

Two estimators, both post-processing of the same release, with excess = count - people = (true count) - M:

    truncated   excess + E[M] where excess > 0, else 0. An empty bin has excess <= 0, so it is never reported.
    unbiased    excess + E[M] everywhere.

For an error `a` and a bin of true count c, the truncated estimate is off by c if M >= c and by |E[M] - M| otherwise.
So a bin with c > a fails with probability at most P(M > a) + P(M < E[M] - a), one with 1 <= c <= a with at most
P(M < E[M] - a), an empty one never. At most people / (floor(a) + 1) bins can hold more than a people: that number,
not the number of bins, multiplies the risk. docs/proofs/exact-error.md has the details.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from shuffledp.errors import ParameterError
from shuffledp.noise import IntegerLaw
from shuffledp.reading.reading import ErrorBound

_HAIR = 1e-9
"""Errors are compared up to this much, so that the float mean of the noise decides nothing."""


class Estimator(Protocol):
    """One way to read the release."""

    def point(self, excess: NDArray[np.int64], noise: IntegerLaw) -> NDArray[np.float64]:
        """The estimate of each bin."""

    def failure(self, noise: IntegerLaw, error: float, *, people: int, bins: int, occupied: int) -> float:
        """At most how likely some bin is off by more than `error`, on the worst dataset."""

    def noise_range(self, noise: IntegerLaw, *, beta: float, people: int, bins: int) -> tuple[int, int]:
        """Bounds on M that put every interval [excess + low, excess + high] around its true count."""


class Truncated:
    """The paper's estimator: 0 unless the count exceeds the number of people."""

    def point(self, excess: NDArray[np.int64], noise: IntegerLaw) -> NDArray[np.float64]:
        """The estimate of each bin."""
        return np.where(excess > 0, excess + noise.mean, 0.0)

    def failure(self, noise: IntegerLaw, error: float, *, people: int, bins: int, occupied: int) -> float:
        """Bins above the error can be hidden or off, smaller ones only off, empty ones neither."""
        most = math.floor(error + _HAIR)
        off = noise.window.below(math.ceil(noise.mean - error - _HAIR))
        off_or_hidden = off + noise.window.above(most)
        large = min(bins, occupied, people // (most + 1))
        return any_of((off_or_hidden, large), (off, min(bins, occupied) - large))

    def noise_range(self, noise: IntegerLaw, *, beta: float, people: int, bins: int) -> tuple[int, int]:
        """Upwards only bins of more than `high` people are at risk; downwards at most people / low of them count."""
        window = noise.window

        def fails_above(high: int) -> bool:
            return any_of((window.above(high), min(bins, people // (high + 1)))) > beta / 2

        def fails_below(low: int) -> bool:
            return min(bins, people / max(low, 1)) * window.below(low) > beta / 2

        return last_low(noise, fails_below), first_high(noise, fails_above)


class Unbiased:
    """No truncation: smaller worst error while there are few bins, but every empty bin is noisy."""

    def point(self, excess: NDArray[np.int64], noise: IntegerLaw) -> NDArray[np.float64]:
        """The estimate of each bin."""
        return excess.astype(np.float64) + noise.mean

    def failure(self, noise: IntegerLaw, error: float, *, people: int, bins: int, occupied: int) -> float:
        """Every bin fails alike: exactly 1 - (1 - P(|M - E[M]| > error))^bins."""
        low = math.ceil(noise.mean - error - _HAIR)
        high = math.floor(noise.mean + error + _HAIR)
        return any_of((noise.window.below(low) + noise.window.above(high), bins))

    def noise_range(self, noise: IntegerLaw, *, beta: float, people: int, bins: int) -> tuple[int, int]:
        """Half of the risk on either side, over all bins."""
        window = noise.window
        return (
            last_low(noise, lambda low: any_of((window.below(low), bins)) > beta / 2),
            first_high(noise, lambda high: any_of((window.above(high), bins)) > beta / 2),
        )


ESTIMATORS: dict[str, Estimator] = {"truncated": Truncated(), "unbiased": Unbiased()}


def named(estimator: str) -> Estimator:
    """The estimator of that name."""
    if not isinstance(estimator, str) or estimator not in ESTIMATORS:
        raise ParameterError(f"estimator must be one of {', '.join(ESTIMATORS)}; got {estimator!r}")
    return ESTIMATORS[estimator]


def error_bound(noise: IntegerLaw, *, beta: float, people: int, bins: int, occupied: int, estimator: str) -> ErrorBound:
    """The smallest per-bin and simultaneous errors that are exceeded with probability at most beta."""
    method = named(estimator)

    def smallest(bins: int) -> float:
        def holds(error: float) -> bool:
            return method.failure(noise, error, people=people, bins=bins, occupied=occupied) <= beta

        largest = math.ceil(max(noise.mean, min(noise.window.highest, 2 * noise.window.last))) + 1
        whole = bisect_left(range(largest), True, key=holds)
        # an error is a whole count or a distance from the mean: of the latter, two lie in the last unit
        below = noise.mean - math.floor(noise.mean - whole + 1)
        above = math.ceil(noise.mean + whole - 1) - noise.mean
        between = sorted(error for error in (below, above) if max(0, whole - 1) < error < whole)
        return next((error for error in between if holds(error)), float(whole))

    return ErrorBound(beta=beta, per_bin=smallest(1), simultaneous=smallest(bins))


def any_of(*risks: tuple[float, int]) -> float:
    """How likely at least one of independent events is: each entry is a probability and how many events have it."""
    at_risk = [(probability, min(count, 10**300)) for probability, count in risks if count]
    if any(probability >= 1 for probability, _ in at_risk):
        return 1.0
    none = sum(count * math.log1p(-probability) for probability, count in at_risk)
    return -math.expm1(none)


def last_low(noise: IntegerLaw, fails: Callable[[int], bool]) -> int:
    """The largest bound below the mean that does not fail."""
    return bisect_left(range(1, math.floor(noise.mean) + 1), True, key=fails)


def first_high(noise: IntegerLaw, fails: Callable[[int], bool]) -> int:
    """The smallest bound above the mean that does not fail; the largest possible value if only that is sure."""
    options = range(math.floor(noise.mean), noise.window.last + 2)
    at = bisect_left(options, True, key=lambda high: not fails(high))
    return options[at] if at < len(options) else int(noise.window.highest)

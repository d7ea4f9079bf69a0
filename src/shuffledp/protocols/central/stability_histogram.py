"""The stability-based histogram: noise on occupied bins only, and what is small is left out (Bun, Nissim and Stemmer
2016).

Its error does not depend on the number of bins: the floor that shuffled protocols approach.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.laplace_shifts import loss_of_shifts
from shuffledp.accounting.threshold_curve import ThresholdCurve
from shuffledp.checks import whole
from shuffledp.errors import ParameterError
from shuffledp.noise.binomial import safely_up
from shuffledp.noise.discrete_laplace import DiscreteLaplace
from shuffledp.pipeline.tally import Tally
from shuffledp.protocols.central.curator import Curator
from shuffledp.protocols.central.laplace_histogram import smallest_noise
from shuffledp.protocols.target import Target
from shuffledp.reading.curated_counts import ThresholdedCounts

_CANDIDATES = 24
"""Noises that are tried, from that of pure epsilon to the smallest: the error is flat around the best."""

_BETA = 0.05
"""The failure probability of the error by which they are compared."""


@dataclass(frozen=True, kw_only=True)
class StabilityHistogram(Curator):
    """A bin is published if somebody holds it and its noisy count is at least `threshold`."""

    threshold: int

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "threshold", whole("threshold", self.threshold, minimum=2))

    @classmethod
    def for_target(cls, target: Target) -> Self:
        """The noise and the threshold with the smallest simultaneous error (beta = 0.05) that are exactly private."""
        epsilon, delta = target.epsilon, target.delta
        private = _private_pairs(epsilon, delta, values=target.values_per_person)
        if not private:
            raise ParameterError(
                f"epsilon={epsilon:g} with delta={delta:g} needs more noise than this histogram resolves"
            )
        promise = target.promise("computed exactly")
        options = [
            cls(**target.settled, noise=noise, threshold=threshold, guarantee=promise) for noise, threshold in private
        ]
        return min(options, key=cls._simultaneous)

    def _simultaneous(self) -> float:
        """The error by which calibrations are compared."""
        occupied = min(self.bins, self.users * self.values_per_person)
        return self.reading.error(beta=_BETA, bins=self.bins, occupied=occupied)

    @classmethod
    def published_for(cls, target: Target) -> Self:
        """Decay e^(-epsilon / 2) and threshold 1 + 2 ln(2 / delta) / epsilon, rounded up to a whole count."""
        target.needs_one_value(cls)
        return cls(
            users=target.users,
            bins=target.bins,
            noise=DiscreteLaplace(decay=safely_up(math.exp(-target.epsilon / 2))),
            threshold=math.ceil(1 + 2 * math.log(2 / target.delta) / target.epsilon),
            guarantee=target.promise("published parameters"),
        )

    @cached_property
    def privacy(self) -> ThresholdCurve:
        """The exact curve over all neighbouring datasets."""
        return ThresholdCurve(noise=self.noise, threshold=self.threshold, values=self.values_per_person)

    @cached_property
    def reading(self) -> ThresholdedCounts:
        """What is published, as it is."""
        return ThresholdedCounts(
            noise=self.noise, people=self.users, threshold=self.threshold, values_per_person=self.values_per_person
        )

    def _counted(self, held: NDArray[np.int64]) -> Tally:
        return Tally.of(held)

    def _draw(self, truth: Tally, rng: np.random.Generator) -> Tally:
        """Noise on what is listed; only occupied bins that reach the threshold are published."""
        noisy = truth.counts + self.noise.sample(len(truth), rng=rng)
        kept = (truth.counts > 0) & (noisy >= self.threshold)
        return Tally(truth.symbols[kept], noisy[kept], complete=False)


@lru_cache(maxsize=256)
def _private_pairs(epsilon: float, delta: float, *, values: int) -> tuple[tuple[DiscreteLaplace, int], ...]:
    """Noises from that of pure epsilon to the smallest, each with the smallest threshold that makes it private.

    They depend on nobody's number: which of them is best is decided for the people and bins of a target.
    """
    pure, smallest = math.exp(-epsilon / (2 * values)), smallest_noise(epsilon, delta, values=values).decay
    least, most = (math.log(-math.log(decay)) for decay in (pure, smallest))
    pairs = []
    for rate in np.exp(np.linspace(least, most, _CANDIDATES)):
        noise = DiscreteLaplace(decay=safely_up(math.exp(-float(rate))))
        threshold = _first_threshold(noise, epsilon, delta, values=values)
        if threshold is not None:
            pairs.append((noise, threshold))
    return tuple(pairs)


def _first_threshold(noise: DiscreteLaplace, epsilon: float, delta: float, *, values: int) -> int | None:
    """The smallest threshold that gives (epsilon, delta); None if this noise is too small for any."""
    if loss_of_shifts(noise, 2 * values).delta(epsilon) > delta:
        return None

    def enough(threshold: int) -> bool:
        return ThresholdCurve(noise=noise, threshold=threshold, values=values).keeps(epsilon, delta)

    # where every bin that is left becomes empty and every one that is entered was, one of them is published this often
    allowed = -math.expm1(math.log1p(-delta) / values)
    options = range(2, noise.window.last + 2)
    first = bisect_left(options, True, key=lambda threshold: noise.window.above(threshold - 2) <= allowed)
    step = 1
    while first + step < len(options) and not enough(options[first + step - 1]):
        first, step = first + step, 2 * step
    options = options[first : first + step]
    at = bisect_left(options, True, key=enough)
    return options[at] if at < len(options) else None

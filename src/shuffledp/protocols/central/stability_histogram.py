"""The stability-based histogram: noise on occupied bins only, and what is small is left out (Bun, Nissim and Stemmer
2016).

Its error does not depend on the number of bins: the floor that shuffled protocols approach.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.curve import moved_bins
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

    takes_sets = False

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "threshold", whole("threshold", self.threshold, minimum=2))

    @classmethod
    def for_target(cls, target: Target) -> Self:
        """The noise and the threshold with the smallest simultaneous error (beta = 0.05) that are exactly private."""
        target.needs_one_value(cls)
        epsilon, delta = target.epsilon, target.delta
        least, most = (
            math.log(-math.log(decay)) for decay in (math.exp(-epsilon / 2), smallest_noise(epsilon, delta).decay)
        )
        options = []
        for rate in np.exp(np.linspace(least, most, _CANDIDATES)):
            noise = DiscreteLaplace(decay=safely_up(math.exp(-float(rate))))
            threshold = _first_threshold(noise, epsilon, delta)
            if threshold is not None:
                options.append(
                    cls(
                        users=target.users,
                        bins=target.bins,
                        noise=noise,
                        threshold=threshold,
                        guarantee=target.promise("computed exactly"),
                    )
                )
        if not options:
            raise ParameterError(
                f"epsilon={epsilon:g} with delta={delta:g} needs more noise than this histogram resolves"
            )
        return min(options, key=lambda option: option.error(_BETA).simultaneous)

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
        return ThresholdCurve(noise=self.noise, threshold=self.threshold)

    @cached_property
    def reading(self) -> ThresholdedCounts:
        """What is published, as it is."""
        return ThresholdedCounts(noise=self.noise, people=self.users, threshold=self.threshold)

    def _counted(self, people: NDArray[np.int64]) -> Tally:
        return Tally.of(people)

    def _draw(self, truth: Tally, rng: np.random.Generator) -> Tally:
        """Noise on what is listed; only occupied bins that reach the threshold are published."""
        noisy = truth.counts + self.noise.sample(len(truth), rng=rng)
        kept = (truth.counts > 0) & (noisy >= self.threshold)
        return Tally(truth.symbols[kept], noisy[kept], complete=False)


def _first_threshold(noise: DiscreteLaplace, epsilon: float, delta: float) -> int | None:
    """The smallest threshold that gives (epsilon, delta); None if this noise is too small for any."""
    if moved_bins(noise).delta(epsilon) > delta:
        return None

    def enough(threshold: int) -> bool:
        return ThresholdCurve(noise=noise, threshold=threshold).delta(epsilon) <= delta

    options = range(2, noise.window.last + 2)
    at = bisect_left(options, True, key=enough)
    return options[at] if at < len(options) else None

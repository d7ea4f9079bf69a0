"""Discrete Laplace noise on every bin (Dwork, McSherry, Nissim and Smith 2006)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.curve import PrivacyCurve, moved_bins
from shuffledp.accounting.guarantee import Guarantee
from shuffledp.accounting.search import first_safe_from, log_excess
from shuffledp.errors import DataError
from shuffledp.noise.binomial import safely_up
from shuffledp.noise.discrete_laplace import DiscreteLaplace
from shuffledp.pipeline.tally import Tally
from shuffledp.protocols.central.curator import Curator
from shuffledp.protocols.promise import computed
from shuffledp.protocols.target import Target
from shuffledp.reading.curated_counts import CuratedCounts


@dataclass(frozen=True, kw_only=True)
class LaplaceHistogram(Curator):
    """Every bin of the domain with noise of both signs; each value that is replaced moves two of them by one."""

    @classmethod
    def for_target(cls, target: Target) -> Self:
        """The smallest noise that makes the release (epsilon, delta)-private, exactly."""
        values = target.values_per_person
        noise = smallest_noise(target.epsilon, target.delta, values=values)
        return cls(**target.settled, noise=noise, guarantee=target.promise(computed(values)))

    @classmethod
    def published_for(cls, target: Target) -> Self:
        """Pure epsilon: decay e^(-epsilon / 2), since two counts change by one."""
        target.needs_one_value(cls)
        noise = DiscreteLaplace(decay=safely_up(math.exp(-target.epsilon / 2)))
        pure = Guarantee(epsilon=target.epsilon, delta=0.0, basis="sensitivity 2")
        return cls(users=target.users, bins=target.bins, noise=noise, guarantee=pure)

    @cached_property
    def privacy(self) -> PrivacyCurve:
        """The exact curve."""
        return moved_bins(self.noise, values=self.values_per_person)

    @cached_property
    def reading(self) -> CuratedCounts:
        """The noisy counts."""
        return CuratedCounts(noise=self.noise, people=self.users, bins=self.bins)

    def _counted(self, held: NDArray[np.int64]) -> NDArray[np.int64]:
        return Tally.of_bins(held, bins=self.bins).counts

    def _draw(self, truth: Tally, rng: np.random.Generator) -> Tally:
        """Every bin with its own noise."""
        if len(truth) != self.bins:
            raise DataError("this protocol reports every bin: give an array with all true counts")
        return Tally(truth.symbols, truth.counts + self.noise.sample(len(truth), rng=rng))


_STEEPEST = -30.0
"""Noise whose decay is e^-30 is hardly ever anything but 0: less makes no difference."""

_STRIDE = 0.1
"""First step of the search, relative to epsilon: places are then 1.2 times apart."""

_TOLERANCE = 1e-9
"""Precision of the logarithm of the decay, relative to epsilon."""


@lru_cache(maxsize=256)
def smallest_noise(epsilon: float, delta: float, *, values: int = 1) -> DiscreteLaplace:
    """The smallest noise for two moved bins, or for each value: less than pure epsilon needs, as delta may be spent."""

    def law(rate: float) -> DiscreteLaplace:
        return DiscreteLaplace(decay=safely_up(math.exp(rate)))

    def excess(rate: float) -> float:
        return log_excess(moved_bins(law(rate), values=values).delta(epsilon), delta)

    pure = -epsilon / (2 * values)
    found = first_safe_from(
        excess,
        pure,
        stride=_STRIDE * epsilon,
        growth=1 + 2 * _STRIDE,
        tolerance=_TOLERANCE * epsilon,
        least=_STEEPEST,
        most=pure,
    )
    return law(pure if found is None else found)

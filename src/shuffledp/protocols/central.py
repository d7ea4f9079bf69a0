"""Histograms of the central model: a curator sees every value, adds the noise, and only the result is private.

`LaplaceHistogram` adds discrete Laplace noise to every bin (Dwork, McSherry, Nissim and Smith 2006).
`StabilityHistogram` adds noise to occupied bins only and leaves out small counts (Bun, Nissim and Stemmer 2016). Its
error does not depend on the number of bins; shuffled protocols approach it.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.accounting.curve import Guarantee, PrivacyCurve, moved_bins
from shuffledp.accounting.search import first_safe_from, log_excess
from shuffledp.accounting.threshold_curve import ThresholdCurve, loss_of_shifts
from shuffledp.errors import DataError, ParameterError
from shuffledp.estimators.counts import ThresholdedCounts, UnbiasedCounts
from shuffledp.histogram.estimate import Estimate
from shuffledp.histogram.facts import NoiseFacts, NoiseKind, Trusted
from shuffledp.histogram.inputs import Counts
from shuffledp.histogram.tally import Tally
from shuffledp.noise.binomial import safely_up
from shuffledp.noise.discrete_laplace import DiscreteLaplace
from shuffledp.protocols.base import BaseHistogram
from shuffledp.protocols.protocol import MessageCount
from shuffledp.protocols.target import Target, computed
from shuffledp.validation import whole


@dataclass(frozen=True, kw_only=True)
class Curator(BaseHistogram):
    """A trusted party with the values of `users` people in `bins` bins.

    There is no tally of messages, since it would be the true counts. `sample_tally` gives noisy counts; `release`
    estimates them.
    """

    noise: DiscreteLaplace

    takes_sets: ClassVar[bool] = True
    trusted = Trusted.CURATOR

    @property
    def messages_per_user(self) -> MessageCount:
        """The values that people send to the curator."""
        return MessageCount(expected=float(self.values_per_person), maximum=float(self.values_per_person))

    def release(self, values: ArrayLike, *, rng: np.random.Generator | None = None, **options: Any) -> Estimate:
        """Make the private histogram of values; with several values per person, a row of bins for each person."""
        counts = self._counted(self._held(values).ravel())
        return self.estimate(self.sample_tally(counts, rng=rng), **options)

    @abstractmethod
    def _counted(self, held: NDArray[np.int64]) -> Counts:
        """The true counts in the form that `sample_tally` needs."""

    @property
    def noise_facts(self) -> NoiseFacts:
        """The kind of noise and its numbers."""
        return NoiseFacts(NoiseKind.CENTRAL, {"deviation": math.sqrt(self.noise.variance)})


@dataclass(frozen=True, kw_only=True)
class LaplaceHistogram(Curator):
    """Discrete Laplace noise on every bin of the domain; a replaced value moves two bins by one."""

    @classmethod
    def for_target(cls, target: Target) -> Self:
        """Return the smallest noise that makes the release exactly (epsilon, delta)-private."""
        values = target.values_per_person
        noise = smallest_noise(target.epsilon, target.delta, values=values)
        return cls._made(target, computed(values), noise=noise)

    @classmethod
    def published_for(cls, target: Target) -> Self:
        """Return the noise for pure epsilon: decay e^(-epsilon / 2), since two counts change by one."""
        target.needs_one_value(cls)
        noise = DiscreteLaplace(decay=safely_up(math.exp(-target.epsilon / 2)))
        pure = Guarantee(epsilon=target.epsilon, delta=0.0, basis="sensitivity 2")
        return cls(users=target.users, bins=target.bins, noise=noise, guarantee=pure)

    @cached_property
    def privacy(self) -> PrivacyCurve:
        """The exact curve."""
        return moved_bins(self.noise, values=self.values_per_person)

    @cached_property
    def estimator(self) -> UnbiasedCounts:
        """The noisy counts."""
        return UnbiasedCounts(noise=self.noise, people=self.users, bins=self.bins, missing=False)

    def _counted(self, held: NDArray[np.int64]) -> NDArray[np.int64]:
        return Tally.of_bins(held, bins=self.bins).counts

    def _draw(self, truth: Tally, rng: np.random.Generator) -> Tally:
        if len(truth) != self.bins:
            raise DataError("this protocol reports every bin: give an array with all true counts")
        return Tally(truth.symbols, truth.counts + self.noise.sample(len(truth), rng=rng))


_STEEPEST = -30.0
"""The smallest noise: with decay e^-30 it is almost always 0."""

_STRIDE = 0.1
"""First step of the search, relative to epsilon: a factor of 1.2 between steps."""

_TOLERANCE = 1e-9
"""Precision of the logarithm of the decay, relative to epsilon."""


@lru_cache(maxsize=256)
def smallest_noise(epsilon: float, delta: float, *, values: int = 1) -> DiscreteLaplace:
    """The smallest noise for two moved bins per value; delta makes it smaller than pure epsilon needs."""

    def distribution(rate: float) -> DiscreteLaplace:
        return DiscreteLaplace(decay=safely_up(math.exp(rate)))

    def excess(rate: float) -> float:
        return log_excess(moved_bins(distribution(rate), values=values).delta(epsilon), delta)

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
    return distribution(pure if found is None else found)


_CANDIDATES = 24
"""The number of noises to try, from pure epsilon to the smallest: the error is flat around the best."""

_BETA = 0.05
"""The failure probability of the error that compares them."""


@dataclass(frozen=True, kw_only=True)
class StabilityHistogram(Curator):
    """The stability-based histogram: occupied bins whose noisy count is at least `threshold`."""

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
        options = [
            cls._made(target, "computed exactly", noise=noise, threshold=threshold) for noise, threshold in private
        ]
        return min(options, key=lambda option: option.error(_BETA).simultaneous)

    @classmethod
    def published_for(cls, target: Target) -> Self:
        """Decay e^(-epsilon / 2) and threshold 1 + 2 ln(2 / delta) / epsilon, rounded up to a whole count."""
        target.needs_one_value(cls)
        return cls._published(
            target,
            noise=DiscreteLaplace(decay=safely_up(math.exp(-target.epsilon / 2))),
            threshold=math.ceil(1 + 2 * math.log(2 / target.delta) / target.epsilon),
        )

    @cached_property
    def privacy(self) -> ThresholdCurve:
        """The exact curve over all neighbouring datasets."""
        return ThresholdCurve(noise=self.noise, threshold=self.threshold, values=self.values_per_person)

    @cached_property
    def estimator(self) -> ThresholdedCounts:
        """The published counts, unchanged."""
        return ThresholdedCounts(
            noise=self.noise, people=self.users, threshold=self.threshold, values_per_person=self.values_per_person
        )

    def _counted(self, held: NDArray[np.int64]) -> Tally:
        return Tally.of(held)

    def _draw(self, truth: Tally, rng: np.random.Generator) -> Tally:
        """Add noise to the listed bins; only occupied bins that reach the threshold are published."""
        noisy = truth.counts + self.noise.sample(len(truth), rng=rng)
        kept = (truth.counts > 0) & (noisy >= self.threshold)
        return Tally(truth.symbols[kept], noisy[kept], complete=False)


@lru_cache(maxsize=256)
def _private_pairs(epsilon: float, delta: float, *, values: int) -> tuple[tuple[DiscreteLaplace, int], ...]:
    """Noises from pure epsilon to the smallest, each with the smallest threshold that makes it private.

    They do not depend on the number of people or bins, which decide later which one is best.
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
    """The smallest threshold that gives (epsilon, delta); None if this noise is too small for every threshold."""
    if loss_of_shifts(noise, 2 * values).delta(epsilon) > delta:
        return None

    def enough(threshold: int) -> bool:
        return ThresholdCurve(noise=noise, threshold=threshold, values=values).keeps(epsilon, delta)

    # worst case: the bins that the person leaves become empty, the bins that they enter were empty, and one is
    # published
    allowed = -math.expm1(math.log1p(-delta) / values)
    options = range(2, noise.window.last + 2)
    first = bisect_left(options, True, key=lambda threshold: noise.window.above(threshold - 2) <= allowed)
    step = 1
    while first + step < len(options) and not enough(options[first + step - 1]):
        first, step = first + step, 2 * step
    options = options[first : first + step]
    at = bisect_left(options, True, key=enough)
    return options[at] if at < len(options) else None

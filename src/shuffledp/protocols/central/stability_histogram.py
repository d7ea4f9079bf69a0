"""The stability-based histogram: noise on occupied bins only, and what is small is left out (Bun, Nissim and Stemmer
2016).

Its error does not depend on the number of bins: the floor that shuffled protocols approach.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.accounting.curve import Shift
from shuffledp.accounting.guarantee import Guarantee
from shuffledp.checks import failure_probability, target_delta, target_epsilon, whole
from shuffledp.errors import ParameterError
from shuffledp.noise.binomial import safely_up
from shuffledp.noise.discrete_laplace import DiscreteLaplace
from shuffledp.pipeline.tally import Tally
from shuffledp.protocols.central.curator import Curator
from shuffledp.protocols.central.laplace_histogram import smallest_noise, two_shifts
from shuffledp.reading.noisy_counts import any_of
from shuffledp.reading.reading import ErrorBound

_CANDIDATES = 24


@dataclass(frozen=True, kw_only=True)
class StabilityHistogram(Curator):
    """A bin is published if somebody holds it and its noisy count is at least `threshold`."""

    threshold: int

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "threshold", whole("threshold", self.threshold, minimum=2))

    @classmethod
    def from_paper(cls, *, users: int, bins: int, epsilon: float, delta: float) -> Self:
        """Decay e^(-epsilon / 2) and threshold 1 + 2 ln(2 / delta) / epsilon, rounded up to a whole count."""
        epsilon, delta = target_epsilon(epsilon), target_delta(delta)
        return cls(
            users=users,
            bins=bins,
            noise=DiscreteLaplace(decay=safely_up(math.exp(-epsilon / 2))),
            threshold=math.ceil(1 + 2 * math.log(2 / delta) / epsilon),
            guarantee=Guarantee(epsilon=epsilon, delta=delta, basis="published parameters"),
        )

    @classmethod
    def calibrate(cls, *, users: int, bins: int, epsilon: float, delta: float, honest_users: int | None = None) -> Self:
        """The noise and the threshold with the smallest simultaneous error (beta = 0.05) that are exactly private."""
        epsilon, delta = target_epsilon(epsilon), target_delta(delta)
        guarantee = Guarantee(epsilon=epsilon, delta=delta, basis="exact calibration")
        least, most = (
            math.log(-math.log(decay)) for decay in (math.exp(-epsilon / 2), smallest_noise(epsilon, delta).decay)
        )
        options = []
        for rate in np.exp(np.linspace(least, most, _CANDIDATES)):
            noise = DiscreteLaplace(decay=safely_up(math.exp(-float(rate))))
            threshold = _first_threshold(noise, epsilon, delta)
            if threshold is not None:
                options.append(cls(users=users, bins=bins, noise=noise, threshold=threshold, guarantee=guarantee))
        if not options:
            raise ParameterError(
                f"epsilon={epsilon:g} with delta={delta:g} needs more noise than this histogram resolves"
            )
        return min(options, key=lambda option: option.error(0.05).simultaneous)

    def delta(self, epsilon: float) -> float:
        """The exact delta(epsilon) over all neighbouring datasets."""
        return _delta(self.noise, self.threshold, epsilon)

    def error(self, beta: float, *, estimator: str = "truncated", occupied_bins: int | None = None) -> ErrorBound:
        """Errors in people that are exceeded with probability at most beta, on the worst dataset."""
        beta = failure_probability(beta)
        most = min(self.bins, self.users)
        occupied = most if occupied_bins is None else min(most, whole("occupied_bins", occupied_bins))
        window = self.noise.window

        def failure(error: int, bins: int) -> float:
            off = 2 * window.above(error)
            # a bin of more than `error` people is hidden if its noise is below threshold - error - 1
            hidden = window.below(self.threshold - error - 1)
            large = min(bins, occupied, self.users // (error + 1))
            return any_of((min(1.0, off + hidden), large), (off, min(bins, occupied) - large))

        def smallest(bins: int) -> int:
            return bisect_left(range(self.threshold + window.last + 1), True, key=lambda e: failure(e, bins) <= beta)

        return ErrorBound(beta=beta, per_bin=smallest(1), simultaneous=smallest(self.bins))

    def report_chance(self, count: int, *, at_least: float = 0.0) -> float:
        """How likely a bin of `count` people is published, with a noisy count of `at_least` so many."""
        needed = max(self.threshold, math.ceil(at_least))
        return max(0.0, 1 - self.noise.window.below(needed - count)) if count else 0.0

    @property
    def _estimator(self) -> str:
        return "truncated"

    def _counted(self, values: ArrayLike) -> Tally:
        return Tally.of(self._people(values))

    def _kept(self, truth: Tally, noisy: NDArray[np.int64]) -> Tally:
        kept = (truth.counts > 0) & (noisy >= self.threshold)
        return Tally(truth.symbols[kept], noisy[kept], complete=False)

    def _bounds(self, beta: float, bins: int) -> tuple[int, int]:
        window, most = self.noise.window, min(bins, self.users)
        reach = bisect_left(range(window.last + 1), True, key=lambda t: any_of((2 * window.above(t), most)) <= beta / 2)

        def hides(count: int) -> bool:
            risk = window.below(self.threshold - count - 1)
            return any_of((risk, min(bins, self.users // (count + 1)))) <= beta / 2

        return reach, bisect_left(range(self.threshold + window.last + 1), True, key=hides)


def _first_threshold(noise: DiscreteLaplace, epsilon: float, delta: float) -> int | None:
    """The smallest threshold that gives (epsilon, delta); None if this noise is too small for any."""
    if two_shifts(noise).delta(epsilon) > delta:
        return None
    options = range(2, noise.window.last + 2)
    at = bisect_left(options, True, key=lambda threshold: _delta(noise, threshold, epsilon) <= delta)
    return options[at] if at < len(options) else None


def _delta(noise: DiscreteLaplace, threshold: int, epsilon: float) -> float:
    """The worst of four kinds of neighbours: the bin a person leaves stays occupied or not, the one they enter was or
    was not occupied.

    A bin with one person is published with probability s = P(1 + Z >= threshold); left out, it looks like an empty one.
    Where the bin stays occupied, leaving out small counts is post-processing of a shift by one, and for large counts
    loses nothing. If the bin that is left becomes empty, publishing it reveals that (s), and not publishing it has
    likelihood ratio 1 - s; if the bin that is entered was empty, the ratio is 1 / (1 - s).
    """
    seen = noise.window.above(threshold - 2)
    if seen >= 1:
        return 1.0
    one = [Shift(law=noise, by=by).loss for by in (1, -1)]
    hidden = math.log1p(-seen)

    def shifted(epsilon: float) -> float:
        return max(float(loss.delta(epsilon)) for loss in one)

    return max(
        two_shifts(noise).delta(epsilon),  # occupied, occupied
        seen + (1 - seen) * shifted(epsilon - hidden),  # left empty, occupied
        shifted(epsilon + hidden),  # occupied, entered when empty
        seen,  # left empty, entered when empty: the ratios cancel
    )

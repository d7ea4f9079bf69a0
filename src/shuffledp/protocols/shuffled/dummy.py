"""Dummy messages, as used in practice: the true bin, plus messages for random bins that hide it.

A person sends their own bin. For every bin they also send a dummy with a small probability (binomial dummies), or a
Poisson number of dummies. With B dummies the count of a bin is c + B, and c + B - E[B] is unbiased. Empty bins have the
same noise, so the worst error grows with the number of bins, and there are false positives.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting import calibration
from shuffledp.accounting.curve import PrivacyCurve, moved_bins
from shuffledp.accounting.rounding import SHARE_OF_A_RATE
from shuffledp.errors import ParameterError
from shuffledp.estimators.counts import UnbiasedCounts
from shuffledp.histogram.facts import NoiseFacts, NoiseKind
from shuffledp.histogram.tally import Tally
from shuffledp.noise import Binomial, CompoundPoisson
from shuffledp.noise.coins import heads
from shuffledp.noise.compound_poisson import LARGEST_RATE, SIZE_GRID, Clusters, poisson
from shuffledp.protocols.protocol import MessageCount, expected_messages
from shuffledp.protocols.shuffled_histogram import ShuffledHistogram
from shuffledp.protocols.target import Target, computed
from shuffledp.validation import target_delta, target_epsilon, values_each

_DUMMIES_AT_ONCE = 1 << 18
"""The number of dummies made together, so that they stay in the cache."""

Dummies = Binomial | CompoundPoisson


@dataclass(frozen=True, kw_only=True)
class DummyHistogram(ShuffledHistogram):
    """The true bin plus dummies; `noise` is the distribution of the dummies in one bin, summed over all `users`."""

    noise: Dummies

    samples_exactly = True
    takes_sets = True
    joins = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.noise, Binomial) and self.noise.trials != self.users:
            raise ParameterError("noise must have one trial for each user, if it is Binomial")

    @classmethod
    def for_target(cls, target: Target, *, dummies: str = "binomial") -> Self:
        """Return the protocol with the fewest dummies that make the whole release exactly (epsilon, delta)-private."""
        if dummies not in ("binomial", "poisson"):
            raise ParameterError(f"dummies must be binomial or poisson, got {dummies!r}")
        noise = _binomial_for(target) if dummies == "binomial" else _poisson_for(target)
        return cls._made(target, computed(target.values_per_person), noise=noise)

    @classmethod
    def minimum_users(cls, *, epsilon: float, delta: float, values_per_person: int = 1) -> int:
        """The fewest honest people with whom (epsilon, delta) is possible with binomial dummies."""
        return calibration.moved_bins_fewest_users(
            epsilon=target_epsilon(epsilon), delta=target_delta(delta), values=values_each(values_per_person)
        )

    @cached_property
    def privacy(self) -> PrivacyCurve:
        """The exact privacy curve of the whole release, counting the honest people's dummies only."""
        if self.batch is not None:
            return cast("PrivacyCurve", self.batch.privacy)
        return moved_bins(self.noise.share(self.honest, of=self.users), values=self.values_per_person)

    @property
    def tally_implies_lengths(self) -> bool:
        """True for Poisson dummies that come one at a time."""
        return isinstance(self.noise, CompoundPoisson) and self.noise.size_weights == (SIZE_GRID,)

    @cached_property
    def estimator(self) -> UnbiasedCounts:
        """The estimator that subtracts the expected number of dummies."""
        return UnbiasedCounts(noise=self.noise, people=self.users, bins=self.bins, missing=False)

    @property
    def messages_per_user(self) -> MessageCount:
        """One for each value, and the dummies."""
        values, per_bin = self.values_per_person, self.noise.mean / self.users
        expected = expected_messages(bins=self.bins, noise_per_bin=per_bin, values=values)
        most = values + self.bins if isinstance(self.noise, Binomial) else math.inf
        return MessageCount(expected=expected, maximum=most)

    def participation_cumulant(self, tilts: NDArray[np.float64]) -> NDArray[np.float64]:
        """The cumulant of the values and the dummies of every bin."""
        return self.values_per_person * tilts + self.bins / self.users * self.noise.cumulant(tilts)

    @property
    def noise_facts(self) -> NoiseFacts:
        """The kind of noise and its numbers."""
        return NoiseFacts(NoiseKind.DUMMIES, {"mean": self.noise.mean})

    def _send(self, people: NDArray[np.int64], rng: np.random.Generator) -> NDArray[Any]:
        """Send the values of all people, then all dummies."""
        kind = np.min_scalar_type(self.bins - 1)
        return np.concatenate([people.ravel().astype(kind), self._dummies(people.shape[0], rng).astype(kind)])

    def _dummies(self, people: int, rng: np.random.Generator) -> NDArray[np.int64]:
        if isinstance(self.noise, CompoundPoisson):
            return _clusters(self.noise, self.users, self.bins).draw_bins(people, rng=rng)
        at_once = max(1, min(people, int(_DUMMIES_AT_ONCE / (self.bins * self.noise.probability))))
        blocks = [min(at_once, people - start) for start in range(0, people, at_once)]
        drawn = [heads(block * self.bins, self.noise.probability, rng) % self.bins for block in blocks]
        return np.concatenate(drawn) if drawn else np.empty(0, dtype=np.int64)

    def _draw(self, truth: Tally, rng: np.random.Generator) -> Tally:
        dummies = self.noise.sample(len(truth), rng=rng)
        return Tally(truth.symbols, truth.counts + dummies, complete=len(truth) == self.bins)

    def _noise_of(self, people: int) -> dict[str, Any]:
        return {"noise": self.noise.share(people, of=self.users)}


@lru_cache(maxsize=64)
def _clusters(distribution: CompoundPoisson, users: int, bins: int) -> Clusters:
    return Clusters(distribution=distribution, users=users, bins=bins)


def _binomial_for(target: Target) -> Binomial:
    """Return the binomial noise: at most one dummy from each person and bin."""
    values = target.values_per_person
    probability = calibration.moved_bins_probability(
        users=target.honest, epsilon=target.epsilon, delta=target.delta, values=values
    )
    if probability is None:
        needed = DummyHistogram.minimum_users(epsilon=target.epsilon, delta=target.delta, values_per_person=values)
        raise target.too_few(needed, how="with binomial dummies", instead="or poisson dummies")
    return Binomial(trials=target.users, probability=probability)


def _poisson_for(target: Target) -> CompoundPoisson:
    rate = calibration.first_rate(
        lambda rate: math.log(
            moved_bins(poisson(rate), values=target.values_per_person).delta(target.epsilon) / target.delta
        ),
        start=calibration.rate_to_start(
            epsilon=target.epsilon, delta=target.delta, shifts=2 * target.values_per_person
        ),
        largest=min(
            calibration.LARGEST_CALIBRATED, LARGEST_RATE * (1 - 2 * SHARE_OF_A_RATE) * target.honest / target.users
        ),
    )
    if rate is None:
        raise ParameterError(f"epsilon={target.epsilon:g} is too small for poisson dummies: use binomial ones")
    return poisson(rate * (1 + SHARE_OF_A_RATE) * target.users / target.honest)

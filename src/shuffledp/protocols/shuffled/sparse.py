"""`SparseHistogram`: few messages per person, the error of the central model, and no false positives.

Proofs: docs/proofs/sparse-histogram.md. A person with value x sends +x. For every bin j they also send a few pairs (+j,
-j) and a few lone -j. Their numbers have compound Poisson distributions that add up over all people to P_j pairs and
M_j lone messages. The shuffler's output is, per bin, the numbers of +j and -j: c + P and P + M, or equivalently the
independent c + P and c - M. So #(+j) - #(-j) = c - M is never positive for an empty bin, and the analyzer reports only
bins where it is.

A person samples clusters first (their number, then their bins). The work is therefore proportional to the number of
their messages, not of bins: 1 + (bins / users) (2 E[P] + E[M]) messages on average.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.curve import PrivacyCurve
from shuffledp.accounting.rounding import SCALED_DISTRIBUTIONS
from shuffledp.estimators.pairs import PairedCounts
from shuffledp.histogram.facts import NoiseFacts, NoiseKind
from shuffledp.histogram.tally import Tally
from shuffledp.noise import CompoundPoisson
from shuffledp.noise.compound_poisson import Clusters
from shuffledp.protocols.protocol import MessageCount, bits_to_name, expected_messages
from shuffledp.protocols.shuffled.sparse_noise import NoiseSearch, SparseNoise, distributions_for, of_everyone
from shuffledp.protocols.shuffled_histogram import ShuffledHistogram
from shuffledp.protocols.target import Target


@dataclass(frozen=True, kw_only=True)
class SparseHistogram(ShuffledHistogram):
    """A histogram with few messages; `pairs` and `lone` are the distributions of P and M of one bin, over all users."""

    pairs: CompoundPoisson
    lone: CompoundPoisson

    kinds = 2
    most_bins_in_messages = 2**63
    samples_exactly = True
    takes_sets = True
    joins = True

    @classmethod
    def for_target(cls, target: Target, *, messages: float | None = None, error: float | None = None) -> Self:
        """Return the protocol with noise that makes the whole release (epsilon, delta)-private.

        `messages` asks for the smallest error with at most this average number of messages per person (math.inf for no
        limit). `error` asks for the fewest messages with at most this simultaneous error at beta = 0.05. With neither,
        the protocol is a compromise.
        """
        distributions = distributions_for(target, messages=messages, error=error)
        while True:
            everyone = of_everyone(distributions, target)
            protocol = cls._made(target, "computed as an upper bound", pairs=everyone.pairs, lone=everyone.lone)
            if protocol.privacy.delta(target.epsilon) <= target.delta:
                return protocol
            distributions = distributions.scaled(1 + SCALED_DISTRIBUTIONS)  # rounding of the scaled rates

    @cached_property
    def privacy(self) -> PrivacyCurve:
        """An upper bound on the privacy curve of the whole release, counting the honest people's noise only."""
        if self.batch is not None:
            return cast("PrivacyCurve", self.batch.privacy)
        search = NoiseSearch.resolving(self.guarantee)
        honest = self._distributions.scaled(self.honest / self.users)
        return honest.curve(values=self.values_per_person, resolution=search.resolution)

    @cached_property
    def estimator(self) -> PairedCounts:
        """The estimator of bins with more +j than -j, from both counts."""
        return PairedCounts(
            pairs=self.pairs, lone=self.lone, people=self.users, values_per_person=self.values_per_person
        )

    @property
    def messages_per_user(self) -> MessageCount:
        """One message for each value, two for every pair and one for every lone message."""
        expected = expected_messages(
            bins=self.bins, noise_per_bin=self._distributions.messages / self.users, values=self.values_per_person
        )
        return MessageCount(expected=expected, maximum=math.inf)

    @property
    def bits_per_message(self) -> int:
        """Bits that name a bin, and a sign."""
        return 1 + bits_to_name(self.bins)

    def participation_statistic(self, tally: Tally) -> float:
        """The number of +j, and the number of +j less the number of -j.

        They are values plus pairs, and values minus lone messages, which are independent.
        """
        plus, minus = (float(number) for number in tally.counts.sum(axis=0))
        by_plus, by_difference = self._participation_weights
        return by_plus * plus + by_difference * (plus - minus)

    def participation_cumulant(self, tilts: NDArray[np.float64]) -> NDArray[np.float64]:
        """The joint cumulant: values are in both parts, pairs in the first, and lone ones are less in the second."""
        by_plus, by_difference = (weight * tilts for weight in self._participation_weights)
        noise = self.pairs.cumulant(by_plus) + self.lone.cumulant(-by_difference)
        return self.values_per_person * (by_plus + by_difference) + self.bins / self.users * noise

    def messages_cumulant(self, tilts: NDArray[np.float64]) -> NDArray[np.float64]:
        """The cumulant of the values, two messages for every pair and one for every lone message."""
        noise = self.pairs.cumulant(2 * tilts) + self.lone.cumulant(tilts)
        return self.values_per_person * tilts + self.bins / self.users * noise

    @cached_property
    def _participation_weights(self) -> tuple[float, float]:
        """The best weights of the two parts: what one person adds on average, divided by the variance."""
        share, values = self.bins / self.users, self.values_per_person
        by_plus = (values + share * self.pairs.mean) / self.pairs.variance
        by_difference = (values - share * self.lone.mean) / self.lone.variance
        total = by_plus + abs(by_difference)
        return by_plus / total, by_difference / total

    @property
    def noise_facts(self) -> NoiseFacts:
        """The kind of noise and its numbers."""
        return NoiseFacts(
            NoiseKind.CANCELLING_PAIRS,
            {"messages": self.messages_per_user.expected, "pairs": self.pairs.mean, "lone": self.lone.mean},
        )

    def _send(self, people: NDArray[np.int64], rng: np.random.Generator) -> NDArray[Any]:
        """Send 2j for +j and 2j + 1 for -j: values, then pairs, then lone messages."""
        pairs, lone = (clusters.draw_bins(people.shape[0], rng=rng) for clusters in self._clusters)
        kind = np.min_scalar_type(2 * self.bins - 1)
        signed = ((people.ravel(), 0), (pairs, 0), (pairs, 1), (lone, 1))
        return np.concatenate([(2 * bins.astype(np.uint64) + np.uint64(sign)).astype(kind) for bins, sign in signed])

    def _draw(self, truth: Tally, rng: np.random.Generator) -> Tally:
        """Sample c + P and P + M of each bin; bins are independent."""
        pairs = self.pairs.sample(len(truth), rng=rng)
        lone = self.lone.sample(len(truth), rng=rng)
        both = np.column_stack([truth.counts + pairs, pairs + lone])
        return Tally(truth.symbols, both, complete=len(truth) == self.bins)

    def _possible(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """#(+j) - #(-j) = c - M is at most the number of people."""
        plus, minus = counts[:, 0], counts[:, 1]
        return np.column_stack([np.minimum(plus, minus + self.users), minus])

    def _noise_of(self, people: int) -> dict[str, Any]:
        distributions = self._distributions.scaled(people / self.users)
        return {"pairs": distributions.pairs, "lone": distributions.lone}

    @property
    def _distributions(self) -> SparseNoise:
        return SparseNoise(pairs=self.pairs, lone=self.lone)

    @cached_property
    def _clusters(self) -> tuple[Clusters, Clusters]:
        pairs, lone = (
            Clusters(distribution=distribution, users=self.users, bins=self.bins)
            for distribution in (self.pairs, self.lone)
        )
        return pairs, lone

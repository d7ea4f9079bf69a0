"""A histogram with a few messages per person and the error of the central model (docs/proofs/sparse-histogram.md).

A person with value x sends +x. For every bin j they also send a few pairs (+j, -j) and a few lone -j, from compound
Poisson laws that add up over all people to P_j pairs and M_j lone messages. The shuffler's output is, per bin, the
numbers of +j and -j: c + P and P + M, or equivalently the independent c + P and c - M. So #(+j) - #(-j) = c - M is
never positive for an empty bin, and the analyzer reports only bins where it is.

Clusters are drawn first (their number, then their bins), so a person's work follows their messages, not the number of
bins: 1 + (bins / users) (2 E[P] + E[M]) messages on average.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.accounting.curve import PrivacyCurve
from shuffledp.accounting.guarantee import Guarantee
from shuffledp.checks import (
    failure_probability,
    head_count,
    honest_among,
    real,
    reporting,
    target_delta,
    target_epsilon,
    whole,
)
from shuffledp.errors import ParameterError
from shuffledp.noise import CompoundPoisson
from shuffledp.noise.clusters import Clusters
from shuffledp.pipeline.domain import Domain
from shuffledp.pipeline.estimate import Estimate, Intervals
from shuffledp.pipeline.inputs import Counts, check_bins, check_domain, check_tally, check_total, true_counts
from shuffledp.pipeline.shuffler import concatenate
from shuffledp.pipeline.tally import Tally, sorted_order
from shuffledp.protocols.release import (
    MessageCount,
    assembled,
    bits_to_name,
    check_people_and_bins,
    describe_release,
    expected_messages,
    ran_with,
)
from shuffledp.protocols.shuffled.sparse.laws import KNEE, PAIR_RATES, LawSearch, SparseLaws
from shuffledp.protocols.signed_tally import SignedTally
from shuffledp.randomness import generator
from shuffledp.reading.paired_counts import CombinedEstimator
from shuffledp.reading.reading import ErrorBound
from shuffledp.words import readable

_MOST_BINS_IN_MESSAGES = 2**63
_MOST_TO_MENTION = 1e9
"""So many messages nobody would send: the tally is then drawn from its law."""

_BINS_PER_MESSAGE = 4
"""Counting every bin pays while there are at most this many of them for each message."""


@dataclass(frozen=True, kw_only=True)
class SparseHistogram:
    """Our protocol. `pairs` and `lone` are the laws of P and M of one bin, summed over all `users`."""

    users: int
    bins: int
    pairs: CompoundPoisson
    lone: CompoundPoisson
    honest_users: int | None = None
    guarantee: Guarantee | None = None

    def __post_init__(self) -> None:
        check_people_and_bins(self)

    @classmethod
    def calibrate(
        cls,
        *,
        users: int,
        bins: int,
        epsilon: float,
        delta: float,
        honest_users: int | None = None,
        messages: float | None = None,
        error: float | None = None,
    ) -> Self:
        """Noise that makes the whole release (epsilon, delta)-private.

        `messages` asks for the smallest error with at most so many messages per person on average (math.inf: the
        smallest error at all); `error` for the fewest messages with at most this simultaneous error at beta = 0.05.
        With neither, a good compromise.
        """
        users, bins = head_count("users", users), whole("bins", bins)
        honest = honest_among(honest_users, users=users)
        search = LawSearch(epsilon=target_epsilon(epsilon), delta=target_delta(delta))
        if messages is not None and error is not None:
            raise ParameterError("give messages or error, not both: each decides the other")
        laws: SparseLaws | None
        if messages is not None:
            laws = _within_messages(search, messages, bins_per_person=Fraction(bins, honest))
        elif error is not None:
            laws = _within_error(search, error, users=users, bins=bins, honest=honest)
        else:
            laws = search.cheapest(start=KNEE)
        if laws is None:
            raise ParameterError(f"no noise was found for epsilon={epsilon:g}, delta={delta:g}; try a smaller delta")
        guarantee = Guarantee(epsilon=search.epsilon, delta=search.delta, basis="calibrated on the safe side")
        while True:
            everyone = laws.scaled(users / honest)
            protocol = cls(
                users=users,
                bins=bins,
                pairs=everyone.pairs,
                lone=everyone.lone,
                honest_users=honest,
                guarantee=guarantee,
            )
            if protocol.privacy.delta(search.epsilon) <= search.delta:
                return protocol
            laws = laws.scaled(1 + 1e-5)  # scaling back and forth lost a hair

    @classmethod
    def minimum_users(cls, *, epsilon: float, delta: float) -> int:
        """One: each person's share of the noise grows as there are fewer of them."""
        target_epsilon(epsilon)
        target_delta(delta)
        return 1

    @cached_property
    def privacy(self) -> PrivacyCurve:
        """The privacy curve of the whole release, counting the honest people's noise only; an upper bound."""
        assert self.honest_users is not None
        promised = self.guarantee or Guarantee(epsilon=1.0, delta=1e-12, basis="")
        resolution = LawSearch(epsilon=promised.epsilon, delta=promised.delta).resolution
        return self._laws.scaled(self.honest_users / self.users).curve(resolution=resolution)

    def error(self, beta: float, *, estimator: str = "truncated", occupied_bins: int | None = None) -> ErrorBound:
        """Error in whole people before any release: bounds that fail with probability at most beta."""
        _only_truncated(estimator)
        beta = failure_probability(beta)
        most = min(self.bins, self.users)
        occupied = most if occupied_bins is None else min(most, whole("occupied_bins", occupied_bins))
        reading = self._reading
        return ErrorBound(
            beta=beta,
            per_bin=reading.smallest_error(beta=beta, people=self.users, bins=1, occupied=1),
            simultaneous=reading.smallest_error(beta=beta, people=self.users, bins=self.bins, occupied=occupied),
        )

    def report_chance(self, count: int, *, at_least: float = 0.0) -> float:
        """How likely a bin of `count` people is reported, with an estimate of `at_least` so many."""
        return self._reading.report_chance(count, at_least=at_least)

    @property
    def messages_per_user(self) -> MessageCount:
        """One for the value, two for every pair, one for every lone message; there is no largest number."""
        expected = expected_messages(bins=self.bins, noise_per_bin=self._laws.messages / self.users)
        return MessageCount(expected=expected, maximum=math.inf)

    @property
    def bits_per_message(self) -> int:
        """Bits that name a bin, and a sign."""
        return 1 + bits_to_name(self.bins)

    def randomize(self, values: ArrayLike, *, rng: np.random.Generator | None = None) -> NDArray[Any]:
        """The messages of one person (a bin) or of many (an array of bins): 2j for +j, 2j + 1 for -j."""
        people = np.atleast_1d(np.asarray(values))
        check_bins(people, bins=self.bins, what="value")
        if self.bins > _MOST_BINS_IN_MESSAGES:
            raise ParameterError(
                f"bins={readable(self.bins)} is too many for a 64-bit message: draw the tally with sample_tally"
            )
        source = generator(rng)
        pairs, lone = (clusters.draw_bins(people.size, rng=source) for clusters in self._clusters)
        kind = np.min_scalar_type(2 * self.bins - 1)
        signed = ((people, 0), (pairs, 0), (pairs, 1), (lone, 1))
        return np.concatenate([(2 * bins.astype(np.uint64) + np.uint64(sign)).astype(kind) for bins, sign in signed])

    def tally(self, messages: ArrayLike | Tally) -> SignedTally:
        """How many messages name each bin with each sign; also of messages that were counted elsewhere."""
        symbols = messages.symbols if isinstance(messages, Tally) else concatenate(messages)
        check_bins(symbols, bins=2 * self.bins, what="message")
        dense = self.bins <= _BINS_PER_MESSAGE * max(symbols.size, 1000)
        if not isinstance(messages, Tally):
            messages = Tally.of_bins(symbols, bins=2 * self.bins) if dense else Tally.of(symbols)
        elif dense:
            messages = messages.dense(bins=2 * self.bins)
        return SignedTally.of_messages(messages)

    def sample_tally(
        self, counts: Counts, *, rng: np.random.Generator | None = None, part: bool = False
    ) -> SignedTally:
        """A tally drawn from its law given the true counts, without making messages; see Histogram.sample_tally."""
        truth, source = true_counts(counts, users=self.users, bins=self.bins, part=part), generator(rng)
        pairs = self.pairs.sample(len(truth), rng=source)
        lone = self.lone.sample(len(truth), rng=source)
        complete = len(truth) == self.bins
        return SignedTally(
            Tally(truth.symbols, truth.counts + pairs, complete), Tally(truth.symbols, pairs + lone, complete)
        )

    def visible(self, tally: SignedTally) -> NDArray[np.int64]:
        """Which entries of a draw the estimator reports; without the others the estimate is the same."""
        return np.flatnonzero(tally.plus.counts > tally.minus.counts)

    def estimate(
        self,
        tally: SignedTally,
        *,
        estimator: str = "truncated",
        beta: float = 0.05,
        reports: int | None = None,
        domain: Domain | None = None,
    ) -> Estimate:
        """The histogram with intervals that hold with probability 1 - beta; see Histogram.estimate."""
        check_tally(tally, SignedTally)
        _only_truncated(estimator)
        check_domain(domain, bins=self.bins)
        ran = self.for_reports(reports)
        if tally.complete:
            check_total(
                tally.total,
                users=ran.users,
                bins=self.bins,
                expected=ran.users + self.bins * (2 * ran.pairs.mean + ran.lone.mean),
                variance=self.bins * (4 * ran.pairs.variance + ran.lone.variance),
            )
        return ran._read(tally, beta=failure_probability(beta), domain=domain)

    def for_reports(self, reports: int | None) -> Self:
        """This protocol as it really ran when only so many people reported: same randomizer, less noise."""
        if reports is None or reports == self.users:
            return self
        laws = self._laws.scaled(reporting(reports, users=self.users) / self.users)
        return ran_with(self, reports, pairs=laws.pairs, lone=laws.lone)

    def _read(self, tally: SignedTally, *, beta: float, domain: Domain | None) -> Estimate:
        """The estimate from the number of messages in each bin."""
        symbols, plus, minus = tally.aligned()
        order = sorted_order(symbols)
        symbols, plus, excess = symbols[order], plus[order], (plus - minus)[order]
        reported = excess > 0
        plus, excess = plus[reported], excess[reported]
        reading, people = self._reading, self.users
        counts = reading.point(plus, excess)

        def intervals(bins: int) -> Intervals:
            low, high = reading.deviation_range(beta=beta / 2, people=people, bins=bins)
            hidden = reading.highest_hidden(beta=beta / 2, people=people, bins=bins)
            return Intervals(
                low=np.clip(np.ceil(counts - high), excess, people).astype(np.int64),
                high=np.clip(np.floor(counts - low), 0, np.minimum(plus, people)).astype(np.int64),
                unreported_high=min(hidden, people),
            )

        return assembled(
            self,
            symbols=symbols[reported],
            counts=counts,
            intervals=intervals,
            bins=self.bins,
            beta=beta,
            estimator="truncated",
            domain=domain,
        )

    def describe(self, *, beta: float = 0.05, drawn: bool = False) -> str:
        """The guarantee, its conditions and the error to expect, in words."""
        messages = self.messages_per_user.expected
        sent = f"Each person sends about {messages:.3g} messages; a" if messages < _MOST_TO_MENTION else "A"
        return describe_release(
            self,
            bins=self.bins,
            noise=(
                f"{sent} bin receives {self.pairs.mean:.1f} pairs and {self.lone.mean:.1f} lone noise messages on "
                "average."
            ),
            error=self.error(beta).simultaneous,
            beta=beta,
            drawn=drawn,
        )

    @property
    def _laws(self) -> SparseLaws:
        return SparseLaws(pairs=self.pairs, lone=self.lone)

    @property
    def _reading(self) -> CombinedEstimator:
        return CombinedEstimator(pairs=self.pairs, lone=self.lone)

    @cached_property
    def _clusters(self) -> tuple[Clusters, Clusters]:
        """How a person makes their part of the pairs and of the lone messages."""
        pairs, lone = (Clusters(law=law, users=self.users, bins=self.bins) for law in (self.pairs, self.lone))
        return pairs, lone


def _only_truncated(estimator: str) -> None:
    if estimator != "truncated":
        raise ParameterError(f"estimator must be truncated for this protocol, got {estimator!r}")


def _within_messages(search: LawSearch, messages: float, *, bins_per_person: Fraction) -> SparseLaws:
    """The laws with the smallest error for at most so many messages per person."""
    budget = math.inf if messages == math.inf else (real("messages", messages) - 1) / float(bins_per_person)
    laws = search.within(budget) if budget > 0 else None
    if laws is None:
        cheapest = search.cheapest()
        fewest = 1 + float(bins_per_person) * cheapest.messages if cheapest else math.inf
        raise ParameterError(
            f"messages={messages:g} per person is too few for epsilon={search.epsilon:g}, delta={search.delta:g}: "
            f"needs about {fewest:.4g}"
        )
    return laws


def _within_error(search: LawSearch, error: float, *, users: int, bins: int, honest: int) -> SparseLaws:
    """The laws with the fewest messages whose simultaneous error (beta = 0.05) is at most the given one."""
    target = real("error", error)

    def simultaneous(laws: SparseLaws | None) -> float:
        if laws is None:
            return math.inf
        total = laws.scaled(users / honest)
        reading = CombinedEstimator(pairs=total.pairs, lone=total.lone)
        return reading.smallest_error(beta=0.05, people=users, bins=bins, occupied=min(users, bins))

    # along the curve the error falls as pairs are added
    at = bisect_left(PAIR_RATES, True, key=lambda pairs: simultaneous(search.at(pairs)) <= target)
    laws = search.cheapest(start=at)
    if laws is None:
        smallest = simultaneous(search.at(PAIR_RATES[-1]))
        raise ParameterError(
            f"error={target:g} people is too small for epsilon={search.epsilon:g}, delta={search.delta:g}: "
            f"the smallest possible is {smallest:.0f}"
        )
    return laws

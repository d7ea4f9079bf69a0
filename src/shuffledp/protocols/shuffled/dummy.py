"""The protocol that is used in practice: the true bin, plus dummy messages that hide it.

A person sends their own bin, and for every bin a dummy with a small probability (binomial dummies) or a Poisson
number of them. A bin's count is c + B with B dummies, and c + B - E[B] is unbiased, but noisy for every bin, empty ones
too: the worst error grows with the number of bins, and bins that nobody holds look occupied.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.accounting import calibration
from shuffledp.accounting.curve import PrivacyCurve, Shift
from shuffledp.accounting.guarantee import Guarantee
from shuffledp.checks import (
    failure_probability,
    head_count,
    honest_among,
    reporting,
    target_delta,
    target_epsilon,
    whole,
)
from shuffledp.errors import DataError, ParameterError, TooFewUsersError
from shuffledp.noise import Binomial, CompoundPoisson
from shuffledp.noise.clusters import Clusters
from shuffledp.noise.coins import heads
from shuffledp.noise.compound_poisson import LARGEST_RATE, SIZE_GRID
from shuffledp.pipeline.domain import Domain
from shuffledp.pipeline.estimate import Estimate, Intervals
from shuffledp.pipeline.inputs import (
    Counts,
    check_bins,
    check_domain,
    check_tally,
    check_total,
    counted_messages,
    true_counts,
)
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
from shuffledp.randomness import generator
from shuffledp.reading.noisy_counts import error_bound, named
from shuffledp.reading.reading import ErrorBound
from shuffledp.reading.supports import only_unbiased
from shuffledp.words import readable

_MOST_BINS_IN_MESSAGES = 2**32
_DUMMIES_AT_ONCE = 1 << 18

Dummies = Binomial | CompoundPoisson


@dataclass(frozen=True, kw_only=True)
class DummyHistogram:
    """True bin plus dummies. `noise` is the law of the dummies in one bin, summed over all `users`."""

    users: int
    bins: int
    noise: Dummies
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
        dummies: str = "binomial",
    ) -> Self:
        """The fewest dummies that make the whole release (epsilon, delta)-private, exactly."""
        users, bins = head_count("users", users), whole("bins", bins)
        honest = honest_among(honest_users, users=users)
        epsilon, delta = target_epsilon(epsilon), target_delta(delta)
        if dummies not in ("binomial", "poisson"):
            raise ParameterError(f"dummies must be binomial or poisson, got {dummies!r}")
        noise: Dummies
        if dummies == "binomial":
            probability = calibration.smallest_probability(_curve, users=honest, epsilon=epsilon, delta=delta)
            if probability is None:
                needed = cls.minimum_users(epsilon=epsilon, delta=delta)
                raise TooFewUsersError(
                    f"users={honest} is too few for epsilon={epsilon:g}, delta={delta:g} with binomial dummies: "
                    f"needs at least {needed}, or poisson dummies",
                    minimum_users=needed,
                )
            noise = Binomial(trials=users, probability=probability)
        else:
            rate = calibration.first_rate(
                lambda rate: math.log(_two_shifts(_poisson(rate)).delta(epsilon) / delta),
                start=math.log(2 / delta),
                largest=LARGEST_RATE / 10,
            )
            if rate is None:
                raise ParameterError(f"epsilon={epsilon:g} is too small for poisson dummies: use binomial ones")
            noise = _poisson(rate * (1 + 1e-12) * users / honest)
        guarantee = Guarantee(epsilon=epsilon, delta=delta, basis="exact calibration")
        return cls(users=users, bins=bins, noise=noise, honest_users=honest, guarantee=guarantee)

    @classmethod
    def minimum_users(cls, *, epsilon: float, delta: float) -> int:
        """The fewest honest people with whom (epsilon, delta) is possible with binomial dummies."""
        return calibration.fewest_users(_curve, epsilon=target_epsilon(epsilon), delta=target_delta(delta))

    @cached_property
    def privacy(self) -> PrivacyCurve:
        """The exact privacy curve of the whole release, counting the honest people's dummies only."""
        return _two_shifts(self.noise.share(self.honest_users or self.users, of=self.users))

    def error(self, beta: float, *, estimator: str = "unbiased", occupied_bins: int | None = None) -> ErrorBound:
        """Exact error in people before any release; the number of occupied bins does not matter here."""
        only_unbiased(estimator)
        return error_bound(
            self.noise,
            beta=failure_probability(beta),
            people=self.users,
            bins=self.bins,
            occupied=min(self.users, self.bins),
            estimator="unbiased",
        )

    @property
    def messages_per_user(self) -> MessageCount:
        """One for the value, and the dummies."""
        expected = expected_messages(bins=self.bins, noise_per_bin=self.noise.mean / self.users)
        return MessageCount(expected=expected, maximum=1 + self.bins if isinstance(self.noise, Binomial) else math.inf)

    @property
    def bits_per_message(self) -> int:
        """Bits that name a bin."""
        return bits_to_name(self.bins)

    def randomize(self, values: ArrayLike, *, rng: np.random.Generator | None = None) -> NDArray[Any]:
        """The messages of one person (a bin) or of many (an array of bins)."""
        people = np.atleast_1d(np.asarray(values))
        check_bins(people, bins=self.bins, what="value")
        if self.bins > _MOST_BINS_IN_MESSAGES:
            raise ParameterError(f"bins={readable(self.bins)} is too many for this protocol, which reports every bin")
        source, kind = generator(rng), np.min_scalar_type(self.bins - 1)
        return np.concatenate([people.astype(kind), self._dummies(people.size, source).astype(kind)])

    def _dummies(self, people: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """The bins of so many people's dummies."""
        if isinstance(self.noise, CompoundPoisson):
            return Clusters(law=self.noise, users=self.users, bins=self.bins).draw_bins(people, rng=rng)
        at_once = max(1, min(people, int(_DUMMIES_AT_ONCE / (self.bins * self.noise.probability))))
        blocks = [min(at_once, people - start) for start in range(0, people, at_once)]
        drawn = [heads(block * self.bins, self.noise.probability, rng) % self.bins for block in blocks]
        return np.concatenate(drawn) if drawn else np.empty(0, dtype=np.int64)

    def tally(self, messages: ArrayLike | Tally) -> Tally:
        """How many messages name each bin; also of messages that were counted elsewhere."""
        if isinstance(messages, Tally):
            return counted_messages(messages, bins=self.bins)
        flat = concatenate(messages)
        check_bins(flat, bins=self.bins, what="message")
        return Tally.of_bins(flat, bins=self.bins)

    def sample_tally(self, counts: Counts, *, rng: np.random.Generator | None = None) -> Tally:
        """A tally drawn from its exact law given the true counts, without making messages."""
        truth = true_counts(counts, users=self.users, bins=self.bins)
        dummies = self.noise.sample(len(truth), rng=generator(rng))
        return Tally(truth.symbols, truth.counts + dummies, complete=len(truth) == self.bins)

    def estimate(
        self,
        tally: Tally,
        *,
        estimator: str = "unbiased",
        beta: float = 0.05,
        reports: int | None = None,
        domain: Domain | None = None,
    ) -> Estimate:
        """The histogram of every bin, with intervals that hold with probability 1 - beta."""
        check_tally(tally, Tally)
        only_unbiased(estimator)
        check_domain(domain, bins=self.bins)
        if len(tally) != self.bins:
            raise DataError("this protocol estimates every bin: give sample_tally an array with all true counts")
        ran = self.for_reports(reports)
        check_total(
            tally.total,
            users=ran.users,
            bins=self.bins,
            expected=ran.users + self.bins * ran.noise.mean,
            variance=self.bins * ran.noise.variance,
        )
        return ran._read(tally, beta=failure_probability(beta), domain=domain)

    def for_reports(self, reports: int | None) -> Self:
        """This protocol as it really ran when only so many people reported: same randomizer, fewer dummies."""
        if reports is None or reports == self.users:
            return self
        noise = self.noise.share(reporting(reports, users=self.users), of=self.users)
        return ran_with(self, reports, noise=noise)

    def _read(self, tally: Tally, *, beta: float, domain: Domain | None) -> Estimate:
        """The estimate from the number of messages in each bin."""
        order = sorted_order(tally.symbols)
        counts = tally.counts[order]

        def intervals(bins: int) -> Intervals:
            low, high = named("unbiased").noise_range(self.noise, beta=beta, people=self.users, bins=bins)
            return Intervals(
                low=np.clip(counts - high, 0, self.users),
                high=np.clip(counts - low, 0, self.users),
                unreported_high=0,
            )

        return assembled(
            self,
            symbols=tally.symbols[order],
            counts=counts.astype(np.float64) - self.noise.mean,
            intervals=intervals,
            bins=self.bins,
            beta=beta,
            estimator="unbiased",
            domain=domain,
        )

    def describe(self, *, beta: float = 0.05, drawn: bool = False) -> str:
        """The guarantee, its conditions and the error to expect, in words."""
        return describe_release(
            self,
            bins=self.bins,
            noise=f"A bin receives {self.noise.mean:.1f} dummy messages on average.",
            error=self.error(beta).simultaneous,
            beta=beta,
            drawn=drawn,
        )


def _poisson(rate: float) -> CompoundPoisson:
    return CompoundPoisson(rate=rate, size_weights=(SIZE_GRID,))


def _two_shifts(noise: Dummies) -> PrivacyCurve:
    """A replaced value moves two bins by one, in opposite directions, with independent noise."""
    return PrivacyCurve.of_shifts(Shift(law=noise, by=1), Shift(law=noise, by=-1))


def _curve(honest_users: int, probability: float) -> PrivacyCurve:
    return _two_shifts(Binomial(trials=honest_users, probability=probability))

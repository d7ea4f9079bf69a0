"""The sum of real numbers in [0, 1] by splitting and mixing.

From Balle, Bell, Gascon and Nissim, "Private summation in the multi-message shuffle model", with the reduction of
Ishai, Kushilevitz, Ostrovsky and Sahai (2006).

A person rounds their number at random to a multiple of 1 / scale and adds their part of a discrete Laplace noise. The
part is the difference of two negative binomial numbers, which add up over people. The person then splits the result
into a few shares that are uniform given their sum modulo q. After shuffling, all shares together reveal the sum and
little else, within a statistical distance of 2^-sigma for

    shares >= 2 + (2 sigma + log2 q) / (log2 n - log2 e),   n >= 19.

The noise alone is epsilon-private, so the release is (epsilon, (1 + e^epsilon) 2^-sigma)-private. The error is of order
1 / epsilon, as in the central model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.accounting.bounds import SplitAndMixCurve
from shuffledp.accounting.curve import Guarantee, PrivacyCurve, Shift
from shuffledp.accounting.rounding import FEW_OPERATIONS
from shuffledp.errors import DataError, ParameterError, TooFewUsersError
from shuffledp.estimators.base import ErrorBound, around_estimates, possible_counts
from shuffledp.formatting import ShortRepr
from shuffledp.histogram.domain import Domain
from shuffledp.histogram.estimate import Estimate
from shuffledp.histogram.facts import NoiseFacts, NoiseKind, ProtocolFacts, Trusted
from shuffledp.histogram.inputs import check_messages, check_tally
from shuffledp.histogram.shuffle import concatenate
from shuffledp.histogram.tally import Tally
from shuffledp.noise.binomial import safely_up
from shuffledp.noise.compound_poisson import poisson_table
from shuffledp.noise.discrete_laplace import DiscreteLaplace
from shuffledp.noise.distribution import TAIL, WEIGHT_BITS, InversionTable
from shuffledp.protocols.protocol import MessageCount
from shuffledp.protocols.target import guarantee_or_usual
from shuffledp.randomness import generator, random_words
from shuffledp.validation import (
    failure_probability,
    head_count,
    honest_among,
    reporting,
    target_delta,
    target_epsilon,
    whole,
)

FEWEST_USERS = 19
"""The fewest people for which the theorem on shares holds."""

_MOST_MODULUS_BITS = 56
"""The most bits of the modulus: shares are added in 64-bit words, and the sum of their counts needs room."""

_MOST_SCALE = 4096
"""The largest scale: finer steps are far below the noise."""


@dataclass(frozen=True, kw_only=True)
class RealSum(ShortRepr):
    """A sum of numbers in [0, 1] in steps of 1 / `scale`, with the `noise` of all people and `shares` shares each.

    Shares are numbers modulo 2^`modulus_bits`. `security_bits` is sigma.
    """

    users: int
    scale: int
    noise: DiscreteLaplace
    security_bits: int
    honest_users: int | None = None
    guarantee: Guarantee | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "users", head_count("users", self.users))
        object.__setattr__(self, "honest_users", honest_among(self.honest_users, users=self.users))
        object.__setattr__(self, "scale", whole("scale", self.scale))
        object.__setattr__(self, "security_bits", whole("security_bits", self.security_bits))
        if self._honest < FEWEST_USERS:
            raise TooFewUsersError(
                f"{self._honest} honest people are too few to mix shares: needs at least {FEWEST_USERS}",
                minimum_users=FEWEST_USERS,
            )
        if self.modulus_bits > _MOST_MODULUS_BITS:
            raise ParameterError(
                f"users={self.users} and scale={self.scale} need {self.modulus_bits} bits, more than "
                f"{_MOST_MODULUS_BITS}: use a smaller scale"
            )

    @classmethod
    def calibrate(
        cls,
        *,
        users: int,
        epsilon: float,
        delta: float,
        honest_users: int | None = None,
        scale: int | None = None,
    ) -> Self:
        """Return the protocol with noise for pure epsilon and shares for delta; by default rounding adds little."""
        users = head_count("users", users)
        epsilon, delta = target_epsilon(epsilon), target_delta(delta)
        best = min(_MOST_SCALE, math.ceil(2 * epsilon * math.sqrt(users)))
        scale = best if scale is None else whole("scale", scale)
        return cls(
            users=users,
            scale=scale,
            noise=DiscreteLaplace(decay=safely_up(math.exp(-epsilon / scale))),
            # half of delta: the rest covers tails below 2^-100
            security_bits=math.ceil(math.log2(2 * (1 + math.exp(epsilon)) / delta)),
            honest_users=honest_users,
            guarantee=Guarantee(epsilon=epsilon, delta=delta, basis="discrete Laplace noise, split and mixed"),
        )

    @classmethod
    def minimum_users(cls, *, epsilon: float, delta: float) -> int:
        """The fewest honest people for which the bound on the shares holds."""
        return FEWEST_USERS

    @property
    def _honest(self) -> int:
        assert self.honest_users is not None
        return self.honest_users

    @cached_property
    def privacy(self) -> SplitAndMixCurve:
        """An upper bound on the privacy curve; one number moves the sum by at most `scale` steps."""
        curve = PrivacyCurve.of_shifts(Shift(distribution=self.noise, by=self.scale))
        return SplitAndMixCurve(noise=curve, security_bits=self.security_bits)

    def _noise_beyond(self, risk: float) -> int:
        """The value that the noise of all people exceeds on one side with probability at most `risk`.

        The noise of the honest people alone is discrete Laplace. If all people are honest there is users / honest_users
        times as much noise, whose tail has a Chernoff bound.
        """
        log_risk, decay = math.log(risk), self.noise.decay
        if self._honest == self.users:  # P(Z > k) = decay^(k + 1) / (1 + decay)
            return max(0, math.ceil((log_risk + math.log1p(decay)) / math.log(decay)) - 1)
        more, most = self.users / self._honest, -math.log(decay)

        def bound(share: float) -> float:
            tilt = share * most
            grown = -math.log1p(-decay * math.exp(tilt)) - math.log1p(-decay * math.exp(-tilt)) + 2 * math.log1p(-decay)
            return (more * grown - log_risk) / tilt

        return math.ceil(min(bound(share) for share in np.linspace(0.01, 0.999, 200).tolist()))

    @cached_property
    def _noise_reach(self) -> int:
        return self._noise_beyond(TAIL)

    @property
    def modulus_bits(self) -> int:
        """The number log2 q; the sum and its noise must not wrap around."""
        return (self.users * self.scale + 2 * self._noise_reach + 1).bit_length()

    @property
    def shares(self) -> int:
        """The number of shares that makes the distance at most 2^-sigma."""
        mixing = math.log2(self._honest) - math.log2(math.e)
        return math.ceil(2 + (2 * self.security_bits + self.modulus_bits) / mixing)

    @property
    def messages_per_user(self) -> MessageCount:
        """The shares."""
        return MessageCount(expected=float(self.shares), maximum=float(self.shares))

    @property
    def bits_per_message(self) -> int:
        """Bits of a share."""
        return self.modulus_bits

    def error(self, beta: float) -> ErrorBound:
        """A bound that the error of the sum exceeds with probability at most beta: noise, and rounding by Hoeffding."""
        beta = failure_probability(beta)
        rounding = math.sqrt(self.users * math.log(4 / beta) / 2)
        error = (self._noise_beyond(beta / 4) + rounding) / self.scale
        return ErrorBound(beta=beta, per_bin=error, simultaneous=error, shown=error, hidden=0)

    def randomize(self, values: ArrayLike, *, rng: np.random.Generator | None = None) -> NDArray[np.uint64]:
        """The shares of one person (a number) or of many (an array of numbers), person after person."""
        source = generator(rng)
        numbers = self._rounded(values, source) + self._noise_parts(np.size(values), source)
        mask = np.uint64((1 << self.modulus_bits) - 1)
        shares = random_words(numbers.size * self.shares, source).reshape(numbers.size, self.shares) & mask
        # arithmetic on 64-bit words is modulo 2^64, and therefore modulo q
        shares[:, -1] = (numbers.astype(np.uint64) - shares[:, :-1].sum(axis=1, dtype=np.uint64)) & mask
        return shares.ravel()

    def _rounded(self, values: ArrayLike, rng: np.random.Generator) -> NDArray[np.int64]:
        """Round numbers at random to multiples of 1 / scale, without bias."""
        numbers = np.atleast_1d(np.asarray(values))
        if numbers.ndim != 1 or numbers.dtype.kind not in "biuf":
            raise DataError("values must be a flat array of numbers")
        if numbers.size and not ((numbers >= 0) & (numbers <= 1)).all():
            raise DataError("values must lie between 0 and 1 (they are not shown, since they may be personal)")
        scaled = numbers.astype(np.float64) * self.scale
        below = np.floor(scaled)
        return (below + (rng.random(numbers.size) < scaled - below)).astype(np.int64)

    def _noise_parts(self, people: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """The part of the noise of each of these people: clusters of logarithmic size, of both signs."""
        parts = np.zeros(people, dtype=np.int64)
        for sign in (1, -1):
            clusters = self._clusters.sample(people, rng=rng)
            sizes = self._sizes.sample(int(clusters.sum()), rng=rng)
            parts += sign * np.bincount(np.repeat(np.arange(people), clusters), weights=sizes, minlength=people).astype(
                np.int64
            )
        return parts

    @cached_property
    def _clusters(self) -> InversionTable:
        """The clusters of a negative binomial number, with rate -ln(1 - decay) over all people.

        The rate is rounded up: a little more noise is as private.
        """
        rate = -math.log1p(-self.noise.decay) * (1 + FEW_OPERATIONS)
        return poisson_table(Fraction(rate) / self._honest)

    @cached_property
    def _sizes(self) -> InversionTable:
        """The logarithmic sizes of clusters, proportional to decay^k / k, as integers."""
        decay, power, weights = Fraction(self.noise.decay), 1 << WEIGHT_BITS, []
        for size in range(1, self.noise.window.last + 1):
            power = power * decay.numerator // decay.denominator
            weights.append(power // size)
        return InversionTable(first=1, weights=weights)

    def tally(self, messages: ArrayLike) -> Tally:
        """Add all shares modulo q."""
        flat = concatenate(messages)
        if flat.size and (flat.dtype.kind not in "iu" or int(flat.max()) >> self.modulus_bits or flat.min() < 0):
            raise DataError(f"messages must be shares: whole numbers of {self.modulus_bits} bits")
        total = int(flat.astype(np.uint64).sum(dtype=np.uint64)) % (1 << self.modulus_bits)
        return Tally(np.array([1]), np.array([total]), messages=flat.size)

    def sample_tally(self, values: ArrayLike, *, rng: np.random.Generator | None = None) -> Tally:
        """Sample the sum of all shares from its distribution, if all people follow the protocol."""
        if np.size(values) > self.users:
            raise DataError(f"there are more values than {self.users} people")
        source = generator(rng)
        total = int(self._rounded(values, source).sum())
        if self._honest == self.users == np.size(values):
            total += int(self.noise.sample(1, rng=source)[0])
        else:
            total += int(self._noise_parts(np.size(values), source).sum())
        return Tally(np.array([1]), np.array([total % (1 << self.modulus_bits)]), drawn=True)

    def estimate(
        self, tally: Tally, *, beta: float = 0.05, reports: int | None = None, domain: Domain | None = None
    ) -> Estimate:
        """Estimate the sum: `estimate[1]`, or `estimate.frequency(1)` as the mean."""
        check_tally(tally, Tally)
        people = self.users if reports is None else reporting(reports, users=self.users)
        if people < self.users:
            raise DataError(
                f"reports must be users={self.users}, got {people}: each missing person may be one of the "
                f"{self._honest} people who make the noise, so the sum could have less noise than guaranteed"
            )
        check_messages(tally, people=people, each=self.shares)
        if reports is None and tally.messages is None and not tally.drawn:
            raise DataError("this tally has no number of shares: give the number of people as reports=")
        total = tally.total % (1 << self.modulus_bits)
        if total > self.users * self.scale + self._noise_reach:  # below 0, modulo q
            total -= 1 << self.modulus_bits
        count, bound = np.array([total / self.scale]), self.error(beta)
        possible = possible_counts(count - bound.per_bin, count + bound.per_bin, people=people)
        _, interval = around_estimates(count, per_bin=possible, simultaneous=possible)
        return Estimate(
            symbols=np.array([0]),
            counts=count,
            per_bin=interval,
            simultaneous=interval,
            people=people,
            bins=1,
            beta=bound.beta,
            estimator="unbiased",
            guarantee=self.guarantee,
            about=self.facts,
            domain=Domain.of([1]) if domain is None else domain,
        )

    def facts(self, *, drawn: bool = False) -> ProtocolFacts:
        """The facts that a reader of the sum must know; `drawn` if the party with the data sampled it."""
        numbers = {"shares": self.shares, "leak": 2.0**-self.security_bits}
        return ProtocolFacts(
            guarantee=guarantee_or_usual(self),
            trusted=Trusted.DATA_HOLDER if drawn else Trusted.SHUFFLER,
            users=self.users,
            honest_users=self.honest_users,
            false_positives=True,
            noise=NoiseFacts(NoiseKind.SECRET_SHARES, numbers),
        )

    def describe(self, *, beta: float = 0.05, drawn: bool = False) -> str:
        """Describe the guarantee, its conditions and the expected error in paragraphs of English."""
        from shuffledp.explain.protocols import describe

        return describe(self.facts(drawn=drawn), people=self.users, error=self.error(beta).simultaneous, beta=beta)

"""GGK+19 with public coins: every value is hashed into several rows of cells, and noise is sent for cells, not for bins
(Ghazi, Golowich, Kumar, Pagh and Velingker, "On the power of multiple anonymous messages").

Hash functions h_1 .. h_T into s cells each are public. A person with value x sends (t, h_t(x)) for every row t, and
every one of the T s cells with a small probability g. A cell of row t holds the people whose values fall into it plus
Bin(n, g), so the count of x is estimated as the smallest count of its cells, less n g: cells only add other people.
The number of messages does not grow with the number of bins but for T, which does slowly.
"""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
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
from shuffledp.noise import Binomial
from shuffledp.noise.binomial import safely_up
from shuffledp.noise.coins import heads
from shuffledp.pipeline.domain import Domain
from shuffledp.pipeline.estimate import Estimate, Intervals
from shuffledp.pipeline.inputs import (
    Counts,
    check_bins,
    check_domain,
    check_tally,
    check_total,
    counted_messages,
    few_enough_bins,
    people_in_bins,
    true_counts,
)
from shuffledp.pipeline.shuffler import concatenate
from shuffledp.pipeline.tally import Tally
from shuffledp.protocols.release import (
    MessageCount,
    assembled,
    bits_to_name,
    check_people_and_bins,
    describe_release,
    kept_promise,
    ran_with,
)
from shuffledp.randomness import generator
from shuffledp.reading.reading import ErrorBound

_MOST_CELLS = 2**31
_MESSAGES_AT_ONCE = 1 << 20
_BINS_AT_ONCE = 1 << 18


def fresh_coin() -> int:
    """A seed that nobody could foresee."""
    return secrets.randbits(64)


@dataclass(frozen=True, kw_only=True)
class PublicCoinHistogram:
    """`rows` hash functions (T) into `width` cells (s); `noise` is the law of the noise messages of one cell.

    `coin` is the public seed of the hash functions, a fresh one unless given. Privacy does not depend on it; errors are
    bounded for any values that were not chosen with the coin in view.
    """

    users: int
    bins: int
    rows: int
    width: int
    noise: Binomial
    coin: int = field(default_factory=fresh_coin)
    honest_users: int | None = None
    guarantee: Guarantee | None = None

    def __post_init__(self) -> None:
        check_people_and_bins(self)
        few_enough_bins(self.bins)
        if not isinstance(self.noise, Binomial) or self.noise.trials != self.users:
            raise ParameterError("noise must be a Binomial law with one trial for each user")
        object.__setattr__(self, "rows", whole("rows", self.rows))
        object.__setattr__(self, "width", whole("width", self.width, minimum=2))
        object.__setattr__(self, "coin", whole("coin", self.coin, minimum=0))
        if self.rows * self.width > _MOST_CELLS:
            raise ParameterError(
                f"{self.rows} rows of {self.width:,} cells are too many to count: at most 2^31 cells together, "
                "so use fewer people or a smaller width"
            )

    @classmethod
    def from_paper(cls, *, users: int, bins: int, epsilon: float, delta: float) -> Self:
        """T = ceil(ln 2d), s = 2n and g = 90 T^2 ln(2T / delta) / (n epsilon^2), where that is at most 1/2."""
        users, bins = head_count("users", users), whole("bins", bins)
        epsilon, delta = target_epsilon(epsilon), target_delta(delta)
        rows = published_rows(bins)
        needed = 90 * rows**2 * math.log(2 * rows / delta) / epsilon**2
        if needed > users / 2:
            exactly = cls.minimum_users(epsilon=epsilon, delta=delta, rows=rows)
            raise TooFewUsersError(
                f"users={users} is too few for epsilon={epsilon:g}, delta={delta:g} with the published parameters, "
                f"which would send every cell with probability {needed / users:.2g} > 1/2: needs at least "
                f"{math.ceil(2 * needed):,}; calibrate exactly to need only {exactly:,}",
                minimum_users=math.ceil(2 * needed),
            )
        return kept_promise(
            cls(
                users=users,
                bins=bins,
                rows=rows,
                width=2 * users,
                noise=Binomial(trials=users, probability=safely_up(needed / users)),
                guarantee=Guarantee(epsilon=epsilon, delta=delta, basis="published parameters"),
            )
        )

    @classmethod
    def calibrate(
        cls,
        *,
        users: int,
        bins: int,
        epsilon: float,
        delta: float,
        honest_users: int | None = None,
        rows: int | None = None,
        width: int | None = None,
        coin: int | None = None,
    ) -> Self:
        """The least noise for (epsilon, delta); without `rows`, as many as make the error smallest."""
        users, bins = head_count("users", users), whole("bins", bins)
        honest = honest_among(honest_users, users=users)
        epsilon, delta = target_epsilon(epsilon), target_delta(delta)
        guarantee = Guarantee(epsilon=epsilon, delta=delta, basis="calibrated on the safe side")
        public = fresh_coin() if coin is None else coin

        def with_rows(number: int) -> dict[str, Any]:
            probability = _least_noise(honest, number, epsilon, delta)
            if probability is None:
                needed = cls.minimum_users(epsilon=epsilon, delta=delta, rows=number)
                raise TooFewUsersError(
                    f"users={honest} is too few for epsilon={epsilon:g}, delta={delta:g} with {number} rows: needs at "
                    f"least {needed}",
                    minimum_users=needed,
                )
            return {
                "users": users,
                "bins": bins,
                "rows": number,
                "width": 2 * users if width is None else width,
                "noise": Binomial(trials=users, probability=probability),
                "coin": public,
                "honest_users": honest,
                "guarantee": guarantee,
            }

        if rows is not None:
            return cls(**with_rows(whole("rows", rows)))
        best = cls(**with_rows(1))
        for number in range(2, published_rows(bins) + 1):
            try:
                more = cls(**with_rows(number))
            except TooFewUsersError:
                break
            if more.error(0.05).simultaneous > best.error(0.05).simultaneous:
                break
            best = more
        return best

    @classmethod
    def minimum_users(cls, *, epsilon: float, delta: float, rows: int = 1) -> int:
        """The fewest honest people with whom (epsilon, delta) is possible, with so many rows."""
        return calibration.fewest_users(
            lambda users, probability: _curve(users, probability, rows),
            epsilon=target_epsilon(epsilon),
            delta=target_delta(delta),
        )

    @cached_property
    def privacy(self) -> PrivacyCurve:
        """A replaced value moves one cell of every row down and one up: exact, or composed on the safe side."""
        return _curve(self.honest_users or self.users, self.noise.probability, self.rows)

    def error(self, beta: float, *, estimator: str = "smallest", occupied_bins: int | None = None) -> ErrorBound:
        """Errors in people that are exceeded with probability at most beta, on any dataset chosen without the coin.

        Below: some cell of the bin has too little noise. Above: every row has more than `crowd` others in the bin's
        cell, or the noise in the first row that has not is large. On average n / s others share a cell, so by Markov's
        inequality a row has more than a with probability at most n / (s (a + 1)), independently for each row.
        """
        beta = failure_probability(beta)
        if estimator != "smallest":
            raise ParameterError(f"estimator must be smallest for this protocol, got {estimator!r}")
        return ErrorBound(beta=beta, per_bin=self._reach(beta, 1), simultaneous=self._reach(beta, self.bins))

    def _reach(self, beta: float, bins: int) -> float:
        return float(max(self._reaches(beta, bins)))

    def _reaches(self, beta: float, bins: int) -> tuple[int, int]:
        """How far estimates of so many bins are below and above the truth, each but for beta / 2."""
        window, mean, risk = self.noise.window, self.noise.mean, beta / (2 * bins)
        cells = min(bins, self.width) * self.rows
        below = 0
        while cells * window.below(math.ceil(mean - below)) > beta / 2 and below <= mean:
            below += 1
        share = self.users * (1 / self.width + 2.0**-32)  # the hash is uniform but for 2^-32
        noisy = 0
        while window.above(math.floor(mean + noisy)) > risk:
            noisy += 1
        best = self.users + noisy  # everybody in one cell
        for crowd in range(self.users):
            crowded = min(1.0, share / (crowd + 1)) ** self.rows
            if crowd >= best:
                break
            if crowded < risk:
                noisy = 0
                while noisy + crowd < best and window.above(math.floor(mean + noisy)) > risk - crowded:
                    noisy += 1
                best = min(best, crowd + noisy)
        return below, best

    @property
    def messages_per_user(self) -> MessageCount:
        """One for every row, and the noise."""
        cells = self.rows * self.width
        return MessageCount(expected=self.rows + cells * self.noise.probability, maximum=self.rows + cells)

    @property
    def bits_per_message(self) -> int:
        """Bits that name a cell."""
        return bits_to_name(self.rows * self.width)

    def randomize(self, values: ArrayLike, *, rng: np.random.Generator | None = None) -> NDArray[np.int64]:
        """The cells that one person (a bin) or many (an array of bins) send, row after row numbered from 0."""
        people, source = people_in_bins(values, bins=self.bins), generator(rng)
        cells = self.rows * self.width
        at_once = max(1, int(_MESSAGES_AT_ONCE / self.messages_per_user.expected))
        sent = [self.cells(people).ravel()]
        for start in range(0, people.size, at_once):
            block = min(at_once, people.size - start)
            sent.append(heads(block * cells, self.noise.probability, source) % cells)
        return np.concatenate(sent)

    def cells(self, bins: NDArray[Any]) -> NDArray[np.int64]:
        """The cell of every bin in every row: one line for each row."""
        multipliers, offsets = self._hashes
        keys = bins.astype(np.uint64)
        half, width = np.uint64(32), np.uint64(self.width)
        hashed = (multipliers[:, None] * keys + offsets[:, None]) >> half
        within = (hashed * width >> half).astype(np.int64)
        return within + (np.arange(self.rows) * self.width)[:, None]

    @cached_property
    def _hashes(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Multipliers and offsets of the rows, from the public coin."""
        words = np.random.SeedSequence(self.coin).generate_state(2 * self.rows, dtype=np.uint64).astype(np.uint64)
        return words[: self.rows], words[self.rows :]

    def tally(self, messages: ArrayLike | Tally) -> Tally:
        """How many messages name each cell; also of messages that were counted elsewhere."""
        cells = self.rows * self.width
        if isinstance(messages, Tally):
            return counted_messages(messages, bins=cells)
        flat = concatenate(messages)
        check_bins(flat, bins=cells, what="message")
        return Tally.of_bins(flat, bins=cells)

    def sample_tally(self, counts: Counts, *, rng: np.random.Generator | None = None) -> Tally:
        """The count of every cell, drawn from its exact law given the true counts, without making messages."""
        truth = true_counts(counts, users=self.users, bins=self.bins)
        if len(truth) and truth.symbols.dtype.kind not in "iu":
            raise DataError("this protocol hashes numbered bins: encode labels with Domain.encode first")
        number = self.rows * self.width
        drawn = self.noise.sample(number, rng=generator(rng))
        held = truth.counts > 0
        for row in self.cells(truth.symbols[held]):
            np.add.at(drawn, row, truth.counts[held])
        return Tally(np.arange(number), drawn)

    def estimate(
        self,
        tally: Tally,
        *,
        estimator: str = "smallest",
        beta: float = 0.05,
        reports: int | None = None,
        domain: Domain | None = None,
    ) -> Estimate:
        """The histogram of every bin: the smallest count of its cells, less the expected noise."""
        check_tally(tally, Tally)
        check_domain(domain, bins=self.bins)
        ran = self.for_reports(reports)
        bound = ran.error(beta, estimator=estimator)
        cells = self.rows * self.width
        if len(tally) != cells or not tally.complete:
            raise DataError("this protocol needs the count of every cell: tally messages, or draw with sample_tally")
        check_total(
            tally.total,
            users=ran.users,
            bins=self.bins,
            expected=ran.users * ran.messages_per_user.expected,
            variance=cells * ran.noise.variance,
        )
        smallest = np.empty(self.bins, dtype=np.int64)
        for start in range(0, self.bins, _BINS_AT_ONCE):
            stop = min(start + _BINS_AT_ONCE, self.bins)
            smallest[start:stop] = tally.counts[self.cells(np.arange(start, stop))].min(axis=0)
        counts = smallest.astype(np.float64) - ran.noise.mean

        def intervals(bins: int) -> Intervals:
            below, above = ran._reaches(bound.beta, bins)
            return Intervals(
                low=np.clip(np.floor(counts - above), 0, ran.users).astype(np.int64),
                high=np.clip(np.ceil(counts + below), 0, ran.users).astype(np.int64),
                unreported_high=0,
            )

        return assembled(
            ran,
            symbols=np.arange(self.bins),
            counts=counts,
            intervals=intervals,
            bins=self.bins,
            beta=bound.beta,
            estimator=estimator,
            domain=domain,
        )

    def for_reports(self, reports: int | None) -> Self:
        """This protocol as it really ran when only so many people reported: same randomizer, less noise."""
        if reports is None or reports == self.users:
            return self
        return ran_with(self, reports, noise=self.noise.share(reporting(reports, users=self.users), of=self.users))

    def describe(self, *, beta: float = 0.05, drawn: bool = False) -> str:
        """The guarantee, its conditions and the error to expect, in words."""
        return describe_release(
            self,
            bins=self.bins,
            noise=(
                f"Values are hashed into {self.rows} rows of {self.width:,} cells; a cell receives "
                f"{self.noise.mean:.1f} noise messages on average."
            ),
            error=self.error(beta).simultaneous,
            beta=beta,
            drawn=drawn,
        )


def published_rows(bins: int) -> int:
    """T = ceil(ln 2d)."""
    return math.ceil(math.log(2 * bins))


def _curve(honest_users: int, probability: float, rows: int) -> PrivacyCurve:
    noise = Binomial(trials=honest_users, probability=probability)
    return PrivacyCurve.of_shifts(*[Shift(law=noise, by=by) for by in (1, -1) for _ in range(rows)])


@lru_cache(maxsize=64)
def _least_noise(honest_users: int, rows: int, epsilon: float, delta: float) -> float | None:
    return calibration.smallest_probability(
        lambda users, probability: _curve(users, probability, rows), users=honest_users, epsilon=epsilon, delta=delta
    )

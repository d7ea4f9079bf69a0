"""GGK+19 with public coins: every value is hashed into several rows of cells, and noise is sent for cells.

From Ghazi, Golowich, Kumar, Pagh and Velingker, "On the power of multiple anonymous messages". The hash functions h_1
.. h_T into s cells each are public. A person with value x sends (t, h_t(x)) for every row t. They also send each of the
T s cells with a small probability g.

The count of a cell is the number of people whose values fall into it plus Bin(n, g). Collisions only add people, so the
estimate for x is the smallest count of its cells, less n g. The number of messages depends on the number of bins only
through T, which grows slowly.
"""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting import calibration
from shuffledp.accounting.curve import PrivacyCurve, Shift
from shuffledp.errors import DataError, ParameterError, TooFewUsersError
from shuffledp.estimators.hashed_cells import HashRows, SmallestCell
from shuffledp.histogram.facts import NoiseFacts, NoiseKind
from shuffledp.histogram.inputs import few_enough_bins
from shuffledp.histogram.tally import Tally
from shuffledp.noise import Binomial
from shuffledp.noise.binomial import safely_up
from shuffledp.noise.coins import heads
from shuffledp.protocols.protocol import MessageCount, bits_to_name
from shuffledp.protocols.shuffled_histogram import ShuffledHistogram
from shuffledp.protocols.target import Target, need_one_value, require_guarantee
from shuffledp.validation import target_delta, target_epsilon, whole

_MOST_CELLS = 2**31
"""The most cells; the counts of more do not fit in memory."""

_MESSAGES_AT_ONCE = 1 << 20
"""The number of noise messages made together, so that they stay in the cache."""

_BETA = 0.05
"""The failure probability of the error by which the number of rows is chosen."""


def fresh_coin() -> int:
    """Return an unpredictable seed."""
    return secrets.randbits(64)


@dataclass(frozen=True, kw_only=True)
class PublicCoinHistogram(ShuffledHistogram):
    """A protocol with `rows` hash functions (T) into `width` cells (s); `noise` is that of one cell.

    `coin` is the public seed of the hash functions; by default it is new. Privacy does not depend on it. Error bounds
    hold for any values that were chosen independently of the coin.
    """

    rows: int
    width: int
    noise: Binomial
    coin: int = field(default_factory=fresh_coin)

    samples_exactly = True

    def __post_init__(self) -> None:
        super().__post_init__()
        few_enough_bins(self.bins)
        if not isinstance(self.noise, Binomial) or self.noise.trials != self.users:
            raise ParameterError("noise must be Binomial with one trial for each user")
        object.__setattr__(self, "rows", whole("rows", self.rows))
        object.__setattr__(self, "width", whole("width", self.width, minimum=2))
        object.__setattr__(self, "coin", whole("coin", self.coin, minimum=0))
        if self.rows * self.width > _MOST_CELLS:
            raise ParameterError(
                f"{self.rows} rows of {self.width:,} cells are too many to count: at most 2^31 cells together, "
                "so use fewer people or a smaller width"
            )

    @classmethod
    def for_target(
        cls, target: Target, *, rows: int | None = None, width: int | None = None, coin: int | None = None
    ) -> Self:
        """Return the protocol with the least noise; without `rows`, with the number that has the smallest error."""
        target.needs_one_value(cls)
        cells = 2 * target.users if width is None else width
        public = fresh_coin() if coin is None else coin
        if rows is not None:
            return cls._with_rows(target, whole("rows", rows), width=cells, coin=public)
        best = cls._with_rows(target, 1, width=cells, coin=public)
        for number in range(2, published_rows(target.bins) + 1):
            try:
                more = cls._with_rows(target, number, width=cells, coin=public)
            except TooFewUsersError:
                break
            if more.error(_BETA).simultaneous > best.error(_BETA).simultaneous:
                break
            best = more
        return best

    @classmethod
    def _with_rows(cls, target: Target, rows: int, *, width: int, coin: int) -> Self:
        probability = _least_noise(target.honest, rows, target.epsilon, target.delta)
        if probability is None:
            needed = cls.minimum_users(epsilon=target.epsilon, delta=target.delta, rows=rows)
            raise target.too_few(needed, how=f"with {rows} rows")
        noise = Binomial(trials=target.users, probability=probability)
        return cls._made(target, "computed as an upper bound", rows=rows, width=width, noise=noise, coin=coin)

    @classmethod
    def published_for(cls, target: Target) -> Self:
        """Return the published T = ceil(ln 2d), s = 2n and g = 90 T^2 ln(2T / delta) / (n epsilon^2) <= 1/2."""
        target.needs_one_value(cls)
        rows = published_rows(target.bins)
        needed = 90 * rows**2 * math.log(2 * rows / target.delta) / target.epsilon**2
        if needed > target.users / 2:
            exactly = cls.minimum_users(epsilon=target.epsilon, delta=target.delta, rows=rows)
            raise target.too_few(
                math.ceil(2 * needed),
                how="with the published parameters, which would send every cell with probability "
                f"{needed / target.users:.2g} > 1/2",
                instead=f"or calibrate exactly to need only {exactly}",
            )
        noise = Binomial(trials=target.users, probability=safely_up(needed / target.users))
        return require_guarantee(cls._published(target, rows=rows, width=2 * target.users, noise=noise))

    @classmethod
    def minimum_users(cls, *, epsilon: float, delta: float, values_per_person: int = 1, rows: int = 1) -> int:
        """The fewest honest people with whom (epsilon, delta) is possible, with this number of rows."""
        need_one_value(cls, values=values_per_person)
        return calibration.fewest_users(
            lambda users, probability: _curve(users, probability, rows),
            epsilon=target_epsilon(epsilon),
            delta=target_delta(delta),
            shifts=2 * rows,
        )

    @cached_property
    def privacy(self) -> PrivacyCurve:
        """The privacy curve: a replaced value moves one cell of every row down and one up. Exact, or an upper bound."""
        return _curve(self.honest, self.noise.probability, self.rows)

    @cached_property
    def hashes(self) -> HashRows:
        """The public hash functions."""
        return HashRows(rows=self.rows, width=self.width, coin=self.coin)

    @cached_property
    def estimator(self) -> SmallestCell:
        """The estimator from the smallest count of the cells of a bin, less the expected noise."""
        return SmallestCell(hashes=self.hashes, noise=self.noise, people=self.users, bins=self.bins)

    @property
    def alphabet(self) -> int:
        """The number of different messages: one for each cell."""
        return self.hashes.cells

    @property
    def messages_per_user(self) -> MessageCount:
        """One for every row, and the noise."""
        cells = self.alphabet
        return MessageCount(expected=self.rows + cells * self.noise.probability, maximum=self.rows + cells)

    @property
    def bits_per_message(self) -> int:
        """Bits that name a cell."""
        return bits_to_name(self.alphabet)

    def participation_cumulant(self, tilts: NDArray[np.float64]) -> NDArray[np.float64]:
        """The cumulant of one message for every row, and of the noise of every cell."""
        return self.rows * tilts + self.alphabet / self.users * self.noise.cumulant(tilts)

    @property
    def noise_facts(self) -> NoiseFacts:
        """The kind of noise and its numbers."""
        return NoiseFacts(NoiseKind.HASHED_CELLS, {"cells": self.width, "rows": self.rows, "mean": self.noise.mean})

    def fresh(self, rng: np.random.Generator) -> Self:
        """Return the protocol with a new public coin; the error bounds are also over the coin."""
        return replace(self, coin=int(rng.integers(2**63)))

    def _send(self, people: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        cells = self.alphabet
        at_once = max(1, int(_MESSAGES_AT_ONCE / self.messages_per_user.expected))
        sent = [self.hashes.of(people).ravel()]
        for start in range(0, people.size, at_once):
            block = min(at_once, people.size - start)
            sent.append(heads(block * cells, self.noise.probability, rng) % cells)
        return np.concatenate(sent)

    def _draw(self, truth: Tally, rng: np.random.Generator) -> Tally:
        """Sample the count of every cell: independent noise, and the people whose values fall into it."""
        if len(truth) and truth.symbols.dtype.kind not in "iu":
            raise DataError("this protocol hashes numbered bins: encode labels with Domain.encode first")
        drawn = self.noise.sample(self.alphabet, rng=rng)
        held = truth.counts > 0
        for row in self.hashes.of(truth.symbols[held]):
            np.add.at(drawn, row, truth.counts[held])
        return Tally(np.arange(self.alphabet), drawn)

    def _noise_of(self, people: int) -> dict[str, Any]:
        return {"noise": self.noise.share(people, of=self.users)}


def published_rows(bins: int) -> int:
    """T = ceil(ln 2d)."""
    return math.ceil(math.log(2 * bins))


def _curve(honest_users: int, probability: float, rows: int) -> PrivacyCurve:
    noise = Binomial(trials=honest_users, probability=probability)
    return PrivacyCurve.of_shifts(*[Shift(distribution=noise, by=by) for by in (1, -1) for _ in range(rows)])


@lru_cache(maxsize=64)
def _least_noise(honest_users: int, rows: int, epsilon: float, delta: float) -> float | None:
    return calibration.smallest_probability(
        lambda users, probability: _curve(users, probability, rows),
        users=honest_users,
        epsilon=epsilon,
        delta=delta,
        shifts=2 * rows,
    )

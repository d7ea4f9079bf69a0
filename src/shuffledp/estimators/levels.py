"""Simultaneous intervals that allow for as little noise as the tally permits.

A level is a claim about bins of more than h people: they are reported, and their true counts are in a range around
their values. It fails with a known risk for each of them, so the number of such bins matters. That number is unknown,
but more than K of them would have been visible. docs/proofs/intervals.md has the theorem and its proof.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.rounding import COUNT_AGAINST_MEAN, SEVERAL_OPERATIONS
from shuffledp.estimators.base import MissingNoise
from shuffledp.histogram.intervals import Intervals

_STEPS = 8
"""The number of levels for each halving of the risk; steps are then smaller than one count."""

_LEVELS = 80 * _STEPS
"""The number of levels, down to a risk of 2^-80 at which the windows of all distributions are still informative."""

_SMALL, _NUMBER = 1 / 80, 1 / 40
"""The share of beta for small bins that are reported, and the share of min(beta, 1 - beta) for misjudging the number of
large bins. Ranges grow with the logarithm of a share, so a small share costs little.
"""

_UNSEEN = (0.08, 0.02, 0.0)
"""The probabilities with which a large bin goes unnoticed in the three ways of counting. A loose way separates sizes
better; a strict one is better if few bins are seen.
"""

LOWER_EDGE = 0.75
"""The risk of a level's lower edge relative to its upper one: the edges of a symmetric distribution then move in
turn.
"""

_TAIL_MARGIN = 1e-9
"""The relative margin of a binomial tail from scipy's beta function, whose error is 6e-15 sqrt(trials), for 10^10
trials.
"""


@dataclass(frozen=True, kw_only=True)
class Level:
    """A claim: a bin of more than `hidden` people is reported and holds value + least .. value + most, except with
    `risk`.
    """

    hidden: float
    least: float
    most: float
    risk: float


@dataclass(frozen=True, eq=False)
class Known:
    """Certain bounds on the counts of reported bins, and on the counts of all others.

    All people together hold a known number of values, and those that are certainly in one bin are in no other.
    """

    least: NDArray[np.int64]
    most: NDArray[np.int64]
    unreported: int
    people: int

    @classmethod
    def of(
        cls, least: NDArray[np.int64], *, people: int, held: int | None = None, most: NDArray[np.int64] | None = None
    ) -> Known:
        """Return the bounds, from the certain and the largest possible number of people in each reported bin.

        All people hold `held` values; by default one each.
        """
        room = max(0, (people if held is None else held) - int(least.sum()))
        highest = np.minimum(least + room, people)
        return cls(least, highest if most is None else np.minimum(highest, most), min(room, people), people)


class Rungs(Protocol):
    """The noise of an estimator, from which levels are made."""

    @property
    def noise(self) -> MissingNoise:
        """The noise that hides people."""

    @property
    def people(self) -> int:
        """The number of people."""

    @property
    def held(self) -> int:
        """The number of values that people hold together."""

    def level(self, risk: float) -> Level:
        """Return a level whose edges are each passed with at most this risk."""

    def small_range(self, risk: float, *, bins: int) -> tuple[float, float]:
        """The smallest and largest distance of the true count of a reported bin of any size from its value.

        It holds for all reported bins at once, except with this risk. Ends that the levels bound are infinite: inf for
        the smallest, -inf for the largest.
        """


@dataclass(frozen=True, kw_only=True)
class Ladder:
    """A sequence of levels, each wider and less risky than the one before."""

    rungs: Rungs

    def intervals(
        self, value: NDArray[Any], excess: NDArray[np.int64], known: Known, *, beta: float, bins: int
    ) -> Intervals:
        """Intervals for the true counts of this number of bins at once, given the values of the reported ones."""
        if bins == 1:
            return _intervals(value, self._of_one_bin(beta), known)
        seen = _Seen(noise=self.rungs.noise, excess=excess, offsets=self._offsets)
        aside = min(beta, 1 - beta) * _NUMBER
        share = beta * (1 - _SMALL) - aside

        def holds(level: Level) -> bool:
            allowed = _bins_allowed(level.risk, share)
            if allowed < 1:
                return False
            if self._possible(level, bins) <= allowed:
                return True
            return seen.too_few_for(int(allowed) + 1, larger_than=int(level.hidden), risk=aside)

        return _intervals(value, self._with_small(self._first(holds), beta=beta, bins=bins), known)

    def before(self, offset: float, *, beta: float, bins: int, occupied: int) -> tuple[float, int]:
        """Bounds on the error of reported bins and on the size of hidden ones before a release, on the worst dataset.

        Both hold together, except with probability beta. An estimate is the value of the bin + `offset`.
        """
        share, most = beta * (1 - _SMALL), min(bins, occupied)
        if bins == 1:
            reach = self._of_one_bin(beta)
        else:
            level = self._first(lambda level: max(1, self._possible(level, most)) <= _bins_allowed(level.risk, share))
            reach = self._with_small(level, beta=beta, bins=bins)
        shown = max(offset - reach.small_least, reach.small_most - offset)
        return min(shown, float(self.rungs.people)), int(min(reach.level.hidden, self.rungs.people))

    def _of_one_bin(self, beta: float) -> _Reach:
        level = self._first(lambda level: level.risk <= beta)
        return _Reach(level, level.least, level.most)

    def _with_small(self, level: Level, *, beta: float, bins: int) -> _Reach:
        """The union with the range of small bins."""
        if (beta, bins) not in self._small:
            self._small[beta, bins] = self.rungs.small_range(beta * _SMALL, bins=bins)
        least, most = self._small[beta, bins]
        return _Reach(level, min(least, level.least), max(most, level.most))

    def _possible(self, level: Level, bins: int) -> int:
        """The largest number of bins with more than `hidden` people."""
        return min(bins, self.rungs.held // (int(min(level.hidden, self.rungs.people)) + 1))

    def _first(self, holds: Callable[[Level], bool]) -> Level:
        """The first level for which a monotone condition holds; the last one claims nothing."""
        at = bisect_left(range(1, _LEVELS), True, key=lambda k: holds(self._level(k))) + 1
        if at < _LEVELS:
            return self._level(at)
        return Level(hidden=self.rungs.people, least=-math.inf, most=math.inf, risk=0.0)

    def _level(self, number: int) -> Level:
        if number not in self._made:
            self._made[number] = self.rungs.level(2 ** (-number / _STEPS))
        return self._made[number]

    @cached_property
    def _offsets(self) -> list[int]:
        """For each way of counting, the excess above a size at which a bin goes unnoticed with that probability."""
        noise = self.rungs.noise
        return [int(min(noise.most(unseen), noise.last)) for unseen in _UNSEEN]

    @cached_property
    def _made(self) -> dict[int, Level]:
        return {}

    @cached_property
    def _small(self) -> dict[tuple[float, int], tuple[float, float]]:
        return {}


@dataclass(frozen=True)
class _Reach:
    """A level, and the range of bins of at most its `hidden` people."""

    level: Level
    small_least: float
    small_most: float


@dataclass(frozen=True, kw_only=True)
class ExcessRungs:
    """Levels for bins whose value is the excess c - M: the true count is the excess plus M."""

    noise: MissingNoise
    people: int
    held: int

    def level(self, risk: float) -> Level:
        """Bound M on both sides. A bin of more than `most` people is reported if M is at most `most`."""
        least, most = self.noise.least(risk * LOWER_EDGE), int(min(self.noise.most(risk), self.people))
        risk_below = self.noise.below(int(least)) if math.isfinite(least) else 0.0
        risk_above = self.noise.above(most) if most < self.people else 0.0
        return Level(hidden=most, least=least, most=most, risk=min(1.0, risk_below + risk_above))

    def small_range(self, risk: float, *, bins: int) -> tuple[float, float]:
        """Bound M from below; too large an M hides a small bin."""
        return self.noise.least_of_small(risk, held=self.held, bins=bins), -math.inf


@dataclass(frozen=True, eq=False)
class _Seen:
    noise: MissingNoise
    excess: NDArray[np.int64]
    offsets: list[int]

    def too_few_for(self, bins: int, *, larger_than: int, risk: float) -> bool:
        """Whether this number of bins of more people would have shown more than was seen, except with the risk.

        Each shows an excess of more than x with probability at least 1 - q, q = P(M > larger_than - x). The number of
        these is stochastically at least Bin(bins, 1 - q), for any other bins.
        """
        return any(
            _lower_tail(self._number_above(at), bins, self.noise.above(larger_than - at)) <= risk / len(_UNSEEN)
            for at in (max(0, larger_than - offset) for offset in self.offsets)
        )

    def _number_above(self, excess: int) -> int:
        return int(self._numbers[min(excess + 1, self._numbers.size - 1)])

    @cached_property
    def _numbers(self) -> NDArray[np.int64]:
        """The numbers of reported bins with an excess of at least 0, 1, ... up to the largest noise."""
        largest = max(1, self.noise.last) + 1
        counted = np.bincount(np.minimum(self.excess, largest), minlength=largest + 1)
        return np.cumsum(counted[::-1])[::-1]


def _lower_tail(seen: int, bins: int, unseen: float) -> float:
    """P(Bin(bins, 1 - unseen) <= seen), rounded up."""
    if seen >= bins:
        return 1.0
    from scipy.special import betainc

    return float(betainc(bins - seen, seen + 1, min(unseen, 1.0))) * (1 + _TAIL_MARGIN)


def _bins_allowed(risk: float, beta: float) -> float:
    """The largest K with 1 - (1 - risk)^K <= beta, for independent bins."""
    if risk >= 1:
        return 0
    return math.floor(math.log1p(-beta) / math.log1p(-risk) * (1 - SEVERAL_OPERATIONS)) if risk > 0 else math.inf


def _intervals(value: NDArray[Any], reach: _Reach, known: Known) -> Intervals:
    """The possible true counts: more than `hidden` people in the range of the level, or at most `hidden`."""
    level, farthest = reach.level, 4 * known.people + 4  # beyond all values and counts, for infinite edges
    low = _lower(value, max(level.least, -farthest))
    if reach.small_least < level.least:
        small = _lower(value, max(reach.small_least, -farthest))
        np.copyto(low, small, where=small <= level.hidden)
    high = _upper(value, min(level.most, farthest))
    if reach.small_most > level.most:
        small = _upper(value, min(reach.small_most, farthest))
        np.copyto(high, np.minimum(small, int(level.hidden)), where=high <= level.hidden)
    for end in (low, high):
        np.minimum(end, known.most, out=end)
        np.maximum(end, known.least, out=end)
    return Intervals(low=low, high=high, unreported_high=int(min(level.hidden, known.unreported)))


def _lower(value: NDArray[Any], offset: float) -> NDArray[np.int64]:
    """The smallest whole count from there on, tolerating rounding."""
    if value.dtype.kind == "i":
        return np.asarray(value + math.ceil(offset))
    return np.ceil(value + (offset - COUNT_AGAINST_MEAN)).astype(np.int64)


def _upper(value: NDArray[Any], offset: float) -> NDArray[np.int64]:
    """The largest whole count up to there, tolerating rounding."""
    if value.dtype.kind == "i":
        return np.asarray(value + math.floor(offset))
    return np.floor(value + (offset + COUNT_AGAINST_MEAN)).astype(np.int64)


@lru_cache(maxsize=64)
def noise_range(noise: MissingNoise, *, beta: float, bins: int) -> tuple[float, float]:
    """Bounds on the noise of this number of independent bins, which fail with probability at most beta.

    Cached for simulations and audits, which estimate from many tallies of one distribution.
    """

    def risk(number: int) -> tuple[float, float, float]:
        tail = 2 ** (-number / _STEPS)
        least, most = noise.least(tail * LOWER_EDGE), noise.most(tail)
        if not math.isfinite(least) or not math.isfinite(most):
            return -math.inf, math.inf, 0.0
        return least, most, noise.below(int(least)) + noise.above(int(most))

    at = bisect_left(range(1, _LEVELS), True, key=lambda k: bins <= _bins_allowed(risk(k)[2], beta)) + 1
    return risk(at)[:2] if at < _LEVELS else (-math.inf, math.inf)

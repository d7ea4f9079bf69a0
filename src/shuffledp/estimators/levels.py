"""The noise to allow for, given the tally: the choice behind intervals that hold for all bins at once.

A level is a claim about bins of more than h people: they are reported, and their true counts lie in a range around what
they show. It fails with a known risk for each of them, so what matters is how many such bins there are. That is
unknown, but more than K of them would have been visible. docs/proofs/intervals.md has the theorem and its proof.
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
from shuffledp.histogram.estimate import Intervals

_STEPS = 8
"""Levels for each halving of the risk: steps are then smaller than those of whole counts."""

_LEVELS = 80 * _STEPS
"""Down to risks of 2^-80, where the windows of all distributions still say something."""

_SMALL, _NUMBER = 1 / 80, 1 / 40
"""Of beta, what is set aside for small bins that are reported at all; and of the smaller of beta and 1 - beta, for
having misjudged the number of large ones. Ranges grow with the logarithm of a share, so that a small one costs little,
and the rest of beta is spent where it is needed."""

_UNSEEN = (0.08, 0.02, 0.0)
"""Large bins are counted by what they show, in three ways; in each, one goes unnoticed with about this probability. A
loose way tells sizes apart better, a strict one is better where few bins are seen."""

LOWER_EDGE = 0.75
"""Risk of a level's lower edge, relative to the upper one: the edges of a symmetric distribution then move in turn."""

_TAIL_MARGIN = 1e-9
"""Of a binomial tail from scipy's beta function, relative: its error of 6e-15 sqrt(trials) is less for 10^10 trials."""


@dataclass(frozen=True, kw_only=True)
class Level:
    """A bin of more than `hidden` people is reported and holds value + least .. value + most, but for `risk`."""

    hidden: float
    least: float
    most: float
    risk: float


@dataclass(frozen=True, eq=False)
class Known:
    """What is sure without any luck: bounds on the counts of reported bins, and on those of all others.

    All people together hold a known number of values: those that are surely in one bin are in no other.
    """

    least: NDArray[np.int64]
    most: NDArray[np.int64]
    unreported: int
    people: int

    @classmethod
    def of(
        cls, least: NDArray[np.int64], *, people: int, held: int | None = None, most: NDArray[np.int64] | None = None
    ) -> Known:
        """From the people who are surely in each reported bin, and at most how many can be in it.

        `held` is how many values all people hold together, one each unless given.
        """
        room = max(0, (people if held is None else held) - int(least.sum()))
        highest = np.minimum(least + room, people)
        return cls(least, highest if most is None else np.minimum(highest, most), min(room, people), people)


class Rungs(Protocol):
    """What an estimator says about its noise, from which levels are made."""

    @property
    def noise(self) -> MissingNoise:
        """The noise that hides people."""

    @property
    def people(self) -> int:
        """How many people there are: as many as can hold one value."""

    @property
    def held(self) -> int:
        """How many values they hold together: as many as all bins have."""

    def level(self, risk: float) -> Level:
        """A level whose edges are each passed with at most this risk; wider for smaller risks."""

    def small_range(self, risk: float, *, bins: int) -> tuple[float, float]:
        """How far the true count of a reported bin lies from its value, at least and at most, whatever its size.

        It holds for all reported bins at once, but for this risk. Ends that the levels bound are infinite: inf for
        `at least`, -inf for `at most`.
        """


@dataclass(frozen=True, kw_only=True)
class Ladder:
    """Levels that become wider and less risky from one to the next."""

    rungs: Rungs

    def intervals(
        self, value: NDArray[Any], excess: NDArray[np.int64], known: Known, *, beta: float, bins: int
    ) -> Intervals:
        """Intervals for the true counts of this number of bins at once, for what the reported ones show."""
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
        """Before anything is seen: how far off a reported bin, and how large a hidden one can be on the worst dataset.

        Both hold together, but for probability beta. An estimate is the bin's value + `offset`.
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
        """Of a single bin, whatever its size."""
        level = self._first(lambda level: level.risk <= beta)
        return _Reach(level, level.least, level.most)

    def _with_small(self, level: Level, *, beta: float, bins: int) -> _Reach:
        """With the range of small bins, which is at least as wide."""
        if (beta, bins) not in self._small:
            self._small[beta, bins] = self.rungs.small_range(beta * _SMALL, bins=bins)
        least, most = self._small[beta, bins]
        return _Reach(level, min(least, level.least), max(most, level.most))

    def _possible(self, level: Level, bins: int) -> int:
        """How many of the bins can have more than `hidden` people."""
        return min(bins, self.rungs.held // (int(min(level.hidden, self.rungs.people)) + 1))

    def _first(self, holds: Callable[[Level], bool]) -> Level:
        """The first level for which something holds that then holds for all later ones; the last one says nothing."""
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
        """For each way of counting, how far above the excess in question a bin must be to be noticed that often."""
        noise = self.rungs.noise
        return [int(min(noise.most(unseen), noise.last)) for unseen in _UNSEEN]

    @cached_property
    def _made(self) -> dict[int, Level]:
        """Levels that were needed before."""
        return {}

    @cached_property
    def _small(self) -> dict[tuple[float, int], tuple[float, float]]:
        """Ranges of small bins that were needed before."""
        return {}


@dataclass(frozen=True)
class _Reach:
    """A level, and the range of bins that need not be larger than its `hidden`."""

    level: Level
    small_least: float
    small_most: float


@dataclass(frozen=True, kw_only=True)
class ExcessRungs:
    """A bin's value is its excess c - M: the true count is the excess plus M."""

    noise: MissingNoise
    people: int
    held: int

    def level(self, risk: float) -> Level:
        """M between two bounds. A bin of more than `most` people with no more M than that is reported."""
        least, most = self.noise.least(risk * LOWER_EDGE), int(min(self.noise.most(risk), self.people))
        risk_below = self.noise.below(int(least)) if math.isfinite(least) else 0.0
        risk_above = self.noise.above(most) if most < self.people else 0.0
        return Level(hidden=most, least=least, most=most, risk=min(1.0, risk_below + risk_above))

    def small_range(self, risk: float, *, bins: int) -> tuple[float, float]:
        """Too little M in a reported bin; too much of it hides a small one."""
        return self.noise.least_of_small(risk, held=self.held, bins=bins), -math.inf


@dataclass(frozen=True, eq=False)
class _Seen:
    """The reported bins, counted by their excess."""

    noise: MissingNoise
    excess: NDArray[np.int64]
    offsets: list[int]

    def too_few_for(self, bins: int, *, larger_than: int, risk: float) -> bool:
        """Whether this number of bins of more people than that would have shown more than was seen, but for the risk.

        Each shows an excess of more than x with probability at least 1 - q, q = P(M > larger_than - x), so the number
        of those is stochastically at least Bin(bins, 1 - q), whatever the other bins are.
        """
        return any(
            _lower_tail(self._number_above(at), bins, self.noise.above(larger_than - at)) <= risk / len(_UNSEEN)
            for at in (max(0, larger_than - offset) for offset in self.offsets)
        )

    def _number_above(self, excess: int) -> int:
        """How many reported bins have a larger excess."""
        return int(self._numbers[min(excess + 1, self._numbers.size - 1)])

    @cached_property
    def _numbers(self) -> NDArray[np.int64]:
        """How many reported bins have an excess of at least 0, 1, ... up to the largest noise."""
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
    """The true counts that are left: more than `hidden` people in the range of the level, or at most that many."""
    level, farthest = reach.level, 4 * known.people + 4  # beyond all values and counts, for edges that are nowhere
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
    """The smallest whole count from value + offset on; one that is there but for rounding counts."""
    if value.dtype.kind == "i":
        return np.asarray(value + math.ceil(offset))
    return np.ceil(value + (offset - COUNT_AGAINST_MEAN)).astype(np.int64)


def _upper(value: NDArray[Any], offset: float) -> NDArray[np.int64]:
    """The largest whole count up to value + offset; one that is there but for rounding counts."""
    if value.dtype.kind == "i":
        return np.asarray(value + math.floor(offset))
    return np.floor(value + (offset + COUNT_AGAINST_MEAN)).astype(np.int64)


@lru_cache(maxsize=64)
def noise_range(noise: MissingNoise, *, beta: float, bins: int) -> tuple[float, float]:
    """Bounds that the noise of this number of independent bins keeps to, but for probability beta.

    They do not depend on what was counted, so simulations and audits, which estimate from many tallies of one
    distribution, compute them once.
    """

    def risk(number: int) -> tuple[float, float, float]:
        tail = 2 ** (-number / _STEPS)
        least, most = noise.least(tail * LOWER_EDGE), noise.most(tail)
        if not math.isfinite(least) or not math.isfinite(most):
            return -math.inf, math.inf, 0.0
        return least, most, noise.below(int(least)) + noise.above(int(most))

    at = bisect_left(range(1, _LEVELS), True, key=lambda k: bins <= _bins_allowed(risk(k)[2], beta)) + 1
    return risk(at)[:2] if at < _LEVELS else (-math.inf, math.inf)

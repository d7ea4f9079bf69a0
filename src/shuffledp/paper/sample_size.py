"""The smallest number of people with whom a problem is solved often enough.

Where the probability of success can be computed, `smallest_users` compares it with the target. Where it can only be
observed, `measured_users` decides for numbers of people on a geometric grid by exact binomial tests: a number is
enough, or too few, once the Clopper-Pearson bound on its success lies above, or below, the target. The levels of all
tests and looks add up to 1 - confidence, so that with this confidence every one of the decisions is right.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count

import numpy as np

from shuffledp.accounting.participation import lower_bound, upper_bound
from shuffledp.errors import ParameterError
from shuffledp.validation import MOST_USERS, open_probability, whole

TARGET = 0.99
"""The paper's problems ask for success with probability at least 99/100."""

CONFIDENCE = 0.99
"""With which both numbers of a measurement are right: as likely as the success that is asked for."""

GRID_RATIO = 1.1
"""Numbers of people that are tried lie this far apart: finer than the factors of two and more between the models."""

PILOT = 300
"""Trials with a number of people before anything is shown: 3 failures are expected at the target."""

LOOKS = (100, 500, 1000, 2000, 3000)
"""After how many trials a number of people is judged; undecided after the last, the next one on the grid is."""

_ROOM_ABOVE, _ROOM_BELOW = 1, 2
"""How far from the crossing that the pilots found the tests begin: nearer to it they take too many trials. Below it
failures are still rare for a while, so that one step more is left."""

Trial = Callable[[int, np.random.Generator], bool]
"""One run with the given number of people: was the answer right?"""


@dataclass(frozen=True, kw_only=True)
class MeasuredUsers:
    """`users` are shown to be enough and `too_few` to be too few, both at once with the given confidence."""

    users: int
    too_few: int
    trials: int
    confidence: float


def smallest_users(success: Callable[[int], float], *, least: int = 1, target: float = TARGET) -> int:
    """The number n >= least with success(n) >= target > success(n - 1) that doubling and halving finds.

    Success grows with n but for ripples (noise distributions and thresholds are whole numbers), where several n can
    have this property.
    """
    low, high = whole("least", least) - 1, least
    while success(high) < target:
        if high >= MOST_USERS:
            raise ParameterError(f"no number of people up to {MOST_USERS:g} reaches a success of {target:g}")
        low, high = high, min(2 * high, MOST_USERS)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if success(middle) >= target else (middle, high)
    return high


def measured_users(
    trial: Trial,
    *,
    start: float,
    rng: np.random.Generator,
    target: float = TARGET,
    confidence: float = CONFIDENCE,
    tell: Callable[[int], None] = lambda trials: None,
) -> MeasuredUsers:
    """A number of people shown to be enough and one shown to be too few, close to each other.

    Short pilots find about where success crosses the target. From there tests go up until one shows a number to be
    enough, and down until one shows a number to be too few.
    """
    target, error = open_probability("target", target), 1 - open_probability("confidence", confidence)
    grid, levels = _Grid(trial, max(1.0, start), rng, tell), _levels(error)

    def seems_enough(index: int) -> bool:
        return grid.failures(index, PILOT) <= PILOT * (1 - target)

    crossing = _crossing(seems_enough, least=grid.first)
    enough, short = crossing + _ROOM_ABOVE, crossing - _ROOM_BELOW
    while not _verdict(grid, enough, target=target, level=next(levels)):
        enough += 1
    while grid.users(short) >= 1 and _verdict(grid, short, target=target, level=next(levels)) is not False:
        short -= 1
    return MeasuredUsers(
        users=grid.users(enough), too_few=max(0, grid.users(short)), trials=grid.trials, confidence=confidence
    )


@dataclass
class _Grid:
    """Numbers of people start * GRID_RATIO^index, with whom trials are made and counted."""

    trial: Trial
    start: float
    rng: np.random.Generator
    tell: Callable[[int], None]
    trials: int = 0

    @property
    def first(self) -> int:
        """The index of the smallest number, one person or few."""
        return math.ceil(-math.log(self.start) / math.log(GRID_RATIO))

    def users(self, index: int) -> int:
        """The number of people at an index, 0 below the first."""
        return math.floor(self.start * GRID_RATIO**index)

    def failures(self, index: int, trials: int) -> int:
        """How many of further trials with that number of people fail."""
        failed = 0
        for _ in range(trials):
            failed += not self.trial(self.users(index), self.rng)
            self.trials += 1
            self.tell(self.trials)
        return failed


def _levels(error: float) -> Iterator[float]:
    """The level of each look of the first, the second, ... test.

    The looks of the i-th test may err with probability error * 6 / (pi i)^2 together; over all tests that adds up to
    the error, since the sum of 1 / i^2 is pi^2 / 6.
    """
    return (error * 6 / (math.pi * test) ** 2 / len(LOOKS) for test in count(1))


def _verdict(grid: _Grid, index: int, *, target: float, level: float) -> bool | None:
    """Whether a number of people is enough: one test, that ends at the first look which decides it."""
    failed, done = 0, 0
    for look in LOOKS:
        failed, done = failed + grid.failures(index, look - done), look
        decided = judged(failures=failed, trials=look, target=target, level=level)
        if decided is not None:
            return decided
    return None


def _crossing(holds: Callable[[int], bool], *, least: int) -> int:
    """An index >= least at which the condition holds and before which it does not, near 0."""
    if holds(0):
        low, high, step = -1, 0, 1
        while low >= least and holds(low):
            low, high, step = low - 2 * step, low, 2 * step
        low = max(low, least - 1)
    else:
        low, high, step = 0, 1, 1
        while not holds(high):
            low, high, step = high, high + 2 * step, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def judged(*, failures: int, trials: int, target: float, level: float) -> bool | None:
    """Whether the success is at least the target: True, False, or None if the trials do not say, each at the level.

    True where the Clopper-Pearson lower bound of the success is at least the target; False where the upper bound is
    at most the target.
    """
    if lower_bound(trials - failures, trials, failure=level) >= target:
        return True
    return False if upper_bound(trials - failures, trials, failure=level) <= target else None

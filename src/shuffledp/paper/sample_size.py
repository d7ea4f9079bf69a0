"""The smallest number of people with whom a problem is solved often enough.

If the probability of success can be computed, `smallest_users` compares it with the target. If it can only be observed,
`measured_users` decides for numbers of people on a geometric grid by exact binomial tests. A number suffices, or is too
small, once the Clopper-Pearson bound on its success is above, or below, the target. The levels of all tests and looks
add up to 1 - confidence, so all decisions are correct at once with this confidence.
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
"""The probability of success in the paper's problems."""

CONFIDENCE = 0.99
"""The confidence of both numbers of a measurement; the same as the required success."""

GRID_RATIO = 1.1
"""The ratio of neighbouring numbers of people: finer than the factors of two and more between the models."""

PILOT = 300
"""The trials of a pilot with each number of people: 3 failures are expected at the target."""

LOOKS = (100, 500, 1000, 2000, 3000)
"""The numbers of trials after which a number of people is judged; if it stays undecided, the next one on the grid is
tried.
"""

_ROOM_ABOVE, _ROOM_BELOW = 1, 2
"""The distance of the tests from the crossing that the pilots found: nearer to it they need too many trials. Failures
stay rare for a while below the crossing, so there it is one step more.
"""

Trial = Callable[[int, np.random.Generator], bool]
"""One run with the given number of people; returns whether the result is correct."""


@dataclass(frozen=True, kw_only=True)
class MeasuredUsers:
    """A measurement: `users` suffices and `too_few` does not, both at once with the given confidence."""

    users: int
    too_few: int
    trials: int
    confidence: float


def smallest_users(success: Callable[[int], float], *, least: int = 1, target: float = TARGET) -> int:
    """The number n >= least with success(n) >= target > success(n - 1) that doubling and bisection finds.

    Success grows with n except for ripples (noise distributions and thresholds are whole numbers), where several n can
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
    """Return a number of people shown to suffice and one shown to be too small, close to each other.

    Short pilots find approximately where success crosses the target. From there tests go up until a number is shown to
    suffice, and down until a number is shown to be too small.
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
    """Numbers of people start * GRID_RATIO^index, with counted trials."""

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
        """The number of failures in further trials with that number of people."""
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
    """Whether a number of people suffices: one test, which ends at the first look that decides it."""
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
    """Whether the success is at least the target: True, False, or None if undecided, each at the level.

    True if the Clopper-Pearson lower bound of the success is at least the target; False if the upper bound is at most
    the target.
    """
    if lower_bound(trials - failures, trials, failure=level) >= target:
        return True
    return False if upper_bound(trials - failures, trials, failure=level) <= target else None

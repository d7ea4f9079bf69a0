"""The smallest number of people with whom a problem is solved often enough.

Where the probability of success can be computed, `smallest_users` compares it with the target. Where it can only be
observed, `measured_users` decides for numbers of people on a geometric grid by exact binomial tests: a number is
enough, or too few, once the Clopper-Pearson bound on its success lies above, or below, the target. The levels of all
tests and looks add up to 1 - confidence, so that with this confidence every one of the decisions is right.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from shuffledp.checks import MOST_USERS, open_probability, whole
from shuffledp.errors import ParameterError

TARGET = 0.99
"""The paper's problems ask for success with probability at least 99/100."""

CONFIDENCE = 0.99
GRID_RATIO = 1.1
PILOT = 300
"""Trials with a number of people before anything is shown."""

LOOKS = (100, 500, 1000, 2000, 3000)
"""After how many trials a number of people is judged; undecided after the last, the next one on the grid is."""

Trial = Callable[[int, np.random.Generator], bool]
"""One run with so many people: was the answer right?"""


@dataclass(frozen=True, kw_only=True)
class MeasuredUsers:
    """`users` are shown to be enough and `too_few` to be too few, both at once with the given confidence."""

    users: int
    too_few: int
    trials: int
    confidence: float


def smallest_users(success: Callable[[int], float], *, least: int = 1, target: float = TARGET) -> int:
    """The number n >= least with success(n) >= target > success(n - 1) that doubling and halving finds.

    Success grows with n but for ripples (noise laws and thresholds are whole numbers), where several n can have this
    property.
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
    """A number of people shown to be enough and one shown to be too few, close to each other."""
    target, error = open_probability("target", target), 1 - open_probability("confidence", confidence)
    trials, tests = 0, 0

    def users(index: int) -> int:
        return math.floor(max(1.0, start) * GRID_RATIO**index)

    def failures(index: int, number: int) -> int:
        nonlocal trials
        failed = 0
        for _ in range(number):
            failed += not trial(users(index), rng)
            trials += 1
            tell(trials)
        return failed

    def verdict(index: int) -> bool | None:
        """The levels of the i-th test add up to error * 6 / (pi i)^2, and those of all tests to the error."""
        nonlocal tests
        tests += 1
        level = error * 6 / (math.pi * tests) ** 2 / len(LOOKS)
        failed, done = 0, 0
        for look in LOOKS:
            failed, done = failed + failures(index, look - done), look
            decided = judged(failures=failed, trials=look, target=target, level=level)
            if decided is not None:
                return decided
        return None

    def seems_enough(index: int) -> bool:
        return failures(index, PILOT) <= PILOT * (1 - target)

    crossing = _crossing(seems_enough, least=math.ceil(-math.log(max(1.0, start)) / math.log(GRID_RATIO)))
    enough, short = crossing + 1, crossing - 2  # nearer to the target it takes too many trials to show anything
    while not verdict(enough):
        enough += 1
    while users(short) >= 1 and verdict(short) is not False:
        short -= 1
    return MeasuredUsers(users=users(enough), too_few=max(0, users(short)), trials=trials, confidence=confidence)


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

    True where P(Bin(trials, 1 - target) <= failures) <= level, that is, where the Clopper-Pearson lower bound of the
    success is at least the target; False for the other tail.
    """
    if _binomial_tail(failures, trials, 1 - target, below=True) <= level:
        return True
    return False if _binomial_tail(failures, trials, 1 - target, below=False) <= level else None


def _binomial_tail(k: int, trials: int, probability: float, *, below: bool) -> float:
    """P(X <= k) or P(X >= k) for X ~ Bin(trials, probability)."""
    odds = math.log(probability), math.log1p(-probability)
    return math.fsum(
        math.exp(
            math.lgamma(trials + 1) - math.lgamma(j + 1) - math.lgamma(trials - j + 1)
            + j * odds[0] + (trials - j) * odds[1]
        )
        for j in (range(k + 1) if below else range(k, trials + 1))
    )  # fmt: skip

"""Baselines in the local model: natural local protocols for the same problems, and the measured numbers of people.

Every person sends one message that is epsilon-private by itself, by Hadamard or randomized response, whichever has the
smaller variance. Values are independent, so the messages of a group are sampled from one multinomial distribution.

`measured_users` decides for numbers of people on a geometric grid by exact binomial tests. A number suffices, or is too
small, once the Clopper-Pearson bound on its success is above, or below, the target. The levels of all tests and looks
add up to 1 - confidence, so all decisions are correct at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.participation import lower_bound, upper_bound
from shuffledp.errors import ParameterError
from shuffledp.paper.pointers import PointerChasing, PointerJumping
from shuffledp.paper.support_identification import TARGET, SupportIdentification
from shuffledp.protocols.local import HadamardResponse, RandomizedResponse
from shuffledp.validation import head_count, open_probability

Oracle = HadamardResponse | RandomizedResponse


class LocalBaseline(Protocol):
    """A local protocol for one of the problems."""

    def run(self, rng: np.random.Generator) -> bool:
        """Whether the result is correct, in one trial on a random instance."""


def best_oracle(*, users: int, bins: int, epsilon: float) -> Oracle:
    """The local randomizer with the smaller variance for an empty bin."""
    options: list[Oracle] = [
        HadamardResponse(users=users, bins=bins, epsilon=epsilon),
        RandomizedResponse(users=users, bins=bins, epsilon=epsilon),
    ]
    return min(options, key=lambda oracle: oracle.estimator.variance())


def likely_users(*, bins: int, share: float, epsilon: float) -> float:
    """About the number of reports that find the value of a `share` of people among `bins` values.

    Its supports exceed the others' by users * share * (p - q), with a standard deviation of sqrt(users q (1 - q)).
    """
    oracle = best_oracle(users=1, bins=bins, epsilon=epsilon)
    # the largest of the others is about sqrt(2 ln bins) deviations above its mean; 2.5 more make a failure rare
    deviations = math.sqrt(2 * math.log(bins)) + 2.5
    return oracle.estimator.variance() * (deviations / share) ** 2


def draw_sent(oracle: Oracle, shares: NDArray[np.float64], people: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Sample how often each symbol is sent by people whose values have the given probabilities."""
    distribution = oracle.report_distribution(shares)
    return rng.multinomial(people, distribution / distribution.sum())


@dataclass(frozen=True, kw_only=True)
class LocalChasing:
    """Non-interactive, for k = 2: public coins give each person a position in 1 .. l.

    A holder of (1, a) reports a_1, a holder of (2, b) reports b at their position, both as one of 2 l symbols. The
    analyzer takes the most supported a_1 of all reports, then the most supported b of those with that position. Only
    about users / l of the reports are informative there, so the sample grows with l.
    """

    problem: PointerChasing
    users: int
    epsilon: float

    def __post_init__(self) -> None:
        head_count("users", self.users)
        if self.problem.steps != 2:
            raise ParameterError(f"the local baseline is for steps=2, as the lower bound; got {self.problem.steps}")

    @cached_property
    def oracle(self) -> Oracle:
        """The symbols are a_1 = 1 .. l, then b = 1 .. l."""
        return best_oracle(users=self.users, bins=2 * self.problem.length, epsilon=self.epsilon)

    def run(self, rng: np.random.Generator) -> bool:
        """One trial on a random instance; a wrong a_1 is a failure."""
        length = self.problem.length
        start, target = (int(number) for number in rng.integers(0, length, size=2))  # a_1 and b at a_1, from 0
        at_start = int(rng.binomial(self.users, 1 / length))
        known = np.zeros(2 * length)
        known[start] = 0.5
        there, elsewhere = known.copy(), known.copy()
        there[length + target] = 0.5
        elsewhere[length:] = 0.5 / max(1, length - 1)  # the other positions hold the other numbers
        elsewhere[length + target] = 0.0
        sent = draw_sent(self.oracle, there, at_start, rng)
        others = draw_sent(self.oracle, elsewhere, self.users - at_start, rng) if length > 1 else 0
        return self._first(sent + others) == start and self._second(sent) == target

    def _first(self, sent: NDArray[np.int64]) -> int:
        return int(np.argmax(self.oracle.supports_of(sent)[: self.problem.length]))

    def _second(self, sent: NDArray[np.int64]) -> int:
        return int(np.argmax(self.oracle.supports_of(sent)[self.problem.length :]))

    @staticmethod
    def guess(problem: PointerChasing, epsilon: float) -> float:
        """The approximate number of people needed."""
        return problem.length * likely_users(bins=2 * problem.length, share=0.5, epsilon=epsilon)


@dataclass(frozen=True, kw_only=True)
class LocalJumping:
    """Sequentially interactive: h rounds, each with new people, walk down the tree.

    In round i everyone learns the node that was reached. Holders of level i report its label, all others report that
    they are not. The analyzer continues with the most supported label. Only a share 1 / h of a round's people know the
    label, so a round needs about h^2 log s of them and all rounds h^3 log h.
    """

    problem: PointerJumping
    users: int
    epsilon: float

    def __post_init__(self) -> None:
        head_count("users", self.users)

    @cached_property
    def oracle(self) -> Oracle:
        """The symbols are the labels 0 .. s - 1 and s, "not my level"."""
        return best_oracle(users=self.users, bins=self.problem.branching + 1, epsilon=self.epsilon)

    @property
    def round_users(self) -> int:
        """The number of people in each round."""
        return self.users // self.problem.levels

    def run(self, rng: np.random.Generator) -> bool:
        """One trial on random labels."""
        branching, levels = self.problem.branching, self.problem.levels
        for _ in range(levels):
            label = int(rng.integers(0, branching))
            shares = np.zeros(branching + 1)
            shares[label] = 1 / levels
            shares[branching] = 1 - 1 / levels
            if self._label(draw_sent(self.oracle, shares, self.round_users, rng)) != label:
                return False
        return True

    def _label(self, sent: NDArray[np.int64]) -> int:
        return int(np.argmax(self.oracle.supports_of(sent)[: self.problem.branching]))

    @staticmethod
    def guess(problem: PointerJumping, epsilon: float) -> float:
        """The approximate number of people needed."""
        return problem.levels * likely_users(bins=problem.branching + 1, share=1 / problem.levels, epsilon=epsilon)


@dataclass(frozen=True, kw_only=True)
class LocalSupport:
    """Everyone reports their item; the h most supported of all d bins are taken."""

    problem: SupportIdentification
    users: int
    epsilon: float

    def __post_init__(self) -> None:
        head_count("users", self.users)

    @cached_property
    def oracle(self) -> Oracle:
        """The symbols are the d bins."""
        return best_oracle(users=self.users, bins=self.problem.bins, epsilon=self.epsilon)

    def run(self, rng: np.random.Generator) -> bool:
        """One trial on a random support."""
        support = np.array(self.problem.draw(rng=rng))
        shares = np.zeros(self.problem.bins)
        shares[support] = 1 / support.size
        return self._finds(support, draw_sent(self.oracle, shares, self.users, rng))

    def _finds(self, support: NDArray[np.int64], sent: NDArray[np.int64]) -> bool:
        largest = np.argsort(-self.oracle.supports_of(sent), kind="stable")[: support.size]
        return bool(np.array_equal(np.sort(largest), support))

    @staticmethod
    def guess(problem: SupportIdentification, epsilon: float) -> float:
        """The approximate number of people needed."""
        items = problem.items_in_support
        return likely_users(bins=max(2, problem.bins), share=1 / items, epsilon=epsilon)


CONFIDENCE = 0.99
"""The same as the required success."""

GRID_RATIO = 1.1
"""Finer than the factors of two and more between the models."""

PILOT = 300
"""Trials with which 3 failures are expected at the target."""

LOOKS = (100, 500, 1000, 2000, 3000)
"""Trials after which a number of people is judged; if it stays undecided, the next one on the grid is tried."""

_ROOM_ABOVE, _ROOM_BELOW = 1, 2
"""Steps from the crossing that the pilots found: nearer to it tests need too many trials. Failures stay rare for a
while below the crossing."""

Trial = Callable[[int, np.random.Generator], bool]
"""One run with this number of people; returns whether the result is correct."""


@dataclass(frozen=True, kw_only=True)
class MeasuredUsers:
    """`users` suffices and `too_few` does not, both at once with the confidence."""

    users: int
    too_few: int
    trials: int


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

    Pilots find approximately where success crosses the target. Tests go up and down from there.
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
    return MeasuredUsers(users=grid.users(enough), too_few=max(0, grid.users(short)), trials=grid.trials)


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
        """The index of one person or few."""
        return math.ceil(-math.log(self.start) / math.log(GRID_RATIO))

    def users(self, index: int) -> int:
        """The number of people at an index, 0 below the first."""
        return math.floor(self.start * GRID_RATIO**index)

    def failures(self, index: int, trials: int) -> int:
        """Failures in further trials with that number of people."""
        failed = 0
        for _ in range(trials):
            failed += not self.trial(self.users(index), self.rng)
            self.trials += 1
            self.tell(self.trials)
        return failed


def _levels(error: float) -> Iterator[float]:
    """The level of each look of the first, the second, ... test.

    The looks of the i-th test may err with probability error * 6 / (pi i)^2 together; the sum of 1 / i^2 is pi^2 / 6.
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
    """Whether the success is at least the target by its Clopper-Pearson bounds; None if undecided."""
    if lower_bound(trials - failures, trials, failure=level) >= target:
        return True
    return False if upper_bound(trials - failures, trials, failure=level) <= target else None

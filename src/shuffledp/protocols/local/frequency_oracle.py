"""What the local protocols have in common: each report supports some bins.

A report of a person with value x supports bin x with probability `true_support` (p), and every other bin with
probability `false_support` (q). The tally counts the reports that support each bin (protocols/supports.py).
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.accounting.amplification import Amplification
from shuffledp.accounting.guarantee import Guarantee
from shuffledp.checks import failure_probability, head_count, real, reporting, target_epsilon, whole
from shuffledp.pipeline.domain import Domain
from shuffledp.pipeline.estimate import Estimate
from shuffledp.pipeline.inputs import few_enough_bins, people_in_bins
from shuffledp.pipeline.shuffler import concatenate
from shuffledp.pipeline.tally import Tally
from shuffledp.protocols.release import MessageCount
from shuffledp.reading.reading import ErrorBound
from shuffledp.reading.supports import only_unbiased, read_supports
from shuffledp.words import readable

_BLOCK = 1 << 14


@dataclass(frozen=True, kw_only=True)
class FrequencyOracle(ABC):
    """A randomizer that is `epsilon`-private by itself, for `users` people and `bins` values."""

    users: int
    bins: int
    epsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "users", head_count("users", self.users))
        object.__setattr__(self, "bins", few_enough_bins(whole("bins", self.bins, minimum=2)))
        object.__setattr__(self, "epsilon", target_epsilon(real("epsilon", self.epsilon)))

    @classmethod
    def calibrate(
        cls, *, users: int, bins: int, epsilon: float, delta: float = 0.0, honest_users: int | None = None
    ) -> Self:
        """The protocol with pure epsilon; delta buys nothing here, and other people's honesty does not matter."""
        return cls(users=users, bins=bins, epsilon=epsilon)

    @classmethod
    def minimum_users(cls, *, epsilon: float, delta: float = 0.0) -> int:
        """One: every message is private by itself."""
        return 1

    @property
    def guarantee(self) -> Guarantee:
        """Pure privacy of every single message, so of all of them."""
        return Guarantee(epsilon=self.epsilon, delta=0.0, basis="every message by itself")

    @property
    @abstractmethod
    def true_support(self) -> float:
        """p, the probability that a report supports its person's own bin."""

    @property
    @abstractmethod
    def false_support(self) -> float:
        """q, the probability that a report supports another given bin."""

    @property
    @abstractmethod
    def telling(self) -> float:
        """How often, at most, a report is of a kind that is more likely under one of two given values."""

    @property
    def covered(self) -> float:
        """How likely any other report is under a third value, at least, relative to those two; 0 if not known."""
        return 0.0

    def amplified(self, users: int) -> Amplification:
        """The privacy of the reports of so many people once they are shuffled."""
        return Amplification(local_epsilon=self.epsilon, users=users, telling=self.telling, covered=self.covered)

    @property
    @abstractmethod
    def bits_per_message(self) -> int:
        """Bits of one report."""

    @abstractmethod
    def randomize(self, values: ArrayLike, *, rng: np.random.Generator | None = None) -> Any:
        """One report for each person."""

    @abstractmethod
    def supports(self, messages: Any) -> NDArray[np.int64]:
        """How many of the reports support each bin."""

    @property
    def messages_per_user(self) -> MessageCount:
        """One report each."""
        return MessageCount(expected=1.0, maximum=1.0)

    def tally(self, messages: Any) -> Tally:
        """How many reports support each bin."""
        return Tally(np.arange(self.bins), self.supports(messages), messages=len(np.atleast_1d(concatenate(messages))))

    def variance(self, count: int = 0) -> float:
        """Variance of the estimate of a bin that `count` people hold."""
        p, q = self.true_support, self.false_support
        return (count * p * (1 - p) + (self.users - count) * q * (1 - q)) / (p - q) ** 2

    def error(self, beta: float, *, estimator: str = "unbiased", occupied_bins: int | None = None) -> ErrorBound:
        """Errors in people that are exceeded with probability at most beta, by Bernstein's inequality."""
        only_unbiased(estimator)
        beta = failure_probability(beta)
        return ErrorBound(beta=beta, per_bin=self._bernstein(beta), simultaneous=self._bernstein(beta / self.bins))

    def _bernstein(self, beta: float) -> float:
        """A bound on |s_j - E s_j| / (p - q): each of n independent reports moves it by at most 1 / (p - q)."""
        spread = max(self.variance(0), self.variance(self.users))
        reach, log = 1 / (self.true_support - self.false_support), math.log(2 / beta)
        return reach * log / 3 + math.sqrt((reach * log / 3) ** 2 + 2 * spread * log)

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
        only_unbiased(estimator)
        return read_supports(
            self,
            tally,
            bins=self.bins,
            supports=(self.true_support, self.false_support),
            bound=self.error(beta),
            people=self.users if reports is None else reporting(reports, users=self.users),
            domain=domain,
        )

    def describe(self, *, beta: float = 0.05, drawn: bool = False) -> str:
        """The guarantee and the error to expect, in words."""
        error = self.error(beta).simultaneous
        return (
            f"Every message is {self.epsilon:g}-differentially private by itself, whoever sees it. With probability "
            f"{1 - beta:g} no estimate among {readable(self.bins)} bins is off by more than {error:,.0f} people, "
            f"{error / self.users:.2g} of all. Not protected: who took part and how many did; people who take part in "
            "further releases, unless all of them are composed."
        )

    def _people(self, values: ArrayLike) -> NDArray[Any]:
        """Values as a checked array of bins."""
        return people_in_bins(values, bins=self.bins)


def compare_with_every_bin(
    reports: NDArray[Any], bins: int, count: Callable[[NDArray[Any], NDArray[np.uint64]], NDArray[np.int64]]
) -> NDArray[np.int64]:
    """How many reports support each bin, where every report must be compared with every bin; on all cores.

    `count` does so for some reports and a block of bins that stays in the cache.
    """
    blocks = [np.arange(first, min(first + _BLOCK, bins), dtype=np.uint64) for first in range(0, bins, _BLOCK)]
    cores = os.cpu_count() or 1
    with ThreadPoolExecutor(cores) as pool:
        counted = pool.map(
            lambda part: np.concatenate([count(part, block) for block in blocks]), np.array_split(reports, cores)
        )
        total: NDArray[np.int64] = np.sum(list(counted), axis=0, dtype=np.int64)
    return total

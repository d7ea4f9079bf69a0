"""What the central histograms have in common: noise on the true counts, added by one trusted party."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.accounting.guarantee import Guarantee
from shuffledp.checks import failure_probability, head_count, reporting, whole
from shuffledp.noise.discrete_laplace import DiscreteLaplace
from shuffledp.pipeline.domain import Domain
from shuffledp.pipeline.estimate import Estimate, Intervals
from shuffledp.pipeline.inputs import check_bins, check_domain, check_tally, true_counts
from shuffledp.pipeline.tally import Tally, sorted_order
from shuffledp.protocols.release import MessageCount, assembled, bits_to_name
from shuffledp.randomness import generator
from shuffledp.reading.reading import ErrorBound
from shuffledp.words import readable


@dataclass(frozen=True, kw_only=True)
class Curator(ABC):
    """A trusted party with the values of `users` people in `bins` bins, who send them as they are.

    There is no tally of messages: it would be the true counts. `release` does everything; `sample_tally` gives noisy
    counts.
    """

    users: int
    bins: int
    noise: DiscreteLaplace
    guarantee: Guarantee

    def __post_init__(self) -> None:
        object.__setattr__(self, "users", head_count("users", self.users))
        object.__setattr__(self, "bins", whole("bins", self.bins))

    @classmethod
    def minimum_users(cls, *, epsilon: float, delta: float) -> int:
        """One: the noise does not come from the people."""
        return 1

    @property
    def messages_per_user(self) -> MessageCount:
        """The value."""
        return MessageCount(expected=1.0, maximum=1.0)

    @property
    def bits_per_message(self) -> int:
        """Bits that name a bin."""
        return bits_to_name(self.bins)

    def sample_tally(self, counts: Any, *, rng: np.random.Generator | None = None, part: bool = False) -> Tally:
        """The noisy counts of the bins that are listed."""
        truth = true_counts(counts, users=self.users, bins=self.bins, part=part)
        noisy = truth.counts + self.noise.sample(len(truth), rng=generator(rng))
        return self._kept(truth, noisy)

    def release(self, values: ArrayLike, *, rng: np.random.Generator | None = None, **options: Any) -> Estimate:
        """The private histogram of people's values."""
        return self.estimate(self.sample_tally(self._counted(values), rng=rng), **options)

    def _people(self, values: ArrayLike) -> NDArray[Any]:
        """Values as a checked array of bins."""
        people = np.atleast_1d(np.asarray(values))
        check_bins(people, bins=self.bins, what="value")
        return people

    @abstractmethod
    def _counted(self, values: ArrayLike) -> Any:
        """The true counts in the form that `sample_tally` needs."""

    @abstractmethod
    def _kept(self, truth: Tally, noisy: NDArray[np.int64]) -> Tally:
        """What of the noisy counts is published."""

    @abstractmethod
    def _bounds(self, beta: float, bins: int) -> tuple[int, int]:
        """How far the noise of reported bins goes, and how many people an unreported bin can have."""

    @abstractmethod
    def error(self, beta: float, *, estimator: str = "", occupied_bins: int | None = None) -> ErrorBound:
        """Errors in people that are exceeded with probability at most beta."""

    @property
    @abstractmethod
    def _estimator(self) -> str:
        """Whether empty bins are left out (truncated) or noisy (unbiased)."""

    def estimate(
        self,
        tally: Tally,
        *,
        estimator: str | None = None,
        beta: float = 0.05,
        reports: int | None = None,
        domain: Domain | None = None,
    ) -> Estimate:
        """The histogram, from a noisy tally of `sample_tally`."""
        check_tally(tally, Tally)
        check_domain(domain, bins=self.bins)
        beta = failure_probability(beta)
        people = self.users if reports is None else reporting(reports, users=self.users)
        order = sorted_order(tally.symbols)
        counts = tally.counts[order]

        def intervals(bins: int) -> Intervals:
            reach, hidden = self._bounds(beta, bins)
            return Intervals(
                low=np.clip(counts - reach, 0, people),
                high=np.clip(counts + reach, 0, people),
                unreported_high=min(hidden, people),
            )

        return assembled(
            self,
            symbols=tally.symbols[order],
            counts=counts.astype(np.float64),
            intervals=intervals,
            bins=self.bins,
            beta=beta,
            estimator=self._estimator,
            domain=domain,
            people=people,
        )

    def describe(self, *, beta: float = 0.05, drawn: bool = True) -> str:
        """The guarantee and the error to expect, in words."""
        error = self.error(beta).simultaneous
        return (
            f"This release gives {self.guarantee}, for whoever sees only what is published; a curator saw every value. "
            f"With probability {1 - beta:g} no estimate among {readable(self.bins)} bins is off by more than "
            f"{error:.0f} people, {error / self.users:.2g} of all."
        )

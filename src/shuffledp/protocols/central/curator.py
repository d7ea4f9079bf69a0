"""What the central histograms have in common: noise on the true counts, added by one trusted party."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.checks import reporting
from shuffledp.noise.discrete_laplace import DiscreteLaplace
from shuffledp.pipeline.estimate import Estimate
from shuffledp.pipeline.inputs import Counts, people_in_bins
from shuffledp.pipeline.sets import filled_up
from shuffledp.protocols.base import BaseHistogram
from shuffledp.protocols.cost import MessageCount


@dataclass(frozen=True, kw_only=True)
class Curator(BaseHistogram):
    """A trusted party with the values of `users` people in `bins` bins, who send them as they are.

    There is no tally of messages: it would be the true counts. `release` does everything; `sample_tally` gives noisy
    counts.
    """

    noise: DiscreteLaplace

    takes_sets: ClassVar[bool] = True

    @property
    def messages_per_user(self) -> MessageCount:
        """People send their values, to the curator."""
        return MessageCount(expected=float(self.values_per_person), maximum=float(self.values_per_person))

    def release(self, values: ArrayLike, *, rng: np.random.Generator | None = None, **options: Any) -> Estimate:
        """The private histogram of people's values; where they hold several, given a row of bins for each person."""
        counts = self._counted(self._held(values))
        return self.estimate(self.sample_tally(counts, rng=rng), **options)

    def _held(self, values: ArrayLike) -> NDArray[np.int64]:
        """The bins that all people hold together, filled up where they hold fewer than they may."""
        if self.values_per_person == 1 and not self.fillers:
            return people_in_bins(values, bins=self.bins)
        return filled_up(values, bins=self.bins, each=self.values_per_person, fillers=self.fillers).ravel()

    @abstractmethod
    def _counted(self, held: NDArray[np.int64]) -> Counts:
        """The true counts in the form that `sample_tally` needs."""

    def for_reports(self, reports: int | None) -> Self:
        """The same noise for fewer people: it does not come from them."""
        people = self.users if reports is None else reporting(reports, users=self.users)
        return self if people == self.users else replace(self, users=people, honest_users=None)

    @property
    def noise_in_words(self) -> str:
        """How large the noise is."""
        spread = math.sqrt(self.noise.variance)
        return f"Added to each number of people by one party; its standard deviation is about {spread:.1f}."

    def trust_in_words(self, *, drawn: bool) -> str:
        """Who is trusted."""
        return (
            "The curator saw every value and added the noise: whoever that is must be trusted with all data. The "
            "promise is about everybody who sees only what is published."
        )

"""How good ranges and quantiles would be, over many seeded releases of the same data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shuffledp.brief import Brief
from shuffledp.checks import failure_probability, whole
from shuffledp.jobs.ranges import RANGES
from shuffledp.jobs.trials import NOT_PRIVATE, error_quantiles, headline, in_words
from shuffledp.progress import Progress, quiet
from shuffledp.protocols.ranges import Ranges
from shuffledp.words import at_most, counted, surely


@dataclass(frozen=True, eq=False, kw_only=True)
class RangeSimulation(Brief):
    """Many releases of the same data: the largest errors of the distribution function. Not private."""

    title: str
    people: int
    bins: int
    branching: int
    epsilon: float
    delta: float
    beta: float
    predicted_error: float
    largest_errors: tuple[float, ...]
    held: int

    over: ClassVar[str] = "of the distribution function"

    @property
    def covered(self) -> float:
        """In which share of the trials the band held the truth everywhere; at least 1 - beta is promised."""
        return self.held / len(self.largest_errors)

    def error_quantiles(self) -> dict[str, float]:
        """How the largest error is distributed."""
        return error_quantiles(self.largest_errors)

    def __str__(self) -> str:
        """How good the releases were, in a few lines."""
        return in_words(self)

    def headline(self) -> str:
        """What was simulated, in a line."""
        trials = len(self.largest_errors)
        return headline(trials, title=self.title, people=self.people, epsilon=self.epsilon, delta=self.delta)

    def sentences(self) -> list[str]:
        """What was predicted, what was found, and that it is not private."""
        trials = len(self.largest_errors)
        return [
            f"Predicted: the number of people up to any value is off by at most {at_most(self.predicted_error)}, "
            f"everywhere at once, with probability at least {surely(self.beta)}.",
            f"The band held the truth everywhere in {self.held:,} of {counted(trials, 'release')}; at least "
            f"{surely(self.beta)} of all are promised.",
            NOT_PRIVATE,
        ]


def simulate_ranges(
    protocol: Ranges,
    counts: NDArray[np.int64],
    *,
    trials: int,
    rng: np.random.Generator,
    beta: float = 0.05,
    progress: Progress = quiet,
) -> RangeSimulation:
    """The errors of many seeded releases, given the true counts of all values in their order."""
    beta, trials, before = failure_probability(beta), whole("trials", trials), np.cumsum(counts)[:-1]
    errors, held = [], 0
    for trial in range(trials):
        progress("simulating", trial / trials)
        estimate = protocol.estimate(protocol.sample_tally(counts, rng=rng), beta=beta, reports=protocol.users)
        errors.append(float(np.abs(estimate.below - before).max(initial=0.0)))
        held += bool(((estimate.below_low <= before) & (before <= estimate.below_high)).all())
    promised = protocol.guarantee
    return RangeSimulation(
        title=RANGES.title,
        people=protocol.users,
        bins=protocol.bins,
        branching=protocol.branching,
        epsilon=float("inf") if promised is None else promised.epsilon,
        delta=1.0 if promised is None else promised.delta,
        beta=beta,
        predicted_error=protocol.range_error(beta),
        largest_errors=tuple(errors),
        held=held,
    )

"""How good releases of some data would be: many of them, seeded, compared with the truth. Nothing here is private."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shuffledp.brief import Brief
from shuffledp.checks import failure_probability, whole
from shuffledp.engines.bins.possible_values import PossibleValues
from shuffledp.engines.people import People, places
from shuffledp.engines.sources.files import FormatName
from shuffledp.jobs.choose import choose
from shuffledp.jobs.evaluate import Evaluation, evaluate
from shuffledp.jobs.range_simulation import RangeSimulation, simulate_ranges
from shuffledp.jobs.ranges import check_alone, choose_ranges
from shuffledp.jobs.trials import NOT_PRIVATE, error_quantiles, headline, in_words
from shuffledp.jobs.trust import check_trust
from shuffledp.progress import Progress, quiet
from shuffledp.protocols.names import EstimatorName, ReleaseName, TrustName
from shuffledp.protocols.ranges import Ranges
from shuffledp.protocols.target import Target
from shuffledp.words import counted, people_at_most, readable, surely


@dataclass(frozen=True, eq=False, kw_only=True)
class Simulation(Brief):
    """Many releases of the same data, compared with the truth. Not private."""

    title: str
    people: int
    bins: int
    epsilon: float
    delta: float
    beta: float
    predicted_error: float
    trials: tuple[Evaluation, ...]

    over: ClassVar[str] = "over all values"

    @property
    def covered(self) -> float:
        """In which share of the trials all simultaneous intervals held the truth; at least 1 - beta is promised."""
        return float(np.mean([trial.covered for trial in self.trials]))

    def quantiles(self, shares: Sequence[float]) -> list[float]:
        """Quantiles of the largest error over all bins."""
        return [float(error) for error in np.quantile([trial.largest_error for trial in self.trials], shares)]

    def error_quantiles(self) -> dict[str, float]:
        """The usual quantiles of the largest error over all values, by name."""
        return error_quantiles([trial.largest_error for trial in self.trials])

    def __str__(self) -> str:
        """How good the releases were, in a few lines."""
        return in_words(self)

    def headline(self) -> str:
        """What was simulated, in a line."""
        trials = len(self.trials)
        return headline(trials, title=self.title, people=self.people, epsilon=self.epsilon, delta=self.delta)

    def sentences(self) -> list[str]:
        """What was predicted, what was found, and that it is not private."""
        trials = len(self.trials)
        held, found = sum(trial.covered for trial in self.trials), sum(trial.found for trial in self.trials) / trials
        possible = f"; {readable(self.bins)} are possible" if self.bins.bit_length() <= _MOST_BITS else ""
        return [
            f"Predicted: an error of at most {people_at_most(self.predicted_error)}, with probability at least "
            f"{surely(self.beta)}.",
            f"All intervals at once held the truth in {held:,} of {counted(trials, 'release')}; at least "
            f"{surely(self.beta)} of all are promised.",
            f"Of {counted(self.trials[0].occupied, 'value')} that people hold, {found:,.1f} were reported on "
            f"average{possible}.",
            NOT_PRIVATE,
        ]


_MOST_BITS = 64
"""A larger number of possible values says nothing."""


def simulate(
    data: Any,
    *,
    epsilon: float,
    delta: float,
    trials: int,
    seed: int,
    column: Hashable | list[Any] | None = None,
    user: Hashable | None = None,
    values_per_person: int = 1,
    where: str | None = None,
    drop_missing: bool = False,
    domain: PossibleValues | None = None,
    other: bool = False,
    trust: TrustName = "shuffler",
    protocol: ReleaseName | None = None,
    estimator: EstimatorName | None = None,
    beta: float = 0.05,
    ranges: bool = False,
    delimiter: str | None = None,
    encoding: str | None = None,
    format: FormatName | None = None,
    progress: Progress = quiet,
) -> Simulation | RangeSimulation:
    """The errors of many seeded releases of the same data; the parameters are those of private_histogram.

    With `ranges`, those of the distribution function.
    """
    Target(users=1, bins=1, epsilon=epsilon, delta=delta)  # checked before anything is read
    beta, trials = failure_probability(beta), whole("trials", trials)
    check_trust(trust)
    if ranges:
        check_alone(column, protocol=protocol, estimator=estimator, values_per_person=values_per_person)
    rng = np.random.default_rng(whole("seed", seed, minimum=0))
    with People(
        data,
        column=column,
        user=user,
        values_per_person=values_per_person,
        where=where,
        drop_missing=drop_missing,
        domain=domain,
        other=other,
        delimiter=delimiter,
        encoding=encoding,
        format=format,
        progress=progress,
        rng=rng,
    ) as people:
        users, truth = people.number(count=True), people.numbered()
    target = Target(
        users=users,
        bins=people.domain.size,
        epsilon=epsilon,
        delta=delta,
        values_per_person=values_per_person,
        fillers=people.fillers,
    )
    if ranges:
        protocol_of_ranges = choose_ranges(target, listed=people.listed, trust=trust, progress=progress).protocol
        assert isinstance(protocol_of_ranges, Ranges)
        counts = truth.dense(bins=protocol_of_ranges.bins).counts
        return simulate_ranges(protocol_of_ranges, counts, trials=trials, rng=rng, beta=beta, progress=progress)
    chosen = choose(
        target,
        beta=beta,
        protocol=protocol,
        estimator=estimator,
        listed=people.listed,
        practical_messages=math.inf,
        trust=trust,
        progress=progress,
    )
    evaluations = []
    for trial in range(trials):
        tossed = chosen.protocol.fresh(rng)
        estimate = tossed.estimate(tossed.sample_tally(truth, rng=rng), beta=beta, reports=tossed.users)
        evaluations.append(evaluate(estimate, [(places(estimate.symbols, truth.symbols), truth.counts)]))
        progress("simulating", (trial + 1) / trials)
    return Simulation(
        title=chosen.entry.title,
        people=users,
        bins=people.domain.size,
        epsilon=float(epsilon),
        delta=float(delta),
        beta=beta,
        predicted_error=chosen.protocol.error(beta).simultaneous,
        trials=tuple(evaluations),
    )

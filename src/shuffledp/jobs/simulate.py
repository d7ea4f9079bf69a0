"""How good releases of some data would be: many of them, seeded, compared with the truth. Nothing here is private."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shuffledp.checks import failure_probability, target_delta, target_epsilon, whole
from shuffledp.engines.people import Values
from shuffledp.jobs.evaluate import Evaluation, compare, places
from shuffledp.pipeline.domain import Domain
from shuffledp.pipeline.run import drawn_or_run
from shuffledp.progress import Progress, quiet


@dataclass(frozen=True, eq=False, kw_only=True)
class Simulation:
    """Many releases of the same data, compared with the truth. Not private."""

    title: str
    people: int
    bins: int
    epsilon: float
    delta: float
    beta: float
    predicted_error: float
    trials: tuple[Evaluation, ...]

    @property
    def covered(self) -> float:
        """In which share of the trials all simultaneous intervals held the truth; at least 1 - beta is promised."""
        return float(np.mean([trial.covered for trial in self.trials]))

    def quantiles(self, shares: Sequence[float]) -> list[float]:
        """Quantiles of the largest error over all bins."""
        return [float(error) for error in np.quantile([trial.largest_error for trial in self.trials], shares)]


def simulate(
    data: Any,
    *,
    epsilon: float,
    delta: float,
    trials: int,
    seed: int,
    column: str | None = None,
    user: str | None = None,
    drop_missing: bool = False,
    domain: Domain | Iterable[Any] | None = None,
    other: bool = False,
    protocol: str | None = None,
    estimator: str | None = None,
    beta: float = 0.05,
    progress: Progress = quiet,
) -> Simulation:
    """The errors of many seeded releases of the same data; the parameters are those of private_histogram."""
    epsilon, delta, beta = target_epsilon(epsilon), target_delta(delta), failure_probability(beta)
    trials, rng = whole("trials", trials), np.random.default_rng(whole("seed", seed, minimum=0))
    with Values(
        data,
        column=column,
        user=user,
        drop_missing=drop_missing,
        domain=domain,
        other=other,
        progress=progress,
        rng=rng,
    ) as values:
        users, truth = values.people(count=True), values.numbered()
    calibrated, option, _ = values.calibrate(
        users=users, epsilon=epsilon, delta=delta, beta=beta, protocol=protocol, estimator=estimator
    )
    evaluations = []
    for trial in range(trials):
        estimate = drawn_or_run(calibrated, truth, rng=rng, estimator=option.estimator, beta=beta)
        evaluations.append(compare(estimate, [(places(estimate, truth.symbols), truth.counts)]))
        progress("simulating", (trial + 1) / trials)
    return Simulation(
        title=option.title,
        people=users,
        bins=values.domain.size,
        epsilon=epsilon,
        delta=delta,
        beta=beta,
        predicted_error=calibrated.error(beta, estimator=option.estimator).simultaneous,
        trials=tuple(evaluations),
    )

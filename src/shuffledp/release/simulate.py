"""The true errors of one estimate, and of many seeded releases of the same data. Nothing here is private.

Under a contribution cap there are two truths. Intervals cover the capped counts; the uncapped counts are the numbers of
people who have each value. Of the error against the second, uncapped - capped comes from the cap, and estimate - capped
from the noise.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.data.bins import PossibleValues
from shuffledp.data.files import FormatName
from shuffledp.data.people import People, TrueCounts, places
from shuffledp.data.source import Source
from shuffledp.errors import ParameterError
from shuffledp.formatting import ShortRepr, readable
from shuffledp.histogram.estimate import Estimate
from shuffledp.histogram.facts import Cap
from shuffledp.progress import Progress, quiet
from shuffledp.protocols.protocol import EstimatorName, ReleaseName, TrustName
from shuffledp.protocols.ranges import Ranges
from shuffledp.release.choose import PrivacySpec, check_alone, check_delta, choose, choose_ranges
from shuffledp.release.plan_rows import RANGES
from shuffledp.validation import failure_probability, whole


@dataclass(frozen=True, kw_only=True)
class UncappedErrors:
    """The errors of the values of one estimate against the numbers of people who have them, without the cap.

    Of `shown` values, `covered` have a simultaneous interval that holds the uncapped count. `largest_error` is over all
    values, shown or not; at that value, the cap leaves out `cap_error` people, and the estimate exceeds the capped
    count by `noise_error`. `true_counts` are the uncapped counts of the reported bins.
    """

    shown: int
    covered: int
    largest_error: float
    cap_error: int
    noise_error: float
    true_counts: NDArray[np.int64] = field(repr=False, compare=False)


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """The true errors of one estimate.

    `covered` says whether all simultaneous intervals hold their true counts; `per_bin_coverage` is the share of the
    compared bins whose own interval does. Under a contribution cap these, the `largest_error` and the `true_counts` of
    the reported bins are about the capped counts, and `uncapped` is about all values that people have. `found` of the
    `occupied` values, which somebody has, are shown. `false_positives` are shown values that nobody has.
    """

    largest_error: float
    covered: bool
    per_bin_coverage: float
    occupied: int
    found: int
    false_positives: int
    true_counts: NDArray[np.int64] = field(repr=False, compare=False)
    uncapped: UncappedErrors | None = None


def evaluate(estimate: Estimate, truth: Iterable[TrueCounts]) -> Evaluation:
    """Compare an estimate with the true counts of at least all occupied bins."""
    largest, covered, held, compared, occupied = 0.0, True, 0, 0, 0
    capped, everybody = np.zeros(len(estimate), dtype=np.int64), np.zeros(len(estimate), dtype=np.int64)
    values = np.ones(len(estimate), dtype=np.bool_)
    worst: tuple[float, int, float] | None = None
    for part in truth:
        seen, people = part.at >= 0, part.people
        has = people if part.uncapped is None else part.uncapped
        capped[part.at[seen]], everybody[part.at[seen]] = people[seen], has[seen]
        estimated = np.where(seen, _at(estimate.counts, part.at), 0.0)
        inside, inside_all = (
            np.where(
                seen,
                (_at(bounds.low, part.at) <= people) & (people <= _at(bounds.high, part.at)),
                people <= bounds.unreported_high,
            )
            for bounds in (estimate.per_bin, estimate.simultaneous)
        )
        largest = max(largest, float(np.abs(estimated - people).max(initial=0.0)))
        covered = covered and bool(inside_all.all())
        held, compared = held + int(inside.sum()), compared + people.size
        values[part.at[seen]] = part.values
        occupied += int((has > 0).sum()) if part.values else 0
        if part.uncapped is not None:
            worst = _worse(worst, estimated, people, has)
    low, high = estimate.simultaneous.low, estimate.simultaneous.high
    return Evaluation(
        largest_error=largest,
        covered=covered,
        per_bin_coverage=held / max(compared, 1),
        occupied=occupied,
        found=int((values & (everybody > 0)).sum()),
        false_positives=int((values & (everybody == 0)).sum()),
        true_counts=capped,
        uncapped=None
        if worst is None
        else UncappedErrors(
            shown=int(values.sum()),
            covered=int((values & (low <= everybody) & (everybody <= high)).sum()),
            largest_error=worst[0],
            cap_error=worst[1],
            noise_error=worst[2],
            true_counts=everybody,
        ),
    )


def _worse(
    worst: tuple[float, int, float] | None,
    estimated: NDArray[np.float64],
    capped: NDArray[np.int64],
    everybody: NDArray[np.int64],
) -> tuple[float, int, float]:
    """The largest error against the uncapped counts so far, and its parts from the cap and from the noise."""
    worst = worst or (0.0, 0, 0.0)
    if not everybody.size:
        return worst
    errors = np.abs(estimated - everybody)
    at = int(errors.argmax())
    if errors[at] <= worst[0]:
        return worst
    return float(errors[at]), int(everybody[at] - capped[at]), float(estimated[at] - capped[at])


def _at(values: NDArray[Any], at: NDArray[np.int64]) -> NDArray[Any]:
    """Values at positions; any value for the position -1."""
    return values[np.maximum(at, 0)] if values.size else np.zeros(at.size, dtype=values.dtype)


MOST_TRIALS = 10**6
"""Quantiles are exact enough with far fewer."""

_SHARES = {"smallest": 0.0, "median": 0.5, "90 %": 0.9, "95 %": 0.95, "99 %": 0.99, "largest": 1.0}


def checked_trials(trials: int) -> int:
    """Return the number of simulated releases."""
    number = whole("trials", trials)
    if number > MOST_TRIALS:
        raise ParameterError(f"trials must be at most {MOST_TRIALS:,}, got {readable(number)}")
    return number


def error_quantiles(largest_errors: Sequence[float]) -> dict[str, float]:
    """Return quantiles of the largest error of each release, by name."""
    found = np.quantile(largest_errors, list(_SHARES.values())).tolist()
    return dict(zip(_SHARES, found, strict=True))


@dataclass(frozen=True, eq=False, kw_only=True)
class RangeSimulation(ShortRepr):
    """The largest errors of the distribution function over many releases of the same data.

    `held` counts the trials in which the band contained the truth everywhere; under a `cap`, that of the capped counts.
    """

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
    cap: Cap | None = None

    @property
    def covered(self) -> float:
        """The share of such trials; guaranteed to be at least 1 - beta."""
        return self.held / len(self.largest_errors)

    def error_quantiles(self) -> dict[str, float]:
        """Return quantiles of the largest error, by name."""
        return error_quantiles(self.largest_errors)

    def __str__(self) -> str:
        from shuffledp.explain.plan import simulation_text

        return simulation_text(self)


def simulate_ranges(
    protocol: Ranges,
    counts: NDArray[np.int64],
    *,
    trials: int,
    rng: np.random.Generator,
    beta: float = 0.05,
    progress: Progress = quiet,
) -> RangeSimulation:
    """Simulate many seeded releases, given the true counts of all values in order."""
    beta, trials, before = failure_probability(beta), checked_trials(trials), np.cumsum(counts)[:-1]
    errors, held = [], 0
    for trial in range(trials):
        progress("simulating", trial / trials)
        estimate = protocol.estimate(protocol.sample_tally(counts, rng=rng), beta=beta, reports=protocol.users)
        errors.append(float(np.abs(estimate.below - before).max(initial=0.0)))
        held += bool(((estimate.below_low <= before) & (before <= estimate.below_high)).all())
    guarantee = protocol.guarantee
    return RangeSimulation(
        title=RANGES.title,
        people=protocol.users,
        bins=protocol.bins,
        branching=protocol.branching,
        epsilon=float("inf") if guarantee is None else guarantee.epsilon,
        delta=1.0 if guarantee is None else guarantee.delta,
        beta=beta,
        predicted_error=protocol.range_error(beta),
        largest_errors=tuple(errors),
        held=held,
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class Simulation(ShortRepr):
    """Many releases of the same data, each compared with the truth."""

    title: str
    people: int
    bins: int
    epsilon: float
    delta: float
    beta: float
    predicted_error: float
    trials: tuple[Evaluation, ...]
    cap: Cap | None = None

    @property
    def covered(self) -> float:
        """The share of trials in which all simultaneous intervals contained the truth; guaranteed at least 1 - beta."""
        return float(np.mean([trial.covered for trial in self.trials]))

    def quantiles(self, shares: Sequence[float]) -> list[float]:
        """Return these quantiles of the largest error over all bins."""
        return [float(error) for error in np.quantile([trial.largest_error for trial in self.trials], shares)]

    def error_quantiles(self) -> dict[str, float]:
        """Return quantiles of the largest error over all values, by name."""
        return error_quantiles([trial.largest_error for trial in self.trials])

    def __str__(self) -> str:
        from shuffledp.explain.plan import simulation_text

        return simulation_text(self)


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
    count_capped: bool = False,
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
    """Simulate many seeded releases of the same data; the parameters are those of `private_histogram`.

    With `ranges`, the errors are those of the distribution function.
    """
    # all parameters are checked before anything is read
    asked = PrivacySpec(epsilon=epsilon, delta=delta, trust=trust, protocol=protocol, estimator=estimator)
    check_delta(asked)
    beta = failure_probability(beta)
    trials, rng = checked_trials(trials), np.random.default_rng(whole("seed", seed, minimum=0))
    if ranges:
        check_alone(column, asked, values_per_person=values_per_person, count_capped=count_capped)
    source = Source.of(
        data,
        column=column,
        user=user,
        values_per_person=values_per_person,
        count_capped=count_capped,
        where=where,
        drop_missing=drop_missing,
        domain=domain,
        other=other,
        delimiter=delimiter,
        encoding=encoding,
        format=format,
    )
    with People(source, progress=progress, rng=rng) as people:
        users, truth, parts = people.number(count=True), people.numbered(), people.numbered_truth()
    target = asked.target(people, users=users)
    if ranges:
        protocol_of_ranges = choose_ranges(target, listed=people.listed, trust=asked.trust, progress=progress).protocol
        assert isinstance(protocol_of_ranges, Ranges)
        counts = truth.dense(bins=protocol_of_ranges.bins).counts
        found = simulate_ranges(protocol_of_ranges, counts, trials=trials, rng=rng, beta=beta, progress=progress)
        return replace(found, cap=source.cap)
    chosen = choose(target, asked, beta=beta, listed=people.listed, progress=progress)
    evaluations = []
    for trial in range(trials):
        tossed = chosen.protocol.fresh(rng)
        estimate = tossed.estimate(tossed.sample_tally(truth, rng=rng), beta=beta, reports=tossed.users)
        evaluations.append(evaluate(estimate, [replace(one, at=places(estimate.symbols, one.at)) for one in parts]))
        progress("simulating", (trial + 1) / trials)
    return Simulation(
        title=chosen.entry.title,
        people=users,
        bins=people.values.size,
        epsilon=asked.epsilon,
        delta=asked.delta,
        beta=beta,
        predicted_error=chosen.protocol.error(beta).simultaneous,
        trials=tuple(evaluations),
        cap=source.cap,
    )

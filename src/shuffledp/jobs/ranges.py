"""Ranges and quantiles of a column: which protocol, in which units, how good they would be, at what cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shuffledp.brief import Brief
from shuffledp.checks import failure_probability, open_probability, whole
from shuffledp.engines.bins.codebook import OTHER
from shuffledp.errors import ParameterError, TooFewUsersError
from shuffledp.jobs.choose import Choice
from shuffledp.pipeline.domain import Domain
from shuffledp.pipeline.estimate import Estimate
from shuffledp.pipeline.ordered_estimate import OrderedEstimate
from shuffledp.progress import Progress, quiet
from shuffledp.protocols.catalogue import Entry
from shuffledp.protocols.ranges import Ranges
from shuffledp.protocols.target import Target
from shuffledp.words import at_most, counted, surely

RANGES = Entry(
    title="Ranges (ours)",
    kind=Ranges,
    summary="groups of neighbouring values; shows every range of values, and quantiles",
)

CURATED_RANGES = replace(RANGES, title="Ranges (ours), by a curator", model="central")


def checked_shares(shares: Sequence[float]) -> tuple[float, ...]:
    """The shares of quantiles that are asked for, between 0 and 1."""
    found = tuple(open_probability("quantiles", share, hint="; 0.5 is the median") for share in shares)
    if not found:
        raise ParameterError("quantiles must be at least one share, such as 0.5 for the median")
    return found


def check_alone(**given: Any) -> None:
    """Refuses options that ranges have no use for; each is given as what it is and what it is by default."""
    for name, (value, usual) in given.items():
        if value != usual:
            raise ParameterError(
                f"ranges and quantiles are of one value of each person, by a protocol of their own: leave out {name}"
            )


def needs_order() -> ParameterError:
    """The error that says what ranges need."""
    return ParameterError(
        "ranges and quantiles need a domain in order: edges of numbers (Edges, --edges 0:120:1), periods of time "
        "(Periods, --by) or a list of values"
    )


def choose_ranges(target: Target, *, listed: bool, trust: str = "shuffler", progress: Progress = quiet) -> Choice:
    """The protocol of a release with ranges; the possible values must be `listed`, in their order."""
    if not listed:
        raise needs_order()
    progress("calibrating", 0.0)
    protocol = Ranges.for_target(target, trust=trust)
    entry = RANGES if trust == "shuffler" else CURATED_RANGES
    return Choice(name="ranges", entry=entry, protocol=protocol, reason="as asked")


def in_units(estimate: Estimate, possible: Any) -> Estimate:
    """An ordered estimate in the units of what was said about possible values: edges, periods, or a list.

    Missing and other values, which stand behind all others, belong to no range.
    """
    if not isinstance(estimate, OrderedEstimate):
        return estimate
    if isinstance(possible, Mapping) and len(possible) == 1:
        possible = next(iter(possible.values()))
    elif isinstance(possible, list | tuple) and len(possible) == 1:
        possible = possible[0]
    edges = getattr(possible, "edges", None)
    if edges is not None:
        return replace(estimate, edges=tuple(edges), ordered=len(edges) + 1)
    return replace(estimate, ordered=_in_order(estimate))


def _in_order(estimate: OrderedEstimate) -> int:
    """How many labels are before those that have no place in the order."""
    domain: Domain | None = estimate.domain
    ordered = estimate.ordered
    if domain is None:
        return ordered
    last = domain.decode(np.arange(max(0, ordered - 2), ordered)).tolist()
    while ordered > 1 and last and (last[-1] is None or last[-1] == OTHER):
        ordered, last = ordered - 1, last[:-1]
    return ordered


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
        shares = {"smallest": 0.0, "median": 0.5, "90 %": 0.9, "95 %": 0.95, "99 %": 0.99, "largest": 1.0}
        found = np.quantile(self.largest_errors, list(shares.values())).tolist()
        return dict(zip(shares, found, strict=True))

    def headline(self) -> str:
        """What was simulated, in a line."""
        people = counted(self.people, "person", things="people")
        releases = counted(len(self.largest_errors), "simulated release")
        return f"{releases}: {self.title}, {people}, epsilon {self.epsilon:g}, delta {self.delta:g}"

    def sentences(self) -> list[str]:
        """What was predicted, what was found, and that it is not private."""
        trials = len(self.largest_errors)
        return [
            f"Predicted: the number of people up to any value is off by at most {at_most(self.predicted_error)}, "
            f"everywhere at once, with probability at least {surely(self.beta)}.",
            f"The band held the truth everywhere in {self.held:,} of {counted(trials, 'release')}; at least "
            f"{surely(self.beta)} of all are promised.",
            "NOT PRIVATE: this compares with the true counts.",
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


@dataclass(frozen=True, kw_only=True)
class RangeRow(Brief):
    """What one way to count ranges would give; `problem` says why it cannot, where it cannot.

    `error` is what no number of people up to any value is off by, everywhere at once, with probability 1 - beta.
    """

    title: str
    branching: int | None = None
    levels: int | None = None
    error: float | None = None
    messages: float | None = None
    problem: str = ""


def plan_ranges(target: Target, *, beta: float = 0.05, progress: Progress = quiet) -> list[RangeRow]:
    """The error of the distribution function: of a tree, of sums over a histogram, and of a curator's tree."""
    beta = failure_probability(beta)
    ways: dict[str, dict[str, Any]] = {
        "Ranges (ours)": {},
        "sums over a histogram": {"branching": max(2, target.cells)},
        "a curator's ranges": {"trust": "curator"},
    }
    rows = []
    for done, (title, choices) in enumerate(ways.items()):
        progress("comparing ranges", done / len(ways))
        try:
            made = Ranges.for_target(target, **choices)
        except TooFewUsersError as error:
            rows.append(RangeRow(title=title, problem=f"needs at least {error.minimum_users:,} people"))
            continue
        rows.append(
            RangeRow(
                title=title,
                branching=made.branching,
                levels=made.tree.levels,
                error=made.range_error(beta),
                messages=1.0 if "trust" in choices else made.messages_per_user.expected,
            )
        )
    return rows

"""A release with ranges and quantiles: what it may ask, by which protocol, and in which units it answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shuffledp.checks import open_probability
from shuffledp.engines.bins.codebook import OTHER
from shuffledp.engines.bins.possible_values import Possible
from shuffledp.errors import ParameterError
from shuffledp.jobs.choose import Choice
from shuffledp.pipeline.domain import Domain
from shuffledp.pipeline.edges import Edges
from shuffledp.pipeline.estimate import Estimate
from shuffledp.pipeline.ordered_estimate import OrderedEstimate
from shuffledp.pipeline.periods import Periods
from shuffledp.progress import Progress, quiet
from shuffledp.protocols.catalogue import Entry
from shuffledp.protocols.ranges import Ranges
from shuffledp.protocols.target import Target

RANGES = Entry(
    title="Ranges (ours)",
    kind=Ranges,
    summary="groups of neighbouring values; shows every range of values, and quantiles",
)

CURATED_RANGES = replace(RANGES, title="Ranges (ours), by a curator", model="central")


def checked_shares(shares: Iterable[float]) -> tuple[float, ...]:
    """The shares of quantiles that are asked for, between 0 and 1."""
    if isinstance(shares, str | bytes) or not isinstance(shares, Iterable):
        raise ParameterError(
            f"quantiles must be a list of shares, such as [0.5] for the median, got {type(shares).__name__}"
        )
    found = tuple(open_probability("quantiles", share, hint="; 0.5 is the median") for share in shares)
    if not found:
        raise ParameterError("quantiles must be at least one share, such as 0.5 for the median")
    return found


def check_alone(column: Any, *, protocol: str | None, estimator: str | None, values_per_person: int) -> None:
    """Refuses several columns, and options that ranges have no use for, before anything is read."""
    if isinstance(column, list | tuple) and len(column) > 1:
        raise ParameterError(f"ranges and quantiles are of one column, got {len(column)}: leave out the others")
    useless = {
        "protocol": protocol is not None,
        "estimator": estimator is not None,
        "values_per_person": values_per_person != 1,
    }
    if given := [name for name, is_given in useless.items() if is_given]:
        raise ParameterError(
            "ranges and quantiles are of one value of each person, by a protocol of their own: leave out "
            f"{' and '.join(given)}"
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


def in_units(estimate: Estimate, possible: Possible, *, shares: Sequence[float] | None = None) -> Estimate:
    """An ordered estimate in the units of what was said about possible values: edges, periods, or a list.

    Missing and other values, which stand behind all others, belong to no range. `shares` are those of the quantiles
    that were asked for.
    """
    if not isinstance(estimate, OrderedEstimate):
        return estimate
    if shares is not None:
        estimate = replace(estimate, shares=tuple(shares))
    if isinstance(possible, Edges | Periods):
        return replace(estimate, edges=tuple(possible.edges), ordered=len(possible.edges) + 1)
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

"""Releases with ranges and quantiles: parameter checks, the choice of protocol, units of the result, and plans."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from shuffledp.data.bins import OTHER, Possible
from shuffledp.errors import ParameterError, TooFewUsersError
from shuffledp.estimators.tree import Tree
from shuffledp.formatting import ShortRepr
from shuffledp.histogram.domain import Domain
from shuffledp.histogram.edges import Edges
from shuffledp.histogram.estimate import Estimate
from shuffledp.histogram.ordered_estimate import OrderedEstimate
from shuffledp.histogram.periods import Periods
from shuffledp.progress import Progress, quiet
from shuffledp.protocols.catalogue import Entry
from shuffledp.protocols.protocol import TrustName
from shuffledp.protocols.ranges import Ranges
from shuffledp.protocols.shuffled.dummy import DummyHistogram
from shuffledp.protocols.target import Target
from shuffledp.release.choose import Choice, PrivacySpec
from shuffledp.release.plan_rows import PRACTICAL_MESSAGES, Reason
from shuffledp.validation import failure_probability, open_probability

RANGES = Entry(
    title="Ranges (ours)",
    kind=Ranges,
    summary="groups of neighbouring values; shows every range of values, and quantiles",
)

CURATED_RANGES = replace(RANGES, title="Ranges (ours), by a curator", model="central")


def checked_shares(shares: Iterable[float]) -> tuple[float, ...]:
    """Return the requested shares of quantiles."""
    if isinstance(shares, str | bytes) or not isinstance(shares, Iterable):
        raise ParameterError(
            f"quantiles must be a list of shares, such as [0.5] for the median, got {type(shares).__name__}"
        )
    found = tuple(open_probability("quantiles", share, hint="; 0.5 is the median") for share in shares)
    if not found:
        raise ParameterError("quantiles must be at least one share, such as 0.5 for the median")
    return found


def check_alone(column: Any, asked: PrivacySpec, *, values_per_person: int, count_capped: bool) -> None:
    """Refuse several columns and parameters that do not apply to ranges, before anything is read."""
    if isinstance(column, list | tuple) and len(column) > 1:
        raise ParameterError(f"column must be one column for ranges and quantiles, got {len(column)}: leave out others")
    useless = {
        "protocol": asked.protocol is not None,
        "estimator": asked.estimator is not None,
        "values_per_person": values_per_person != 1,
        "count_capped": count_capped,
    }
    if given := [name for name, is_given in useless.items() if is_given]:
        raise ParameterError(
            "ranges and quantiles count one value per person with a protocol of their own: leave out "
            f"{' and '.join(given)}"
        )


def needs_order() -> ParameterError:
    """Return the error for ranges without an ordered domain."""
    return ParameterError("ranges and quantiles need an ordered domain: edges of numbers, periods of time, or a list")


def choose_ranges(target: Target, *, listed: bool, trust: str = "shuffler", progress: Progress = quiet) -> Choice:
    """Choose the protocol of a release with ranges."""
    if not listed:
        raise needs_order()
    progress("calibrating", 0.0)
    protocol = Ranges.for_target(target, trust=trust)
    entry = RANGES if trust == "shuffler" else CURATED_RANGES
    return Choice(name="ranges", entry=entry, protocol=protocol)


def in_units(estimate: Estimate, possible: Possible, *, shares: Sequence[float] | None = None) -> Estimate:
    """Return an ordered estimate in the units of its domain: edges, periods, or a list.

    Missing and other values come last and belong to no range.
    """
    if not isinstance(estimate, OrderedEstimate):
        return estimate
    if shares is not None:
        estimate = replace(estimate, shares=tuple(shares))
    if isinstance(possible, Edges | Periods):
        return replace(estimate, edges=tuple(possible.edges), ordered=len(possible.edges) + 1)
    return replace(estimate, ordered=_in_order(estimate))


def _in_order(estimate: OrderedEstimate) -> int:
    """The number of labels before those without a place in the order."""
    domain: Domain | None = estimate.domain
    ordered = estimate.ordered
    if domain is None:
        return ordered
    last = domain.decode(np.arange(max(0, ordered - 2), ordered)).tolist()
    while ordered > 1 and last and (last[-1] is None or last[-1] == OTHER):
        ordered, last = ordered - 1, last[:-1]
    return ordered


@dataclass(frozen=True, kw_only=True)
class RangeRow(ShortRepr):
    """The error and cost of one way to count ranges.

    error         bound on the error of the number of people up to any value, for all values at once, with probability
                  1 - beta; None if there are too few people
    messages      expected number of messages per person; None for a curator, who is given the values
    needed_users  the number of people that are needed, if there are too few
    """

    title: str
    trust: TrustName = "shuffler"
    branching: int | None = None
    levels: int | None = None
    error: float | None = None
    messages: float | None = None
    needed_users: int | None = None


OURS, FEWER, SUMS, CURATED = RANGES.title, "Ranges, fewer messages", "sums over a histogram", "a curator's ranges"


def plan_ranges(
    target: Target, *, beta: float = 0.05, most: float = PRACTICAL_MESSAGES, progress: Progress = quiet
) -> list[RangeRow]:
    """Return the error of the distribution function for a tree, sums over a histogram, and a curator's tree.

    If the tree sends more than `most` messages per person, the best tree within the limit is added.
    """
    beta = failure_probability(beta)
    rows = []
    for done, title in enumerate((OURS, SUMS, CURATED)):
        progress("comparing ranges", done / 3)
        try:
            made = _made(title, target)
        except TooFewUsersError as error:
            rows.append(RangeRow(title=title, needed_users=error.minimum_users))
            continue
        rows.append(_row(title, made, beta))
        if title == OURS and made.messages_per_user.expected > most and (lower := _lower(made, target, most)):
            rows.append(_row(FEWER, lower, beta))
    return rows


def _made(title: str, target: Target) -> Ranges:
    if title == SUMS:
        return Ranges.for_target(target, branching=max(2, target.cells))
    return Ranges.for_target(target, trust="curator" if title == CURATED else "shuffler")


def _lower(ours: Ranges, target: Target, most: float) -> Ranges | None:
    """The tree with the smallest error among those with at most `most` messages; each level needs at least one."""
    made = []
    for levels in range(2, min(math.floor(most), ours.tree.levels) + 1):
        tree = Tree.with_levels(leaves=target.cells, levels=levels)
        with suppress(TooFewUsersError):
            made.append(Ranges.with_tree(tree, target, DummyHistogram.for_target))
    few = [option for option in made if option.messages_per_user.expected <= most]
    return min(few, key=lambda option: option.deviation, default=None)


def _row(title: str, made: Ranges, beta: float) -> RangeRow:
    curated = title == CURATED
    return RangeRow(
        title=title,
        trust="curator" if curated else "shuffler",
        branching=made.branching,
        levels=made.tree.levels,
        error=made.range_error(beta),
        messages=None if curated else made.messages_per_user.expected,
    )


class RangeAdvice(NamedTuple):
    """The recommended way to count ranges, None if there is none, and the ways to compare it with.

    reason   why `best` is recommended, or why none is
    most     the limit on messages per person
    ours     the tree that `private_histogram(..., ranges=True)` uses, if it is possible
    sums     sums over a histogram, if they are possible
    curator  a curator's tree
    """

    best: RangeRow | None
    reason: Reason
    most: float
    ours: RangeRow | None
    sums: RangeRow | None
    curator: RangeRow


def advise_ranges(rows: Sequence[RangeRow], *, most: float = PRACTICAL_MESSAGES, held: bool = False) -> RangeAdvice:
    """Recommend the way with the smallest error.

    Where messages are sent, at most `most` of them per person are allowed. For `held`, that is local, data nothing is
    sent, and the way is the one that `private_histogram(..., ranges=True)` uses.
    """
    possible = {row.title: row for row in rows if row.trust == "shuffler" and row.error is not None}
    usable = [row for row in possible.values() if (row.title == OURS if held else _messages(row) <= most)]
    best = min(usable, key=_error, default=None)  # the first of equal ones
    if best is not None:
        reason = Reason.SMALLEST_ERROR
    else:
        reason = Reason.TOO_MANY_MESSAGES if possible else Reason.TOO_FEW_USERS
    curator = next(row for row in rows if row.title == CURATED)
    return RangeAdvice(best, reason, most, possible.get(OURS), possible.get(SUMS), curator)


def _error(row: RangeRow) -> float:
    return math.inf if row.error is None else row.error


def _messages(row: RangeRow) -> float:
    return math.inf if row.messages is None else row.messages

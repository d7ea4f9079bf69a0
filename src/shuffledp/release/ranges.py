"""A release with ranges and quantiles: what it may ask, by which protocol, and in which units it answers.

What ranges and quantiles would cost, and how good they would be, before anything is released.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shuffledp.data.bins import OTHER, Possible
from shuffledp.errors import ParameterError, TooFewUsersError
from shuffledp.estimators.tree import Tree
from shuffledp.formatting import ShortRepr, at_most, magnitude, people_at_most
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
from shuffledp.release.choose import Choice, is_smaller
from shuffledp.release.plan_rows import PRACTICAL_MESSAGES, counted_messages
from shuffledp.validation import failure_probability, open_probability

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
    return Choice(name="ranges", entry=entry, protocol=protocol)


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


@dataclass(frozen=True, kw_only=True)
class RangeRow(ShortRepr):
    """What one way to count ranges would give; `problem` says why it cannot, where it cannot.

    `error` is what no number of people up to any value is off by, everywhere at once, with probability 1 - beta.
    `messages` are those of one person; a curator, who is given the values, has none.
    """

    title: str
    trust: TrustName = "shuffler"
    branching: int | None = None
    levels: int | None = None
    error: float | None = None
    messages: float | None = None
    problem: str = ""


OURS, FEWER, SUMS, CURATED = RANGES.title, "Ranges, fewer messages", "sums over a histogram", "a curator's ranges"
"""The ways to count ranges that are compared."""


def plan_ranges(
    target: Target, *, beta: float = 0.05, most: float = PRACTICAL_MESSAGES, progress: Progress = quiet
) -> list[RangeRow]:
    """The error of the distribution function: of a tree, of sums over a histogram, and of a curator's tree.

    Where the tree sends more than `most` messages per person, also of the best one that does not.
    """
    beta = failure_probability(beta)
    rows = []
    for done, title in enumerate((OURS, SUMS, CURATED)):
        progress("comparing ranges", done / 3)
        try:
            made = _made(title, target)
        except TooFewUsersError as error:
            rows.append(RangeRow(title=title, problem=f"needs at least {error.minimum_users:,} people"))
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
    """The tree with the smallest error of those with at most `most` messages, at least one on each level; None if there
    is none.
    """
    made = []
    for levels in range(2, min(math.floor(most), ours.tree.levels) + 1):
        tree = Tree.with_levels(leaves=target.cells, levels=levels)
        with suppress(TooFewUsersError):
            made.append(Ranges.with_tree(tree, target, DummyHistogram))
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


def range_advice(rows: Sequence[RangeRow], *, most: float = PRACTICAL_MESSAGES, held: bool = False) -> list[str]:
    """A sentence that recommends one way, and one about a curator.

    Where people send messages, the smallest error with at most `most` of them; where somebody who holds the data draws
    the counts, what `private_histogram(..., ranges=True)` does.
    """
    possible = [row for row in rows if row.trust == "shuffler" and row.error is not None]
    usable = [row for row in possible if (row.title == OURS if held else _messages(row) <= most)]
    curator = next(row for row in rows if row.title == CURATED)
    if not possible:
        problems = "; ".join(f"{row.title} {row.problem}" for row in rows if row.problem)
        return [
            f"Recommended: none, since there are too few honest people: {problems}.",
            f"Where you are trusted with the data, run --trust curator has an error of at most {_off(curator)}.",
        ]
    if not usable:
        fewest = min(map(_messages, possible))
        return [
            f"Recommended where people send messages: none, since each way sends more than {counted_messages(most)} "
            f"per person (at least {magnitude(fewest)}): more people, fewer possible values or a larger epsilon help.",
            *_for_curator(curator, next((row for row in possible if row.title == OURS), possible[0])),
        ]
    best = min(usable, key=_error)  # of equal ones the first
    sums = next((row for row in possible if row.title == SUMS), None)
    better = sums is not None and is_smaller(_error(best), _error(sums))
    instead = f" instead of {at_most(_error(sums))} with {SUMS}" if sums is not None and better else ""
    where = " where you hold the data, as run --ranges does" if held else ""
    sent = "" if held else f", with {counted_messages(_messages(best))} per person"
    return [
        f"Recommended{where}: {best.title}. The number of people up to any value is off by at most "
        f"{_off(best)}{instead}{sent}.",
        *_for_curator(curator, next((row for row in possible if row.title == OURS), best)),
    ]


def _for_curator(curator: RangeRow, ours: RangeRow) -> list[str]:
    """What whoever is trusted with the data can publish, against what run --ranges does."""
    if not is_smaller(_error(curator), _error(ours)):
        return ["Where you are trusted with the data, run --trust curator has no smaller error here."]
    return [
        "Where you hold the data and are trusted with it: run --ranges --trust curator has an error of at most "
        f"{_off(curator)} instead of {at_most(_error(ours))}."
    ]


def _error(row: RangeRow) -> float:
    return math.inf if row.error is None else row.error


def _messages(row: RangeRow) -> float:
    return math.inf if row.messages is None else row.messages


def _off(row: RangeRow) -> str:
    return people_at_most(_error(row))

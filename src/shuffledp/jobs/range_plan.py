"""What ranges and quantiles would cost, and how good they would be, before anything is released."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from shuffledp.brief import Brief
from shuffledp.checks import failure_probability
from shuffledp.errors import TooFewUsersError
from shuffledp.jobs.advice import PRACTICAL_MESSAGES, counted_messages
from shuffledp.jobs.ranges import RANGES
from shuffledp.jobs.trust import is_smaller
from shuffledp.progress import Progress, quiet
from shuffledp.protocols.names import TrustName
from shuffledp.protocols.ranges import Ranges
from shuffledp.protocols.shuffled.dummy import DummyHistogram
from shuffledp.protocols.target import Target
from shuffledp.reading.tree import Tree
from shuffledp.words import at_most, magnitude, people_at_most


@dataclass(frozen=True, kw_only=True)
class RangeRow(Brief):
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

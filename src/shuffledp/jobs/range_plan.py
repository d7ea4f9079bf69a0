"""What ranges and quantiles would cost, and how good they would be, before anything is released."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shuffledp.brief import Brief
from shuffledp.checks import failure_probability
from shuffledp.errors import TooFewUsersError
from shuffledp.progress import Progress, quiet
from shuffledp.protocols.ranges import Ranges
from shuffledp.protocols.target import Target


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

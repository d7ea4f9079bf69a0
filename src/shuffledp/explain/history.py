"""How the most frequent values changed over several releases: small pictures with intervals, and a table.

Each value has its own picture, so that no colours have to be told apart. Each picture has its own axis, which spans its
intervals: a change smaller than the intervals then looks like none. Pictures show shares of the people, because the
number of people can differ between releases.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from shuffledp.explain.html import render
from shuffledp.formatting import confidence_level
from shuffledp.release.release import Release

if TYPE_CHECKING:
    from markupsafe import Markup

MOST_VALUES = 5
"""Values that are drawn: those with the most people in the latest release."""

MOST_RELEASES = 30
"""Releases that are drawn, the latest. More would touch each other on a phone."""

_LEFT = 0.16
"""Share of the width of a picture for the numbers at its axis: 50 pixels on a phone."""


class Past(NamedTuple):
    """One of several releases: its number, when it was made, and its number of people."""

    number: int
    made: date | datetime
    people: int
    release: Release


@dataclass(frozen=True, kw_only=True)
class _Seen:
    """The estimate and interval of a value in one release; `count` is None if the value is not shown."""

    count: float | None
    low: int
    high: int
    people: int

    @property
    def lowest(self) -> int:
        """The lower bound in tenths of a per cent of the people, rounded down."""
        return 1000 * max(self.low, 0) // max(self.people, 1)

    @property
    def highest(self) -> int:
        """The upper bound in tenths of a per cent of the people, rounded up, at most 1000."""
        return min(1000, -(-1000 * self.high // max(self.people, 1)))

    @property
    def place(self) -> float:
        """The estimate in tenths of a per cent."""
        return 1000 * max(self.count or 0.0, 0.0) / max(self.people, 1)

    @property
    def share(self) -> str:
        """The estimate as text."""
        return "not shown" if self.count is None else f"{self.place / 10:.1f}%"


def history(past: Iterable[Past]) -> Markup | None:
    """Render a part of a page; None for fewer than two releases, or if the latest shows no value. Any order is fine."""
    listed = sorted(past, key=lambda each: each.number)[-MOST_RELEASES:]
    if len(listed) < 2 or not len(listed[-1].release.estimate):
        return None
    latest = listed[-1].release
    seen = {row.label: [_seen(each, row.label) for each in listed] for row in latest.estimate.top(MOST_VALUES)}
    return render(
        "history.html",
        column=latest.column,
        releases=[{"number": each.number, "when": _when(each.made), "people": each.people} for each in listed],
        ends=_ends(listed),
        left=f"{_LEFT:.0%}",
        values=[{"label": label, "seen": values, "drawing": _drawing(values)} for label, values in seen.items()],
        confidence=confidence_level(max(each.release.estimate.beta for each in listed)),
    )


def _seen(past: Past, label: Any) -> _Seen:
    estimate = past.release.estimate
    if label in estimate:
        low, high = estimate.interval(label)
        return _Seen(count=estimate[label], low=low, high=high, people=past.people)
    return _Seen(count=None, low=0, high=estimate.simultaneous.unreported_high, people=past.people)


def _ends(listed: Sequence[Past]) -> list[str]:
    """The first and the last release as text, with the time if both were made on one day."""
    ends = listed[0], listed[-1]
    days = [f"{each.made:%Y-%m-%d}" for each in ends]
    times = days if days[0] != days[1] else [_when(each.made) for each in ends]
    return [f"{each.number}: {time}" for each, time in zip(ends, times, strict=True)]


def _drawing(values: Sequence[_Seen]) -> dict[str, Any]:
    """The lines, dots and numbers of one picture; all lengths are shares of its width and height."""
    bottom, top = min(each.lowest for each in values), max(each.highest for each in values)

    def down(tenths: float) -> float:
        return min(1.0, max(0.0, (top - tenths) / max(top - bottom, 1)))

    across = [_LEFT + (1 - _LEFT) * (at + 0.5) / len(values) for at in range(len(values))]
    lines = [_line("line", _LEFT, end, 1, end) for end in (0, 1)]
    lines += [
        _line("path", across[at], down(one.place), across[at + 1], down(other.place))
        for at, (one, other) in enumerate(pairwise(values))
        if one.count is not None and other.count is not None
    ]
    lines += [
        _line("reach hidden" if each.count is None else "reach", x, down(each.highest), x, down(each.lowest))
        for x, each in zip(across, values, strict=True)
    ]
    dots = [
        {"x": f"{x:.2%}", "y": f"{down(each.place):.2%}"}
        for x, each in zip(across, values, strict=True)
        if each.count is not None
    ]
    numbers = [{"y": f"{end:.0%}", "text": f"{tenths / 10:g}%"} for end, tenths in ((0, top), (1, bottom))]
    return {"lines": lines, "dots": dots, "numbers": numbers}


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> dict[str, str]:
    ends = {"x1": x1, "y1": y1, "x2": x2, "y2": y2}
    return {"kind": kind, **{name: f"{place:.2%}" for name, place in ends.items()}}


def _when(made: date | datetime) -> str:
    return f"{made:%Y-%m-%d %H:%M}" if isinstance(made, datetime) else f"{made:%Y-%m-%d}"

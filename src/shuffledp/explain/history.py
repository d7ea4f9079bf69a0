"""How the most frequent values changed over several releases: small pictures with intervals, and a table of numbers.

Each value has a picture of its own, one below the other, so that nothing has to be told apart by its colour, and an
axis of its own, that of its intervals: a change that is smaller than they are is then seen to be none. A share of the
people is drawn, since releases can be of different numbers of people.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from html import escape
from itertools import pairwise
from typing import Any, NamedTuple

from shuffledp.formatting import shown, surely
from shuffledp.release.release import Release

MOST_VALUES = 5
"""That are drawn: those with the most people in the latest release."""

MOST_RELEASES = 30
"""That are drawn, the latest ones: more would touch each other on a telephone."""

_LEFT = 0.16
"""Of the width of a picture, for the numbers at its axis: 50 pixels on a telephone."""

HISTORY_STYLE = """
.shuffledp .history svg.past { display: block; width: 100%; height: 4em; overflow: visible; }
.shuffledp .past text { font-size: .84em; fill: currentColor; opacity: .8; }
.shuffledp .past .line { stroke: currentColor; stroke-width: 1px; opacity: .14; }
.shuffledp .past .path { stroke: var(--line-of-chart, #2f6db3); stroke-width: 1.5px; opacity: .5; }
.shuffledp .past .reach { stroke: var(--line-of-chart, #2f6db3); stroke-width: 1.5px; }
.shuffledp .past .hidden { stroke-dasharray: 2 3; }
.shuffledp .past circle { fill: var(--line-of-chart, #2f6db3); }
.shuffledp .history th.drawn { text-align: left; }
.shuffledp .history .all th, .shuffledp .history .all td { white-space: nowrap; }
.shuffledp .history table.bars td, .shuffledp .history table.bars th { padding-top: .8em; padding-bottom: .8em; }
"""


class Past(NamedTuple):
    """A release among several: its number, when it was made, and of how many people it is."""

    number: int
    made: date | datetime
    people: int
    release: Release


@dataclass(frozen=True, kw_only=True)
class _Seen:
    """What a release says of a value; no estimate where it is not shown."""

    count: float | None
    low: int
    high: int
    people: int

    @property
    def lowest(self) -> int:
        """In tenths of a per cent of the people, rounded down."""
        return 1000 * max(self.low, 0) // max(self.people, 1)

    @property
    def highest(self) -> int:
        """In tenths of a per cent of the people, rounded up; nobody is counted twice."""
        return min(1000, -(-1000 * self.high // max(self.people, 1)))

    @property
    def place(self) -> float:
        """The estimate in tenths of a per cent."""
        return 1000 * max(self.count or 0.0, 0.0) / max(self.people, 1)


def history(past: Iterable[Past]) -> str:
    """A part of a page; empty for less than two releases, or if the latest shows no value. Any order will do."""
    listed = sorted(past, key=lambda each: each.number)[-MOST_RELEASES:]
    if len(listed) < 2 or not len(listed[-1].release.estimate):
        return ""
    latest = listed[-1].release
    labels = [row.label for row in latest.estimate.top(MOST_VALUES)]
    seen = {label: [_seen(each, label) for each in listed] for label in labels}
    rows = "".join(_row(label, values, listed) for label, values in seen.items())
    few = "one value" if len(labels) == 1 else f"{len(labels)} most frequent values"
    return f"""<div class="history"><h2>Over the last {len(listed)} releases</h2>
<figure>{_drawn(rows, listed, shown(latest.column))}
<figcaption>The {few} of the latest release, as shares of the people of each release; every picture has its own
axis. Dots are estimates, upright lines intervals; a broken line without a dot says that the value was not shown, and
how many may hold it. The intervals of one release hold at once with probability
{surely(max(each.release.estimate.beta for each in listed))}, those of all releases together with a smaller one. They
are about the people who answered, and say nothing of others.</figcaption></figure>
{_table(seen, listed)}</div>"""


def _seen(past: Past, label: Any) -> _Seen:
    estimate = past.release.estimate
    if label in estimate:
        low, high = estimate.interval(label)
        return _Seen(count=estimate[label], low=low, high=high, people=past.people)
    return _Seen(count=None, low=0, high=estimate.simultaneous.unreported_high, people=past.people)


def _drawn(rows: str, listed: Sequence[Past], column: str) -> str:
    ends = listed[0], listed[-1]
    days = [f"{each.made:%Y-%m-%d}" for each in ends]
    times = days if days[0] != days[1] else [_when(each.made) for each in ends]  # a day would not tell them apart
    first, last = (f"{each.number}: {time}" for each, time in zip(ends, times, strict=True))
    return (
        '<table class="bars" role="table"><thead role="rowgroup"><tr role="row"><th scope="col" role="columnheader">'
        f'<bdi>{escape(column)}</bdi></th><th class="drawn" scope="col" role="columnheader">all releases</th>'
        '<th scope="col" role="columnheader">in the latest</th><th scope="col" role="columnheader">interval</th></tr>'
        "</thead>\n"
        f'<tbody role="rowgroup">{rows}</tbody>\n<tfoot aria-hidden="true"><tr><th></th><td class="drawn">'
        f'<svg class="scale" aria-hidden="true"><text x="{_LEFT:.0%}" y="1em" text-anchor="start">{first}</text>'
        f'<text x="100%" y="1em" text-anchor="end">{last}</text></svg></td><td></td><td></td></tr></tfoot></table>'
    )


def _row(label: Any, values: Sequence[_Seen], listed: Sequence[Past]) -> str:
    name, last = escape(shown(label, width=60)), values[-1]
    share = "" if last.count is None else f"{last.place / 10:.1f} %"
    said = f"{name}: from {_share(values[0])} in release {listed[0].number} to {_share(last)} in {listed[-1].number}"
    return (
        f'<tr role="row"><th scope="row" role="rowheader"><bdi>{name}</bdi></th><td class="drawn" role="cell">'
        f'<svg class="past" role="img" aria-label="{said}">{_picture(values)}</svg></td>'
        f'<td role="cell">{share}</td><td class="ends" role="cell">{last.lowest / 10:.1f} to {last.highest / 10:.1f} %'
        "</td></tr>\n"
    )


def _share(seen: _Seen) -> str:
    return "not shown" if seen.count is None else f"{seen.place / 10:.1f} %"


def _picture(values: Sequence[_Seen]) -> str:
    """Shares of the width and the height: the picture is as wide as there is room."""
    bottom, top = min(each.lowest for each in values), max(each.highest for each in values)

    def down(tenths: float) -> float:
        return min(1.0, max(0.0, (top - tenths) / max(top - bottom, 1)))

    across = [_LEFT + (1 - _LEFT) * (at + 0.5) / len(values) for at in range(len(values))]
    lines = [_line("line", _LEFT, end, 1, end) for end in (0, 1)]
    lines += [
        f'<text x="0" y="{end:.0%}" dy=".35em">{tenths / 10:g} %</text>' for end, tenths in ((0, top), (1, bottom))
    ]
    lines += [
        _line("path", across[at], down(one.place), across[at + 1], down(other.place))
        for at, (one, other) in enumerate(pairwise(values))
        if one.count is not None and other.count is not None
    ]
    for x, each in zip(across, values, strict=True):
        kind = "reach hidden" if each.count is None else "reach"
        lines.append(_line(kind, x, down(each.highest), x, down(each.lowest)))
        if each.count is not None:
            lines.append(f'<circle cx="{x:.2%}" cy="{down(each.place):.2%}" r="3"/>')
    return "".join(lines)


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="{kind}" x1="{x1:.2%}" y1="{y1:.2%}" x2="{x2:.2%}" y2="{y2:.2%}"/>'


def _table(seen: dict[Any, list[_Seen]], listed: Sequence[Past]) -> str:
    """The same in numbers of people, the latest release first."""
    heads = "".join(f'<th scope="col"><bdi>{escape(shown(label, width=30))}</bdi></th>' for label in seen)
    rows = "".join(
        f'<tr><th scope="row">{past.number}: <time>{_when(past.made)}</time></th><td>{past.people:,}</td>'
        f"{''.join(f'<td>{_cell(values[at])}</td>' for values in seen.values())}</tr>\n"
        for at, past in reversed(list(enumerate(listed)))
    )
    return (
        f"<details><summary>Table: {len(listed)} releases</summary>\n"
        '<div class="wide" tabindex="0" role="region" aria-label="Numbers of people in each release">'
        f'<table class="all"><thead><tr><th scope="col">release</th><th scope="col">people</th>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div></details>"
    )


def _when(made: date | datetime) -> str:
    return f"{made:%Y-%m-%d %H:%M}" if isinstance(made, datetime) else f"{made:%Y-%m-%d}"


def _cell(seen: _Seen) -> str:
    if seen.count is None:
        return f"not shown: at most {seen.high:,}"
    return f"{round(seen.count):,} ({seen.low:,} to {seen.high:,})"

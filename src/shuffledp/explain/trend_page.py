"""The report of a trend: one HTML page without scripts, with charts and tables. The console includes the same parts.

A chart has the lines of several values, with the bands of their joint intervals and names at their ends. Lines differ
in colour, in the shape of their marks and in their dashes, so that no colours have to be told apart. All lengths are in
per cent and letters keep their size, so that the chart fits a phone and a wide screen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from shuffledp import __version__
from shuffledp.explain.charts import Axis
from shuffledp.explain.files import write
from shuffledp.explain.html import render
from shuffledp.explain.trend import (
    cautions,
    change,
    change_of_quantile,
    confidence_sentence,
    headline,
    quantile_cell,
    quantile_name,
    rounds_so_far,
)
from shuffledp.formatting import confidence, shown
from shuffledp.histogram.ordered_estimate import written
from shuffledp.release.trend import Level, Trend
from shuffledp.release.trend_changes import Measure, QuantileTrend

if TYPE_CHECKING:
    from markupsafe import Markup

MOST_ROWS = 50
"""Values in the table of changes; the files have more."""

MOST_COLUMNS = 8
"""Values in the table of all rounds."""

MOST_ROUNDS = 60
"""Rounds in the table of all rounds, the latest; the files have all."""

FORMATS: dict[str, Callable[[Trend], str]] = {
    ".html": lambda trend: page(trend),
    ".csv": lambda trend: trend.to_csv(),
    ".json": lambda trend: trend.to_json(),
}
"""The content of the files of a trend, by their ending."""


def page(trend: Trend) -> str:
    """Render the report."""
    return str(render("trend_report.html", **context(trend)))


def save(trend: Trend, path: Path, *, overwrite: bool = True) -> Path:
    """Write the trend in the format of the path's ending; an interrupt leaves the previous file as it was."""
    return write(path, FORMATS, lambda ending: FORMATS[ending](trend).encode(), overwrite=overwrite)


def context(trend: Trend) -> dict[str, Any]:
    """Return what the templates of a trend show: plain values, and pictures as markup."""
    listed, several = trend.top(MOST_ROWS), len(trend.rounds) > 1
    few = trend.only(listed)
    levels = {label: few.levels(label) for label in listed}
    return {
        "question": trend.question,
        "headline": headline(trend, question=False),
        "so_far": rounds_so_far(trend),
        "confident": confidence_sentence(trend),
        "confidence": confidence(min(trend.beta, 0.999)),
        "cautions": cautions(trend),
        "chart": trend_chart(trend),
        "quantile_chart": quantile_chart(trend),
        "quantiles": [
            {
                "name": quantile_name(each),
                "latest": quantile_cell(each.values[-1]),
                "change": change_of_quantile(each.difference()) if several else "",
            }
            for each in trend.quantiles
        ],
        "shares": trend.measure is Measure.SHARE,
        "values": [_value(few, label, levels[label][-1]) for label in listed],
        "left_out": len(trend.labels) - len(listed),
        "rounds": [
            {
                "number": each.number,
                "when": f"{each.when:%Y-%m-%d %H:%M}" if isinstance(each.when, datetime) else str(each.when),
                "people": each.people,
                "levels": [_cell(levels[label][at]) for label in listed[:MOST_COLUMNS]],
            }
            for at, each in list(enumerate(trend.rounds))[-MOST_ROUNDS:]
        ],
        "columns": listed[:MOST_COLUMNS],
        "several": several,
        "since": trend.rounds[0].number,
        "version": __version__,
    }


def _value(trend: Trend, label: Any, latest: Level | None) -> dict[str, Any]:
    """A row of the table of changes."""
    found = trend.difference(label) if len(trend.rounds) > 1 else None
    return {
        "label": label,
        "latest": _cell(latest),
        "change": "" if found is None else change(found, trend.measure, dated=False),
        "verdict": "" if found is None else found.verdict.value,
    }


def _cell(level: Level | None) -> str:
    if level is None:
        return "not asked"
    if level.count is None:
        return f"not found: at most {level.high:,}"
    return f"{round(level.count):,} ({level.low:,} to {level.high:,})"


_Scale = Callable[[float], float]
"""From a round or a value to its place on an axis, from 0 to 1."""

_MOST_LINES = 5
"""Lines of a chart: more cannot be told apart."""

_MOST_DOTS = 40
"""Rounds up to which every estimate has a mark."""

_LEFT, _RIGHT, _TOP, _BOTTOM = 15.0, 30.0, 7.0, 10.0
"""Margins of the chart in per cent: for the numbers, for the names at the ends of lines, for the unit and the times."""

_NAME_WIDTH = 12
"""Letters of a name at the end of a line: they fit a phone of 360 pixels."""

_NAME_HEIGHT = 6.5
"""Per cent of the height between two names."""

_MOST_TIMES = 4
"""Rounds that are named along the axis."""

_SIZE = 1000.0
"""Units of the drawing between the axes, which is stretched to the chart."""

_SHAPES = {
    1: "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0z",
    2: "M-4,-4h8v8h-8z",
    3: "M0,-5l5,9h-10z",
    4: "M0,-5.5l5.5,5.5l-5.5,5.5l-5.5,-5.5z",
    5: "M-5,-1.5h3.5v-3.5h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.5z",
}
"""The marks of the lines: a circle, a square, a triangle, a diamond and a cross."""


class _Point(NamedTuple):
    """An estimate with its interval at a place along the axis; `value` is None if there is none."""

    place: float
    value: float | None
    low: float
    high: float


class _Line(NamedTuple):
    name: str
    points: list[_Point | None]


def trend_chart(trend: Trend) -> Markup | None:
    """Draw the values with the most people in the latest round; None for a single round."""
    if len(trend.rounds) < 2 or not trend.labels:
        return None
    shares = trend.measure is Measure.SHARE
    lines = [
        _Line(shown(label), _points(trend, trend.levels(label), shares=shares)) for label in trend.top(_MOST_LINES)
    ]
    return _drawn(trend, lines, unit="per cent of the people" if shares else "people", key="trend", least=0.0)


def quantile_chart(trend: Trend) -> Markup | None:
    """Draw the quantiles over time; None if the values are not numbers, or for a single round."""
    if len(trend.rounds) < 2:
        return None
    lines = [_quantile_line(trend, quantile) for quantile in trend.quantiles[:_MOST_LINES]]
    drawn = [line for line in lines if line is not None]
    return _drawn(trend, drawn, unit="value", key="quantiles", least=None) if drawn else None


def _points(trend: Trend, levels: Sequence[Level | None], *, shares: bool) -> list[_Point | None]:
    found: list[_Point | None] = []
    for each, level in zip(trend.rounds, levels, strict=True):
        if level is None:
            found.append(None)
            continue
        factor = 100 / level.people if shares else 1.0
        value = None if level.count is None else max(level.count, 0.0) * factor
        found.append(_Point(each.number, value, level.low * factor, level.high * factor))
    return found


def _quantile_line(trend: Trend, quantile: QuantileTrend) -> _Line | None:
    """The line of a quantile; an open end of an interval is drawn at the estimate."""
    points: list[_Point | None] = []
    for each, found in zip(trend.rounds, quantile.values, strict=True):
        try:
            value = float(found.value)
            low, high = (value if end is None else float(end) for end in (found.low, found.high))
        except (TypeError, ValueError):
            return None
        points.append(_Point(each.number, value, min(low, value), max(high, value)))
    return _Line("median" if quantile.share == 0.5 else f"{100 * quantile.share:.6g}%", points)


def _drawn(trend: Trend, lines: Sequence[_Line], *, unit: str, key: str, least: float | None) -> Markup:
    known = [point for line in lines for point in line.points if point is not None]
    low, high = min(point.low for point in known), max(point.high for point in known)
    room = max(high - low, 1e-9 * max(abs(high), 1.0)) * 0.05
    bottom = low - room if least is None else max(least, low - room)
    up = Axis.of(unit, bottom, high + room, logarithmic=False)
    first, last = trend.rounds[0].number, trend.rounds[-1].number

    def x(place: float) -> float:
        return (place - first) / max(last - first, 1)

    def y(value: float) -> float:
        return 1 - up.place(value)

    drawn = [_shape(line, at, x, y) for at, line in enumerate(lines)]
    for each, place in zip(drawn, _apart([each["end"] for each in drawn]), strict=True):
        each["name_y"] = f"{_down(place):.2f}%"
    return render(
        "trend_chart.html",
        key=key,
        unit=unit,
        text=_in_words(trend, lines, unit=unit),
        left=f"{_LEFT:.2f}%",
        width=f"{100 - _LEFT - _RIGHT:.2f}%",
        top=f"{_TOP:.2f}%",
        height=f"{100 - _TOP - _BOTTOM:.2f}%",
        right=f"{100 - _RIGHT:.2f}%",
        size=f"{_SIZE:.0f}",
        marks=[{"y": f"{_down(y(number)):.2f}%", "text": text} for number, text in up.marks],
        times=_times(trend, x),
        lines=drawn,
        shapes=_SHAPES,
    )


def _across(share: float) -> float:
    return _LEFT + share * (100 - _LEFT - _RIGHT)


def _down(share: float) -> float:
    return _TOP + share * (100 - _TOP - _BOTTOM)


def _shape(line: _Line, at: int, x: _Scale, y: _Scale) -> dict[str, Any]:
    """The bands, paths, dots and the name of a line."""
    few = len(line.points) <= _MOST_DOTS
    known = [point for point in line.points if point is not None]
    dots = [
        {"x": f"{_across(x(point.place)):.2f}%", "y": f"{_down(y(point.value)):.2f}%"}
        for point in known
        if few and point.value is not None
    ]
    last = known[-1] if known else None
    end = 0.5 if last is None else y(last.high if last.value is None else last.value)
    return {
        "number": at + 1,
        "name": line.name if len(line.name) <= _NAME_WIDTH else line.name[: _NAME_WIDTH - 1] + "…",
        "bands": [_polygon(part, x, y) for part in _parts(line.points)],
        "paths": [
            _path([(x(point.place), y(point.value)) for point in part if point.value is not None])
            for part in _parts([None if point is None or point.value is None else point for point in line.points])
            if len(part) > 1
        ],
        "reaches": [_reach(point, x, y) for point in known if point.value is None],
        "dots": dots,
        "end": end,
    }


def _parts(points: Sequence[_Point | None]) -> list[list[_Point]]:
    found: list[list[_Point]] = [[]]
    for point in points:
        if point is None:
            found.append([])
        else:
            found[-1].append(point)
    return [part for part in found if part]


def _polygon(part: Sequence[_Point], x: _Scale, y: _Scale) -> str:
    upper = [(x(point.place), y(point.high)) for point in part]
    lower = [(x(point.place), y(point.low)) for point in reversed(part)]
    return _path([*upper, *lower])


def _path(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{_SIZE * left:.1f},{_SIZE * down:.1f}" for left, down in points)


def _reach(point: _Point, x: _Scale, y: _Scale) -> dict[str, str]:
    """The interval of a value that was not found: an upright broken line."""
    ends = {"y1": y(point.high), "y2": y(point.low)}
    return {"x": f"{_across(x(point.place)):.2f}%", **{name: f"{_down(end):.2f}%" for name, end in ends.items()}}


def _apart(places: Sequence[float]) -> list[float]:
    """The same places, moved so that names do not touch each other."""
    step = _NAME_HEIGHT / (100 - _TOP - _BOTTOM)
    order = sorted(range(len(places)), key=lambda at: places[at])
    found = list(places)
    for before, after in pairwise(order):
        found[after] = max(found[after], found[before] + step)
    limit = 1.0
    for at in reversed(order):
        found[at] = min(found[at], limit)
        limit = found[at] - step
    return found


def _times(trend: Trend, x: _Scale) -> list[dict[str, str]]:
    """The numbers of some rounds along the axis, the first and the last among them."""
    numbers = [each.number for each in trend.rounds]
    if len(numbers) > _MOST_TIMES:
        step = math.ceil((len(numbers) - 1) / (_MOST_TIMES - 1))
        numbers = sorted({*numbers[: -max(1, step // 2) : step], numbers[-1]})
    return [{"x": f"{_across(x(number)):.2f}%", "text": f"{number:,}"} for number in numbers]


def _in_words(trend: Trend, lines: Sequence[_Line], *, unit: str) -> str:
    """The chart for screen readers: first and last estimate of every line."""
    first, last = trend.rounds[0].number, trend.rounds[-1].number
    parts = [
        f"{line.name}: {_said(line.points[0])} in round {first}, {_said(line.points[-1])} in {last}" for line in lines
    ]
    return f"Lines over rounds {first} to {last}, in {unit}. " + "; ".join(parts) + "."


def _said(point: _Point | None) -> str:
    if point is None:
        return "not asked"
    return f"at most {written(point.high)}" if point.value is None else f"about {written(point.value)}"

"""The report of a trend: one HTML page without scripts. The console includes the same parts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from shuffledp import __version__
from shuffledp.atomic_file import check_folder, refuse_existing, write_whole
from shuffledp.errors import ParameterError
from shuffledp.explain.html import render
from shuffledp.explain.privacy import Protection
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
from shuffledp.explain.trend_chart import quantile_chart, trend_chart
from shuffledp.formatting import confidence
from shuffledp.release.trend import Level, Trend
from shuffledp.release.trend_changes import Difference, Measure

MOST_ROWS = 50
"""Values in the table of changes; the files have more."""

MOST_ROUNDS = 60
"""Rounds in the table of all rounds, the latest; the files have all."""

FORMATS: dict[str, tuple[str, Callable[[Trend], str]]] = {
    ".html": ("text/html; charset=utf-8", lambda trend: page(trend)),
    ".csv": ("text/csv; charset=utf-8", lambda trend: trend.to_csv()),
    ".json": ("application/json", lambda trend: trend.to_json()),
}
"""The media type and the content of the files of a trend, by their ending."""


def page(trend: Trend) -> str:
    """Render the report."""
    return str(render("trend_report.html", **context(trend)))


def save(trend: Trend, path: Path, *, overwrite: bool = True) -> Path:
    """Write the trend in the format of the path's ending; an interrupt leaves the previous file as it was."""
    check_writable(path)
    if not overwrite:
        refuse_existing(path, how="choose another name, or set overwrite=True")
    write_whole(path, FORMATS[path.suffix.lower()][1](trend).encode())
    return path


def check_writable(path: Path) -> None:
    """Refuse a path that `save` could not write, before any work is done."""
    if path.suffix.lower() not in FORMATS:
        raise ParameterError(f"an output must end in {', '.join(FORMATS)}; got {path.name}")
    check_folder(path)


def context(trend: Trend) -> dict[str, Any]:
    """Return what the templates of a trend show: plain values, and pictures as markup."""
    listed = trend.top(MOST_ROWS)
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
                "change": change_of_quantile(each.difference()) if len(trend.rounds) > 1 else "",
            }
            for each in trend.quantiles
        ],
        "shares": trend.measure is Measure.SHARE,
        "values": [_value(few, label) for label in listed],
        "left_out": len(trend.labels) - len(listed),
        "rounds": [
            {
                "number": each.number,
                "when": when(each.when),
                "people": each.people,
                "levels": [_cell(levels[label][at]) for label in listed[:MOST_COLUMNS]],
                "protection": None if each.estimate.guarantee is None else Protection.of(each.estimate.guarantee),
            }
            for at, each in list(enumerate(trend.rounds))[-MOST_ROUNDS:]
        ],
        "columns": listed[:MOST_COLUMNS],
        "several": len(trend.rounds) > 1,
        "since": trend.rounds[0].number,
        "version": __version__,
    }


MOST_COLUMNS = 8
"""Values in the table of all rounds."""


def when(time: Any) -> str:
    """Return when a round was, to the minute."""
    return f"{time:%Y-%m-%d %H:%M}" if isinstance(time, datetime) else str(time)


def _value(trend: Trend, label: Any) -> dict[str, Any]:
    """A row of the table of changes."""
    last = trend.levels(label)[-1]
    found = trend.difference(label) if len(trend.rounds) > 1 else None
    step = trend.steps(label)[-1] if len(trend.rounds) > 2 else None
    return {
        "label": label,
        "latest": _cell(last),
        "change": _change(found, trend.measure),
        "verdict": "" if found is None else found.verdict.value,
        "step": _change(step, trend.measure),
    }


def _change(found: Difference | None, measure: Measure) -> str:
    return "" if found is None else change(found, measure, dated=False)


def _cell(level: Level | None) -> str:
    if level is None:
        return "not asked"
    if level.count is None:
        return f"not found: at most {level.high:,}"
    return f"{round(level.count):,} ({level.low:,} to {level.high:,})"

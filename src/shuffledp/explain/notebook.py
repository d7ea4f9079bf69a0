"""What a notebook shows of a release: quantiles, two columns as a table, ordered values as columns, others as bars."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from shuffledp.explain.bars import html_bars
from shuffledp.explain.distribution import quantile_rows
from shuffledp.explain.heat_map import can_be_mapped, heat_map
from shuffledp.explain.html import render, stylesheet
from shuffledp.explain.series import about_series, html_series, series_of
from shuffledp.formatting import confidence
from shuffledp.histogram.estimate import MOST_BARS, Estimate
from shuffledp.histogram.ordered_estimate import OrderedEstimate

if TYPE_CHECKING:
    from markupsafe import Markup


def cell(
    estimate: Estimate,
    *,
    limit: int,
    column: str,
    title: str,
    summary: str,
    cautions: Iterable[str] = (),
    below: Iterable[str] = (),
) -> Markup:
    """Render an estimate: a part of a page with its own style, without scripts."""
    series, pairs = series_of(estimate), can_be_mapped(estimate)
    bars = estimate.rows_to_show(limit) if not series or len(estimate) <= MOST_BARS else []
    styles = [stylesheet("bars.css"), *([stylesheet("heat_map.css")] if pairs else [])]
    return render(
        "notebook.html",
        cautions=cautions,
        title=title,
        summary=summary,
        styles=styles,
        quantiles=quantile_rows(estimate) if isinstance(estimate, OrderedEstimate) else [],
        confidence=confidence(estimate.beta),
        heat_map=heat_map(estimate, column=column) if pairs else "",
        series="" if series is None else html_series(series, column=column),
        about_series="" if series is None else about_series(series, unreported_high=unseen(estimate)),
        bars=html_bars(bars, column=column) if bars else "",
        below=below,
    )


def unseen(estimate: Estimate) -> int | None:
    """The most people with a value that is not shown; None if every value is shown."""
    return estimate.simultaneous.unreported_high if not estimate.reports_all else None

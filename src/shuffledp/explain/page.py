"""The report of a release: one HTML page without scripts, for phones, screens and paper; and a cell of a notebook.

`context` prepares everything that the macros of `templates/macros.html` show. The report includes all of them; the
console includes some. Whatever people wrote is escaped there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from shuffledp.explain.bars import html_bars
from shuffledp.explain.charts import all_values, distribution_section, privacy_curve, quantile_rows
from shuffledp.explain.heat_map import can_be_mapped, heat_map
from shuffledp.explain.html import environment, render, stylesheet
from shuffledp.explain.protocols import Protection, cap_sentences, more_than_cap_sentences, one_in, protocol_title
from shuffledp.explain.release import (
    NEGATIVE,
    evaluation_sentence,
    messages_made,
    not_shown,
    note_sentences,
    nothing_shown,
    noun,
    possible_values,
    share_interval,
    story,
    title,
    values_shown,
    warning_sentences,
)
from shuffledp.explain.series import about_series, html_series, series_of
from shuffledp.formatting import (
    confidence,
    confidence_level,
    counted,
    people_at_most,
    share_at_most,
    short_repr,
    shown,
)
from shuffledp.histogram.estimate import MOST_BARS, Estimate, Row, values_among
from shuffledp.histogram.labels import NotAValue, NoText
from shuffledp.histogram.order import is_last
from shuffledp.histogram.ordered_estimate import OrderedEstimate
from shuffledp.release.release import Release

if TYPE_CHECKING:
    from markupsafe import Markup

LONGEST_EDGES = 400
"""Characters of edges that are repeated; the JSON of a release has all of them."""

MOST_ROWS = 200
"""Rows of the table; the files have all of them."""


def page(release: Release, *, command: str | None = None) -> str:
    """Render the report. `command` is the command line that makes such a release; None leaves it out."""
    return str(render("report.html", **context(release, command=command)))


def parts(release: Release) -> Any:
    """Return the parts of a page about a release: functions without arguments that render them."""
    return environment().get_template("macros.html").make_module(context(release))


def context(release: Release, *, command: str | None = None) -> dict[str, Any]:
    """Return what the templates of a release show: plain values, and pictures as markup."""
    estimate = release.estimate
    return {
        "column": release.column if release.estimate.where is None else title(release),
        "people": estimate.people,
        "made": release.made.isoformat(),
        "version": release.version,
        "task": release.collected,
        "asked": release.asked if release.collected else {},
        "warnings": warning_sentences(release),
        "evaluation": None if release.evaluation is None else evaluation_sentence(release.evaluation),
        "headline": headline(release),
        "confidence": confidence_level(estimate.beta),
        "heat_map": heat_map(estimate, column=release.column) if can_be_mapped(estimate) else None,
        "distribution": distribution_section(estimate, column=release.column)
        if isinstance(estimate, OrderedEstimate)
        else None,
        **_pictures(release),
        "not_shown": _not_shown(release),
        "cap": [*cap_sentences(estimate.cap), *more_than_cap_sentences(estimate)],
        "guarantee": _guarantee(release),
        "story": story(release),
        "notes": note_sentences(release),
        "table": _table(release),
        "facts": _facts(release),
        "code": _code(release, command),
    }


def _pictures(release: Release) -> dict[str, Any]:
    """Ordered values as columns, and the bars of few or of the most frequent values."""
    estimate, series = release.estimate, series_of(release.estimate)
    all_fit = len(estimate) <= MOST_BARS
    told = estimate.rows_to_show(MOST_BARS) if all_fit or series is None else []
    # a column of the chart is not repeated as a bar
    drawn = told if series is None else [row for row in estimate.rows_in_order() if is_last(row.label)]
    return {
        "series": None if series is None else html_series(series, column=release.column),
        "series_title": f"All {estimate.values_shown:,} {noun(estimate)}s that are shown, in order",
        "about_series": None if series is None else about_series(series, unreported_high=unseen(estimate)),
        "bars_title": bars_title(release),
        "bars": html_bars(drawn, column=release.column) if drawn else None,
        "negative": NEGATIVE if any(row.count < 0 for row in told) else "",
        "ranks": None if estimate.values_shown <= MOST_BARS or series is not None else all_values(release),
    }


def headline(release: Release) -> list[tuple[str, str]]:
    """Return the most important numbers, each with its meaning."""
    estimate = release.estimate
    sure = f"with probability {confidence_level(estimate.beta)}"
    seen = "it stands out from a value that nobody holds" if estimate.reports_all else "it is shown"
    what = noun(estimate)
    same = f"people with the same {what}" if estimate.cap is None else f"people counted with the same {what}"
    numbers = [
        (f"{estimate.people:,}", "person took part" if estimate.people == 1 else "people took part"),
        *_who_passes(release),
        (f"{estimate.values_shown:,}", f"{what} is shown" if estimate.values_shown == 1 else f"{what}s are shown"),
        (f"{release.detection_limit:,} or more", f"{same}: {seen}, {sure}"),
    ]
    if len(estimate):  # of this very release; `release.error` was known before it, for any data
        off, things = people_at_most(estimate.largest_distance).rsplit(" ", 1)
        capped = "" if estimate.cap is None else "capped "
        numbers.append((f"± {off}", f"{things}: the largest error of a shown {capped}number, {sure}"))
    if estimate.detection is not None:
        chance = f"or less: the chance that any {what} shown is held by nobody, if no one cheats"
        numbers.append((one_in(estimate.detection.risk), chance))
    if estimate.cap is not None:
        one = estimate.cap.values == 1
        each = "value of each person counts" if one else "values of each person count"
        number = "1" if one else f"at most {estimate.cap.values:,}"
        numbers.append((number, f"{each}; errors and intervals are of these capped numbers"))
    return numbers


def _who_passes(release: Release) -> list[tuple[str, str]]:
    """The number of people who satisfy the condition; empty without one."""
    passing, where = release.estimate.passing, shown(release.estimate.where, width=200)
    if passing is None:
        return []
    return [(f"{round(passing.count):,}", f"people ({passing.low:,} to {passing.high:,}) have a value where {where}")]


def bars_title(release: Release) -> str:
    """Return the title of the bars."""
    where = release.estimate.where
    return _which_bars(release) + ("" if where is None else f", where {shown(where, width=200)}")


def _which_bars(release: Release) -> str:
    number, what = release.estimate.values_shown, noun(release.estimate)
    if not number:
        return nothing_shown(release.estimate).removesuffix(".")
    drawn = values_among(row.label for row in release.estimate.rows_to_show(MOST_BARS))
    if drawn == number:
        return f"The one {what} that is shown" if number == 1 else f"All {number:,} {what}s that are shown"
    return f"The {drawn:,} most frequent of {number:,} {what}s that are shown"


def call(release: Release) -> str:
    """Return the Python call with its options; empty if they are unknown, or the release belongs to a task."""
    if not release.asked or release.collected:
        return ""
    options = {name: repr(value) for name, value in release.asked.items() if name != "domain"}
    if "domain" in release.asked:
        options["domain"] = _in_python(release.asked["domain"])
    return f"private_histogram(data, {', '.join(f'{name}={value}' for name, value in options.items())})"


def short_edges(edges: str) -> str:
    """Return edges as they were written, or a placeholder if they are long."""
    return edges if len(edges) <= LONGEST_EDGES else "EDGES"


def _in_python(domain: Any) -> str:
    """The domain of one column or, in a list, of each column."""
    if isinstance(domain, list):
        return f"[{', '.join(map(_in_python, domain))}]"
    if not isinstance(domain, dict):
        return f"[{domain} values]"
    if "edges" in domain:
        return f"Edges({short_edges(domain['edges'])!r})"
    dates = f", date_format={domain['date_format']!r}" if "date_format" in domain else ""
    return f"Periods({domain['by']!r}, start={domain['from']!r}, stop={domain['to']!r}{dates})"


def _not_shown(release: Release) -> str:
    estimate, what = release.estimate, noun(release.estimate)
    if estimate.reports_all:
        return f"Every possible value is shown with noise, also values that nobody holds.{_special(release)}"
    most = counted(release.estimate.simultaneous.unreported_high, "person")
    number = estimate.values_shown
    other = (
        f"A {what} that is not among the {number:,}"
        if number > MOST_BARS
        else f"A {what} that is {not_shown(estimate)}"
    )
    held = "is held by" if estimate.cap is None else "is counted for"
    never = "No value is shown that nobody holds. " if estimate.detection is None else ""
    return f"{never}{other} {held} at most {most}.{_special(release)}"


def _special(release: Release) -> str:
    """What the rows stand for that are no answers of their own."""
    labels, texts = release.estimate.labels.tolist(), noun(release.estimate) == "text"
    meanings = {
        "(other)": "texts that are too long or have characters that are not counted" if texts else "any other answer",
        "(none)": "no answer",
        "(hidden)": "texts that the publisher does not show",
    }
    names = {str(label) for label in labels if isinstance(label, NoText if texts else str) and is_last(label)}
    known = [f"{name} stands for {meaning}" for name, meaning in meanings.items() if name in names]
    return f" {'; '.join(known)}." if known and (texts or release.collected) else ""


def _guarantee(release: Release) -> dict[str, Any] | None:
    """The privacy guarantee in everyday numbers, with its curve; None if the release has none."""
    guarantee = release.estimate.guarantee
    if guarantee is None:
        return None
    several = release.group_privacy
    return {
        "protection": Protection.of(guarantee),
        "several": several,
        "of_several": None if several is None else Protection.of(several),
        "curve": privacy_curve(release),
        "exact": release.privacy.exact,
        "neighbours": release.privacy.neighbours,
    }


def _table(release: Release) -> dict[str, Any] | None:
    estimate = release.estimate
    if not len(estimate):
        return None
    listed = estimate.rows_to_show(MOST_ROWS)
    some, number = values_among(row.label for row in listed), estimate.values_shown
    which = "largest" if estimate.in_order else "first"
    return {
        "value": noun(estimate),
        "which": f"the {which} {some:,} of {number:,} {noun(estimate)}s" if some < number else values_shown(estimate),
        "share": "share" if estimate.passing is None else "share of those who pass",
        "rows": [(row, _share(estimate, row)) for row in listed],
    }


def _share(estimate: Estimate, row: Row) -> str:
    """The share of all people or, with a condition, of those who satisfy it, with its interval."""
    if estimate.passing is None:
        return f"{row.count / estimate.people:.3%}"
    if isinstance(row.label, NotAValue):
        return ""
    return share_interval(estimate.passing.share(row.count, low=row.low, high=row.high))


def _facts(release: Release) -> dict[str, str]:
    """Everything that is needed to make such a release again, except the data."""
    estimate, guarantee = release.estimate, release.estimate.guarantee
    return {
        "Question" if release.collected else "Column": shown(release.column, width=200),
        **({} if estimate.where is None else {"Condition": shown(estimate.where, width=200)}),
        "People": f"{estimate.people:,}",
        "Possible values": possible_values(release),
        "Privacy guarantee": "none was asked for"
        if guarantee is None
        else f"epsilon {share_at_most(guarantee.epsilon, digits=6)}, delta {share_at_most(guarantee.delta, digits=6)} "
        f"for the whole release ({guarantee.basis})",
        "Protocol": protocol_title(release.title),
        "Messages": messages_made(release),
        "Day": release.made.isoformat(),
        "Program": f"shuffledp {release.version}",
    }


def _code(release: Release, command: str | None) -> dict[str, str]:
    found = {
        "In Python": call(release),
        "On the command line": command or "",
        "Parameters": short_repr(release.protocol),
    }
    return {name: text for name, text in found.items() if text}


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

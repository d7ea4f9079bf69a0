"""Releases over time in words: which values changed, by how much, and which differences may be noise."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from shuffledp.formatting import confidence, counted, sentence, share_at_least, share_at_most, shown
from shuffledp.histogram.ordered_estimate import Quantile, written
from shuffledp.release.trend import Level, Trend
from shuffledp.release.trend_changes import Difference, Measure, QuantileDifference, QuantileTrend, Verdict

MOST_SENTENCES = 3
"""Values that the first lines name; the table has more."""

MOST_ROWS = 15
"""Rows of a table on a terminal."""

_MOST_COLUMNS = 4
"""Rounds that a table on a terminal shows: the first and the latest."""

_WIDTH = 24


def headline(trend: Trend, *, since: int | None = None, question: bool = True) -> str:
    """Return the answer in one sentence: how many values changed since the first or a given round.

    It begins with the `question` unless that stands above it.
    """
    named = sentence(rounds_so_far(trend))
    if question:
        asked = shown(trend.question)
        named = f"{asked} {named}" if asked.endswith("?") else f"{asked}, {rounds_so_far(trend)}"
    if len(trend.rounds) < 2:
        return f"{named}: one round cannot show a change."
    changed, compared = trend.changed(since=since)
    which = f"{changed:,} of {counted(compared, 'value')}"
    past = f"since round {trend.rounds[0].number if since is None else since}"
    return f"{named}: {which} changed {past}." if changed else f"{named}: no evidence of any change {past}."


def rounds_so_far(trend: Trend) -> str:
    """Return which rounds there are, and how many are planned."""
    first, last = trend.rounds[0].number, trend.rounds[-1].number
    there = f"round {first}" if first == last else f"rounds {first} to {last}"
    missing = last - first + 1 - len(trend.rounds)
    without = f" ({missing:,} without a release)" if missing else ""
    return f"{there} of {trend.planned:,}{without}"


def change(found: Difference, measure: Measure, *, dated: bool = True) -> str:
    """Return a change in words, without the name of the value; `dated` adds since when."""
    since = f" since round {found.since}" if dated else ""
    ends = _ends(found, measure)
    if found.verdict is Verdict.NO_EVIDENCE:
        return f"no evidence of a change{since} (between {ends[0]} and {ends[1]} {_unit(measure)})"
    least, most = sorted(ends, key=lambda end: float(end.lstrip("+-").replace(",", "")))
    return f"{found.verdict.value} by {_bare(least)} to {_bare(most)} {_unit(measure)}{since}"


def interval_of_change(found: Difference, measure: Measure) -> str:
    """Return the interval of a change in few characters."""
    low, high = _ends(found, measure)
    return f"{low} to {high}"


def _unit(measure: Measure) -> str:
    return "people" if measure is Measure.PEOPLE else "percentage points"


def _bare(end: str) -> str:
    return end.lstrip("+-")


def _ends(found: Difference, measure: Measure) -> tuple[str, str]:
    """Both ends with their signs; shares in percentage points, rounded outwards."""
    if measure is Measure.PEOPLE:
        return _signed(found.low), _signed(found.high)
    low, high = 100 * found.share_low, 100 * found.share_high
    return _points(low, up=False), _points(high, up=True)


def _signed(number: int) -> str:
    return f"{number:+,}" if number else "0"


def _points(number: float, *, up: bool) -> str:
    """Percentage points with two digits after the point, or two digits if there are fewer; rounded up or down."""
    if number == 0:
        return "0"
    if abs(number) >= _SMALL:
        hundredths = math.ceil(number * 100 - _TIE) if up else math.floor(number * 100 + _TIE)
        return f"{hundredths / 100:+.2f}"
    outwards = up == (number > 0)
    text = share_at_most(abs(number), digits=2) if outwards else share_at_least(abs(number), digits=2)
    return f"{'+' if number > 0 else '-'}{float(text):.10f}".rstrip("0")


_SMALL = 0.1
_TIE = 1e-9
"""Hundredths of a percentage point: a number with two digits after the point is not rounded to the next one."""


def change_of_quantile(found: QuantileDifference) -> str:
    """Return the change of a quantile in words."""
    since = f"since round {found.since}"
    ends = [None if end is None else f"{end:+,.10g}" if end else "0" for end in (found.low, found.high)]
    between = "" if None in ends else f" (between {ends[0]} and {ends[1]})"
    if found.verdict is Verdict.NO_EVIDENCE:
        return f"no evidence of a change {since}{between}"
    if 0 in (found.low, found.high):  # both quantiles lie in intervals that meet at an edge
        most = next((end for end in (found.low, found.high) if end), None)
        return f"{found.verdict.value} {since}" + ("" if most is None else f" (by less than {abs(most):,.10g})")
    return f"{found.verdict.value} {since}{between}"


def quantile_name(quantile: QuantileTrend) -> str:
    """Return the name of a quantile: the median, or the share of people who have at most this value."""
    return "median" if quantile.share == 0.5 else f"{100 * quantile.share:.6g}% have at most"


def quantile_cell(found: Quantile) -> str:
    """Return the estimate and interval of a quantile in few characters."""
    if found.edged and found.low is None and found.high is None:
        return "not determined"
    return f"{written(found.value)} ({found.interval})"


def sentences(trend: Trend, limit: int = MOST_SENTENCES, *, since: int | None = None) -> list[str]:
    """Return the changes of the median and of values since a round: first values that changed, then frequent ones."""
    if len(trend.rounds) < 2:
        return []
    middle = next((each for each in trend.quantiles if each.share == 0.5), None)
    found = [] if middle is None else [f"{quantile_name(middle)}: {change_of_quantile(middle.difference(since=since))}"]
    differences = {each.label: each for each in trend.differences(since=since)}
    order = [differences[label] for label in trend.top() if label in differences]
    order.sort(key=lambda each: each.verdict is Verdict.NO_EVIDENCE)
    return found + [f"{shown(each.label)}: {change(each, trend.measure)}" for each in order[: limit - len(found)]]


def confidence_sentence(trend: Trend) -> str:
    """Return for what the intervals hold, and with which confidence."""
    sure = f"All intervals and changes hold at once with {confidence(min(trend.beta, 0.999))} confidence"
    more = len(trend.rounds) < trend.planned
    rounds = f", for all {trend.planned:,} planned rounds: later rounds do not change them." if more else "."
    return sure + rounds


def cautions(trend: Trend) -> list[str]:
    """Return what makes a trend weaker than it was asked for, and what is compared."""
    found = []
    own = [each.number for each in trend.rounds if not each.as_planned]
    if own:
        which = f"round {own[0]}" if len(own) == 1 else f"{counted(len(own), 'round')}"
        needed = share_at_least(min(trend.risks.each_round, 1.0), digits=2)
        found.append(
            f"The confidence is {confidence(min(trend.beta, 0.999))} instead of {confidence(trend.asked_beta)}: the "
            f"release of {which} cannot be stated with other intervals. Make releases with beta {needed} or less."
        )
    if trend.measure is Measure.SHARE:
        found.append("Rounds have different numbers of people, so changes are differences of shares.")
    return found


def details(trend: Trend) -> dict[str, str]:
    """Return paragraphs by title: what the intervals cover, and how the confidence is shared."""
    risks = trend.risks
    parts = {
        "Intervals": "All intervals of all values in all rounds hold at once. So do the intervals of the changes of "
        "all values between any two rounds. They are about the people who answered.",
        "Planned rounds": f"{counted(trend.planned, 'round')} share the risk from the start: each may fail with "
        f"probability {share_at_most(risks.each_round, digits=3)}. The noise of rounds is independent.",
    }
    if risks.each_pair:
        parts["Changes"] = (
            "Half of the risk is for changes: the noise of both rounds is known, and the exact distribution of its "
            f"difference gives shorter intervals. Each pair of rounds may fail with probability "
            f"{share_at_most(risks.each_pair, digits=3)}."
        )
    else:
        parts["Changes"] = "The interval of a change is the difference of two intervals, at no further risk."
    return parts


def cell(level: Level | None) -> str:
    """Return the number of people of a value in a round, for a table."""
    if level is None:
        return "not asked"
    return f"at most {level.high:,}" if level.count is None else f"{round(level.count):,}"


def text(trend: Trend) -> str:
    """Format the trend for a terminal: the answer, the confidence, a table."""
    return "\n".join(
        [headline(trend), *sentences(trend), confidence_sentence(trend), *cautions(trend), "", *table(trend)]
    )


def table(trend: Trend, limit: int = MOST_ROWS) -> list[str]:
    """Return the lines of a table: numbers of people by round, and the changes since the first and the previous."""
    names, rows = table_rows(trend, limit)
    widths = [max(len(row[at]) for row in [names, *rows]) for at in range(len(names))]
    return [_aligned(row, widths) for row in [names, *rows]]


def table_rows(trend: Trend, limit: int = MOST_ROWS, *, since: int | None = None) -> tuple[list[str], list[list[str]]]:
    """Return the names of the columns, and the rows of a table."""
    rounds = list(range(len(trend.rounds)))
    drawn = rounds if len(rounds) <= _MOST_COLUMNS else [0, *rounds[1 - _MOST_COLUMNS :]]
    names = ["value", *(f"round {trend.rounds[at].number}" for at in drawn)]
    if len(rounds) > 1:
        names.append(f"since round {trend.rounds[0].number if since is None else since}")
    if len(rounds) > 2 and since is None:
        names.append(f"since round {trend.rounds[-2].number}")
    kept = set(trend.top(limit))
    listed = [label for label in trend.labels if label in kept] if trend.quantiles else trend.top(limit)
    return names, [list(_row(trend, label, drawn, since)) for label in listed]


def _row(trend: Trend, label: Any, drawn: list[int], since: int | None) -> Iterator[str]:
    yield shown(label, width=_WIDTH)
    levels = trend.levels(label)
    for at in drawn:
        yield cell(levels[at])
    if len(levels) > 1:
        yield _table_change(trend.difference(label, since=since), trend.measure)
    if len(levels) > 2 and since is None:
        yield _table_change(trend.steps(label)[-1], trend.measure)


_MARKS = {Verdict.UP: "up", Verdict.DOWN: "down", Verdict.NO_EVIDENCE: "?"}


def _table_change(found: Difference | None, measure: Measure) -> str:
    return "" if found is None else f"{_MARKS[found.verdict]} {interval_of_change(found, measure)}"


def _aligned(row: list[str], widths: list[int]) -> str:
    first, *others = zip(row, widths, strict=True)
    return "  ".join([f"{first[0]:<{first[1]}}", *(f"{cell:>{width}}" for cell, width in others)]).rstrip()

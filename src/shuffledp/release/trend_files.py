"""A trend as JSON and CSV. docs/reference/results.md describes every key and column."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from shuffledp import __version__
from shuffledp.histogram.export import csv_cell, harmless
from shuffledp.jsonable import label_with_kind, plain, plain_label
from shuffledp.release.trend_quantiles import QuantileTrend

if TYPE_CHECKING:
    from shuffledp.release.trend import Level, Trend
    from shuffledp.release.trend_changes import Difference

FORMAT = 1
"""The version of the JSON object; it grows with every incompatible change."""

MOST_VALUES, MOST_ROWS = 1000, 50_000
"""Values in a file, the most frequent of the latest round, and values times rounds. The intervals hold for all values,
so the choice costs nothing."""


def to_dict(trend: Trend) -> dict[str, Any]:
    """Everything about a trend as plain values."""
    listed, everything = _listed(trend), len(trend.labels)
    trend = trend.only(listed)
    return {
        "shuffledp_trend": FORMAT,
        "shuffledp_version": __version__,
        "question": trend.question,
        "planned_rounds": trend.planned,
        "beta": trend.beta,
        "asked_beta": trend.asked_beta,
        "measure": trend.measure.value,
        "rounds": [
            {
                "number": each.number,
                "when": str(each.when),
                "people": each.people,
                "beta": each.beta,
                "as_planned": each.as_planned,
                "unreported_high": each.estimate.simultaneous.unreported_high,
                "guarantee": plain(each.estimate.guarantee),
            }
            for each in trend.rounds
        ],
        "values": [
            {**label_with_kind(label), "levels": [_level(one) for one in trend.levels(label)]} for label in listed
        ],
        "values_left_out": everything - len(listed),
        "differences": [_difference(one) for label in listed for one in _reported(trend, label)],
        "quantiles": [_quantile(each) for each in trend.quantiles],
    }


def to_json(trend: Trend) -> str:
    """Format everything about a trend as one JSON object."""
    return json.dumps(to_dict(trend), allow_nan=False)


def to_csv(trend: Trend, *, raw: bool = False) -> str:
    """Format a row for each value and round, with its changes since the previous and since the first round."""
    rows, trend = [_COLUMNS], trend.only(_listed(trend))
    for label in trend.labels:
        text = plain_label(label) if raw else harmless(plain_label(label))
        steps, so_far = [None, *trend.steps(label)], [None, *trend.since_first(label)]
        for at, (each, level) in enumerate(zip(trend.rounds, trend.levels(label), strict=True)):
            when = str(each.when)
            known = _level(level) or dict.fromkeys(("count", "low", "high", "share", "share_low", "share_high"))
            cells = [
                *(text, each.number, when if raw else harmless(when), each.people),
                *(known[name] for name in ("count", "low", "high", "share", "share_low", "share_high")),
                *_change(steps[at]),
                *_change(so_far[at]),
                *(trend.measure.value, trend.beta, trend.planned),
            ]
            rows.append(list(map(csv_cell, cells)))
    return "\n".join(",".join(row) for row in rows) + "\n"


_CHANGES = ("low", "high", "share_low", "share_high", "verdict")
_COLUMNS = [
    *("label", "round", "when", "people", "count", "low", "high", "share", "share_low", "share_high"),
    *(f"since_previous_{name}" for name in _CHANGES),
    *(f"since_first_{name}" for name in _CHANGES),
    *("measure", "beta", "planned_rounds"),
]


def _change(found: Difference | None) -> list[Any]:
    return [None] * len(_CHANGES) if found is None else [getattr(found, name) for name in _CHANGES]


def _listed(trend: Trend) -> list[Any]:
    """The values that a file has: in the order of the trend, the most frequent if there are many."""
    kept = set(trend.top(max(1, min(MOST_VALUES, MOST_ROWS // len(trend.rounds)))))
    return [label for label in trend.labels if label in kept]


def _level(level: Level | None) -> dict[str, Any] | None:
    if level is None:
        return None
    names = ("round", "count", "low", "high", "share", "share_low", "share_high")
    return {name: getattr(level, name) for name in names}


def _reported(trend: Trend, label: Any) -> list[Difference]:
    """The changes from each round to the next, and from the first to the last if there are more than two rounds."""
    found = trend.steps(label)
    if len(trend.rounds) > 2:
        found.append(trend.difference(label))
    return [each for each in found if each is not None]


def _difference(found: Difference) -> dict[str, Any]:
    names = ("since", "until", "low", "high", "share_low", "share_high", "verdict", "exact")
    return {**label_with_kind(found.label), **{name: getattr(found, name) for name in names}}


def _quantile(found: QuantileTrend) -> dict[str, Any]:
    ends = [
        {"round": number, **{name: _number(getattr(each, name)) for name in ("value", "low", "high")}}
        for number, each in zip(found.numbers, found.values, strict=True)
    ]
    pairs = list(zip(found.numbers, found.numbers[1:], strict=False))
    if len(found.numbers) > 2:
        pairs.append((found.numbers[0], found.numbers[-1]))
    differences = [plain(found.difference(since=since, until=until)) for since, until in pairs]
    return {"share": found.share, "levels": ends, "differences": differences}


def _number(end: Any) -> Any:
    return float(end) if isinstance(end, Decimal) else plain_label(end)

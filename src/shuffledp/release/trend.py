"""Several releases of one question over time: joint intervals of all rounds, and differences between rounds.

All intervals of a trend hold at once with probability at least 1 - beta: those of all values in all rounds, and those
of the differences of all values between any two rounds. `planned` rounds share beta, however many there are so far, so
an interval does not change when a round is added. docs/proofs/intervals.md has the proofs.

- Rounds have independent noise, so each may fail with probability 1 - (1 - beta)^(1 / planned).
- The difference of two intervals is an interval of the difference, at no further risk.
- Where the noise of two rounds has known distributions, the exact distribution of their difference gives a shorter one.
  Half of beta is then for the differences, in equal parts for all pairs of planned rounds.
- A release that cannot be stated with the confidence that this needs keeps its own, and `beta` grows.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from shuffledp import __version__
from shuffledp.accounting.calibration import MOST_ROUNDS
from shuffledp.errors import LabelError, ParameterError
from shuffledp.formatting import ShortRepr, shown
from shuffledp.histogram.export import csv_cell, harmless
from shuffledp.histogram.labels import NotAValue
from shuffledp.jsonable import label_with_kind, plain, plain_label
from shuffledp.release.release import Release
from shuffledp.release.trend_changes import Changes, Difference, Measure, QuantileTrend, decimal_share, quantile_trends
from shuffledp.release.trend_rounds import (
    Numbers,
    Risks,
    Round,
    RoundEstimate,
    check_same_question,
    estimated,
    is_exact,
    labels_of,
    numbered,
)
from shuffledp.validation import failure_probability, whole

FORMAT = 1
"""It grows with every incompatible change."""

MOST_VALUES, MOST_ROWS = 1000, 50_000
"""Values in a file, the most frequent of the latest round, and values times rounds. The intervals hold for all values,
so the choice costs nothing."""

_LEVELS = ("count", "low", "high", "share", "share_low", "share_high")
_CHANGES = ("low", "high", "share_low", "share_high", "verdict")
_COLUMNS = [
    *("label", "round", "when", "people"),
    *_LEVELS,
    *(f"since_previous_{name}" for name in _CHANGES),
    *(f"since_first_{name}" for name in _CHANGES),
    *("measure", "beta", "planned_rounds"),
]


@dataclass(frozen=True, kw_only=True)
class Level:
    """The number of people of a value in one round; `count` is None if the value was not found."""

    round: int
    count: float | None
    low: int
    high: int
    people: int

    @property
    def share(self) -> float | None:
        """The estimated share of the people."""
        return None if self.count is None else self.count / self.people

    @property
    def share_low(self) -> float:
        """The smallest share, rounded down."""
        return decimal_share(self.low, self.people, up=False)

    @property
    def share_high(self) -> float:
        """The largest share, rounded up."""
        return decimal_share(self.high, self.people, up=True)


@dataclass(frozen=True, eq=False, kw_only=True)
class Trend(ShortRepr):
    """Releases of one question over time. The probability that any interval fails is at most `beta`.

    `asked_beta` was asked for. `labels` are all values that were found in any round, in their order if they have one.
    """

    question: str
    rounds: tuple[RoundEstimate, ...]
    risks: Risks
    beta: float
    asked_beta: float
    labels: tuple[Any, ...] = field(repr=False)
    quantiles: tuple[QuantileTrend, ...] = ()

    @classmethod
    def of(
        cls,
        releases: Iterable[Release | Round | str | Path],
        *,
        rounds: int | None = None,
        beta: float = 0.05,
        times: Sequence[date | datetime | str] | None = None,
    ) -> Trend:
        """Return the trend of releases, or of release files, in the order of time.

        `rounds` is the number of planned rounds, by default the number of releases: intervals then hold for these.
        `times` name the rounds; by default they are the days on which the releases were made.
        """
        listed = numbered(releases, times)
        planned = len(listed) if rounds is None else whole("rounds", rounds)
        if not max(each.number for each in listed) <= planned <= MOST_ROUNDS:
            raise ParameterError(
                f"rounds must be at most {MOST_ROUNDS:,} and at least the largest number of a round, "
                f"{max(each.number for each in listed)}, got {planned}"
            )
        check_same_question([each.release for each in listed])
        beta = failure_probability(beta)
        exact = any(is_exact(each.release.protocol) for each in listed)
        risks = Risks.of(beta, planned, exact=exact)
        found = tuple(estimated(each, risks) for each in listed)
        return cls(
            question=listed[-1].release.column,
            rounds=found,
            risks=risks,
            beta=beta if all(each.as_planned for each in found) else risks.total(each.beta for each in found),
            asked_beta=beta,
            labels=labels_of(found),
            quantiles=quantile_trends([(each.number, each.estimate) for each in found]),
        )

    @property
    def planned(self) -> int:
        """The number of planned rounds, for all of which the intervals hold."""
        return self.risks.planned

    @cached_property
    def measure(self) -> Measure:
        """What verdicts compare."""
        return Measure.PEOPLE if len({each.people for each in self.rounds}) == 1 else Measure.SHARE

    def levels(self, label: Any) -> list[Level | None]:
        """The value in each round; None where it was not a possible answer."""
        place = self._place(label)
        return [self._level(each, at, place) for at, each in enumerate(self.rounds)]

    def _level(self, each: RoundEstimate, at: int, place: int) -> Level | None:
        numbers = self._numbers
        if not numbers.possible[at, place]:
            return None
        count = float(numbers.counts[at, place])
        return Level(
            round=each.number,
            count=None if math.isnan(count) else count,
            low=int(numbers.low[at, place]),
            high=int(numbers.high[at, place]),
            people=each.people,
        )

    def top(self, limit: int | None = None) -> list[Any]:
        """The values with the most people in the latest round, which decides first."""
        last = np.nan_to_num(self._numbers.counts[-1], nan=-1.0)
        not_values = [isinstance(label, NotAValue) for label in self.labels]
        order = np.lexsort((-self._numbers.high.max(axis=0), -last, not_values))
        return [self.labels[at] for at in order[:limit].tolist()]

    def difference(self, label: Any, *, since: int | None = None, until: int | None = None) -> Difference | None:
        """The change of a value between two rounds, by default the first and the last.

        None if the value was not a possible answer in one of them.
        """
        place = self._place(label)
        return self._between(*self._two(since, until)).at(place, label)

    def differences(self, *, since: int | None = None, until: int | None = None) -> list[Difference]:
        """The changes of all values between two rounds, by default the first and the last."""
        changes = self._between(*self._two(since, until))
        found = (changes.at(place, label) for place, label in enumerate(self.labels))
        return [each for each in found if each is not None]

    def changed(self, *, since: int | None = None, until: int | None = None) -> tuple[int, int]:
        """The number of values that changed between two rounds, and of all values that are compared."""
        return self._between(*self._two(since, until)).changed

    def only(self, labels: Iterable[Any]) -> Trend:
        """The same trend with some of its values; their intervals still hold with those of all others."""
        return replace(self, labels=tuple(self.labels[self._place(label)] for label in labels))

    def steps(self, label: Any) -> list[Difference | None]:
        """The changes of a value from each round to the next."""
        place = self._place(label)
        return [self._between(at, at + 1).at(place, label) for at in range(len(self.rounds) - 1)]

    def since_first(self, label: Any) -> list[Difference | None]:
        """The changes of a value from the first round to each later one."""
        place = self._place(label)
        return [self._between(0, at).at(place, label) for at in range(1, len(self.rounds))]

    def _two(self, since: int | None, until: int | None) -> tuple[int, int]:
        numbers = [each.number for each in self.rounds]
        two = [numbers[0] if since is None else since, numbers[-1] if until is None else until]
        for name, number in zip(("since", "until"), two, strict=True):
            if number not in numbers:
                raise ParameterError(f"{name} must be the number of a round with a release, got {shown(number)}")
        one, other = (numbers.index(number) for number in two)
        if one >= other:
            raise ParameterError(f"since must be an earlier round than until, got {two[0]} and {two[1]}")
        return one, other

    def _place(self, label: Any) -> int:
        found = self._places.get(label)
        if found is None:
            raise LabelError(f"label must be a value that was found in a round, got {shown(label)}")
        return found

    @cached_property
    def _places(self) -> dict[Any, int]:
        return {label: at for at, label in enumerate(self.labels)}

    @cached_property
    def _numbers(self) -> Numbers:
        return Numbers.of(self.rounds, self.labels)

    @cached_property
    def _known_changes(self) -> dict[tuple[int, int], Changes]:
        return {}

    def _between(self, one: int, other: int) -> Changes:
        if (one, other) not in self._known_changes:
            risk = self.risks.each_pair
            self._known_changes[one, other] = Changes.of(
                self._numbers, self.rounds, one, other, measure=self.measure, risk=risk
            )
        return self._known_changes[one, other]

    def __str__(self) -> str:
        from shuffledp.explain.trend import text

        return text(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything about the trend as plain Python values, as docs/reference/results.md describes them."""
        listed, everything = _listed(self), len(self.labels)
        trend = self.only(listed)
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

    def to_json(self) -> str:
        """Format everything about the trend as one JSON object."""
        return json.dumps(self.to_dict(), allow_nan=False)

    def to_csv(self, *, raw: bool = False) -> str:
        """Format a row for each value and round as CSV text; `raw` leaves labels unchanged (`Estimate.to_csv`)."""
        rows, trend = [_COLUMNS], self.only(_listed(self))
        for label in trend.labels:
            text = plain_label(label) if raw else harmless(plain_label(label))
            steps, so_far = [None, *trend.steps(label)], [None, *trend.since_first(label)]
            for at, (each, level) in enumerate(zip(trend.rounds, trend.levels(label), strict=True)):
                when = str(each.when)
                cells = [
                    *(text, each.number, when if raw else harmless(when), each.people),
                    *_values(level, _LEVELS),
                    *_values(steps[at], _CHANGES),
                    *_values(so_far[at], _CHANGES),
                    *(trend.measure.value, trend.beta, trend.planned),
                ]
                rows.append(list(map(csv_cell, cells)))
        return "\n".join(",".join(row) for row in rows) + "\n"

    def to_html(self) -> str:
        """The report: a self-contained page without scripts, for any screen and for paper."""
        from shuffledp.explain.trend_page import page

        return page(self)

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write a .html, .csv or .json file, by the ending of its name; an existing file is kept unless `overwrite`."""
        from shuffledp.explain.trend_page import save

        return save(self, Path(path), overwrite=overwrite)


def _values(found: Level | Difference | None, names: Sequence[str]) -> list[Any]:
    return [None if found is None else getattr(found, name) for name in names]


def _listed(trend: Trend) -> list[Any]:
    """In the order of the trend, the most frequent values if there are many."""
    kept = set(trend.top(max(1, min(MOST_VALUES, MOST_ROWS // len(trend.rounds)))))
    return [label for label in trend.labels if label in kept]


def _level(level: Level | None) -> dict[str, Any] | None:
    return None if level is None else {name: getattr(level, name) for name in ("round", *_LEVELS)}


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

"""The rounds of a trend: which releases can be compared, how they share the risk of a failure, and their numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.rounding import SEVERAL_OPERATIONS
from shuffledp.errors import DataError, ParameterError
from shuffledp.estimators.base import AdditiveNoise, IntervalsFromCounts, around_estimates
from shuffledp.formatting import ShortRepr, shown
from shuffledp.histogram.estimate import Estimate
from shuffledp.histogram.labels import HIDDEN, NotAValue, NoText
from shuffledp.histogram.order import increasing
from shuffledp.histogram.ordered_estimate import OrderedEstimate
from shuffledp.protocols.protocol import HistogramProtocol
from shuffledp.protocols.ranges import ranges_of
from shuffledp.release.release import Release

_DIFFERENCES = 0.5
"""The share of beta for exact differences. Widths grow with the logarithm of a share, so another one would change them
little."""


class Round(NamedTuple):
    """One release of a trend: its number, from 1, and when it was made or for which time."""

    number: int
    when: date | datetime | str
    release: Release


@dataclass(frozen=True, kw_only=True)
class Risks:
    """How beta is shared: `each_round` for the intervals of a round, `each_pair` for exact differences of two."""

    planned: int
    each_round: float
    each_pair: float

    @classmethod
    def of(cls, beta: float, planned: int, *, exact: bool) -> Risks:
        """Share beta among the planned rounds and, if there are exact differences, all pairs of them."""
        pairs = planned * (planned - 1) // 2
        aside = _DIFFERENCES * beta if exact and pairs else 0.0
        each = -math.expm1(math.log1p(-(beta - aside)) / planned) * (1 - SEVERAL_OPERATIONS)
        return cls(planned=planned, each_round=each, each_pair=aside / pairs if pairs else 0.0)

    def for_estimate(self, *, ordered: bool) -> float:
        """The beta of the estimate of a round; one of ordered values has two families of intervals, which share it."""
        return self.each_round / 2 if ordered else self.each_round

    def total(self, rounds: Iterable[float]) -> float:
        """The probability that any interval fails, if these rounds have other risks than planned."""
        own = list(rounds)
        logs = [math.log1p(-risk) for risk in (*own, *[self.each_round] * (self.planned - len(own)))]
        return -math.expm1(math.fsum(logs)) + self.each_pair * (self.planned * (self.planned - 1) // 2)


def is_exact(protocol: HistogramProtocol) -> bool:
    """Whether the errors of a protocol have a known distribution, so that differences are exact."""
    return isinstance(protocol.estimator, AdditiveNoise)


@dataclass(frozen=True, eq=False, kw_only=True)
class RoundEstimate(ShortRepr):
    """A round with the estimate that the trend uses; `beta` is its share of the risk.

    `as_planned` is False if the release keeps its own confidence, which is smaller than planned.
    """

    number: int
    when: date | datetime | str
    estimate: Estimate
    protocol: HistogramProtocol
    beta: float
    as_planned: bool

    @property
    def people(self) -> int:
        """The number of people."""
        return self.estimate.people


def numbered(
    releases: Iterable[Release | Round | str | Path], times: Sequence[date | datetime | str] | None
) -> list[Round]:
    """The rounds in their order, numbered from 1 unless they have numbers."""
    given = list(releases)
    if not given:
        raise ParameterError("releases must be at least one release, got none")
    if times is not None and len(times) != len(given):
        raise ParameterError(f"times must name each of the {len(given)} releases, got {len(times)}")
    files = [Path(each).resolve() if isinstance(each, Path) else each for each in given if isinstance(each, str | Path)]
    if len(set(files)) < len(files):
        raise DataError("a release is given twice: the noise of all rounds must be independent")
    found = []
    for at, each in enumerate(given):
        if isinstance(each, Round):
            found.append(each)
            continue
        release = each if isinstance(each, Release) else Release.from_json(each)
        found.append(Round(at + 1, release.made if times is None else times[at], release))
    numbers = [each.number for each in found]
    if numbers != sorted(set(numbers)) or numbers[0] < 1:
        raise ParameterError("the numbers of rounds must increase from 1")
    return found


def check_same_question(releases: Sequence[Release]) -> None:
    """Refuse releases that cannot be compared, or that share noise."""
    first = releases[0]
    if any(one is other for at, one in enumerate(releases) for other in releases[:at]):
        raise DataError("a release is given twice: the noise of all rounds must be independent")
    for each in releases[1:]:
        if each.column != first.column:
            raise DataError(
                f"releases must be of one question: {shown(first.column)} and {shown(each.column)} are different"
            )
        if each.estimate.where != first.estimate.where or each.estimate.cap != first.estimate.cap:
            raise DataError("releases must count the same people: their conditions or caps differ")
        if each.estimate.bins != first.estimate.bins and not (each.estimate.reports_all and first.estimate.reports_all):
            raise DataError("releases must have the same possible values: their numbers of values differ")
    tasks = [each.asked["task"] for each in releases if each.collected]
    joined = {each.asked["task"] for each in releases if each.collected and each.asked.get("batches") != 1}
    if any(tasks.count(task) > 1 for task in joined):
        raise DataError("releases of joined batches of one task share noise: use one release of each round")


def estimated(each: Round, risks: Risks) -> RoundEstimate:
    """The round with the confidence that the trend needs, if its release can be stated with it."""
    estimate, protocol = each.release.estimate, each.release.protocol
    ordered = isinstance(estimate, OrderedEstimate)
    found = with_confidence(estimate, protocol, beta=risks.for_estimate(ordered=ordered))
    kept = estimate.beta * (2 if ordered else 1)
    return RoundEstimate(
        number=each.number,
        when=each.when,
        estimate=estimate if found is None else found,
        protocol=protocol,
        beta=min(kept, 1 - SEVERAL_OPERATIONS) if found is None else risks.each_round,
        as_planned=found is not None,
    )


def with_confidence(estimate: Estimate, protocol: HistogramProtocol, *, beta: float) -> Estimate | None:
    """Return the estimate with intervals that fail with probability at most beta; None if that is impossible.

    Many releases show the number of messages of every bin: the estimate differs from it by a known number. The
    intervals of any confidence then follow, without the data and without any privacy cost. Other releases keep their
    confidence: those that were adjusted, that select values or hide some, and those whose estimates do not determine
    the messages. An estimate that is at least as confident is returned unchanged.
    """
    if estimate.beta <= beta:
        return estimate
    estimator = protocol.estimator
    if estimate.adjusted or estimate.detection is not None or not isinstance(estimator, IntervalsFromCounts):
        return None
    if estimator.false_positives and len(estimate) != protocol.bins:
        return None  # some values were left out
    if HIDDEN in estimate.labels.tolist():
        return None  # the sum of several bins
    try:
        per_bin, simultaneous = around_estimates(
            estimate.counts,
            per_bin=estimator.intervals_from_counts(estimate.counts, beta=beta, bins=1),
            simultaneous=estimator.intervals_from_counts(estimate.counts, beta=beta, bins=protocol.bins),
        )
    except DataError:
        return None
    found = replace(estimate, per_bin=per_bin, simultaneous=simultaneous, beta=beta)
    if isinstance(estimate, OrderedEstimate):
        ranges = ranges_of(protocol)
        assert ranges is not None  # the release was made or read with them
        in_order = ranges.in_order(found, edges=estimate.edges, ordered=estimate.ordered)
        return replace(in_order, shares=estimate.shares)
    return found


def bins_at_risk(protocol: HistogramProtocol) -> int:
    """The most bins that can have an estimate: all, or those that are held if empty ones never have one.

    Of two rounds, the earlier one decides: later answers may depend on its result.
    """
    if protocol.estimator.false_positives:
        return protocol.bins
    return min(protocol.bins, protocol.users * protocol.values_per_person)


@dataclass(frozen=True, eq=False)
class Numbers:
    """The numbers of all values (columns) in all rounds (rows); a count is NaN where the value was not found.

    `additive` marks estimates whose error has a known distribution.
    """

    counts: NDArray[np.float64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    possible: NDArray[np.bool_]
    additive: NDArray[np.bool_]

    @classmethod
    def of(cls, rounds: Sequence[RoundEstimate], labels: Sequence[Any]) -> Numbers:
        """Look up all values in all rounds."""
        shape = len(rounds), len(labels)
        found = cls(
            np.full(shape, np.nan),
            np.zeros(shape, dtype=np.int64),
            np.zeros(shape, dtype=np.int64),
            np.ones(shape, dtype=bool),
            np.zeros(shape, dtype=bool),
        )
        places = {label: at for at, label in enumerate(labels)}
        for at, each in enumerate(rounds):
            found._fill(at, each, places)
        return found

    def _fill(self, at: int, each: RoundEstimate, places: dict[Any, int]) -> None:
        estimate, estimator = each.estimate, each.protocol.estimator
        bounds = estimate.simultaneous.possible(estimate.people)
        listed = [(places[label], row) for row, label in enumerate(estimate.labels.tolist()) if label in places]
        columns, rows = (np.array(part, dtype=np.int64) for part in (zip(*listed, strict=True) if listed else ([], [])))
        self.high[at] = min(_most_unseen(estimate), estimate.people)
        self.possible[at] = not estimate.reports_all
        self.possible[at, columns] = True
        self.counts[at, columns] = estimate.counts[rows]
        self.low[at, columns], self.high[at, columns] = bounds.low[rows], bounds.high[rows]
        if isinstance(estimator, AdditiveNoise) and not estimate.adjusted:
            self.additive[at, columns] = estimator.unclipped(estimate.counts)[rows]


def labels_of(rounds: Sequence[RoundEstimate]) -> tuple[Any, ...]:
    """All values of all rounds, in their order if they have one; a text that is hidden is none."""
    union = dict.fromkeys(
        label
        for each in reversed(rounds)
        for label in each.estimate.labels.tolist()
        if (not isinstance(label, NotAValue) or isinstance(label, NoText)) and label != HIDDEN
    )
    labels = list(union)
    if all(each.estimate.in_order for each in rounds):
        if any(each.estimate.domain is not None and each.estimate.domain.in_order for each in rounds):
            last = rounds[-1].estimate
            listed = [last.labels.tolist()[at] for at in (last.order if last.order is not None else ())]
            return tuple(dict.fromkeys([label for label in listed if label in union] + labels))
        array = np.fromiter(labels, dtype=object, count=len(labels))
        if (order := increasing(array)) is not None:
            return tuple(labels[at] for at in order.tolist())
    return tuple(labels)


def _most_unseen(estimate: Estimate) -> int:
    """The most people of a value without a row: it was not reported, or is one of those that are hidden."""
    hidden = estimate.interval(HIDDEN)[1] if HIDDEN in estimate.labels.tolist() else 0
    return max(estimate.simultaneous.unreported_high, hidden)

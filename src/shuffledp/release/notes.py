"""What is told beside a release, as facts: how people were counted, cautions, and which values stand out.

`explain.release` turns them into sentences.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import numpy as np

from shuffledp.data.bins import Possible
from shuffledp.data.people import LONGEST_VALUE, People
from shuffledp.data.source import Source
from shuffledp.formatting import ShortRepr, counted
from shuffledp.histogram.domain import Domain
from shuffledp.histogram.edges import Edges
from shuffledp.histogram.estimate import Estimate
from shuffledp.histogram.facts import RISK, Detection
from shuffledp.histogram.intervals import Intervals
from shuffledp.histogram.labels import Absent
from shuffledp.histogram.periods import Periods
from shuffledp.protocols.protocol import HistogramProtocol
from shuffledp.release.choose import Choice
from shuffledp.release.plan_rows import detection_limit

_LONGEST_EDGES = 60
"""Characters of the edges of one column; longer edges are counted, so that the condition has room."""


class NoteKind(StrEnum):
    """What a note is about. The comment names the facts of each kind."""

    PROTOCOL = "protocol"  # title, reason, limited
    CURATOR = "curator"
    SAMPLED = "sampled"
    MESSAGES = "messages"  # number
    CONDITION = "condition"  # where
    SEVERAL_VALUES = "several values"  # number
    ROWS = "rows"
    ONE_ROW_PER_PERSON = "one row per person"
    MISSING_IS_A_VALUE = "missing is a value"
    MISSING_IS_NO_VALUE = "missing is no value"
    MISSING_IS_DROPPED = "missing is dropped"
    TIME_ZONES = "time zones"
    LISTED = "listed"  # number
    ANY_VALUE = "any value"  # bytes


@dataclass(frozen=True)
class Note(ShortRepr):
    """How people and values were counted."""

    kind: NoteKind
    facts: Mapping[str, Any] = field(default_factory=dict)


def question(people: People) -> str:
    """Return the public question for the ledger, such as "age (0:120:5) where country = 'DE'".

    A list of possible values is not repeated.
    """
    source = people.source
    parts = [""] * len(source.names) if source.possible is None else map(_parts, source.possible)
    named = (name + part for name, part in zip(source.names, parts, strict=True))
    each = f", up to {source.values_per_person} values per person" if source.values_per_person > 1 else ""
    more = ", and who has more" if source.count_capped else ""
    condition = "" if source.where is None else f" where {source.where}"
    return " \N{MULTIPLICATION SIGN} ".join(named) + each + more + condition


def _parts(possible: Possible | None) -> str:
    if isinstance(possible, Periods):
        return f" ({possible})"
    if isinstance(possible, Edges):
        text = str(possible)
        return f" ({text if len(text) <= _LONGEST_EDGES else counted(len(possible.edges), 'edge')})"
    return ""


def notes_on(people: People, chosen: Choice, *, messages: int | None) -> Iterator[Note]:
    """Note how people and values were counted; `messages` is the number of messages that were made, if any."""
    facts = {"title": chosen.entry.title, "reason": chosen.reason, "limited": chosen.limited}
    yield Note(NoteKind.PROTOCOL, facts)
    if chosen.entry.model == "central":
        yield Note(NoteKind.CURATOR)
    elif messages is None:
        yield Note(NoteKind.SAMPLED)
    else:
        yield Note(NoteKind.MESSAGES, {"number": messages})
    yield from notes_on_rows(people.source)
    if any(isinstance(possible, Periods) for possible in people.source.possible or ()):
        yield Note(NoteKind.TIME_ZONES)
    if people.listed:
        yield Note(NoteKind.LISTED, {"number": people.values.size})
    else:
        yield Note(NoteKind.ANY_VALUE, {"bytes": LONGEST_VALUE})


def notes_on_rows(source: Source) -> Iterator[Note]:
    """Note how rows become people and their values."""
    if source.where is not None:
        yield Note(NoteKind.CONDITION, {"where": str(source.where)})
    if source.in_sets and source.user is not None:
        yield Note(NoteKind.SEVERAL_VALUES, {"number": source.values_per_person})
    else:
        yield Note(NoteKind.ROWS if source.user is None else NoteKind.ONE_ROW_PER_PERSON)
    if not source.drop_missing:
        yield Note(NoteKind.MISSING_IS_A_VALUE)
    else:
        yield Note(NoteKind.MISSING_IS_NO_VALUE if source.in_sets else NoteKind.MISSING_IS_DROPPED)


USELESS_SHARE = 0.1
"""An error above this share of all people makes the result nearly useless."""


def released_error(estimate: Estimate, protocol: HistogramProtocol) -> float:
    """Return the simultaneous error of a release: of this estimate, if it shows selected values and 0 for others."""
    if estimate.detection is None:
        return protocol.error(estimate.beta).simultaneous
    return max(estimate.largest_distance, float(estimate.simultaneous.unreported_high))


def released_limit(estimate: Estimate, error: float, *, false_positives: bool) -> int:
    """Return the detection limit of a release: without false positives, one more than a hidden value can have."""
    if estimate.detection is not None:
        return estimate.detection.limit
    if false_positives:
        return detection_limit(error, false_positives=True)
    return estimate.simultaneous.unreported_high + 1


class Caution(StrEnum):
    """What makes a plan, a task or a release questionable."""

    LARGE_DELTA = "large-delta"
    LARGE_ERROR = "large-error"
    MOSTLY_NO_DATE = "mostly-no-date"
    MOSTLY_NO_NUMBER = "mostly-no-number"


def mostly_missing(estimate: Estimate, possible: Sequence[Possible | None] | None) -> tuple[Caution, ...]:
    """Return the caution for a column of dates or numbers whose values are mostly missing, by the private counts.

    Text in another format counts as missing. Missing values count as most if they outnumber all others by the estimates
    and are not only noise.
    """
    if possible is None or len(possible) > 1 or not isinstance(possible[0], Edges | Periods):
        return ()
    known = {label: at for at, label in enumerate(estimate.labels.tolist()) if not isinstance(label, Absent)}
    at = known.get(None)
    if at is None or 2 * estimate.counts[at] <= sum(estimate.counts[one] for one in known.values()):
        return ()
    if estimate.simultaneous.low[at] <= 0:
        return ()
    return (Caution.MOSTLY_NO_DATE if isinstance(possible[0], Periods) else Caution.MOSTLY_NO_NUMBER,)


def cautions(*, users: int, delta: float, error: float = 0.0) -> tuple[Caution, ...]:
    """Return the cautions for a question, or for a release whose error is known."""
    found = {Caution.LARGE_DELTA: delta > 1 / users, Caution.LARGE_ERROR: error > USELESS_SHARE * users}
    return tuple(caution for caution, applies in found.items() if applies)


MOST_ROWS = 100_000
"""The most values that are all reported: a release of them has 20 MB."""


def standing_out(
    estimate: Estimate,
    protocol: HistogramProtocol,
    *,
    always: Collection[Any] = (),
    most_rows: int = MOST_ROWS,
    risk: float = RISK,
) -> Estimate:
    """Return an estimate of the values that stand out, if all of them would be more than `most_rows`.

    With noise of both signs every possible value has a row, and of a million most are noise. A value is kept if its
    estimate exceeds the error that the estimates of all values exceed together with probability at most `risk`: so with
    this probability at most is any value kept that nobody holds. The others have at most the largest of their upper
    bounds. All intervals are those of the whole estimate. Labels in `always` are kept whatever their estimate is.
    """
    if len(estimate) <= most_rows or not estimate.reports_all:
        return estimate
    threshold = protocol.error(risk).simultaneous
    labels = estimate.labels
    kept = estimate.counts > threshold
    kept |= np.fromiter((label in always for label in labels.tolist()), dtype=bool, count=labels.size)
    limit = math.floor(threshold + protocol.error(estimate.beta).per_bin) + 1

    def cut(intervals: Intervals) -> Intervals:
        most = int(intervals.high[~kept].max(initial=0))
        return Intervals(intervals.low[kept], intervals.high[kept], unreported_high=most)

    return replace(
        estimate,
        symbols=labels[kept],
        domain=Domain.implicit(estimate.bins),
        counts=estimate.counts[kept],
        per_bin=cut(estimate.per_bin),
        simultaneous=cut(estimate.simultaneous),
        detection=Detection(limit=limit, risk=risk, candidates=(estimate.bins,)),
    )

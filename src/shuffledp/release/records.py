"""Records that a release holds besides its estimate: notes, the error of a curator, and an evaluation.

They hold numbers, enums and public parts of the question; `explain.release` turns them into sentences.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shuffledp.data.bins import Possible
from shuffledp.data.people import LONGEST_VALUE, People
from shuffledp.data.source import Source
from shuffledp.formatting import ShortRepr, counted
from shuffledp.histogram.edges import Edges
from shuffledp.histogram.estimate import Estimate
from shuffledp.histogram.periods import Periods
from shuffledp.release.choose import Choice

_LONGEST_EDGES = 60
"""Characters of the edges of one column in a question; longer edges are counted, so that the condition has room."""

Truth = Iterable[tuple[NDArray[np.int64], NDArray[np.int64]]]
"""True counts in batches: the position of each bin in the estimate (-1 if it is not reported), and its people."""


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
    """A fact about how people and values were counted."""

    kind: NoteKind
    facts: Mapping[str, Any] = field(default_factory=dict)


class CuratorError(NamedTuple):
    """The error of a trusted curator's release if it is smaller than the error of this one, both in people.

    With `ranges` both are errors of the number of people up to any value.
    """

    curator: float
    release: float
    ranges: bool


def question(people: People) -> str:
    """The public question for the ledger: columns with intervals or periods, values per person, condition.

    Such as "age (0:120:5) where country = 'DE'". A list of possible values is not repeated.
    """
    source = people.source
    parts = [""] * len(source.names) if source.possible is None else map(_parts, source.possible)
    named = (name + part for name, part in zip(source.names, parts, strict=True))
    each = f", up to {source.values_per_person} values per person" if source.values_per_person > 1 else ""
    condition = "" if source.where is None else f" where {source.where}"
    return " \N{MULTIPLICATION SIGN} ".join(named) + each + condition


def _parts(possible: Possible) -> str:
    """The intervals or periods of a column, in brackets."""
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
    yield from _notes_on_rows(people.source)
    if any(isinstance(possible, Periods) for possible in people.source.possible or ()):
        yield Note(NoteKind.TIME_ZONES)
    if people.listed:
        yield Note(NoteKind.LISTED, {"number": people.domain.size})
    else:
        yield Note(NoteKind.ANY_VALUE, {"bytes": LONGEST_VALUE})


def _notes_on_rows(source: Source) -> Iterator[Note]:
    """Note how rows become people and their values."""
    if source.where is not None:
        yield Note(NoteKind.CONDITION, {"where": str(source.where)})
    if source.values_per_person > 1:
        yield Note(NoteKind.SEVERAL_VALUES, {"number": source.values_per_person})
    else:
        yield Note(NoteKind.ROWS if source.user is None else NoteKind.ONE_ROW_PER_PERSON)
    if not source.drop_missing:
        yield Note(NoteKind.MISSING_IS_A_VALUE)
    else:
        yield Note(NoteKind.MISSING_IS_NO_VALUE if source.in_sets else NoteKind.MISSING_IS_DROPPED)


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """The true errors of one estimate. Not private: for data one owns, and for simulations.

    `covered` says whether all simultaneous intervals hold their true counts; `per_bin_coverage` is the share of the
    compared bins whose own interval does. `found` of the `occupied` bins are reported. `false_positives` are reported
    bins that nobody holds. `true_counts` are those of the reported bins, in the order of the estimate.
    """

    largest_error: float
    covered: bool
    per_bin_coverage: float
    occupied: int
    found: int
    false_positives: int
    true_counts: NDArray[np.int64] = field(repr=False, compare=False)


def evaluate(estimate: Estimate, truth: Truth) -> Evaluation:
    """Compare an estimate with the true counts of at least all occupied bins."""
    largest, covered, held, compared, occupied, found, false_positives = 0.0, True, 0, 0, 0, 0, 0
    true_counts = np.zeros(len(estimate), dtype=np.int64)
    for at, people in truth:
        seen = at >= 0
        true_counts[at[seen]] = people[seen]
        error = np.where(seen, np.abs(_at(estimate.counts, at) - people), people)
        inside, inside_all = (
            np.where(
                seen,
                (_at(bounds.low, at) <= people) & (people <= _at(bounds.high, at)),
                people <= bounds.unreported_high,
            )
            for bounds in (estimate.per_bin, estimate.simultaneous)
        )
        largest = max(largest, float(error.max(initial=0.0)))
        covered = covered and bool(inside_all.all())
        held, compared = held + int(inside.sum()), compared + people.size
        occupied, found = occupied + int((people > 0).sum()), found + int((seen & (people > 0)).sum())
        false_positives += int((seen & (people == 0) & (_at(estimate.counts, at) > 0)).sum())
    return Evaluation(
        largest_error=largest,
        covered=covered,
        per_bin_coverage=held / max(compared, 1),
        occupied=occupied,
        found=found,
        false_positives=false_positives,
        true_counts=true_counts,
    )


def _at(values: NDArray[Any], at: NDArray[np.int64]) -> NDArray[Any]:
    """Values at positions; any value for the position -1."""
    return values[np.maximum(at, 0)] if values.size else np.zeros(at.size, dtype=values.dtype)

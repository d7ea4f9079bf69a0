"""How people and values of a release were counted, as facts; `explain.release` turns them into sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from shuffledp.data.bins import Possible
from shuffledp.data.people import LONGEST_VALUE, People
from shuffledp.data.source import Source
from shuffledp.formatting import ShortRepr, counted
from shuffledp.histogram.edges import Edges
from shuffledp.histogram.periods import Periods
from shuffledp.release.choose import Choice

_LONGEST_EDGES = 60
"""Characters of the edges of one column in a question; longer edges are counted, so that the condition has room."""


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


def question(people: People) -> str:
    """The public question for the ledger: columns with intervals or periods, values per person, condition.

    Such as "age (0:120:5) where country = 'DE'". A list of possible values is not repeated.
    """
    source = people.source
    parts = [""] * len(source.names) if source.possible is None else map(_parts, source.possible)
    named = (name + part for name, part in zip(source.names, parts, strict=True))
    each = f", up to {source.values_per_person} values per person" if source.values_per_person > 1 else ""
    more = ", and who has more" if source.count_capped else ""
    condition = "" if source.where is None else f" where {source.where}"
    return " \N{MULTIPLICATION SIGN} ".join(named) + each + more + condition


def _parts(possible: Possible | None) -> str:
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

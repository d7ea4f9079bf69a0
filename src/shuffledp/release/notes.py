"""What is asked of people's data, in a line for the ledger: public parts of the question, never a result.

How people and values were counted, in sentences for whoever reads a release.
"""

from __future__ import annotations

from collections.abc import Iterator

from shuffledp.data.encoders import Possible
from shuffledp.data.people import LONGEST_VALUE, People
from shuffledp.data.source import Column
from shuffledp.formatting import counted, readable
from shuffledp.histogram.edges import Edges
from shuffledp.histogram.labels import Absent
from shuffledp.histogram.periods import Periods
from shuffledp.release.choose import Choice

_LONGEST = 60
"""Characters of the edges of one column: more of them are counted, so that a condition still finds its place."""


def question(people: People) -> str:
    """The columns with their intervals or periods, how many values of a person count, and the condition.

    Such as "age (0:120:5) where country = 'DE'". A list of possible values is not repeated.
    """
    column = people.column
    parts = [""] * len(column.names) if people.possible is None else map(_parts, people.possible)
    named = (name + part for name, part in zip(column.names, parts, strict=True))
    each = f", up to {column.values_per_person} values per person" if column.values_per_person > 1 else ""
    condition = "" if column.where is None else f" where {column.where}"
    return " \N{MULTIPLICATION SIGN} ".join(named) + each + condition


def _parts(possible: Possible) -> str:
    """The intervals or periods of a column, in brackets."""
    if isinstance(possible, Periods):
        return f" ({possible})"
    if isinstance(possible, Edges):
        text = str(possible)
        return f" ({text if len(text) <= _LONGEST else counted(len(possible.edges), 'edge')})"
    return ""


def notes(people: People, chosen: Choice, *, made: int | None) -> Iterator[str]:
    """How people and values were counted, in sentences."""
    from shuffledp.explain.plan import why

    fitting = " of those that fit" if chosen.limited else ""
    yield f"Protocol: {chosen.entry.title}, {why(chosen.reason)}{fitting}."
    if chosen.entry.model == "central":
        yield "Whoever holds the data added the noise to the true counts: there are no messages and no shuffler."
    elif made is None:
        yield (
            "No messages were made: the counts of the shuffled messages were drawn from their exact law, which gives "
            "the same results with the same probabilities."
        )
    else:
        yield (
            f"All {counted(made, 'message')} were made, shuffled and counted by whoever holds the data, who has seen "
            "every value."
        )
    yield from _rows_in_words(people.column)
    if any(isinstance(possible, Periods) for possible in people.possible or ()):
        yield "Dates and times are counted as they are written, those with a time zone in UTC."
    if people.listed:
        listed = counted(people.domain.size, "possible value")
        yield f"The list of the {listed} is taken for public."
    else:
        yield (
            f"Any value of up to {readable(LONGEST_VALUE)} bytes is possible, and values that nobody holds have no "
            "influence on the result."
        )


def _rows_in_words(column: Column) -> Iterator[str]:
    """How rows become people and their values."""
    if column.where is not None:
        yield (
            f"Only rows that satisfy the condition {column.where} count; people without such a row are counted as "
            f"{Absent(most=0)}, and their number is as private as any other."
        )
    if column.values_per_person > 1:
        yield (
            f"Of each person up to {column.values_per_person} different values count, chosen at random where there are "
            "more; rows that name nobody are left out."
        )
    elif column.user is None:
        yield (
            "Each row is taken for one person; a person with several rows is protected only as far as that many "
            "releases together would protect them."
        )
    else:
        yield "Each person counts with one of their rows, chosen at random; rows that name nobody are left out."
    if not column.drop_missing:
        yield "A missing value is counted as a value of its own."
    elif column.in_sets:
        yield "A missing value is no value; people who have no other still count."
    else:
        yield "Rows without a value are left out: which rows those are is not protected."

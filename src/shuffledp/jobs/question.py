"""What is asked of people's data, in a line for the ledger: public parts of the question, never a result."""

from __future__ import annotations

from shuffledp.engines.bins.possible_values import Possible
from shuffledp.engines.people import People
from shuffledp.pipeline.edges import Edges
from shuffledp.pipeline.periods import Periods
from shuffledp.words import counted

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

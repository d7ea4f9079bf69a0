"""Reading people's values and counting them, on this machine with DuckDB or on Apache Spark, and what both share.

An engine holds one column, or several crossed, with one value or a set of values for each person: the rows that count,
and sets of at most a number of different values, chosen at random. With bins, sets are sets of bins: two values in one
bin, such as two ages of one interval or two values outside a list, count once. Otherwise a person would count twice in
that bin, and the guarantee would not hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from shuffledp.data.source import Source
from shuffledp.data.where_sql import quoted_name
from shuffledp.errors import DataError
from shuffledp.histogram.inputs import NONE
from shuffledp.histogram.tally import Tally
from shuffledp.progress import Progress, quiet
from shuffledp.protocols.protocol import HistogramProtocol, MessageProtocol
from shuffledp.randomness import random_words

Encode = Callable[[Any], NDArray[np.int64]]
"""Maps an Arrow array of values to their bins."""


class Engine(Protocol):
    """One value, or a set of a few, for each person.

    `encode` maps values to bins. Sets are then sets of bins, chosen at the first call: two values of a person in one
    bin count once, and a person in too many bins keeps a random choice of them.
    """

    @property
    def label_type(self) -> Any:
        """The Arrow type of the values; a struct for several columns."""

    def replace_by_bins(self, encoders: Mapping[int, Encode]) -> None:
        """Replace the values of some of several columns, by their places, before anything is counted.

        Two values of a person in one bin then count once.
        """

    def people(self) -> int:
        """Return the number of people."""

    def counts(self, encode: Encode | None = None) -> Iterator[tuple[Any, NDArray[np.int64]]]:
        """Return the true histogram in batches: an Arrow array of different values, and the number of people of each.

        With `encode`, bins instead of values; the counts of a bin that occurs several times add up. The call itself
        counts and caches the result; `people` is then free.
        """

    def holdings(self, encode: Encode | None = None) -> dict[int, int]:
        """Return how many people hold 0, 1, ... values, or bins; zeros may be left out.

        The marker of people who have more values than count, if it is counted, is one more.
        """

    def uncapped(self, encode: Encode | None = None) -> Iterator[tuple[Any, NDArray[np.int64], NDArray[np.int64]]]:
        """Return the true histogram, and beside it the number of people who have each value, without the cap.

        The source must have users. With `encode`, bins instead of values.
        """

    def tally(self, protocol: MessageProtocol, encode: Encode) -> Tally:
        """Make, shuffle and count the messages of all people; with sets, a row of bins is a person."""

    def close(self) -> None:
        """Free memory, temporary files and a Spark session that was started here."""


def open_engine(source: Source, *, progress: Progress = quiet, rng: np.random.Generator | None = None) -> Engine:
    """Return the engine of a source; `rng` is for simulations with the local engine."""
    if source.engine == "spark":
        from shuffledp.data.spark_files import needs_spark

        needs_spark()
        from shuffledp.data.spark import Spark

        return Spark(source, progress=progress)
    from shuffledp.data.duckdb import InProcess

    return InProcess(source, progress=progress, rng=rng)


_UNSUPPORTED = re.compile(r"STRUCT|MAP|UNION|BLOB|BIT\b|INTERVAL|VARIANT|GEOMETRY|\[")
_AS_TEXT = re.compile(r"ENUM|UUID|U?HUGEINT|BIGNUM|JSON|TIME WITH TIME ZONE")


def uncountable(name: str, kind: str) -> DataError:
    """Return the error for a column of lists or of other values that cannot be counted."""
    if kind == "list":
        return DataError(
            f"column {name!r} holds lists: write one row for each of their values (text, numbers, truth values, dates "
            "or times), with a column that identifies the person (user)"
        )
    return DataError(f"column {name!r} holds {kind} values: choose one of text, numbers, truth values, dates or times")


def select_rows(
    query: str, source: Source, *, fields: Sequence[str], user: str | None, types: Mapping[str, str]
) -> str:
    """Return a query for the `value` of every row of another query, and its `person` if there is a column of users.

    `fields` are the columns of the values in that query. With `drop_missing`, rows without a value are left out. With
    sets every row is there, and `kept` says whether it counts.
    """
    values = [_value(name, field, types[field]) for name, field in zip(source.names, fields, strict=True)]
    crossed = ", ".join(f"'{at}': {value}" for at, value in enumerate(values))
    value = values[0] if len(values) == 1 else f"{{{crossed}}}"
    person = "" if user is None else f", {_number(quoted_name(user), types[user])} AS person"
    required = [f"({one}) IS NOT NULL" for one in values] if source.drop_missing else []
    if source.in_sets:
        if source.where is not None:
            required.append(f"coalesce(({source.where.to_duckdb(types=types)}), false)")
        return f"SELECT {value} AS value, ({' AND '.join(required) or 'true'}) AS kept{person} FROM ({query})"
    left = f" WHERE {' AND '.join(required)}" if required else ""
    return f"SELECT {value} AS value{person} FROM ({query}){left}"


def _value(name: str, field: str, kind: str) -> str:
    if kind.endswith("]") or _UNSUPPORTED.search(kind):
        raise uncountable(name, "list" if kind.endswith("]") else kind.split("(")[0])
    value = f"CAST({quoted_name(field)} AS VARCHAR)" if _AS_TEXT.search(kind) else quoted_name(field)
    return _number(value, kind)


def _number(value: str, kind: str) -> str:
    """For floats, -0.0 becomes 0.0 and NaN is missing."""
    return f"CASE WHEN NOT isnan({value}) THEN {value} + 0.0::{kind} END" if kind in ("FLOAT", "DOUBLE") else value


class Bounded(NamedTuple):
    """The sets of some people: lists of the values, or bins, that count, and the number of different ones they have.

    The number does not depend on the choice.
    """

    lists: Any
    different: NDArray[np.int64]


def bounded(
    sizes: NDArray[np.int64], entries: Any, *, most: int, rng: np.random.Generator, encode: Encode | None = None
) -> Bounded:
    """Return at most `most` different values, or bins with `encode`, of each person.

    The first `sizes[0]` entries, all different, belong to the first person, and so on. Every subset of the allowed size
    is equally likely.
    """
    import pyarrow

    people = np.repeat(np.arange(sizes.size), sizes)
    if encode is not None:
        people, bins = _different(people, encode(entries))
        entries = pyarrow.array(bins)
    kept = _chosen(people, most=most, rng=rng)
    ends = np.cumsum(np.bincount(people[kept], minlength=sizes.size))
    offsets = pyarrow.array(np.concatenate([[0], ends]), pyarrow.int32())
    lists = pyarrow.ListArray.from_arrays(offsets, entries.take(pyarrow.array(kept)))
    return Bounded(lists, np.bincount(people, minlength=sizes.size))


def bins_of_people(lists: Any, encode: Encode) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the bins of lists of values, a list for each person, and the number of people who have each."""
    sizes = sizes_of(lists)
    _, bins = _different(np.repeat(np.arange(sizes.size), sizes), encode(lists.flatten()))
    return np.unique(bins, return_counts=True)


def sizes_of(lists: Any) -> NDArray[np.int64]:
    """Return the number of entries of each list of an Arrow array."""
    import pyarrow.compute as compute

    return np.asarray(compute.list_value_length(lists), dtype=np.int64)


def in_rows(held: Any, encode: Encode | None, *, marker: int) -> NDArray[np.int64]:
    """Return a row of bins for each person of an Arrow batch of sets and sizes, filled up with NONE.

    Without `encode`, entries are bins already. A size above that of the set stands for the bin `marker`.
    """
    lists, entries = held.column(0), held.column(0).flatten()
    listed = sizes_of(lists)
    rows = np.full((listed.size, max(1, int(listed.max(initial=0)))), NONE, dtype=np.int64)
    rows[np.arange(rows.shape[1]) < listed[:, np.newaxis]] = entries if encode is None else encode(entries)
    marked = np.asarray(held.column(1)) > listed
    return np.column_stack([rows, np.where(marked, marker, NONE)]) if marked.any() else rows


def last_value(protocol: HistogramProtocol) -> int:
    """Return the last bin before the padding bins: that of the marker, if it is counted."""
    return protocol.bins - protocol.padding_bins - 1


def _different(people: NDArray[np.int64], bins: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Each person's different bins, in increasing order."""
    order = np.lexsort((bins, people))
    people, bins = people[order], bins[order]
    first = np.ones(people.size, dtype=np.bool_)
    first[1:] = (people[1:] != people[:-1]) | (bins[1:] != bins[:-1])
    return people[first], bins[first]


def _chosen(people: NDArray[np.int64], *, most: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """The places that are kept: for a person with too many, those with the smallest random words."""
    sizes = np.bincount(people)
    crowded = np.flatnonzero(sizes[people] > most)
    order = crowded[np.lexsort((random_words(crowded.size, rng), people[crowded]))]
    starts = np.cumsum(sizes[sizes > most]) - sizes[sizes > most]
    rank = np.arange(order.size) - np.repeat(starts, sizes[sizes > most])
    kept = np.ones(people.size, dtype=np.bool_)
    kept[order[rank >= most]] = False
    return np.flatnonzero(kept)

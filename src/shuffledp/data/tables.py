"""Tables and arrays in memory, as an Arrow source for DuckDB.

Only the needed columns are touched, and each value is read by itself. A condition compares columns with a declared type
as what they are. In other data one person's value could turn everybody's whole numbers into fractions, or text: there,
each value is compared as its own text, as in a CSV file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shuffledp.data.arrow import Stored, arrow, converted, library_of, store, store_one_by_one
from shuffledp.data.labels import Kind
from shuffledp.errors import DataError, ParameterError, ShuffledpError
from shuffledp.histogram.labels import key


def comparable(column: Stored) -> Any:
    """Return the entries of a column for a condition, each from its value alone."""
    pa, entries, kind = arrow(), column.entries, column.kind
    if kind is None and (column.declared or pa.types.is_string(entries.type)):
        return entries
    if kind is None and pa.types.is_integer(entries.type):
        return entries.cast(pa.string())
    coded = (entries.combine_chunks() if isinstance(entries, pa.ChunkedArray) else entries).dictionary_encode()
    texts = map(_text, (kind or Kind(entries.type)).labels(coded.dictionary))
    return pa.array(texts, pa.string()).take(coded.indices)


def _text(label: Any) -> str | None:
    """A label as its text; truth values as JSON writes them."""
    if label is None:
        return None
    if isinstance(label, bool):
        return "true" if label else "false"
    return key(label)[1:] if isinstance(label, int) else str(label)  # str() refuses very long numbers


Scan = Callable[[], Any]
"""Returns an Arrow table, dataset or stream; called each time the data is read."""

_ROWS_AT_ONCE = 1 << 18

_WIDER_THAN_64_BITS = ("HUGEINT", "UHUGEINT", "BIGNUM")


@dataclass(frozen=True)
class Memory:
    """Data in memory whose needed columns can be scanned.

    `names` are the columns with the values. In the scan they are called `fields`, and the column of users `user`; the
    columns of a condition keep their names. `kinds` say how values are read; None means by the type that DuckDB gives
    them, and then `declared` says whether that type is declared. `continuous` has the dtypes of columns of floats or
    timestamps.
    """

    scan: Scan
    names: tuple[str, ...]
    fields: tuple[str, ...]
    user: str | None = None
    kinds: tuple[Kind | None, ...] = (None,)
    declared: tuple[bool, ...] = (False,)
    continuous: tuple[str | None, ...] = (None,)


def read_memory(
    data: Any, *, column: Hashable | list[Any] | None, user: Hashable | None = None, compared: Sequence[str] = ()
) -> Memory:
    """Open a table, rows, counts or a flat array of values; a table of one column needs no name of it.

    `compared` are the columns of a condition.
    """
    if isinstance(data, Iterator) and not hasattr(data, "schema"):
        data = list(data)
    try:
        return _read_memory(data, column if isinstance(column, list) else [column], user, compared)
    except ShuffledpError:
        raise
    except Exception as error:  # messages of the libraries can quote the data
        raise DataError(f"the data cannot be read ({type(error).__name__})") from None


def _read_memory(data: Any, columns: list[Any], user: Hashable | None, compared: Sequence[str]) -> Memory:
    table = _table(data)
    if table is None:
        for name, needs_it in (("user", user is not None), ("where", compared), ("a list of columns", columns[1:])):
            if needs_it:
                raise ParameterError(f"{name} needs a table with named columns, got data without columns")
        unnamed = not columns or columns[0] is None
        if unnamed and _are_counts(data):
            raise DataError(
                "data must have one value for each person, got a series of counts, as value_counts() makes it: pass "
                "collections.Counter(data.to_dict()), or the values themselves. If the counts are the values to count, "
                "name them with column"
            )
        name = _name_of(data) if unnamed else str(columns[0])
        if isinstance(data, Counter):
            return _people_per_value(data, name)
        return _memory(_Needed((name,), (name,)), {name: store(data)})
    return table.read(_needed(table, columns, user, compared))


@dataclass(frozen=True)
class _Needed:
    """The columns to read: names and fields of values, the field of users, and the fields of a condition.

    `old` has the name of each field in the table.
    """

    names: tuple[str, ...]
    fields: tuple[str, ...]
    user: str | None = None
    compared: tuple[str, ...] = ()
    old: Mapping[str, Any] = field(default_factory=dict)


def _needed(table: _Table, columns: list[Any], user: Hashable | None, compared: Sequence[str]) -> _Needed:
    old: dict[str, Any] = {name: table.find(name, "where") for name in compared}
    values = [table.find(column, "column") for column in columns]
    person = None if user is None else table.find(user, "user")
    if user is not None and any(_same(person, value) for value in values):
        raise ParameterError("user and column must not be the same column: user identifies the person of a row")
    for at, value in enumerate(values):
        if any(_same(value, other) for other in values[:at]):
            raise ParameterError(f"column {str(value)!r} is given twice: name each column of a cross table once")
    fields = [_add(old, str(value), value) for value in values]
    of_whom = None if user is None else _add(old, f"{person} (user)", person)
    return _Needed(tuple(map(str, values)), tuple(fields), of_whom, tuple(compared), old)


def _add(old: dict[str, Any], name: str, column: Any) -> str:
    """Add a column under a new name, which must be new without regard to case, as in DuckDB."""
    while name.lower() in (known.lower() for known in old):
        name += " (value)"
    old[name] = column
    return name


def _are_counts(values: Any) -> bool:
    """Whether data is a series of pandas with the name that value_counts() gives it, by its schema alone."""
    if library_of(values) != "pandas" or getattr(values, "name", None) not in ("count", "proportion"):
        return False
    return type(getattr(values, "index", None)).__name__ not in ("RangeIndex", "NoneType")


def _name_of(values: Any) -> str:
    name = getattr(values, "name", None)
    return name if isinstance(name, str) and name else "value"


# tables -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Table:
    """A table: `take` returns some columns by name, at once, since the rows of a query can change their order.

    `listed` says whether messages may show the names.
    """

    names: list[Any]
    take: Callable[[list[Any]], Any]
    listed: bool = True

    def find(self, wanted: Hashable | None, what: str) -> Any:
        """Return the name of a column as the table has it; text also finds a name that is not text, such as 0.

        Not so for the keys of rows, where one person's row could decide which key is meant.
        """
        if wanted is None:
            if len(self.names) != 1 or not self.listed:
                options = f"; there are {', '.join(map(str, self.names))}" if self.listed and self.names else ""
                raise ParameterError(f"column must be the name of a column: it says which values to count{options}")
            return self.names[0]
        found = [name for name in self.names if _same(name, wanted)]
        if not found and self.listed:
            found = [name for name in self.names if str(name) == wanted]
        if not found:
            options = f"there are {', '.join(map(str, self.names))}" if self.listed else "no row has it"
            raise DataError(f"there is no column {wanted!r}: {options}")
        if len(found) > 1:
            raise DataError(
                f"there are several columns {wanted!r}: rename them, so that {what} says which one is meant"
            )
        return found[0]

    def read(self, needed: _Needed) -> Memory:
        """Read the needed columns."""
        columns = self.take(list(dict.fromkeys(needed.old.values())))
        return _memory(needed, {name: store(columns[old]) for name, old in needed.old.items()})


@dataclass(frozen=True)
class _Stream(_Table):
    """A table that is read in batches: `take` iterates over batches of some columns, `schema` has their Arrow types.

    The entries of `keyed` columns are keys of labels already.
    """

    schema: Any = None
    keyed: frozenset[str] = frozenset()

    def read(self, needed: _Needed) -> Memory:
        """Read the needed columns."""
        pa, wanted = arrow(), list(dict.fromkeys(needed.old.values()))
        types = {old: self.schema.field(old).type for old in wanted}
        kinds = {old: Kind() if old in self.keyed else converted(kind)[0] for old, kind in types.items()}

        def ready(columns: Mapping[Any, Any]) -> Any:
            found = {}
            for name, old in needed.old.items():
                entries = converted(types[old])[1](columns[old])
                if name in needed.compared:
                    entries = comparable(Stored(entries, kinds[old], declared=True))
                found[name] = _without_nan(entries) if name == needed.user else entries
            return pa.RecordBatch.from_pydict(found)

        schema = ready({old: pa.array([], kind) for old, kind in types.items()}).schema

        def scan() -> Any:
            batches = (ready(dict(zip(wanted, batch.columns, strict=True))) for batch in self.take(wanted))
            return pa.RecordBatchReader.from_batches(schema, batches)

        found = tuple(kinds[needed.old[name]] for name in needed.fields)
        return Memory(scan, needed.names, needed.fields, needed.user, found, declared=(True,) * len(found))


def _table(data: Any) -> _Table | None:
    """Return the data as a table; None if it is no table."""
    pa, library = arrow(), library_of(data)
    if library in ("pandas", "polars") and "GroupBy" in type(data).__name__:
        raise DataError(
            f"data must be the table itself, got {type(data).__name__}: leave out the grouping; column names the "
            "values to count, or a list of columns"
        )
    if library == "duckdb" and hasattr(data, "to_arrow_reader"):
        return _relation(data)
    if library == "pandas" and hasattr(data, "columns"):
        return _of_columns(list(data.columns), lambda name: data.iloc[:, list(data.columns).index(name)])
    if library == "polars" and hasattr(data, "collect_schema"):
        lazy = data.lazy()
        return _Table(data.collect_schema().names(), lambda names: lazy.select(names).collect())
    if isinstance(data, pa.Table | pa.RecordBatch):
        return _of_columns(data.schema.names, data.column)
    if isinstance(data, pa.RecordBatchReader):
        return _table(data.read_all())
    if library == "pyarrow" and hasattr(data, "scanner"):  # a dataset
        return _Stream(data.schema.names, lambda names: data.scanner(columns=names).to_batches(), schema=data.schema)
    if isinstance(data, np.ndarray) and data.dtype.names:
        return _Table(list(data.dtype.names), lambda _: data)
    if isinstance(data, Mapping) and not isinstance(data, Counter):
        return _columns(data)
    if isinstance(data, list | tuple) and data and all(isinstance(row, Mapping) for row in data):
        names = list(dict.fromkeys(name for row in data for name in row))
        return _of_columns(names, lambda name: [row.get(name) for row in data], listed=False)
    if hasattr(data, "__arrow_c_stream__") and (hasattr(data, "columns") or hasattr(data, "column_names")):
        return _table(pa.table(data))
    return None


def _of_columns(names: list[Any], column: Callable[[Any], Any], *, listed: bool = True) -> _Table:
    return _Table(names, lambda wanted: {name: column(name) for name in wanted}, listed)


def _columns(data: Mapping[Any, Any]) -> _Table:
    if any(isinstance(values, str | bytes) or not hasattr(values, "__iter__") for values in data.values()):
        raise DataError(
            "a dictionary must have the values of a column under each name; use a Counter for the number of people of "
            "each value"
        )
    return _Table(list(data), lambda _: data)


def _relation(data: Any) -> _Stream:
    """A DuckDB relation; whole numbers too wide for Arrow are read as their keys."""
    wide = frozenset(n for n, kind in zip(data.columns, data.types, strict=True) if str(kind) in _WIDER_THAN_64_BITS)

    def needed(names: list[str]) -> Any:
        quoted = {name: '"' + name.replace('"', '""') + '"' for name in names}
        return data.project(
            ", ".join(f"'n' || CAST({q} AS VARCHAR) AS {q}" if n in wide else q for n, q in quoted.items())
        )

    def batches(names: list[str]) -> Iterator[Any]:
        with needed(names).to_arrow_reader() as reader:  # a connection of DuckDB has one open result at a time
            yield from reader

    with needed(data.columns).to_arrow_reader() as reader:
        schema = reader.schema
    return _Stream(list(data.columns), batches, schema=schema, keyed=wide)


def _memory(needed: _Needed, columns: dict[str, Stored]) -> Memory:
    pa = arrow()
    entries = {name: comparable(one) if name in needed.compared else one.entries for name, one in columns.items()}
    if needed.user is not None:
        entries[needed.user] = _without_nan(entries[needed.user])
    if len(set(map(len, entries.values()))) > 1:
        raise DataError("the columns differ in length: one entry for each row is needed in all of them")
    table, values = pa.table(entries), [columns[name] for name in needed.fields]
    kinds, declared = tuple(one.kind for one in values), tuple(one.declared for one in values)
    continuous = tuple(one.continuous for one in values)
    return Memory(lambda: table, needed.names, needed.fields, needed.user, kinds, declared, continuous)


def _without_nan(entries: Any) -> Any:
    """A user that is NaN is missing."""
    pa = arrow()
    if not pa.types.is_floating(entries.type):
        return entries
    import pyarrow.compute as compute

    return compute.if_else(compute.is_nan(entries), pa.scalar(None, entries.type), entries)


def _people_per_value(counts: Counter[Any], name: str) -> Memory:
    """Write the people of a Counter out as rows, in batches."""
    pa, people = arrow(), list(counts.values())
    if not all(isinstance(number, int | np.integer) and number >= 0 for number in people):
        raise DataError("a Counter must have a number of people for each value: a whole number, at least 0")
    held = store_one_by_one(list(counts))
    ends = np.cumsum(np.array(people, dtype=np.int64))
    total = int(ends[-1]) if people else 0

    def pieces() -> Iterator[Any]:
        for start in range(0, total, _ROWS_AT_ONCE):
            rows = np.arange(start, min(start + _ROWS_AT_ONCE, total))
            chosen = held.entries.take(pa.array(np.searchsorted(ends, rows, side="right")))
            yield pa.RecordBatch.from_arrays([chosen], names=[name])

    schema = pa.schema([(name, held.entries.type)])
    return Memory(lambda: pa.RecordBatchReader.from_batches(schema, pieces()), (name,), (name,), kinds=(held.kind,))


def _same(name: Any, wanted: Any) -> bool:
    return isinstance(name, bool) == isinstance(wanted, bool) and bool(name == wanted)

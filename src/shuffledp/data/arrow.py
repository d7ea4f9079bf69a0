"""One column in memory as an Arrow array that can be counted, and the schemas and batches of Arrow and Parquet files.

Data with a type of its own (Arrow, polars, numpy and pandas except for their objects) keeps that type. Data without
one, such as a list, is taken value by value: a type inferred from all values together would let one value change the
labels of all others.

Every file must have the needed columns with one type. Programs write whole numbers with a point as soon as one of them
is missing, so one person could change the type of a file, and with it the labels of all others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.data.files import Files, named
from shuffledp.data.labels import Kind, as_ticks
from shuffledp.errors import DataError, MissingExtraError
from shuffledp.histogram.labels import key, label

_EQUAL_IN_EVERY_WAY = frozenset((str, int, bool, float, Decimal, date, datetime))
"""Types whose equal values have equal labels, so that the key of each value is computed once."""

_AT_ONCE = 1 << 20
"""Fixed-width texts that are Python objects at the same time: those take a multiple of their memory."""

_MAYBE_MISSING = (type(None), float)
"""Types of missing values among text."""

_UNITS = ("D", "s", "ms", "us", "ns")
"""Units of numpy's dates and times that Arrow has, too."""


@dataclass(frozen=True)
class Stored:
    """Values as an Arrow array. `kind` says how entries are read; None means by the type that DuckDB gives them.

    `declared` says that the type was not inferred from the values. `continuous` is the dtype of an array or a series of
    floats or timestamps; it decides nothing but a warning.
    """

    entries: Any
    kind: Kind | None = None
    declared: bool = False
    continuous: str | None = None


def arrow() -> Any:
    """Return the pyarrow package."""
    try:
        import pyarrow
    except ImportError:
        raise MissingExtraError("pyarrow", extra="files") from None
    return pyarrow


def library_of(data: Any) -> str:
    """Return the name of the package of a value's type."""
    return type(data).__module__.split(".")[0].lstrip("_")


def store(values: Any) -> Stored:
    """Store the values of a list, an iterator, an array or a series."""
    found, dtype = _store(values), getattr(values, "dtype", None)
    if getattr(dtype, "kind", None) == "f" or (getattr(dtype, "kind", None) == "M" and str(dtype) != _DAYS):
        return replace(found, continuous=str(dtype))
    return found


_DAYS = "datetime64[D]"
"""The dtype of dates, which repeat."""


def _store(values: Any) -> Stored:
    pa, library = arrow(), library_of(values)
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return store_arrow(values)
    if library == "polars":
        return _store_polars(values)
    if library == "pandas" and hasattr(values, "dtype"):
        return _store_pandas(values)
    if isinstance(values, np.ndarray):
        return _store_numpy(values)
    if hasattr(values, "__arrow_c_stream__"):
        return store_arrow(pa.chunked_array(values))
    if isinstance(values, AbstractSet | Mapping):
        raise DataError("data must have one value for each person, and a set or a dictionary has each value only once")
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise DataError(f"data must be a table, an array of values or names of files, got {type(values).__name__}")
    return store_one_by_one(list(values))


# data with a type -------------------------------------------------------------------------------------------------


def store_arrow(entries: Any) -> Stored:
    """Store an Arrow array with its type."""
    kind, convert = converted(entries.type)
    return Stored(convert(entries), kind, declared=True)


def converted(kind: Any) -> tuple[Kind | None, Callable[[Any], Any]]:
    """Return how entries of an Arrow type are read, and what makes them countable for DuckDB; by the type alone."""
    pa = arrow()
    types = pa.types
    if types.is_dictionary(kind):
        inner, convert = converted(kind.value_type)
        return inner, lambda entries: convert(entries.cast(kind.value_type))
    if types.is_temporal(kind) and not types.is_interval(kind):
        return Kind(kind), as_ticks
    if types.is_float16(kind):
        return Kind(kind), lambda entries: entries.cast(pa.float32())
    if types.is_null(kind):
        return None, lambda entries: entries.cast(pa.string())
    is_binary = types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind)
    if is_binary or types.is_decimal256(kind):
        return Kind(), lambda entries: _keys(entries.to_pylist())
    return None, lambda entries: entries


def _store_polars(values: Any) -> Stored:
    if str(values.dtype) in ("Object", "Int128", "UInt128"):  # kinds that Arrow lacks
        return Stored(_keys(values.to_list()), Kind(), declared=True)
    return store_arrow(values.to_arrow())


def _store_pandas(values: Any) -> Stored:
    pa, kind = arrow(), type(values.dtype).__name__
    if kind == "CategoricalDtype":
        codes = getattr(values, "cat", values).codes
        return _taken(store(values.dtype.categories), np.asarray(codes))
    if kind in ("IntervalDtype", "PeriodDtype"):
        codes, different = values.factorize()
        return _taken(store_one_by_one(list(different)), codes)
    if isinstance(values.dtype, np.dtype) or kind == "SparseDtype":
        return _store_numpy(np.asarray(values))
    try:
        return _maybe_inferred(store_arrow(pa.array(values, from_pandas=True)))
    except pa.ArrowException:
        return store_one_by_one(list(values))


def _maybe_inferred(found: Stored) -> Stored:
    """Mark a type as not declared: types of numpy and pandas columns may come from people's values."""
    return Stored(found.entries, found.kind and Kind(found.kind.type, declared=False))


def _taken(different: Stored, codes: NDArray[Any]) -> Stored:
    """Values from a list of different ones; a code below 0 is a missing value."""
    at = arrow().array(codes, mask=codes < 0)
    return Stored(different.entries.take(at), different.kind)


def _store_numpy(values: NDArray[Any]) -> Stored:
    pa = arrow()
    if values.ndim != 1:
        raise DataError(f"data must be a flat array with one value per person, got {values.ndim} dimensions")
    if isinstance(values, np.ma.MaskedArray):
        found = _store_numpy(values.data)
        import pyarrow.compute as compute

        missing = pa.scalar(None, found.entries.type)
        return Stored(compute.if_else(pa.array(np.ma.getmaskarray(values)), missing, found.entries), found.kind)
    kind = values.dtype.kind
    if kind == "U":  # not all at once: as Python objects, they take a multiple of their memory
        starts = range(0, max(values.size, 1), _AT_ONCE)
        return Stored(pa.chunked_array([_texts(values[at : at + _AT_ONCE].tolist()) for at in starts]))
    if kind == "O":
        return store_one_by_one(values)
    if kind in "ST":
        return store_one_by_one(values.tolist())
    values = values.astype(values.dtype.newbyteorder("="), copy=False)
    unit, steps = np.datetime_data(values.dtype) if kind in "Mm" else ("", 1)
    if unit in _UNITS[kind == "m" :] and steps == 1:
        meant = pa.date32() if unit == "D" else (pa.timestamp if kind == "M" else pa.duration)(unit)
        return Stored(pa.array(values.view(np.int64), mask=np.isnat(values)), Kind(meant, declared=False))
    if kind in "biuf" and values.dtype.itemsize <= 8:
        return _maybe_inferred(store_arrow(pa.array(values)))
    different, codes = np.unique(values, return_inverse=True)
    return _taken(Stored(_keys(list(different)), Kind()), codes)


# data without a type ----------------------------------------------------------------------------------------------


def store_one_by_one(values: Any) -> Stored:
    """Store values of any kinds, in a list or an array of objects.

    Arrow stores values of one kind faster. Both ways give each value the same label, so the choice has no influence.
    """
    pa = arrow()
    if type(next((value for value in values if type(value) not in _MAYBE_MISSING), None)) is str:
        kind = pa.string()  # Arrow then refuses values that are not text, bytes or missing
    else:
        kinds = set(map(type, values)) - {type(None)}
        fitting = (({int}, pa.int64()), ({bool}, pa.bool_()), ({int, float}, pa.float64()))
        kind = next((fit for own, fit in fitting if kinds <= own), None)
    if kind is not None:
        try:
            return Stored(pa.array(values, kind, from_pandas=True))
        except (pa.ArrowException, OverflowError, UnicodeError):  # a number too large, half a character, another kind
            pass
    return Stored(_keys(values), Kind())


def _keys(values: Iterable[Any]) -> Any:
    """The keys of the labels of values of any kind; None for a missing value."""
    known: dict[Any, str | None] = {}

    def spelled(value: Any) -> str | None:
        return None if (found := label(value)) is None else key(found)

    def looked_up(value: Any) -> str | None:
        if type(value) not in _EQUAL_IN_EVERY_WAY:
            return spelled(value)
        pair = (type(value), value)
        if pair not in known:
            known[pair] = spelled(value)
        return known[pair]

    return arrow().array(map(looked_up, values), arrow().string())


def _texts(values: list[str]) -> Any:
    pa = arrow()
    try:
        return pa.array(values, pa.string())
    except UnicodeError:
        return pa.array(map(label, values), pa.string())


_MAGIC = b"ARROW1"
"""The first bytes of a file; a stream has others."""


def arrow_schema(path: str) -> Any:
    """Return the schema of an Arrow file."""
    import pyarrow

    with pyarrow.OSFile(path) as file:
        return _opened(file).schema


def plain_type(kind: Any) -> Any:
    """Return a type without the memory layout of its values."""
    import pyarrow

    if pyarrow.types.is_dictionary(kind):
        kind = kind.value_type
    text = (pyarrow.types.is_large_string, pyarrow.types.is_string_view)
    return pyarrow.string() if any(is_text(kind) for is_text in text) else kind


class ArrowScan:
    """A stream of the needed columns, which every file has with the same plain types."""

    def __init__(self, files: Files, needed: Sequence[str]) -> None:
        self._files, self._needed = files, list(needed)

    def __call__(self) -> Any:
        """Return a stream of Arrow batches from the beginning of the files."""
        import pyarrow

        first = arrow_schema(self._files.paths[0])
        schema = pyarrow.schema([(name, plain_type(first.field(name).type)) for name in self._needed])
        return pyarrow.RecordBatchReader.from_batches(schema, self._batches(schema))

    def _batches(self, schema: Any) -> Iterator[Any]:
        import pyarrow

        for path in self._files.paths:
            with pyarrow.memory_map(path) as file:
                opened = _opened(file, self._needed)
                whole = hasattr(opened, "num_record_batches")
                for batch in map(opened.get_batch, range(opened.num_record_batches)) if whole else opened:
                    columns = [batch.column(name).cast(schema.field(name).type) for name in self._needed]
                    yield pyarrow.RecordBatch.from_arrays(columns, schema=schema)


def _opened(file: Any, needed: Sequence[str] | None = None) -> Any:
    import pyarrow.ipc as ipc

    whole = file.read(len(_MAGIC)) == _MAGIC
    file.seek(0)
    read = ipc.open_file if whole else ipc.open_stream
    if needed is None:
        return read(file)
    names = read(file).schema.names
    file.seek(0)
    return read(file, options=ipc.IpcReadOptions(included_fields=[names.index(name) for name in needed]))


def check_schemas(files: Files, needed: Sequence[str]) -> None:
    """Refuse files that lack a column, or have it with another type than the first file."""
    kinds = ((path, [(one.name, plain_type(one.type)) for one in _schema(path, files.format)]) for path in files.paths)
    check_alike(kinds, needed, several=len(files.paths) > 1)


def check_alike(
    files: Iterable[tuple[str, Sequence[tuple[str, Any]]]], needed: Sequence[str], *, several: bool = True
) -> None:
    """Refuse paths whose columns, given as names and types, lack one or have another type of it than the first."""
    first: dict[str, tuple[str, Any]] = {}
    for path, columns in files:
        check_columns(path if several else None, [name for name, _ in columns], needed)
        for name in needed:
            kind = dict(columns)[name]
            known_path, known = first.setdefault(name, (path, kind))
            if known != kind:
                raise DataError(
                    f"column {name!r} holds {kind} in {named(path)} and {known} in {named(known_path)}: write all "
                    "files with one type"
                )


def check_columns(path: str | None, names: Sequence[str], needed: Sequence[str]) -> None:
    """Refuse a file, named if there are several, that lacks a column or has it twice."""
    where = "" if path is None else f" in {named(path)}"
    for name in needed:
        if name not in names:
            raise DataError(f"there is no column {name!r}{where}: there are {', '.join(names)}")
        if list(names).count(name) > 1:
            raise DataError(f"there are several columns {name!r}{where}: rename all but one")


def _schema(path: str, format: str) -> Any:
    import pyarrow
    import pyarrow.parquet as parquet

    read: Callable[[str], Any] = parquet.read_schema if format == "parquet" else arrow_schema
    try:
        return read(path)
    except (pyarrow.ArrowException, OSError):
        raise DataError(f"{named(path)} cannot be read as {format}: damaged, or of another format") from None

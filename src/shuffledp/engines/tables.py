"""Tables and arrays in memory, and Arrow files, as something that DuckDB can scan."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from shuffledp.engines.column import Column
from shuffledp.engines.files import Files
from shuffledp.errors import DataError, MissingExtraError

Scan = Callable[[], Any]
"""Makes an Arrow table, dataset or stream; called once for each time the data is read."""


def scan_memory(column: Column) -> Scan:
    """A table (pandas, polars, Arrow, DuckDB, a dictionary) or a flat array of values as an Arrow source."""
    arrow, data = _arrow(), column.data
    if type(data).__module__.split(".")[0] in ("duckdb", "_duckdb"):
        column.check(list(data.columns))
        return lambda: data.to_arrow_reader()
    if _is_lazy(data):
        data = data.collect()
    try:
        if isinstance(data, dict):
            table = arrow.table(data)
        elif hasattr(data, "columns") or hasattr(data, "column_names"):
            names = getattr(data, "column_names", None) or list(data.columns)
            column.check([str(name) for name in names])
            table = arrow.table(data)
        else:
            table = arrow.table({column.name: _flat(data)})
    except (arrow.ArrowException, UnicodeError, OverflowError):
        raise DataError("the values are of different or unusual kinds: make them all text, or all numbers") from None
    column.check(table.column_names)
    table = table.select(column.needed)
    return lambda: table


def has_columns(data: Any) -> bool:
    """Whether the data is a table, not a flat array."""
    return _is_lazy(data) or isinstance(data, dict) or hasattr(data, "columns") or hasattr(data, "column_names")


def _is_lazy(data: Any) -> bool:
    """Whether this is a polars LazyFrame."""
    return hasattr(data, "collect_schema") and hasattr(data, "collect")


def scan_arrow_files(files: Files) -> Scan:
    """Arrow files, whole or as streams, as an Arrow source that is read piece by piece."""
    arrow = _arrow()
    import pyarrow.dataset as dataset
    import pyarrow.ipc as ipc

    def is_whole(path: str) -> bool:
        with arrow.OSFile(path) as file:
            return bool(file.read(6) == b"ARROW1")

    if all(map(is_whole, files.paths)):
        return lambda: dataset.dataset(list(files.paths), format="ipc")

    def pieces() -> Iterator[Any]:
        for path in files.paths:
            with arrow.input_stream(path) as file:
                yield from ipc.open_stream(file)

    def stream() -> Any:
        with arrow.input_stream(files.paths[0]) as file:
            schema = ipc.open_stream(file).schema
        return arrow.RecordBatchReader.from_batches(schema, pieces())

    return stream


def _arrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise MissingExtraError("pyarrow", extra="files") from None
    return pyarrow


def _flat(values: Any) -> Any:
    """One array of values, from a list, a numpy array or a series."""
    if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
        raise DataError(f"a table, an array of values or names of files are needed, got {type(values).__name__}")
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise DataError(f"one value per person in a flat array is needed, got {values.ndim} dimensions")
    return values.to_arrow() if hasattr(values, "to_arrow") else _arrow().array(values, from_pandas=True)

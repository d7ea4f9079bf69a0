"""From what somebody gives as data and column to a column of files, of a table in memory or of a Spark DataFrame."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterator
from typing import Any

from shuffledp.engines import Column, Files, find_files
from shuffledp.engines.sources.files import names_something
from shuffledp.engines.sources.tables import read_memory
from shuffledp.errors import DataError, ParameterError


def found_data(data: Any, column: Any, **how: str | None) -> Any:
    """The data, with names of files looked up, to be read in the way that is asked for."""
    if isinstance(data, Iterator) and not hasattr(data, "schema"):
        data = list(data)
    if isinstance(data, str | os.PathLike):
        return find_files([data], **how)
    if isinstance(data, list | tuple) and data and all(isinstance(part, _name_of_file(column)) for part in data):
        for place, name in enumerate(map(os.fspath, data), start=1):
            if not names_something(name):  # it may be somebody's value, and is not shown
                raise DataError(
                    f"entry {place} of the list is no file: a list of text together with column= is taken for names of "
                    "files; for a list of values leave out column="
                )
        return find_files(data, **how)
    if given := [f"{name}=" for name, value in how.items() if value is not None]:
        raise ParameterError(f"{' and '.join(given)} say how files are read: this data is not in files that I open")
    return data


def column_of(data: Any, column: Hashable | list[Any] | None, *, user: Hashable | None, **options: Any) -> Column:
    """The column of whatever data is."""
    on_spark = type(data).__module__.startswith("pyspark.")
    if on_spark and column is None and len(data.columns) == 1:
        column = data.columns[0]
    if not on_spark and not isinstance(data, Files):
        where = options["where"]
        data = read_memory(data, column=column, user=user, compared=() if where is None else where.columns)
        column, user = list(data.names), data.user
    if column is None:
        raise ParameterError("column must be the name of a column: it says which values to count")
    names = tuple(column) if isinstance(column, list) else (column,)
    return Column(data=data, names=names, user=user, **options)  # type: ignore[arg-type]


def _name_of_file(column: Hashable | None) -> Any:
    """What the entries of a list must be to be names of files: text could be values, unless a column is named."""
    return os.PathLike if column is None else str | os.PathLike

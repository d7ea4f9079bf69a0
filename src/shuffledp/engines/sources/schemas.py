"""The schemas of Parquet and Arrow files: every file must have the needed columns, of one type.

A type may depend on what is in a file. Programs write whole numbers with a point as soon as one of them is missing, so
a file of another type can be one person's doing, and would rename everybody's value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from shuffledp.engines.sources.arrow_files import arrow_schema, plain_type
from shuffledp.engines.sources.files import Files, named
from shuffledp.errors import DataError


def check_schemas(files: Files, needed: Sequence[str]) -> None:
    """Refuses files that lack a column, or have it with another type than the first file."""
    first: dict[str, Any] = {}
    for path in files.paths:
        schema = _schema(path, files.format)
        check_columns(path if len(files.paths) > 1 else None, schema.names, needed)
        for name in needed:
            kind = plain_type(schema.field(name).type)
            if first.setdefault(name, kind) != kind:
                raise other_type(name, path=path, kind=kind, first_path=files.paths[0], first=first[name])


def check_columns(path: str | None, names: Sequence[str], needed: Sequence[str]) -> None:
    """Refuses a file, named where there are several, that lacks a column or has it twice."""
    where = "" if path is None else f" in {named(path)}"
    for name in needed:
        if name not in names:
            raise DataError(f"there is no column {name!r}{where}: there are {', '.join(names)}")
        if list(names).count(name) > 1:
            raise DataError(f"there are several columns {name!r}{where}: rename all but one")


def other_type(name: str, *, path: str, kind: Any, first_path: str, first: Any) -> DataError:
    """The error for a column whose type differs between files."""
    return DataError(
        f"column {name!r} holds {kind} in {named(path)} and {first} in {named(first_path)}: write all files with one "
        "type"
    )


def _schema(path: str, format: str) -> Any:
    import pyarrow
    import pyarrow.parquet as parquet

    read: Callable[[str], Any] = parquet.read_schema if format == "parquet" else arrow_schema
    try:
        return read(path)
    except (pyarrow.ArrowException, OSError):
        raise DataError(f"{named(path)} cannot be read as {format}: damaged, or of another format") from None

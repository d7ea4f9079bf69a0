"""Parquet files with one column of bytes: found, checked, read group by group, and written whole or not at all."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shuffledp.engines import find_files
from shuffledp.engines.sources.files import FORMATS, is_remote
from shuffledp.errors import DataError, MissingExtraError

ABOUT = b"shuffledp"
"""The key of the file's metadata that says what the file is, as JSON."""

PARTIAL = ".partial"
"""How names end of what is not finished; they also begin with a dot."""

Write = Callable[[Any], None]
"""Adds a group of rows: an Arrow table with the columns of the file."""


def needs_arrow() -> None:
    """Says how to install what files need, where it is missing."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise MissingExtraError("pyarrow", extra="files") from None


def find_tables(given: Sequence[str | os.PathLike[str]]) -> list[Path]:
    """The Parquet files that names, folders and patterns stand for, each once, but nothing unfinished."""
    needs_arrow()
    for name in (os.fspath(path) for path in given):
        if is_remote(name):
            raise DataError(f"{name} is not on a file system of this machine: mount it, or copy the files first")
    tables: dict[Path, Path] = {}
    for each in given:
        if _is_other_file(Path(each)):
            raise DataError(f"{each} must be Parquet, with a name that ends in .parquet")
        found = find_files([each])
        if found.format != "parquet":
            raise DataError(f"{found.shown} must be Parquet, with a name that ends in .parquet")
        for path in map(Path, found.paths):
            if not any(map(_unfinished, path.parts)):
                tables.setdefault(path.resolve(), path)
    if not tables:
        raise DataError("no finished Parquet file is given")
    return list(tables.values())


def _is_other_file(path: Path) -> bool:
    return path.is_file() and FORMATS.get(path.suffix.lower()) != "parquet"


def _unfinished(part: str) -> bool:
    return part.startswith(".") and part.endswith(PARTIAL)


@contextmanager
def opened_table(path: Path) -> Iterator[Any]:
    """A Parquet file whose pages are checked as they are read; what is wrong with it is said without its content."""
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path, page_checksum_verification=True) as file:
            yield file
    except (pyarrow.ArrowException, OSError, ValueError, MemoryError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{path} cannot be read: it is damaged, or no Parquet file") from None


def about(file: Any, path: Path) -> Mapping[str, Any]:
    """What a file says that it is; nothing if it says nothing."""
    try:
        said = json.loads((file.schema_arrow.metadata or {}).get(ABOUT, b"{}"))
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict):
        raise DataError(f"{path} is damaged: what it says about itself is no JSON object")
    return said


def read_group(path: Path, group: int, column: str) -> Any:
    """One column of a group of rows, as an Arrow array."""
    with opened_table(path) as file:
        return file.read_row_group(group, columns=[column]).column(0).combine_chunks()


@contextmanager
def new_table(path: Path, schema: Any, *, said: Mapping[str, Any]) -> Iterator[Write]:
    """Writes a file under another name, which it loses when it is whole; one of the same name is replaced.

    What is written is encrypted and cannot be compressed; its pages have checksums.
    """
    import pyarrow.parquet

    schema = schema.with_metadata({ABOUT: json.dumps(said)})
    partial = path.with_name(f".{path.name}.{secrets.token_hex(8)}{PARTIAL}")
    options = {"compression": "none", "use_dictionary": False, "write_statistics": False, "write_page_checksum": True}
    try:
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            with pyarrow.parquet.ParquetWriter(file, schema, **options) as writer:
                yield lambda table: writer.write_table(table.cast(schema), row_group_size=max(1, table.num_rows))
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise DataError(f"cannot write {path}: {error.strerror or 'the file system refused'}") from None
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def fixed_width(block: bytes, width: int) -> Any:
    """Bytes one after another, as an Arrow array of values of this width."""
    import pyarrow

    return pyarrow.FixedSizeBinaryArray.from_buffers(
        pyarrow.binary(width), len(block) // width, [None, pyarrow.py_buffer(block)]
    )


def bytes_of(array: Any) -> bytes:
    """The values of an Arrow array of fixed width without missing ones, one after another."""
    width = array.type.byte_width
    return bytes(memoryview(array.buffers()[1])[array.offset * width : (array.offset + len(array)) * width])

"""Parquet files with one column of bytes: found, checked, read group by group, and written whole or not at all.

A folder of results that is there whole or not at all.

Files of reports: Parquet with one column of bytes, `report`, each as a person sent it.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from shuffledp.atomic_file import check_folder, refuse_existing
from shuffledp.data import find_files
from shuffledp.data.files import FORMATS, is_remote
from shuffledp.errors import DataError, MissingExtraError, ParameterError

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


_OURS = re.compile(r"[0-9a-f]{32}(\.parquet)?|(rest|taken)\.parquet")
"""Names of what we write in such a folder: with anything else in it, it is not ours to replace."""


def kept_folder(out: Path) -> Path:
    """The folder beside that of the batches, for what never travels: reports that wait, and which ones are taken."""
    return out.with_name(f"{out.name}.kept")


def check_free(out: Path, *, inputs: Iterable[Path], force: bool) -> None:
    """Refuses a folder that cannot be made, or that would take away what is read or what is somebody else's."""
    if not out.parent.is_dir():
        raise DataError(f"cannot write {out}: there is no folder {out.parent}")
    if not out.exists() and not out.is_symlink():
        return
    if not force:
        raise ParameterError(f"{out} already exists: give another name, or --force to replace what is there")
    if out.is_symlink() or not out.is_dir() or any(not _OURS.fullmatch(entry.name) for entry in out.iterdir()):
        raise ParameterError(f"{out} is no folder of batches alone, so it is not replaced: give another name")
    if any(path.resolve().is_relative_to(out.resolve()) for path in inputs):
        raise ParameterError(f"{out} holds files that are read: give another name")


@contextmanager
def whole_folder(out: Path) -> Iterator[Path]:
    """A new folder under another name, which it loses when all is well; it is gone when anything goes wrong."""
    partial = out.with_name(f".{out.name}.{secrets.token_hex(8)}{PARTIAL}")
    try:
        partial.mkdir(mode=0o700)  # for its owner: whoever sees files come and go learns more than the next hop
        yield partial
        _take_the_place(partial, out)
    except OSError as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise DataError(f"cannot write {out}: {error.strerror or 'the file system refused'}") from None
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def _take_the_place(partial: Path, out: Path) -> None:
    """One rename, or two where a folder is replaced, which comes back if the second fails."""
    if not out.exists():
        partial.rename(out)
        return
    old = out.with_name(f".{out.name}.{secrets.token_hex(8)}{PARTIAL}")
    out.rename(old)
    try:
        partial.rename(out)
    except BaseException:
        old.rename(out)
        raise
    shutil.rmtree(old)


REPORT = "report"
KIND = "shuffledp reports 1"
AT_ONCE = 4096
"""Reports in a group of rows: half a second of opening, so that a machine with many cores has work for all."""


def write_reports(path: str | os.PathLike[str], reports: Iterable[bytes], *, overwrite: bool = False) -> int:
    """Writes sealed reports to a new Parquet file, whole or not at all; returns how many there were.

    For whoever takes people's reports and does not run a shuffler's server. The order does not matter, and nothing but
    the reports is written: no address, no time.
    """
    needs_arrow()
    import pyarrow

    target, number, waiting = Path(path), 0, iter(reports)
    if target.suffix != ".parquet":
        raise ParameterError(f"a file of reports must end in .parquet; got {target.name}")
    check_folder(target)
    if not overwrite:
        refuse_existing(target, how="choose another name, or set overwrite=True")
    schema = pyarrow.schema([pyarrow.field(REPORT, pyarrow.binary(), nullable=False)])
    with new_table(target, schema, said={"kind": KIND}) as write:
        while block := list(islice(waiting, AT_ONCE)):
            if not all(isinstance(report, bytes) for report in block):
                raise ParameterError("reports must be bytes, as a client makes them")
            write(pyarrow.table([pyarrow.array(block, pyarrow.binary())], schema=schema))
            number += len(block)
    return number


class ReportGroup(NamedTuple):
    """A group of rows of a file of reports."""

    path: Path
    group: int
    rows: int

    def read(self) -> list[bytes | None]:
        """The reports, in the order of the file; None where there is none."""
        found: list[bytes | None] = read_group(self.path, self.group, REPORT).to_pylist()
        return found


def find_reports(given: Sequence[str | os.PathLike[str]]) -> list[ReportGroup]:
    """The groups of rows of all files that are meant, in the order of their names."""
    return [group for path in find_tables(given) for group in _groups(path)]


def _groups(path: Path) -> Iterator[ReportGroup]:
    import pyarrow

    with opened_table(path) as file:
        schema, rows = file.schema_arrow, [_rows(file, group) for group in range(file.metadata.num_row_groups)]
    if REPORT not in schema.names:
        raise DataError(f"{path} has no column {REPORT!r}: the first shuffler takes files of reports")
    kind = schema.field(REPORT).type
    types = pyarrow.types
    if not (types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind)):
        raise DataError(f"the column {REPORT!r} of {path} must hold bytes, not {kind}")
    yield from (ReportGroup(path, group, number) for group, number in enumerate(rows))


def _rows(file: Any, group: int) -> int:
    return int(file.metadata.row_group(group).num_rows)

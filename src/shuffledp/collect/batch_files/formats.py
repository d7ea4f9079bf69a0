"""File formats: Parquet files of reports and of batches, and folders of results. All are written atomically.

- A file of reports has one column of bytes, `report`, each as a person sent it.
- A file of a batch has one column `onion` of fixed width, and metadata that names the task, the batch and the part. A
  batch is one file, or a folder of several if Spark wrote it. All parts belong to one mixing: another mixing of the
  same batch has the same onions in another order, so its parts cannot complete this one.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
import numpy as np

from shuffledp.atomic_file import check_folder, refuse_existing
from shuffledp.collect.crypto.batch import in_blocks
from shuffledp.collect.task import Task
from shuffledp.collect.task.report import name_of
from shuffledp.data import find_files
from shuffledp.data.files import FORMATS, is_remote
from shuffledp.errors import DataError, MissingExtraError, ParameterError
from shuffledp.formatting import counted

_METADATA = b"shuffledp"
"""The key of a file's metadata, which is JSON."""

PARTIAL = ".partial"
"""The ending of names of unfinished files and folders, which also begin with a dot."""

Write = Callable[[Any], None]
"""Adds a group of rows, an Arrow table with the columns of the file."""


def needs_arrow() -> None:
    """Raise an error with the extra to install if pyarrow is missing."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise MissingExtraError("pyarrow", extra="files") from None


def find_tables(given: Sequence[str | os.PathLike[str]]) -> list[Path]:
    """Return the finished Parquet files of names, folders and patterns, each once."""
    needs_arrow()
    for name in (os.fspath(path) for path in given):
        if is_remote(name):
            raise DataError(f"{name} is not on a file system of this machine: mount it, or copy the files first")
    tables: dict[Path, Path] = {}
    for each in given:
        if Path(each).is_file() and FORMATS.get(Path(each).suffix.lower()) != "parquet":
            raise DataError(f"{each} must be Parquet, with a name that ends in .parquet")
        found = find_files([each])
        if found.format != "parquet":
            raise DataError(f"{found.shown} must be Parquet, with a name that ends in .parquet")
        for path in map(Path, found.paths):
            if not any(map(is_unfinished, path.parts)):
                tables.setdefault(path.resolve(), path)
    if not tables:
        raise DataError("files must hold at least one finished Parquet file, got none")
    return list(tables.values())


def is_unfinished(part: str) -> bool:
    """Whether a name is that of an unfinished file or folder."""
    return part.startswith(".") and part.endswith(PARTIAL)


@contextmanager
def opened_table(path: Path) -> Iterator[Any]:
    """Open a Parquet file and verify its checksums; errors never quote its content."""
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path, page_checksum_verification=True) as file:
            yield file
    except (pyarrow.ArrowException, OSError, ValueError, MemoryError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{path} cannot be read: it is damaged, or not a Parquet file") from None


class Table(NamedTuple):
    """Our metadata of a file, empty if there is none, its Arrow schema, and the numbers of rows of its groups."""

    metadata: dict[str, Any]
    schema: Any
    rows: list[int]

    @classmethod
    def of(cls, file: Any, path: Path) -> Table:
        """Describe an open file."""
        try:
            metadata = json.loads((file.schema_arrow.metadata or {}).get(_METADATA, b"{}"))
        except (ValueError, RecursionError):
            metadata = None
        if not isinstance(metadata, dict):
            raise DataError(f"{path} is damaged: its metadata must be a JSON object")
        footer = file.metadata
        return cls(metadata, file.schema_arrow, [footer.row_group(at).num_rows for at in range(footer.num_row_groups)])

    def is_column(self, name: str, width: int) -> bool:
        """Whether it has this one column of this fixed width."""
        import pyarrow

        return bool(self.schema.names == [name] and self.schema.field(0).type == pyarrow.binary(width))


def read_table(path: Path) -> Table:
    """Describe a file."""
    with opened_table(path) as file:
        return Table.of(file, path)


def read_group(path: Path, group: int, column: str) -> Any:
    """Read one column of a group of rows, as an Arrow array."""
    with opened_table(path) as file:
        return file.read_row_group(group, columns=[column]).column(0).combine_chunks()


@contextmanager
def new_table(path: Path, schema: Any, *, metadata: Mapping[str, Any]) -> Iterator[Write]:
    """Write a file under a temporary name, and rename it when it is complete; an existing file is replaced.

    The content is encrypted and not compressible; pages have checksums.
    """
    import pyarrow.parquet

    schema = schema.with_metadata({_METADATA: json.dumps(metadata)})
    options = {"compression": "none", "use_dictionary": False, "write_statistics": False, "write_page_checksum": True}
    with _whole(path) as partial:
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            with pyarrow.parquet.ParquetWriter(file, schema, **options) as writer:
                yield lambda table: writer.write_table(table.cast(schema), row_group_size=max(1, table.num_rows))
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}{PARTIAL}")


@contextmanager
def _whole(path: Path) -> Iterator[Path]:
    """Yield a temporary name for a file or a folder; after a failure, nothing has it."""
    partial = _beside(path)
    try:
        yield partial
    except BaseException as error:
        if partial.is_dir():
            shutil.rmtree(partial, ignore_errors=True)
        else:
            partial.unlink(missing_ok=True)
        if not isinstance(error, OSError):
            raise
        raise DataError(f"cannot write {path}: {error.strerror or 'the file system refused'}") from None


def write_column(path: Path, name: str, blocks: Iterable[bytes], *, width: int, metadata: Mapping[str, Any]) -> int:
    """Write one column of values of fixed width, a group of rows for each block; return the number of values."""
    import pyarrow

    number, schema = 0, pyarrow.schema([pyarrow.field(name, pyarrow.binary(width), nullable=False)])
    with new_table(path, schema, metadata=metadata) as write:
        for block in blocks:
            write(pyarrow.table([fixed_width(block, width)], schema=schema))
            number += len(block) // width
    return number


def fixed_width(block: bytes, width: int) -> Any:
    """Return consecutive bytes as an Arrow array of values of this width."""
    import pyarrow

    return pyarrow.FixedSizeBinaryArray.from_buffers(
        pyarrow.binary(width), len(block) // width, [None, pyarrow.py_buffer(block)]
    )


def bytes_of(array: Any) -> bytes:
    """Return the consecutive bytes of an Arrow array of fixed width without missing values."""
    width = array.type.byte_width
    return bytes(memoryview(array.buffers()[1])[array.offset * width : (array.offset + len(array)) * width])


@contextmanager
def whole_folder(out: Path) -> Iterator[Path]:
    """Create a folder under a temporary name; rename it on success, remove it on failure."""
    with _whole(out) as partial:
        partial.mkdir(mode=0o700)  # private: times of files tell more than batches
        yield partial
        _replace(partial, out)


def _replace(partial: Path, out: Path) -> None:
    """An existing folder is moved away first, and moved back on failure."""
    if not out.exists():
        partial.rename(out)
        return
    old = _beside(out)
    out.rename(old)
    try:
        partial.rename(out)
    except BaseException:
        old.rename(out)
        raise
    shutil.rmtree(old)


REPORT = "report"
REPORT_KIND = "shuffledp reports 1"
TAKEN_KIND = "shuffledp taken 1"
SEEN_KIND = "shuffledp seen 1"
_REPORT_ROWS = 4096
"""Reports in a group of rows: half a second of opening, so that many cores have work."""


def write_reports(path: str | os.PathLike[str], reports: Iterable[bytes], *, overwrite: bool = False) -> int:
    """Write sealed reports to a new Parquet file, atomically; return their number.

    For services that receive reports without a shuffler's server. The order does not matter; no address and no time is
    written.
    """
    needs_arrow()
    import pyarrow

    target, number, waiting = Path(path), 0, iter(reports)
    if target.suffix != ".parquet":
        raise ParameterError(f"path must end in .parquet, got {target.name}")
    check_folder(target)
    if not overwrite:
        refuse_existing(target, how="choose another name, or set overwrite=True")
    schema = pyarrow.schema([pyarrow.field(REPORT, pyarrow.binary(), nullable=False)])
    with new_table(target, schema, metadata={"kind": REPORT_KIND}) as write:
        while block := list(islice(waiting, _REPORT_ROWS)):
            if not all(isinstance(report, bytes) for report in block):
                raise ParameterError("reports must be bytes, as a client returns them")
            write(pyarrow.table([pyarrow.array(block, pyarrow.binary())], schema=schema))
            number += len(block)
    return number


class ReportGroup(NamedTuple):
    """A group of rows of a file of reports."""

    path: Path
    group: int
    rows: int

    def read(self) -> list[bytes | None]:
        """Return the reports in the order of the file, None for missing ones."""
        found: list[bytes | None] = read_group(self.path, self.group, REPORT).to_pylist()
        return found


def find_reports(given: Sequence[str | os.PathLike[str]]) -> list[ReportGroup]:
    """Return the groups of rows of all files of reports, in the order of their names.

    Private lists of a shuffler are skipped.
    """
    return [group for path in find_tables(given) for group in _groups(path)]


def _groups(path: Path) -> Iterator[ReportGroup]:
    import pyarrow

    table = read_table(path)
    if table.metadata.get("kind") in (TAKEN_KIND, SEEN_KIND):
        return
    if REPORT not in table.schema.names:
        raise DataError(f"{path} has no column {REPORT!r}: the first shuffler needs files of reports")
    column, types = table.schema.field(REPORT).type, pyarrow.types
    if not (types.is_binary(column) or types.is_large_binary(column) or types.is_fixed_size_binary(column)):
        raise DataError(f"the column {REPORT!r} of {path} must hold bytes, got {column}")
    yield from (ReportGroup(path, group, number) for group, number in enumerate(table.rows))


ONION = "onion"
BATCH_KIND: Literal["shuffledp batch 1"] = "shuffledp batch 1"
_ONION_ROWS = 1 << 14
"""Onions in a group of rows: about two seconds of opening, and 1 MB."""

HexId = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32}$")]
TaskName = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
_Number = Annotated[int, msgspec.Meta(ge=0, lt=2**31)]
ROW_NUMBER = np.dtype("<i4")


class PartHead(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The metadata of a part of a batch; `position` is the position of the server that opens it."""

    kind: Literal["shuffledp batch 1"] = BATCH_KIND
    task: TaskName
    batch: HexId
    position: _Number
    mixing: HexId
    part: _Number = 0
    parts: _Number = 1


class OnionGroup(NamedTuple):
    """A group of rows of a part of a batch; `dropped` are the numbers of rows to leave out, of 4 bytes each."""

    path: Path
    group: int
    rows: int
    dropped: bytes = b""

    @property
    def number(self) -> int:
        """The number of onions that are not left out."""
        return self.rows - len(self.dropped) // ROW_NUMBER.itemsize

    def read(self) -> bytes:
        """Return the consecutive onions."""
        array = read_group(self.path, self.group, ONION)
        content = bytes_of(array)
        if not self.dropped:
            return content
        onions = np.frombuffer(content, dtype=np.uint8).reshape(len(array), -1)
        return np.delete(onions, np.frombuffer(self.dropped, dtype=ROW_NUMBER), axis=0).tobytes()


@dataclass(frozen=True)
class BatchFiles:
    """All parts of one mixing of a batch."""

    batch_id: bytes
    groups: tuple[OnionGroup, ...]

    @property
    def number(self) -> int:
        """The number of onions."""
        return sum(group.number for group in self.groups)

    def blocks(self) -> Iterator[bytes]:
        """Iterate over the onions in blocks of whole ones."""
        return (group.read() for group in self.groups)


class FoundBatches(NamedTuple):
    """Different batches in the order of their ids, and the number of files that were copies."""

    batches: list[BatchFiles]
    copies: int


def write_part(path: Path, head: PartHead, blocks: Iterable[bytes], *, width: int) -> int:
    """Write a part of a batch, atomically; return its number of onions."""
    cut = in_blocks(blocks, width * _ONION_ROWS)
    return write_column(path, ONION, cut, width=width, metadata=msgspec.to_builtins(head))


def find_batches(given: Sequence[str | os.PathLike[str]], task: Task, *, position: int) -> FoundBatches:
    """Return the batches for the server at this position; refuse files of another task or for another server.

    Private files, such as waiting reports and fingerprints, are skipped.
    """
    parts: dict[str, dict[str, dict[int, tuple[PartHead, tuple[OnionGroup, ...]]]]]
    parts, copies = defaultdict(lambda: defaultdict(dict)), 0
    for path in find_tables(given):
        found = _read_part(path, task, position)
        if found is None:
            continue
        same = parts[found[0].batch][found[0].mixing]
        copies += found[0].part in same
        same.setdefault(found[0].part, found)
    if not parts:
        raise DataError("files must hold a batch, got only files of reports: mix them first")
    batches = []
    for batch, mixings in sorted(parts.items()):
        whole = [mixing for mixing in mixings.values() if len(mixing) == mixing[next(iter(mixing))][0].parts]
        if not whole:
            raise _incomplete(batch, mixings)
        copies += sum(map(len, mixings.values())) - len(whole[0])
        groups = tuple(group for _, (_, groups) in sorted(whole[0].items()) for group in groups)
        batches.append(BatchFiles(bytes.fromhex(batch), groups))
    return FoundBatches(batches, copies)


def _incomplete(batch: str, mixings: Mapping[str, Mapping[int, tuple[PartHead, Any]]]) -> DataError:
    nearest = max(mixings.values(), key=len)
    parts = next(iter(nearest.values()))[0].parts
    return DataError(
        f"batch {batch} is not complete: {len(nearest)} of {counted(parts, 'part')}; give its whole folder"
    )


def _read_part(path: Path, task: Task, position: int) -> tuple[PartHead, tuple[OnionGroup, ...]] | None:
    table = read_table(path)
    if table.metadata.get("kind") in (REPORT_KIND, TAKEN_KIND, SEEN_KIND):
        return None
    try:
        head = msgspec.convert(table.metadata, PartHead)
    except msgspec.ValidationError:
        raise DataError(f"{path} is no batch: its metadata must name its task and batch") from None
    if head.part >= head.parts:
        raise DataError(f"{path} is no part of a batch: its metadata says part {head.part} of {head.parts}")
    if head.task != task.name:
        raise DataError(f"{path} is of another task ({head.task[:16]}...)")
    if head.position != position:
        raise DataError(
            f"{path} is for {name_of(task, head.position)}, and the key belongs to {name_of(task, position)}"
        )
    if not table.is_column(ONION, task.onion_length(position)):
        raise DataError(f"{path} must have one column {ONION!r} of {task.onion_length(position)} bytes each")
    return head, tuple(OnionGroup(path, group, number) for group, number in enumerate(table.rows))

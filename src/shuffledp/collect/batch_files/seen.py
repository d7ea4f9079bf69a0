"""The memory of a server over files: what it has accepted for a task, so that nothing enters two batches.

The memory is a folder beside the private key. Each run that forwards or counts batches adds a folder:

- The first shuffler remembers the lot (see `batches`) and the digest of every report in a batch. Only it can open a
  report, so nobody else can put the onions of a person into another report.
- Later shufflers and the analyzer remember a keyed fingerprint of every onion, by batch. An onion belongs to the first
  batch that was accepted with it. The same batch may be given again, with the same onions.

All keys are derived from the private key, so the memory tells nothing to others, and nothing at all once the key is
destroyed. A run is remembered just before the rename that completes its output. If the process is killed in between,
the unfinished output still has its temporary name, and the next run forgets the run.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from shuffledp.atomic_file import check_folder, sync_folder
from shuffledp.collect.batch_files.formats import (
    PARTIAL,
    SEEN_KIND,
    TAKEN_KIND,
    HexId,
    Table,
    TaskName,
    bytes_of,
    fixed_width,
    is_unfinished,
    needs_arrow,
    new_table,
    opened_table,
    read_group,
    read_table,
    whole_folder,
    write_column,
)
from shuffledp.collect.crypto.batch import FINGERPRINT_BYTES
from shuffledp.collect.crypto.keys import KeyPair
from shuffledp.collect.task import Task
from shuffledp.collect.task.report import position_of
from shuffledp.errors import DataError, ParameterError

SEEN = ".seen"
"""The ending of the folder beside a key."""

_RUN_FILE, _LOCK_FILE, _COLUMN = "run", "lock", "fingerprint"
_OURS = re.compile(rf"[0-9a-f]{{32}}|\..*{re.escape(PARTIAL)}")
"""Names of the folders of runs, complete and unfinished."""

_Number = Annotated[int, msgspec.Meta(ge=0)]


LOT_BYTES = 16
Rows = NDArray[np.uint8]
"""One row of 16 bytes for each report."""


@dataclass(frozen=True, eq=False)
class Entries:
    """The lots of reports, and the digests of their content."""

    lots: Rows
    digests: Rows

    @classmethod
    def none(cls) -> Entries:
        """Return no entries."""
        nothing = np.empty((0, LOT_BYTES), dtype=np.uint8)
        return cls(nothing, nothing)

    @classmethod
    def join(cls, parts: Sequence[Entries]) -> Entries:
        """Join entries."""
        return cls(np.concatenate([part.lots for part in parts]), np.concatenate([part.digests for part in parts]))

    def pick(self, rows: NDArray[np.int64]) -> Entries:
        """Return the entries of some rows."""
        return Entries(self.lots[rows], self.digests[rows])

    def distinct(self) -> Entries:
        """Return each entry once, in the order of lots."""
        order = self.order()
        together = np.concatenate([self.lots, self.digests], axis=1)[order]
        new = np.ones(len(order), dtype=np.bool_)
        new[1:] = (together[1:] != together[:-1]).any(axis=1)
        return self.pick(order[new])

    def order(self, *between: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the rows in the order of lots, then of the values `between`, then of digests."""
        return np.lexsort((*_words(self.digests)[::-1], *between, *_words(self.lots)[::-1]))

    def __len__(self) -> int:
        return len(self.lots)


def _words(rows: Rows) -> list[NDArray[np.uint64]]:
    """Rows of 16 bytes as two numbers each, in the same order."""
    words = np.ascontiguousarray(rows).view(">u8").astype(np.uint64)
    return [words[:, 0], words[:, 1]]


TAKEN_FILE = "taken.parquet"
_COLUMNS = ("lot", "digest")
_ROWS = 1 << 16


def write_taken(path: Path, task: Task, entries: Entries) -> None:
    """Write the entries of the reports in batches."""
    import pyarrow

    kind = pyarrow.binary(LOT_BYTES)
    schema = pyarrow.schema([pyarrow.field(name, kind, nullable=False) for name in _COLUMNS])
    with new_table(path, schema, metadata={"kind": TAKEN_KIND, "task": task.name}) as write:
        for start in range(0, len(entries), _ROWS):
            part = slice(start, start + _ROWS)
            columns = [fixed_width(rows[part].tobytes(), LOT_BYTES) for rows in (entries.lots, entries.digests)]
            write(pyarrow.table(columns, schema=schema))


def read_taken(folders: Iterable[Path], task: Task) -> Entries:
    """Read the entries that earlier runs have written."""
    needs_arrow()
    import pyarrow

    found = [Entries.none()]
    for folder in folders:
        path = folder / TAKEN_FILE
        if not path.exists():
            raise DataError(
                f"before must be the folder of batches of an earlier run of the first shuffler: there is no {path}"
            )
        with opened_table(path) as file:
            metadata, table = Table.of(file, path).metadata, file.read()
        if metadata != {"kind": TAKEN_KIND, "task": task.name}:
            raise DataError(f"{path} is of another task")
        if table.schema.names != list(_COLUMNS) or any(
            kind != pyarrow.binary(LOT_BYTES) for kind in table.schema.types
        ):
            raise DataError(f"{path} must have the columns {' and '.join(_COLUMNS)}, of {LOT_BYTES} bytes each")
        rows = [
            np.frombuffer(bytes_of(column.combine_chunks()), dtype=np.uint8).reshape(-1, LOT_BYTES)
            for column in table.columns
        ]
        found.append(Entries(*rows))
    return Entries.join(found)


def seen_folder(key_file: str | os.PathLike[str]) -> Path:
    """Return the folder with the memory of a key: beside the file itself, whatever link leads to it."""
    path = Path(key_file).resolve()
    return path.with_name(path.name + SEEN)


class Accepted(msgspec.Struct, frozen=True):
    """The number of different reports or onions of an accepted batch, and of rows in the files about it."""

    number: _Number
    rows: _Number


class Run(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The JSON file of a run. `unfinished` exists only until the output is complete; `check` is keyed."""

    kind: Literal["shuffledp run 1"] = "shuffledp run 1"
    name: HexId
    task: TaskName
    position: _Number
    unfinished: str
    batches: dict[HexId, Accepted]
    check: str = ""


class SeenGroup(NamedTuple):
    """A group of rows of a file of fingerprints, all of one batch."""

    path: Path
    group: int
    rows: int
    batch_id: bytes

    def read(self) -> bytes:
        """Return the consecutive fingerprints."""
        return bytes_of(read_group(self.path, self.group, _COLUMN))


class Seen:
    """The opened memory of one server for one task.

    `batches` has the number of different reports or onions of every accepted batch; `groups` locates the fingerprints.
    `left` are the temporary folders of runs that were killed before their output was complete, and are forgotten.
    """

    def __init__(self, folder: Path, task: Task, key: KeyPair) -> None:
        self.folder, self._task, self._position = folder, task, position_of(task, key)
        self._private = key.private_bytes
        self.secret = _secret(self._private, task.id)
        self.batches: dict[bytes, int] = {}
        self.groups: list[SeenGroup] = []
        self.left: list[Path] = []
        self._runs: list[Run] = []
        for path in sorted(folder.iterdir()):
            if is_unfinished(path.name):
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != _LOCK_FILE:
                self._load(path)

    def taken(self) -> Entries:
        """Return the reports that the first shuffler has used."""
        runs = [run for run in self._runs if self._is_ours(run)]
        folders = [self.folder / run.name for run in runs]
        for folder in folders:
            if not (folder / TAKEN_FILE).exists():
                raise _damaged(folder, "reports are missing")
        found = read_taken(folders, self._task)
        if len(found) != sum(accepted.rows for run in runs for accepted in run.batches.values()):
            raise _damaged(self.folder, "reports are missing")
        return found

    def forget(self, name: str) -> None:
        """Forget a run whose output was never complete."""
        shutil.rmtree(self.folder / name, ignore_errors=True)

    def remember(
        self,
        name: str,
        batches: Mapping[bytes, Accepted],
        write: Callable[[Path], None],
        *,
        unfinished: Path | None = None,
    ) -> None:
        """Remember the batches of a run; `write` fills the run's folder."""
        run = Run(
            name=name,
            task=self._task.name,
            position=self._position,
            unfinished="" if unfinished is None else str(unfinished.resolve()),
            batches={batch_id.hex(): accepted for batch_id, accepted in sorted(batches.items())},
        )
        with whole_folder(self.folder / name) as folder:
            write(folder)
            with (folder / _RUN_FILE).open("xb") as file:
                file.write(msgspec.json.encode(msgspec.structs.replace(run, check=_check(run, self.secret))))
                file.flush()
                os.fsync(file.fileno())
            sync_folder(folder)
        sync_folder(self.folder)

    def remember_reports(self, name: str, batches: Mapping[bytes, Entries], *, unfinished: Path) -> None:
        """Remember the reports of the first shuffler's batches."""
        numbers = {batch_id: Accepted(len(entries), len(entries)) for batch_id, entries in batches.items()}
        entries = Entries.join([*batches.values()]).distinct()
        self.remember(
            name, numbers, lambda folder: write_taken(folder / TAKEN_FILE, self._task, entries), unfinished=unfinished
        )

    @property
    def task_name(self) -> str:
        """The id of the task."""
        return self._task.name

    def _load(self, path: Path) -> None:
        run = _read_run(path)
        if run.check != _check(run, _secret(self._private, bytes.fromhex(run.task))):
            raise DataError(
                f"{self.folder} must be the folder of this key, and {path.name} was made with another key or changed"
            )
        if run.unfinished and Path(run.unfinished).exists():
            self.left.append(Path(run.unfinished))
            shutil.rmtree(path)
            return
        self._runs.append(run)
        if not self._is_ours(run):
            return
        self.batches |= {bytes.fromhex(batch): accepted.number for batch, accepted in run.batches.items()}
        if self._position:
            self._locate(path, run)

    def _locate(self, path: Path, run: Run) -> None:
        rows = dict.fromkeys(run.batches, 0)
        for file in sorted(path.rglob("*.parquet")):
            batch, groups = _read_seen(file, run)
            rows[batch] = rows.get(batch, 0) + sum(group.rows for group in groups)
            self.groups += groups
        if rows != {batch: accepted.rows for batch, accepted in run.batches.items()}:
            raise _damaged(path, "fingerprints are missing")

    def _is_ours(self, run: Run) -> bool:
        return (run.task, run.position) == (self._task.name, self._position)


@contextmanager
def opened_seen(folder: str | os.PathLike[str], task: Task, key: KeyPair) -> Iterator[Seen]:
    """Open the memory for one run at a time; the folder is created on first use, and not left behind empty."""
    needs_arrow()
    path = Path(folder)
    lock = path / _LOCK_FILE
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        for entry in path.iterdir():
            if entry.name != _LOCK_FILE and not _OURS.fullmatch(entry.name):
                raise ParameterError(f"seen must be a folder of its own, and {path} holds other files: {entry.name}")
        handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise DataError(
            f"cannot write {path}: {error.strerror}. What was accepted is remembered there, so that no person is in "
            "two batches: keep the key in a folder that you may write to"
        ) from None
    try:
        _lock(handle, lock)
        try:
            check_folder(path / _RUN_FILE)
            yield Seen(path, task, key)
        finally:
            if {entry.name for entry in path.iterdir()} == {_LOCK_FILE}:
                lock.unlink()
                path.rmdir()
    finally:
        os.close(handle)


def write_seen(path: Path, blocks: Iterable[bytes], *, task: str, batch_id: bytes) -> None:
    """Write the fingerprints of onions of a batch, atomically."""
    metadata = {"kind": SEEN_KIND, "task": task, "batch": batch_id.hex()}
    write_column(path, _COLUMN, blocks, width=FINGERPRINT_BYTES, metadata=metadata)


def forget_all(folder: Path) -> bool:
    """Delete the memory of a key that was destroyed; return whether there was one. Other files in it are kept."""
    if not folder.is_dir():
        return False
    for path in folder.iterdir():
        if _OURS.fullmatch(path.name):
            shutil.rmtree(path, ignore_errors=True)
    (folder / _LOCK_FILE).unlink(missing_ok=True)
    with suppress(OSError):
        folder.rmdir()
    return True


def _secret(private_bytes: bytes, task_id: bytes) -> bytes:
    """The key of all fingerprints of a server for a task."""
    return hashlib.blake2b(task_id, key=private_bytes, person=b"shuffledp seen", digest_size=32).digest()


def _check(run: Run, secret: bytes) -> str:
    content = msgspec.json.encode(msgspec.structs.replace(run, check=""), order="deterministic")
    return hashlib.blake2b(content, key=secret, person=b"shuffledp run", digest_size=16).hexdigest()


def _read_run(path: Path) -> Run:
    try:
        run = msgspec.json.decode((path / _RUN_FILE).read_bytes(), type=Run)
    except (OSError, msgspec.DecodeError, ValueError):
        raise _damaged(path, f"it has no valid file {_RUN_FILE!r}") from None
    if run.name != path.name:
        raise _damaged(path, "it was renamed")
    return run


def _read_seen(path: Path, run: Run) -> tuple[str, Sequence[SeenGroup]]:
    table = read_table(path)
    batch = table.metadata.pop("batch", None)
    if table.metadata != {"kind": SEEN_KIND, "task": run.task} or batch not in run.batches:
        raise _damaged(path, "it is of another task or batch")
    if not table.is_column(_COLUMN, FINGERPRINT_BYTES):
        raise _damaged(path, "it has other columns")
    return batch, [SeenGroup(path, group, number, bytes.fromhex(batch)) for group, number in enumerate(table.rows)]


def _damaged(path: Path, why: str) -> DataError:
    return DataError(
        f"{path} is damaged: {why}. Without the memory of earlier runs a person could be in two batches; restore it "
        "from a backup"
    )


def _lock(handle: int, path: Path) -> None:
    """Lock the memory until the process ends; the file may have been deleted by a run that has just ended."""
    if os.name != "posix":
        return
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if path.exists() and path.stat().st_ino == os.fstat(handle).st_ino:
            return
    except BlockingIOError:
        pass
    raise DataError(f"another run uses {path.parent}: try again when it has ended")

"""Lots decide which reports form a batch, independently of arrival, files and content.

The lot of a report is a hash of its id, with a key derived from the first shuffler's private key. Batches are formed in
the order of lots, so the same reports always form the same batches. Only the shuffler can compute lots, so an attacker
who chooses the ids of forged reports cannot choose the batch that they join. The id of a batch is a hash of its lots
with the same key.

The first shuffler remembers the lot and the digest of every report in a batch, in the order of lots. So each report is
used only once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shuffledp.collect.batch_files.formats import (
    TAKEN_KIND,
    Table,
    bytes_of,
    fixed_width,
    needs_arrow,
    new_table,
    opened_table,
)
from shuffledp.collect.task import Task
from shuffledp.errors import DataError

LOT_BYTES = 16
Rows = NDArray[np.uint8]
"""One row of 16 bytes for each report."""


def lot_key(private_bytes: bytes, task_id: bytes) -> bytes:
    """Return the key of a task's lots."""
    return hashlib.blake2b(task_id, key=private_bytes, person=b"shuffledp lots", digest_size=32).digest()


def lot_of(report_id: bytes, key: bytes) -> bytes:
    """Return the lot of a report."""
    return hashlib.blake2b(report_id, key=key, digest_size=LOT_BYTES).digest()


def batch_id_of(lots: Rows, key: bytes) -> bytes:
    """Return the id of a batch of these reports, in the order of lots."""
    return hashlib.blake2b(lots.tobytes(), key=key, person=b"shuffledp batch", digest_size=16).digest()


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
        order = np.lexsort((*_words(self.digests)[::-1], *_words(self.lots)[::-1]))
        together = np.concatenate([self.lots, self.digests], axis=1)[order]
        new = np.ones(len(order), dtype=np.bool_)
        new[1:] = (together[1:] != together[:-1]).any(axis=1)
        return self.pick(order[new])

    def __len__(self) -> int:
        return len(self.lots)


class Batch(NamedTuple):
    """The id of a batch, and the rows of its reports in the order of lots."""

    batch_id: bytes
    rows: NDArray[np.int64]


class Drawn(NamedTuple):
    """Complete batches, the rows of the remaining reports, and the numbers of repeated reports.

    `used` reports are in a batch already. `known` reports repeat a given one with the same content. `other_bytes`
    reports have the id of either, with other content.
    """

    batches: list[Batch]
    rest: NDArray[np.int64]
    used: int
    known: int
    other_bytes: int


def draw(found: Entries, taken: Entries, *, users: int, key: bytes) -> Drawn:
    """Form batches of `users` reports each, from all found reports that are not in a batch already.

    Of several reports with one id, one that is taken counts, otherwise the one with the smallest digest.
    """
    together = Entries.join([taken, found])
    new = np.arange(len(together)) >= len(taken)
    order = np.lexsort((*_words(together.digests)[::-1], new, *_words(together.lots)[::-1]))
    lots, digests = together.lots[order], together.digests[order]
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = (lots[1:] != lots[:-1]).any(axis=1)
    counts = np.flatnonzero(first)[np.cumsum(first) - 1]  # for each row, the row of the report that counts for its id
    same = (digests == digests[counts]).all(axis=1)
    taken_before = ~new[order][counts]
    again = new[order] & ~first
    chosen = order[first & new[order]] - len(taken)
    whole = len(chosen) - len(chosen) % users
    rows = chosen[:whole].reshape(-1, users)
    return Drawn(
        batches=[Batch(batch_id_of(found.lots[part], key), part) for part in rows],
        rest=chosen[whole:],
        used=int((again & same & taken_before).sum()),
        known=int((again & same & ~taken_before).sum()),
        other_bytes=int((again & ~same).sum()),
    )


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

"""The store of an analyzer: the tally of every batch, and the releases.

A stored tally is a header and then compressed numbers, each in the smallest width that fits: the differences between
consecutive symbols (the first from 0), and the counts. The header has both widths, the number of symbols, the number of
counts for each symbol (0: one count, not in a row), and the number of messages. The first bytes of all differences come
first, then all second bytes, and so on: hashed messages are nearly all different, and only their high bytes can be
compressed. Four million messages take 16 MB and a second. Version 1 had whole numbers one after another.
"""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shuffledp.collect.store.base import Fingerprints, Store
from shuffledp.collect.store.schema import (
    CountedBatch,
    KeptRelease,
    KeptTally,
    ListedRelease,
    TallyStanding,
    check_users,
)
from shuffledp.collect.task import Task
from shuffledp.errors import DataError, ParameterError
from shuffledp.histogram.tally import Tally

if TYPE_CHECKING:
    from shuffledp.release.release import Release

_MAGIC, _MAGIC_1 = b"shuffledp tally 2\n", b"shuffledp tally 1\n"
_HEAD = struct.Struct(">BBQQQ")
_WIDTHS = range(1, 9)
_LEVEL = 1
"""Of compression: others take much longer and gain 2 %."""

_PART_BYTES = 1 << 26
"""The longest part of a tally in a database, far below the limits: a gigabyte in SQLite and in PostgreSQL."""


def to_bytes(tally: Tally) -> bytes:
    """Serialize a complete tally of whole numbers in increasing order."""
    symbols = tally.symbols.astype(np.int64)
    if not tally.complete or (symbols[1:] <= symbols[:-1]).any() or (symbols < 0).any() or (tally.counts < 0).any():
        raise DataError("tally must be complete, with symbols that are whole numbers in increasing order")
    messages = tally.total if tally.messages is None else tally.messages
    parts = [_narrow(np.diff(symbols, prepend=0)), _narrow(tally.counts.ravel())]
    kinds = 0 if tally.counts.ndim == 1 else tally.kinds
    head = _HEAD.pack(*(part.shape[0] for part in parts), symbols.size, kinds, messages)
    packer = zlib.compressobj(_LEVEL)
    packed = [packer.compress(plane) for part in parts for plane in part]
    return b"".join([_MAGIC, head, *packed, packer.flush()])


def from_bytes(content: bytes) -> Tally:
    """Read the tally that `to_bytes` wrote."""
    try:
        if not content.startswith((_MAGIC, _MAGIC_1)):
            raise ValueError
        *widths, size, kinds, messages = _HEAD.unpack_from(content, len(_MAGIC))
        stream = zlib.decompressobj()
        plain = stream.decompress(content[len(_MAGIC) + _HEAD.size :])
        ends = size * widths[0], size * (widths[0] + max(1, kinds) * widths[1])
        if not set(widths) <= set(_WIDTHS) or len(plain) != ends[1] or not stream.eof or stream.unused_data:
            raise ValueError
        wide = _wide if content.startswith(_MAGIC) else _wide_1
        symbols = np.cumsum(wide(plain[: ends[0]], widths[0]))
        counts = wide(plain[ends[0] :], widths[1])
        return Tally(symbols, counts.reshape(size, kinds) if kinds else counts, messages=messages)
    except (ValueError, struct.error, zlib.error):
        raise DataError("a stored tally is damaged") from None


def _narrow(numbers: NDArray[np.int64]) -> NDArray[np.uint8]:
    """The bytes of the same numbers in the smallest width that fits the largest; a row for each byte, lowest first."""
    largest = int(numbers.max(initial=0))
    width = max(1, -(-largest.bit_length() // 8))
    return np.ascontiguousarray(numbers.astype("<u8").view(np.uint8).reshape(-1, _WIDTHS[-1]).T[:width])


def _wide(content: bytes, width: int) -> NDArray[np.int64]:
    planes = np.frombuffer(content, dtype=np.uint8).reshape(width, -1)
    numbers = np.zeros((planes.shape[1], _WIDTHS[-1]), dtype=np.uint8)
    numbers[:, :width] = planes.T
    return numbers.view("<i8")[:, 0].astype(np.int64)


def _wide_1(content: bytes, width: int) -> NDArray[np.int64]:
    return np.frombuffer(content, dtype=f"<u{width}").astype(np.int64)


def _in_parts(tally: bytes) -> list[bytes]:
    return [tally[at : at + _PART_BYTES] for at in range(0, max(1, len(tally)), _PART_BYTES)]


class TallyStore(Store):
    """Tallies and releases of an analyzer."""

    def prepare(self, *tasks: Task) -> None:
        """Register tasks."""
        ids = sorted({task.id for task in tasks})
        with self._database.writing() as transaction:
            transaction.insert("tasks", ("task_id", "users"), sorted({(task.id, task.users) for task in tasks}))
            rows = transaction.rows_among("SELECT task_id, users FROM tasks WHERE task_id {keys}", ids)
        check_users(tasks, {bytes(task_id): users for task_id, users in rows})

    def has_batch(self, batch_id: bytes) -> bool:
        """Whether the batch has a tally."""
        return bool(self._rows("SELECT 1 FROM tallies WHERE batch_id = ?", batch_id))

    def keep_tally(
        self,
        task_id: bytes,
        batch_id: bytes,
        tally: bytes,
        people: int,
        refused: Mapping[str, int],
        problem: str | None = None,
        *,
        fingerprints: Fingerprints | None = None,
    ) -> bool:
        """Store the tally of a batch and remember its ciphertexts; return False if there is a tally already."""
        columns = ("task_id", "batch_id", "tally", "people", "refused", "problem")
        first, *parts = _in_parts(tally)
        row = (task_id, batch_id, first, people, json.dumps(dict(refused), sort_keys=True), problem)
        memory = None if fingerprints is None else self.memories.of(task_id)
        with self._database.writing() as transaction:
            if not transaction.rows("SELECT 1 FROM tasks WHERE task_id = ?", task_id):
                raise ParameterError("task_id must be of a task in this store: call prepare(task) first")
            if transaction.insert("tallies", columns, [row]) == 0:
                return False
            for at, part in enumerate(parts):
                transaction.insert("tally_parts", ("batch_id", "part", "bytes"), [(batch_id, at, part)])
            if memory is not None and fingerprints is not None:
                memory.add(transaction, fingerprints)
        return True

    def tallies(self, task_id: bytes) -> list[KeptTally]:
        """Return all tallies of a task."""
        with self._database.reading() as transaction:
            rows = transaction.rows(
                "SELECT batch_id, tally, people, refused, problem, "
                "EXISTS (SELECT 1 FROM released WHERE released.batch_id = tallies.batch_id) "
                "FROM tallies WHERE task_id = ? ORDER BY batch_id",
                task_id,
            )
            parts = {
                row[0]: transaction.rows("SELECT bytes FROM tally_parts WHERE batch_id = ? ORDER BY part", row[0])
                for row in rows
            }
        return [
            KeptTally(
                batch_id=batch_id,
                tally=b"".join([tally, *(part for (part,) in parts[batch_id])]),
                people=people,
                refused=json.loads(refused),
                problem=problem,
                released=bool(released),
            )
            for batch_id, tally, people, refused, problem, released in rows
        ]

    def keep_release(self, task_id: bytes, *, release: bytes, batches: Sequence[bytes]) -> int:
        """Store the release of these batches and mark them as released; return its number.

        If the same batches, in any order, have a release already, that one stays.
        """
        ids = sorted(set(batches))
        of_batches = hashlib.sha256(b"".join(ids)).digest()
        with self._database.writing() as transaction:
            transaction.lock(f"releases {task_id.hex()}")
            known = transaction.rows(
                "SELECT number FROM releases WHERE task_id = ? AND of_batches = ?", task_id, of_batches
            )
            if known:
                return int(known[0][0])
            good = transaction.rows_among(
                "SELECT batch_id FROM tallies WHERE task_id = ? AND problem IS NULL AND batch_id {keys}", ids, task_id
            )
            if not ids or len(good) != len(ids):
                raise DataError(
                    f"{len(ids) - len(good)} of {len(ids)} batches cannot be released: batches must be of this task, "
                    "counted, and without a problem"
                )
            ((last,),) = transaction.rows("SELECT COALESCE(MAX(number), 0) FROM releases WHERE task_id = ?", task_id)
            number = int(last) + 1
            made = datetime.now(UTC).replace(microsecond=0).isoformat()
            columns = ("task_id", "number", "made", "of_batches", "content")
            transaction.insert("releases", columns, [(task_id, number, made, of_batches, release)])
            rows = [(batch_id, task_id, number) for batch_id in ids]
            transaction.insert("released", ("batch_id", "task_id", "number"), rows)
        return number

    def listed(self, task_id: bytes) -> list[ListedRelease]:
        """Return number and time of all releases of a task, the oldest first."""
        return self.listed_of([task_id])[task_id]

    def listed_of(self, task_ids: Sequence[bytes]) -> dict[bytes, list[ListedRelease]]:
        """Return number and time of all releases of several tasks, the oldest first; a series can have thousands."""
        with self._database.reading() as transaction:
            rows = transaction.rows_among("SELECT task_id, number, made FROM releases WHERE task_id {keys}", task_ids)
        found: dict[bytes, list[ListedRelease]] = {task_id: [] for task_id in task_ids}
        for task_id, number, made in sorted(rows, key=lambda row: int(row[1])):
            found[bytes(task_id)].append(ListedRelease(number=number, made=datetime.fromisoformat(made)))
        return found

    def batches(self, task_id: bytes) -> list[CountedBatch]:
        """Return all counted batches in the order of their first release; those without one come last."""
        rows = self._rows(
            "SELECT people, refused, problem, (SELECT MIN(number) FROM released WHERE "
            "released.batch_id = tallies.batch_id AND released.task_id = tallies.task_id) "
            "FROM tallies WHERE task_id = ? ORDER BY batch_id",
            task_id,
        )
        found = [
            CountedBatch(people=people, refused=json.loads(refused), problem=problem, release=release)
            for people, refused, problem, release in rows
        ]
        return sorted(found, key=lambda batch: (batch.release is None, batch.release or 0))

    def release(self, task_id: bytes, number: int | None = None) -> KeptRelease | None:
        """Return the release of this number, or the latest; None if there is none."""
        which, given = ("", ()) if number is None else ("AND number = ? ", (number,))
        rows = self._rows(
            f"SELECT number, made, content FROM releases WHERE task_id = ? {which}ORDER BY number DESC LIMIT 1",
            *(task_id, *given),
        )
        if not rows:
            return None
        found, made, content = rows[0]
        return KeptRelease(number=found, made=datetime.fromisoformat(made), release=content)

    def without_blocked(self, release: Release) -> Release:
        """Return a release as it is shown; a store with a blocklist hides words."""
        return release

    def standing(self, task_id: bytes) -> TallyStanding:
        """Return all counters of a task."""
        with self._database.reading() as transaction:
            rows = transaction.rows("SELECT people, refused, problem FROM tallies WHERE task_id = ?", task_id)
            ((releases,),) = transaction.rows("SELECT COUNT(*) FROM releases WHERE task_id = ?", task_id)
        refused: Counter[str] = Counter()
        for _, reasons, _ in rows:
            refused.update(json.loads(reasons))
        return TallyStanding(
            batches=len(rows),
            problems=sum(problem is not None for _, _, problem in rows),
            people=sum(people for people, _, problem in rows if problem is None),
            releases=releases,
            refused=dict(refused),
        )

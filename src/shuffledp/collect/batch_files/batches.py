"""The batch that each report and each onion belongs to: no person may be in two batches.

A lot is a hash of a report's id, with a key derived from the first shuffler's private key. Batches are formed in the
order of lots, so the same reports always form the same batches. Only the shuffler can compute lots, so an attacker who
chooses the ids of forged reports cannot choose the batch that they join. The id of a batch is a hash of its lots with
the same key.

An honest ciphertext never repeats. If a person's onions were in two batches, the difference of two releases, or the
onions that two mixed batches share, could be that person. So every onion belongs to one batch: the one that was
accepted with it before, otherwise the first of the given ones, in the order of ids. Other batches lose it. A batch that
was accepted before keeps exactly its onions of that time. If one is missing, the batch is refused: two releases of it
would differ by the missing people.

Memory: 7 bytes for each given onion, and about 60 for each of those that are compared at a time. Fingerprints are in an
unnamed temporary file, and the remembered ones are read in groups of rows.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shuffledp.collect.batch_files.formats import ROW_NUMBER, BatchFiles
from shuffledp.collect.batch_files.seen import LOT_BYTES, Accepted, Entries, Rows, Seen, write_seen
from shuffledp.collect.crypto.batch import FINGERPRINT_BYTES, fingerprints
from shuffledp.collect.reasons import Reason
from shuffledp.formatting import counted

_COMPARED = 1 << 21
"""Fingerprints that are sorted and compared at a time, about."""

_MOST_PARTS = 1 << 8
"""The values of the first byte of a fingerprint."""

_WRITTEN = 1 << 16
"""Fingerprints in a group of rows: 1 MB."""

_KEY = f"S{FINGERPRINT_BYTES}"
"""Fingerprints as values that numpy sorts; zeros at the end are not significant, and all have the same width."""


class Compared(NamedTuple):
    """A batch without the onions that are not its own, their numbers by reason, and the number of different others."""

    batch: BatchFiles
    number: int
    refused: Counter[str]


class RefusedBatch(NamedTuple):
    """A batch that was not forwarded or released.

    The reason is `too-few-messages` if its noise is incomplete, perhaps because other batches have its onions, or
    `other-bytes` if the batch was accepted before with other onions.
    """

    batch_id: bytes
    reason: Reason


def remembered_as(compared: Sequence[Compared], chosen: Container[bytes], seen: Seen) -> dict[bytes, Accepted]:
    """Return the numbers of those chosen batches that were not accepted before."""
    return {
        one.batch.batch_id: Accepted(one.number, one.batch.number)
        for one in compared
        if one.batch.batch_id in chosen and one.batch.batch_id not in seen.batches
    }


def split_changed(compared: Sequence[Compared], seen: Seen) -> tuple[list[Compared], list[RefusedBatch]]:
    """Return the batches to use, and those that were accepted before and lack some of their onions now."""
    used, refused = [], []
    for one in compared:
        if one.number == seen.batches.get(one.batch.batch_id, one.number):
            used.append(one)
        else:
            refused.append(RefusedBatch(one.batch.batch_id, Reason.OTHER_BYTES))
    return used, refused


def described(compared: Sequence[Compared], refused: Sequence[RefusedBatch]) -> str:
    """Return why no batch could be used."""
    reasons = Counter(batch.reason for batch in refused)
    replayed = sum(one.refused[Reason.REPLAYED] for one in compared)
    parts = [
        f"{counted(reasons[reason], 'batch', things='batches')} {_REFUSED[reason]} ({reason})"
        for reason in _REFUSED
        if reasons[reason]
    ]
    if replayed:
        parts.append(f"{counted(replayed, 'message')} of another batch dropped, since nobody may be in two batches")
    return "; ".join(parts)


_REFUSED = {
    Reason.TOO_FEW_MESSAGES: "with fewer messages than the number of people requires: noise is missing",
    Reason.OTHER_BYTES: "accepted before with other messages: give the batch as it was then",
}


class Claims(NamedTuple):
    """Numbers that say to which batch an onion belongs; the smallest claim wins.

    An onion that was accepted before belongs to the batch of number `remembered[...]`, or -1 if it is not given. A new
    one is claimed by all new batches that have it, with `new[batch]`. Batches that were accepted before claim nothing.
    """

    new: NDArray[np.int64]
    remembered: Mapping[bytes, int]

    @classmethod
    def of(cls, batches: Sequence[BatchFiles], seen: Seen) -> Claims:
        """Number the given batches."""
        numbers = {batch.batch_id: at for at, batch in enumerate(batches)}
        count = len(numbers)
        new = [2 * count if batch_id in seen.batches else count + at for batch_id, at in numbers.items()]
        return cls(np.array(new, dtype=np.int64), {name: numbers.get(name, -1) for name in seen.batches})

    @property
    def nobody(self) -> int:
        """The claim on an onion that only batches have that may not add it."""
        return 2 * len(self.new)


class Fingerprints:
    """The fingerprints of all onions of batches, in the order of the files."""

    def __init__(self, batches: Sequence[BatchFiles], seen: Seen) -> None:
        self._batches, self._seen, self._file = batches, seen, tempfile.TemporaryFile()  # noqa: SIM115  (see close)
        self._ends = np.cumsum([0, *(batch.number for batch in batches)]).tolist()
        self._all: NDArray[np.bytes_] = np.empty(0, dtype=_KEY)
        self._own = np.zeros(self._ends[-1], dtype=np.bool_)

    def close(self) -> None:
        """Remove the temporary file."""
        self._file.close()

    def compare(self, width: int) -> list[Compared]:
        """Read the onions, and decide for each whether it belongs to its batch."""
        self._read(width)
        claims, batches = Claims.of(self._batches, self._seen), len(self._batches)
        batch_of = np.repeat(np.arange(batches, dtype=np.int32), np.diff(self._ends))
        own, replayed, added = np.zeros((3, batches), dtype=np.int64)
        first = self._all.view(np.uint8).reshape(-1, FINGERPRINT_BYTES)[:, 0]
        parts = min(_MOST_PARTS, 1 << max(0, -(-len(first) // _COMPARED) - 1).bit_length())
        for part in range(parts):
            rows = np.flatnonzero(first % parts == part)
            rows = rows[np.argsort(self._all[rows], kind="stable")]  # equal ones stay in the order of batches
            keys, batch = self._all[rows], batch_of[rows].astype(np.int64)
            new = np.ones(rows.size, dtype=np.bool_)
            new[1:] = keys[1:] != keys[:-1]
            claim = self._smallest(keys[new], np.cumsum(new) - 1, claims.new[batch], claims, part=(part, parts))
            mine, nobody = (claim == batch) | (claim == batches + batch), claim == claims.nobody
            self._own[rows] = mine
            new[1:] |= batch[1:] != batch[:-1]  # each onion once in each batch
            own += np.bincount(batch[mine & new], minlength=batches)
            replayed += np.bincount(batch[~mine & ~nobody], minlength=batches)
            added += np.bincount(batch[nobody], minlength=batches)
        refused = [
            {Reason.REPLAYED: one, Reason.OTHER_BYTES: other} for one, other in zip(replayed, added, strict=True)
        ]
        return [
            Compared(self._without(at), int(number), +Counter({str(reason): int(n) for reason, n in counts.items()}))
            for at, (number, counts) in enumerate(zip(own, refused, strict=True))
        ]

    def _read(self, width: int) -> None:
        for batch in self._batches:
            for block in batch.blocks():
                onions = np.frombuffer(block, dtype=np.uint8).reshape(-1, width)
                self._file.write(fingerprints(onions, self._seen.secret).tobytes())
        self._file.flush()
        if self._own.size:
            self._all = np.memmap(self._file, dtype=_KEY, mode="r", shape=self._own.shape)

    def _smallest(
        self,
        keys: NDArray[np.bytes_],
        key_of: NDArray[np.int64],
        new: NDArray[np.int64],
        claims: Claims,
        *,
        part: tuple[int, int],
    ) -> NDArray[np.int64]:
        """The smallest claim on the onion of each row; `keys` are the different fingerprints in order."""
        smallest = np.full(keys.size, claims.nobody, dtype=np.int64)
        np.minimum.at(smallest, key_of, new)
        for group in self._seen.groups if keys.size else ():
            found = np.frombuffer(group.read(), dtype=_KEY)
            found = np.sort(found[found.view(np.uint8)[::FINGERPRINT_BYTES] % part[1] == part[0]])
            at = np.minimum(np.searchsorted(keys, found), keys.size - 1)  # faster for sorted values
            np.minimum.at(smallest, at[keys[at] == found], claims.remembered[group.batch_id])
        return smallest[key_of]

    def _without(self, at: int) -> BatchFiles:
        batch, groups, end = self._batches[at], [], self._ends[at]
        for group in batch.groups:
            start, end = end, end + group.rows
            dropped = np.flatnonzero(~self._own[start:end])
            groups.append(group._replace(dropped=dropped.astype(ROW_NUMBER).tobytes()))
        return replace(batch, groups=tuple(groups))

    def write(self, batch_ids: Container[bytes], folder: Path) -> None:
        """Write the fingerprints of some batches' own onions."""
        for batch, (start, end) in zip(self._batches, pairwise(self._ends), strict=True):
            if batch.batch_id in batch_ids:
                path = folder / f"{batch.batch_id.hex()}.parquet"
                write_seen(path, self._blocks(start, end), task=self._seen.task_name, batch_id=batch.batch_id)

    def _blocks(self, start: int, end: int) -> Iterator[bytes]:
        for first in range(start, end, _WRITTEN):
            part = slice(first, min(first + _WRITTEN, end))
            yield self._all[part][self._own[part]].tobytes()


def lot_key(private_bytes: bytes, task_id: bytes) -> bytes:
    """Return the key of a task's lots."""
    return hashlib.blake2b(task_id, key=private_bytes, person=b"shuffledp lots", digest_size=32).digest()


def lot_of(report_id: bytes, key: bytes) -> bytes:
    """Return the lot of a report."""
    return hashlib.blake2b(report_id, key=key, digest_size=LOT_BYTES).digest()


def batch_id_of(lots: Rows, key: bytes) -> bytes:
    """Return the id of a batch of these reports, in the order of lots."""
    return hashlib.blake2b(lots.tobytes(), key=key, person=b"shuffledp batch", digest_size=16).digest()


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
    order = together.order(new)
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

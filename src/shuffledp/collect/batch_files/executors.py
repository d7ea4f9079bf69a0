"""The functions that run in Spark's executors, from Arrow batches to Arrow batches.

To mix a batch in parts, every onion has a key: a hash of the onion with a secret of the run. The first bits of the key
are the onion's bucket, and each bucket is sorted by key. Different onions have independent uniform keys, so the order
of a batch is a uniform permutation. Copies of an onion have the same key, meet in one bucket, and are dropped there.

The output is determined by the secret of the run and the rows of a group or bucket, in any order. So a Spark task that
runs again, because an executor was lost, writes the same bytes to the same file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.collect.analyzer.worker import numbers_of
from shuffledp.collect.batch_files.engine import OutputFolder, ReportLayer
from shuffledp.collect.batch_files.formats import OnionGroup, ReportGroup, fixed_width, write_part
from shuffledp.collect.batch_files.seen import SeenGroup, write_seen
from shuffledp.collect.crypto.batch import FINGERPRINT_BYTES, Layer, fingerprints
from shuffledp.collect.reasons import Reason
from shuffledp.collect.store.tallies import to_bytes
from shuffledp.collect.task.task import SEALING_BYTES
from shuffledp.errors import DataError
from shuffledp.histogram.tally import Tally

_MOST_BUCKETS = 1 << 12
"""The values of the first 12 bits of a key."""


def buckets_for(onions: int, *, each: int) -> int:
    """Return the number of buckets, a power of two, for about `each` onions at most in a bucket."""
    return min(_MOST_BUCKETS, 1 << max(0, -(-onions // each) - 1).bit_length())


def by_bucket(block: bytes, *, secret: bytes, buckets: int, width: int) -> Iterator[tuple[int, bytes]]:
    """Yield the onions of a block by bucket, without empty buckets."""
    if not block:
        return
    onions = np.frombuffer(block, dtype=np.uint8).reshape(-1, width)
    bucket = (_keys(block, secret, width)[:, 0] >> np.uint64(52)).astype(np.int64) & (buckets - 1)
    order = np.argsort(bucket, kind="stable")
    numbers, starts = np.unique(bucket[order], return_index=True)
    for number, rows in zip(numbers.tolist(), np.split(order, starts[1:]), strict=True):
        yield number, onions[rows].tobytes()


def in_order(block: bytes, *, secret: bytes, width: int) -> tuple[bytes, int]:
    """Return the onions of a bucket in the order of their keys, each once, and the number of dropped copies."""
    keys = _keys(block, secret, width)
    order = np.lexsort((keys[:, 1], keys[:, 0]))
    new = np.ones(order.size, dtype=np.bool_)
    new[1:] = (keys[order[1:]] != keys[order[:-1]]).any(axis=1)
    onions = np.frombuffer(block, dtype=np.uint8).reshape(-1, width)
    return onions[order[new]].tobytes(), int(order.size - new.sum())


def _keys(block: bytes, secret: bytes, width: int) -> NDArray[np.uint64]:
    digests = (
        hashlib.blake2b(block[at : at + width], key=secret, digest_size=16).digest()
        for at in range(0, len(block), width)
    )
    return np.frombuffer(b"".join(digests), dtype=">u8").reshape(-1, 2).astype(np.uint64)


PRINTS = "fingerprint binary, batch long, claim long, place long, row long"
REMEMBERED = "fingerprint binary, claim long"
NOTHING = "number long"
OPENED = "lot binary, digest binary, number long, onions binary, report binary, reason string"
DEALT = "batch binary, bucket int, onions binary, refused long"
WRITTEN = "batch binary, part int, number long, repeated long, refused long"
COUNTED = "batch binary, symbol long, reason string, number long"
PACKED = "batch binary, tally binary, reason string, number long"

Batches = Iterator[Any]


def open_reports(batches: Batches, *, layer: ReportLayer) -> Batches:
    """Open reports, as the first shuffler."""
    for path, group in _each(batches):
        sealed = ReportGroup(Path(path), group, 0).read()
        block = layer.open_block(sealed)
        lots, digests = ([part[at : at + 16] for at in range(0, len(part), 16)] for part in (block.lots, block.digests))
        taken = [sealed[row] for row in block.rows.tolist()]
        good = zip(lots, digests, block.numbers.tolist(), block.onions, taken, [None] * len(taken), strict=True)
        refused = [(None, None, None, None, None, str(reason)) for reason in block.refused.elements()]
        yield _arrow_rows(OPENED, [*good, *refused])


def deal(batches: Batches, *, secret: bytes, buckets: int, width: int) -> Batches:
    """Assign the onions of reports to buckets."""
    for batch in batches:
        rows = sorted(zip(*(column.to_pylist() for column in batch.columns), strict=True), key=itemgetter(0))
        for batch_id, reports in groupby(rows, key=itemgetter(0)):
            onions = b"".join(onions for _, onions in reports)
            yield _dealt(batch_id, onions, 0, secret=secret, buckets=buckets, width=width)


def read_and_deal(batches: Batches, *, secret: bytes, buckets: int, width: int, layer: Layer | None = None) -> Batches:
    """Assign the onions of batches to buckets; with a layer, their content, as a later shuffler."""
    for path, group, batch_id, dropped in _each(batches):
        onions, refused = OnionGroup(Path(path), group, 0, dropped).read(), 0
        if layer is not None:
            onions, refused = layer.open_block(onions)
        yield _dealt(batch_id, onions, refused, secret=secret, buckets=buckets, width=width)


def fingerprint(batches: Batches, *, secret: bytes, width: int) -> Batches:
    """Compute the fingerprints of the onions of batches."""
    import pyarrow

    for path, group, *numbers in _each(batches):
        found = _fingerprints(OnionGroup(Path(path), group, 0), secret, width)
        number = len(found) // FINGERPRINT_BYTES
        columns = [np.full(number, each) for each in numbers] + [np.arange(number)]
        rows = [fixed_width(found, FINGERPRINT_BYTES).cast(pyarrow.binary()), *map(pyarrow.array, columns)]
        yield pyarrow.RecordBatch.from_arrays(rows, _names(PRINTS))


def remembered(batches: Batches) -> Batches:
    """Read the fingerprints of accepted onions."""
    import pyarrow

    for path, group, claim in _each(batches):
        if not Path(path).exists():
            raise DataError("seen must be on a file system that the executors share with this machine")
        found = fixed_width(SeenGroup(Path(path), group, 0, b"").read(), FINGERPRINT_BYTES)
        columns = [found.cast(pyarrow.binary()), pyarrow.array(np.full(len(found), claim))]
        yield pyarrow.RecordBatch.from_arrays(columns, _names(REMEMBERED))


def write_fingerprints(batches: Batches, *, secret: bytes, width: int, folder: Path, task: str) -> Batches:
    """Write the fingerprints of each group of rows to a file."""
    for path, group, batch_id, dropped, place in _each(batches):
        found = _fingerprints(OnionGroup(Path(path), group, 0, dropped), secret, width)
        target = folder / batch_id.hex() / f"part-{place:05}.parquet"
        target.parent.mkdir(exist_ok=True)
        write_seen(target, [found], task=task, batch_id=batch_id)
        yield _arrow_rows(NOTHING, [(len(found) // FINGERPRINT_BYTES,)])


def _fingerprints(group: OnionGroup, secret: bytes, width: int) -> bytes:
    onions = np.frombuffer(group.read(), dtype=np.uint8).reshape(-1, width)
    return fingerprints(onions, secret).tobytes()


def write(batches: Batches, *, secret: bytes, target: OutputFolder, parts: int) -> Batches:
    """Write buckets as parts of batches, each in the order of its keys."""
    for batch_id, part, onions, refused in _buckets(batches):
        ordered, repeated = in_order(onions, secret=secret, width=target.width)
        path = target.path(batch_id, part=part, parts=parts)
        path.parent.mkdir(exist_ok=True)
        head = target.head(batch_id, part=part, parts=parts)
        number = write_part(path, head, [ordered], width=target.width)
        yield _arrow_rows(WRITTEN, [(batch_id, part, number, repeated, refused)])


def count(
    batches: Batches, *, secret: bytes, layer: Layer, alphabet: int, symbols: int, packed: bool = False
) -> Batches:
    """Open the messages of buckets, as the analyzer, and count them; numbers from `alphabet` on are padding.

    If `packed`, all messages of a bucket are in one row: if nearly all differ, rows of their own are long.
    """
    for batch_id, _, onions, _ in _buckets(batches):
        ordered, repeated = in_order(onions, secret=secret, width=layer.length)
        opened, closed = layer.open_block(ordered)
        found = numbers_of(opened, layer.length - SEALING_BYTES)
        reasons = {
            Reason.REPEATED: repeated,
            Reason.CANNOT_BE_OPENED: closed,
            Reason.NOT_A_MESSAGE: int(np.count_nonzero(found >= symbols)),
        }
        tally = Tally.of(found[found < alphabet].astype(np.int64))
        refused = [(batch_id, None, str(reason), number) for reason, number in reasons.items() if number]
        if packed:
            yield _arrow_rows(PACKED, [(batch_id, to_bytes(tally), None, None), *refused])
        else:
            counts = zip(tally.symbols.tolist(), tally.counts.tolist(), strict=True)
            yield _arrow_rows(COUNTED, [*((batch_id, symbol, None, number) for symbol, number in counts), *refused])


def _each(batches: Batches) -> Iterator[tuple[Any, ...]]:
    for batch in batches:
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _dealt(batch_id: bytes, onions: bytes, refused: int, *, secret: bytes, buckets: int, width: int) -> Any:
    """The onions of a block by bucket; the number of refused ones is with the first bucket."""
    dealt = by_bucket(onions, secret=secret, buckets=buckets, width=width)
    rows = [(batch_id, bucket, part, 0) for bucket, part in dealt]
    return _arrow_rows(DEALT, [*rows, *([(batch_id, 0, b"", refused)] if refused else [])])


def _buckets(batches: Batches) -> Iterator[tuple[bytes, int, bytes, int]]:
    """Join rows in the order of buckets to whole buckets, with the numbers of refused onions."""
    for (batch_id, bucket), rows in groupby(_each(batches), key=itemgetter(0, 1)):
        parts = list(rows)
        yield batch_id, bucket, b"".join(part[2] for part in parts), sum(part[3] for part in parts)


def _arrow_rows(schema: str, rows: Sequence[Sequence[Any]]) -> Any:
    """An Arrow batch of rows, with the columns of a Spark schema."""
    import pyarrow

    kinds = {"string": pyarrow.string(), "int": pyarrow.int32(), "long": pyarrow.int64(), "binary": pyarrow.binary()}
    names, types = _names(schema), [field.split()[1] for field in schema.split(", ")]
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    arrays = [pyarrow.array(column, kinds[kind]) for column, kind in zip(columns, types, strict=True)]
    return pyarrow.RecordBatch.from_arrays(arrays, names)


def _names(schema: str) -> list[str]:
    return [field.split()[0] for field in schema.split(", ")]

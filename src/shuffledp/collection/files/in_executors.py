"""What Spark's executors do with files: from Arrow batches to Arrow batches.

Whatever comes out follows from the secret of the run and from the rows of a group or a bucket, in any order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from shuffledp.collection.analyzer.counting import numbers_of
from shuffledp.collection.envelope.opening import Layer
from shuffledp.collection.files import buckets as dealing
from shuffledp.collection.files.batches import OnionGroup, write_part
from shuffledp.collection.files.engine import Target
from shuffledp.collection.files.opening import ReportLayer
from shuffledp.collection.files.reports import ReportGroup
from shuffledp.collection.reasons import Reason
from shuffledp.collection.task.task import SEALING_BYTES
from shuffledp.pipeline.tally import Tally

OPENED = "lot binary, digest binary, number long, onions binary, report binary, reason string"
DEALT = "batch binary, bucket int, onions binary, refused long"
WRITTEN = "batch binary, part int, number long, repeated long, refused long"
COUNTED = "batch binary, symbol long, reason string, number long"

Batches = Iterator[Any]


def open_reports(batches: Batches, *, layer: ReportLayer) -> Batches:
    """Opens reports, as the first shuffler."""
    for path, group, _ in _each(batches):
        sealed = ReportGroup(Path(path), group, 0).read()
        block = layer.open_block(sealed)
        lots, digests = ([part[at : at + 16] for at in range(0, len(part), 16)] for part in (block.lots, block.digests))
        taken = [sealed[row] for row in block.rows.tolist()]
        good = zip(lots, digests, block.numbers.tolist(), block.onions, taken, [None] * len(taken), strict=True)
        refused = [(None, None, None, None, None, str(reason)) for reason in block.refused.elements()]
        yield _rows(OPENED, [*good, *refused])


def deal(batches: Batches, *, secret: bytes, buckets: int, width: int) -> Batches:
    """Gives the onions of reports to buckets."""
    for batch in batches:
        rows = sorted(zip(*(column.to_pylist() for column in batch.columns), strict=True), key=itemgetter(0))
        for batch_id, reports in groupby(rows, key=itemgetter(0)):
            onions = b"".join(onions for _, onions in reports)
            yield _dealt(batch_id, onions, 0, secret=secret, buckets=buckets, width=width)


def open_and_deal(batches: Batches, *, layer: Layer, secret: bytes, buckets: int, width: int) -> Batches:
    """Opens the onions of batches, as a later shuffler, and gives what is inside to buckets."""
    for path, group, batch_id in _each(batches):
        opened, refused = layer.open_block(OnionGroup(Path(path), group, 0).read())
        yield _dealt(batch_id, opened, refused, secret=secret, buckets=buckets, width=width)


def read_and_deal(batches: Batches, *, secret: bytes, buckets: int, width: int) -> Batches:
    """Gives the onions of batches to buckets."""
    for path, group, batch_id in _each(batches):
        onions = OnionGroup(Path(path), group, 0).read()
        yield _dealt(batch_id, onions, 0, secret=secret, buckets=buckets, width=width)


def write(batches: Batches, *, secret: bytes, target: Target, parts: int) -> Batches:
    """Writes buckets as parts of batches, each in the order of its keys."""
    for batch_id, part, onions, refused in _buckets(batches):
        ordered = dealing.in_order(onions, secret=secret, width=target.width)
        path = target.path(batch_id, part=part, parts=parts)
        path.parent.mkdir(exist_ok=True)
        head = target.head(batch_id, part=part, parts=parts)
        number = write_part(path, head, [ordered.onions.tobytes()], width=target.width)
        yield _rows(WRITTEN, [(batch_id, part, number, ordered.repeated, refused)])


def count(batches: Batches, *, secret: bytes, layer: Layer, alphabet: int, symbols: int) -> Batches:
    """Opens the messages of buckets, as the analyzer, and counts them; numbers from `alphabet` on count for nothing."""
    for batch_id, _, onions, _ in _buckets(batches):
        ordered = dealing.in_order(onions, secret=secret, width=layer.length)
        opened, closed = layer.open_block(ordered.onions.tobytes())
        found = numbers_of(opened, layer.length - SEALING_BYTES)
        tally = Tally.of(found[found < alphabet].astype(np.int64))
        reasons = {
            Reason.REPEATED: ordered.repeated,
            Reason.CANNOT_BE_OPENED: closed,
            Reason.NOT_A_MESSAGE: int(np.count_nonzero(found >= symbols)),
        }
        counts = zip(tally.symbols.tolist(), tally.counts.tolist(), strict=True)
        yield _rows(
            COUNTED,
            [
                *((batch_id, symbol, None, number) for symbol, number in counts),
                *((batch_id, None, str(reason), number) for reason, number in reasons.items() if number),
            ],
        )


def _each(batches: Batches) -> Iterator[tuple[Any, ...]]:
    """Rows one by one."""
    for batch in batches:
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _dealt(batch_id: bytes, onions: bytes, refused: int, *, secret: bytes, buckets: int, width: int) -> Any:
    """What a block gives to each bucket; how many were refused is said once, with the first bucket."""
    dealt = dealing.deal(onions, secret=secret, buckets=buckets, width=width)
    rows = [(batch_id, bucket, part, 0) for bucket, part in dealt]
    return _rows(DEALT, [*rows, *([(batch_id, 0, b"", refused)] if refused else [])])


def _buckets(batches: Batches) -> Iterator[tuple[bytes, int, bytes, int]]:
    """Of rows in the order of their buckets: whole buckets, and how many were refused on the way to them."""
    for (batch_id, bucket), rows in groupby(_each(batches), key=itemgetter(0, 1)):
        parts = list(rows)
        yield batch_id, bucket, b"".join(part[2] for part in parts), sum(part[3] for part in parts)


def _rows(schema: str, rows: Sequence[Sequence[Any]]) -> Any:
    """An Arrow batch of rows with the columns of a schema of Spark's."""
    import pyarrow

    kinds = {"string": pyarrow.string(), "int": pyarrow.int32(), "long": pyarrow.int64(), "binary": pyarrow.binary()}
    names, types = zip(*(field.split() for field in schema.split(", ")), strict=True)
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    arrays = [pyarrow.array(column, kinds[kind]) for column, kind in zip(columns, types, strict=True)]
    return pyarrow.RecordBatch.from_arrays(arrays, list(names))

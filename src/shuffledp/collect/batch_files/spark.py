"""The engine on Apache Spark, for files on a file system that all machines share: DataFrames and mapInArrow only.

The functions of this module run in executors, from Arrow batches to Arrow batches. Their output is determined by the
secret of the run and the rows of a group or bucket, in any order. So a Spark task that runs again, because an executor
was lost, writes the same bytes to the same file.

Private keys are in closures, which Spark sends to its workers, and writes to no plan and no log. The closures are short
whatever the data is, since Spark would write long ones to files.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.collect.analyzer.worker import numbers_of
from shuffledp.collect.batch_files import engine
from shuffledp.collect.batch_files.engine import (
    CountedBatch,
    FoundReports,
    MixedBatch,
    OutputFolder,
    ReportLayer,
    buckets_for,
)
from shuffledp.collect.batch_files.formats import (
    PARTIAL,
    BatchFiles,
    OnionGroup,
    ReportGroup,
    bytes_of,
    fixed_width,
    write_part,
)
from shuffledp.collect.batch_files.lots import LOT_BYTES, Batch, Entries
from shuffledp.collect.crypto.batch import Layer
from shuffledp.collect.crypto.keys import KeyPair
from shuffledp.collect.reasons import Reason
from shuffledp.collect.task import Task
from shuffledp.collect.task.report import layer_of
from shuffledp.collect.task.task import SEALING_BYTES
from shuffledp.data.spark_session import clear_errors, needs_spark, open_session
from shuffledp.errors import DataError
from shuffledp.histogram.tally import Tally
from shuffledp.progress import Progress

OPENED = "lot binary, digest binary, number long, onions binary, report binary, reason string"
DEALT = "batch binary, bucket int, onions binary, refused long"
WRITTEN = "batch binary, part int, number long, repeated long, refused long"
COUNTED = "batch binary, symbol long, reason string, number long"

Batches = Iterator[Any]


def open_reports(batches: Batches, *, layer: ReportLayer) -> Batches:
    """Open reports, as the first shuffler."""
    for path, group, _ in _each(batches):
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


def open_and_deal(batches: Batches, *, layer: Layer, secret: bytes, buckets: int, width: int) -> Batches:
    """Open the onions of batches, as a later shuffler, and assign their content to buckets."""
    for path, group, batch_id in _each(batches):
        opened, refused = layer.open_block(OnionGroup(Path(path), group, 0).read())
        yield _dealt(batch_id, opened, refused, secret=secret, buckets=buckets, width=width)


def read_and_deal(batches: Batches, *, secret: bytes, buckets: int, width: int) -> Batches:
    """Assign the onions of batches to buckets."""
    for path, group, batch_id in _each(batches):
        onions = OnionGroup(Path(path), group, 0).read()
        yield _dealt(batch_id, onions, 0, secret=secret, buckets=buckets, width=width)


def write(batches: Batches, *, secret: bytes, target: OutputFolder, parts: int) -> Batches:
    """Write buckets as parts of batches, each in the order of its keys."""
    for batch_id, part, onions, refused in _buckets(batches):
        ordered = engine.in_order(onions, secret=secret, width=target.width)
        path = target.path(batch_id, part=part, parts=parts)
        path.parent.mkdir(exist_ok=True)
        head = target.head(batch_id, part=part, parts=parts)
        number = write_part(path, head, [ordered.onions.tobytes()], width=target.width)
        yield _arrow_rows(WRITTEN, [(batch_id, part, number, ordered.repeated, refused)])


def count(batches: Batches, *, secret: bytes, layer: Layer, alphabet: int, symbols: int) -> Batches:
    """Open the messages of buckets, as the analyzer, and count them; numbers from `alphabet` on are padding."""
    for batch_id, _, onions, _ in _buckets(batches):
        ordered = engine.in_order(onions, secret=secret, width=layer.length)
        opened, closed = layer.open_block(ordered.onions.tobytes())
        found = numbers_of(opened, layer.length - SEALING_BYTES)
        tally = Tally.of(found[found < alphabet].astype(np.int64))
        reasons = {
            Reason.REPEATED: ordered.repeated,
            Reason.CANNOT_BE_OPENED: closed,
            Reason.NOT_A_MESSAGE: int(np.count_nonzero(found >= symbols)),
        }
        counts = zip(tally.symbols.tolist(), tally.counts.tolist(), strict=True)
        yield _arrow_rows(
            COUNTED,
            [
                *((batch_id, symbol, None, number) for symbol, number in counts),
                *((batch_id, None, str(reason), number) for reason, number in reasons.items() if number),
            ],
        )


def _each(batches: Batches) -> Iterator[tuple[Any, ...]]:
    """Iterate over rows."""
    for batch in batches:
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _dealt(batch_id: bytes, onions: bytes, refused: int, *, secret: bytes, buckets: int, width: int) -> Any:
    """The onions of a block by bucket; the number of refused ones is with the first bucket."""
    dealt = engine.deal(onions, secret=secret, buckets=buckets, width=width)
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
    names, types = zip(*(field.split() for field in schema.split(", ")), strict=True)
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    arrays = [pyarrow.array(column, kinds[kind]) for column, kind in zip(columns, types, strict=True)]
    return pyarrow.RecordBatch.from_arrays(arrays, list(names))


_WRITTEN, _OPENED = 1 << 18, 1 << 14
"""Onions in a bucket that is written, and in one that is opened: a Spark task takes some seconds for either."""

_MOST_PARTITIONS = 1 << 12
"""Partitions at most, since more slow Spark down; a partition has several buckets."""

_SUM = "sum(number)"
"""Spark's name of the column."""


class Spark:
    """The engine in Spark's executors."""

    def __init__(self, *, master: str | None = None, progress: Progress) -> None:
        needs_spark()
        self._progress, self._secret = progress, secrets.token_bytes(32)
        self._session, self._started = open_session(master, progress=progress)
        self._opened: Any = None

    def open_reports(self, groups: Sequence[ReportGroup], layer: ReportLayer) -> FoundReports:
        """Open all reports once; the content stays with the executors, and the driver gets 32 bytes of each."""
        self._progress("opening reports", 0.0)
        with clear_errors():
            # [lot, digest, number, onions, report; or a reason: one row for each report]
            self._opened = (
                self._located([(str(group.path), group.group, b"") for group in groups])
                .mapInArrow(partial(open_reports, layer=layer), OPENED)
                .persist()
            )
            found = self._opened.select("lot", "digest", "number", "reason").toArrow()
        refused = Counter(found.column("reason").drop_null().to_pylist())
        taken = found.filter(found.column("lot").is_valid())
        self._numbers = taken.column("number").to_numpy()
        self._entries = Entries(*(_rows(taken.column(name)) for name in ("lot", "digest")))
        self._repeats = len(self._entries.distinct()) < len(self._entries)
        self._progress("opening reports", 1.0)
        return FoundReports(self._entries, refused)

    def mix_reports(self, batches: Sequence[Batch], target: OutputFolder) -> Iterator[MixedBatch]:
        """Mix all batches in one job."""
        number = max(int(self._numbers[batch.rows].sum()) for batch in batches)
        parts = buckets_for(number, each=_WRITTEN)
        rows = np.concatenate([batch.rows for batch in batches])
        ids = b"".join(batch.batch_id * batch.rows.size for batch in batches)
        with clear_errors():
            # [batch, onions: one row for each report]
            chosen = self._chosen(rows, batch=ids).select("batch", "onions")
            dealing_out = partial(deal, secret=self._secret, buckets=parts, width=target.width)
            dealt = chosen.mapInArrow(dealing_out, DEALT)
        yield from self._mixed([batch.batch_id for batch in batches], dealt, target, parts)

    def sealed(self, rows: NDArray[np.int64]) -> Iterator[bytes]:
        """Fetch the reports part by part."""
        with clear_errors():
            for row in self._chosen(rows).select("report").toLocalIterator():
                yield bytes(row.report)

    def mix_batches(self, batches: Sequence[BatchFiles], layer: Layer, target: OutputFolder) -> Iterator[MixedBatch]:
        """Mix all batches in one job."""
        parts = buckets_for(max(batch.number for batch in batches), each=_WRITTEN)
        opening = partial(open_and_deal, layer=layer, secret=self._secret, buckets=parts, width=target.width)
        with clear_errors():
            dealt = self._located(_places(batches)).mapInArrow(opening, DEALT)
        yield from self._mixed([batch.batch_id for batch in batches], dealt, target, parts)

    def count_batches(self, batches: Sequence[BatchFiles], task: Task, key: KeyPair) -> Iterator[CountedBatch]:
        """Count all batches in one job; copies of an onion meet in one bucket, where they are opened once."""
        import pyarrow.compute as compute

        self._progress("opening messages", 0.0)
        layer, buckets = layer_of(task, key), buckets_for(max(batch.number for batch in batches), each=_OPENED)
        assigning = partial(read_and_deal, secret=self._secret, buckets=buckets, width=layer.length)
        counting = partial(count, secret=self._secret, layer=layer, alphabet=task.alphabet, symbols=task.symbols)
        with clear_errors():
            # [batch, bucket, onions, refused: one row for each group of rows and bucket]
            dealt = self._located(_places(batches)).mapInArrow(assigning, DEALT)
            # [batch, symbol or reason, number: one row for each of them in each bucket]
            counted = self._together(dealt, len(batches) * buckets).mapInArrow(counting, COUNTED)
            found = counted.groupBy("batch", "symbol", "reason").agg({"number": "sum"}).toArrow()
        self._progress("opening messages", 1.0)
        for batch in batches:
            rows = found.filter(compute.equal(found.column("batch"), batch.batch_id))
            messages = rows.filter(rows.column("symbol").is_valid()).sort_by("symbol")
            reasons = rows.filter(rows.column("reason").is_valid())
            refused = Counter(dict(zip(*(reasons.column(name).to_pylist() for name in ("reason", _SUM)), strict=True)))
            tally = Tally(*(messages.column(name).to_numpy() for name in ("symbol", _SUM)))
            yield CountedBatch(batch.batch_id, task.protocol.tally(tally), refused)

    def close(self) -> None:
        """Release the executors' memory, and stop Spark if this engine started it."""
        if self._opened is not None:
            self._opened.unpersist()
        if self._started:
            self._session.stop()

    # steps --------------------------------------------------------------------------------------------------------

    def _located(self, places: Sequence[tuple[str, int, bytes]]) -> Any:
        """[path, group, batch: one row for each group of rows, each in a partition of its own]."""
        import pyarrow
        from pyspark.sql import functions

        if not places:
            return self._session.createDataFrame([], "path string, group long, batch binary")
        columns = zip(("path", "group", "batch"), zip(*places, strict=True), strict=True)
        table = pyarrow.table({"id": range(len(places)), **dict(columns)})
        numbers = self._session.range(0, len(places), 1, len(places))
        return numbers.join(functions.broadcast(self._session.createDataFrame(table)), "id").drop("id")

    def _chosen(self, rows: NDArray[np.int64], **more: bytes) -> Any:
        """Some of the opened reports, each once."""
        import pyarrow

        wanted = self._entries.pick(rows)
        columns = {"lot": wanted.lots.tobytes(), "digest": wanted.digests.tobytes(), **more}
        table = pyarrow.table(
            {name: fixed_width(values, LOT_BYTES).cast(pyarrow.binary()) for name, values in columns.items()}
        )
        joined = self._opened.join(self._session.createDataFrame(table), ["lot", "digest"])
        return joined.dropDuplicates(["lot"]) if self._repeats else joined

    def _together(self, dealt: Any, buckets: int) -> Any:
        """The same rows, with the rows of a bucket together."""
        partitions = min(buckets, _MOST_PARTITIONS)
        return dealt.repartition(partitions, "batch", "bucket").sortWithinPartitions("batch", "bucket")

    def _mixed(self, batch_ids: Sequence[bytes], dealt: Any, target: OutputFolder, parts: int) -> Iterator[MixedBatch]:
        """Write all buckets, each in its own order, including empty ones."""
        self._progress("mixing", 0.0)
        writing = partial(write, secret=self._secret, target=target, parts=parts)
        with clear_errors():
            # [batch, part, number, repeated, refused: one row for each bucket]
            written = self._together(dealt, len(batch_ids) * parts).mapInArrow(writing, WRITTEN).toArrow()
        self._progress("mixing", 1.0)
        by_part = {(row["batch"], row["part"]): row for row in written.to_pylist()}
        for batch_id in batch_ids:
            number, refused = 0, Counter[str]()
            for part in range(parts):
                path, row = target.path(batch_id, part=part, parts=parts), by_part.get((batch_id, part))
                if row is None:
                    path.parent.mkdir(exist_ok=True)
                    write_part(path, target.head(batch_id, part=part, parts=parts), (), width=target.width)
                    continue
                if not path.exists():
                    raise DataError("out must be on a file system that the executors share with this machine")
                number += row["number"]
                refused += Counter({Reason.REPEATED: row["repeated"], Reason.CANNOT_BE_OPENED: row["refused"]})
            yield MixedBatch(batch_id, number, refused)
        for left in target.folder.rglob(f".*{PARTIAL}"):  # left by attempts that were killed
            left.unlink(missing_ok=True)


def _places(batches: Sequence[BatchFiles]) -> list[tuple[str, int, bytes]]:
    return [(str(group.path), group.group, batch.batch_id) for batch in batches for group in batch.groups]


def _rows(column: Any) -> NDArray[np.uint8]:
    """A column of values of 16 bytes, as rows of an array."""
    import pyarrow

    narrow = column.cast(pyarrow.binary(LOT_BYTES)).combine_chunks()
    return np.frombuffer(bytes_of(narrow), dtype=np.uint8).reshape(-1, LOT_BYTES)

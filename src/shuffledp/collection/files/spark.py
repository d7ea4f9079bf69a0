"""The engine on Apache Spark, for files on a file system that all machines see: DataFrames and mapInArrow only.

A task that Spark runs again, since an executor was lost, does what it did before (files/buckets.py), and writes the
same bytes to the same file. Private keys are in closures, which Spark sends to its workers and keeps in no plan and no
log; these are short whatever the data is, since Spark would put long ones into files.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.collection.envelope.hops import layer_of
from shuffledp.collection.envelope.keys import KeyPair
from shuffledp.collection.envelope.opening import Layer
from shuffledp.collection.files import in_executors
from shuffledp.collection.files.batches import BatchFiles, write_part
from shuffledp.collection.files.buckets import buckets_for
from shuffledp.collection.files.engine import CountedBatch, FoundReports, Target
from shuffledp.collection.files.lots import LOT_BYTES, Batch, Entries
from shuffledp.collection.files.mixed import MixedBatch
from shuffledp.collection.files.opening import ReportLayer
from shuffledp.collection.files.reports import ReportGroup
from shuffledp.collection.files.tables import PARTIAL, bytes_of, fixed_width
from shuffledp.collection.reasons import Reason
from shuffledp.collection.task import Task
from shuffledp.engines.spark_session import clear_errors, needs_spark, open_session
from shuffledp.errors import DataError
from shuffledp.pipeline.tally import Tally
from shuffledp.progress import Progress

_WRITTEN, _OPENED = 1 << 18, 1 << 14
"""Onions in a bucket that is only written, about, and in one that is opened: a task takes some seconds for either."""

_MOST_PARTITIONS = 1 << 12
"""More would cost Spark more than they gain: a partition takes several buckets."""

_SUM = "sum(number)"
"""What Spark calls the column."""


class Spark:
    """Opens, mixes and counts files in Spark's executors."""

    def __init__(self, *, master: str | None = None, progress: Progress) -> None:
        needs_spark()
        self._progress, self._secret = progress, secrets.token_bytes(32)
        self._session, self._started = open_session(master, progress=progress)
        self._opened: Any = None

    def open_reports(self, groups: Sequence[ReportGroup], layer: ReportLayer) -> FoundReports:
        """Opens all reports once; what is inside stays with the executors, and the driver gets 32 bytes of each."""
        self._progress("opening reports", 0.0)
        with clear_errors():
            # [lot, digest, number, onions, report; or a reason: one row for each report]
            self._opened = (
                self._located([(str(group.path), group.group, b"") for group in groups])
                .mapInArrow(partial(in_executors.open_reports, layer=layer), in_executors.OPENED)
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

    def mix_reports(self, batches: Sequence[Batch], target: Target) -> Iterator[MixedBatch]:
        """All batches in one run."""
        number = max(int(self._numbers[batch.rows].sum()) for batch in batches)
        parts = buckets_for(number, each=_WRITTEN)
        rows = np.concatenate([batch.rows for batch in batches])
        ids = b"".join(batch.batch_id * batch.rows.size for batch in batches)
        with clear_errors():
            # [batch, onions: one row for each report]
            chosen = self._chosen(rows, batch=ids).select("batch", "onions")
            deal = partial(in_executors.deal, secret=self._secret, buckets=parts, width=target.width)
            dealt = chosen.mapInArrow(deal, in_executors.DEALT)
        yield from self._mixed([batch.batch_id for batch in batches], dealt, target, parts)

    def sealed(self, rows: NDArray[np.int64]) -> Iterator[bytes]:
        """Fetched part by part."""
        with clear_errors():
            for row in self._chosen(rows).select("report").toLocalIterator():
                yield bytes(row.report)

    def mix_batches(self, batches: Sequence[BatchFiles], layer: Layer, target: Target) -> Iterator[MixedBatch]:
        """All batches in one run."""
        parts = buckets_for(max(batch.number for batch in batches), each=_WRITTEN)
        opening = partial(
            in_executors.open_and_deal, layer=layer, secret=self._secret, buckets=parts, width=target.width
        )
        with clear_errors():
            dealt = self._located(_places(batches)).mapInArrow(opening, in_executors.DEALT)
        yield from self._mixed([batch.batch_id for batch in batches], dealt, target, parts)

    def count_batches(self, batches: Sequence[BatchFiles], task: Task, key: KeyPair) -> Iterator[CountedBatch]:
        """All batches in one run; copies of an onion meet in one bucket, where they are opened once."""
        import pyarrow.compute as compute

        self._progress("opening messages", 0.0)
        layer, buckets = layer_of(task, key), buckets_for(max(batch.number for batch in batches), each=_OPENED)
        reading = partial(in_executors.read_and_deal, secret=self._secret, buckets=buckets, width=layer.length)
        counting = partial(
            in_executors.count, secret=self._secret, layer=layer, alphabet=task.alphabet, symbols=task.symbols
        )
        with clear_errors():
            # [batch, bucket, onions, refused: one row for each group of rows and bucket]
            dealt = self._located(_places(batches)).mapInArrow(reading, in_executors.DEALT)
            # [batch, symbol or reason, number: one row for each of them in each bucket]
            counted = self._together(dealt, len(batches) * buckets).mapInArrow(counting, in_executors.COUNTED)
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
        """What executors hold is given back, and Spark stopped if this engine started it."""
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
        """The same rows, with those of a bucket one after another."""
        partitions = min(buckets, _MOST_PARTITIONS)
        return dealt.repartition(partitions, "batch", "bucket").sortWithinPartitions("batch", "bucket")

    def _mixed(self, batch_ids: Sequence[bytes], dealt: Any, target: Target, parts: int) -> Iterator[MixedBatch]:
        """Writes all buckets, each in its own order, and those that are empty."""
        self._progress("mixing", 0.0)
        writing = partial(in_executors.write, secret=self._secret, target=target, parts=parts)
        with clear_errors():
            # [batch, part, number, repeated, refused: one row for each bucket]
            written = self._together(dealt, len(batch_ids) * parts).mapInArrow(writing, in_executors.WRITTEN).toArrow()
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
                    raise DataError("executors write to another file system than this machine: give a shared folder")
                number += row["number"]
                refused += Counter({Reason.REPEATED: row["repeated"], Reason.CANNOT_BE_OPENED: row["refused"]})
            yield MixedBatch(batch_id, number, refused)
        for left in target.folder.rglob(f".*{PARTIAL}"):  # of tries that were killed
            left.unlink(missing_ok=True)


def _places(batches: Sequence[BatchFiles]) -> list[tuple[str, int, bytes]]:
    return [(str(group.path), group.group, batch.batch_id) for batch in batches for group in batch.groups]


def _rows(column: Any) -> NDArray[np.uint8]:
    """A column of values of 16 bytes, as rows."""
    import pyarrow

    narrow = column.cast(pyarrow.binary(LOT_BYTES)).combine_chunks()
    return np.frombuffer(bytes_of(narrow), dtype=np.uint8).reshape(-1, LOT_BYTES)

"""The engine on Apache Spark, for files on a file system that all machines share: DataFrames and mapInArrow only.

Private keys are in closures, which Spark sends to its workers, and writes to no plan and no log. The closures are short
whatever the data is, since Spark would write long ones to files.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.collect.batch_files import executors
from shuffledp.collect.batch_files.batches import Batch, Claims, Compared
from shuffledp.collect.batch_files.engine import (
    CountedBatch,
    FoundReports,
    MixedBatch,
    OutputFolder,
    ReportLayer,
)
from shuffledp.collect.batch_files.executors import COUNTED, DEALT, NOTHING, OPENED, PACKED, PRINTS, REMEMBERED, WRITTEN
from shuffledp.collect.batch_files.formats import (
    PARTIAL,
    ROW_NUMBER,
    BatchFiles,
    OnionGroup,
    ReportGroup,
    bytes_of,
    fixed_width,
    write_part,
)
from shuffledp.collect.batch_files.seen import LOT_BYTES, Entries, Seen, SeenGroup
from shuffledp.collect.crypto.batch import Layer
from shuffledp.collect.crypto.keys import KeyPair
from shuffledp.collect.reasons import Reason
from shuffledp.collect.store.tallies import from_bytes
from shuffledp.collect.task import Task
from shuffledp.collect.task.report import layer_of
from shuffledp.data.spark_files import clear_errors, needs_spark, open_session
from shuffledp.errors import DataError
from shuffledp.histogram.tally import Tally
from shuffledp.progress import Progress

_WRITTEN, _OPENED = 1 << 18, 1 << 14
"""Onions in a bucket that is written, and in one that is opened: a Spark task takes some seconds for either."""

_HASHED = 1 << 6
"""Groups of rows whose fingerprints are computed, read or written in a Spark task, which takes some seconds."""

_MOST_PARTITIONS = 1 << 12
"""Partitions at most, since more slow Spark down; a partition has several buckets."""


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
                self._located(_paths(groups)).mapInArrow(partial(executors.open_reports, layer=layer), OPENED).persist()
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
        """Mix all batches in one job, with the onions of their reports."""
        number = max(int(self._numbers[batch.rows].sum()) for batch in batches)
        parts = executors.buckets_for(number, each=_WRITTEN)
        rows = np.concatenate([batch.rows for batch in batches])
        ids = b"".join(batch.batch_id * batch.rows.size for batch in batches)
        with clear_errors():
            # [batch, onions: one row for each report]
            chosen = self._chosen(rows, batch=ids).select("batch", "onions")
            dealing_out = partial(executors.deal, secret=self._secret, buckets=parts, width=target.width)
            dealt = chosen.mapInArrow(dealing_out, DEALT)
        yield from self._mixed([batch.batch_id for batch in batches], dealt, target, parts)

    def sealed(self, rows: NDArray[np.int64]) -> Iterator[bytes]:
        """Fetch reports part by part."""
        with clear_errors():
            for row in self._chosen(rows).select("report").toLocalIterator():
                yield bytes(row.report)

    def mix_batches(self, batches: Sequence[BatchFiles], layer: Layer, target: OutputFolder) -> Iterator[MixedBatch]:
        """Mix all batches in one job."""
        parts = executors.buckets_for(max(batch.number for batch in batches), each=_WRITTEN)
        opening = partial(executors.read_and_deal, layer=layer, secret=self._secret, buckets=parts, width=target.width)
        with clear_errors():
            dealt = self._located(_onions(batches)).mapInArrow(opening, DEALT)
        yield from self._mixed([batch.batch_id for batch in batches], dealt, target, parts)

    def compare(self, batches: Sequence[BatchFiles], seen: Seen, width: int) -> list[Compared]:
        """Join the fingerprints of all onions with the smallest claims on them."""
        from pyspark.sql import functions

        self._progress("comparing batches", 0.0)
        self._seen, self._width = seen, width
        claims, groups = Claims.of(batches, seen), [group for batch in batches for group in batch.groups]
        batch_of = [number for number, batch in enumerate(batches) for _ in batch.groups]
        places = {**_paths(groups), "batch": batch_of, "claim": claims.new[batch_of], "place": range(len(groups))}
        owners = {**_paths(seen.groups), "claim": [claims.remembered[group.batch_id] for group in seen.groups]}
        hashing = partial(executors.fingerprint, secret=seen.secret, width=width)
        with clear_errors():
            # [fingerprint, batch, claim, place, row: one row for each onion]
            prints = self._located(places, together=_HASHED).mapInArrow(hashing, PRINTS)
            accepted = self._located(owners, together=_HASHED).mapInArrow(executors.remembered, REMEMBERED)
            # [fingerprint, claim: one row for each different onion]
            smallest = (
                prints.select("fingerprint", "claim")
                .union(accepted)
                .groupBy("fingerprint")
                .agg(functions.min("claim").alias("claim"))
            )
            joined = prints.drop("claim").join(smallest, "fingerprint").persist()
            mine = (joined.claim == joined.batch) | (joined.claim == joined.batch + len(batches))
            distinct = functions.countDistinct("fingerprint").alias("number")
            numbers = joined.where(mine).groupBy("batch").agg(distinct).toArrow()
            lost = joined.where(~mine).select("place", "row", "claim").toArrow()
            joined.unpersist()
        self._progress("comparing batches", 1.0)
        self._compared = _compared(batches, lost, numbers, claims)
        return self._compared

    def write_fingerprints(self, batch_ids: Container[bytes], folder: Path) -> None:
        """Compute the fingerprints again, and write them."""
        batches = [one.batch for one in self._compared if one.batch.batch_id in batch_ids]
        places = _onions(batches)
        places["place"] = range(len(places["path"]))
        writing = partial(
            executors.write_fingerprints,
            secret=self._seen.secret,
            width=self._width,
            folder=folder,
            task=self._seen.task_name,
        )
        with clear_errors():
            self._located(places, together=_HASHED).mapInArrow(writing, NOTHING).toArrow()
        if len(list(folder.rglob("part-*.parquet"))) != len(places["path"]):
            raise DataError("seen must be on a file system that the executors share with this machine")

    def count_batches(self, batches: Sequence[BatchFiles], task: Task, key: KeyPair) -> Iterator[CountedBatch]:
        """Count all batches in one job; copies of an onion meet in one bucket, where they are opened once."""
        import pyarrow.compute as compute
        from pyspark.sql import functions

        self._progress("opening messages", 0.0)
        layer, longest = layer_of(task, key), max(batch.number for batch in batches)
        buckets = executors.buckets_for(longest, each=_OPENED)
        assigning = partial(executors.read_and_deal, secret=self._secret, buckets=buckets, width=layer.length)
        packed = task.alphabet > longest  # nearly all messages differ
        counting = partial(
            executors.count,
            secret=self._secret,
            layer=layer,
            alphabet=task.alphabet,
            symbols=task.symbols,
            packed=packed,
        )
        with clear_errors():
            # [batch, bucket, onions, refused: one row for each group of rows and bucket]
            dealt = self._located(_onions(batches)).mapInArrow(assigning, DEALT)
            # [batch, symbol or reason, number: one row for each of them in each bucket], or with a tally of the bucket
            counted = self._together(dealt, len(batches) * buckets).mapInArrow(counting, PACKED if packed else COUNTED)
            if not packed:
                counted = counted.groupBy("batch", "symbol", "reason").agg(functions.sum("number").alias("number"))
            found = counted.toArrow()
        self._progress("opening messages", 1.0)
        for batch in batches:
            rows = found.filter(compute.equal(found.column("batch"), batch.batch_id))
            reasons = rows.filter(rows.column("reason").is_valid())
            refused = Counter[str]()
            for reason, number in zip(
                *(reasons.column(name).to_pylist() for name in ("reason", "number")), strict=True
            ):
                refused[reason] += number
            tally = _unpacked(rows) if packed else _listed(rows)
            yield CountedBatch(batch.batch_id, task.protocol.tally(tally), refused)

    def close(self) -> None:
        """Release the executors' memory, and stop Spark if this engine started it."""
        if self._opened is not None:
            self._opened.unpersist()
        if self._started:
            self._session.stop()

    # steps --------------------------------------------------------------------------------------------------------

    def _located(self, columns: Mapping[str, Any], *, together: int = 1) -> Any:
        """[path, group, further columns: one row for each group of rows, this number of them in a partition]."""
        import pyarrow
        from pyspark.sql import functions

        rows = len(columns["path"])
        table = pyarrow.table({"id": pyarrow.array(range(rows), pyarrow.int64()), **columns})
        if not rows:
            kinds = {"string": "string", "int64": "long", "binary": "binary", "null": "long"}
            schema = ", ".join(f"{field.name} {kinds[str(field.type)]}" for field in table.schema)
            return self._session.createDataFrame([], schema).drop("id")
        numbers = self._session.range(0, rows, 1, -(-rows // together))
        return numbers.join(functions.broadcast(self._session.createDataFrame(table)), "id").drop("id")

    def _chosen(self, rows: NDArray[np.int64], **more: bytes) -> Any:
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
        """Write all buckets, including empty ones."""
        self._progress("mixing", 0.0)
        writing = partial(executors.write, secret=self._secret, target=target, parts=parts)
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


def _listed(rows: Any) -> Tally:
    messages = rows.filter(rows.column("symbol").is_valid()).sort_by("symbol")
    return Tally(*(messages.column(name).to_numpy() for name in ("symbol", "number")))


def _unpacked(rows: Any) -> Tally:
    """The tally of the messages of all buckets, which may have some in common."""
    parts = [from_bytes(part) for part in rows.column("tally").drop_null().to_pylist()]
    messages = [np.repeat(part.symbols, part.counts) for part in parts]
    return Tally.of(np.concatenate([np.empty(0, dtype=np.int64), *messages]))


def _compared(batches: Sequence[BatchFiles], lost: Any, numbers: Any, claims: Claims) -> list[Compared]:
    """The batches without the onions that they lost, given with their places."""
    kept = dict(zip(*(numbers.column(name).to_pylist() for name in ("batch", "number")), strict=True))
    lost = lost.sort_by([("place", "ascending"), ("row", "ascending")])
    place, row, claim = (lost.column(name).to_numpy() for name in ("place", "row", "claim"))
    compared, first = [], 0
    for at, batch in enumerate(batches):
        last = first + len(batch.groups)
        ends = np.searchsorted(place, np.arange(first, last + 1)).tolist()
        dropped = [row[start:end].astype(ROW_NUMBER).tobytes() for start, end in pairwise(ends)]
        groups = tuple(group._replace(dropped=rows) for group, rows in zip(batch.groups, dropped, strict=True))
        added = claim[ends[0] : ends[-1]] == claims.nobody
        counts = {Reason.REPLAYED: int((~added).sum()), Reason.OTHER_BYTES: int(added.sum())}
        compared.append(Compared(replace(batch, groups=groups), kept.get(at, 0), +Counter[str](counts)))
        first = last
    return compared


def _paths(groups: Sequence[ReportGroup | OnionGroup | SeenGroup]) -> dict[str, Any]:
    return {"path": [str(group.path) for group in groups], "group": [group.group for group in groups]}


def _onions(batches: Sequence[BatchFiles]) -> dict[str, Any]:
    """[path, group, batch, dropped: one row for each group of rows]."""
    groups = [group for batch in batches for group in batch.groups]
    ids = [batch.batch_id for batch in batches for _ in batch.groups]
    return {**_paths(groups), "batch": ids, "dropped": [group.dropped for group in groups]}


def _rows(column: Any) -> NDArray[np.uint8]:
    import pyarrow

    narrow = column.cast(pyarrow.binary(LOT_BYTES)).combine_chunks()
    return np.frombuffer(bytes_of(narrow), dtype=np.uint8).reshape(-1, LOT_BYTES)

"""Opening many reports at once, as the first shuffler: the part that both engines share.

What a worker is given is small whatever the task's list of answers is: Spark keeps long closures in files, and a
private key must not be in one.

Where files are mixed and counted: a few verbs, in this process or on Apache Spark, with the same results.

Mixing a batch in parts, wherever: each onion has a key, which alone says where it goes.

The key is a hash of the onion under a secret of the run. Its first bits are the onion's bucket, and a bucket has the
order of its keys. Onions that differ have independent uniform keys, so the order of a batch is a uniform permutation
of it; copies of one onion have one key, meet in one bucket, and are left out there. Where an onion goes does not depend
on which task deals it, or when, so that work that is done again gives the same.

The engine in this process, which opens in several: memory does not grow with the onions beyond a few words each.
"""

from __future__ import annotations

import hashlib
import os
import signal
import tempfile
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from shuffledp.collect.analyzer.worker import BatchCounter
from shuffledp.collect.batch_files.batches import BatchFiles, MixedBatch, PartHead, write_part
from shuffledp.collect.batch_files.lots import LOT_BYTES, Batch, Entries, lot_key, lot_of
from shuffledp.collect.batch_files.tables import ReportGroup
from shuffledp.collect.crypto.batch import Layer, Opener, mix
from shuffledp.collect.crypto.keys import KeyPair
from shuffledp.collect.reasons import Reason, Refused
from shuffledp.collect.task import Task
from shuffledp.collect.task.report import open_report
from shuffledp.errors import ParameterError
from shuffledp.histogram.tally import Tally
from shuffledp.progress import Progress


class OpenedBlock(NamedTuple):
    """What was inside the reports of a block that were taken, which rows those are, and why the others were refused."""

    rows: NDArray[np.int64]
    lots: bytes
    digests: bytes
    numbers: NDArray[np.int64]
    onions: list[bytes]
    refused: Counter[str]


@dataclass(frozen=True, kw_only=True)
class ReportLayer:
    """The layer around reports: what the first shuffler needs to open them and to check what it finds."""

    id: bytes
    most_messages: int
    padded: bool
    time_precision: int
    longest_report: int
    onion_bytes: int
    earliest: int
    latest: int
    private_bytes: bytes

    @classmethod
    def of(cls, task: Task, key: KeyPair, *, now: datetime | None = None) -> ReportLayer:
        """For the reports of a task, whose time is within the task's and at most one step ahead of now."""
        opens, closes = int(task.opens.timestamp()), int(task.closes.timestamp())
        return cls(
            id=task.id,
            most_messages=task.most_messages,
            padded=task.padded,
            time_precision=task.time_precision,
            longest_report=task.longest_report,
            onion_bytes=task.onion_length(0),
            earliest=opens - opens % task.time_precision,
            latest=min(closes - 1, int((now or datetime.now(UTC)).timestamp()) + task.time_precision),
            private_bytes=key.private_bytes,
        )

    def onion_length(self, _: int, /) -> int:
        """Bytes of an onion in a report."""
        return self.onion_bytes

    def open_block(self, sealed: Sequence[bytes | None]) -> OpenedBlock:
        """Opens reports; one by one they are taken, or refused for a reason."""
        key = KeyPair.from_private_bytes(self.private_bytes)
        for_lots, refused = lot_key(self.private_bytes, self.id), Counter[str]()
        rows, lots, digests, numbers, onions = [], [], [], [], []
        for row, report in enumerate(sealed):
            try:
                if report is None:
                    raise Refused(Reason.MALFORMED)
                opened = open_report(self, report, key)
                if not self.earliest <= opened.time <= self.latest:
                    raise Refused(Reason.WRONG_TIME)
            except Refused as refusal:
                refused[refusal.reason] += 1
                continue
            rows.append(row)
            lots.append(lot_of(opened.report_id, for_lots))
            digests.append(opened.digest)
            numbers.append(opened.number)
            onions.append(opened.onions)
        return OpenedBlock(
            rows=np.array(rows, dtype=np.int64),
            lots=b"".join(lots),
            digests=b"".join(digests),
            numbers=np.array(numbers, dtype=np.int64),
            onions=onions,
            refused=refused,
        )

    def __repr__(self) -> str:
        return f"<ReportLayer of task {self.id.hex()[:8]}>"


class FoundReports(NamedTuple):
    """The reports that were taken, in the engine's own order, and how many were refused for which reason."""

    entries: Entries
    refused: Counter[str]


class CountedBatch(NamedTuple):
    """The tally of a batch, and why some of its onions are not counted in it."""

    batch_id: bytes
    tally: Tally
    refused: Counter[str]


@dataclass(frozen=True, kw_only=True)
class Target:
    """Where batches are written, for which task and for which hop, and how wide their onions are."""

    folder: Path
    task: str
    position: int
    mixing: str
    width: int

    def head(self, batch_id: bytes, *, part: int = 0, parts: int = 1) -> PartHead:
        """What a part of a batch says of itself."""
        return PartHead(
            task=self.task,
            batch=batch_id.hex(),
            position=self.position,
            mixing=self.mixing,
            part=part,
            parts=parts,
        )

    def path(self, batch_id: bytes, *, part: int = 0, parts: int = 1) -> Path:
        """The file of a part of a batch; of several, in a folder of the batch."""
        name = batch_id.hex()
        return self.folder / (f"{name}.parquet" if parts == 1 else f"{name}/part-{part:05}.parquet")


class Engine(Protocol):
    """Opens, mixes and counts files."""

    def open_reports(self, groups: Sequence[ReportGroup], layer: ReportLayer) -> FoundReports:
        """Opens all reports, as the first shuffler; their onions are kept until the engine is closed."""

    def mix_reports(self, batches: Sequence[Batch], target: Target) -> Iterator[MixedBatch]:
        """Mixes the onions of the opened reports, batch by batch, and writes them."""

    def sealed(self, rows: NDArray[np.int64]) -> Iterator[bytes]:
        """Some of the opened reports, as they were."""

    def mix_batches(self, batches: Sequence[BatchFiles], layer: Layer, target: Target) -> Iterator[MixedBatch]:
        """Opens a layer of all onions, as a later shuffler, mixes them batch by batch and writes them."""

    def count_batches(self, batches: Sequence[BatchFiles], task: Task, key: KeyPair) -> Iterator[CountedBatch]:
        """Opens all messages, as the analyzer, and counts them batch by batch."""

    def close(self) -> None:
        """Gives back memory, temporary files, processes, a Spark session that it started."""


def open_engine(
    name: str | None = None, *, master: str | None = None, processes: int | None = None, progress: Progress
) -> Engine:
    """The engine of that name: local, or spark at `master`."""
    if name not in (None, "local", "spark"):
        raise ParameterError(f"engine must be local or spark, got {name!r}")
    if name == "spark":
        from shuffledp.collect.batch_files.spark import Spark

        return Spark(master=master, progress=progress)
    if master is not None:
        raise ParameterError("a master says where Spark runs, so it needs the engine spark (--engine spark)")

    return InProcess(processes=processes, progress=progress)


_MOST_BUCKETS = 1 << 12
"""As many as the first 12 bits of a key tell apart."""


class Ordered(NamedTuple):
    """The onions of a bucket in the order of their keys, each once, and how many copies were left out."""

    onions: NDArray[np.uint8]
    repeated: int


def buckets_for(onions: int, *, each: int) -> int:
    """A power of two, so that a bucket has about `each` onions at most."""
    return min(_MOST_BUCKETS, 1 << max(0, -(-onions // each) - 1).bit_length())


def deal(block: bytes, *, secret: bytes, buckets: int, width: int) -> Iterator[tuple[int, bytes]]:
    """The onions of a block by their buckets, without those that get none."""
    onions = np.frombuffer(block, dtype=np.uint8).reshape(-1, width)
    bucket = (_keys(block, secret, width)[:, 0] >> np.uint64(52)).astype(np.int64) & (buckets - 1)
    order = np.argsort(bucket, kind="stable")
    numbers, starts = np.unique(bucket[order], return_index=True)
    for number, rows in zip(numbers.tolist(), np.split(order, starts[1:]), strict=True):
        yield number, onions[rows].tobytes()


def in_order(block: bytes, *, secret: bytes, width: int) -> Ordered:
    """The onions of a whole bucket."""
    keys = _keys(block, secret, width)
    order = np.lexsort((keys[:, 1], keys[:, 0]))
    new = np.ones(order.size, dtype=np.bool_)
    new[1:] = (keys[order[1:]] != keys[order[:-1]]).any(axis=1)
    onions = np.frombuffer(block, dtype=np.uint8).reshape(-1, width)
    return Ordered(onions[order[new]], int(order.size - new.sum()))


def _keys(block: bytes, secret: bytes, width: int) -> NDArray[np.uint64]:
    """Of each onion its key, as two numbers."""
    digests = (
        hashlib.blake2b(block[at : at + width], key=secret, digest_size=16).digest()
        for at in range(0, len(block), width)
    )
    return np.frombuffer(b"".join(digests), dtype=">u8").reshape(-1, 2).astype(np.uint64)


_WAITING = 3
"""Blocks that wait for each process, so that none is idle and memory stays bounded."""

_FEW = 8192
"""So few are opened before further processes would have started."""

_REPORTS_AT_ONCE = 1 << 10
"""Reports whose onions are read from the temporary file at once."""


class InProcess:
    """Opens, mixes and counts files in this process and its children."""

    def __init__(self, *, processes: int | None, progress: Progress) -> None:
        self._processes, self._progress = processes or os.cpu_count() or 1, progress
        self._file: BinaryIO | None = None
        self._groups: Sequence[ReportGroup] = ()

    def open_reports(self, groups: Sequence[ReportGroup], layer: ReportLayer) -> FoundReports:
        """Opens all reports; their onions wait in a file without a name, which is gone whatever happens."""
        self._groups, self._file = groups, tempfile.TemporaryFile()  # noqa: SIM115  (closed by close)
        lots, digests, sizes, refused = [], [], [np.zeros(1, dtype=np.int64)], Counter[str]()
        at, done, everything = [], 0, sum(group.rows for group in groups) or 1
        for number, (group, block) in enumerate(zip(groups, self._opened(groups, layer), strict=True)):
            for onions in block.onions:
                self._file.write(onions)
            lots.append(block.lots)
            digests.append(block.digests)
            sizes.append(block.numbers * layer.onion_bytes)
            at.append(np.column_stack([np.full(block.rows.size, number), block.rows]))
            refused += block.refused
            done += group.rows
            self._progress("opening reports", done / everything)
        self._file.flush()
        self._ends = np.cumsum(np.concatenate(sizes))
        self._at = np.concatenate(at) if at else np.empty((0, 2), dtype=np.int64)
        return FoundReports(Entries(_rows(lots), _rows(digests)), refused)

    def _opened(self, groups: Sequence[ReportGroup], layer: ReportLayer) -> Iterator[OpenedBlock]:
        if self._processes == 1 or sum(group.rows for group in groups) <= _FEW:
            yield from (_open(group, layer) for group in groups)
            return
        waiting: deque[Future[OpenedBlock]] = deque()
        pool = ProcessPoolExecutor(
            self._processes,
            mp_context=get_context("forkserver"),
            # an interrupt is for this process, which ends the others
            initializer=signal.signal,
            initargs=(signal.SIGINT, signal.SIG_IGN),
        )
        try:
            for group in groups:
                waiting.append(pool.submit(_open, group, layer))
                if len(waiting) >= _WAITING * self._processes:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)

    def mix_reports(self, batches: Sequence[Batch], target: Target) -> Iterator[MixedBatch]:
        """Each batch is mixed as a whole, and is one file."""
        for batch in batches:
            yield self._mixed(batch.batch_id, self._onions(batch.rows), target, Counter())

    def _onions(self, rows: NDArray[np.int64]) -> Iterator[bytes]:
        """The onions of some reports, in the order in which they were read: mixing forgets it."""
        assert self._file is not None
        content = memoryview(b"") if self._ends[-1] == 0 else np.memmap(self._file, dtype=np.uint8, mode="r").data
        ordered = np.sort(rows)
        for start in range(0, ordered.size, _REPORTS_AT_ONCE):
            part = ordered[start : start + _REPORTS_AT_ONCE]
            bounds = zip(self._ends[part].tolist(), self._ends[part + 1].tolist(), strict=True)
            yield b"".join(content[first:last] for first, last in bounds)

    def sealed(self, rows: NDArray[np.int64]) -> Iterator[bytes]:
        """Read again from the files."""
        wanted = self._at[np.sort(rows)].tolist()
        for number, places in groupby(wanted, key=lambda place: place[0]):
            reports = self._groups[number].read()
            for _, row in places:
                report = reports[row]
                assert report is not None
                yield report

    def mix_batches(self, batches: Sequence[BatchFiles], layer: Layer, target: Target) -> Iterator[MixedBatch]:
        """Each batch is mixed as a whole, and is one file."""
        few = sum(batch.number for batch in batches) <= _FEW
        with Opener(layer, processes=1 if few else self._processes) as opener:
            for batch in batches:
                refused = Counter[str]()
                yield self._mixed(batch.batch_id, _inside(opener, batch.blocks(), refused), target, refused)

    def _mixed(self, batch_id: bytes, blocks: Iterator[bytes], target: Target, refused: Counter[str]) -> MixedBatch:
        with mix(blocks, target.width) as mixed:
            number = write_part(target.path(batch_id), target.head(batch_id), mixed.blocks(), width=target.width)
        return MixedBatch(batch_id, number, refused + Counter({Reason.REPEATED: mixed.repeated}))

    def count_batches(self, batches: Sequence[BatchFiles], task: Task, key: KeyPair) -> Iterator[CountedBatch]:
        """One batch after another."""
        counting, done = BatchCounter(task, key, processes=self._processes), 0
        everything = sum(batch.number for batch in batches) or 1
        for batch in batches:
            counted = counting.count(batch.blocks())
            done += batch.number
            self._progress("opening messages", done / everything)
            yield CountedBatch(batch.batch_id, counted.tally, Counter(counted.refused))

    def close(self) -> None:
        """The temporary file is gone."""
        if self._file is not None:
            self._file.close()


def _open(group: ReportGroup, layer: ReportLayer) -> OpenedBlock:
    return layer.open_block(group.read())


def _inside(opener: Opener, blocks: Iterator[bytes], refused: Counter[str]) -> Iterator[bytes]:
    for opened, closed in opener.opened(blocks):
        refused[Reason.CANNOT_BE_OPENED] += closed
        yield opened


def _rows(parts: Sequence[bytes]) -> NDArray[np.uint8]:
    return np.frombuffer(b"".join(parts), dtype=np.uint8).reshape(-1, LOT_BYTES)

"""The engine in this process: it opens reports as the first shuffler, mixes batches, and counts as the analyzer."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from shuffledp.collect.analyzer.worker import BatchCounter
from shuffledp.collect.batch_files.batches import Batch, Compared, Fingerprints, lot_key, lot_of
from shuffledp.collect.batch_files.formats import BatchFiles, PartHead, ReportGroup, write_part
from shuffledp.collect.batch_files.seen import LOT_BYTES, Entries, Seen
from shuffledp.collect.crypto.batch import Layer, Opener, in_flight, mix
from shuffledp.collect.crypto.keys import KeyPair
from shuffledp.collect.reasons import Reason, Refused
from shuffledp.collect.task import Task
from shuffledp.collect.task.report import open_report
from shuffledp.errors import ParameterError
from shuffledp.histogram.tally import Tally
from shuffledp.progress import Progress

if TYPE_CHECKING:
    from shuffledp.collect.batch_files.spark import Spark

Engine: TypeAlias = "InProcess | Spark"
"""What opens, mixes and counts files; both have the same methods and give the same results."""


class OpenedBlock(NamedTuple):
    """The content of the accepted reports of a block, their rows, and the reasons of refusals."""

    rows: NDArray[np.int64]
    lots: bytes
    digests: bytes
    numbers: NDArray[np.int64]
    onions: list[bytes]
    refused: Counter[str]


@dataclass(frozen=True, kw_only=True)
class ReportLayer:
    """The layer around reports: the numbers to open and check them as the first shuffler.

    Workers get this instead of the task, whose list of answers may be long. Spark writes long closures to files, which
    must not contain the private key.
    """

    id: bytes
    most_messages: int
    padded: bool
    time_precision: int
    longest_report: int
    onion_bytes: int
    times: range
    private_bytes: bytes

    @classmethod
    def of(cls, task: Task, key: KeyPair, *, now: datetime | None = None) -> ReportLayer:
        """Return the layer of a task; times of reports must be within the task's, and at most one step ahead of now."""
        return cls(
            id=task.id,
            most_messages=task.most_messages,
            padded=task.padded,
            time_precision=task.time_precision,
            longest_report=task.longest_report,
            onion_bytes=task.onion_length(0),
            times=task.report_times((now or datetime.now(UTC)).timestamp()),
            private_bytes=key.private_bytes,
        )

    def onion_length(self, _: int, /) -> int:
        """Bytes of an onion in a report."""
        return self.onion_bytes

    def open_block(self, sealed: Sequence[bytes | None]) -> OpenedBlock:
        """Open reports; each is accepted, or refused with a reason."""
        key = KeyPair.from_private_bytes(self.private_bytes)
        for_lots, refused = lot_key(self.private_bytes, self.id), Counter[str]()
        rows, lots, digests, numbers, onions = [], [], [], [], []
        for row, report in enumerate(sealed):
            try:
                if report is None:
                    raise Refused(Reason.MALFORMED)
                opened = open_report(self, report, key)
                if opened.time not in self.times:
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
    """The accepted reports, in the engine's own order, and the numbers of refused ones by reason."""

    entries: Entries
    refused: Counter[str]


class MixedBatch(NamedTuple):
    """A mixed batch: its number of onions, and the numbers of dropped ones by reason."""

    batch_id: bytes
    number: int
    refused: Counter[str]


class CountedBatch(NamedTuple):
    """The tally of a batch, and the numbers of onions not counted by reason."""

    batch_id: bytes
    tally: Tally
    refused: Counter[str]


@dataclass(frozen=True, kw_only=True)
class OutputFolder:
    """The folder for batches, their task and next server, and the width of their onions."""

    folder: Path
    task: str
    position: int
    mixing: str
    width: int

    def head(self, batch_id: bytes, *, part: int = 0, parts: int = 1) -> PartHead:
        """Return the metadata of a part of a batch."""
        return PartHead(
            task=self.task,
            batch=batch_id.hex(),
            position=self.position,
            mixing=self.mixing,
            part=part,
            parts=parts,
        )

    def path(self, batch_id: bytes, *, part: int = 0, parts: int = 1) -> Path:
        """Return the file of a part of a batch; several parts are in a folder of the batch."""
        name = batch_id.hex()
        return self.folder / (f"{name}.parquet" if parts == 1 else f"{name}/part-{part:05}.parquet")

    def remove(self, batch_id: bytes) -> None:
        """Remove all parts of a batch."""
        self.path(batch_id).unlink(missing_ok=True)
        shutil.rmtree(self.folder / batch_id.hex(), ignore_errors=True)


def open_engine(
    name: str | None = None, *, master: str | None = None, processes: int | None = None, progress: Progress
) -> Engine:
    """Open the engine of that name: local (default), or spark at `master`."""
    if name not in (None, "local", "spark"):
        raise ParameterError(f"engine must be local or spark, got {name!r}")
    if name == "spark":
        from shuffledp.collect.batch_files.spark import Spark  # pyspark is large

        return Spark(master=master, progress=progress)
    if master is not None:
        raise ParameterError("master must not be given without engine spark: it is the address of Spark")

    return InProcess(processes=processes, progress=progress)


_FEW = 8192
"""Reports or onions that are opened faster than further processes would start."""

_REPORTS_AT_ONCE = 1 << 10
"""Reports whose onions are read from the temporary file at a time."""


class InProcess:
    """The engine in this process and its children; memory grows only by a few words for each onion."""

    def __init__(self, *, processes: int | None, progress: Progress) -> None:
        self._processes, self._progress = processes or os.cpu_count() or 1, progress
        self._file: BinaryIO | None = None
        self._fingerprints: Fingerprints | None = None
        self._groups: Sequence[ReportGroup] = ()

    def open_reports(self, groups: Sequence[ReportGroup], layer: ReportLayer) -> FoundReports:
        """Open all reports. Their onions are kept in an unnamed temporary file, which never survives the process."""
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
        opening = partial(_open, layer)
        if self._processes == 1 or sum(group.rows for group in groups) <= _FEW:
            yield from map(opening, groups)
            return
        pool = ProcessPoolExecutor(
            self._processes,
            mp_context=get_context("forkserver"),
            # Ctrl-C is for this process, which stops the others
            initializer=signal.signal,
            initargs=(signal.SIGINT, signal.SIG_IGN),
        )
        try:
            yield from in_flight(pool, opening, groups, processes=self._processes)
        finally:
            pool.shutdown(cancel_futures=True)

    def mix_reports(self, batches: Sequence[Batch], target: OutputFolder) -> Iterator[MixedBatch]:
        """Mix the onions of the opened reports, batch by batch, and write them; here each batch into one file."""
        for batch in batches:
            yield self._mixed(batch.batch_id, self._onions(batch.rows), target, Counter())

    def _onions(self, rows: NDArray[np.int64]) -> Iterator[bytes]:
        """The onions of some reports in the order of the file, which mixing destroys."""
        assert self._file is not None
        content = memoryview(b"") if self._ends[-1] == 0 else np.memmap(self._file, dtype=np.uint8, mode="r").data
        ordered = np.sort(rows)
        for start in range(0, ordered.size, _REPORTS_AT_ONCE):
            part = ordered[start : start + _REPORTS_AT_ONCE]
            bounds = zip(self._ends[part].tolist(), self._ends[part + 1].tolist(), strict=True)
            yield b"".join(content[first:last] for first, last in bounds)

    def sealed(self, rows: NDArray[np.int64]) -> Iterator[bytes]:
        """Yield some of the opened reports, still sealed."""
        wanted = self._at[np.sort(rows)].tolist()
        for number, places in groupby(wanted, key=lambda place: place[0]):
            reports = self._groups[number].read()
            for _, row in places:
                report = reports[row]
                assert report is not None
                yield report

    def compare(self, batches: Sequence[BatchFiles], seen: Seen, width: int) -> list[Compared]:
        """Compare the onions of all batches with each other and with the accepted ones."""
        self._progress("comparing batches", 0.0)
        self._fingerprints = Fingerprints(batches, seen)
        return self._fingerprints.compare(width)

    def write_fingerprints(self, batch_ids: Container[bytes], folder: Path) -> None:
        """Write the fingerprints of some of the compared batches' own onions."""
        assert self._fingerprints is not None
        self._fingerprints.write(batch_ids, folder)

    def mix_batches(self, batches: Sequence[BatchFiles], layer: Layer, target: OutputFolder) -> Iterator[MixedBatch]:
        """Open a layer of all onions, as a later shuffler, mix them batch by batch and write them."""
        few = sum(batch.number for batch in batches) <= _FEW
        with Opener(layer, processes=1 if few else self._processes) as opener:
            for batch in batches:
                refused = Counter[str]()
                yield self._mixed(batch.batch_id, _inside(opener, batch.blocks(), refused), target, refused)

    def _mixed(
        self, batch_id: bytes, blocks: Iterator[bytes], target: OutputFolder, refused: Counter[str]
    ) -> MixedBatch:
        with mix(blocks, target.width) as mixed:
            number = write_part(target.path(batch_id), target.head(batch_id), mixed.blocks(), width=target.width)
        return MixedBatch(batch_id, number, refused + Counter({Reason.REPEATED: mixed.repeated}))

    def count_batches(self, batches: Sequence[BatchFiles], task: Task, key: KeyPair) -> Iterator[CountedBatch]:
        """Open all messages, as the analyzer, and count them batch by batch."""
        counting, done = BatchCounter(task, key, processes=self._processes), 0
        everything = sum(batch.number for batch in batches) or 1
        for batch in batches:
            counted = counting.count(batch.blocks())
            done += batch.number
            self._progress("opening messages", done / everything)
            yield CountedBatch(batch.batch_id, counted.tally, Counter(counted.refused))

    def close(self) -> None:
        """Remove the temporary files."""
        for file in (self._file, self._fingerprints):
            if file is not None:
                file.close()


def _open(layer: ReportLayer, group: ReportGroup) -> OpenedBlock:
    return layer.open_block(group.read())


def _inside(opener: Opener, blocks: Iterator[bytes], refused: Counter[str]) -> Iterator[bytes]:
    for opened, closed in opener.opened(blocks):
        refused[Reason.CANNOT_BE_OPENED] += closed
        yield opened


def _rows(parts: Sequence[bytes]) -> NDArray[np.uint8]:
    return np.frombuffer(b"".join(parts), dtype=np.uint8).reshape(-1, LOT_BYTES)

"""The engine in this process, which opens in several: memory does not grow with the onions beyond a few words each."""

from __future__ import annotations

import os
import signal
import tempfile
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import groupby
from multiprocessing import get_context
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from shuffledp.collection.analyzer.counting import Counting
from shuffledp.collection.envelope.keys import KeyPair
from shuffledp.collection.envelope.mixing import mix
from shuffledp.collection.envelope.opening import Layer, Opener
from shuffledp.collection.files.batches import BatchFiles, write_part
from shuffledp.collection.files.engine import CountedBatch, FoundReports, Target
from shuffledp.collection.files.lots import LOT_BYTES, Batch, Entries
from shuffledp.collection.files.mixed import MixedBatch
from shuffledp.collection.files.opening import OpenedBlock, ReportLayer
from shuffledp.collection.files.reports import ReportGroup
from shuffledp.collection.reasons import Reason
from shuffledp.collection.task import Task
from shuffledp.progress import Progress

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
        counting, done = Counting(task, key, processes=self._processes), 0
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

"""Where files are mixed and counted: a few verbs, in this process or on Apache Spark, with the same results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from shuffledp.collection.envelope.keys import KeyPair
from shuffledp.collection.envelope.opening import Layer
from shuffledp.collection.files.batches import BatchFiles, PartHead
from shuffledp.collection.files.lots import Batch, Entries
from shuffledp.collection.files.mixed import MixedBatch
from shuffledp.collection.files.opening import ReportLayer
from shuffledp.collection.files.reports import ReportGroup
from shuffledp.collection.task import Task
from shuffledp.errors import ParameterError
from shuffledp.pipeline.tally import Tally
from shuffledp.progress import Progress


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
        from shuffledp.collection.files.spark import Spark

        return Spark(master=master, progress=progress)
    if master is not None:
        raise ParameterError("a master says where Spark runs, so it needs the engine spark (--engine spark)")
    from shuffledp.collection.files.in_process import InProcess

    return InProcess(processes=processes, progress=progress)

"""Count files of batches, and make one release of all of them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from shuffledp.collect.analyzer.releases import entered_as, release_of
from shuffledp.collect.analyzer.worker import check_noise
from shuffledp.collect.batch_files.engine import CountedBatch, open_engine
from shuffledp.collect.batch_files.formats import find_batches
from shuffledp.collect.crypto.keys import KeyPair
from shuffledp.collect.reasons import Reason, Refused
from shuffledp.collect.task import Task
from shuffledp.collect.task.report import name_of, position_of
from shuffledp.errors import DataError, ParameterError
from shuffledp.formatting import counted
from shuffledp.ledger import Ledger
from shuffledp.progress import Progress, quiet
from shuffledp.protocols.catalogue import CATALOGUE
from shuffledp.release.release import Release


@dataclass(frozen=True, eq=False)
class CountedFiles:
    """The release of all valid batches, their ids, and the ids of refused ones.

    `copies` is the number of files of batches that were given more than once.
    """

    release: Release
    batches: tuple[bytes, ...]
    refused_batches: tuple[bytes, ...]
    copies: int


def count_files(
    given: Sequence[str | os.PathLike[str]],
    *,
    task: Task,
    key: KeyPair,
    ledger: Ledger | str | Path | None = None,
    engine: str | None = None,
    master: str | None = None,
    processes: int | None = None,
    progress: Progress = quiet,
) -> CountedFiles:
    """Open and count the messages of batches, each once, as the analyzer; all batches make one release.

    A batch with too few messages for its number of people is left out, since its noise is incomplete. The ledger entry
    is made last, once for a task: each person answers once and is in one batch.
    """
    position, book = position_of(task, key), None if ledger is None else Ledger.of(ledger)
    if position < len(task.shufflers):
        raise ParameterError(
            f"key must be of the analyzer, got the key of {name_of(task, position)}, which mixes batches"
        )
    task.check()  # the guarantee of a release is computed, not taken from the task
    _ = task.labels  # fails at once if a list of answers is missing
    found = find_batches(given, task, position=position)
    with closing(open_engine(engine, master=master, processes=processes, progress=progress)) as machine:
        counts = list(machine.count_batches(found.batches, task, key))
    good = [batch for batch in counts if _has_its_noise(task, batch)]
    if not good:
        raise DataError(f"nothing can be released: {_too_few(len(counts))}")
    left_out = len(counts) - len(good)
    release = release_of(
        task,
        [batch.tally for batch in good],
        refused=sum((batch.refused for batch in good), Counter[str]()),
        left_out=left_out,
    )
    if book is not None:
        entry = CATALOGUE[task.protocol_used.name]
        book.finish(book.spend(task.protocol, what=entered_as(task), entry=entry, once=True))
    return CountedFiles(
        release=release,
        batches=tuple(batch.batch_id for batch in good),
        refused_batches=tuple(batch.batch_id for batch in counts if batch not in good),
        copies=found.copies,
    )


def _has_its_noise(task: Task, batch: CountedBatch) -> bool:
    try:
        check_noise(task, batch.tally)
    except Refused:
        return False
    return True


def _too_few(batches: int) -> str:
    number = counted(batches, "batch", things="batches")
    return (
        f"{number} with fewer messages than the number of people requires: noise is missing ({Reason.TOO_FEW_MESSAGES})"
    )

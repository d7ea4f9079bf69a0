"""Count files of batches, and make one release of all of them."""

from __future__ import annotations

import os
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from shuffledp.collect.analyzer.releases import entered_as, entry_of, release_of
from shuffledp.collect.analyzer.worker import check_noise
from shuffledp.collect.batch_files.engine import CountedBatch, open_engine
from shuffledp.collect.batch_files.formats import find_batches
from shuffledp.collect.batch_files.repeats import RefusedBatch, described, remembered_as, split_changed
from shuffledp.collect.batch_files.seen import opened_seen
from shuffledp.collect.crypto.keys import KeyPair
from shuffledp.collect.reasons import Reason, Refused
from shuffledp.collect.task import Task
from shuffledp.collect.task.lookup import LookedUp, check_lookup, looked_up
from shuffledp.collect.task.report import name_of, position_of
from shuffledp.collect.task.task import BETA
from shuffledp.errors import DataError, ParameterError
from shuffledp.ledger import Ledger
from shuffledp.progress import Progress, quiet
from shuffledp.release.release import Release


@dataclass(frozen=True, eq=False)
class CountedFiles:
    """The release of all valid batches, their ids, and the refused ones.

    `refused` has the numbers of messages that were not counted by reason, in all batches. `copies` is the number of
    files of batches that were given more than once. The intervals of `looked_up` hold for all of them at once.
    """

    release: Release
    batches: tuple[bytes, ...]
    refused_batches: tuple[RefusedBatch, ...]
    refused: Mapping[str, int]
    copies: int
    looked_up: tuple[LookedUp, ...] = ()


def count_files(
    given: Sequence[str | os.PathLike[str]],
    *,
    task: Task,
    key: KeyPair,
    seen: str | os.PathLike[str],
    ledger: Ledger | str | Path | None = None,
    engine: str | None = None,
    master: str | None = None,
    processes: int | None = None,
    lookup: Sequence[str] = (),
    progress: Progress = quiet,
) -> CountedFiles:
    """Open and count the messages of batches, each once, as the analyzer; all batches make one release.

    `seen` is the folder that remembers the messages of all released batches (see `seen_folder`). Messages of another
    batch, of this run or an earlier one, are dropped. A batch with too few messages for its number of people is left
    out, since its noise is incomplete. The same batches can be counted again, and have the same tally; one that was
    released before and has other messages now is left out. The ledger entry is made last, once for a task: each person
    answers once and is in one batch.
    """
    position, book = position_of(task, key), None if ledger is None else Ledger.of(ledger)
    if position < len(task.shufflers):
        raise ParameterError(
            f"key must be of the analyzer, got the key of {name_of(task, position)}, which mixes batches"
        )
    task.check()  # the guarantee of a release is computed, not taken from the task
    _ = task.labels  # fails at once if a list of answers is missing
    for answer in lookup:
        check_lookup(task, answer)
    found = find_batches(given, task, position=position)
    with (
        opened_seen(seen, task, key) as memory,
        closing(open_engine(engine, master=master, processes=processes, progress=progress)) as machine,
    ):
        compared = machine.compare(found.batches, memory, task.onion_length(position))
        used, refused_batches = split_changed(compared, memory)
        counts = list(machine.count_batches([one.batch for one in used], task, key)) if used else []
        good = [batch for batch in counts if _has_its_noise(task, batch)]
        too_few = [RefusedBatch(batch.batch_id, Reason.TOO_FEW_MESSAGES) for batch in counts if batch not in good]
        if not good:
            raise DataError(f"nothing can be released: {described(compared, [*too_few, *refused_batches])}")
        names = {batch.batch_id for batch in good}
        refused = sum((batch.refused for batch in good), Counter[str]())
        refused += sum((one.refused for one in used if one.batch.batch_id in names), Counter[str]())
        tallies = [batch.tally for batch in good]
        release = release_of(
            task, tallies, refused=refused, left_out=len(too_few), processes=processes, progress=progress
        )
        found_answers = [looked_up(task, tallies, answer, beta=BETA / len(lookup)) for answer in lookup]
        new = remembered_as(used, names, memory)
        if new:  # remembered before anything is visible
            memory.remember(secrets.token_hex(16), new, partial(machine.write_fingerprints, new))
    if book is not None:
        book.finish(book.spend(task.released_by(), what=entered_as(task), entry=entry_of(task), once=True))
    return CountedFiles(
        release=release,
        batches=tuple(batch.batch_id for batch in good),
        refused_batches=(*too_few, *refused_batches),
        refused=dict(sum((batch.refused for batch in counts), sum((one.refused for one in compared), Counter[str]()))),
        copies=found.copies,
        looked_up=tuple(found_answers),
    )


def _has_its_noise(task: Task, batch: CountedBatch) -> bool:
    try:
        check_noise(task, batch.tally)
    except Refused:
        return False
    return True

"""Mixing files: from names to a folder of batches."""

from __future__ import annotations

import os
import secrets
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path

from shuffledp.collect.batch_files.batches import MixedBatch, MixedFiles, find_batches
from shuffledp.collect.batch_files.engine import Engine, ReportLayer, Target, open_engine
from shuffledp.collect.batch_files.lots import TAKEN_FILE, Drawn, Entries, draw, lot_key, read_taken, write_taken
from shuffledp.collect.batch_files.tables import check_free, find_reports, kept_folder, whole_folder, write_reports
from shuffledp.collect.crypto.keys import KeyPair
from shuffledp.collect.reasons import Reason
from shuffledp.collect.task import Task
from shuffledp.collect.task.servers import layer_of, position_of
from shuffledp.errors import DataError, ParameterError
from shuffledp.formatting import counted
from shuffledp.progress import Progress, quiet

REST_FILE = "rest.parquet"
Names = Sequence[str | os.PathLike[str]]


class TooFewReportsError(DataError):
    """There are fewer reports than a batch needs, so that nothing is handed on."""


def mix_files(
    given: Names,
    *,
    task: Task,
    key: KeyPair,
    out: str | os.PathLike[str],
    before: Names = (),
    engine: str | None = None,
    master: str | None = None,
    processes: int | None = None,
    force: bool = False,
    now: datetime | None = None,
    progress: Progress = quiet,
) -> MixedFiles:
    """Mixes files of reports, or of batches of the hop before, to batches in a new folder, as the owner of the key.

    Only that folder is for the next hop. The first shuffler keeps what never travels beside it, in the folder of the
    same name with `.kept`: the reports that wait, and which ones are in a batch. `before` are the folders of earlier
    runs over the same task's reports: what was left then is taken up, and reports that are in a batch already are left
    out. `now` is for tests.
    """
    position, target = position_of(task, key), Path(out)
    folders = [kept_folder(Path(name)) for name in before]
    if position == len(task.shufflers):
        raise ParameterError("this is the key of the analyzer, which counts batches and mixes none: use count")
    if position and folders:
        raise ParameterError("before is for the first shuffler: later ones have no reports, only whole batches")
    names = [*given, *(folder / REST_FILE for folder in folders if (folder / REST_FILE).exists())]
    for made in (target,) if position else (target, kept_folder(target)):
        check_free(made, inputs=[*map(Path, names), *folders], force=force)
    with closing(open_engine(engine, master=master, processes=processes, progress=progress)) as machine:
        if position:
            return _mix_batches(machine, names, task, key, position, target)
        return _mix_reports(machine, names, task, key, target, ReportLayer.of(task, key, now=now), folders)


def _mix_reports(
    machine: Engine, names: Names, task: Task, key: KeyPair, out: Path, layer: ReportLayer, before: Sequence[Path]
) -> MixedFiles:
    taken, groups = read_taken(before, task), find_reports(names)
    found = machine.open_reports(groups, layer)
    drawn = draw(found.entries, taken, users=task.users, key=lot_key(key.private_bytes, task.id))
    refused = found.refused + Counter({Reason.OTHER_BYTES: drawn.other_bytes})
    if not drawn.batches:
        raise _too_few(drawn, task, refused)
    # what is taken gets its name first: batches without it could be mixed once more
    with whole_folder(out) as folder, whole_folder(kept_folder(out)) as kept:
        mixed = list(machine.mix_reports(drawn.batches, _target(folder, task, 1)))
        if drawn.rest.size:
            write_reports(kept / REST_FILE, machine.sealed(drawn.rest))
        write_taken(kept / TAKEN_FILE, task, _remembered(taken, found.entries, drawn))
    return MixedFiles(
        out=out,
        kept=kept_folder(out),
        position=0,
        batches=tuple(mixed),
        reports=sum(group.rows for group in groups),
        known=drawn.known,
        rest=drawn.rest.size,
        refused=_together(refused, mixed),
    )


def _mix_batches(machine: Engine, names: Names, task: Task, key: KeyPair, position: int, out: Path) -> MixedFiles:
    found = find_batches(names, task, position=position)
    with whole_folder(out) as folder:
        mixed = list(machine.mix_batches(found.batches, layer_of(task, key), _target(folder, task, position + 1)))
    return MixedFiles(
        out=out, position=position, batches=tuple(mixed), copies=found.copies, refused=_together(Counter(), mixed)
    )


def _target(folder: Path, task: Task, position: int) -> Target:
    return Target(
        folder=folder,
        task=task.name,
        position=position,
        mixing=secrets.token_hex(16),
        width=task.onion_length(position),
    )


def _remembered(taken: Entries, found: Entries, drawn: Drawn) -> Entries:
    """All reports that are in a batch, of this run and of those before, in the order of their lots."""
    return Entries.join([taken, *(found.pick(batch.rows) for batch in drawn.batches)]).distinct()


def _together(refused: Counter[str], mixed: Sequence[MixedBatch]) -> dict[str, int]:
    return dict(sum((batch.refused for batch in mixed), refused))


def _too_few(drawn: Drawn, task: Task, refused: Counter[str]) -> TooFewReportsError:
    reasons = "".join(f"; refused, {reason}: {number:,}" for reason, number in sorted(refused.items()))
    taken = f"{counted(drawn.rest.size, 'report')} can be taken, and a batch of this task needs {task.users:,}"
    return TooFewReportsError(f"{taken}: nothing is handed on{reasons}. Run again with later reports")

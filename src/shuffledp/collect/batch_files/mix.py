"""Mix files of reports, or of batches of the server before, to a folder of batches."""

from __future__ import annotations

import os
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from shuffledp.collect.batch_files.engine import Engine, MixedBatch, OutputFolder, ReportLayer, open_engine
from shuffledp.collect.batch_files.formats import (
    check_free,
    find_batches,
    find_reports,
    kept_folder,
    whole_folder,
    write_reports,
)
from shuffledp.collect.batch_files.lots import TAKEN_FILE, Drawn, Entries, draw, lot_key, read_taken, write_taken
from shuffledp.collect.crypto.keys import KeyPair
from shuffledp.collect.reasons import Reason
from shuffledp.collect.task import Task
from shuffledp.collect.task.report import layer_of, position_of
from shuffledp.errors import DataError, ParameterError
from shuffledp.formatting import counted
from shuffledp.progress import Progress, quiet

REST_FILE = "rest.parquet"
Names = Sequence[str | os.PathLike[str]]


@dataclass(frozen=True, kw_only=True)
class MixedFiles:
    """Batches in a folder, and for the first shuffler the numbers of reports read and left over (`rest`).

    `known` reports repeat others with the same bytes and count once. `refused` has the numbers of refused reports or
    onions by reason. `copies` is the number of files of batches that were given more than once. Only `out` is for the
    next server; the private files of the first shuffler are in `kept`.
    """

    out: Path
    kept: Path | None = None
    position: int
    batches: tuple[MixedBatch, ...]
    reports: int | None = None
    known: int = 0
    rest: int = 0
    copies: int = 0
    refused: Mapping[str, int] = field(default_factory=dict)

    def to_plain(self) -> dict[str, Any]:
        """Return the record for JSON."""
        return {
            "out": str(self.out),
            "kept": None if self.kept is None else str(self.kept),
            "position": self.position,
            "batches": [{"id": batch.batch_id.hex(), "messages": batch.number} for batch in self.batches],
            "reports": self.reports,
            "known": self.known,
            "rest": self.rest,
            "copies": self.copies,
            "refused": dict(self.refused),
        }


class TooFewReportsError(DataError):
    """There are fewer reports than a batch needs, so nothing is forwarded."""


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
    """Mix files of reports, or of batches of the server before, to batches in a new folder, as the owner of the key.

    Only that folder is for the next server. The first shuffler keeps private files in the folder of the same name with
    `.kept`: the waiting reports, and the list of those in a batch. `before` are the output folders of earlier runs for
    the same task: their waiting reports are added, and reports that are in a batch already are skipped. `now` is for
    tests.
    """
    position, target = position_of(task, key), Path(out)
    folders = [kept_folder(Path(name)) for name in before]
    if position == len(task.shufflers):
        raise ParameterError("key must be of a shuffler, got the key of the analyzer, which counts batches")
    if position and folders:
        raise ParameterError("before is for the first shuffler: later ones have only complete batches")
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
    # the private folder is renamed first: without it the same reports could be mixed again
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


def _target(folder: Path, task: Task, position: int) -> OutputFolder:
    return OutputFolder(
        folder=folder,
        task=task.name,
        position=position,
        mixing=secrets.token_hex(16),
        width=task.onion_length(position),
    )


def _remembered(taken: Entries, found: Entries, drawn: Drawn) -> Entries:
    """The entries of all reports in batches, of this run and those before, in the order of lots."""
    return Entries.join([taken, *(found.pick(batch.rows) for batch in drawn.batches)]).distinct()


def _together(refused: Counter[str], mixed: Sequence[MixedBatch]) -> dict[str, int]:
    return dict(sum((batch.refused for batch in mixed), refused))


def _too_few(drawn: Drawn, task: Task, refused: Counter[str]) -> TooFewReportsError:
    reasons = "".join(f"; refused, {reason}: {number:,}" for reason, number in sorted(refused.items()))
    found = f"{counted(drawn.rest.size, 'report')} can be used, and a batch of this task needs {task.users:,}"
    return TooFewReportsError(f"{found}: nothing is forwarded{reasons}. Run again with later reports")

"""The two steps over files: mix reports or batches of the server before, and count batches to a release."""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from shuffledp.collect.analyzer.releases import entered_as, entry_of, release_of
from shuffledp.collect.analyzer.worker import check_noise
from shuffledp.collect.batch_files.batches import (
    Drawn,
    RefusedBatch,
    described,
    draw,
    lot_key,
    remembered_as,
    split_changed,
)
from shuffledp.collect.batch_files.engine import (
    CountedBatch,
    Engine,
    MixedBatch,
    OutputFolder,
    ReportLayer,
    open_engine,
)
from shuffledp.collect.batch_files.formats import (
    find_batches,
    find_reports,
    whole_folder,
    write_reports,
)
from shuffledp.collect.batch_files.seen import TAKEN_FILE, Entries, Seen, opened_seen, read_taken, write_taken
from shuffledp.collect.crypto.keys import KeyPair
from shuffledp.collect.reasons import Reason, Refused
from shuffledp.collect.shuffler.worker import most_people
from shuffledp.collect.task import Task
from shuffledp.collect.task.follow_up import LookedUp, check_lookup, looked_up
from shuffledp.collect.task.report import layer_of, name_of, position_of
from shuffledp.collect.task.task import BETA
from shuffledp.errors import DataError, ParameterError
from shuffledp.formatting import counted
from shuffledp.ledger import Ledger
from shuffledp.progress import Progress, quiet
from shuffledp.release.release import Release

REST_FILE = "rest.parquet"
Names = Sequence[str | os.PathLike[str]]


@dataclass(frozen=True, kw_only=True)
class MixedFiles:
    """Batches in a folder, and for the first shuffler the numbers of reports read and left over (`rest`).

    `used` reports were skipped, in a batch of an earlier run; `known` reports repeat others with the same bytes and
    count once. `refused` has the numbers of refused reports or onions by reason, and `refused_batches` are not
    forwarded. `copies` is the number of files of batches that were given more than once. `kept` has the private files
    of the first shuffler, and `seen` is the memory.
    """

    out: Path
    seen: Path
    kept: Path | None = None
    position: int
    batches: tuple[MixedBatch, ...]
    reports: int | None = None
    used: int = 0
    known: int = 0
    rest: int = 0
    copies: int = 0
    refused: Mapping[str, int] = field(default_factory=dict)
    refused_batches: tuple[RefusedBatch, ...] = ()

    def to_plain(self) -> dict[str, Any]:
        """Return the record for JSON."""
        return {
            "out": str(self.out),
            "seen": str(self.seen),
            "kept": None if self.kept is None else str(self.kept),
            "position": self.position,
            "batches": [{"id": batch.batch_id.hex(), "messages": batch.number} for batch in self.batches],
            "reports": self.reports,
            "used": self.used,
            "known": self.known,
            "rest": self.rest,
            "copies": self.copies,
            "refused": dict(self.refused),
            "refused_batches": [{"id": batch.batch_id.hex(), "reason": batch.reason} for batch in self.refused_batches],
        }


class TooFewReportsError(DataError):
    """There are fewer reports than a batch needs, so nothing is forwarded."""


def mix_files(
    given: Names,
    *,
    task: Task,
    key: KeyPair,
    seen: str | os.PathLike[str],
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

    `seen` is the folder that remembers what the owner of the key has accepted, in all runs (see `seen_folder`). Reports
    that are in a batch of an earlier run are skipped. A later shuffler drops onions of other batches, and refuses a
    batch that has too few onions left. `force` replaces the folder of a later shuffler; that of the first has batches
    that cannot be made again.

    Only the folder `out` is for the next server. The first shuffler keeps waiting reports and the list of all that are
    in a batch in the private folder of the same name with `.kept`. `before` are the output folders of earlier runs for
    the same task: their waiting reports are added, and their lists are respected too. `now` is for tests.
    """
    position, target = position_of(task, key), Path(out)
    folders = [kept_folder(Path(name)) for name in before]
    if position == len(task.shufflers):
        raise ParameterError("key must be of a shuffler, got the key of the analyzer, which counts batches")
    if position and folders:
        raise ParameterError("before is for the first shuffler: later ones have only complete batches")
    names = [*given, *(folder / REST_FILE for folder in folders if (folder / REST_FILE).exists())]
    with opened_seen(seen, task, key) as memory:
        _remove_unfinished(memory)
        if not position:
            _check_new(target)
        check_free(target, inputs=[*map(Path, names), *folders], force=force)
        with closing(open_engine(engine, master=master, processes=processes, progress=progress)) as machine:
            if position:
                return _mix_batches(machine, names, task, key, position, target, memory)
            layer = ReportLayer.of(task, key, now=now)
            return _mix_reports(machine, names, task, key, target, layer, folders, memory)


_OURS = re.compile(r"[0-9a-f]{32}(\.parquet)?|(rest|taken)\.parquet")
"""Names of files that mixing writes; a folder with any other file is not replaced."""


def kept_folder(out: Path) -> Path:
    """Return the private folder beside the batches, for waiting reports and the list of used ones."""
    return out.with_name(f"{out.name}.kept")


def check_free(out: Path, *, inputs: Iterable[Path], force: bool) -> None:
    """Refuse an output folder that cannot be created, holds inputs, or holds other files."""
    if not out.parent.is_dir():
        raise DataError(f"cannot write {out}: there is no folder {out.parent}")
    if not out.exists() and not out.is_symlink():
        return
    if not force:
        raise ParameterError(f"{out} already exists: give another name, or set force to replace it")
    if out.is_symlink() or not out.is_dir() or any(not _OURS.fullmatch(entry.name) for entry in out.iterdir()):
        raise ParameterError(f"{out} has other files than batches, so it is not replaced: give another name")
    if any(path.resolve().is_relative_to(out.resolve()) for path in inputs):
        raise ParameterError(f"{out} holds input files: give another name")


def _remove_unfinished(memory: Seen) -> None:
    """Remove the output of runs that were killed just before it was complete."""
    for left in memory.left:
        out = left.with_name(left.name[1:].rsplit(".", 2)[0])
        if not out.exists():
            shutil.rmtree(kept_folder(out), ignore_errors=True)
        shutil.rmtree(left, ignore_errors=True)


def _check_new(out: Path) -> None:
    for made in (out, kept_folder(out)):
        if made.exists() or made.is_symlink():
            raise ParameterError(
                f"{made} already exists: give another name. The first shuffler replaces no batches, since it never "
                "mixes the same reports again"
            )


def _mix_reports(
    machine: Engine,
    names: Names,
    task: Task,
    key: KeyPair,
    out: Path,
    layer: ReportLayer,
    before: Sequence[Path],
    memory: Seen,
) -> MixedFiles:
    taken, groups = Entries.join([memory.taken(), read_taken(before, task)]), find_reports(names)
    found = machine.open_reports(groups, layer)
    drawn = draw(found.entries, taken, users=task.users, key=lot_key(key.private_bytes, task.id))
    refused = found.refused + Counter({Reason.OTHER_BYTES: drawn.other_bytes})
    if not drawn.batches:
        raise _too_few(drawn, task, refused, memory)
    run, used = secrets.token_hex(16), {batch.batch_id: found.entries.pick(batch.rows) for batch in drawn.batches}
    # the batches are renamed last, when everything else is complete
    with (
        _undone_unless_complete(out, memory, run),
        whole_folder(out) as folder,
        whole_folder(kept_folder(out)) as kept,
    ):
        mixed = list(machine.mix_reports(drawn.batches, _target(folder, task, 1, run)))
        if drawn.rest.size:
            write_reports(kept / REST_FILE, machine.sealed(drawn.rest))
        write_taken(kept / TAKEN_FILE, task, Entries.join([taken, *used.values()]).distinct())
        memory.remember_reports(run, used, unfinished=folder)
    return MixedFiles(
        out=out,
        seen=memory.folder,
        kept=kept_folder(out),
        position=0,
        batches=tuple(mixed),
        reports=sum(group.rows for group in groups),
        used=drawn.used,
        known=drawn.known,
        rest=drawn.rest.size,
        refused=_together(refused, mixed),
    )


@contextmanager
def _undone_unless_complete(out: Path, memory: Seen, run: str) -> Iterator[None]:
    """Forget a run that failed before its batches were complete, and remove its private folder."""
    try:
        yield
    except BaseException:
        if not out.exists():  # an interrupt can also come just after the rename
            memory.forget(run)
            shutil.rmtree(kept_folder(out), ignore_errors=True)
        raise


def _mix_batches(
    machine: Engine, names: Names, task: Task, key: KeyPair, position: int, out: Path, memory: Seen
) -> MixedFiles:
    found, layer, run = find_batches(names, task, position=position), layer_of(task, key), secrets.token_hex(16)
    compared = machine.compare(found.batches, memory, layer.length)
    used, refused = split_changed(compared, memory)
    with whole_folder(out) as folder:
        target = _target(folder, task, position + 1, run)
        mixed = list(machine.mix_batches([one.batch for one in used], layer, target)) if used else []
        for batch in [batch for batch in mixed if most_people(task, batch.number) < task.honest_users]:
            mixed.remove(batch)
            refused.append(RefusedBatch(batch.batch_id, Reason.TOO_FEW_MESSAGES))
            target.remove(batch.batch_id)
        if not mixed:
            raise DataError(f"nothing is forwarded: {described(compared, refused)}")
        new = remembered_as(used, {batch.batch_id for batch in mixed}, memory)
        if new:
            memory.remember(run, new, partial(machine.write_fingerprints, new), unfinished=folder)
    return MixedFiles(
        out=out,
        seen=memory.folder,
        position=position,
        batches=tuple(mixed),
        copies=found.copies,
        refused=_together(sum((one.refused for one in compared), Counter[str]()), mixed),
        refused_batches=tuple(refused),
    )


def _target(folder: Path, task: Task, position: int, run: str) -> OutputFolder:
    return OutputFolder(
        folder=folder,
        task=task.name,
        position=position,
        mixing=run,
        width=task.onion_length(position),
    )


def _together(refused: Counter[str], mixed: Sequence[MixedBatch]) -> dict[str, int]:
    return dict(sum((batch.refused for batch in mixed), refused))


def _too_few(drawn: Drawn, task: Task, refused: Counter[str], memory: Seen) -> TooFewReportsError:
    reasons = "".join(f"; refused, {reason}: {number:,}" for reason, number in sorted(refused.items()))
    found = f"{counted(drawn.rest.size, 'report')} can be used, and a batch of this task needs {task.users:,}"
    used = (
        f"; {counted(drawn.used, 'report')} skipped, in a batch of an earlier run that {memory.folder} remembers"
        if drawn.used
        else ""
    )
    return TooFewReportsError(f"{found}: nothing is forwarded{used}{reasons}. Run again with later reports")


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

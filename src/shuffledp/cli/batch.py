"""Collections in files, in this process or on Spark: `shuffledp mix` (shuffler) and `shuffledp count` (analyzer)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shuffledp.cli import options as given
from shuffledp.cli.options import PLACE, RESULT, check_ledger, check_outputs, flag, option
from shuffledp.cli.output import (
    ProgressBar,
    note_written,
    print_json,
    print_note,
    print_sentences,
    quiet_start,
)
from shuffledp.collect.reasons import Reason
from shuffledp.formatting import counted
from shuffledp.jsonable import plain
from shuffledp.validation import whole

if TYPE_CHECKING:
    from shuffledp.collect.batch_files.batches import RefusedBatch
    from shuffledp.collect.batch_files.steps import MixedFiles


TOO_FEW_REPORTS = 5
"""The exit code for: try again later."""

TaskFile = Annotated[Path, option("FILE", "The task.")]
KeyFile = Annotated[Path, option("FILE", "The private key; it determines the position in the chain.")]
EngineName = Annotated[str | None, option("local|spark", "Default: local.", panel=PLACE)]


def mix(
    files: given.Files,
    task: TaskFile,
    key: KeyFile,
    out: Annotated[Path, option("FOLDER", "A new folder for the batches.")],
    before: Annotated[
        list[Path] | None,
        option("FOLDER", "Output of an earlier run: add the reports that it left over."),
    ] = None,
    force: Annotated[
        bool, flag("--force", "Replace the folder of --out; not for the first shuffler.", panel=RESULT)
    ] = False,
    json: given.Json = False,
    engine: EngineName = None,
    master: given.Master = None,
) -> None:
    """Mix files of reports into batches: a shuffler without a server.

    FILE is a Parquet file of reports, a folder or a pattern; for a later
    shuffler of the chain, the batches of the previous one. Batches have
    exactly the number of reports of the task, sampled at random. Give only
    the folder of --out to the next server. Reports left over stay in the
    folder FOLDER.kept beside it.

    The folder KEY.seen beside the key remembers what was mixed, so that no
    person is in two batches: reports of earlier batches are skipped. A
    later shuffler drops messages of another batch, and refuses a batch
    with too few left. Another machine with the same key does not notice.

    Exit codes: 0 done, 1 a library is missing, 2 wrong parameter, 3 data
    cannot be read or written, 5 too few reports for a batch, 130
    interrupted.
    """
    from shuffledp.collect.batch_files.seen import seen_folder
    from shuffledp.collect.batch_files.steps import TooFewReportsError, mix_files
    from shuffledp.collect.crypto.keys import read_key
    from shuffledp.collect.task import read_task

    asked = read_task(task)
    try:
        with ProgressBar() as progress, quiet_start() if engine == "spark" else nullcontext():
            mixed = mix_files(
                files,
                task=asked,
                key=read_key(key),
                seen=seen_folder(key),
                out=out,
                before=before or [],
                engine=engine,
                master=master,
                force=force,
                progress=progress,
            )
    except TooFewReportsError as error:
        print_note(f"shuffledp mix: {error}")
        raise typer.Exit(TOO_FEW_REPORTS) from None
    if mixed.reports is not None and asked.admission != "anybody":
        print_note("note: this task restricts admission: check admission before writing reports to files")
    if json:
        print_json({"task": asked.name, **mixed.to_plain()})
    else:
        print_sentences(_mixed_sentences(mixed, asked.users))
    for note in _refused_notes(mixed.refused, mixed.refused_batches, "not forwarded"):
        print_note(note)
    note_written(out)


def _refused_notes(refused: Mapping[str, int], batches: Sequence[RefusedBatch], how: str) -> Iterator[str]:

    if replayed := refused.get(Reason.REPLAYED):
        yield f"note: dropped {counted(replayed, 'message')} of another batch: nobody may be in two batches"
    if added := refused.get(Reason.OTHER_BYTES) if batches or replayed else 0:
        yield f"note: dropped {counted(added, 'message')} that a batch did not have when it was used before"
    for batch in batches:
        why = {
            Reason.TOO_FEW_MESSAGES: "it has too few messages, so its noise is incomplete",
            Reason.OTHER_BYTES: "it was used before and lacks messages now; give it as it was then",
        }[batch.reason]
        yield f"note: batch {batch.batch_id.hex()} is {how}: {why}"


def _mixed_sentences(mixed: MixedFiles, users: int) -> list[str]:
    batches = counted(len(mixed.batches), "batch", things="batches")
    messages = counted(sum(batch.number for batch in mixed.batches), "message")
    if mixed.reports is None:
        sentences = [f"Mixed {batches} again, with {messages}."]
    else:
        each = counted(users, "person", things="people")
        sentences = [f"Mixed {batches} of {each} each, with {messages}, from {counted(mixed.reports, 'report')}."]
    if mixed.rest:
        sentences.append(
            f"{counted(mixed.rest, 'report')} left for the next batch: run again with later reports and "
            f"--before {mixed.out}."
        )
    if mixed.used:
        sentences.append(f"{counted(mixed.used, 'report')} in a batch of an earlier run: skipped.")
    if mixed.known:
        sentences.append(f"{counted(mixed.known, 'report')} repeated with the same bytes: counted once.")
    if mixed.copies:
        sentences.append(f"{counted(mixed.copies, 'file')} of a batch that was given twice: used once.")
    sentences += [f"Refused, {reason}: {counted(number, 'time')}." for reason, number in sorted(mixed.refused.items())]
    sentences.append(f"For the next server: {mixed.out}, and nothing else.")
    if mixed.kept is not None:
        sentences.append(f"Keep {mixed.kept} private.")
    sentences.append(f"{mixed.seen} remembers what was mixed: keep it with the key until the key is destroyed.")
    return sentences


def count(
    files: given.Files,
    task: TaskFile,
    key: KeyFile,
    out: Annotated[
        list[Path],
        option("FILE", "Write the release to a .html, .csv, .parquet or .json file; may be repeated."),
    ],
    ledger: Annotated[
        Path | None,
        option("FILE", "Enter the task in this ledger of `shuffledp ledger`."),
    ] = None,
    force: given.Force = False,
    json: given.Json = False,
    explain: given.Explain = False,
    top: given.Top = None,
    block: given.Block = None,
    lookup: Annotated[
        list[str] | None,
        option("ANSWER", "Count this answer, shown or not; may be repeated (protocol hashed).", panel=RESULT),
    ] = None,
    engine: EngineName = None,
    master: given.Master = None,
) -> None:
    """Count batches and release a histogram: an analyzer without a server.

    FILE is a batch, a folder of batches or a pattern. All batches give one
    release. Duplicates are counted once, and batches with incomplete noise
    are skipped.

    The folder KEY.seen beside the key remembers the messages of released
    batches. The same batches can be counted again, alone or with others.
    Messages that another batch has are dropped, so that no person counts
    twice and no two releases differ by a few people.

    Exit codes: 0 done, 1 a library is missing, 2 wrong parameter, 3 data
    cannot be read, written or released, 130 interrupted, 141 broken pipe.
    """
    from shuffledp.cli.release_output import publish
    from shuffledp.collect.batch_files.formats import find_tables
    from shuffledp.collect.batch_files.seen import seen_folder
    from shuffledp.collect.batch_files.steps import count_files
    from shuffledp.collect.crypto.keys import read_key
    from shuffledp.collect.task import read_task
    from shuffledp.explain.collected import lookup_lines
    from shuffledp.explain.files import check_writable
    from shuffledp.release.free_text import Blocklist, hide

    whole("top", 1 if top is None else top)
    check_ledger(ledger)
    blocked = None if block is None else Blocklist.read(block)
    inputs = [*find_tables(files), task, key, *([] if ledger is None else [ledger])]
    check_outputs(out, inputs, check=check_writable, force=force)
    with ProgressBar() as progress, quiet_start() if engine == "spark" else nullcontext():
        found = count_files(
            files,
            task=read_task(task),
            key=read_key(key),
            seen=seen_folder(key),
            ledger=ledger,
            engine=engine,
            master=master,
            lookup=lookup or (),
            progress=progress,
        )
    if found.copies:
        print_note(f"skipped {counted(found.copies, 'duplicate')} of batches")
    for note in _refused_notes(found.refused, found.refused_batches, "not released"):
        print_note(note)
    try:
        looked_up = {"looked_up": plain(found.looked_up)} if lookup else {}
        publish(hide(found.release, blocked), out=out, top=top, as_json=json, explain=explain, more=looked_up)
        print_sentences([] if json else lookup_lines(found.looked_up, lookup or ()))
    except BaseException as error:
        if ledger is not None:
            error.add_note("the task is entered in the ledger and counts as spent, once for all its releases")
        raise

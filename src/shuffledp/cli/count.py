"""`shuffledp count`: the analyzer's step over files, in this process or on Spark."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

from shuffledp.cli import options as given
from shuffledp.cli.mix import EngineName, KeyFile, Master, TaskFile
from shuffledp.cli.options import option
from shuffledp.cli.output import print_note
from shuffledp.words import counted

EXAMPLE = r"""
shuffledp count batches --task theme.task.json \
--key analyzer.key --out release.json
""".strip()


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
        option("FILE", "Enter the task in this ledger, made by `shuffledp ledger`, which keeps a limit."),
    ] = None,
    force: given.Force = False,
    json: given.Json = False,
    top: given.Top = 15,
    engine: EngineName = None,
    master: Master = None,
) -> None:
    """Count batches and publish a histogram: an analyzer without a server.

    FILE is a batch, a folder of batches or a pattern. All batches give
    one release; one that is given twice counts once, and one in which
    noise is missing is left out.

    Exit codes: 0 done, 1 a library is missing, 2 a wrong parameter,
    3 data that cannot be read or written or released, 130 interrupted,
    141 whoever read the output went away.
    """
    from shuffledp.checks import whole
    from shuffledp.cli.histogram import publish
    from shuffledp.cli.overwriting import keep_existing, refuse_repeated
    from shuffledp.cli.progress import ProgressBar
    from shuffledp.cli.quiet_start import quiet_start
    from shuffledp.collection.envelope.keys import read_key
    from shuffledp.collection.files.counting import count_files
    from shuffledp.collection.files.tables import find_tables
    from shuffledp.collection.task import read_task
    from shuffledp.report.release_file import check_writable
    from shuffledp.report.whole_file import refuse_same

    whole("top", top)
    inputs = [*find_tables(files), task, key, *([] if ledger is None else [ledger])]
    for path in out:
        check_writable(path)
        refuse_same(path, inputs, "an output")
    refuse_repeated(out)
    keep_existing(out, force=force)
    with ProgressBar() as progress, quiet_start() if engine == "spark" else nullcontext():
        found = count_files(
            files,
            task=read_task(task),
            key=read_key(key),
            ledger=ledger,
            engine=engine,
            master=master,
            progress=progress,
        )
    if found.copies:
        print_note(f"{counted(found.copies, 'file')} of a batch that is there already: counted once")
    if found.refused_batches:
        print_note(
            f"left out: {counted(len(found.refused_batches), 'batch', things='batches')}, since noise is missing"
        )
    try:
        publish(found.release, out=out, top=top, as_json=json)
    except BaseException as error:
        if ledger is not None:
            error.add_note("the task was entered in the ledger before and counts as spent, once for all its releases")
        raise

"""`shuffledp mix`: the shuffler's step over files, in this process or on Spark."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from shuffledp.cli import options as given
from shuffledp.cli.options import PLACE, option
from shuffledp.cli.output import note_written, print_json, print_note, print_sentence

EXAMPLE = r"""
shuffledp mix reports --task theme.task.json \
--key shuffler.key --out batches
""".strip()

TOO_FEW_REPORTS = 5
"""The exit code that says: nothing is wrong, come again later."""

TaskFile = Annotated[Path, option("FILE", "The task.")]
KeyFile = Annotated[Path, option("FILE", "The private key of whoever runs this; it says which hop it is.")]
EngineName = Annotated[str | None, option("local|spark", "local unless given.", panel=PLACE)]
Master = Annotated[
    str | None, option("ADDRESS", "Where Spark runs, such as local[4] or spark://host:7077.", panel=PLACE)
]


def mix(
    files: given.Files,
    task: TaskFile,
    key: KeyFile,
    out: Annotated[Path, option("FOLDER", "A new folder for the batches.")],
    before: Annotated[
        list[Path] | None,
        option("FOLDER", "--out of an earlier run: nobody is mixed twice, and what was left is taken up."),
    ] = None,
    force: given.Force = False,
    json: given.Json = False,
    engine: EngineName = None,
    master: Master = None,
) -> None:
    """Mix files of reports to batches: a shuffler without a server.

    FILE is a Parquet file of reports, a folder of them or a pattern.
    A later shuffler of the chain gives the batches of the one before.
    Batches have exactly as many reports as the task says, chosen by lot.
    Only the folder of --out is for the next hop. Reports that are too
    few for one more batch, and which ones are in one, stay with you in
    the folder FOLDER.kept beside it.

    Exit codes: 0 done, 1 a library is missing, 2 a wrong parameter,
    3 data that cannot be read or written, 5 too few reports for a
    batch, so that nothing was handed on, 130 interrupted.
    """
    from shuffledp.cli.progress import ProgressBar
    from shuffledp.cli.quiet_start import quiet_start
    from shuffledp.collection.envelope.keys import read_key
    from shuffledp.collection.files.mixing import TooFewReportsError, mix_files
    from shuffledp.collection.task import read_task

    asked = read_task(task)
    try:
        with ProgressBar() as progress, quiet_start() if engine == "spark" else nullcontext():
            mixed = mix_files(
                files,
                task=asked,
                key=read_key(key),
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
        print_note("note: this task admits not everybody; whoever wrote the files must have checked who may report")
    if json:
        print_json({"task": asked.name, **mixed.to_plain()})
    else:
        for sentence in mixed.sentences(asked.users):
            print_sentence(sentence)
    note_written(out)

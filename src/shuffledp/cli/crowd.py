"""`shuffledp crowd`: many simulated people answer a task, to try a collection or to load it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shuffledp.cli import options as given
from shuffledp.cli.failures import options_named
from shuffledp.cli.options import option, whole_number
from shuffledp.cli.output import new_table, print_json, print_title, print_whole
from shuffledp.plain import plain
from shuffledp.words import counted

if TYPE_CHECKING:
    from shuffledp.collection import CrowdResult

EXAMPLE = "shuffledp crowd --task theme.task.json --data people.csv --column theme"
_LOAD = "Load"


def crowd(
    task: Annotated[Path, option("FILE", "The task that they answer.")],
    data: Annotated[list[str], option("FILE", "Simulated answers: a file, a folder or a pattern; may be repeated.")],
    column: Annotated[str, option("COLUMN", "The column with the answers; a row is a person.")],
    people: Annotated[
        int | None,
        option(
            "NUMBER",
            "How many people; rows are left out at random, or used again. All rows unless given.",
            parser=whole_number,
        ),
    ] = None,
    admission: Annotated[
        Path | None, option("FILE", "The secret of the task, or a one-time token for each person, one in a line.")
    ] = None,
    rate: Annotated[float | None, option("NUMBER", "At most so many reports in a second.", panel=_LOAD)] = None,
    connections: Annotated[
        int, option("NUMBER", "How many people send at the same time.", panel=_LOAD, parser=whole_number)
    ] = 64,
    processes: Annotated[
        int | None,
        option(
            "NUMBER",
            "Processes that make reports; one for each core unless given.",
            panel=_LOAD,
            parser=whole_number,
        ),
    ] = None,
    patience: Annotated[
        float, option("SECONDS", "For how long somebody who cannot send tries again.", panel=_LOAD)
    ] = 60.0,
    delimiter: given.Delimiter = None,
    encoding: given.Encoding = None,
    format: given.Format = None,
    json: given.Json = False,
) -> None:
    """NOT PRIVATE: many simulated people answer a task.

    Whoever runs this holds everybody's answers: it is for trying a
    collection and for loading its servers, with data that nobody minds.
    Reports are made as by `shuffledp send`, without a journal; who
    cannot send tries again with the same bytes.

    Exit codes: 0 everybody's report was taken; 3 some were refused;
    5 some could not be sent.
    """
    from shuffledp.cli.progress import ProgressBar
    from shuffledp.collection import read_task, send_crowd
    from shuffledp.collection.client.checking import fetch_answers
    from shuffledp.collection.client.simulated import simulated_answers
    from shuffledp.collection.envelope.keys import read_secret
    from shuffledp.engines import find_files

    asked = read_task(task)
    shown = None if admission is None else read_secret(admission).split()
    files = find_files(data, delimiter=delimiter, encoding=encoding, format=format)
    with ProgressBar() as progress, options_named("people", "rate", "connections", "processes", "patience"):
        result = send_crowd(
            asked,
            simulated_answers(files, column=column, people=people, progress=progress),
            listed=fetch_answers(asked, beside=task.parent),
            admission=shown,
            rate=rate,
            connections=connections,
            processes=processes,
            patience=patience,
            progress=progress,
        )
    if json:
        print_json({"task": asked.name, **_figures(result)})
    else:
        _show(result)
    if result.unreachable or result.refused:
        raise typer.Exit(5 if result.unreachable else 3)


def _figures(result: CrowdResult) -> dict[str, Any]:
    return {
        **plain(result),
        "reports_per_second": result.reports_per_second,
        "milliseconds_per_report": result.milliseconds_per_report,
        "bytes_per_report": result.bytes_per_report,
    }


def _show(result: CrowdResult) -> None:
    everybody = counted(result.people, "simulated person", things="simulated people")
    some = "" if result.acknowledged == result.people else f"{result.acknowledged:,} of "
    print_title(f"{some}{everybody} answered")
    table = new_table(show_header=False)
    table.add_column("")
    table.add_column("", justify="right")
    table.add_row("acknowledged", f"{result.acknowledged:,}")
    for reason, number in result.refused.items():
        table.add_row(f"refused: {reason}", f"{number:,}")
    table.add_row("could not be sent", f"{result.unreachable:,}")
    table.add_row("tried again", f"{result.tried_again:,}")
    table.add_row("seconds", f"{result.seconds:,.1f}")
    table.add_row("acknowledged per second", f"{result.reports_per_second:,.0f}")
    table.add_row("ms of a person's machine for a report", f"{result.milliseconds_per_report:,.2f}")
    table.add_row("bytes of a report", f"{result.bytes_per_report:,.0f}")
    print_whole(table)

"""`shuffledp send` answers a task for one person, `shuffledp crowd` for simulated people."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shuffledp.cli import options as given
from shuffledp.cli.options import flag, option, parse_pair, refuse_link, shortened, whole_number
from shuffledp.cli.output import (
    failures_in_json,
    new_table,
    print_json,
    print_note,
    print_sentence,
    print_title,
    print_whole,
)
from shuffledp.errors import ParameterError
from shuffledp.formatting import counted, epsilon_delta
from shuffledp.jsonable import plain

if TYPE_CHECKING:
    from shuffledp.collect import Client, CrowdResult, Receipt
    from shuffledp.collect.client.budget import BudgetUse
    from shuffledp.collect.client.invitation import Invitation
    from shuffledp.collect.task import Task

SEND_EXAMPLE = "shuffledp send --task theme.task.json --value dark"


def send(
    task: Annotated[
        Path | None, option("FILE", "The task; with --invitation it is fetched from the server of the link.")
    ] = None,
    value: Annotated[
        list[str] | None,
        option("ANSWER", "Your answer, or one of your choices; - reads from standard input, hidden from others."),
    ] = None,
    none: Annotated[bool, flag("--none", "Send no answer, which is counted as (none).")] = False,
    at_most: Annotated[
        str | None,
        option("EPSILON,DELTA", "The largest privacy loss to accept; default: 10,0.01."),
    ] = None,
    pin: Annotated[str | None, option("ID", "The expected task id; another task is refused.")] = None,
    admission: Annotated[Path | None, option("FILE", "The secret or one-time token, if the task requires one.")] = None,
    invitation: Annotated[
        Path | None,
        option("FILE", "A file with your invitation link, which has the token; - reads it from standard input."),
    ] = None,
    journal: Annotated[
        Path | None, option("FOLDER", "A private folder that records your reports, so that you answer once.")
    ] = None,
    budget: Annotated[
        str | None,
        option(
            "EPSILON,DELTA", "The limit of all your answers together; default: the one that `shuffledp budget` stored."
        ),
    ] = None,
    by_results: Annotated[
        bool, flag("--by-results", "The limit holds even if noise is chosen after seeing results; less fits.")
    ] = False,
    json: given.Json = False,
) -> None:
    """Answer a task. The answer is randomized and encrypted on this machine.

    FILE may also be a series: then the round that is open now is answered,
    and the guarantee covers all rounds together.
    With --invitation the task is fetched, and must have the id in the link.
    The guarantee is verified first, and a false one is refused.
    A report that could not be sent is stored, and the same command sends the
    same bytes again, whatever the answer is then. An answer that the task
    does not list is counted as (other), and so is a text that is too long
    or cannot be cut into its pieces. Where a task allows several choices,
    repeat --value, or use --value - with one choice per line.

    Exit codes: 0 sent, now or before; 2 wrong option; 3 refused, or a file
    cannot be used (task, journal, admission); 4 less privacy than claimed or
    accepted; 5 the server cannot be reached, or asks to try again later; 6 the
    answer is over your budget, and nothing was sent.
    """
    from shuffledp.collect import Client
    from shuffledp.collect.crypto.keys import read_word
    from shuffledp.explain.answers import note_on
    from shuffledp.explain.ledger import use_line
    from shuffledp.explain.task import protection

    with failures_in_json(json, state="failed"):
        refuse_link(invitation, "--invitation", "a file with the link, or - for standard input")
        refuse_link(admission, "--admission", "a file with the secret or token")
        values = _values(value or [], none=none)
        if invitation is not None and str(invitation) == "-" and values == ["-"]:
            raise ParameterError("--invitation - and --value - cannot both read standard input: use a file for one")
        link = None if invitation is None else _invitation(invitation, admission)
        if task is None and link is None:
            raise ParameterError("give a task with --task, or a link with --invitation")
        given_task = task if task is not None else None if link is None else link.fetch()
        assert given_task is not None
        client = Client(
            given_task,
            at_most=None if at_most is None else parse_pair("at_most", at_most),
            pin=_pin(pin, link),
            journal=journal,
            admission=link.admission if link is not None else None if admission is None else read_word(admission),
            budget=None if budget is None else parse_pair("budget", budget),
            by_results=by_results,
        )
        answer = None if values is None else answer_of(values, client.task)
        if client.journal.read(client.task) is None:
            client.fetch_answers()
            if (note := note_on(client.task, answer)) is not None:
                print_note(note)
        print_note(f"Guarantee, verified here{_together(client)}: {protection(client.promise)}")
        use = client.spending
        if use is not None and use.within:
            print_note(use_line(use))
        receipt = client.send(answer)
    if json:
        print_json({"task": client.task.name, **plain(receipt), "budget": None if use is None else _used(use)})
    else:
        _show_receipt(client, receipt)


def _invitation(file: Path, admission: Path | None) -> Invitation:
    """The link in a file, or in the first line of standard input: on the command line other users could see it."""
    from shuffledp.collect.client.invitation import Invitation
    from shuffledp.collect.crypto.keys import read_secret

    if admission is not None:
        raise ParameterError("give either --admission or --invitation, not both")
    if str(file) == "-":
        return Invitation.read(sys.stdin.readline())
    links = [line for line in read_secret(file).splitlines() if line.strip()]
    if not links:
        raise ParameterError(f"--invitation must be a file with one link, got {file}, which is empty")
    if len(links) > 1:
        raise ParameterError(
            f"--invitation must be a file with one link, got {counted(len(links), 'line')} in {file}: each person gets "
            "one line, for example the first with `head -n 1 FILE | shuffledp send --invitation -`"
        )
    return Invitation.read(links[0])


def _pin(pin: str | None, link: Invitation | None) -> str | None:
    """The id that the task must have: a link names it, too."""
    if pin is not None and link is not None and pin.strip().lower() != link.id:
        raise ParameterError(f"--pin must be the id in the invitation, {link.id}, got {shortened(pin)}")
    return pin if link is None else link.id


def _together(client: Client) -> str:
    """What the guarantee of a series is about, and the round that is answered."""
    if client.series is None or client.task.series is None:
        return ""
    return f", of all {client.series.rounds:,} rounds together (this is round {client.task.series.round})"


def _used(use: BudgetUse) -> dict[str, float]:
    limit = use.limit
    return {
        "before": use.before,
        "after": use.after,
        "left": use.left,
        "limit_epsilon": limit.epsilon,
        "limit_delta": limit.delta,
    }


def _values(given: list[str], *, none: bool) -> list[str] | None:
    """The values of an answer as given; None for no answer."""
    if none and given:
        raise ParameterError("give either --value or --none, not both")
    if not none and not given:
        raise ParameterError("give your answer with --value, or --none")
    if "-" in given and len(given) > 1:
        raise ParameterError("--value - must be the only one: it reads all choices from standard input")
    return None if none else given


def answer_of(values: Sequence[str], task: Task) -> Any:
    """Return the answer that is made of these values; several are for a task with choices only.

    The value - stands for a line of standard input, or for all lines if several choices are possible.
    """
    from shuffledp.collect.task import AnswerChoices

    several = isinstance(task.answers, AnswerChoices)
    if list(values) == ["-"]:
        text = sys.stdin.read() if several else sys.stdin.readline()
        values = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
    if several:
        return list(values)
    if len(values) > 1:
        raise ParameterError(f"--value must be given once: this task counts one answer, got {len(values)}")
    return values[0]


def _show_receipt(client: Client, receipt: Receipt) -> None:
    from shuffledp.explain.task import clock_note

    if receipt.state == "already sent":
        asked = "task" if client.series is None else "round"
        print_sentence(f"You have already answered this {asked}. Nothing was sent, and this answer was not used.")
        return
    whose = "Your earlier report" if receipt.made_before else "Your report"
    print_sentence(f"{whose} was accepted: {receipt.bytes:,} bytes, in {receipt.milliseconds:,.0f} ms.")
    if receipt.clock_ahead is not None:
        print_note(clock_note(receipt.clock_ahead))
    if receipt.made_before:
        print_sentence("The answer that you gave now was not used: a second randomized answer would weaken privacy.")
    promise, asked = client.promise, "task" if client.series is None else "series"
    print_sentence(
        f"Guarantee{_together(client)}: {epsilon_delta(promise.epsilon, promise.delta)}, verified from the parameters "
        f"of the {asked}."
    )


CROWD_EXAMPLE = "shuffledp crowd --task theme.task.json --data people.csv --column theme"
_LOAD = "Load"

Separator = Annotated[
    str, option("MARK", "Between the choices in a cell, if the task allows several.", name="--separator")
]

SEPARATOR = ";"
"""Between the choices in a cell: less common in answers than a comma, and no delimiter of most CSV files."""


def crowd(
    task: Annotated[Path, option("FILE", "The task.")],
    data: Annotated[list[str], option("FILE", "Simulated answers: a file, a folder or a pattern; may be repeated.")],
    column: Annotated[str, option("COLUMN", "The column with the answers; each row is one person.")],
    people: Annotated[
        int | None,
        option(
            "NUMBER",
            "Number of people, sampled from the rows; default: all rows.",
            parser=whole_number,
        ),
    ] = None,
    admission: Annotated[
        Path | None, option("FILE", "The secret of the task, or one-time tokens, one per line.")
    ] = None,
    rate: Annotated[float | None, option("NUMBER", "The most reports per second.", panel=_LOAD)] = None,
    connections: Annotated[
        int, option("NUMBER", "Number of people who send at the same time.", panel=_LOAD, parser=whole_number)
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
        float, option("SECONDS", "How long to retry a report that cannot be sent.", panel=_LOAD)
    ] = 60.0,
    separator: Separator = SEPARATOR,
    delimiter: given.Delimiter = None,
    encoding: given.Encoding = None,
    format: given.Format = None,
    json: given.Json = False,
) -> None:
    """NOT PRIVATE: simulated people answer a task, or the open round of a series.

    This is for tests and load tests with data that is not sensitive: it has
    every answer in one place. Reports are the same as those of
    `shuffledp send`, without a journal, and are retried with the same bytes.
    If the task allows several choices, a cell has all of a person's: tea;milk.

    Exit codes: 0 all reports were accepted; 3 some were refused; 5 some
    could not be sent.
    """
    from shuffledp.cli.progress import ProgressBar
    from shuffledp.collect import send_crowd
    from shuffledp.collect.client.client import checked, fetch_answers, open_task
    from shuffledp.collect.crypto.keys import read_secret
    from shuffledp.collect.simulation.people import simulated_answers
    from shuffledp.collect.task import read_task_or_series
    from shuffledp.data import find_files

    refuse_link(admission, "--admission", "a file with the secret or tokens")
    everything = read_task_or_series(task)
    checked(everything)
    asked = open_task(everything)
    shown = None if admission is None else read_secret(admission).split()
    files = find_files(data, delimiter=delimiter, encoding=encoding, format=format)
    with ProgressBar() as progress:
        answers = simulated_answers(files, column=column, people=people, progress=progress)
        result = send_crowd(
            asked,
            split_choices(answers, asked, separator),
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
        _show_crowd(result)
    if result.unreachable or result.refused:
        raise typer.Exit(5 if result.unreachable else 3)


def _figures(result: CrowdResult) -> dict[str, Any]:
    return {
        **plain(result),
        "reports_per_second": result.reports_per_second,
        "milliseconds_per_report": result.milliseconds_per_report,
        "bytes_per_report": result.bytes_per_report,
    }


def _show_crowd(result: CrowdResult) -> None:
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
    table.add_row("retried", f"{result.tried_again:,}")
    table.add_row("seconds", f"{result.seconds:,.1f}")
    table.add_row("acknowledged per second", f"{result.reports_per_second:,.0f}")
    table.add_row("ms per report, on the client", f"{result.milliseconds_per_report:,.2f}")
    table.add_row("bytes per report", f"{result.bytes_per_report:,.0f}")
    print_whole(table)


def split_choices(answers: list[Any], task: Task, separator: str) -> list[Any]:
    """Return the answers of a column as a task takes them: cells with several choices are split."""
    from shuffledp.collect.task import AnswerChoices

    if not isinstance(task.answers, AnswerChoices):
        return answers
    if not separator:
        raise ParameterError(f"--separator must not be empty, got {shortened(separator)!r}")
    return [
        [part.strip() for part in answer.split(separator)] if isinstance(answer, str) else answer for answer in answers
    ]

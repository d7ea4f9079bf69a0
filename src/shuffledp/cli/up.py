"""Simulated people: `shuffledp up` runs a whole collection for them, `shuffledp crowd` answers a task."""

from __future__ import annotations

import shlex
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shuffledp.cli import options as given
from shuffledp.cli.options import (
    PLACE,
    Without,
    flag,
    integer,
    lines_of,
    option,
    refuse_link,
    seconds_of,
    shortened,
    tasks_from_options,
)
from shuffledp.cli.output import (
    ProgressBar,
    new_table,
    numbers,
    print_json,
    print_note,
    print_sentence,
    print_title,
    print_whole,
)
from shuffledp.cli.releases import show_trend
from shuffledp.cli.task_options import AnswerOptions
from shuffledp.errors import ParameterError
from shuffledp.formatting import counted, epsilon_delta
from shuffledp.jsonable import plain

if TYPE_CHECKING:
    from shuffledp.collect import CrowdResult
    from shuffledp.collect.simulation.one_machine import OneMachine, Outcome
    from shuffledp.collect.task import Task

_ASKED = "Question and people"


def up(
    *,
    people: Annotated[int, integer("Number of simulated people; 0 for none.")] = 2_000,
    users: Annotated[int | None, integer("Reports per batch; default: all people.")] = None,
    once: Annotated[bool, flag("--once", "Stop after the release instead of waiting for Ctrl-C.")] = False,
    question: Annotated[
        str | None, option("WORDS", "Your own question; needs --answers or --free-text.", panel=_ASKED)
    ] = None,
    answers: Annotated[
        str | None,
        option("LIST", "Its answers: tea,coffee,neither; with --free-text what simulated people type.", panel=_ASKED),
    ] = None,
    answers_file: Annotated[
        Path | None,
        option("FILE", "What simulated people type, one text per line; needs --free-text.", panel=_ASKED),
    ] = None,
    answer_options: Annotated[AnswerOptions, Without({"domain", "domain_at", "range_", "answers_from"})],
    texts: given.Texts,
    pace: Annotated[
        str | None,
        option(
            "NUMBER",
            "Simulated people per second after the release; default: a batch in a minute or two.",
            panel=_ASKED,
        ),
    ] = None,
    rounds: Annotated[
        int | None,
        integer("Ask in this number of rounds, and show the trend.", panel=_ASKED),
    ] = None,
    period: Annotated[
        str | None, option("LENGTH", "Length of a round, such as 20s; default: enough for all people.", panel=_ASKED)
    ] = None,
    shufflers: Annotated[int, integer("Number of shufflers in the chain.", panel=PLACE)] = 1,
    port: Annotated[int | None, integer("Port of the analyzer; default: a free one.", panel=PLACE)] = None,
    folder: Annotated[
        Path | None,
        option(
            "FOLDER",
            "An empty folder to keep keys, stores and logs; default: a temporary one.",
            panel=PLACE,
        ),
    ] = None,
    explain: given.Explain = False,
    json: given.Json = False,
) -> None:
    """Run a whole collection on one machine: shufflers, analyzer and simulated people.

    Creates keys and a task, starts the servers on 127.0.0.1, sends reports of
    simulated people, and prints the release. The servers then stay up, so that
    you can answer in a browser and watch the results. Ctrl-C stops everything
    and removes temporary files.

    With --free-text 16 people type their home page, which nobody listed.
    With --rounds 4 the same people are asked four times and change their
    answers; the guarantee holds for all rounds together.
    """
    from shuffledp.collect.simulation.one_machine import OneMachine
    from shuffledp.collect.simulation.people import Question

    per_second = None if pace is None else _per_second(pace)
    if once and not people:
        raise ParameterError("--once needs simulated people: leave out --once, or set --people above 0")
    if rounds is not None and pace is not None:
        raise ParameterError("--pace is for one round: leave out --pace or --rounds")
    if once and pace is not None:
        raise ParameterError("--pace applies after the release, where --once stops: leave out one of them")
    choices = texts.choices()
    with tasks_from_options():
        typed = None if answers_file is None else list(lines_of(answers_file, "the answers "))
        listed = None if answers is None else [each.strip() for each in answers.split(",")]
        answer_options.check_details(listed=answer_options.edges is None and choices is None, needs="--answers")
        machine = OneMachine(
            people=people,
            users=users,
            question=Question.of(
                question,
                listed,
                texts=choices,
                typed=typed,
                numbers=answer_options.intervals(),
                choose_up_to=answer_options.choose_up_to,
            ),
            pace=per_second,
            shufflers=shufflers,
            port=port,
            folder=folder,
            rounds=rounds,
            period=None if period is None else seconds_of(period, name="period"),
            takes_long=lambda: print_note("stopping"),
        )
    with machine:
        print_note(f"Results will be at {machine.results}")
        if rounds is not None:
            print_note(f"Answer while a round is open: {machine.page}")
            _note_command(machine)
            _show_rounds(machine, explain=explain, as_json=json)
            if not once:
                _stay_up(machine)
            return
        outcome = None
        with ProgressBar() as progress:
            if people:
                outcome = machine.run(progress)
            else:
                machine.wait_for_servers(progress)
        if outcome is not None:
            _show_machine(machine, outcome, explain=explain, as_json=json)
        elif json:
            print_json(
                {
                    "task": machine.task.name,
                    "page": machine.page,
                    "results": machine.results,
                    "operator": machine.operator,
                }
            )
        if not once:
            _invite(machine, outcome)
            with suppress(KeyboardInterrupt):
                machine.watch()


def _show_rounds(machine: OneMachine, *, explain: bool, as_json: bool) -> None:
    from shuffledp.cli.release_output import publish
    from shuffledp.explain.task_series import how_often
    from shuffledp.release.trend import Trend

    series = machine.series
    assert series is not None
    print_note(
        f"{series.rounds} rounds, {how_often(series.period)}. All rounds together: "
        f"{epsilon_delta(series.total.epsilon, series.total.delta)}; one round: "
        f"{epsilon_delta(series.guarantee.epsilon, series.guarantee.delta)}."
    )
    outcomes: list[Outcome] = []
    with ProgressBar() as progress:
        for outcome in machine.run_rounds(progress):
            outcomes.append(outcome)
            if not as_json:
                print_title(f"Round {len(outcomes)} of {series.rounds}")
                publish(outcome.release, explain=explain)
    trend = Trend.of([outcome.release for outcome in outcomes], rounds=series.rounds)
    if as_json:
        each = [_plain(machine, outcome) for outcome in outcomes]
        for number, one in enumerate(each, 1):
            one["task"] = series.task(number).name
        print_json({"series": series.name, "rounds": each, "trend": trend.to_dict()})
        return
    show_trend(trend, top=None, explain=explain, since=None)


def _stay_up(machine: OneMachine) -> None:
    _note_pages(machine)
    print_note("All rounds are over. Ctrl-C stops everything.")
    with suppress(KeyboardInterrupt):
        machine.watch()


def _per_second(text: str) -> float:
    """Parse a number of people; its range is checked by the library."""
    try:
        return float(text)
    except ValueError:
        raise ParameterError(f"pace must be a number of people per second, got {shortened(text)}") from None


def _invite(machine: OneMachine, outcome: Outcome | None) -> None:
    from shuffledp.explain.task import warnings_of

    waiting = 0 if outcome is None else outcome.waiting
    print_note(f"Answer in a browser:  {machine.page}")
    _note_pages(machine)
    _note_command(machine)
    coming = f", and about {machine.pace:.2g} simulated people arrive per second" if machine.pace else ""
    needed = counted(machine.users - waiting, "more report")
    print_note(f"The next batch needs {needed}{coming}. Ctrl-C stops everything.")
    for warning in warnings_of(machine.task) if outcome is None else ():  # a release has its own
        print_note(f"Warning: {warning}.")


def _note_pages(machine: OneMachine) -> None:
    print_note(f"Results:              {machine.results}")
    print_note(
        f"Operator's console:   {machine.operator} (token: {shlex.quote(str(machine.operator_token.resolve()))})"
    )


def _show_machine(machine: OneMachine, outcome: Outcome, *, explain: bool, as_json: bool) -> None:
    from shuffledp.cli.release_output import publish

    if as_json:
        print_json(_plain(machine, outcome))
        return
    publish(outcome.release, explain=explain)
    reported = counted(outcome.people_in_release, "person", things="people")
    batches = counted(outcome.batches, "batch", things="batches")
    waiting = f" {outcome.waiting:,} wait for the next batch of {machine.users:,}." if outcome.waiting else ""
    print_sentence("")
    print_sentence(
        f"{outcome.acknowledged:,} of {outcome.people:,} simulated people reported; the release counts {reported} in "
        f"{batches}, {outcome.seconds:.1f} seconds after the first report.{waiting}"
    )
    if explain:
        print_sentence("The servers only saw encrypted messages with noise.")


def _plain(machine: OneMachine, outcome: Outcome) -> dict[str, Any]:
    import json

    release = json.loads(outcome.release.to_json())
    return {
        "task": machine.task.name,
        "people": outcome.people,
        "acknowledged": outcome.acknowledged,
        "people_in_release": outcome.people_in_release,
        "batches": outcome.batches,
        "waiting": outcome.waiting,
        "refused": dict(outcome.refused),
        "guarantee": release["guarantee"],
        "estimate": release["histogram"],
        "warnings": release["warnings"],
        "seconds": outcome.seconds,
    }


def _note_command(machine: OneMachine) -> None:
    command = [
        "shuffledp",
        "send",
        "--task",
        str(machine.task_file.resolve()),
        "--value",
        str(machine.question.example),
    ]
    print_note(f"Answer in a terminal: {shlex.join(command)}")


_LOAD = "Load"

_SEPARATOR = ";"
"""Between the choices in a cell: less common in answers than a comma, and no delimiter of most CSV files."""


def crowd(
    task: Annotated[Path, option("FILE", "The task.")],
    data: Annotated[list[str], option("FILE", "Simulated answers: a file, a folder or a pattern; may be repeated.")],
    column: Annotated[str, option("COLUMN", "The column with the answers; each row is one person.")],
    *,
    people: Annotated[
        int | None,
        integer("Number of people, sampled from the rows; default: all rows."),
    ] = None,
    admission: Annotated[
        Path | None, option("FILE", "The secret of the task, or one-time tokens, one per line.")
    ] = None,
    rate: Annotated[float | None, option("NUMBER", "The most reports per second.", panel=_LOAD)] = None,
    connections: Annotated[int, integer("Number of people who send at the same time.", panel=_LOAD)] = 64,
    processes: Annotated[
        int | None,
        integer("Processes that make reports; one for each core unless given.", panel=_LOAD),
    ] = None,
    patience: Annotated[
        float, option("SECONDS", "How long to retry a report that cannot be sent.", panel=_LOAD)
    ] = 60.0,
    separator: Annotated[
        str, option("MARK", "Between the choices in a cell, if the task allows several.")
    ] = _SEPARATOR,
    reading: given.FileFormat,
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
    files = find_files(data, **vars(reading))
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
        rates = ("reports_per_second", "milliseconds_per_report", "bytes_per_report")
        print_json({"task": asked.name, **plain(result), **{name: getattr(result, name) for name in rates}})
    else:
        _show_crowd(result)
    if result.unreachable or result.refused:
        raise typer.Exit(5 if result.unreachable else 3)


def _show_crowd(result: CrowdResult) -> None:
    everybody = counted(result.people, "simulated person", things="simulated people")
    some = "" if result.acknowledged == result.people else f"{result.acknowledged:,} of "
    print_title(f"{some}{everybody} answered")
    table = new_table("", *numbers(""), show_header=False)
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

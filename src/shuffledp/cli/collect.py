"""`shuffledp send`: one person's answer to a task, randomized and sealed on their machine and sent once.

`shuffledp crowd`: many simulated people answer a task, to try a collection or to load it.

`shuffledp up`: a whole collection on one machine, with simulated people.
"""

from __future__ import annotations

import shlex
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shuffledp.cli import options as given
from shuffledp.cli.help import failures_in_json, options_named, tasks_from_options
from shuffledp.cli.options import PLACE, flag, option, parse_pair, shortened, whole_number
from shuffledp.cli.output import new_table, print_json, print_note, print_sentence, print_title, print_whole
from shuffledp.errors import ParameterError
from shuffledp.formatting import counted
from shuffledp.jsonable import plain

if TYPE_CHECKING:
    from shuffledp.collect import Client, CrowdResult, Receipt
    from shuffledp.collect.simulation.one_machine import OneMachine, Outcome


SEND_EXAMPLE = "shuffledp send --task theme.task.json --value dark"


def send(
    task: Annotated[Path, option("FILE", "The task: what is asked, with which noise, and who collects it.")],
    value: Annotated[
        str | None,
        option("ANSWER", "Your answer; - reads it from standard input, where no list of processes shows it."),
    ] = None,
    none: Annotated[bool, flag("--none", "You have no answer, which is counted as such.")] = False,
    at_most: Annotated[
        str | None,
        option("EPSILON,DELTA", "The privacy loss that you allow, 10,0.01 unless given; a task with more is refused."),
    ] = None,
    pin: Annotated[str | None, option("ID", "The id of the task that you were told of; another is refused.")] = None,
    admission: Annotated[
        Path | None, option("FILE", "The secret, or the one-time token, of a task that asks for one.")
    ] = None,
    journal: Annotated[
        Path | None, option("FOLDER", "Where your reports are noted, so that you answer once; a folder of yours alone.")
    ] = None,
    json: given.Json = False,
) -> None:
    """Answer a task: randomized and sealed on this machine, sent once.

    What the task promises is computed from its parameters first,
    and a task that gives less than it says is refused.
    A report that could not be sent is kept: the same command sends
    the same bytes again, whatever the answer then. An answer that the
    task does not list is counted as (other).

    Exit codes: 0 sent, also if it was before; 2 a wrong option;
    3 refused, for good or until something is put right (another token),
    or a file cannot be used: the task, which may not be the pinned one,
    the journal, the admission; 4 the task promises too little;
    5 the server cannot be reached, or asks to try again later.
    """
    from shuffledp.collect import Client
    from shuffledp.collect.crypto.keys import read_word
    from shuffledp.explain.task import what_it_means

    with failures_in_json(json, state="failed"):
        answer = _answer(value, none=none)
        client = Client(
            task,
            at_most=None if at_most is None else parse_pair("--at-most", at_most),
            pin=pin,
            journal=journal,
            admission=None if admission is None else read_word(admission),
        )
        if client.journal.read(client.task) is None and client.counts_as_other(answer):
            print_note("Your answer is not in the list of the task, letter by letter, and counts as (other).")
        print_note(f"What the task promises, as computed here: {what_it_means(client.promise)}.")
        receipt = client.send(answer)
    if json:
        print_json({"task": client.task.name, **plain(receipt)})
    else:
        _show_receipt(client, receipt)


def _answer(value: str | None, *, none: bool) -> str | None:
    if none and value is not None:
        raise ParameterError("both --value and --none were given: give your answer with --value, or --none")
    if not none and value is None:
        raise ParameterError("give your answer with --value, or --none if you have none")
    if value != "-":
        return value
    return sys.stdin.readline().removesuffix("\n").removesuffix("\r")


def _show_receipt(client: Client, receipt: Receipt) -> None:
    if receipt.state == "already sent":
        print_sentence("You have answered this task before: nothing was sent, and this answer was not used.")
        return
    whose = "The report that you made before" if receipt.made_before else "Your report"
    print_sentence(f"{whose} was taken: {receipt.bytes:,} bytes, in {receipt.milliseconds:,.0f} ms.")
    if receipt.made_before:
        print_sentence("The answer that you gave now was not used: a second draw would tell more about you.")
    promise = client.promise
    print_sentence(
        f"It is protected with epsilon {promise.epsilon:g} and delta {promise.delta:g}, as computed here from the task."
    )


CROWD_EXAMPLE = "shuffledp crowd --task theme.task.json --data people.csv --column theme"
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
    from shuffledp.collect import read_task, send_crowd
    from shuffledp.collect.client.client import fetch_answers
    from shuffledp.collect.crypto.keys import read_secret
    from shuffledp.collect.simulation.people import simulated_answers
    from shuffledp.data import find_files

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
    table.add_row("tried again", f"{result.tried_again:,}")
    table.add_row("seconds", f"{result.seconds:,.1f}")
    table.add_row("acknowledged per second", f"{result.reports_per_second:,.0f}")
    table.add_row("ms of a person's machine for a report", f"{result.milliseconds_per_report:,.2f}")
    table.add_row("bytes of a report", f"{result.bytes_per_report:,.0f}")
    print_whole(table)


UP_EXAMPLE = "shuffledp up --people 2000 --once"
_ASKED = "What is asked, and of whom"


def up(
    people: Annotated[
        int, option("NUMBER", "How many simulated people report; 0 for none but visitors.", parser=whole_number)
    ] = 2_000,
    users: Annotated[
        int | None, option("NUMBER", "How many reports make a batch; all people unless given.", parser=whole_number)
    ] = None,
    once: Annotated[bool, flag("--once", "End after the release instead of waiting for Ctrl-C.")] = False,
    question: Annotated[str | None, option("WORDS", "A question of your own; needs --answers.", panel=_ASKED)] = None,
    answers: Annotated[
        str | None, option("LIST", "Its answers, with commas: tea,coffee,neither.", panel=_ASKED)
    ] = None,
    pace: Annotated[
        str | None,
        option(
            "NUMBER",
            "Simulated people per second after the release; a batch in a minute or two unless given, 0 for none.",
            panel=_ASKED,
        ),
    ] = None,
    shufflers: Annotated[
        int, option("NUMBER", "How many shufflers mix, one after another.", panel=PLACE, parser=whole_number)
    ] = 1,
    port: Annotated[
        int | None, option("NUMBER", "The analyzer's port; a free one unless given.", panel=PLACE, parser=whole_number)
    ] = None,
    folder: Annotated[
        Path | None,
        option(
            "FOLDER",
            "An empty folder for keys, stores and logs, which stay; a temporary one unless given.",
            panel=PLACE,
        ),
    ] = None,
    json: given.Json = False,
) -> None:
    """A whole collection on one machine: shuffler, analyzer and simulated people.

    Makes keys and a task, starts the servers on 127.0.0.1,
    lets people report, and shows what is published.
    Then it says where you can answer in a browser yourself, and
    where to look on, while more simulated people come.
    Ctrl-C ends all of it and leaves nothing behind.
    """
    from shuffledp.cli.progress import ProgressBar
    from shuffledp.collect.simulation.one_machine import OneMachine
    from shuffledp.collect.simulation.people import Question

    per_second = None if pace is None else _per_second(pace)
    if once and not people:
        raise ParameterError("--once ends after the release, and without simulated people (--people 0) there is none")
    if once and pace is not None:
        raise ParameterError("--pace is of people who come after the release, where --once ends: leave out one of them")
    with tasks_from_options():
        machine = OneMachine(
            people=people,
            users=users,
            question=Question.of(question, None if answers is None else [each.strip() for each in answers.split(",")]),
            pace=per_second,
            shufflers=shufflers,
            port=port,
            folder=folder,
            takes_long=lambda: print_note("ending"),
        )
    with machine:
        print_note(f"results will be at {machine.results}")
        outcome = None
        with ProgressBar() as progress:
            if people:
                outcome = machine.run(progress)
            else:
                machine.wait_for_servers(progress)
        if outcome is not None:
            _show_machine(machine, outcome, as_json=json)
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


def _per_second(text: str) -> float:
    """A number of people; its range is checked where it is used."""
    try:
        return float(text)
    except ValueError:
        raise ParameterError(f"--pace must be a number of people per second, got {shortened(text)}") from None


def _invite(machine: OneMachine, outcome: Outcome | None) -> None:
    """How anybody else can answer and look on, while there are servers."""
    waiting = 0 if outcome is None else outcome.waiting
    more, another = ("more answer", "another") if outcome else ("answer", "a")
    missing = counted(machine.users - waiting, more)
    print_note(f"the servers are still running; {missing} would make {another} batch. To answer from another terminal:")
    print_note(f"shuffledp send --task {quoted(machine.task_file.resolve())} --value {quoted(machine.an_answer)}")
    print_note(f"To answer in a browser:  {machine.page}")
    print_note(f"Results as they come:    {machine.results}")
    print_note(f"What goes on behind it:  {machine.operator}")
    print_note(f"for which you sign in with the token in {quoted(machine.operator_token.resolve())}")
    for warning in machine.warnings:
        print_note(f"Warning: {warning}")
    if machine.pace:
        print_note(f"Simulated people keep coming, about {machine.pace:.2g} a second")
    print_note("Ctrl-C ends all of it")


def quoted(word: object) -> str:
    """As a shell takes it for one word."""
    return shlex.quote(str(word))


def _show_machine(machine: OneMachine, outcome: Outcome, *, as_json: bool) -> None:
    from shuffledp.cli.release_output import publish

    if as_json:
        print_json(_plain(machine, outcome))
        return
    publish(outcome.release, out=[], top=15, as_json=False)
    print_sentence("")
    print_sentence(
        f"{outcome.acknowledged:,} of {outcome.people:,} simulated people reported. This release counts "
        f"{outcome.people_in_release:,} of them, in {counted(outcome.batches, 'batch', things='batches')}, "
        f"{outcome.seconds:.1f} seconds after the first report.{_who_waits(machine, outcome)}"
    )
    print_sentence(
        "Their answers were made up here and are deleted; the servers never held them, only sealed messages with noise."
    )


def _who_waits(machine: OneMachine, outcome: Outcome) -> str:
    if not outcome.waiting:
        return ""
    wait = "waits" if outcome.waiting == 1 else "wait"
    return f" {outcome.waiting:,} {wait} until there are {machine.users:,} for one more batch."


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

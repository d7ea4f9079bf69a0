"""`shuffledp up`: a whole collection on one machine, with simulated people."""

from __future__ import annotations

import shlex
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from shuffledp.cli import options as given
from shuffledp.cli.failures import tasks_from_options
from shuffledp.cli.options import PLACE, flag, option, shortened, whole_number
from shuffledp.cli.output import print_json, print_note, print_sentence
from shuffledp.errors import ParameterError
from shuffledp.words import counted

if TYPE_CHECKING:
    from shuffledp.collection.one_machine.machine import OneMachine, Outcome

EXAMPLE = "shuffledp up --people 2000 --once"
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
    from shuffledp.collection.one_machine.machine import OneMachine
    from shuffledp.collection.one_machine.question import Question

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
            _show(machine, outcome, as_json=json)
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


def _show(machine: OneMachine, outcome: Outcome, *, as_json: bool) -> None:
    from shuffledp.cli.histogram import publish

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

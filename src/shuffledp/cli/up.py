"""`shuffledp up`: a whole collection on one machine, with simulated people."""

from __future__ import annotations

import shlex
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from shuffledp.cli import options as given
from shuffledp.cli.options import PLACE, flag, option, whole_number
from shuffledp.cli.output import print_json, print_note, print_sentence
from shuffledp.words import counted

if TYPE_CHECKING:
    from shuffledp.collection.one_machine.machine import OneMachine, Outcome

EXAMPLE = "shuffledp up --people 2000 --once"


def up(
    people: Annotated[int, option("NUMBER", "How many simulated people report.", parser=whole_number)] = 2_000,
    users: Annotated[
        int | None, option("NUMBER", "How many reports make a batch; all people unless given.", parser=whole_number)
    ] = None,
    once: Annotated[bool, flag("--once", "End after the release instead of waiting for Ctrl-C.")] = False,
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
    Ctrl-C ends all of it and leaves nothing behind.
    """
    from shuffledp.cli.progress import ProgressBar
    from shuffledp.collection.one_machine.machine import OneMachine

    with OneMachine(people=people, users=users, shufflers=shufflers, port=port, folder=folder) as machine:
        print_note(f"results will be at {machine.address}/releases/latest")
        with ProgressBar() as progress:
            outcome = machine.run(progress)
        _show(machine, outcome, as_json=json)
        if not once:
            _invite(machine, outcome)
            with suppress(KeyboardInterrupt):
                machine.watch()


def _invite(machine: OneMachine, outcome: Outcome) -> None:
    """How anybody else can answer, while there are servers."""
    answer = machine.an_answer
    missing = counted(machine.users - outcome.waiting, "more answer")
    print_note(f"the servers are still running; {missing} would make another batch. To answer from another terminal:")
    print_note(f"shuffledp send --task {shlex.quote(str(machine.task_file.resolve()))} --value {answer}")
    print_note("Ctrl-C ends all of it")


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

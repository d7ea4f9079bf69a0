"""`shuffledp send`: one person's answer to a task, randomized and sealed on their machine and sent once."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from shuffledp.cli import options as given
from shuffledp.cli.failures import failures_in_json
from shuffledp.cli.options import flag, option, parse_pair
from shuffledp.cli.output import print_json, print_note, print_sentence
from shuffledp.errors import ParameterError
from shuffledp.plain import plain

if TYPE_CHECKING:
    from shuffledp.collection import Client, Receipt

EXAMPLE = "shuffledp send --task theme.task.json --value dark"


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
    from shuffledp.collection import Client
    from shuffledp.collection.envelope.keys import read_word
    from shuffledp.collection.task.words import what_it_means

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
        _show(client, receipt)


def _answer(value: str | None, *, none: bool) -> str | None:
    if none and value is not None:
        raise ParameterError("both --value and --none were given: give your answer with --value, or --none")
    if not none and value is None:
        raise ParameterError("give your answer with --value, or --none if you have none")
    if value != "-":
        return value
    return sys.stdin.readline().removesuffix("\n").removesuffix("\r")


def _show(client: Client, receipt: Receipt) -> None:
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

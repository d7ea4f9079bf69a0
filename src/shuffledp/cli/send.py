"""A person and their answers: `shuffledp send` answers a task, `shuffledp budget` shows what the answers have used."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.table import Column

from shuffledp.cli import options as given
from shuffledp.cli.options import flag, option, parse_pair, refuse_link, shortened
from shuffledp.cli.output import (
    failures_in_json,
    new_table,
    note_written,
    print_json,
    print_note,
    print_sentence,
    print_sentences,
    print_title,
    print_whole,
)
from shuffledp.errors import DataError, ParameterError
from shuffledp.formatting import counted, epsilon_delta
from shuffledp.jsonable import plain

if TYPE_CHECKING:
    from shuffledp.collect import Client, Receipt
    from shuffledp.collect.client.budget import BudgetUse, History
    from shuffledp.collect.client.journal import Journal
    from shuffledp.collect.client.transport import Invitation
    from shuffledp.collect.task import Task


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
            at_most=parse_pair("at_most", at_most),
            pin=_pin(pin, link),
            journal=journal,
            admission=link.admission if link is not None else None if admission is None else read_word(admission),
            budget=parse_pair("budget", budget),
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
    from shuffledp.collect.client.transport import Invitation
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


def budget(
    limit: Annotated[
        str | None, option("EPSILON,DELTA", "Store the limit of all your answers together, for every later client.")
    ] = None,
    by_results: Annotated[
        bool,
        flag(
            "--by-results",
            "Store a limit that holds even if noise is chosen after seeing results; less fits. Needs --limit.",
        ),
    ] = False,
    task: Annotated[
        list[Path] | None,
        option(
            "FILE", "A task or series that you answered with an older version: adds its parameters; may be repeated."
        ),
    ] = None,
    journal: Annotated[Path | None, option("FOLDER", "The folder that records your reports.")] = None,
    json: given.Json = False,
) -> None:
    """Show what your own answers have used of your privacy budget.

    The journal of `shuffledp send` records the privacy of every answer. With
    a limit, an answer that would exceed it is refused before it is made.
    Every report counts, sent or not, and so does an answer that was begun
    and not finished. Only answers with this journal are known.

    Exit codes: 0 shown; 2 wrong option; 3 a file cannot be used.
    """
    from shuffledp.collect.client.budget import history, new_limit
    from shuffledp.collect.client.journal import Journal
    from shuffledp.collect.task import Series, read_task_or_series

    opened, limits = Journal(journal), parse_pair("limit", limit)
    if limits is None:
        if by_results:
            raise ParameterError("--by-results needs --limit: it is stored with the limit")
        if journal is not None and not journal.is_dir():
            raise DataError(f"there is no journal {journal}: give the folder of shuffledp send --journal")
    else:
        opened.store_limit(new_limit(limits, by_results=by_results))
        note_written(opened.folder / "budget.json")
    for file in task or []:
        asked = read_task_or_series(file)
        added = opened.describe_rounds(asked) if isinstance(asked, Series) else opened.describe(asked)
        print_note(f"{file}: {'its parameters were added' if added else 'its parameters were known'}")
    found = history(opened)
    if json:
        print_json(_history_as_json(opened, found))
    else:
        _show_history(found)


def _history_as_json(journal: Journal, found: History) -> dict[str, Any]:
    import msgspec

    limit = found.limit
    return {
        "journal": str(journal.folder),
        "limit": None
        if limit is None
        else {"epsilon": limit.epsilon, "delta": limit.delta, "by_results": limit.by_results},
        "total": {
            "answers": len(found.spent),
            "epsilon": found.epsilon,
            "delta": found.delta,
            "delta_against_limit": found.reached,
            "over_limit": found.over,
            "known": found.described,
        },
        "left": {"epsilon": found.fits, "delta": found.fits_delta, "values_per_person": 1},
        "answers": [
            {"task": one.task, "state": one.state, "spending": plain(msgspec.to_builtins(one.spending))}
            for one in found.spent
        ],
    }


def _show_history(found: History) -> None:
    from shuffledp.explain.ledger import row, total_lines

    first, *others = total_lines(found)
    print_title(first)
    print_sentences(others)
    if not found.described:
        print_sentence("Add the missing parameters with --task FILE, from the files of the tasks that you answered.")
    if not found.spent:
        return
    table = new_table(
        Column("day", no_wrap=True),
        Column("question", overflow="fold"),
        Column("epsilon, delta", no_wrap=True),
        "round, as the task says",
        "state",
    )
    for one in found.spent:
        table.add_row(*row(one))
    print_whole(table)

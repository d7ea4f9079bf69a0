"""`shuffledp budget`: what a person's own answers have used of their limit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from shuffledp.cli import options as given
from shuffledp.cli.options import flag, option, parse_pair
from shuffledp.cli.output import (
    new_table,
    note_written,
    print_json,
    print_note,
    print_sentence,
    print_title,
    print_whole,
)
from shuffledp.errors import DataError, ParameterError
from shuffledp.jsonable import plain

if TYPE_CHECKING:
    from shuffledp.collect.client.budget import History
    from shuffledp.collect.client.journal import Journal

EXAMPLE = "shuffledp budget --limit 3,1e-5"


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

    opened = Journal(journal)
    if limit is None:
        if by_results:
            raise ParameterError("--by-results needs --limit: it is stored with the limit")
        if journal is not None and not journal.is_dir():
            raise DataError(f"there is no journal {journal}: give the folder of shuffledp send --journal")
    else:
        opened.store_limit(new_limit(parse_pair("limit", limit), by_results=by_results))
        note_written(opened.folder / "budget.json")
    for file in task or []:
        asked = read_task_or_series(file)
        added = opened.describe_rounds(asked) if isinstance(asked, Series) else opened.describe(asked)
        print_note(f"{file}: {'its parameters were added' if added else 'its parameters were known'}")
    found = history(opened)
    if json:
        print_json(_as_json(opened, found))
    else:
        _show(found)


def _as_json(journal: Journal, found: History) -> dict[str, Any]:
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


def _show(found: History) -> None:
    from shuffledp.explain.ledger import row, total_lines

    first, *others = total_lines(found)
    print_title(first)
    for line in others:
        print_sentence(line)
    if not found.described:
        print_sentence("Add the missing parameters with --task FILE, from the files of the tasks that you answered.")
    if not found.spent:
        return
    table = new_table()
    table.add_column("day", no_wrap=True)
    table.add_column("question", overflow="fold")
    table.add_column("epsilon, delta", no_wrap=True)
    table.add_column("round, as the task says")
    table.add_column("state")
    for one in found.spent:
        table.add_row(*row(one))
    print_whole(table)

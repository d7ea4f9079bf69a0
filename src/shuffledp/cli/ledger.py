"""`shuffledp ledger`: create a privacy budget, show what is spent and what is left."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shuffledp.cli import options as given
from shuffledp.cli.options import check_ledger, flag, option, parse_pair
from shuffledp.cli.output import (
    new_table,
    note_written,
    print_indented,
    print_json,
    print_paragraphs,
    print_sentence,
    print_title,
    print_whole,
)
from shuffledp.errors import ParameterError
from shuffledp.formatting import readable, share_at_most, shown
from shuffledp.jsonable import plain

if TYPE_CHECKING:
    from shuffledp.ledger import Standing

EXAMPLE = "shuffledp ledger customers.ledger --limit 3,1e-5"
_NEW, _SPENT = "A new ledger", "Spent elsewhere"


def ledger(
    file: Annotated[Path, typer.Argument(metavar="FILE", show_default=False, hidden=True)],
    limit: Annotated[
        str | None,
        option(
            "EPSILON,DELTA",
            "Limit of all releases together; creates the file, and cannot be changed.",
            panel=_NEW,
        ),
    ] = None,
    population: Annotated[
        str | None, option("WORDS", "The people whose data is released; default: the name of the file.", panel=_NEW)
    ] = None,
    by_results: Annotated[
        bool,
        flag(
            "--by-results",
            "The limit holds even if epsilons are chosen after seeing results; about a fifth less fits.",
            panel=_NEW,
        ),
    ] = False,
    spent_elsewhere: Annotated[
        str | None, option("EPSILON,DELTA", "Enter a release of another program.", panel=_SPENT)
    ] = None,
    what: Annotated[str | None, option("WORDS", "A description of that release.", panel=_SPENT)] = None,
    figure: given.Figure = None,
    force: given.Force = False,
    explain: given.Explain = False,
    json: given.Json = False,
) -> None:
    """Create or show a privacy budget: its limit, what is spent, and what is left.

    FILE is a ledger; --limit creates it. `shuffledp run --ledger FILE` enters every release before its noise is
    sampled. Use one ledger per population: the people whose data is released.
    """
    from shuffledp.accounting.bounds import check_guarantee
    from shuffledp.atomic_file import refuse_same
    from shuffledp.cli.options import keep_existing
    from shuffledp.explain.figures import check_figure
    from shuffledp.explain.plots import draw_budget
    from shuffledp.ledger import Ledger

    if figure is not None:
        check_figure(figure)
        refuse_same(figure, [file], "a figure")
        keep_existing([figure], force=force)
    if (spent_elsewhere is None) != (what is None):
        raise ParameterError("--spent-elsewhere and --what must be given together")
    spent = None if spent_elsewhere is None else parse_pair("--spent-elsewhere", spent_elsewhere)
    if spent is not None:  # before a file is created
        check_guarantee(*spent)
    if limit is not None:
        epsilon, delta = parse_pair("--limit", limit)
        if file.exists():
            raise ParameterError(
                f"{file} already exists, and its limit cannot be changed: leave out --limit to show it, or use another "
                "name for a new ledger"
            )
        population = file.stem if population is None else population
        opened = Ledger.create(file, epsilon=epsilon, delta=delta, population=population, by_results=by_results)
        note_written(file)
    else:
        if population is not None or by_results:
            raise ParameterError("--population and --by-results need --limit: they are set when a ledger is created")
        check_ledger(file)
        opened = Ledger(file)
    if spent is not None and what is not None:
        opened.spend_elsewhere(epsilon=spent[0], delta=spent[1], what=what)
    standing = opened.standing
    if json:
        print_json(_as_json(standing))
    else:
        _show(standing, explain=explain)
    if figure is not None:
        draw_budget(standing, figure)
        note_written(figure)


def _as_json(standing: Standing) -> dict[str, Any]:
    import json

    budget = standing.budget
    return {
        "population": budget.population,
        "limit": {"epsilon": budget.epsilon, "delta": budget.delta, "by_results": budget.by_results},
        "total": {
            "releases": len(standing.entries),
            "epsilon": standing.epsilon,
            "delta": standing.delta,
            "delta_against_limit": standing.reached,
            "over_limit": standing.over,
            "sum_of_epsilons": standing.sum_of_epsilons,
            "sum_of_deltas": standing.sum_of_deltas,
        },
        "left": {
            "epsilon": standing.left_epsilon,
            "epsilon_of_hist": standing.left_epsilon_of_hist,
            "delta": standing.left_delta,
        },
        "entries": [
            {**plain(entry), "parameters": None if entry.parameters is None else json.loads(entry.parameters)}
            for entry in standing.entries
        ],
    }


def _show(standing: Standing, *, explain: bool) -> None:
    """Print the total and what is left, then the history."""
    from shuffledp.explain.ledger import details, summary

    first, *others = summary(standing)
    print_title(first)
    for line in others:
        print_sentence(line)
    if standing.entries:
        _history(standing)
    if explain:
        print_paragraphs(details(standing))
    else:
        print_sentence("Details: --explain")


def _history(standing: Standing) -> None:
    table = new_table()
    table.add_column("", justify="right")
    for name, side in (("day", "left"), ("what", "left"), ("protocol", "left")):
        table.add_column(name, justify=side, overflow="fold")  # type: ignore[arg-type]
    for name in ("epsilon", "delta", "people", "published"):
        table.add_column(name, justify="right", no_wrap=True)
    for entry in standing.entries:
        table.add_row(
            str(entry.number),
            entry.day.isoformat(),
            shown(entry.what),
            entry.protocol,
            share_at_most(entry.epsilon, digits=4),
            share_at_most(entry.delta, digits=4),
            "" if entry.people is None else readable(entry.people),
            "yes" if entry.published else "no",
        )
    print_whole(table)
    if not all(entry.published for entry in standing.entries):
        print_indented("published no: the release was stopped, and counts as spent")

"""`shuffledp ledger`: a budget of privacy, what was spent of it and what is left."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shuffledp.cli import options as given
from shuffledp.cli.options import flag, option, parse_pair
from shuffledp.cli.output import (
    new_table,
    note_written,
    print_indented,
    print_json,
    print_sentence,
    print_title,
    print_whole,
)
from shuffledp.errors import ParameterError
from shuffledp.formatting import counted, readable, share_at_most, shown
from shuffledp.jsonable import plain

if TYPE_CHECKING:
    from shuffledp.ledger import Standing

EXAMPLE = "shuffledp ledger customers.ledger --limit 3,1e-5"
_NEW, _SPENT = "A new ledger", "Spent elsewhere"


def ledger(
    file: Annotated[Path, typer.Argument(metavar="FILE", show_default=False, hidden=True)],
    limit: Annotated[
        str | None,
        option("EPSILON,DELTA", "What all releases together may reach; makes the file, which keeps it.", panel=_NEW),
    ] = None,
    population: Annotated[
        str | None, option("WORDS", "Whose data it is; the name of the file unless given.", panel=_NEW)
    ] = None,
    by_results: Annotated[
        bool,
        flag(
            "--by-results",
            "The limit holds even if how much to spend is decided after seeing results; a fifth less fits.",
            panel=_NEW,
        ),
    ] = False,
    spent_elsewhere: Annotated[
        str | None, option("EPSILON,DELTA", "Enter a release that another program makes.", panel=_SPENT)
    ] = None,
    what: Annotated[str | None, option("WORDS", "What that release is.", panel=_SPENT)] = None,
    figure: given.Figure = None,
    force: given.Force = False,
    json: given.Json = False,
) -> None:
    """A budget of privacy: its limit, what was spent of it, and what is left.

    FILE is a ledger, in which `shuffledp run --ledger FILE` enters every release before its noise is drawn.
    With --limit it is made. One ledger is for one population: the people whose data is released.
    """
    from shuffledp.accounting.closed_form_curves import check_guarantee
    from shuffledp.atomic_file import refuse_same
    from shuffledp.cli.options import keep_existing
    from shuffledp.explain.plots import check_figure, draw_budget
    from shuffledp.ledger import Ledger

    if figure is not None:
        check_figure(figure)
        refuse_same(figure, [file], "a figure")
        keep_existing([figure], force=force)
    if (spent_elsewhere is None) != (what is None):
        raise ParameterError("--spent-elsewhere and --what belong together: how much, and for what")
    spent = None if spent_elsewhere is None else parse_pair("--spent-elsewhere", spent_elsewhere)
    if spent is not None:  # before a file is made
        check_guarantee(*spent, name="{} of --spent-elsewhere")
    if limit is not None:
        epsilon, delta = parse_pair("--limit", limit)
        if file.exists():
            raise ParameterError(
                f"{file} exists already, and the limit of a ledger cannot be changed: leave out --limit to see it, or "
                "give another name for a ledger of other people"
            )
        population = file.stem if population is None else population
        opened = Ledger.create(file, epsilon=epsilon, delta=delta, population=population, by_results=by_results)
        note_written(file)
    else:
        if population is not None or by_results:
            raise ParameterError("--population and --by-results are said once, when a ledger is made with --limit")
        opened = Ledger(file)
    if spent is not None and what is not None:
        opened.spend_elsewhere(epsilon=spent[0], delta=spent[1], what=what)
    standing = opened.standing
    if json:
        print_json(_as_json(standing))
    else:
        _show(standing)
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


def _show(standing: Standing) -> None:
    budget = standing.budget
    print_title(
        f"{shown(budget.population, width=80)}: all releases together at most epsilon {budget.epsilon:g}, "
        f"delta {budget.delta:g}"
    )
    if not standing.entries:
        print_sentence("Nothing was released yet.")
    else:
        _history(standing)
    for line in _total(standing):
        print_sentence(line)


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
        print_indented("published no: it was stopped before a result was there, and counts all the same")


def _total(standing: Standing) -> list[str]:
    """What all releases come to beside the limit, the naive figure, and what is left."""
    budget, lines = standing.budget, []
    if standing.entries:
        number = counted(len(standing.entries), "release")
        lines += [
            f"Together {number}: epsilon {share_at_most(standing.epsilon, digits=3)} at the limit's delta, delta "
            f"{share_at_most(standing.delta, digits=3)} at the limit's epsilon. The sum of the epsilons would be "
            f"{share_at_most(standing.sum_of_epsilons, digits=3)}, of the deltas "
            f"{share_at_most(standing.sum_of_deltas, digits=3)}."
        ]
    if budget.by_results:
        lines += [
            f"Whatever was decided after seeing results: delta at most {share_at_most(standing.reached, digits=3)} at "
            "the limit's epsilon, which is what counts here."
        ]
    if standing.over:
        lines += ["More is spent than the limit allows."]
    return [*lines, f"Left: {standing.left_in_words}."]

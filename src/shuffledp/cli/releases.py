"""Releases that were made: `ledger` shows what they spent, `lookup` some values, `trend` changes over time."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.table import Column

from shuffledp.atomic_file import refuse_same
from shuffledp.cli import options as given
from shuffledp.cli.options import (
    RESULT,
    argument,
    check_ledger,
    check_outputs,
    flag,
    integer,
    keep_existing,
    lines_of,
    option,
    parse_pair,
)
from shuffledp.cli.output import (
    new_table,
    note_written,
    numbers,
    print_details,
    print_indented,
    print_json,
    print_sentence,
    print_sentences,
    print_title,
    print_whole,
)
from shuffledp.errors import ParameterError
from shuffledp.explain.figures import check_figure
from shuffledp.formatting import counted, readable, share_at_most, shown
from shuffledp.jsonable import plain

if TYPE_CHECKING:
    from shuffledp.histogram.estimate import Estimate
    from shuffledp.ledger import Standing
    from shuffledp.release.trend import Trend

_NEW, _SPENT = "A new ledger", "Spent elsewhere"


def ledger(
    file: given.File,
    limit: Annotated[
        str | None,
        option(
            "EPSILON,DELTA",
            "Limit of all releases together; creates the file, and cannot be changed.",
            panel=_NEW,
        ),
    ] = None,
    population: Annotated[
        str | None,
        option("WORDS", "The people whose data is released; default: the name of the file.", panel=_NEW),
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
    from shuffledp.explain.plots import draw_budget
    from shuffledp.ledger import Ledger

    if figure is not None:
        check_figure(figure)
        refuse_same(figure, [file], "a figure")
        keep_existing([figure], force=force)
    if (spent_elsewhere is None) != (what is None):
        raise ParameterError("--spent-elsewhere and --what must be given together")
    spent = parse_pair("--spent-elsewhere", spent_elsewhere)
    if spent is not None:  # before a file is created
        check_guarantee(*spent)
    if (limits := parse_pair("--limit", limit)) is not None:
        if file.exists():
            raise ParameterError(
                f"{file} already exists, and its limit cannot be changed: leave out --limit to show it, or use another "
                "name for a new ledger"
            )
        population = file.stem if population is None else population
        epsilon, delta = limits
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
        print_json(_standing_as_json(standing))
    else:
        _show_standing(standing, explain=explain)
    if figure is not None:
        draw_budget(standing, figure)
        note_written(figure)


def _standing_as_json(standing: Standing) -> dict[str, Any]:
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


def _show_standing(standing: Standing, *, explain: bool) -> None:
    from shuffledp.explain.ledger import details, summary

    first, *others = summary(standing)
    print_title(first)
    print_sentences(others)
    if standing.entries:
        _history(standing)
    print_details(lambda: details(standing), explain=explain)


def _history(standing: Standing) -> None:
    table = new_table(
        *numbers(""),
        *(Column(name, overflow="fold") for name in ("day", "what", "protocol")),
        *numbers("epsilon", "delta", "people", "published", no_wrap=True),
    )
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


def lookup(
    release: Annotated[Path, argument("RELEASE")],
    values: Annotated[list[str] | None, argument("VALUE")] = None,
    values_file: Annotated[Path | None, option("FILE", "More values to look up, one per line.")] = None,
    beta: Annotated[
        float | None, option("NUMBER", "Failure probability of intervals; default: of the release.")
    ] = None,
    top: Annotated[
        int | None, option("NUMBER", "Number of the largest values to show; default: all.", panel=RESULT)
    ] = None,
    json: given.Json = False,
    explain: given.Explain = False,
) -> None:
    """The counts of some values of a saved release, with narrower intervals.

    RELEASE is a .json or .parquet file of `run --protocol hashed`.
    The intervals hold for all VALUEs at once, instead of all possible values.
    Choose the values without looking at their estimates.
    A value of several columns is written as in CSV: dark,phone.
    Nothing is spent: this uses the published result only.

    Exit codes: 0 done, 2 a wrong parameter, 3 a file that cannot be read
    or a value that is not possible.
    """
    from shuffledp.release.release import Release

    found = Release.from_json(release)
    asked: Iterable[Any] = chain(values or [], [] if values_file is None else lines_of(values_file))
    if found.estimate.domain is not None and found.estimate.domain.factors:  # several columns
        asked = (tuple(row) for row in csv.reader(asked, skipinitialspace=True))
    estimate = found.lookup(asked, beta=beta)
    if json:
        print(estimate.to_json())
    else:
        _show_estimate(estimate, column=found.column, top=top, explain=explain)


def _show_estimate(estimate: Estimate, *, column: str, top: int | None, explain: bool) -> None:
    from shuffledp.explain.release import estimate_paragraphs

    number = len(estimate) if top is None else top
    people = counted(estimate.people, "person", things="people")
    print_title(f"{shown(column)} of {people}: {counted(len(estimate), 'value')} looked up")
    print_sentences(estimate.to_text(number, column=shown(column, width=24)).splitlines())
    print_details(lambda: estimate_paragraphs(estimate), explain=explain)


def trend(
    releases: Annotated[list[Path], argument("RELEASE")],
    rounds: Annotated[
        int | None,
        integer("Planned number of releases, which share the confidence; default: those given."),
    ] = None,
    beta: Annotated[float, option("NUMBER", "Failure probability of all intervals together.")] = 0.05,
    since: Annotated[int | None, option("NUMBER", "Compare with this round; default: the first.")] = None,
    top: Annotated[int | None, option("NUMBER", "Number of values to show; default: 15.", panel=RESULT)] = None,
    out: Annotated[
        list[Path] | None, option("FILE", "Write a .html, .csv or .json file; can be repeated.", panel=RESULT)
    ] = None,
    force: given.Force = False,
    json: given.Json = False,
    csv: Annotated[bool, flag("--csv", "Print CSV instead of a table.", panel=RESULT)] = False,
    explain: given.Explain = False,
) -> None:
    """Compare saved releases of one question over time: what changed, and what may be noise.

    RELEASEs are .json or .parquet files of `run --out`, in the order of time.
    All intervals and all changes hold at once. Give --rounds from the start
    if more releases are planned: earlier intervals then stay the same.
    Nothing is spent: this uses the published results only.

    Exit codes: 0 done, 2 a wrong parameter, 3 files that cannot be read
    or compared.
    """
    from shuffledp.explain.files import check_writable
    from shuffledp.explain.trend_page import FORMATS, save
    from shuffledp.release.trend import Trend

    if json and csv:
        raise ParameterError("--json and --csv must not be given together")
    check_outputs(out or [], releases, check=lambda path: check_writable(path, FORMATS), force=force)
    found = Trend.of(releases, rounds=rounds, beta=beta)
    if since is not None:
        found.differences(since=since)  # refuses a number without a release
    for path in out or []:  # first, since a reader of the output may close it early
        save(found, path)
        note_written(path)
    if json:
        print(found.to_json())
    elif csv:
        print(found.to_csv(), end="")
    else:
        show_trend(found, top=top, explain=explain, since=since)


def show_trend(found: Trend, *, top: int | None, explain: bool, since: int | None) -> None:
    """Print the answer, then the table."""
    from shuffledp.explain.trend import (
        MOST_ROWS,
        MOST_SENTENCES,
        cautions,
        confidence_sentence,
        headline,
        sentences,
        table_rows,
    )
    from shuffledp.explain.trend import details as paragraphs

    print_title(headline(found, since=since))
    print_sentences(sentences(found, MOST_SENTENCES, since=since))
    print_sentence(confidence_sentence(found))
    print_sentences(cautions(found))
    names, rows = table_rows(found, MOST_ROWS if top is None else top, since=since)
    table = new_table(Column(names[0], overflow="fold"), *numbers(*names[1:], overflow="fold"))
    for row in rows:
        table.add_row(*row)
    print_whole(table)
    if len(found.rounds) > 1:
        print_indented("? no evidence of a change: the interval of the difference contains 0")
    print_details(lambda: paragraphs(found), explain=explain)

"""`shuffledp compare`: every protocol of the comparison table, measured side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from shuffledp.cli import options as given
from shuffledp.cli.options import RESULT, option, parse_wholes, whole_number
from shuffledp.cli.output import (
    least_width,
    new_table,
    note_written,
    print_indented,
    print_json,
    print_sentence,
    print_title,
    print_whole,
    width,
)
from shuffledp.errors import ParameterError
from shuffledp.words import counted

if TYPE_CHECKING:
    from rich.table import Table

    from shuffledp.jobs.compare import Measurement
    from shuffledp.pipeline.tally import Tally

EXAMPLE = "shuffledp compare --users 20000 --bins 1000 --epsilon 1 --delta 1e-6"
_MADE_UP = ("zipf", "uniform", "adversarial")


def compare(
    bins: Annotated[str, option("NUMBERS", "How many values are possible; several with commas: 100,1000,1e6,2^64.")],
    epsilon: given.Epsilon,
    delta: given.Delta,
    users: Annotated[str | None, option("NUMBERS", "How many people take part; several with commas.")] = None,
    trials: Annotated[
        int, option("NUMBER", "How many releases of each protocol to measure.", parser=whole_number)
    ] = 20,
    data: Annotated[str, option("NAME|FILE", "zipf, uniform, adversarial, or a file (with --column).")] = "zipf",
    column: Annotated[str | None, option("COLUMN", "The column of the file whose values are counted.")] = None,
    delimiter: given.Delimiter = None,
    encoding: given.Encoding = None,
    format: given.Format = None,
    protocols: Annotated[
        str | None, option("NAMES", "Only these, with commas; `shuffledp protocols` lists all.")
    ] = None,
    seed: given.Seed = 0,
    beta: given.Beta = 0.05,
    figure: given.Figure = None,
    markdown: Annotated[
        Path | None, option("FILE", "Write the tables to a file, for a document.", panel=RESULT)
    ] = None,
    json: given.Json = False,
) -> None:
    """NOT PRIVATE: the measured error and cost of every protocol, on equal terms.

    The protocols of the local, the shuffled and the central model are run on the
    same people and values, for the same guarantee of the whole release.
    """
    from shuffledp.cli.progress import ProgressBar
    from shuffledp.jobs.compare import compare as measured
    from shuffledp.report.comparison import draw_comparison
    from shuffledp.report.comparison_table import markdown_page
    from shuffledp.report.drawing import check_figure
    from shuffledp.report.whole_file import check_folder, write_whole

    for path, check in ((figure, check_figure), (markdown, check_folder)):
        if path is not None:
            check(path)
    people = [] if users is None else parse_wholes(users, name="users")
    question: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "beta": beta, "trials": trials}
    with ProgressBar() as progress:
        if data in _MADE_UP:
            if not people:
                raise ParameterError("--users must say how many people there are, such as 20000 or 1e6")
            chosen: str | Tally = data
        else:
            chosen = _counted(data, column, delimiter=delimiter, encoding=encoding, format=format)
            if people not in ([], [chosen.total]):
                raise ParameterError(f"the file has {chosen.total:,} people: leave --users out")
            people = [chosen.total]
        results = measured(
            users=people,
            bins=parse_wholes(bins, name="bins"),
            data=chosen,
            protocols=None if protocols is None else [name.strip() for name in protocols.split(",")],
            seed=seed,
            progress=progress,
            **question,
        )
    if json:
        print_json(results)
    else:
        _show(results, data=data, **question)
    if markdown is not None:
        write_whole(markdown, markdown_page(results, data=data, **question).encode())
        note_written(markdown)
    if figure is not None:
        draw_comparison(results, figure, epsilon=epsilon, delta=delta)
        note_written(figure)


def _counted(name: str, column: str | None, **how: str | None) -> Tally:
    """The true counts of a column of a file."""
    from shuffledp.engines import find_files
    from shuffledp.engines.people import People

    if column is None:
        raise ParameterError(f"--data must be {', '.join(_MADE_UP)}, or the name of a file together with --column")
    files = find_files([name], **how)
    with People(files, column=column, user=None, drop_missing=False, domain=None, other=False) as people:
        people.number(count=True)
        return people.numbered()


def _show(results: list[Measurement], *, epsilon: float, delta: float, beta: float, trials: int, data: str) -> None:
    """One table for every number of people and bins."""
    from shuffledp.report.comparison_table import CELLS, by_case, legend

    for (users, bins), rows in by_case(results).items():
        people, values = counted(users, "person", things="people"), counted(bins, "possible value")
        print_title(f"{people}, {values}, epsilon {epsilon:g}, delta {delta:g}")
        measured = [row for row in rows if not row.problem]
        left_out = _left_out(measured)
        if measured:
            print_whole(_table(measured, [name for name in CELLS if name not in left_out]))
            for line in legend(beta=beta, trials=trials, data=data):
                print_indented(line)
        if left_out:
            print_indented(f"no room for: {', '.join(left_out)}; a wider window or --json shows them")
        for row in rows:
            if row.problem:
                print_sentence(f"{row.title}: {row.problem}.")
        print_sentence("")
    print_sentence("Not private: this compares with the true counts.")


def _left_out(rows: list[Measurement]) -> tuple[str, ...]:
    """The least important columns, until the others fit."""
    from shuffledp.report.comparison_table import CELLS

    for number in range(len(_DISPENSABLE)):
        kept = [name for name in CELLS if name not in _DISPENSABLE[:number]]
        if least_width(_table(rows, kept)) <= width():
            return _DISPENSABLE[:number]
    return _DISPENSABLE


def _table(rows: list[Measurement], columns: Sequence[str]) -> Table:
    from shuffledp.report.comparison_table import CELLS

    table = new_table()
    for name in columns:
        if name == "protocol":
            table.add_column(name, min_width=_TITLE_WIDTH)
        else:
            table.add_column(name, justify="left" if name == "model" else "right", no_wrap=True)
    for row in rows:
        table.add_row(*(CELLS[name](row) for name in columns))
    return table


_TITLE_WIDTH = 22  # narrower titles would be broken into single words
_DISPENSABLE = ("seconds", "bits", "model", "messages")

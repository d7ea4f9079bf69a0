"""`shuffledp trend`: several saved releases of one question over time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shuffledp.cli import options as given
from shuffledp.cli.options import RESULT, flag, keep_existing, option, refuse_repeated, whole_number
from shuffledp.cli.output import (
    new_table,
    note_written,
    print_indented,
    print_paragraphs,
    print_sentence,
    print_title,
    print_whole,
)
from shuffledp.errors import ParameterError

if TYPE_CHECKING:
    from shuffledp.release.trend import Trend

EXAMPLE = "shuffledp trend january.json february.json march.json --rounds 12"


def trend(
    releases: Annotated[list[Path], typer.Argument(metavar="RELEASE", show_default=False, hidden=True)],
    rounds: Annotated[
        int | None,
        option(
            "NUMBER",
            "Planned number of releases, which share the confidence; default: those given.",
            parser=whole_number,
        ),
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
    from shuffledp.atomic_file import refuse_same
    from shuffledp.explain.files import check_writable
    from shuffledp.explain.trend_page import FORMATS, save
    from shuffledp.release.trend import Trend

    if json and csv:
        raise ParameterError("--json and --csv must not be given together")
    paths = list(out or ())
    refuse_repeated(paths)
    for path in paths:
        refuse_same(path, releases, "an output")
    for path in paths:
        check_writable(path, FORMATS)
    keep_existing(paths, force=force)
    found = Trend.of(releases, rounds=rounds, beta=beta)
    if since is not None:
        found.differences(since=since)  # refuses a number without a release
    for path in paths:  # first, since a reader of the output may close it early
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
    for line in sentences(found, MOST_SENTENCES, since=since):
        print_sentence(line)
    print_sentence(confidence_sentence(found))
    for line in cautions(found):
        print_sentence(line)
    names, rows = table_rows(found, MOST_ROWS if top is None else top, since=since)
    table = new_table()
    for at, name in enumerate(names):
        table.add_column(name, justify="left" if at == 0 else "right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    print_whole(table)
    if len(found.rounds) > 1:
        print_indented("? no evidence of a change: the interval of the difference contains 0")
    if explain:
        print_paragraphs(paragraphs(found))
    else:
        print_sentence("Details: --explain")

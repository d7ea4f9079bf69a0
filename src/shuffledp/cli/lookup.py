"""`shuffledp lookup`: some values of a saved release, with narrower intervals."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shuffledp.cli import options as given
from shuffledp.cli.options import RESULT, lines_of, option
from shuffledp.cli.output import print_paragraphs, print_sentence, print_title

if TYPE_CHECKING:
    from shuffledp.histogram.estimate import Estimate

EXAMPLE = "shuffledp lookup release.json dark light"


def lookup(
    release: Annotated[Path, typer.Argument(metavar="RELEASE", show_default=False, hidden=True)],
    values: Annotated[list[str] | None, typer.Argument(metavar="VALUE", show_default=False, hidden=True)] = None,
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
    several = bool(found.estimate.domain is not None and found.estimate.domain.factors)
    texts = chain(values or [], [] if values_file is None else lines_of(values_file))
    estimate = found.lookup(_parsed(texts) if several else texts, beta=beta)
    if json:
        print(estimate.to_json())
    else:
        _show(estimate, column=found.column, top=top, explain=explain)


def _parsed(texts: Iterable[str]) -> Iterator[tuple[Any, ...]]:
    """Values of several columns."""
    return (tuple(row) for row in csv.reader(texts, skipinitialspace=True))


def _show(estimate: Estimate, *, column: str, top: int | None, explain: bool) -> None:
    from shuffledp.explain.release import estimate_paragraphs
    from shuffledp.formatting import counted, shown

    number = len(estimate) if top is None else top
    people = counted(estimate.people, "person", things="people")
    print_title(f"{shown(column)} of {people}: {counted(len(estimate), 'value')} looked up")
    for line in estimate.to_text(number, column=shown(column, width=24)).splitlines():
        print_sentence(line)
    if explain:
        print_paragraphs(estimate_paragraphs(estimate))
    else:
        print_sentence("Details: --explain")

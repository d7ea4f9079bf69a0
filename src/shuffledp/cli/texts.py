"""Free text of local data on the command line: `run --free-text` and `simulate --free-text`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from rich.text import Text

from shuffledp.cli.output import new_table, print_json, print_paragraphs, print_sentence, print_title, print_whole
from shuffledp.errors import ParameterError
from shuffledp.explain.bars import people
from shuffledp.explain.plan import SIMULATION_EXPLAINED, text_simulation_headline, text_simulation_sentences
from shuffledp.formatting import confidence, shown
from shuffledp.jsonable import plain
from shuffledp.progress import Progress
from shuffledp.protocols.text_codes import TextChoices
from shuffledp.release.free_text import TextSimulation, private_texts, simulate_texts
from shuffledp.release.release import Release

_SHOWN = 15

_LISTED_VALUES = ("domain", "edges", "by", "start", "stop", "date_format", "other", "where", "count_capped")
_RESULTS = ("estimator", "consistent", "quantiles", "ranges")


def check_options(options: Mapping[str, Any]) -> None:
    """Refuse options of `run` or `simulate` that are not for free text; one that was left out is None or False."""
    wrong = {name: options.get(name) for name in (*_LISTED_VALUES, *_RESULTS)}
    wrong["values_per_person"] = options["values_per_person"] > 1
    wrong["trust"] = options["trust"] != "shuffler"
    wrong["protocol"] = options["protocol"] not in (None, "hashed")
    for name, value in wrong.items():
        if value:
            raise ParameterError(f"{name} must be left out with --free-text")


def run_texts(data: Any, *, texts: TextChoices, column: list[str], progress: Progress, **options: Any) -> Release:
    """Make a release of texts."""
    return private_texts(
        data, texts=texts, column=_one(column), processes=os.cpu_count() or 1, progress=progress, **options
    )


def simulated_texts(
    data: Any, *, texts: TextChoices, column: list[str], progress: Progress, **options: Any
) -> TextSimulation:
    """Simulate releases of texts."""
    return simulate_texts(
        data, texts=texts, column=_one(column), processes=os.cpu_count() or 1, progress=progress, **options
    )


def _one(column: list[str]) -> str:
    if len(column) > 1:
        raise ParameterError("column must be given once with --free-text")
    return column[0]


def show_texts(found: TextSimulation, *, top: int | None, as_json: bool, explain: bool) -> None:
    """Print a simulation: the texts of the last release, then recall, precision and cost."""
    if as_json:
        more = {"recall": found.recall, "precision": found.precision, "covered": found.covered}
        print_json({**plain(found), **more})
        return
    print_title(text_simulation_headline(found))
    table = new_table(caption="texts of the last release", caption_justify="left")
    table.add_column("text", overflow="fold")
    for name in ("true", "estimate", f"{confidence(found.beta)} interval"):
        table.add_column(name, justify="right")
    for row in found.rows[: _SHOWN if top is None else top]:
        table.add_row(Text(shown(row.text)), f"{row.true:,}", people(row.estimate), f"{row.low:,} to {row.high:,}")
    print_whole(table)
    for text in text_simulation_sentences(found):
        print_sentence(text)
    if explain:
        print_paragraphs(SIMULATION_EXPLAINED)
    else:
        print_sentence("Details: --explain")

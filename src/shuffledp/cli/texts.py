"""Free text of local data on the command line: `run --free-text` and `simulate --free-text`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from rich.text import Text

from shuffledp.cli.output import new_table, print_json, print_paragraphs, print_sentence, print_title, print_whole
from shuffledp.errors import ParameterError
from shuffledp.explain.bars import people
from shuffledp.explain.free_text import text_simulation_headline, text_simulation_sentences
from shuffledp.formatting import confidence, shown
from shuffledp.jsonable import plain
from shuffledp.progress import Progress
from shuffledp.protocols.text_codes import TextChoices
from shuffledp.release.free_text import TextSimulation, private_texts, simulate_texts
from shuffledp.release.release import Release

_SHOWN = 15

EXPLAINED = {
    "Simulation": "Every release makes all messages of the same texts with new noise from the seed, and searches them.",
    "Detection limit": (
        "The fewest people of a text that is shown with the stated probability. It holds for the longest texts. "
        "Shorter ones are counted on several levels and are usually found from fewer people on."
    ),
    "Not private": "The result depends on the true texts without noise. Use it for data you own; do not publish it.",
}
"""The paragraphs of `simulate --free-text --explain`."""


def check_options(options: Mapping[str, Any]) -> None:
    """Refuse options that are not for free text; an option that was left out is None or False."""
    for name, value in options.items():
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
        print_paragraphs(EXPLAINED)
    else:
        print_sentence("Details: --explain")

"""The paper's comparison table with measured errors; takes about ten minutes.

Writes docs/reference/table1.md, both figures of docs/explanation/comparison.md, and the short table between the markers
<!-- table1 --> and <!-- /table1 --> of README.md and docs. The measurements of the figures are stored in
experiments/data, so that `make table1-figures` can redraw them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from experiments import table1_figures
from experiments.documents import ROOT, marked_documents, rewrite
from experiments.table1_figures import GUARANTEE, data_file, keep
from shuffledp.atomic_file import write_whole
from shuffledp.cli.output import ProgressBar
from shuffledp.explain.research import markdown_page
from shuffledp.protocols import CATALOGUE
from shuffledp.release.compare import Measurement, compare

PEOPLE = 100_000
SHORT_BINS = (100, 1_000, 10_000)
TABLE_BINS = (*SHORT_BINS, 10**6)
FIGURE_BINS = (10, 100, 1_000, 10_000, 10**5, 10**6, 10**9, 2**64, 2**200)
FIGURE_PEOPLE = (1_000, 10_000, 10**5, 10**6)
BINS_AGAINST_PEOPLE = 1_000
BETA, DATA = 0.05, "zipf"

SHORT_ROWS = (
    "dummy",
    "sparse",
    "hist",
    "hashed",
    "private-coin",
    "blanket",
    "blanket-published",
    "shuffled-response",
    "unary",
    "laplace",
    "stability",
)
"""Rows of the short table, as names of the catalogue."""


def main(
    root: Path = ROOT,
    *,
    people: int = PEOPLE,
    table_bins: Sequence[int] = TABLE_BINS,
    table_trials: int = 10,
    figure_bins: Sequence[int] = FIGURE_BINS,
    figure_people: Sequence[int] = FIGURE_PEOPLE,
    figure_trials: int = 3,
    protocols: Sequence[str] | None = None,
    short_bins: Sequence[int] = SHORT_BINS,
) -> None:
    """Measure the protocols and write all files."""
    documents = marked_documents("table1", root)  # fail before the measurement if there is none
    table = _measured([people], table_bins, trials=table_trials, protocols=protocols)
    page = markdown_page(table, beta=BETA, trials=table_trials, data=DATA, **GUARANTEE)
    _write(root / "docs" / "reference" / "table1.md", page)
    for document in documents:
        rewrite(document, "table1", short_table(table, bins=short_bins))
        print(f"wrote the short table in {document}", file=sys.stderr)
    measured = {
        "error-against-values": ([people], figure_bins),
        "error-against-people": (figure_people, [BINS_AGAINST_PEOPLE]),
    }
    for name, (users, bins) in measured.items():
        keep(_measured(users, bins, trials=figure_trials, protocols=protocols), data_file(name, root))
    table1_figures.main(root)


def short_table(results: Iterable[Measurement], *, bins: Sequence[int] = SHORT_BINS) -> str:
    """Return a Markdown table of the largest error of each protocol, with its messages per person in brackets.

    Protocols that were not measured are left out.
    """
    measured = {(result.name, result.bins): result for result in results}
    lines = [
        "| model | protocol | " + " | ".join(f"d = {number:,}" for number in bins) + " | shows values nobody holds |",
        "|---" * (len(bins) + 3) + "|",
    ]
    for name in SHORT_ROWS:
        cells = [measured[name, number] for number in bins if (name, number) in measured]
        if len(cells) == len(bins):
            entry = CATALOGUE[name]
            row = [entry.model, entry.title, *map(_cell, cells), "yes" if entry.false_positives else "never"]
            lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines)


def _cell(result: Measurement) -> str:
    if result.problem:
        return "not possible"
    if result.model == "central":  # no messages to a shuffler
        return f"{result.mean:,.0f}"
    sent = f"{result.messages:.3g}" if result.messages < 100 else f"{result.messages:,.0f}"
    return f"{result.mean:,.0f} ({sent})"


def _measured(
    users: Sequence[int], bins: Sequence[int], *, trials: int, protocols: Sequence[str] | None
) -> list[Measurement]:
    question: dict[str, Any] = {"trials": trials, "protocols": protocols, "data": DATA, "beta": BETA, **GUARANTEE}
    with ProgressBar() as progress:
        return compare(users=users, bins=bins, progress=progress, **question)


def _write(path: Path, text: str) -> None:
    write_whole(path, text.encode())
    print(f"wrote {path}", file=sys.stderr)


if __name__ == "__main__":
    main()

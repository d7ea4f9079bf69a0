"""The paper's Table 2 with measured numbers of people, in about twenty minutes.

Writes docs/reference/table2.md and its figure.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.documents import ROOT
from shuffledp.applications.separation import separate
from shuffledp.cli.progress import ProgressBar
from shuffledp.report.separation import draw_separation
from shuffledp.report.separation_table import markdown_section
from shuffledp.report.whole_file import write_whole

DELTA, SEED = 1e-6, 2020  # the seed is the year of the paper
RUNS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("pointer-chasing", {"epsilon": 1, "sizes": (10, 100, 1000, 10_000)}),
    ("pointer-jumping", {"epsilon": 1, "sizes": (2, 4, 6, 8)}),
    ("support", {"epsilon": 1, "sizes": (2, 4, 8, 16)}),
    ("bernoulli", {"epsilon": 1, "sizes": (0.1, 0.03, 0.01)}),
    ("bernoulli", {"epsilon": 0.1, "sizes": (0.1, 0.03, 0.01)}),
)
DRAWN = 2
"""The figure shows the first runs: the two problems by which the paper separates the models."""

_HEAD = """# Table 2, measured

How many people each model needs, for delta 1e-6 and a success of at least 99/100.
[Applications](../explanation/applications.md) says what the rows are and how to read them. `make table2` writes this
page and its figure.

![People needed against the size of the problem](../figures/table2.png)
"""


def main(folder: Path = ROOT / "docs", *, runs: Sequence[tuple[str, dict[str, Any]]] = RUNS) -> None:
    """Writes reference/table2.md and figures/table2.png."""
    results = []
    for problem, question in runs:
        with ProgressBar() as progress:
            results.append(separate(problem, delta=DELTA, seed=SEED, progress=progress, **question))
        print(f"{problem}, epsilon {question['epsilon']:g}: done", file=sys.stderr)
    page, figure = folder / "reference" / "table2.md", folder / "figures" / "table2.png"
    write_whole(page, (_HEAD + "".join(map(markdown_section, results))).encode())
    draw_separation(results[:DRAWN], figure)
    print(f"wrote {page} and {figure}", file=sys.stderr)


if __name__ == "__main__":
    main()

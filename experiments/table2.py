"""The paper's Table 2 with measured numbers of people; takes about twenty minutes.

Writes docs/reference/table2.md, its measurements in experiments/data/table2.json, and its figure, which
`make table2-figure` redraws from the measurements.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments import table2_figure
from experiments.documents import ROOT
from shuffledp.atomic_file import write_whole
from shuffledp.cli.output import ProgressBar
from shuffledp.explain.research import markdown_section
from shuffledp.paper.separation import separate

DELTA, SEED = 1e-6, 2020  # the seed is the year of the paper
RUNS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("pointer-chasing", {"epsilon": 1, "sizes": (10, 100, 1000, 10_000)}),
    ("pointer-jumping", {"epsilon": 1, "sizes": (2, 4, 6, 8)}),
    ("support", {"epsilon": 1, "sizes": (2, 4, 8, 16)}),
    ("bernoulli", {"epsilon": 1, "sizes": (0.1, 0.03, 0.01)}),
    ("bernoulli", {"epsilon": 0.1, "sizes": (0.1, 0.03, 0.01)}),
)
_HEAD = """# Table 2, measured

The number of people that each model needs for delta 1e-6 and a success probability of at least 99/100.
[Applications](../explanation/applications.md) explains the rows. `make table2` writes this page and its figure.

![People needed against the size of the problem](../figures/table2.png)
"""


def main(root: Path = ROOT, *, runs: Sequence[tuple[str, dict[str, Any]]] = RUNS) -> None:
    """Write docs/reference/table2.md, experiments/data/table2.json and docs/figures/table2.png."""
    results = []
    for problem, question in runs:
        with ProgressBar() as progress:
            results.append(separate(problem, delta=DELTA, seed=SEED, progress=progress, **question))
        print(f"{problem}, epsilon {question['epsilon']:g}: done", file=sys.stderr)
    page = root / "docs" / "reference" / "table2.md"
    write_whole(page, (_HEAD + "".join(map(markdown_section, results))).encode())
    print(f"wrote {page}", file=sys.stderr)
    table2_figure.keep(results, root)
    table2_figure.main(root)


if __name__ == "__main__":
    main()

"""Table 2 of the paper with measured numbers of people: python -m shuffledp.report.table2 docs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from shuffledp.applications.separation import Separation, separate
from shuffledp.cli.progress import ProgressBar
from shuffledp.cli.separate import label, notes, shown
from shuffledp.report.save import write_whole
from shuffledp.report.separation import draw_separation

SEED = 2020
RUNS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("pointer-chasing", {"epsilon": 1, "sizes": (10, 100, 1000, 10_000)}),
    ("pointer-jumping", {"epsilon": 1, "sizes": (2, 4, 6, 8)}),
    ("support", {"epsilon": 1, "sizes": (2, 4, 8, 16)}),
    ("bernoulli", {"epsilon": 1, "sizes": (0.1, 0.03, 0.01)}),
    ("bernoulli", {"epsilon": 0.1, "sizes": (0.1, 0.03, 0.01)}),
)
_HEAD = """# Table 2, measured

How many people each model needs, for delta 1e-6 and a success of at least 99/100. [Applications](applications.md) says
what the rows are and how to read them. `make table2` writes this page and its figure.

![People needed against the size of the problem](figures/table2.png)
"""


def main(folder: Path) -> None:
    """Writes table2.md and figures/table2.png."""
    results = []
    for problem, wish in RUNS:
        with ProgressBar() as progress:
            results.append(separate(problem, delta=1e-6, seed=SEED, progress=progress, **wish))
        print(f"{problem}, epsilon {wish['epsilon']:g}: done", file=sys.stderr)
    page = _HEAD + "".join(map(_section, results))
    write_whole(folder / "table2.md", page.encode())
    draw_separation(results[:2], folder / "figures" / "table2.png")
    print(f"wrote {folder / 'table2.md'} and {folder / 'figures' / 'table2.png'}", file=sys.stderr)


def _section(result: Separation) -> str:
    """A heading, the table and how to read it, in Markdown."""
    sizes = [f"{result.size_name} = {size:,}" for size in result.sizes]
    rows = [["", *sizes], ["---", *("---:" for _ in sizes)]]
    rows += [[label(column), *map(shown, cells)] for column, cells in zip(result.columns, result.cells, strict=True)]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    name = result.problem.replace("-", " ").capitalize()
    return f"\n## {name}, epsilon {result.epsilon:g}\n\n{table}\n\n{' '.join(notes(result))}\n"


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("docs"))

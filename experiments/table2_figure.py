"""The figure of docs/reference/table2.md, drawn from the measurements in experiments/data/table2.json."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from experiments.documents import ROOT
from shuffledp.atomic_file import write_whole
from shuffledp.errors import DataError
from shuffledp.explain.plots import draw_separation
from shuffledp.paper.separation import Approach, Cell, Separation

DRAWN = 2
"""Number of runs in the figure: the first two are the problems with which the paper separates the models."""


def main(root: Path = ROOT) -> None:
    """Draw the stored runs."""
    path = root / "docs" / "figures" / "table2.png"
    draw_separation(kept(root)[:DRAWN], path)
    print(f"wrote {path}", file=sys.stderr)


def keep(results: Sequence[Separation], root: Path) -> None:
    """Write the runs as JSON, one per line."""
    path = _data_file(root)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, ("[\n" + ",\n".join(json.dumps(asdict(result)) for result in results) + "\n]\n").encode())


def kept(root: Path = ROOT) -> list[Separation]:
    """Read the stored runs."""
    try:
        rows = json.loads(_data_file(root).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"{_data_file(root)} is missing: run make table2 first") from None
    return [_separation(row) for row in rows]


def _separation(row: dict[str, Any]) -> Separation:
    columns = tuple(Approach(**column) for column in row.pop("columns"))
    cells = tuple(tuple(Cell(**cell) for cell in cells) for cells in row.pop("cells"))
    return Separation(**{**row, "sizes": tuple(row["sizes"])}, columns=columns, cells=cells)


def _data_file(root: Path) -> Path:
    return root / "experiments" / "data" / "table2.json"


if __name__ == "__main__":
    main()

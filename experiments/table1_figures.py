"""Both figures of docs/explanation/comparison.md, drawn from the measurements of `make table1` in experiments/data."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from experiments.documents import ROOT
from shuffledp.atomic_file import write_whole
from shuffledp.errors import DataError
from shuffledp.explain.plots import draw_comparison
from shuffledp.release.compare import Measurement

GUARANTEE = {"epsilon": 1.0, "delta": 1e-6}
FIGURES = ("error-against-values", "error-against-people")


def main(root: Path = ROOT) -> None:
    """Draw the stored measurements."""
    for name in FIGURES:
        path = root / "docs" / "figures" / f"{name}.svg"
        draw_comparison(kept(data_file(name, root)), path, **GUARANTEE)
        print(f"wrote {path}", file=sys.stderr)


def data_file(name: str, root: Path = ROOT) -> Path:
    """Return the path of the measurements of a figure."""
    return root / "experiments" / "data" / f"{name}.json"


def keep(results: Iterable[Measurement], path: Path) -> None:
    """Write measurements as JSON, one per line; values that were not measured are null."""
    lines = (json.dumps({key: _finite(value) for key, value in asdict(result).items()}) for result in results)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, ("[\n" + ",\n".join(lines) + "\n]\n").encode())


def kept(path: Path) -> list[Measurement]:
    """Read stored measurements."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"{path} is missing: run make table1 first") from None
    return [Measurement(**{key: math.nan if value is None else value for key, value in row.items()}) for row in rows]


def _finite(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value


if __name__ == "__main__":
    main()

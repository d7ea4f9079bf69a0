"""Both figures of docs/explanation/comparison.md, drawn from what `make table1` measured: experiments/data."""

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
    """Draws what was measured."""
    for name in FIGURES:
        path = root / "docs" / "figures" / f"{name}.svg"
        draw_comparison(kept(data_file(name, root)), path, **GUARANTEE)
        print(f"wrote {path}", file=sys.stderr)


def data_file(name: str, root: Path = ROOT) -> Path:
    """Where the measurements of a figure are kept."""
    return root / "experiments" / "data" / f"{name}.json"


def keep(results: Iterable[Measurement], path: Path) -> None:
    """Keeps measurements, one on a line; what was not measured is null."""
    lines = (json.dumps({key: _finite(value) for key, value in asdict(result).items()}) for result in results)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, ("[\n" + ",\n".join(lines) + "\n]\n").encode())


def kept(path: Path) -> list[Measurement]:
    """Measurements that were kept."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"{path} is missing: make table1 measures it") from None
    return [Measurement(**{key: math.nan if value is None else value for key, value in row.items()}) for row in rows]


def _finite(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value


if __name__ == "__main__":
    main()

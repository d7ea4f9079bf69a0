"""Answers of simulated people, read from a column of files."""

from __future__ import annotations

from typing import Any

import numpy as np

from shuffledp.checks import whole
from shuffledp.engines import Column, Files, open_engine
from shuffledp.errors import DataError
from shuffledp.progress import Progress, quiet
from shuffledp.randomness import secure_rng


def simulated_answers(files: Files, *, column: str, people: int | None = None, progress: Progress = quiet) -> list[Any]:
    """The values of a column in random order, None where one is missing; of so many people.

    Where there are fewer rows than people, rows are used again, all equally often but for one more or less.
    """
    engine = open_engine(Column(data=files, names=(column,)), progress=progress)
    try:
        values: list[Any] = []
        times: list[int] = []
        for found, counts in engine.counts():
            values += found.to_pylist()
            times += counts.tolist()
    finally:
        engine.close()
    rows = secure_rng().permutation(np.repeat(np.arange(len(values)), times))
    if not rows.size:
        raise DataError(f"{files.shown} has no rows, and so no people")
    chosen = rows if people is None else np.resize(rows, whole("people", people))
    return [values[at] for at in chosen.tolist()]

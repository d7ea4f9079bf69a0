"""`shuffledp simulate`: the errors of many seeded releases of the same files."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from shuffledp.cli.domain import read_domain
from shuffledp.cli.progress import ProgressBar
from shuffledp.engines import find_files
from shuffledp.jobs.simulate import Simulation, simulate
from shuffledp.words import readable

_SHARES = {"smallest": 0.0, "median": 0.5, "90 %": 0.9, "95 %": 0.95, "99 %": 0.99, "largest": 1.0}


def simulate_files(
    *, files: list[str], column: str, delimiter: str | None, domain: Path | None, as_json: bool, **question: Any
) -> None:
    """Prints how the largest error over all bins is distributed."""
    data = find_files(files, delimiter=delimiter)
    inputs = [Path(path) for path in data.paths]
    labels = None if domain is None else read_domain(domain, column, data_files=inputs, delimiter=delimiter)
    with ProgressBar() as progress:
        result = simulate(data, column=column, domain=labels, progress=progress, **question)
    if as_json:
        print(json.dumps(_plain(result), allow_nan=False))
    else:
        _show(result)


def _show(result: Simulation) -> None:
    console = Console()
    table = Table(
        title=f"{len(result.trials):,} simulated releases: {result.title}, {result.people:,} people, "
        f"epsilon {result.epsilon:g}, delta {result.delta:g}",
        caption="largest error over all values of one release, in people",
        box=SIMPLE_HEAD,
        title_justify="left",
        caption_justify="left",
    )
    for name in _SHARES:
        table.add_column(name, justify="right")
    table.add_row(*(f"{error:,.1f}" for error in result.quantiles(list(_SHARES.values()))))
    console.print(table)
    found = np.mean([trial.found for trial in result.trials])
    console.print(
        f"Predicted: at most {result.predicted_error:,.1f} people in {1 - result.beta:.4g} of all releases. All "
        f"intervals at once held the truth in {result.covered:.4g} of them. On average {found:,.1f} of "
        f"{result.trials[0].occupied:,} values present were reported, of {readable(result.bins)} possible ones.\n"
        "Not private: this compares with the true counts.",
        soft_wrap=True,
        highlight=False,
    )


def _plain(result: Simulation) -> dict[str, Any]:
    plain = {field.name: getattr(result, field.name) for field in fields(result)}
    plain["bins"] = result.bins if result.bins.bit_length() <= 64 else None
    plain["covered"] = result.covered
    plain["error_quantiles"] = dict(zip(_SHARES, result.quantiles(list(_SHARES.values())), strict=True))
    plain["trials"] = [trial.summary() for trial in result.trials]
    return plain

"""`shuffledp run`: a private histogram of a column of some files, on the terminal and in files."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from shuffledp.cli.domain import read_domain
from shuffledp.cli.progress import ProgressBar
from shuffledp.engines import find_files
from shuffledp.jobs.release import Release, private_histogram
from shuffledp.pipeline.estimate import Row
from shuffledp.report.save import check_writable, refuse_same, save
from shuffledp.words import shown

_SMALLEST_SHOWN = 5
_BAR_WIDTH = 22  # fits a terminal of 80 columns


def run_files(
    *,
    files: list[str],
    column: str,
    delimiter: str | None,
    domain: Path | None,
    engine: str | None,
    out: list[Path],
    top: int,
    as_json: bool,
    **question: Any,
) -> None:
    """Releases the histogram of a column, shows it and writes it to the files that are asked for."""
    data = find_files(files, delimiter=delimiter)
    inputs = [Path(path) for path in data.paths]
    for path in out:
        check_writable(path)
        refuse_same(path, [*inputs, *([] if domain is None else [domain])], "an output")
    labels = None if domain is None else read_domain(domain, column, data_files=inputs, delimiter=delimiter)
    with ProgressBar() as progress, _quiet_start() if engine == "spark" else nullcontext():
        release = private_histogram(data, column=column, domain=labels, engine=engine, progress=progress, **question)
    publish(release, out=out, top=top, as_json=as_json)


def publish(release: Release, *, out: Iterable[Path], top: int, as_json: bool) -> None:
    """Shows a release and writes it to files."""
    written = [save(release, path) for path in out]  # first of all: whoever reads stdout may go away
    for text in release.warnings:
        print(f"warning: {text}", file=sys.stderr)
    if as_json:
        print(release.to_json())
    else:
        show(release, top=top)
    for path in written:
        print(f"wrote {path}", file=sys.stderr)


def show(release: Release, *, top: int) -> None:
    """The largest bins with bars, and what the reader must know."""
    console = Console()
    estimate, rows = release.estimate, release.estimate.top()
    truth = _true_counts(release)
    kept, smallest = _split(len(rows), top)
    title = f"{shown(release.column)} of {estimate.people:,} people, {estimate.guarantee}"
    table = Table(caption="bar: solid up to the lower end of the interval, shaded above", caption_justify="left")
    table.add_column(Text(shown(release.column)), overflow="fold")
    for name in ("estimate", f"{100 * (1 - estimate.beta):.4g} % interval", *(["true"] if truth else [])):
        table.add_column(name, justify="right")
    table.add_column("")
    for row in rows[:kept]:
        _add(table, row, truth, scale=rows[0].high)
    if smallest:
        hidden = len(rows) - kept - smallest
        table.add_section()
        blank = [""] * (3 if truth else 2)
        table.add_row(f"... {hidden:,} more ...", *blank, f"smallest {smallest}, bars x 10")
        table.add_section()
        for row in rows[len(rows) - smallest :]:
            _add(table, row, truth, scale=rows[0].high / 10)
    console.print(Text(title, style="bold"), soft_wrap=True)
    if rows:
        console.print(table)
    else:
        console.print("No value is frequent enough to be reported.")
    console.print(_verdict(release), soft_wrap=True, highlight=False)
    console.print()
    console.print(Text(estimate.explain()), soft_wrap=True)
    console.print()
    for note in release.notes:
        console.print(Text(f"- {note}"), soft_wrap=True)


def _true_counts(release: Release) -> dict[Any, int]:
    """The true count of each reported label, where the release was evaluated."""
    if release.evaluation is None:
        return {}
    return dict(zip(release.estimate.labels.tolist(), release.evaluation.true_counts.tolist(), strict=True))


def _split(rows: int, top: int) -> tuple[int, int]:
    """How many of the largest and of the smallest rows to show; the latter only where the release has a clear end."""
    kept = min(top, rows)
    return kept, min(_SMALLEST_SHOWN, max(0, rows - kept - 1))


def _add(table: Table, row: Row, truth: dict[Any, int], *, scale: float) -> None:
    cells = [f"{row.count:,.0f}", f"{row.low:,} - {row.high:,}"]
    if truth:
        cells.append(f"{truth[row.label]:,}")
    table.add_row(Text(shown(row.label)), *cells, _bar(row, scale))


def _bar(row: Row, scale: float) -> str:
    low, high = (min(_BAR_WIDTH, round(_BAR_WIDTH * value / max(scale, 1))) for value in (row.low, row.high))
    return "█" * low + "▒" * max(high - low, 1)


def _verdict(release: Release) -> str:
    """What was found, in two sentences; and how good it is, where that was asked for."""
    estimate, found = release.estimate, release.evaluation
    text = f"{len(estimate):,} values are reported. "
    text += f"A value that {release.surely_seen:,} or more people hold is surely seen, and no estimate is off by more "
    text += f"than {release.error:,.0f} people, with probability {1 - estimate.beta:g}."
    if found is not None:
        text += (
            "\n[bold red]NOT PRIVATE, do not publish:[/] compared with the truth, the largest error is "
            f"{found.largest_error:,.0f} people; all intervals at once hold the truth: "
            f"{'yes' if found.covered else 'no'}; {found.found:,} of {found.occupied:,} values present are reported, "
            f"and {found.phantoms:,} reported that nobody has."
        )
    return text


@contextmanager
def _quiet_start() -> Iterator[None]:
    """Keeps the Java machine, which writes to stderr as long as it lives, from showing start-up notes or data."""
    sys.stderr.flush()
    ours = os.dup(2)
    try:
        with open(os.devnull, "wb") as nowhere:  # noqa: PTH123  (/dev/null)
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(ours, 2)
        os.close(ours)

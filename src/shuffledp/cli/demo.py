"""The main job on bundled data: which surnames are common, without anybody's name being known."""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.table import Table

from shuffledp.data import surnames
from shuffledp.domain import Domain
from shuffledp.estimate import Estimate, Row, readable
from shuffledp.parameters import whole
from shuffledp.protocols import Histogram
from shuffledp.tally import Tally

_POPULATION_SEED = 1990
_LONGEST_NAME = 15
_SMALLEST_SHOWN = 5
_BAR_WIDTH = 22  # fits a terminal of 80 columns


def surname_demo(*, people: int, epsilon: float, delta: float, top: int, as_json: bool) -> None:
    """Samples people from the census table, releases their surnames' histogram, and compares it with the truth."""
    truth = _population(whole("people", people))
    universe = Domain.implicit(sum(26**length for length in range(1, _LONGEST_NAME + 1)))
    protocol = Histogram.calibrate(users=people, bins=universe.size, epsilon=epsilon, delta=delta)
    release = protocol.estimate(protocol.sample_tally(truth), domain=universe)
    if as_json:
        print(release.to_json())
    else:
        _show(release, truth.as_dict(), top)


def _population(people: int) -> Tally:
    """The surnames of sampled people. The people are always the same ones; the noise never is."""
    names, shares = surnames()
    counts = np.random.default_rng(_POPULATION_SEED).multinomial(people, shares)
    occupied = np.flatnonzero(counts)
    return Tally(names[occupied].astype(object), counts[occupied])


def _show(release: Estimate, truth: dict[str, int], top: int) -> None:
    console = Console()
    rows = release.top()
    shown = min(top, len(rows))
    smallest = min(_SMALLEST_SHOWN, len(rows) - shown)
    table = Table(
        title=f"Surnames of {release.people:,} people, {release.guarantee}",
        caption="bar: solid up to the lower end of the interval, shaded up to its upper end",
        title_justify="left",
        caption_justify="left",
    )
    for name, justify in (("surname", "left"), ("estimate", "right"), ("95 % interval", "right"), ("true", "right")):
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    table.add_column("")
    for row in rows[:shown]:
        _add(table, row, truth, scale=rows[0].high)
    if smallest:
        hidden = len(rows) - shown - smallest
        table.add_section()
        table.add_row(f"... {hidden:,} more ...", "", "", "", f"smallest {smallest}, bars x 10")
        table.add_section()
        for row in rows[len(rows) - smallest :]:
            _add(table, row, truth, scale=rows[0].high / 10)
    console.print(table)
    console.print(_verdict(release, truth), soft_wrap=True)
    console.print()
    console.print(release.explain(), soft_wrap=True, highlight=False)


def _add(table: Table, row: Row, truth: dict[str, int], *, scale: float) -> None:
    table.add_row(
        row.label,
        f"{row.count:,.0f}",
        f"{row.low:,} - {row.high:,}",
        f"{truth[row.label]:,}",
        _bar(row, scale),
    )


def _bar(row: Row, scale: float) -> str:
    low, high = (min(_BAR_WIDTH, round(_BAR_WIDTH * value / scale)) for value in (row.low, row.high))
    return "█" * low + "▒" * max(high - low, 1)


def _verdict(release: Estimate, truth: dict[str, int]) -> str:
    """How good the release is; only a demo knows."""
    worst = max(abs(release[name] - count) for name, count in truth.items())
    covered = all(low <= count <= high for count, (low, high) in ((c, release.interval(n)) for n, c in truth.items()))
    phantoms = sum(name not in truth for name in release.labels.tolist())
    return (
        f"{len(release):,} of {len(truth):,} surnames present are reported; {phantoms} reported that nobody has. "
        f"Largest error: {worst:.0f} people. All intervals at once cover the truth: {'yes' if covered else 'no'}. "
        f"(True counts are shown because this is a demo.) With {readable(release.bins)} possible surnames no message "
        "was made: the tally was drawn from its exact law, with cryptographic randomness."
    )

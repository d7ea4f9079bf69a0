"""Quantiles and plans of ranges on the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from shuffledp.cli.output import new_table, print_indented, print_title, print_whole
from shuffledp.errors import ParameterError
from shuffledp.jobs.range_plan import RangeRow
from shuffledp.jobs.ranges import checked_shares
from shuffledp.pipeline.ordered_estimate import OrderedEstimate
from shuffledp.report.distribution import quantile_rows
from shuffledp.words import at_most, counted, percent_at_most, sure_percent, surely


def parse_shares(text: str) -> tuple[float, ...]:
    """The shares of quantiles from what is written: 0.25,0.5,0.75."""
    try:
        shares = [float(part) for part in text.split(",")]
    except ValueError:
        raise ParameterError(f"--quantiles must be shares such as 0.25,0.5,0.99; got {text[:60]!r}") from None
    return checked_shares(shares)


def show_quantiles(estimate: OrderedEstimate) -> None:
    """A table of the quantiles that were asked for, with their intervals."""
    table = new_table()
    table.add_column("share of people")
    for name in ("have at most", f"{sure_percent(estimate.beta)} % interval"):
        table.add_column(name, justify="right", overflow="fold")
    for share, value, interval in quantile_rows(estimate):
        table.add_row(share, Text(value), Text(interval))
    print_whole(table)
    off = estimate.distribution().widest
    among = "; shares of people are of those who have a value" if estimate.some_without else ""
    print_indented(
        f"all intervals hold at once with probability {surely(estimate.beta)}; the number of people up to any value is "
        f"off by at most {at_most(off)} ({percent_at_most(off, estimate.people)} of all people){among}"
    )


def show_range_plan(rows: Sequence[RangeRow], *, users: int, beta: float, held: bool = False) -> None:
    """A table of what ways to count ranges would give; without messages where nobody sends any."""
    everybody = counted(users, "person", things="people")
    print_title(f"Error of the distribution function of {everybody}, with probability {surely(beta)}")
    table = new_table()
    table.add_column("protocol")
    names = ["error in people", "of all people", "levels", "branching", *([] if held else ["messages per person"])]
    for name in names:
        table.add_column(name, justify="right")
    for row in rows:
        if row.error is None:
            table.add_row(row.title, row.problem, *[""] * (len(names) - 1))
            continue
        cells = [at_most(row.error), percent_at_most(row.error, users), str(row.levels), str(row.branching)]
        messages = "-" if row.messages is None else f"{row.messages:,.1f}"
        table.add_row(row.title, *cells, *([] if held else [messages]))
    print_whole(table)
    print_indented("the number of people up to any value is off by no more, everywhere at once")

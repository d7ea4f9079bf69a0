"""A comparison as tables: what stands in their cells, and a page of them in Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from shuffledp.jobs.compare import Measurement
from shuffledp.words import at_most, counted, share_at_most

CELLS: dict[str, Callable[[Measurement], str]] = {
    "model": lambda m: m.model,
    "protocol": lambda m: m.title,
    "error": lambda m: f"{m.mean:,.1f} ±{m.high - m.mean:,.1f}",
    "bound": lambda m: at_most(m.bound),
    "messages": lambda m: f"{m.messages:,.4g}",
    "bits": lambda m: f"{m.bits:,.4g}",
    "seconds": lambda m: f"{m.seconds:.3g}",
}
"""What a row shows of a measurement, by the heads of the columns."""


def by_case(results: Iterable[Measurement]) -> dict[tuple[int, int], list[Measurement]]:
    """The measurements of each number of people and values."""
    cases: dict[tuple[int, int], list[Measurement]] = {}
    for result in results:
        cases.setdefault((result.users, result.bins), []).append(result)
    return cases


def legend(*, beta: float, trials: int, data: str) -> list[str]:
    """What the columns are."""
    measured = f"mean over {counted(trials, 'trial')} of {data} data, ± its 95 % interval"
    return [
        f"error: the largest over all values, in people; {measured}",
        f"bound: what is exceeded with probability at most {share_at_most(beta, digits=3)}, whatever the data",
        "messages, bits: per person; seconds: one trial",
    ]


def markdown_page(
    results: Iterable[Measurement], *, epsilon: float, delta: float, beta: float, trials: int, data: str
) -> str:
    """A page with a table for every number of people and values."""
    about = "; ".join(legend(beta=beta, trials=trials, data=data))
    lines = [f"# Every protocol for epsilon {epsilon:g}, delta {delta:g}", "", f"{about}.", ""]
    for (users, bins), rows in by_case(results).items():
        lines += [
            f"### {counted(users, 'person', things='people')}, {counted(bins, 'value')}",
            "",
            "| " + " | ".join(CELLS) + " |",
        ]
        lines += ["|" + "---|" * len(CELLS)]
        for row in rows:
            cells = [cell(row) for cell in CELLS.values()]
            if row.problem:
                cells = [row.model, row.title, row.problem, *[""] * (len(CELLS) - 3)]
            lines.append("| " + " | ".join(cells) + " |")
        lines.append("")
    return "\n".join(lines)

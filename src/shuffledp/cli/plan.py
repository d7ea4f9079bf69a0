"""`shuffledp plan`: what each protocol would give."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from shuffledp.errors import ParameterError
from shuffledp.jobs.plan import OPTIONS, Plan, Row, epsilon_needed, most_bins, plan, users_needed
from shuffledp.words import readable


def show_plan(
    *,
    users: int,
    bins: str,
    epsilon: float,
    delta: float,
    beta: float,
    honest_users: int | None,
    target_error: float | None,
    max_messages: float | None,
    figure: Path | None,
    earlier: bool,
    as_json: bool,
) -> None:
    """Prints the plan, the answers to a target error, and saves the figure."""
    answer = plan(
        users=users,
        bins=parse_bins(bins),
        epsilon=epsilon,
        delta=delta,
        beta=beta,
        honest_users=honest_users,
        earlier=earlier,
    )
    wishes = [] if target_error is None else _wishes(answer, target_error)
    budget = {} if max_messages is None else _most_bins(answer, max_messages)
    if as_json:
        print(json.dumps(_plain({**asdict(answer), "target_error": wishes, "most_bins": budget}), allow_nan=False))
    else:
        _print(answer, wishes)
        for title, most in budget.items():
            Console().print(f"{title}: at most {readable(most)} bins for {max_messages:g} messages.", highlight=False)
    if figure is not None:
        from shuffledp.report.trade_off import draw_trade_off

        draw_trade_off(answer, figure)
        Console(stderr=True).print(f"wrote {figure}")


def parse_bins(text: str, *, name: str = "bins") -> int:
    """A number of bins as people write it: 100000, 100_000, 1e6, 2^64 or 2**64."""
    plain = text.replace("**", "^").replace("_", "").replace(",", "")
    number = 0
    if power := re.fullmatch(r"(\d+)\^(\d{1,5})", plain):
        number = int(power[1]) ** int(power[2])
    elif re.fullmatch(r"\d+|\d+(\.\d+)?e\d{1,2}", plain):
        number = int(plain) if plain.isdigit() else round(float(plain))
    if number < 1:
        raise ParameterError(f"{name} must be a whole number such as 100000, 1e6 or 2^64, got {text!r}")
    return number


def _wishes(answer: Plan, target: float) -> list[dict[str, Any]]:
    """For each protocol: the epsilon and the number of people that a simultaneous error of `target` people needs."""
    if not 0 < target < answer.users:
        raise ParameterError(f"target_error must lie between 0 and {answer.users:,} people, got {target:g}")
    same: dict[str, Any] = {"bins": answer.bins, "delta": answer.delta, "beta": answer.beta}
    honest_share = answer.honest_users / answer.users
    found = []
    for row in _answerable(answer):
        needs: dict[str, Callable[[str], float]] = {
            "epsilon": partial(
                epsilon_needed, error=target, users=answer.users, honest_users=answer.honest_users, **same
            ),
            "users_for_this_share": partial(
                users_needed, share=target / answer.users, epsilon=answer.epsilon, honest_share=honest_share, **same
            ),
        }
        wish: dict[str, Any] = {"name": row.name, "title": row.title, "met": row.simultaneous <= target}
        for name, need in needs.items():
            try:
                wish[name] = None if wish["met"] else need(row.name)
            except ParameterError:
                wish[name] = None
        found.append(wish)
    return found


def _most_bins(answer: Plan, messages: float) -> dict[str, int]:
    """For each protocol that is possible: the most bins for a number of messages per person."""
    return {
        row.title: most_bins(
            row.name,
            messages=messages,
            users=answer.users,
            epsilon=answer.epsilon,
            delta=answer.delta,
            honest_users=answer.honest_users,
        )
        for row in _answerable(answer)
        if not row.problem
    }


def _answerable(answer: Plan) -> list[Row]:
    """Questions backwards are for the protocols that can be recommended."""
    return [row for row in answer.rows if row.name in OPTIONS]


def _print(answer: Plan, wishes: list[dict[str, Any]]) -> None:
    console = Console()
    console.width = max(console.width, 12 * len(answer.rows) + 20)
    table = Table(
        title=f"{answer.users:,} people, {readable(answer.bins)} bins, "
        f"epsilon {answer.epsilon:g}, delta {answer.delta:g}",
        caption=f"in people, or per person; errors are exceeded with probability at most {answer.beta:g}",
        box=SIMPLE_HEAD,
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("")
    for row in answer.rows:
        table.add_column(row.name, justify="right", style="bold" if row.name == answer.recommended else None)
    for title, cell in _MEASURES.items():
        table.add_row(title, *("-" if row.problem and title not in _ALWAYS else cell(row) for row in answer.rows))
    console.print(table)
    for row in answer.rows:
        if row.problem:
            console.print(f"{row.title} {row.problem}.", highlight=False)
    console.print(f"Recommended: {answer.recommended or 'none'}. {answer.reason[:1].upper()}{answer.reason[1:]}.")
    for wish in wishes:
        epsilon = "no epsilon up to 10 is enough" if wish["epsilon"] is None else f"needs epsilon {wish['epsilon']:.3g}"
        users = wish["users_for_this_share"]
        people = "" if users is None else f", or {users:,} people for the same share"
        console.print(f"{wish['title']}: {'met' if wish['met'] else epsilon + people}.", highlight=False)


_MEASURES: dict[str, Callable[[Row], str]] = {
    "error, all bins": lambda row: _short(row.simultaneous),
    "  share": lambda row: f"{row.simultaneous_share:.2g}",
    "error, one bin": lambda row: _short(row.per_bin),
    "  its share": lambda row: f"{row.per_bin_share:.2g}",
    "surely seen": lambda row: _short(row.surely_seen),
    "messages": lambda row: _short(row.messages),
    "  at most": lambda row: _short(row.most_messages),
    "bytes": lambda row: _short(row.bytes_per_person),
    "fewest people": lambda row: f"{row.fewest_users:,}",
    "phantom bins": lambda row: "yes" if row.phantom_bins else "never",
}
_ALWAYS = ("fewest people", "phantom bins")


def _short(number: float) -> str:
    if math.isinf(number):
        return "no limit"
    return f"{number:.3g}" if number < 100 else f"{number:,.0f}" if number < 1e7 else f"{float(number):.1e}"


def _plain(value: Any) -> Any:
    """What JSON can hold: infinite numbers become null."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value

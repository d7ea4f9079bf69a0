"""`shuffledp amplify`: what shuffling adds to a local guarantee, by every bound."""

from __future__ import annotations

import json
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from shuffledp.accounting.amplification import (
    Amplification,
    blanket_epsilon,
    closed_form_epsilon,
    largest_local_epsilon,
    unavoidable_epsilon,
)
from shuffledp.checks import target_delta


def show_amplification(*, local_epsilon: float, users: int, delta: float, as_json: bool) -> None:
    """Prints all bounds side by side, and the question backwards."""
    shuffled, delta = Amplification(local_epsilon=local_epsilon, users=users), target_delta(delta)
    wish: dict[str, Any] = {"local_epsilon": shuffled.local_epsilon, "users": shuffled.users, "delta": delta}
    tight = shuffled.epsilon(delta)
    bounds = {
        "closed form": closed_form_epsilon(**wish),
        "privacy blanket": blanket_epsilon(**wish),
        "tight": tight,
        "lower bound": unavoidable_epsilon(**wish),
    }
    backwards = {
        f"{target:g}": largest_local_epsilon(epsilon=target, delta=delta, users=shuffled.users)
        for target in (0.1, 0.5, 1.0)
    }
    if as_json:
        print(json.dumps({**wish, "epsilon": bounds, "largest_local_epsilon": backwards}))
        return
    console = Console()
    table = Table(
        title=f"{shuffled.users:,} people, each message {shuffled.local_epsilon:g}-private, shuffled: epsilon at delta "
        f"{delta:g}",
        box=SIMPLE_HEAD,
        title_justify="left",
    )
    table.add_column("")
    table.add_column("epsilon", justify="right")
    table.add_column("source")
    for name, epsilon in bounds.items():
        shown = "not applicable" if epsilon is None else f"{epsilon:.4g}"
        table.add_row(name, shown, _SOURCES[name], style="bold" if name == "tight" else None)
    console.print(table)
    wishes = "; ".join(f"epsilon {target}: {local:.3g}" for target, local in backwards.items())
    console.print(f"The largest local epsilon that shuffles down to {wishes}.", soft_wrap=True, highlight=False)


_SOURCES = {
    "closed form": "Erlingsson et al. 2019; local epsilon below 1/2, at least 1000 people",
    "privacy blanket": "Balle et al. 2019, with Hoeffding's inequality",
    "tight": "Feldman, McMillan and Talwar; computed numerically, never below the bound",
    "lower bound": "binary randomized response: no bound for all randomizers can be smaller",
}

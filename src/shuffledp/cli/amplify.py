"""`shuffledp amplify`: what shuffling adds to a local guarantee, by every bound."""

from __future__ import annotations

from typing import Annotated, Any

from shuffledp.cli import options as given
from shuffledp.cli.options import option
from shuffledp.cli.output import new_table, print_json, print_sentence, print_table

EXAMPLE = "shuffledp amplify --epsilon0 2 --users 100000 --delta 1e-6"
_TARGETS = (0.1, 0.5, 1.0)  # the epsilons for which the question is asked backwards
_SOURCES = {
    "closed form": "Erlingsson et al. 2019; local epsilon below 1/2, at least 1000 people",
    "privacy blanket": "Balle et al. 2019, with Hoeffding's inequality",
    "tight": "Feldman, McMillan and Talwar; computed numerically, never below the bound",
    "lower bound": "binary randomized response: no bound for all randomizers can be smaller",
}


def amplify(
    epsilon0: Annotated[float, option("NUMBER", "Privacy loss of every single message.")],
    users: Annotated[int, option("NUMBER", "How many people send one message each.")],
    delta: given.Delta,
    json: given.Json = False,
) -> None:
    """What shuffling adds to the privacy of a local randomizer: every bound side by side."""
    from shuffledp.accounting.amplification import (
        Amplification,
        blanket_epsilon,
        closed_form_epsilon,
        largest_local_epsilon,
        unavoidable_epsilon,
    )
    from shuffledp.checks import target_delta

    shuffled, delta = Amplification(local_epsilon=epsilon0, users=users), target_delta(delta)
    question: dict[str, Any] = {"local_epsilon": shuffled.local_epsilon, "users": shuffled.users, "delta": delta}
    bounds = {
        "closed form": closed_form_epsilon(**question),
        "privacy blanket": blanket_epsilon(**question),
        "tight": shuffled.epsilon(delta),
        "lower bound": unavoidable_epsilon(**question),
    }
    backwards = {
        f"{target:g}": largest_local_epsilon(epsilon=target, delta=delta, users=shuffled.users) for target in _TARGETS
    }
    if json:
        print_json({**question, "epsilon": bounds, "largest_local_epsilon": backwards})
    else:
        _show(bounds, backwards, **question)


def _show(
    bounds: dict[str, float | None],
    backwards: dict[str, float],
    *,
    local_epsilon: float,
    users: int,
    delta: float,
) -> None:
    table = new_table(
        title=f"{users:,} people, each message {local_epsilon:g}-private, shuffled: epsilon at delta {delta:g}"
    )
    table.add_column("")
    table.add_column("epsilon", justify="right")
    table.add_column("source")
    for name, epsilon in bounds.items():
        shown = "not applicable" if epsilon is None else f"{epsilon:.4g}"
        table.add_row(name, shown, _SOURCES[name], style="bold" if name == "tight" else None)
    print_table(table)
    answers = "; ".join(f"epsilon {target}: {local:.3g}" for target, local in backwards.items())
    print_sentence(f"The largest local epsilon that shuffles down to {answers}.")

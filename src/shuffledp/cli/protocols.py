"""`shuffledp protocols`: every protocol by name, in one line each.

`shuffledp amplify`: what shuffling adds to a local guarantee, by every bound.
"""

from __future__ import annotations

from typing import Annotated, Any

from shuffledp.cli import options as given
from shuffledp.cli.options import option, whole_number
from shuffledp.cli.output import new_table, print_json, print_sentence, print_title, print_whole
from shuffledp.cli.progress import ProgressBar
from shuffledp.errors import ParameterError
from shuffledp.formatting import counted, share_at_least, share_at_most

PROTOCOLS_EXAMPLE = "shuffledp protocols --model shuffled"
_MODELS = {
    "shuffled": "Shuffled model: people send messages, which are mixed before anybody sees them. For run and plan.",
    "local": "Local model: every message is private by itself, and nobody is trusted. For compare.",
    "central": "Central model: a trusted curator sees every value. For run --trust curator, and compare.",
}


def protocols(
    model: Annotated[str | None, option("NAME", "Only those of one model: shuffled, local or central.")] = None,
    json: given.Json = False,
) -> None:
    """Every protocol that the other commands know, by name."""
    from shuffledp.protocols.catalogue import CATALOGUE
    from shuffledp.validation import one_of

    chosen = list(_MODELS) if model is None else [one_of("model", model, _MODELS)]
    entries = {name: entry for name, entry in CATALOGUE.items() if entry.model in chosen}
    if json:
        print_json(
            [
                {
                    "name": name,
                    "title": entry.title,
                    "summary": entry.summary,
                    "model": entry.model,
                    "estimator": entry.estimator,
                    "advised": entry.advised,
                }
                for name, entry in entries.items()
            ]
        )
        return
    for kind in chosen:
        table = new_table()
        table.add_column("name", no_wrap=True)
        table.add_column("what it is")
        known = [(name, entry) for name, entry in entries.items() if entry.model == kind]
        for name, entry in sorted(known, key=lambda item: not item[1].advised):
            table.add_row(name, f"{entry.title}: {entry.summary}" if entry.summary else entry.title,
                          style="bold" if entry.advised else None)  # fmt: skip
        print_title(_MODELS[kind])
        print_whole(table)
    advised = [name for name, entry in entries.items() if entry.advised]
    if advised:
        print_sentence(f"run takes the best of {', '.join(advised)} unless told which.")


AMPLIFY_EXAMPLE = "shuffledp amplify --epsilon0 2 --users 100000 --delta 1e-6"
_TARGETS = (0.1, 0.5, 1.0)  # the epsilons for which the question is asked backwards
_SOURCES = {
    "closed form": "Erlingsson et al. 2019; local epsilon below 1/2, at least 1000 people",
    "privacy blanket": "Balle et al. 2019, with Hoeffding's inequality",
    "tight": "Feldman, McMillan and Talwar; computed numerically, never below the bound",
    "lower bound": "binary randomized response: no bound for all randomizers can be smaller",
}


def amplify(
    epsilon0: Annotated[float, option("NUMBER", "Privacy loss of every single message.")],
    users: Annotated[int, option("NUMBER", "How many people send one message each.", parser=whole_number)],
    delta: given.Delta,
    json: given.Json = False,
) -> None:
    """What shuffling adds to the privacy of a local randomizer: every bound side by side."""
    from shuffledp.accounting.amplification import (
        MOST_LOCAL_EPSILON,
        Amplification,
        blanket_epsilon,
        closed_form_epsilon,
        largest_local_epsilon,
        unavoidable_epsilon,
    )
    from shuffledp.validation import target_delta

    if not 0 < epsilon0 <= MOST_LOCAL_EPSILON:
        raise ParameterError(f"--epsilon0 must be above 0 and at most {MOST_LOCAL_EPSILON:g}, got {epsilon0:g}")
    shuffled, delta = Amplification(local_epsilon=epsilon0, users=users), target_delta(delta)
    question: dict[str, Any] = {"local_epsilon": shuffled.local_epsilon, "users": shuffled.users, "delta": delta}
    with ProgressBar() as progress:
        progress("computing", 0.0)
        bounds = {
            "closed form": closed_form_epsilon(**question),
            "privacy blanket": blanket_epsilon(**question),
            "tight": shuffled.epsilon(delta),
            "lower bound": unavoidable_epsilon(**question),
        }
        backwards = {}
        for done, target in enumerate(_TARGETS, start=1):
            progress("computing", done / (len(_TARGETS) + 1))
            backwards[f"{target:g}"] = largest_local_epsilon(epsilon=target, delta=delta, users=shuffled.users)
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
    people = counted(users, "person", things="people")
    print_title(f"{people}, each message {local_epsilon:g}-private, shuffled: epsilon at delta {delta:g}")
    table = new_table()
    table.add_column("")
    table.add_column("epsilon", justify="right", no_wrap=True)
    table.add_column("source")
    for name, epsilon in bounds.items():
        table.add_row(name, _figure(name, epsilon), _SOURCES[name], style="bold" if name == "tight" else None)
    print_whole(table)
    for target, local in backwards.items():
        most = share_at_least(local, digits=3)
        print_sentence(f"The largest local epsilon that shuffles down to {target} is {most}.")


def _figure(name: str, epsilon: float | None) -> str:
    """An upper bound is rounded up, a lower one down."""
    if epsilon is None:
        return "not applicable"
    return share_at_least(epsilon, digits=4) if name == "lower bound" else share_at_most(epsilon, digits=4)

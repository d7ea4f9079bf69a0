"""`shuffledp protocols`: every protocol by name, in one line each."""

from __future__ import annotations

from typing import Annotated

from shuffledp.cli import options as given
from shuffledp.cli.options import option
from shuffledp.cli.output import new_table, print_json, print_sentence, print_title, print_whole

EXAMPLE = "shuffledp protocols --model shuffled"
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
    from shuffledp.checks import one_of
    from shuffledp.protocols.catalogue import CATALOGUE

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
                    "estimator": entry.reading,
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

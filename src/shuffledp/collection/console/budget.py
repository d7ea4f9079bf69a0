"""The ledger for the console: read again now and then, and added up again only when it has changed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from shuffledp.collection.console.fresh import Fresh
from shuffledp.collection.pages.markup import Html, cards, html, joined, label, table, tag
from shuffledp.errors import ShuffledpError
from shuffledp.ledger import Ledger, LedgerEntry, Standing
from shuffledp.words import counted, readable, share_at_most, shown

EVERY = 5.0
"""Seconds between two looks at the file: a task is entered in it once."""

_FIRST_WAIT = 2.0
"""Seconds that a page waits which nobody has looked at before: adding up a hundred entries takes one."""

_LONGEST = 120
"""Characters of an entry that are shown."""


class Budget:
    """What is spent and left of a ledger; None is no ledger at all."""

    def __init__(self, ledger: Ledger | str | Path | None) -> None:
        self._ledger = ledger
        self._known: tuple[Sequence[LedgerEntry], Standing] | None = None
        self._fresh = Fresh(self._look, seconds=EVERY)

    def section(self) -> Html:
        """In words and numbers."""
        if self._ledger is None:
            return tag("p", "This analyzer was started without a ledger: nothing adds up what its releases spend.")
        found = self._fresh.latest(wait=_FIRST_WAIT)
        if isinstance(found, Standing):
            return _shown(found)
        words = "It is being added up." if found is None else found
        return tag("p", words, class_="note" if found is None else "warning")

    def _look(self) -> Standing | str:
        """Where it stands, or that it cannot be read."""
        try:
            ledger = Ledger.of(self._ledger or "")
            entries = ledger.entries
            if self._known is None or self._known[0] != entries:
                self._known = entries, ledger.standing
            return self._known[1]
        except ShuffledpError:  # whose words name a file of this machine
            return "The ledger cannot be read at the moment: nothing new can be released until it can."


_FURTHER = "Further batches of a task that is entered cost nothing more: everybody answers it once."


def _shown(standing: Standing) -> Html:
    budget = standing.budget
    spent = share_at_most(standing.epsilon, digits=3) if standing.entries else "0"
    left = standing.left_epsilon if standing.left_epsilon is not None else standing.left_epsilon_of_hist
    numbers = [
        (spent, f"epsilon is spent, at delta {budget.delta:g}"),
        (f"{budget.epsilon:g}", "epsilon is the limit of all releases together"),
        ("nothing" if left is None else f"{left:g}", f"epsilon at most of one more, at delta {standing.left_delta:g}"),
    ]
    over = [tag("p", "More is spent than the limit allows.", class_="open")] if standing.over else []
    return joined(
        [
            Html(f"<p>The ledger of <b>{label(shown(budget.population, width=80))}</b>: {html(_limit(standing))}</p>"),
            cards(numbers),
            *over,
            tag("p", f"Left: {standing.left_in_words}. {_FURTHER}", class_="soft"),
            _entries(standing),
        ]
    )


def _limit(standing: Standing) -> str:
    budget = standing.budget
    return (
        f"all releases of their data together promise at most epsilon {budget.epsilon:g} with delta {budget.delta:g}."
    )


def _entries(standing: Standing) -> Html:
    if not standing.entries:
        return tag("p", "Nothing was entered yet.")
    rows = [
        (
            label(shown(each.what, width=_LONGEST)),
            each.day.isoformat(),
            share_at_most(each.epsilon, digits=4),
            share_at_most(each.delta, digits=4),
            "" if each.people is None else readable(each.people),
            "yes" if each.published else "no",
        )
        for each in standing.entries
    ]
    head = ("what", "day", "epsilon", "delta", "people", "published")
    number = html(counted(len(rows), "entry", things="entries"))
    return Html(f"<details><summary>{number}</summary>{table(head, rows)}</details>")

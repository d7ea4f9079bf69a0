"""One release against a ledger, or against none: what a job does before its noise is drawn, and after."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Self

from shuffledp.errors import DataError
from shuffledp.ledger.ledger import Ledger
from shuffledp.protocols.catalogue import Entry
from shuffledp.protocols.protocol import HistogramProtocol
from shuffledp.words import share_at_most


class Spending:
    """A ledger is opened at once, so that one that cannot be used is noticed before anything is read.

    Whatever stops a release within its `with` after it was entered carries a note that it counts all the same.
    """

    def __init__(self, ledger: Ledger | str | Path | None) -> None:
        self._ledger = None if ledger is None else Ledger.of(ledger)
        self._number = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None and self._ledger is not None and self._number:
            error.add_note(
                f"entry {self._number} of the ledger of {self._ledger.population} was made before and counts as spent"
            )

    def entering(self, protocol: HistogramProtocol, *, what: str, entry: Entry) -> Callable[[], None]:
        """What is to be called as the last thing before noise is drawn; without a ledger it does nothing."""
        return partial(self._enter, protocol, what, entry)

    def _enter(self, protocol: HistogramProtocol, what: str, entry: Entry) -> None:
        if self._ledger is not None:
            self._number = self._ledger.spend(protocol, what=what, entry=entry)

    def notes(self) -> Iterator[str]:
        """Marks the release as published, and says where the budget stands: for those who read the release.

        Never fails, since the release is there and cannot be made again.
        """
        if self._ledger is None:
            return
        budget, entry = self._ledger.budget, f"It is entry {self._number} of the ledger of {self._ledger.population}"
        try:
            with self:
                self._ledger.finish(self._number)
                standing = self._ledger.standing
        except DataError:
            yield f"{entry}, which could not be read afterwards."
            return
        used = share_at_most(standing.epsilon, digits=3)
        yield (
            f"{entry}: all its releases together have epsilon {used} of {budget.epsilon:g} at delta {budget.delta:g}, "
            f"and {standing.left_in_words}."
        )

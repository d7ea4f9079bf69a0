"""Answers that operators look up in the console, from the tallies of released batches.

Batches that are not released yet are left out: the ledger may have no entry for them.
"""

from __future__ import annotations

from shuffledp.collect.server.http import BoundedCache
from shuffledp.collect.store import TallyStore
from shuffledp.collect.store.tallies import from_bytes
from shuffledp.collect.task import Task
from shuffledp.collect.task.follow_up import LookedUp, check_lookup, counted_as, looked_up

_MOST_BYTES, _BYTES_OF_ONE = 2**20, 1_000
"""The memory of cached answers, about a thousand: each lookup reads all released tallies, which takes seconds."""


class Lookups:
    """Answers that operators look up: one at a time, and each once for every release."""

    def __init__(self, store: TallyStore) -> None:
        self._store = store
        self._cache: BoundedCache[LookedUp | None] = BoundedCache(most_bytes=_MOST_BYTES, size=lambda _: _BYTES_OF_ONE)

    def of(self, task: Task, answer: str) -> LookedUp | None:
        """Return the count of an answer in all released batches; None before the first release."""
        check_lookup(task, answer)
        releases = len(self._store.listed(task.id))
        return self._cache.get((task.id, releases, counted_as(task, answer)), lambda: self._look_up(task, answer))

    def _look_up(self, task: Task, answer: str) -> LookedUp | None:
        released = [kept for kept in self._store.tallies(task.id) if kept.released and kept.problem is None]
        if not released:
            return None
        return looked_up(task, [from_bytes(kept.tally) for kept in released], answer)

"""Releases, their history and the ledger for the console: rendered once, however often a page is requested."""

from __future__ import annotations

import hashlib
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from shuffledp.collect.server.cache import BoundedCache
from shuffledp.collect.store import KeptRelease, ListedRelease, TallyStore
from shuffledp.collect.task import Task
from shuffledp.collect.web.status import Fresh
from shuffledp.errors import ShuffledpError
from shuffledp.explain.history import MOST_RELEASES, MOST_VALUES, Past, history
from shuffledp.explain.html import render
from shuffledp.explain.ledger import left
from shuffledp.explain.page import parts
from shuffledp.histogram.intervals import Intervals
from shuffledp.ledger import Ledger, LedgerEntry, Standing
from shuffledp.release.release import Release

MOST_BYTES = 8 * 2**20
"""Size of the cache: more than a hundred releases. It is separate from the cache of files, so that requests for many
files do not evict the pages."""


class RenderedRelease(NamedTuple):
    """A release as markup: its result, and the guarantee with the conditions under which people were counted."""

    people: int
    version: str
    result: Markup
    conditions: Markup


def _size(rendered: RenderedRelease | None) -> int:
    return 0 if rendered is None else sys.getsizeof(rendered.result) + sys.getsizeof(rendered.conditions)


RENDERED: BoundedCache[RenderedRelease | None] = BoundedCache(most_bytes=MOST_BYTES, size=_size)


def rendered(kept: KeptRelease) -> RenderedRelease | None:
    """Render a release; None if this version cannot read it."""
    key = hashlib.sha256(kept.release).digest()  # the text itself may have megabytes
    return RENDERED.get(key, lambda: _rendered(kept.release))


def _rendered(content: bytes) -> RenderedRelease | None:
    release = read(content)
    if release is None:
        return None
    part = parts(release)
    result = part.result() + part.rank_chart() + part.value_table()
    return RenderedRelease(release.estimate.people, release.version, result, part.protection() + part.meaning())


def read(content: bytes) -> Release | None:
    """Read a stored release; None if it is damaged, or written by a newer version."""
    try:
        return Release.from_json(content.decode())
    except (ShuffledpError, ValueError):
        return None


class Histories:
    """The histories of tasks, rendered again only after a new release, by one thread.

    While rendering, only the few values that are drawn are kept of each release: thirty whole ones may have hundreds of
    megabytes.
    """

    def __init__(self, store: TallyStore) -> None:
        self._store = store
        self._known: dict[str, tuple[list[ListedRelease], Markup | None]] = {}
        self._rendering = threading.Lock()

    def of(self, task: Task) -> Markup | None:
        """Return a picture and a list of all releases; None if there are fewer than two.

        A request that arrives while the history is rendered gets the previous one and does not wait.
        """
        listed = self._store.listed(task.id)
        if len(listed) < 2:
            return None
        if self._of(task)[0] != listed and self._rendering.acquire(blocking=False):
            try:
                self._known[task.name] = listed, self._rendered(task, listed)
            finally:
                self._rendering.release()
        return self._of(task)[1]

    def _of(self, task: Task) -> tuple[list[ListedRelease], Markup | None]:
        return self._known.get(task.name, ([], None))

    def _rendered(self, task: Task, listed: list[ListedRelease]) -> Markup:
        past = list(self._past(task, [each.number for each in reversed(listed[-MOST_RELEASES:])]))
        releases = list(reversed(listed))
        return render(
            "console/history.html", package=__package__, task=task.name, history=history(past), releases=releases
        )

    def _past(self, task: Task, numbers: Iterable[int]) -> Iterator[Past]:
        """Yield the readable releases, each with only the values that are frequent in the first of them."""
        labels: list[Any] | None = None
        for number in numbers:
            kept = self._store.release(task.id, number)
            release = None if kept is None else read(kept.release)
            if kept is None or release is None:
                continue
            if labels is None:
                labels = [row.label for row in release.estimate.top(MOST_VALUES)]
            yield Past(kept.number, kept.made, release.estimate.people, _only(release, labels))


def _only(release: Release, labels: list[Any]) -> Release:
    """A release with some of its values."""
    estimate = release.estimate
    at = [place for place, label in enumerate(estimate) if label in labels]

    def cut(intervals: Intervals) -> Intervals:
        return replace(intervals, low=intervals.low[at], high=intervals.high[at])

    few = replace(
        estimate,
        symbols=estimate.labels[at],
        domain=None,  # a list of all values is as long as the release
        counts=estimate.counts[at],
        per_bin=cut(estimate.per_bin),
        simultaneous=cut(estimate.simultaneous),
    )
    return replace(release, estimate=few)


EVERY = 5.0
"""Seconds between two reads of the ledger: a task is entered once."""

_FIRST_WAIT = 2.0
"""Seconds that the first page waits: adding up a hundred entries takes one."""


class LedgerStatus:
    """The standing of a ledger: read again now and then, added up again only if it has changed. None is no ledger."""

    def __init__(self, ledger: Ledger | str | Path | None) -> None:
        self._ledger = ledger
        self._known: tuple[Sequence[LedgerEntry], Standing] | None = None
        self._fresh = Fresh(self._look, seconds=EVERY)

    def context(self) -> dict[str, Any]:
        """Return the state of the ledger for the template: "none", "loading", "unreadable" or "ready"."""
        if self._ledger is None:
            return {"state": "none"}
        found = self._fresh.latest(wait=_FIRST_WAIT)
        if found is None:
            return {"state": "loading"}
        return (
            {"state": "ready", "standing": found, "left": left(found)}
            if isinstance(found, Standing)
            else {"state": "unreadable"}
        )

    def _look(self) -> Standing | str:
        try:
            ledger = Ledger.of(self._ledger or "")
            entries = ledger.entries
            if self._known is None or self._known[0] != entries:
                self._known = entries, ledger.standing
            return self._known[1]
        except ShuffledpError:  # its message names a file of this machine
            return "unreadable"

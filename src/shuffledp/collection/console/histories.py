"""How the numbers went over the releases of a task: drawn again only when there is another release, and by one thread.

Of each release only the few values are kept meanwhile that are drawn: thirty whole ones may have hundreds of megabytes.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from shuffledp.collection.console.released import read
from shuffledp.collection.pages.markup import NOTHING, Html, html, joined, link, tag
from shuffledp.collection.stores import ListedRelease, TallyStore
from shuffledp.collection.task import Task
from shuffledp.jobs.release import Release
from shuffledp.pipeline.estimate import Intervals
from shuffledp.report.history import MOST_RELEASES, MOST_VALUES, Past, history
from shuffledp.words import counted, moment


class Histories:
    """The histories of tasks, from the store of their releases."""

    def __init__(self, store: TallyStore) -> None:
        self._store = store
        self._known: dict[str, tuple[list[ListedRelease], Html]] = {}
        self._drawing = threading.Lock()

    def of(self, task: Task) -> Html:
        """A picture, and a list of all releases; nothing where there is only one.

        Whoever comes while it is drawn is not kept waiting, and gets the one before.
        """
        listed = self._store.listed(task.id)
        if len(listed) < 2:
            return NOTHING
        if self._of(task)[0] != listed and self._drawing.acquire(blocking=False):
            try:
                self._known[task.name] = listed, self._drawn(task, listed)
            finally:
                self._drawing.release()
        return self._of(task)[1]

    def _of(self, task: Task) -> tuple[list[ListedRelease], Html]:
        return self._known.get(task.name, ([], NOTHING))

    def _drawn(self, task: Task, listed: list[ListedRelease]) -> Html:
        past = list(self._past(task, [each.number for each in reversed(listed[-MOST_RELEASES:])]))
        links = joined(
            tag("li", link(f"/tasks/{task.name}/releases/{each.number}", f"Release {each.number}, {_when(each)}"))
            for each in reversed(listed)
        )
        title = html(f"All {counted(len(listed), 'release')}")
        return Html(f"{history(past)}\n<details><summary>{title}</summary><ul>{links}</ul></details>")

    def _past(self, task: Task, numbers: Iterable[int]) -> Iterator[Past]:
        """Releases that can be read, each with the values only that are frequent in the first of them."""
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
        domain=None,  # the list of all values, which is as long
        counts=estimate.counts[at],
        per_bin=cut(estimate.per_bin),
        simultaneous=cut(estimate.simultaneous),
    )
    return replace(release, estimate=few)


def _when(listed: ListedRelease) -> str:
    return moment(listed.made)

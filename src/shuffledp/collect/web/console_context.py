"""What the templates of `templates/console/` show of a task, its release, its batches and its servers.

Releases, their history, the ledger and looked-up answers are computed once, however often a page is requested.
"""

from __future__ import annotations

import hashlib
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from shuffledp.collect.reasons import Reason
from shuffledp.collect.server.http import BoundedCache
from shuffledp.collect.store import CountedBatch, KeptRelease, ListedRelease, TallyStanding, TallyStore
from shuffledp.collect.store.tallies import from_bytes
from shuffledp.collect.task import AnswerText, Phase, Task
from shuffledp.collect.task.follow_up import LookedUp, check_lookup, counted_as, looked_up
from shuffledp.collect.task.servers import asker_fields
from shuffledp.collect.task.task import LONGEST_QUESTION
from shuffledp.collect.web.status import OTHER, Fresh, ShufflerHealth
from shuffledp.errors import ShuffledpError
from shuffledp.explain.history import MOST_RELEASES, MOST_VALUES, Past, history
from shuffledp.explain.html import render
from shuffledp.explain.ledger import left
from shuffledp.explain.page import parts
from shuffledp.formatting import shown
from shuffledp.histogram.intervals import Intervals
from shuffledp.ledger import Ledger, LedgerEntry, Standing
from shuffledp.release.release import Release

MOST_BATCHES = 200
"""Rows of the table of batches, the latest."""


@dataclass(frozen=True)
class Kept:
    """What the store holds of a task; nothing if it does not answer."""

    standing: TallyStanding | None = None
    latest: KeptRelease | None = None
    listed: Sequence[ListedRelease] = ()
    batches: Sequence[CountedBatch] = ()
    history: Markup | None = None


def task_context(task: Task, now: datetime, *, early: bool) -> dict[str, Any]:
    """A task for the templates; `phase` tells whether people can answer it, `early` that an operator closed it."""
    phase = task.phase(now.timestamp())
    return {
        "name": task.name,
        "question": shown(task.question, width=LONGEST_QUESTION),
        "asked": asker_fields(task),
        "phase": str(Phase.CLOSED if early else phase),
        "early": early and phase is not Phase.CLOSED,
        "opens": task.opens,
        "closes": task.closes,
        "users": task.users,
        "honest_users": task.honest_users,
        "protocol": task.protocol_used.name,
        "texts": isinstance(task.answers, AnswerText),
        "keys": [place.key for place in task.shufflers],
        "analyzer": task.analyzer,
    }


def release_context(kept: KeptRelease) -> dict[str, Any]:
    """A release for the templates."""
    return {"number": kept.number, "made": kept.made, "rendered": rendered(kept)}


def batch_context(task: Task, first: ShufflerHealth) -> dict[str, Any] | None:
    """The people who have reported and the batch that is filling; None if the first shuffler has never answered.

    `missing` is None once the task is closed. `short_by` is the number of people its last batch lacked.
    """
    status = first.status
    if status is None:
        return None
    missing = None if status.short_by is not None else max(0, task.users - status.waiting)
    return {
        "reported": status.reported(task.users),
        "waiting": status.waiting,
        "missing": missing,
        "here": None if missing is None else task.users - missing,
        "short_by": status.short_by or 0,
        "batches": status.batches,
        "tenths": 10 * min(status.waiting, task.users) // task.users,
    }


def problems_by_server(shufflers: Sequence[ShufflerHealth], own: Sequence[str]) -> list[tuple[str, str]]:
    """Each problem with the name of its server."""
    found = [("Analyzer", each) for each in own]
    for each in shufflers:
        name = server_name(each.position, len(shufflers))
        if each.problem is not None:
            found.append((name, each.problem))
        if each.status is not None and each.answers:
            found += [(name, problem) for problem in each.status.problems]
    return found


def server_name(position: int, shufflers: int) -> str:
    """The name of a shuffler, by its position from 0."""
    return "Shuffler" if shufflers == 1 else f"Shuffler {position + 1}"


def refusals(shufflers: Sequence[ShufflerHealth], standing: TallyStanding | None) -> list[tuple[str, str, int]]:
    """Place, reason and number of refusals: reports and requests at shufflers, messages and batches here."""
    rows = [
        (server_name(each.position, len(shufflers)), _meaning(reason), number)
        for each in shufflers
        if each.status is not None
        for reason, number in _by_number(each.status.refused)
    ]
    if standing is not None:
        rows += [("Analyzer, messages", _meaning(why), number) for why, number in _by_number(standing.refused)]
        if standing.problems:
            rows.append(("Analyzer, batches", Reason.TOO_FEW_MESSAGES.meaning, standing.problems))
    return rows


def latest_batches(kept: Kept) -> list[dict[str, Any]]:
    """The latest batches, each with its release."""
    made = {each.number: each.made for each in kept.listed}
    return [
        {
            "problem": None if batch.problem is None else _meaning(batch.problem),
            "release": batch.release,
            "made": made.get(batch.release) if batch.release is not None else None,
            "people": batch.people,
            "refused": sum(batch.refused.values()),
        }
        for batch in reversed(kept.batches[-MOST_BATCHES:])
    ]


def _meaning(reason: str) -> str:
    if reason == OTHER:
        return "Other reasons."
    try:
        return Reason(reason).meaning
    except ValueError:  # stored by a newer version
        return "Another reason."


def _by_number(refused: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(refused.items(), key=lambda each: (-each[1], each[0]))


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
    return RenderedRelease(
        release.estimate.people, release.version, result, part.protection() + part.meaning(folded=True)
    )


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


_LOOKUP_BYTES, _BYTES_OF_ONE = 2**20, 1_000
"""The memory of cached answers, about a thousand: each lookup reads all released tallies, which takes seconds."""


class Lookups:
    """Answers that operators look up, from the tallies of released batches: each once for every release.

    Batches that are not released yet are left out: the ledger may have no entry for them.
    """

    def __init__(self, store: TallyStore) -> None:
        self._store = store
        self._cache: BoundedCache[LookedUp | None] = BoundedCache(
            most_bytes=_LOOKUP_BYTES, size=lambda _: _BYTES_OF_ONE
        )

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

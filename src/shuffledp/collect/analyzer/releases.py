"""From tallies to releases, and releases as files.

Each person answers a task once and is in one batch, so all releases of a task together have the guarantee of one batch
(`ShuffledHistogram.joined`). The ledger therefore gets one entry per task, before its first release. The entry is found
again by the task's id: an analyzer that stopped between ledger and release publishes later without spending again.
Nothing random happens here, so making a release again gives the same release.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from operator import add
from pathlib import Path

from shuffledp.collect.server.cache import BoundedCache
from shuffledp.collect.server.observability import log, log_error
from shuffledp.collect.store import KeptTally, TallyStore
from shuffledp.collect.store.tallies import from_bytes
from shuffledp.collect.task import Task
from shuffledp.collect.task.task import BETA
from shuffledp.collect.web.assets import HEADERS, policy
from shuffledp.errors import DataError
from shuffledp.explain.collected import Collected, collected_notes, collected_warnings
from shuffledp.explain.files import ARROW, FORMATS, Format
from shuffledp.explain.html import style_source
from shuffledp.explain.plan import warnings
from shuffledp.histogram.tally import Tally
from shuffledp.ledger import Ledger
from shuffledp.protocols.catalogue import CATALOGUE
from shuffledp.protocols.shuffled_histogram import chance_of_more
from shuffledp.release.plan_rows import detection_limit
from shuffledp.release.release import Release

_MADE: dict[str, Format] = {
    "csv": FORMATS[".csv"],
    "arrow": ARROW,
    "parquet": FORMATS[".parquet"],
    "html": FORMATS[".html"],
}
"""Formats that are made from the stored JSON."""

JSON = "json"
"""The ending of the stored release, which is served byte for byte."""

ENDINGS = (JSON, *_MADE)

MOST_BYTES = 24 * 2**20
"""Size of the cache: all formats of hundreds of usual releases, or ten tables of 20,000 answers. Together with the
cache of the console it is 32 MB."""


class Files:
    """The files of releases, cached by format."""

    def __init__(self, *, most_bytes: int = MOST_BYTES) -> None:
        self._cache: BoundedCache[bytes] = BoundedCache(most_bytes=most_bytes, size=len)

    def get(self, task: Task, number: int, ending: str, release: Callable[[], bytes]) -> bytes:
        """Return a file; `release` returns the stored JSON and is called only if the file is not cached."""
        make = _MADE[ending].content
        return self._cache.get((task.id, number, ending), lambda: make(Release.from_json(release().decode())))


def media_type(ending: str) -> str:
    """Return the media type of a format."""
    return FORMATS[".json"].media_type if ending == JSON else _MADE[ending].media_type


def headers_for(ending: str) -> Mapping[str, str]:
    """Return headers for a browser: a report uses its own style, and runs, loads and sends nothing."""
    if ending != "html":
        return HEADERS
    return {**HEADERS, "content-security-policy": policy(styles=(style_source(),), scripts=False, forms=False)}


def file_name(task: Task, number: int, ending: str) -> str:
    """Return the name of a release file: the task's id, never text from outside."""
    return f"shuffledp-{task.name[:12]}-release-{number}.{ending}"


def saved_as(task: Task, number: int, ending: str | None) -> Mapping[str, str]:
    """Return the header that names a downloaded file; a request without an ending is not a download."""
    if ending is None:
        return {}
    how = "inline" if ending == "html" else "attachment"
    return {"content-disposition": f'{how}; filename="{file_name(task, number, ending)}"'}


def release_of(
    task: Task,
    tallies: Sequence[Tally],
    *,
    refused: Mapping[str, int],
    beta: float = BETA,
    ledger: str | None = None,
    left_out: int = 0,
) -> Release:
    """Return the release of one batch, or of several joined. Each tally must have passed `worker.check_noise`.

    `refused` counts messages by reason; `ledger` names the population of the ledger that has an entry for the task;
    `left_out` batches had too few messages.
    """
    entry, protocol = CATALOGUE[task.protocol_used.name], task.protocol.joined(len(tallies))
    together = reduce(add, tallies)
    estimate = protocol.estimate(together, beta=beta, reports=protocol.users, domain=task.labels, forged=True)
    error = protocol.error(beta).simultaneous
    facts = Collected(
        task=task.name,
        protocol=entry.title,
        false_positives=entry.false_positives,
        answers=task.answers.size,
        batches=len(tallies),
        users=task.users,
        honest_users=task.honest_users,
        shufflers=len(task.shufflers),
        admission=task.admission,
        most_messages=task.most_messages,
        padded=task.padded,
        chance_of_more=chance_of_more(task.protocol, task.most_messages),
        refused=refused,
        surplus=any(task.protocol.fewest_reports(tally) > task.users for tally in tallies),
        short=any(task.protocol.most_reports(tally) < task.users for tally in tallies),
        ledger=ledger,
        left_out=left_out,
    )
    return Release(
        estimate=estimate,
        protocol=protocol,
        title=entry.title,
        column=task.question,
        messages=together.messages,
        error=error,
        detection_limit=detection_limit(error, false_positives=True)
        if entry.false_positives
        else estimate.simultaneous.unreported_high + 1,
        notes=tuple(collected_notes(facts)),
        warnings=(
            *collected_warnings(facts),
            *warnings(users=protocol.users, delta=task.guarantee.delta, error=error),
        ),
        asked={"task": task.name, "batches": len(tallies)},
    )


def entered_as(task: Task) -> str:
    """Return the name of a task in the ledger; it begins with the task's id, which is unique."""
    return f"task {task.name} {task.question}"


class Releasing:
    """The releases of one task: one per batch or, if `joined`, each of all batches so far."""

    def __init__(
        self, task: Task, store: TallyStore, *, ledger: Ledger | str | Path | None = None, joined: bool = False
    ) -> None:
        self._task, self._store, self._joined = task, store, joined
        self._ledger = None if ledger is None else Ledger.of(ledger)
        _ = task.labels  # fails at once if the list of answers is missing

    def release(self) -> int:
        """Release the batches that are not released yet; return the number of new releases."""
        good = [kept for kept in self._store.tallies(self._task.id) if kept.problem is None]
        new = [kept for kept in good if not kept.released]
        if not new:
            return 0
        batches = [good] if self._joined else [[kept] for kept in new]
        for each in batches:
            self._publish(each)
        return len(batches)

    def _publish(self, batches: Sequence[KeptTally]) -> None:
        made = release_of(
            self._task,
            [from_bytes(kept.tally) for kept in batches],
            refused=_together(kept.refused for kept in batches),
            ledger=None if self._ledger is None else self._ledger.population,
        )
        text = made.to_json().encode()
        entry = self._enter()
        number = self._store.keep_release(self._task.id, release=text, batches=[kept.batch_id for kept in batches])
        log("released", task=self._task.id, release=number, batches=len(batches), people=made.protocol.users)
        self._finish(entry)

    def _enter(self) -> int | None:
        """Enter the task in the ledger, as the last step before a release becomes visible."""
        if self._ledger is None:
            return None
        catalogued = CATALOGUE[self._task.protocol_used.name]
        return self._ledger.spend(self._task.protocol, what=entered_as(self._task), entry=catalogued, once=True)

    def _finish(self, entry: int | None) -> None:
        if self._ledger is None or entry is None:
            return
        try:
            self._ledger.finish(entry)
        except DataError as error:  # only the mark is missing: the budget is spent and the release is visible
            log_error("the ledger was not marked", error, task=self._task.id)


def _together(refused: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for each in refused:
        for reason, number in each.items():
            total[reason] = total.get(reason, 0) + number
    return total

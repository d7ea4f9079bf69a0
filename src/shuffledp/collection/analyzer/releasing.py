"""From tallies to releases: entered in the ledger once for each task, and only then visible.

Everybody answers a task once and is in one batch, so all releases of a task together have the promise of one batch
(`ShuffledHistogram.joined`), and the ledger is entered once, before the first of them. It is entered under the task's
id, by which it is found again: whoever is stopped between the ledger and the release publishes later without spending
again. Nothing that is released is drawn here, so a release that is made again is the same one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import add
from pathlib import Path

from shuffledp.collection.analyzer import release_words
from shuffledp.collection.analyzer.tally_bytes import from_bytes
from shuffledp.collection.service.logs import log, log_error
from shuffledp.collection.stores import KeptTally, TallyStore
from shuffledp.collection.task import Task
from shuffledp.collection.task.task import BETA
from shuffledp.errors import DataError
from shuffledp.jobs.advice import warnings
from shuffledp.jobs.release import Release
from shuffledp.jobs.rows import surely_seen
from shuffledp.ledger import Ledger
from shuffledp.pipeline.tally import Tally
from shuffledp.protocols.catalogue import CATALOGUE


def release_of(
    task: Task, tallies: Sequence[Tally], *, refused: Mapping[str, int], beta: float = BETA, more: Iterable[str] = ()
) -> Release:
    """The release of one batch, or of several joined; `refused` counts messages by reason, `more` are further notes.

    Each tally must have passed `counting.check_noise`.
    """
    entry, protocol = CATALOGUE[task.protocol_used.name], task.protocol.joined(len(tallies))
    together = reduce(add, tallies)
    estimate = protocol.estimate(together, beta=beta, reports=protocol.users, domain=task.labels, forged=True)
    error = protocol.error(beta).simultaneous
    amiss = release_words.warnings(
        task,
        surplus=any(task.protocol.fewest_reports(tally) > task.users for tally in tallies),
        short=any(task.protocol.most_reports(tally) < task.users for tally in tallies),
        refused=refused,
    )
    return Release(
        estimate=estimate,
        protocol=protocol,
        title=entry.title,
        column=task.question,
        messages=together.messages,
        error=error,
        surely_seen=surely_seen(error, phantoms=True) if entry.phantoms else estimate.simultaneous.unreported_high + 1,
        notes=(*release_words.notes(task, batches=len(tallies), refused=refused), *more),
        warnings=(*amiss, *warnings(users=protocol.users, delta=task.guarantee.delta, error=error)),
        asked={"task": task.name, "batches": len(tallies)},
    )


def entered_as(task: Task) -> str:
    """What the ledger calls a task: first its id, which no other task has."""
    return f"task {task.name} {task.question}"


class Releasing:
    """The releases of one task: of every batch by itself, or `joined`, each of all batches so far."""

    def __init__(
        self, task: Task, store: TallyStore, *, ledger: Ledger | str | Path | None = None, joined: bool = False
    ) -> None:
        self._task, self._store, self._joined = task, store, joined
        self._ledger = None if ledger is None else Ledger.of(ledger)
        _ = task.labels  # a list of answers that is not here is noticed at once

    def release(self) -> int:
        """Releases the batches that wait for it; how many releases became visible."""
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
            more=() if self._ledger is None else [_entered_in_words(self._ledger)],
        )
        text = made.to_json().encode()
        entry = self._enter()
        number = self._store.keep_release(self._task.id, release=text, batches=[kept.batch_id for kept in batches])
        log("released", task=self._task.id, release=number, batches=len(batches), people=made.protocol.users)
        self._finish(entry)

    def _enter(self) -> int | None:
        """Nothing is visible yet, and everything else has been done."""
        if self._ledger is None:
            return None
        catalogued = CATALOGUE[self._task.protocol_used.name]
        return self._ledger.spend(self._task.protocol, what=entered_as(self._task), entry=catalogued, once=True)

    def _finish(self, entry: int | None) -> None:
        if self._ledger is None or entry is None:
            return
        try:
            self._ledger.finish(entry)
        except DataError as error:  # for information only: it is spent, and the release is there
            log_error("the ledger was not marked", error, task=self._task.id)


def _entered_in_words(ledger: Ledger) -> str:
    return (
        f"The ledger of {ledger.population} counts the task once, however many of its batches are released: everybody "
        "answers it once."
    )


def _together(refused: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for each in refused:
        for reason, number in each.items():
            total[reason] = total.get(reason, 0) + number
    return total

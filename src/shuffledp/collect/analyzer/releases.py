"""From tallies to releases: each is entered in the ledger once per task, before it becomes visible."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from pathlib import Path

from shuffledp.collect.server.observability import Event, log, log_error
from shuffledp.collect.store import KeptTally, TallyStore
from shuffledp.collect.store.tallies import from_bytes
from shuffledp.collect.task import AnswerChoices, AnswerEdges, AnswerText, Task
from shuffledp.collect.task.answers import NONE, OTHER, kind_of
from shuffledp.collect.task.servers import asker_fields, on_one_host
from shuffledp.collect.task.task import BETA
from shuffledp.errors import DataError
from shuffledp.explain.collected import Collected, collected_notes, collected_warnings
from shuffledp.histogram.estimate import Estimate
from shuffledp.histogram.facts import Cap
from shuffledp.histogram.ordered_estimate import SHARES, OrderedEstimate
from shuffledp.histogram.tally import Tally
from shuffledp.histogram.text_code import TextCode
from shuffledp.ledger import Ledger
from shuffledp.progress import Progress, quiet
from shuffledp.protocols.catalogue import CATALOGUE, Entry
from shuffledp.protocols.free_text import FreeText
from shuffledp.protocols.protocol import HistogramProtocol
from shuffledp.protocols.shuffled.hashed import HashedHistogram
from shuffledp.protocols.shuffled_histogram import chance_of_more
from shuffledp.release.choose import in_units
from shuffledp.release.notes import cautions, released_error, released_limit, standing_out
from shuffledp.release.plan_rows import RANGES
from shuffledp.release.release import Release


def release_of(
    task: Task,
    tallies: Sequence[Tally],
    *,
    refused: Mapping[str, int],
    beta: float = BETA,
    ledger: str | None = None,
    left_out: int = 0,
    processes: int | None = None,
    progress: Progress = quiet,
) -> Release:
    """Return the release of one batch, or of several joined. Each tally must have passed `worker.check_noise`.

    `refused` counts messages by reason; `ledger` names the population of the ledger that has an entry for the task;
    `left_out` batches had too few messages. Texts are searched in `processes` threads, by default one per core.
    """
    entry, protocol = entry_of(task), task.released_by(len(tallies))
    together = reduce(add, tallies)
    if isinstance(task.answers, AnswerText):
        estimate = _texts(task.answers.code, protocol, together, beta=beta, processes=processes, progress=progress)
    else:
        estimate = protocol.estimate(together, beta=beta, reports=protocol.users, domain=task.labels, forged=True)
        if isinstance(task.answers, AnswerEdges):
            estimate = in_units(estimate, task.answers.intervals, shares=_shares(task.answers))
        elif (ranges := task.ranges(len(tallies))) is not None:
            estimate = ranges.in_order(estimate, ordered=task.answers.size)  # (other) and (none) are no numbers
        else:
            estimate = standing_out(estimate, protocol, always=(OTHER, NONE))
        if isinstance(task.answers, AnswerChoices):
            estimate = replace(estimate, cap=Cap(values=task.answers.most))
    error = released_error(estimate, protocol)
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
        kind=kind_of(task.answers),
        quantiles=isinstance(estimate, OrderedEstimate),
        one_host=on_one_host(task),
        text=task.answers.code if isinstance(task.answers, AnswerText) else None,
        reach=task.protocol.reach,
        planted=_planted(estimate, task),
        round=None if task.series is None else (task.series.round, task.series.id),
    )
    return Release(
        estimate=estimate,
        protocol=protocol,
        title=entry.title,
        column=task.question,
        messages=together.messages,
        error=error,
        detection_limit=released_limit(estimate, error, false_positives=entry.false_positives),
        notes=tuple(collected_notes(facts)),
        warnings=(
            *collected_warnings(facts),
            *cautions(users=protocol.users, delta=task.guarantee.delta, error=error),
        ),
        asked={
            "task": task.name,
            "batches": len(tallies),
            **asker_fields(task),
            **({} if task.series is None else {"series": task.series.id, "round": task.series.round}),
        },
    )


def _shares(answers: AnswerEdges) -> tuple[float, ...]:
    """The shares of the quantiles that a release shows: those of the task and the median, or the usual ones."""
    return tuple(sorted({0.5, *answers.shares})) if answers.shares else SHARES


def _texts(
    code: TextCode,
    protocol: HistogramProtocol,
    tally: Tally,
    *,
    beta: float,
    processes: int | None,
    progress: Progress,
) -> Estimate:
    """Search the texts that many people of all batches share."""
    assert isinstance(protocol, HashedHistogram)
    return FreeText(code=code, protocol=protocol).estimate(
        tally,
        beta=beta,
        reports=protocol.users,
        forged=True,
        processes=processes or os.cpu_count() or 1,
        progress=progress,
    )


def _planted(estimate: Estimate, task: Task) -> int | None:
    """The number of forged reports that are enough to show a value that nobody holds; None if all values are shown."""
    if estimate.detection is None:
        return None
    levels = task.answers.levels if isinstance(task.answers, AnswerText) else 1
    return math.ceil(estimate.detection.limit * levels / task.most_messages)


_RANGES = replace(RANGES, choices={"dummies": "poisson"})


def entry_of(task: Task) -> Entry:
    """Return the catalogue's entry of the protocol that is released."""
    return _RANGES if task.tree is not None else CATALOGUE[task.protocol_used.name]


def entered_as(task: Task) -> str:
    """Return the name of a task in the ledger; it begins with the task's id, which is unique."""
    return f"task {task.name} {task.question}"


def check_tasks_fit(ledger: Ledger, tasks: Sequence[Task]) -> None:
    """Raise BudgetError if the releases of these tasks do not fit the ledger together."""
    ledger.check_fits(
        {entered_as(task): task.released_by() for task in tasks},
        entries={entered_as(task): entry_of(task) for task in tasks},
    )


class Releasing:
    """The releases of one task: one per batch or, if `joined`, each of all batches so far."""

    def __init__(
        self,
        task: Task,
        store: TallyStore,
        *,
        ledger: Ledger | str | Path | None = None,
        joined: bool = False,
        processes: int | None = None,
    ) -> None:
        self._task, self._store, self._joined, self._processes = task, store, joined, processes
        self._ledger = None if ledger is None else Ledger.of(ledger)
        _ = task.labels  # fails at once if the list of answers is missing

    def release(self, progress: Progress = quiet) -> int:
        """Release the batches that are not released yet; return the number of new releases.

        A search for texts takes seconds to minutes. `progress` may stop it by an exception: nothing is spent then.
        """
        good = [kept for kept in self._store.tallies(self._task.id) if kept.problem is None]
        new = [kept for kept in good if not kept.released]
        if not new:
            return 0
        batches = [good] if self._joined else [[kept] for kept in new]
        for each in batches:
            self._publish(each, progress)
        return len(batches)

    def _publish(self, batches: Sequence[KeptTally], progress: Progress) -> None:
        if isinstance(self._task.answers, AnswerText):
            self._check_budget()  # before a search that may take minutes
        refused: Counter[str] = Counter()
        for kept in batches:
            refused.update(kept.refused)
        made = release_of(
            self._task,
            [from_bytes(kept.tally) for kept in batches],
            refused=dict(refused),
            ledger=None if self._ledger is None else self._ledger.population,
            processes=self._processes,
            progress=progress,
        )
        text = made.to_json().encode()
        entry = self._enter()
        number = self._store.keep_release(self._task.id, release=text, batches=[kept.batch_id for kept in batches])
        log(Event.RELEASED, task=self._task.id, release=number, batches=len(batches), people=made.protocol.users)
        self._finish(entry)

    def _check_budget(self) -> None:
        """Raise an error if the task does not fit the budget of the ledger."""
        if self._ledger is not None:
            check_tasks_fit(self._ledger, [self._task])

    def _enter(self) -> int | None:
        """Enter the task in the ledger, as the last step before a release becomes visible."""
        if self._ledger is None:
            return None
        return self._ledger.spend(
            self._task.released_by(), what=entered_as(self._task), entry=entry_of(self._task), once=True
        )

    def _finish(self, entry: int | None) -> None:
        if self._ledger is None or entry is None:
            return
        try:
            self._ledger.finish(entry)
        except DataError as error:  # only the mark is missing: the budget is spent and the release is visible
            log_error(Event.LEDGER_NOT_MARKED, error, task=self._task.id)

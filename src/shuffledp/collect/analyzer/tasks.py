"""The tasks of an analyzer while it runs: which it counts, which it only shows, and the background work on each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shuffledp.collect.analyzer.settings import Served, Settings
from shuffledp.collect.analyzer.worker import BatchAnalyzer
from shuffledp.collect.server.background import Work
from shuffledp.collect.server.registry import Host, NoAnswerError
from shuffledp.collect.server.settings import stored_tasks, warn_of_shared_keys
from shuffledp.collect.store import TallyStore
from shuffledp.collect.task import Phase, Series, Task
from shuffledp.collect.task.series import tasks_of
from shuffledp.collect.web.status import ShufflerHealth
from shuffledp.errors import ParameterError
from shuffledp.formatting import counted


@dataclass(frozen=True)
class Shown:
    """A task that is shown, and counted if `served` is given."""

    task: Task
    served: Served | None = None


class ShownTasks(Host[Shown]):
    """The tasks of an analyzer.

    `shufflers` gives the health of the shufflers of a task, and `ask_reported` asks the first one for its number of
    reports.
    """

    work_on: dict[str, BatchAnalyzer]
    _store: TallyStore

    def __init__(
        self,
        settings: Settings,
        *,
        shufflers: Callable[[Task], Iterable[ShufflerHealth]],
        ask_reported: Callable[[Task], int | None],
    ) -> None:
        self._settings = settings
        self._shufflers, self._ask_reported = shufflers, ask_reported
        items = [*(Shown(each.task, each) for each in settings.served), *map(Shown, settings.only_shown)]
        super().__init__(settings, items)

    @property
    def tasks(self) -> Mapping[str, Task]:
        """All tasks."""
        return self.registry.tasks

    def open(
        self, asked: Task | Series, others: Sequence[Shown], *, new: bool, is_over: Callable[[Task], bool]
    ) -> Sequence[Shown]:
        """Read the keys again; a file of the store whose key was destroyed is only shown."""
        if self._settings.options is None:
            raise ParameterError("this analyzer was started without keys of further tasks: no task can be added")
        known = [each.task for each in others]
        earlier = stored_tasks(self._store.files) if new else ()
        served, shown = self._settings.options.served(
            tasks_of(asked), known, earlier=earlier, keys_needed=new, is_over=is_over
        )
        if new:
            self._settings.check_ledger([*known, *tasks_of(asked)])
            counted_too = [each.served for each in others if each.served is not None]
            warn_of_shared_keys([*counted_too, *served])
        return [*(Shown(each.task, each) for each in served), *map(Shown, shown)]

    def works_on(self, item: Shown) -> bool:
        """An analyzer is one process; it counts the tasks of which it has the key."""
        return item.served is not None

    def work(self, item: Shown) -> Work:
        """Pull, count and release the batches of a task."""
        assert item.served is not None
        task = item.task
        work = BatchAnalyzer(item.served, self._settings, ask_reported=lambda: self._ask_reported(task))
        self.work_on[task.name] = work
        return work

    def unfinished(self, task: Task, *, ask_others: bool) -> str | None:
        """What a closed task still waits for."""
        begun = task.phase(self._settings.clock()) is not Phase.BEFORE
        if ask_others and begun and self._may_count(task) and (waits := self._waits_upstream(task)) is not None:
            return waits
        waiting = sum(batch.problem is None and batch.release is None for batch in self._store.batches(task.id))
        if waiting and not self._is_withheld(task):
            return f"{counted(waiting, 'batch', things='batches')} counted, but not released yet."
        return None

    def _is_withheld(self, task: Task) -> bool:
        # no key, or the last release exceeded the ledger or was stopped; after a task, both last
        shown, work = self.registry.items.get(task.name), self.work_on.get(task.name)
        return work.withheld if work is not None else shown is None or shown.served is None

    def _may_count(self, task: Task) -> bool:
        """Whether further batches of a task can be opened here."""
        found = self.registry.items.get(task.name)
        return found is not None and found.served is not None and not found.served.key.destroyed

    def _waits_upstream(self, task: Task) -> str | None:
        """A sentence if a shuffler has batches, or may get some; a task that one does not know was removed there."""
        for each in self._shufflers(task):
            if each.lacks_task:
                continue
            if not each.answers or each.status is None:
                raise NoAnswerError(f"Shuffler {each.position + 1}")
            if each.position == 0 and each.status.short_by is None:
                return "The first shuffler has not closed the task: its operator can close it early there."
            if left := each.status.batches - each.status.acknowledged:
                which = f"Shuffler {each.position + 1}"
                return f"{which} still has {counted(left, 'batch', things='batches')} that were not fetched."
        return None

    def counters(self, task: Task) -> Mapping[str, Any]:
        """Public counters of a task."""
        standing = self._store.standing(task.id)
        return {
            "batches": standing.batches - standing.problems,
            "people": standing.people,
            "releases": standing.releases,
        }

"""The tasks that a process serves: those of its start, and those that operators add, close early and remove.

The store decides, so that all processes and machines of a server agree. Each looks at it every half second and begins
or ends its work on a task; requests in flight are not interrupted. A file is a task or a series: a series is added,
closed and removed with all its rounds. Closing early does what the closing time does, at another moment.
docs/reference/endpoints.md, "Operators", has the rules.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from shuffledp.collect.reasons import Reason, Refused
from shuffledp.collect.server.background import Background, SeriesWork, Work
from shuffledp.collect.server.observability import Event, log, log_error, round_times
from shuffledp.collect.server.settings import MissingKeyError, SharedSettings, check_guarantee
from shuffledp.collect.server.storage import KEY_GONE
from shuffledp.collect.store import FileState, Store, StoreError
from shuffledp.collect.task import Phase, Series, Task, read_task_or_series
from shuffledp.collect.task.public_file import is_hexadecimal, moment_in_text
from shuffledp.collect.task.series import tasks_of
from shuffledp.errors import ParameterError, ShuffledpError, TaskError


class HasTask(Protocol):
    """A task with what it needs to be served."""

    @property
    def task(self) -> Task:
        """The task."""


Item = TypeVar("Item", bound=HasTask)

RETRY_AFTER = 30.0
"""Seconds before a file that cannot be served is tried again: its key may arrive on this machine later."""

CLOSED_EARLY = "closed-early"
"""The state of a file that an operator closed; otherwise it is a phase: before, open or closed."""


class Host(ABC, Generic[Item]):
    """The tasks of a shuffler or an analyzer while it runs: what the registry needs of them.

    `work_on` has the work of this process by the name of the task; that on a round of a series begins when it opens.
    """

    work_on: dict[str, Any]
    _store: Store

    def __init__(self, settings: SharedSettings, items: Sequence[Item]) -> None:
        self._store, self.work_on = settings.store, {}
        self.registry: Registry[Item] = Registry(self, settings, items)

    @abstractmethod
    def open(
        self, asked: Task | Series, others: Sequence[Item], *, new: bool, is_over: Callable[[Task], bool]
    ) -> Sequence[Item]:
        """Return the items of a file; raise an error if it cannot be served beside the others.

        Only a `new` file is checked as at the start. A task that `is_over` needs no key: it has no item, or one that is
        only shown.
        """

    def prepare(self, items: Sequence[Item]) -> None:
        """Register tasks in the store."""
        self._store.prepare(*(item.task for item in items))

    @abstractmethod
    def works_on(self, item: Item) -> bool:
        """Whether this process does the background work on a task."""

    @abstractmethod
    def work(self, item: Item) -> Work:
        """Begin the background work on a task."""

    def changed(self, registry: Registry[Item]) -> None:
        """Take notice of the tasks that are served now; forget the work on those that were removed."""
        for name in self.work_on.keys() - registry.items.keys():
            del self.work_on[name]

    def refresh_admission(self) -> None:
        """Read from the store which secrets operators have added; an analyzer admits no reports."""

    def close_early(self, task: Task) -> None:
        """Close a task early in the store; an analyzer goes on counting, since batches in flight still arrive."""

    def close_unserved(self, task: Task) -> None:
        """End a closed task that cannot be served, if the store has reports of it; an analyzer has none."""

    def discard_unserved(self, task: Task) -> None:
        """Delete the batches of a task that cannot be served; an analyzer has none to forward."""

    @abstractmethod
    def unfinished(self, task: Task, *, ask_others: bool) -> str | None:
        """A sentence on what a closed task still waits for; None if all its batches are done.

        Raise NoAnswerError if a server before this one does not answer. Servers before this one are asked first: what
        they no longer have is in the store here by then. With `ask_others` off, none is asked, and batches of a task
        that cannot be served do not count.
        """

    @abstractmethod
    def counters(self, task: Task) -> Mapping[str, Any]:
        """Public counters of a task, as in its status."""


class NoAnswerError(Refused):
    """A server before this one does not say whether it has batches of a task that is to be removed."""

    def __init__(self, server: str) -> None:
        super().__init__(
            Reason.NOT_FINISHED,
            f"{server} does not answer, and may have batches that are not here yet. Try again later, or remove the "
            "task unchecked.",
        )


NOT_SERVED = "This server cannot serve the task: the list of tasks tells its operator why."


@dataclass(kw_only=True, eq=False)
class Entry(Generic[Item]):
    """A file that is served; `problem` tells operators why it cannot be, in this process."""

    asked: Task | Series
    items: Sequence[Item] = ()
    closed_early: bool = False
    problem: str | None = None
    lacks_key: bool = False
    retry: float = 0.0
    thread: Background | None = field(default=None, repr=False)

    def state(self, now: float) -> str:
        """The phase of the file, or that it was closed early."""
        phase = self.asked.phase(now)
        return CLOSED_EARLY if self.closed_early and phase is not Phase.CLOSED else str(phase)

    def is_closed(self, now: float) -> bool:
        """Whether no report is accepted any more."""
        return self.closed_early or self.asked.phase(now) is Phase.CLOSED

    @property
    def public_problem(self) -> str:
        """The problem without its details, which may name files."""
        return KEY_GONE if self.lacks_key else NOT_SERVED


class Registry(Generic[Item]):
    """The files and tasks of a process, at first those of the settings.

    `tasks`, `items`, `unserved` and `closed_early` are by the name of the task, `series` by its own; each is replaced
    as a whole, so readers need no lock. The event loop must not wait for the lock, which is held while the store is
    asked.
    """

    def __init__(self, host: Host[Item], settings: SharedSettings, items: Sequence[Item]) -> None:
        self._files, self._host = settings.store.files, host
        self._every, self._clock = settings.every, settings.clock
        self._changing = threading.RLock()
        self._states: Mapping[bytes, FileState] = {}
        self._started, self._next_ending = False, 0.0
        self._ending: list[Background] = []
        self._threads: tuple[Background, ...] = ()
        self._entries: dict[str, Entry[Item]] = {}
        asked: list[Task | Series] = [*settings.series, *settings.unserved]
        for one in asked:
            mine = [each for each in items if (of := each.task.series) is not None and of.id == one.name]
            self._entries[one.name] = Entry(asked=one, items=mine)
        for each in items:
            if each.task.series is None or each.task.series.id not in self._entries:
                self._entries[each.task.name] = Entry(asked=each.task, items=[each])
        self._watching = Background(self, every=self._every)
        self._publish()

    tasks: Mapping[str, Task]
    items: Mapping[str, Item]
    unserved: Mapping[str, tuple[Task, Entry[Item]]]
    series: Mapping[str, Series]
    closed_early: frozenset[str]

    @property
    def entries(self) -> list[Entry[Item]]:
        """All files that are not removed."""
        with self._changing:
            return list(self._entries.values())

    @property
    def working(self) -> bool:
        """Whether all background threads run."""
        return self._watching.alive and all(thread.alive for thread in self._threads)

    @property
    def problems(self) -> dict[str, list[str]]:
        """The public problem of each file that is not closed and cannot be served."""
        now, found = self._clock(), {id(entry): entry for _, entry in self.unserved.values()}
        return {each.asked.name: [each.public_problem] for each in found.values() if not each.is_closed(now)}

    def refusal(self, name: str) -> Refused:
        """The answer to requests for a task that is not served: it may be later, with its key."""
        task, entry = self.unserved.get(name, (None, None))
        if task is None or entry is None or entry.closed_early or task.phase(self._clock()) is Phase.CLOSED:
            return Refused(Reason.UNKNOWN_TASK)
        return Refused(Reason.UNAVAILABLE, entry.public_problem)

    def is_closed(self, task: Task) -> bool:
        """Whether a task accepts no report any more."""
        return task.name in self.closed_early or task.phase(self._clock()) is Phase.CLOSED

    def start(self) -> None:
        """Begin to work on the tasks of the start and of the store, and watch the store."""
        with self._changing:
            self._started = True
            self.update()
            for entry in self._entries.values():
                self._begin(entry)
            self._publish_threads()
        self._watching.start()

    def stop(self) -> None:
        """End all background work."""
        self._watching.stop()
        threads = [entry.thread for entry in self.entries if entry.thread is not None]
        for thread in threads:
            thread.interrupt()
        for thread in (*threads, *self._ending):
            thread.stop()

    def step(self, stopping: threading.Event) -> bool:
        """Look at the store, as background work."""
        self.update()
        self._host.refresh_admission()
        return False

    def update(self) -> None:
        """Follow the store."""
        with self._changing:
            states, now = self._files.states(), time.monotonic()
            self._ending = [thread for thread in self._ending if thread.alive]  # each refers to the key of its task
            again = [each.asked.id for each in self._entries.values() if not each.items and each.retry <= now]
            changed = [key for key, state in states.items() if self._states.get(key) is not state]
            for key in dict.fromkeys([*changed, *again]):
                try:
                    self._follow(key, states)
                except TaskError as error:  # of a later version: a process that knows it has added it to this store
                    log_error(Event.TASK_NOT_SERVED, error, task=key)
            self._states = states
            if changed or again:
                for entry in self._entries.values():
                    entry.closed_early |= _was_closed_with_series(entry.asked, states)
                self._publish()
                for thread in self._ending:
                    thread.interrupt()  # not stopped: it may wait for another server
            if changed or self._next_ending <= now:
                for entry in self._entries.values():
                    self._end_unserved(entry)
                self._next_ending = now + RETRY_AFTER

    def _follow(self, key: bytes, states: Mapping[bytes, FileState]) -> None:
        name, entry, state = key.hex(), self._entries.get(key.hex()), states.get(key)
        if state is FileState.REMOVED:
            if entry is not None:
                del self._entries[name]
                if entry.thread is not None:
                    self._ending.append(entry.thread)
            return
        if entry is None or not entry.items:
            entry = self._entries[name] = self._opened(key, states, entry)
        entry.closed_early = state is FileState.CLOSED
        if self._started:
            self._begin(entry)

    def _end_unserved(self, entry: Entry[Item]) -> None:
        """End the closed tasks of a file whose keys are gone: to delete the reports in no batch needs no key."""
        served, now = {item.task.id for item in entry.items}, self._clock()
        if isinstance(entry.asked, Series) and len(served) == entry.asked.rounds:
            return
        for task in tasks_of(entry.asked):
            if task.id not in served and (entry.closed_early or task.phase(now) is Phase.CLOSED):
                self._host.close_unserved(task)

    def _opened(self, key: bytes, states: Mapping[bytes, FileState], before: Entry[Item] | None) -> Entry[Item]:
        asked = read_task_or_series(self._files.content(key)) if before is None else before.asked
        retry = time.monotonic() + RETRY_AFTER
        round_times(asked.id, asked.time_precision)
        early, now = states.get(key) is FileState.CLOSED or _was_closed_with_series(asked, states), self._clock()

        def is_over(task: Task) -> bool:
            return early or task.phase(now) is Phase.CLOSED

        try:
            items = self._host.open(asked, self._others(asked), new=False, is_over=is_over)
            return Entry(asked=asked, items=items, retry=retry)
        except StoreError:
            raise
        except ShuffledpError as error:
            if before is None or before.problem is None:  # once
                log_error(Event.TASK_NOT_SERVED, error, task=key)
            return Entry(asked=asked, problem=str(error), lacks_key=isinstance(error, MissingKeyError), retry=retry)

    def _others(self, asked: Task | Series) -> list[Item]:
        return [item for entry in self._entries.values() if entry.asked.id != asked.id for item in entry.items]

    def _begin(self, entry: Entry[Item]) -> None:
        """Begin the work on a file; idempotent."""
        if entry.thread is not None or not entry.items:
            return
        self._host.prepare(entry.items)
        items = [item for item in entry.items if self._host.works_on(item)]
        if not items:
            return
        if items[0].task.series is None:
            entry.thread = Background(self._host.work(items[0]), every=self._every, task=items[0].task.id)
        else:
            of = {item.task.id: item for item in items}
            tasks = [item.task for item in items]
            rounds = SeriesWork(tasks, lambda task: self._host.work(of[task.id]), every=self._every, clock=self._clock)
            entry.thread = Background(rounds, every=self._every)
        entry.thread.start()

    def _publish(self) -> None:
        served = [(item.task.name, item, entry) for entry in self._entries.values() for item in entry.items]
        self.items = {name: item for name, item, _ in served}
        self.tasks = {name: item.task for name, item in self.items.items()}
        lost = [entry for entry in self._entries.values() if entry.problem is not None]
        self.unserved = {task.name: (task, entry) for entry in lost for task in tasks_of(entry.asked)}
        self.closed_early = frozenset(name for name, _, entry in served if entry.closed_early)
        self.series = {name: one.asked for name, one in self._entries.items() if isinstance(one.asked, Series)}
        for each in (*(entry.asked for entry in self._entries.values()), *self.tasks.values()):
            round_times(each.id, each.time_precision)
        self._publish_threads()
        self._host.changed(self)

    def _publish_threads(self) -> None:
        self._threads = tuple(entry.thread for entry in self._entries.values() if entry.thread is not None)

    def find(self, name: str) -> Entry[Item]:
        """Return the file with this name, which another process may have added just now; refuse any other."""
        with self._changing:
            if name not in self._entries:
                self.update()
            entry = self._entries.get(name)
            if entry is None and name in self.tasks:
                raise Refused(Reason.CANNOT_BE_SERVED, "This is a round of a series: give the id of the series.")
        if entry is None:
            raise Refused(Reason.UNKNOWN_TASK)
        return entry

    def add(self, content: bytes) -> tuple[Entry[Item], bool]:
        """Serve a file after the checks of a start; return whether it is new."""
        with _refusing():
            asked = read_task_or_series(content)
            check_guarantee(asked)  # takes seconds: not under the lock
        with self._changing:
            self.update()
            known = self._entries.get(asked.name)
            new = known is None or known.problem is not None
            if new:
                self._check(asked)
            if known is not None:
                known.retry = 0.0  # its key may be here now
            self._files.add(asked.id, asked.canonical)
            self.update()
            entry = self._entries[asked.name]
        if new:
            log(Event.TASK_ADDED, task=asked.id)
        return entry, new

    def _check(self, asked: Task | Series) -> None:
        with _refusing():
            if any(task.name in self.tasks for task in tasks_of(asked)):
                raise ParameterError("the task is served already, as a round of a series or by itself")
            if _was_closed_with_series(asked, self._states):
                raise ParameterError("the series of this round was closed early or removed, and its rounds with it")
            now, ended = self._clock(), self._states.get(asked.id) in (FileState.CLOSED, FileState.REMOVED)

            def is_over(task: Task) -> bool:
                return ended or (task.series is not None and task.phase(now) is Phase.CLOSED)

            if not self._host.open(asked, self._others(asked), new=True, is_over=is_over):
                raise ParameterError("the task, or every round of the series, is over, and no key of it is left")

    def close(self, name: str) -> Entry[Item]:
        """Close a file early, unless its closing time has passed."""
        entry, now = self.find(name), self._clock()
        asked = entry.asked
        if asked.phase(now) is Phase.CLOSED:
            self._end_unserved(entry)
            return entry
        closed = self._files.close(asked.id, asked.canonical)
        # at once, not only in the background: afterwards no process accepts a report
        for task in tasks_of(asked):
            if task.name in self.tasks and (asked is task or task.phase(now) is Phase.OPEN):
                self._host.close_early(task)
        self.update()
        entry = self.find(name)
        self._end_unserved(entry)
        if closed:
            log(Event.TASK_CLOSED_EARLY, task=asked.id)
        return entry

    def remove(self, name: str, *, unchecked: bool = False) -> None:
        """Remove a file that is closed and finished; if `unchecked`, without asking servers before this one."""
        if not is_hexadecimal(name):
            raise Refused(Reason.UNKNOWN_TASK)
        self.update()
        if self._states.get(bytes.fromhex(name)) is FileState.REMOVED:
            return
        entry = self.find(name)
        asked = entry.asked
        if not entry.is_closed(self._clock()):
            raise Refused(Reason.NOT_FINISHED, "People can still answer: close the task first.")
        self._end_unserved(entry)
        for task in tasks_of(asked):
            if (missing := self._host.unfinished(task, ask_others=not unchecked)) is not None:
                raise Refused(Reason.NOT_FINISHED, missing)
        if unchecked:
            for task in tasks_of(asked):
                self._host.discard_unserved(task)
        if self._files.remove(asked.id, asked.canonical):
            log(Event.TASK_REMOVED, task=asked.id)
        self.update()

    def about(self, entry: Entry[Item]) -> dict[str, Any]:
        """A file for operators; a series has no counters of its own."""
        asked, now = entry.asked, self._clock()
        return {
            "id": asked.name,
            "kind": "task" if isinstance(asked, Task) else "series",
            "question": asked.question,
            "users": asked.users,
            "opens": moment_in_text(asked.opens),
            "closes": moment_in_text(asked.closes),
            "rounds": None if isinstance(asked, Task) else asked.rounds,
            "admission": asked.admission,
            "state": entry.state(now),
            "problem": entry.problem,
            "counters": dict(self._host.counters(asked)) if isinstance(asked, Task) and entry.items else None,
        }


def _was_closed_with_series(asked: Task | Series, states: Mapping[bytes, FileState]) -> bool:
    """Whether a file is a round whose series was closed early or removed: it opens with no other file."""
    if isinstance(asked, Series) or asked.series is None:
        return False
    return states.get(bytes.fromhex(asked.series.id)) in (FileState.CLOSED, FileState.REMOVED)


@contextmanager
def _refusing() -> Iterator[None]:
    try:
        yield
    except (Refused, StoreError):
        raise
    except ShuffledpError as error:
        raise Refused(Reason.CANNOT_BE_SERVED, str(error)) from None

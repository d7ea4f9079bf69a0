"""The settings that the shuffler and the analyzer share, and their checks: tasks, keys, and the previous server."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from shuffledp.collect.crypto.keys import KeyPair, read_key, read_word
from shuffledp.collect.reaching import check_server_address
from shuffledp.collect.server.auth import NO_OPERATORS, PAUSE_AFTER_WRONG, Accepted
from shuffledp.collect.server.observability import Event, log
from shuffledp.collect.server.upstream import Upstream
from shuffledp.collect.store import AdministeredFiles, FileState, Store
from shuffledp.collect.task import Phase, Series, Task, read_task_or_series
from shuffledp.collect.task.series import tasks_of
from shuffledp.collect.task.servers import Place
from shuffledp.errors import BrokenPromiseError, ParameterError, TaskError


class Upstreams:
    """The servers upstream by address; tasks that come from the same one share its connections."""

    def __init__(self) -> None:
        self._known: dict[str, Upstream] = {}

    def at(self, address: str, token: Path) -> Upstream:
        """The server at an address, which knows the hash of the token in a file."""
        if address not in self._known:
            check_server_address(address, "upstream")
            self._known[address] = Upstream(address, read_word(token))
        return self._known[address]

    def close(self) -> None:
        """Close all connections."""
        for each in self._known.values():
            each.close()


@dataclass(frozen=True, kw_only=True)
class ServedTask:
    """A task, the key of this server, and the server that its batches come from, if any."""

    task: Task
    key: KeyPair
    upstream: Upstream | None = None


@dataclass(frozen=True, kw_only=True)
class SharedOptions:
    """What a server needs for tasks: files that are read again for each task that is added.

    All tasks come from one server upstream, whose connections are shared.
    """

    key: Sequence[Path]
    upstream: str | None = None
    token: Path | None = None
    operators: Accepted = NO_OPERATORS
    upstreams: Upstreams = field(default_factory=Upstreams, repr=False)

    def held(self) -> dict[str, KeyPair]:
        """The keys by their public keys."""
        return {each.public: each for each in read_keys(self.key, operators=self.operators)}

    def source(self, address: str, *, missing: str) -> Upstream:
        """The previous server at an address; `missing` says why a token is needed."""
        if self.token is None:
            raise ParameterError(f"token is missing: {missing}")
        return self.upstreams.at(address, self.token)


class _Reason(StrEnum):
    NO_KEY = "no-key"


class MissingKeyError(ParameterError):
    """No key of this server belongs to a task."""

    reason = _Reason.NO_KEY

    def __init__(self, task: Task, whose: str, places: Sequence[Place]) -> None:
        keys = "public key begins" if len(places) == 1 else "public keys begin"
        super().__init__(
            f"no key belongs to {whose} of the task {task.name[:16]}, whose {keys} with "
            f"{', '.join(place.key[:16] for place in places)}: bring back the key, or remove the task (for a start, "
            "from the folder of tasks)"
        )


LOOKS_EVERY = 0.5
"""Seconds between looks for a batch that is complete, or ready upstream: to mix or count one takes far longer."""


@dataclass(frozen=True, kw_only=True)
class SharedSettings:
    """Tasks, store and limits of a server.

    processes: processes that open layers.
    owns_store: close the store when the application ends; connections upstream are always closed.
    clock: seconds since 1970.
    series: the series whose rounds are among the tasks.
    unserved: tasks in no series whose keys are gone: if they are over, what is left of their reports is deleted.
    operators: hashes of the tokens of operators, who add, close and remove tasks.
    options: what tasks need that operators add; None if no task can be added.
    """

    served: Sequence[ServedTask]
    store: Store
    processes: int | None = None
    owns_store: bool = False
    every: float = LOOKS_EVERY
    clock: Callable[[], float] = time.time
    series: Sequence[Series] = ()
    unserved: Sequence[Task] = ()
    operators: Accepted = NO_OPERATORS
    pause_after_wrong: float = PAUSE_AFTER_WRONG
    options: SharedOptions | None = None

    @property
    def tasks(self) -> list[Task]:
        """The tasks to be served."""
        return [each.task for each in self.served]

    def check(self) -> None:
        """Check the guarantees of the tasks, prepare the store, and close what was opened for that."""
        warn_of_shared_keys(self.served)
        try:
            later = [each for each in self.unserved if each.phase(self.clock()) is not Phase.CLOSED]
            check_guarantees([*self.tasks, *later], self.series)
            stored = check_stored_files(self.store.files, known=[*self.tasks, *self.unserved, *self.series])
            self.store.prepare(*self.tasks)
            self.check_more(stored)
        finally:
            self.close()

    def check_more(self, stored: Sequence[Task]) -> None:
        """Check or prepare what only one kind of server has; `stored` are the tasks that operators have added."""

    def close(self) -> None:
        """Close the connections to servers upstream, and the store if it belongs to the settings."""
        # tasks share their connections unless the settings were made by hand
        sources = [each.upstream for each in self.served] if self.options is None else [self.options.upstreams]
        for each in sources:
            if each is not None:
                each.close()
        if self.owns_store:
            self.store.close()


class StartFiles:
    """The files that a server is started with, without those that an operator has removed.

    `tasks` has the rounds of all series.
    """

    def __init__(self, asked: Sequence[Task | Series], states: Mapping[bytes, FileState]) -> None:
        self._states = states
        self.files = [one for one in asked if states.get(one.id) is not FileState.REMOVED]
        self.series = [one for one in self.files if isinstance(one, Series)]
        self.tasks = [task for one in self.files for task in tasks_of(one)]

    def is_over(self, task: Task) -> bool:
        """Whether a task accepts no report any more, so that its key may have been destroyed."""
        return was_ended(task, self._states) or task.phase(time.time()) is Phase.CLOSED


def was_ended(task: Task, states: Mapping[bytes, FileState]) -> bool:
    """Whether an operator has closed or removed a task, or its series."""
    files = [task.id] if task.series is None else [task.id, bytes.fromhex(task.series.id)]
    return any(states.get(each) in (FileState.CLOSED, FileState.REMOVED) for each in files)


def read_files(paths: Sequence[Path], *, operators: Accepted) -> list[Task | Series]:
    """Read files of tasks and series, and folders of them; only a server with an operator needs none."""
    files = [file for path in paths for file in (sorted(path.glob(TASK_FILES)) if path.is_dir() else [path])]
    if not files and not operators.hashes:
        folders = f" in the folder {paths[0]}" if paths else ""
        raise ParameterError(
            f"task must name at least one task file, got none{folders}; an operator can add tasks later"
        )
    asked = [read_task_or_series(file) for file in files]
    ids = [task.id for one in asked for task in tasks_of(one)]
    if len(set(ids)) < len(ids):
        raise ParameterError("task must name each task once, got the same task twice")
    return asked


TASK_FILES = "*.json"
"""The names of tasks and series in a folder of tasks."""

KEY_FILES, PUBLIC_KEYS = "*.key", "public.txt"
"""The names of the private keys in a folder of keys, and of the list of their public keys."""


def read_keys(paths: Sequence[Path], *, operators: Accepted = NO_OPERATORS) -> list[KeyPair]:
    """Read key files, and all keys in folders: a server of a series may have one key for each round.

    A folder may be empty if the server has an operator: keys arrive before tasks are added.
    """
    files: list[Path] = []
    for path in paths:
        found = sorted(path.glob(KEY_FILES)) if path.is_dir() else [path]
        if not found and not operators.hashes:
            raise ParameterError(f"key must be a key file or a folder of files {KEY_FILES}, got the folder {path}")
        files += found
    return [read_key(file) for file in files]


def read_operators(texts: Sequence[str], others: Accepted) -> Accepted:
    """Parse the hashes of operators' tokens, which must not be those of other servers."""
    operators = Accepted.of(texts, name="operator")
    if set(operators.hashes) & set(others.hashes):
        raise ParameterError(
            "operator must be the hash of another token than that of a server: a server that fetches batches could act "
            "as an operator"
        )
    return operators


def never(task: Task) -> bool:
    """Say of no task that it is over: each needs its key."""
    return False


def check_guarantees(tasks: Iterable[Task], series: Iterable[Series]) -> None:
    """Refuse tasks and series that give less privacy than they claim; the rounds of a series are checked once."""
    known = {one.name for one in series}
    for one in series:
        check_guarantee(one)
    for task in tasks:
        if task.series is None or task.series.id not in known:
            check_guarantee(task)


def check_guarantee(task: Task | Series) -> None:
    """Refuse a task or a series that gives less privacy than it claims."""
    try:
        task.check()
    except BrokenPromiseError as error:
        raise BrokenPromiseError(f"the task {task.name[:16]} cannot be served: {error}; create it again") from None


def check_stored_files(files: AdministeredFiles, *, known: Iterable[Task | Series]) -> list[Task]:
    """Check the guarantees of the files in the store, except the known ones; return their tasks."""
    ids = {one.id for one in known}
    left = [key for key, state in files.states().items() if state is not FileState.REMOVED and key not in ids]
    stored = [read_task_or_series(files.content(key)) for key in left]
    for one in stored:
        check_guarantee(one)
    return [task for one in stored for task in tasks_of(one)]


@contextmanager
def closed_on_error(store: AbstractContextManager[object]) -> Iterator[None]:
    """Close a store if the settings that need it cannot be read."""
    with ExitStack() as stack:
        stack.enter_context(store)
        yield
        stack.pop_all()


def check_one_upstream(addresses: Iterable[str]) -> None:
    """Refuse several servers upstream: each would learn the token that opens the batches of the others."""
    if len(set(addresses)) > 1:
        raise ParameterError(
            "all tasks must come from the same shuffler, since each shuffler upstream learns the token: run one server "
            "for each shuffler, with a token of its own"
        )


def check_known_upstream(addresses: Iterable[str], known: Collection[str]) -> None:
    """Refuse a server upstream other than that of earlier tasks: the author of a task could learn the token, and
    acknowledge batches in place of this server.
    """
    for address in addresses:
        if known and address not in known:
            raise ParameterError(
                "the previous shuffler of the task must be that of earlier tasks, since it learns the token, got "
                f"{address}: if it has moved, start this server again with its new address as upstream"
            )


def stored_tasks(files: AdministeredFiles) -> list[Task]:
    """The tasks of all files in a store, also of removed ones; without those that only a later version can read."""
    found: list[Task] = []
    for key in files.states():
        with suppress(TaskError):
            found += tasks_of(read_task_or_series(files.content(key)))
    return found


def warn_of_shared_keys(served: Iterable[ServedTask]) -> None:
    """Log that several tasks share a key, which is destroyed with one of them; rounds of one series may share one."""
    named = ((each.task.name if each.task.series is None else each.task.series.id, each) for each in served)
    used = {(name, each.key.public) for name, each in named}
    if len({public for _, public in used}) < len(used):
        log(Event.KEY_SHARED, level=logging.WARNING)

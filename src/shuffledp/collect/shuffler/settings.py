"""Settings of a shuffler: the options of its command, read from files and checked before the first request."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from shuffledp.collect.crypto.keys import KeyPair, read_word
from shuffledp.collect.server.auth import Accepted, hash_of, read_hashes
from shuffledp.collect.server.settings import (
    MissingKeyError,
    ServedTask,
    SharedOptions,
    SharedSettings,
    StartFiles,
    check_known_upstream,
    check_one_upstream,
    closed_on_error,
    never,
    read_files,
    read_operators,
)
from shuffledp.collect.server.upstream import Upstream
from shuffledp.collect.shuffler.ingest import Admission, OneTimeTokens, OpenAdmission, SharedSecret
from shuffledp.collect.store import ReportStore, open_report_store
from shuffledp.collect.task import Task
from shuffledp.collect.task.series import tasks_of
from shuffledp.collect.web.sessions import Sessions
from shuffledp.errors import ParameterError


@dataclass(frozen=True, kw_only=True)
class Served(ServedTask):
    """A task, the position of this shuffler in its chain, and the key that decided it.

    The first shuffler ingests reports that `admission` accepts; a later one pulls batches from `upstream`.
    """

    position: int
    admission: Admission = field(default_factory=OpenAdmission)

    def __post_init__(self) -> None:
        if (self.position > 0) != (self.upstream is not None):
            raise ParameterError("upstream must be given for a later shuffler, and only for those")

    @property
    def next_server(self) -> str:
        """The address, in the task, of the server that pulls batches from this one."""
        return (*self.task.shufflers, self.task.analyzer)[self.position + 1].address


@dataclass(frozen=True, kw_only=True)
class TaskOptions(SharedOptions):
    """What this shuffler needs for tasks, with the shared secret; upstream is the shuffler before this one."""

    secret: Path | None = None
    workers: int = 1

    def served(
        self,
        tasks: Sequence[Task],
        others: Sequence[Served] = (),
        *,
        earlier: Sequence[Task] = (),
        added: bool = False,
        is_over: Callable[[Task], bool] = never,
    ) -> list[Served]:
        """Return the tasks that can be served beside others; raise an error if one of them cannot be.

        The shared secret of a task that is `added` may come later. Tasks that are over and whose keys were destroyed
        are left out. `earlier` tasks, which may be removed, say to which shuffler the token belongs.
        """
        held = self.held()
        places = [(each, *_place(each, held)) for each in tasks if _is_held(each, held) or not is_over(each)]
        later = [(each, at) for each, at, _ in places if at]
        if later and self.workers > 1:
            raise ParameterError(
                f"workers must be 1 for a later shuffler, which ingests no reports, got {self.workers}"
            )
        known = {self._before(each.task, each.position) for each in others if each.position}
        check_one_upstream([*known, *(self._before(each, at) for each, at in later)])
        for position in {at for _, at in later}:
            new = {self._before(each, at) for each, at in later if at == position}
            check_known_upstream(new, self._known_before(earlier, held, otherwise=position))
        found = [
            Served(task=each, position=0, key=own, admission=_admission(each, self.secret, added=added))
            if at == 0
            else Served(task=each, position=at, key=own, upstream=self._source(self._before(each, at), at))
            for each, at, own in places
        ]
        check_one_next_server([*others, *found])
        return found

    def _before(self, task: Task, position: int) -> str:
        """The address of the shuffler before this one."""
        return self.upstream or task.shufflers[position - 1].address

    def _known_before(self, earlier: Sequence[Task], held: Mapping[str, KeyPair], *, otherwise: int) -> set[str]:
        """The addresses before this shuffler in earlier tasks; without a key, its position is taken as `otherwise`."""
        found = set()
        for task in earlier:
            own = [position for position, place in enumerate(task.shufflers) if place.key in held]
            positions = own or [min(otherwise, len(task.shufflers) - 1)]
            found |= {self._before(task, position) for position in positions if position > 0}
        return found

    def _source(self, address: str, position: int) -> Upstream:
        which = f"the key is of shuffler {position + 1} of the task"
        return self.source(address, missing=f"{which}, which pulls batches from the one before it with a token")


def check_one_next_server(served: Sequence[Served]) -> None:
    """Refuse tasks with different next servers."""
    if len({each.next_server for each in served}) > 1:
        raise ParameterError(
            "the tasks have different next servers, and the token of each opens the batches of all tasks: run one "
            "shuffler for each next server, with a store of its own"
        )


@dataclass(frozen=True, kw_only=True)
class Settings(SharedSettings):
    """Tasks, store and limits of a shuffler.

    next_servers: tokens of the servers that pull batches. A token opens the batches of all tasks, so all tasks must
        have the same next server.
    page: serve the survey page for the tasks of which this is the first shuffler.
    most_per_second: reports that this process ingests per second.
    background: run the background work; on in one process of a server.
    admission_hashes: a file with hashes of one-time tokens, which `check` adds to the store.
    sessions: the open sessions of operators; all processes of the server share them.
    """

    served: Sequence[Served]
    store: ReportStore
    next_servers: Accepted
    page: bool = False
    most_per_second: float | None = None
    background: bool = True
    admission_hashes: Path | None = None
    sessions: Sessions = field(default_factory=Sessions)
    options: TaskOptions | None = None

    def __post_init__(self) -> None:
        check_one_next_server(self.served)

    @classmethod
    def read(
        cls,
        *,
        task: Sequence[Path],
        key: Sequence[Path],
        store: str,
        next: Sequence[str] = (),
        upstream: str | None = None,
        token: Path | None = None,
        admission_secret: Path | None = None,
        admission_hashes: Path | None = None,
        workers: int = 1,
        most_per_second: float | None = None,
        page: bool = False,
        operator: Sequence[str] = (),
        background: bool = True,
        sessions: Path | None = None,
    ) -> Settings:
        """Read the files that the options of the command name. Every worker process does this for itself."""
        if not key or not (task or operator):
            raise ParameterError("a shuffler needs at least one task and one key, or an operator and a folder of keys")
        if not next:
            raise ParameterError(
                "next must have the hash of the token with which the next server fetches batches, got none"
            )
        if most_per_second is not None and not most_per_second > 0:
            raise ParameterError(f"most_per_second must be above 0, got {most_per_second:g}")
        next_servers = Accepted.of(next, name="next")
        operators = read_operators(operator, next_servers)
        files = read_files(task, operators=operators)
        options = TaskOptions(
            key=key, upstream=upstream, token=token, secret=admission_secret, workers=workers, operators=operators
        )
        opened = open_report_store(store)
        with closed_on_error(opened):
            start = StartFiles(files, opened.files.states())
            held = options.held()
            asked = [
                task
                for one in start.files
                if not operators.hashes or all(_is_held(task, held) or start.is_over(task) for task in tasks_of(one))
                for task in tasks_of(one)
            ]
            served = options.served(asked, is_over=start.is_over)
            if not served and not operators.hashes:
                raise ParameterError("all tasks are over or removed, and no key of them is left: nothing can be served")
            if not operators.hashes:
                _check_needed(
                    served, secret=admission_secret, hashes=admission_hashes, upstream=upstream or token, page=page
                )
        named = {each.task.id for each in served} | {task.id for one in start.series for task in tasks_of(one)}
        return cls(
            served=served,
            store=opened,
            next_servers=next_servers,
            page=page,
            most_per_second=most_per_second and most_per_second / workers,
            background=background,
            owns_store=True,
            admission_hashes=admission_hashes,
            series=start.series,
            unserved=[each for each in start.tasks if each.id not in named],
            operators=operators,
            sessions=Sessions(file=sessions),
            options=options,
        )

    def check_more(self, stored: Sequence[Task]) -> None:
        """Add the hashes of one-time tokens to the store."""
        for each in self.served:
            if self.admission_hashes is not None and isinstance(each.admission, OneTimeTokens):
                self.store.add_admissions(each.task.id, read_hashes(self.admission_hashes, name="admission_hashes"))

    def close(self) -> None:
        """End the sessions, and close connections and store."""
        self.sessions.close()
        super().close()


def _is_held(task: Task, held: Mapping[str, KeyPair]) -> bool:
    """Whether a key of a server of the task is there."""
    return any(place.key in held for place in (*task.shufflers, task.analyzer))


def _place(task: Task, held: Mapping[str, KeyPair]) -> tuple[int, KeyPair]:
    """The position of the task's shuffler that has one of these keys, and that key."""
    if task.analyzer.key in held:
        raise ParameterError(
            f"key must be a shuffler's, got the key of the analyzer of the task {task.name[:16]}: a server that mixes "
            "and counts could see who sent what"
        )
    found = [(position, held[place.key]) for position, place in enumerate(task.shufflers) if place.key in held]
    if len(found) > 1:
        raise ParameterError(
            f"key must be of one shuffler of the task {task.name[:16]}, got keys of two shufflers: a server that holds "
            "both could undo the mixing"
        )
    if not found:
        raise MissingKeyError(task, "a shuffler", task.shufflers)
    return found[0]


def _check_needed(
    served: Sequence[Served],
    *,
    secret: Path | None,
    hashes: Path | None,
    upstream: str | Path | None,
    page: bool,
) -> None:
    """Refuse options that would have no effect; with an operator, tasks may be added for which they have one."""
    first = [each.task for each in served if each.position == 0]
    kinds = {task.admission for task in first}
    if secret is not None and "secret" not in kinds:
        raise ParameterError("admission_secret is given, but no task of this shuffler asks for a secret")
    if hashes is not None and "tokens" not in kinds:
        raise ParameterError("admission_hashes is given, but no task of this shuffler asks for one-time tokens")
    if upstream is not None and len(first) == len(served):
        raise ParameterError("upstream and token are for later shufflers, but this is the first one of its tasks")
    if page and not first:
        raise ParameterError("page is for the first shuffler, to which people send reports, but this is a later one")


def _admission(task: Task, secret: Path | None, *, added: bool) -> Admission:
    if task.admission == "anybody":
        return OpenAdmission()
    if task.admission == "tokens":
        return OneTimeTokens()
    if secret is None and not added:
        raise ParameterError("admission_secret is missing: the task accepts reports only with a secret")
    return SharedSecret(Accepted(() if secret is None else (hash_of(read_word(secret)),)), until_own=added)

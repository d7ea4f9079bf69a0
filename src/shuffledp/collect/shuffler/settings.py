"""Settings of a shuffler: the options of its command, read from files and checked before the first request."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from shuffledp.collect.crypto.keys import KeyPair, read_word
from shuffledp.collect.server.auth import Accepted, hash_of, read_hash
from shuffledp.collect.server.pull import BatchSource
from shuffledp.collect.server.settings import (
    check_guarantees,
    check_one_upstream,
    is_closed_round,
    read_keys,
    read_tasks,
    upstream_at,
    warn_of_shared_keys,
)
from shuffledp.collect.shuffler.ingest import Admission, OneTimeTokens, OpenAdmission, SharedSecret
from shuffledp.collect.store import ReportStore, open_report_store
from shuffledp.collect.task import Series, Task
from shuffledp.errors import DataError, ParameterError

LOOKS_EVERY = 0.5
"""Seconds between looks for a complete batch, or one that is ready upstream: mixing one takes far longer."""


@dataclass(frozen=True, kw_only=True)
class Served:
    """A task, the position of this shuffler in its chain, and the key that decided it.

    The first shuffler ingests reports that `admission` accepts; a later one pulls batches from `upstream`.
    """

    task: Task
    position: int
    key: KeyPair
    admission: Admission = field(default_factory=OpenAdmission)
    upstream: BatchSource | None = None

    def __post_init__(self) -> None:
        if (self.position > 0) != (self.upstream is not None):
            raise ParameterError("upstream must be given for a later shuffler, and only for those")

    @property
    def next_server(self) -> str:
        """The address, in the task, of the server that pulls batches from this one."""
        return (*self.task.shufflers, self.task.analyzer)[self.position + 1].address


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Tasks, store and limits of a shuffler.

    next_servers: tokens of the servers that pull batches. A token opens the batches of all tasks, so all tasks must
        have the same next server.
    page: serve the survey page for the tasks of which this is the first shuffler.
    most_per_second: reports that this process ingests per second.
    background: run the background work; on in one process of a server.
    owns_store: close the store when the application ends; connections upstream are always closed.
    processes: processes that open layers.
    admission_hashes: a file with hashes of one-time tokens, which `check` adds to the store.
    clock: seconds since 1970.
    series: the series whose rounds are among the tasks.
    """

    served: Sequence[Served]
    store: ReportStore
    next_servers: Accepted
    page: bool = False
    most_per_second: float | None = None
    background: bool = True
    owns_store: bool = False
    processes: int | None = None
    admission_hashes: Path | None = None
    every: float = LOOKS_EVERY
    clock: Callable[[], float] = time.time
    series: Sequence[Series] = ()

    def __post_init__(self) -> None:
        if len({each.next_server for each in self.served}) > 1:
            raise ParameterError(
                "the tasks have different next servers, and the token of each opens the batches of all tasks: run one "
                "shuffler for each next server, with a store of its own"
            )

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
        background: bool = True,
    ) -> Settings:
        """Read the files that the options of the command name. Every worker process does this for itself."""
        if not task or not key:
            raise ParameterError("a shuffler needs at least one task and one key")
        if not next:
            raise ParameterError(
                "next must have the hash of the token with which the next server fetches batches, got none"
            )
        if most_per_second is not None and not most_per_second > 0:
            raise ParameterError(f"most_per_second must be above 0, got {most_per_second:g}")
        (tasks, series), keys = read_tasks(task), read_keys(key)
        held = {each.public: each for each in keys}
        tasks = [each for each in tasks if _is_needed(each, held)]
        if not tasks:
            raise ParameterError("all rounds of the series are over, and no key of them is left: nothing can be served")
        places = [(each, *_place(each, held)) for each in tasks]
        first = [each for each, position, _ in places if position == 0]
        _check_needed(
            first,
            later=len(first) < len(tasks),
            secret=admission_secret,
            hashes=admission_hashes,
            upstream=upstream or token,
            page=page,
            workers=workers,
        )
        check_one_upstream(_before(each, at, upstream) for each, at, _ in places if at)
        next_servers = Accepted.of(next, name="next")
        upstream_of = cache(_upstream)  # all tasks come from one server: its connections are shared
        return cls(
            served=[
                Served(task=each, position=0, key=own, admission=_admission(each, admission_secret))
                if at == 0
                else Served(
                    task=each, position=at, key=own, upstream=upstream_of(_before(each, at, upstream), at, token)
                )
                for each, at, own in places
            ],
            store=open_report_store(store),
            next_servers=next_servers,
            page=page,
            most_per_second=most_per_second and most_per_second / workers,
            background=background,
            owns_store=True,
            admission_hashes=admission_hashes,
            series=series,
        )

    def check(self) -> None:
        """Check the guarantees of the tasks, prepare the store, and close what was opened for that."""
        warn_of_shared_keys((each.task, each.key) for each in self.served)
        try:
            check_guarantees([each.task for each in self.served], self.series)
            for each in self.served:
                self.store.prepare(each.task)
                if self.admission_hashes is not None and isinstance(each.admission, OneTimeTokens):
                    self.store.add_admissions(each.task.id, _hashes(self.admission_hashes))
        finally:
            self.close()

    def close(self) -> None:
        """Close the connections to servers upstream, and the store if it belongs to these settings."""
        for each in self.served:
            if each.upstream is not None:
                each.upstream.close()
        if self.owns_store:
            self.store.close()


def _is_needed(task: Task, held: Mapping[str, KeyPair]) -> bool:
    """Whether a task is served: a round that is over and whose key was destroyed is not."""
    return any(place.key in held for place in (*task.shufflers, task.analyzer)) or not is_closed_round(task)


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
        raise ParameterError(
            f"no key belongs to a shuffler of the task {task.name[:16]}, whose public keys begin with "
            f"{', '.join(place.key[:16] for place in task.shufflers)}"
        )
    return found[0]


def _check_needed(
    first: Sequence[Task],
    *,
    later: bool,
    secret: Path | None,
    hashes: Path | None,
    upstream: str | Path | None,
    page: bool,
    workers: int,
) -> None:
    """Refuse options that would have no effect: `first` are the tasks of which this is the first shuffler."""
    kinds = {task.admission for task in first}
    if secret is not None and "secret" not in kinds:
        raise ParameterError("admission_secret is given, but no task of this shuffler asks for a secret")
    if hashes is not None and "tokens" not in kinds:
        raise ParameterError("admission_hashes is given, but no task of this shuffler asks for one-time tokens")
    if upstream is not None and not later:
        raise ParameterError("upstream and token are for later shufflers, but this is the first one of its tasks")
    if page and not first:
        raise ParameterError("page is for the first shuffler, to which people send reports, but this is a later one")
    if workers > 1 and later:
        raise ParameterError(f"workers must be 1 for a later shuffler, which ingests no reports, got {workers}")


def _admission(task: Task, secret: Path | None) -> Admission:
    if task.admission == "anybody":
        return OpenAdmission()
    if task.admission == "tokens":
        return OneTimeTokens()
    if secret is None:
        raise ParameterError("admission_secret is missing: the task accepts reports only with a secret")
    return SharedSecret(Accepted((hash_of(read_word(secret)),)))


def _before(task: Task, position: int, address: str | None) -> str:
    """The address of the shuffler before this one."""
    return address or task.shufflers[position - 1].address


def _upstream(address: str, position: int, token: Path | None) -> BatchSource:
    if token is None:
        raise ParameterError(
            f"token is missing: the key is of shuffler {position + 1} of the task, which pulls batches from the one "
            "before it with a token"
        )
    return upstream_at(address, token)


def _hashes(path: Path) -> list[bytes]:
    try:
        lines = path.read_text().split()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise DataError(f"admission_hashes: {path} cannot be read: {reason}") from None
    return [read_hash(line, name=f"each line of {path}") for line in lines]

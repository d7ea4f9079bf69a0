"""Settings of an analyzer: the options of its command, read from files and checked before the first request."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from shuffledp.collect.analyzer.hiding import HidingStore
from shuffledp.collect.analyzer.releases import entered_as, entry_of
from shuffledp.collect.crypto.keys import KeyPair, read_word
from shuffledp.collect.server.auth import Accepted
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
from shuffledp.collect.store import TallyStore, open_tally_store
from shuffledp.collect.task import AnswersElsewhere, Series, Task
from shuffledp.collect.web.sessions import Sessions
from shuffledp.errors import DataError, ParameterError
from shuffledp.ledger import Ledger
from shuffledp.release.hidden import Blocklist

LOOKS_EVERY = 0.5
"""Seconds between looks for batches that are ready upstream: counting one takes far longer."""

NO_OPERATORS = Accepted(())
"""Without an operator's token the operator's pages are closed."""

PAUSE_AFTER_WRONG = 1.0
"""Seconds before a wrong token of the operator is answered."""

_MOST_PROCESSES = 1024
"""More than any machine has cores."""


@dataclass(frozen=True, kw_only=True)
class Served:
    """A task, the analyzer's key of it, and its last shuffler."""

    task: Task
    key: KeyPair
    upstream: BatchSource


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Tasks, store and ledger of an analyzer.

    joined: each release is of all batches so far, instead of one batch.
    processes: processes that open messages.
    owns_store: close the store when the application ends; connections upstream are always closed.
    only_shown: tasks without a key, for example after it was destroyed. Existing releases are shown; none are added.
    upstream: the address of the last shuffler for the console, if it is not the one in the task.
    operators: hashes of the tokens with which operators sign in to the console.
    sessions: the open sessions of operators.
    block: words that no page or file shows.
    clock: seconds since 1970.
    series: the series whose rounds are among the tasks.
    """

    served: Sequence[Served]
    store: TallyStore
    ledger: Ledger | str | Path | None = None
    joined: bool = False
    processes: int | None = None
    owns_store: bool = False
    every: float = LOOKS_EVERY
    only_shown: Sequence[Task] = ()
    upstream: str | None = None
    operators: Accepted = NO_OPERATORS
    sessions: Sessions = field(default_factory=Sessions)
    pause_after_wrong: float = PAUSE_AFTER_WRONG
    block: Blocklist | None = None
    clock: Callable[[], float] = time.time
    series: Sequence[Series] = ()

    @property
    def shown(self) -> TallyStore:
        """The store for readers of releases, which hides blocked words."""
        return self.store if self.block is None else HidingStore(self.store, self.block)

    @property
    def tasks(self) -> list[Task]:
        """All tasks."""
        return [*(served.task for served in self.served), *self.only_shown]

    @classmethod
    def read(
        cls,
        *,
        task: Sequence[Path],
        key: Sequence[Path],
        store: str,
        ledger: Path,
        token: Path | None = None,
        upstream: str | None = None,
        answers: Sequence[Path] = (),
        join: bool = False,
        processes: int | None = None,
        operator: Sequence[str] = (),
        block: Path | None = None,
    ) -> Settings:
        """Read the files that the options of the command name."""
        if processes is not None and not 1 <= processes <= _MOST_PROCESSES:
            raise ParameterError(f"processes must be from 1 to {_MOST_PROCESSES}, got {processes}")
        keys, operators = read_keys(key), Accepted.of(operator, name="operator")
        if operator and token is not None and read_word(token) in operators:
            raise ParameterError(
                "operator must be the hash of another token than the one in token: a server that fetches batches could "
                "sign in to the console"
            )
        blocked = None if block is None else Blocklist.read(block)
        tasks, series = read_tasks(task)
        for each in tasks:
            if isinstance(each.answers, AnswersElsewhere):
                _read_answers(each, answers)
        check_one_upstream(upstream or each.shufflers[-1].address for each in tasks)
        Ledger(ledger)  # raises an error before a store is created
        held = {each.public: each for each in keys}
        served = [each for each in tasks if keys and not (each.analyzer.key not in held and is_closed_round(each))]
        source = cache(_source)  # all tasks come from one server: its connections are shared
        return cls(
            served=[
                Served(task=each, key=_own(each, held), upstream=source(upstream or each.shufflers[-1].address, token))
                for each in served
            ],
            store=open_tally_store(store),
            ledger=ledger,
            joined=join,
            processes=processes,
            owns_store=True,
            upstream=upstream,
            operators=operators,
            only_shown=[each for each in tasks if each.id not in {one.id for one in served}],
            block=blocked,
            series=series,
        )

    def check(self) -> None:
        """Check the guarantees and the ledger, prepare the store, and close what was opened for that."""
        warn_of_shared_keys((each.task, each.key) for each in self.served)
        try:
            check_guarantees(self.tasks, self.series)
            for task in self.tasks:
                self.store.prepare(task)
            if self.ledger is not None:
                # before people answer a question whose result could never be published
                Ledger.of(self.ledger).check_fits(
                    {entered_as(task): task.released_by() for task in self.tasks},
                    entries={entered_as(task): entry_of(task) for task in self.tasks},
                )
        finally:
            self.close()

    def close(self) -> None:
        """Close the connections to the last shuffler, and the store if it belongs to these settings."""
        for each in self.served:
            each.upstream.close()
        if self.owns_store:
            self.store.close()


def _own(task: Task, held: Mapping[str, KeyPair]) -> KeyPair:
    """The key of the analyzer of a task."""
    own = held.get(task.analyzer.key)
    if own is None:
        raise ParameterError(
            f"no key belongs to the analyzer of the task {task.name[:16]}, whose public key begins with "
            f"{task.analyzer.key[:16]}"
        )
    return own


def _source(address: str, token: Path | None) -> BatchSource:
    if token is None:
        raise ParameterError("token is missing: an analyzer with a key fetches batches from the last shuffler with it")
    return upstream_at(address, token)


def _read_answers(task: Task, paths: Sequence[Path]) -> None:
    """Give a task the list of answers that it names by its fingerprint."""
    for path in paths:
        try:
            task.with_answers(path.read_bytes())
        except OSError as error:
            raise DataError(f"answers: {path} cannot be read: {error.strerror}") from None
        except DataError:
            continue
        return
    raise ParameterError(
        f"answers must include the list of answers of the task {task.name[:16]}, which is not in the task file: fetch "
        "the list first"
    )

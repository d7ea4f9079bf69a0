"""From the options of a command to an analyzer: everything is checked before the first request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from starlette.applications import Starlette

from shuffledp.collect.analyzer.app import make_app
from shuffledp.collect.analyzer.releases import entered_as
from shuffledp.collect.analyzer.settings import Served, Settings
from shuffledp.collect.crypto.keys import KeyPair, read_key, read_word
from shuffledp.collect.server.auth import Accepted
from shuffledp.collect.server.pull import Upstream
from shuffledp.collect.server.settings import (
    check_guarantee,
    check_one_upstream,
    read_tasks,
    upstream_at,
    warn_of_shared_keys,
)
from shuffledp.collect.store import open_tally_store
from shuffledp.collect.task import AnswersElsewhere, Task
from shuffledp.errors import DataError, ParameterError
from shuffledp.ledger import Ledger
from shuffledp.protocols.catalogue import CATALOGUE

_MOST_PROCESSES = 1024
"""More than any machine has cores."""


@dataclass(frozen=True, kw_only=True)
class AnalyzerOptions:
    """What the command was given."""

    tasks: Sequence[Path]
    keys: Sequence[Path]
    store: str
    ledger: Path
    token: Path | None = None
    upstream: str | None = None
    answers: Sequence[Path] = ()
    joined: bool = False
    processes: int | None = None
    operators: Sequence[str] = ()

    def check(self) -> None:
        """Refuses what cannot work: tasks, keys, the token, the store, the ledger; also a promise that is not kept."""
        if self.processes is not None and not 1 <= self.processes <= _MOST_PROCESSES:
            raise ParameterError(f"--processes must be from 1 to {_MOST_PROCESSES}, got {self.processes}")
        ledger = Ledger(self.ledger)
        settings = self.settings()
        warn_of_shared_keys(each.key for each in settings.served)
        try:
            for task in settings.tasks:
                check_guarantee(task)
                settings.store.prepare(task)
            # now, before anybody answers a question whose result could never be published
            ledger.check_fits(
                {entered_as(task): task.protocol for task in settings.tasks},
                entries={entered_as(task): CATALOGUE[task.protocol_used.name] for task in settings.tasks},
            )
        finally:
            settings.store.close()

    def app(self, background: bool = True) -> Starlette:
        """The application."""
        return make_app(self.settings())

    def settings(self) -> Settings:
        """All files read and checked."""
        keys, operators = [read_key(path) for path in self.keys], Accepted.of(self.operators, name="--operator")
        if self.operators and self.token is not None and read_word(self.token) in operators:
            raise ParameterError(
                "--operator is the hash of the token in --token: whoever can fetch batches could sign in to the "
                "console; make a token of its own with  shuffledp keys token"
            )
        tasks = self._read_tasks()
        check_one_upstream([self.upstream or task.shufflers[-1].address for task in tasks])
        served = [self._served(task, keys) for task in tasks] if keys else []
        store = open_tally_store(self.store)
        return Settings(
            served=served,
            store=store,
            ledger=self.ledger,
            joined=self.joined,
            processes=self.processes,
            owns_store=True,
            upstream=self.upstream,
            operators=operators,
            only_shown=[] if keys else tasks,
        )

    def _read_tasks(self) -> list[Task]:
        tasks = read_tasks(self.tasks)
        for task in tasks:
            if isinstance(task.answers, AnswersElsewhere):
                self._give_answers(task)
        return tasks

    def _give_answers(self, task: Task) -> None:
        """The list that a task names by its fingerprint, among the files that were given."""
        for path in self.answers:
            try:
                task.with_answers(path.read_bytes())
            except OSError as error:
                raise DataError(f"--answers: {path} cannot be read: {error.strerror}") from None
            except DataError:
                continue
            return
        raise ParameterError(
            f"the task {task.name[:16]} keeps its list of answers elsewhere: fetch it, and give the file with --answers"
        )

    def _served(self, task: Task, keys: Sequence[KeyPair]) -> Served:
        for key in keys:
            if key.public == task.analyzer.key:
                return Served(task=task, key=key, upstream=self._upstream(task))
        raise ParameterError(
            f"no --key belongs to the analyzer of the task {task.name[:16]}, whose public key begins with "
            f"{task.analyzer.key[:16]}"
        )

    def _upstream(self, task: Task) -> Upstream:
        if self.token is None:
            raise ParameterError("--token is missing: whoever has a --key fetches batches with the token beside it")
        return upstream_at(self.upstream or task.shufflers[-1].address, self.token)

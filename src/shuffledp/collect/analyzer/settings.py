"""Settings of an analyzer: the options of its command, read from files and checked before the first request."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from shuffledp.collect.analyzer.releases import check_tasks_fit
from shuffledp.collect.analyzer.shown import HidingStore
from shuffledp.collect.crypto.keys import KeyPair, read_word
from shuffledp.collect.server.auth import Accepted, hash_of
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
from shuffledp.collect.store import TallyStore, open_tally_store
from shuffledp.collect.task import AnswersElsewhere, Task
from shuffledp.collect.web.sessions import Sessions
from shuffledp.errors import DataError, ParameterError
from shuffledp.ledger import Ledger
from shuffledp.release.free_text import Blocklist

_MOST_PROCESSES = 1024
"""More than any machine has cores."""


@dataclass(frozen=True, kw_only=True)
class Served(ServedTask):
    """A task, the analyzer's key of it, and its last shuffler."""

    upstream: Upstream


@dataclass(frozen=True, kw_only=True)
class TaskOptions(SharedOptions):
    """What this analyzer needs for tasks, with lists of answers; upstream is the last shuffler."""

    answers: Sequence[Path] = ()

    def served(
        self,
        tasks: Sequence[Task],
        others: Sequence[Task] = (),
        *,
        earlier: Sequence[Task] = (),
        keys_needed: bool = True,
        is_over: Callable[[Task], bool] = never,
    ) -> tuple[list[Served], list[Task]]:
        """Return the tasks that are counted and those that are only shown; raise an error if one can be neither.

        A task without a key is only shown if it is over, or unless `keys_needed`. `earlier` tasks, which may be
        removed, say to which shuffler the token belongs.
        """
        for each in tasks:
            if isinstance(each.answers, AnswersElsewhere) and not each.has_answers:
                _read_answers(each, self.answers)
        check_one_upstream(self._at(each) for each in (*others, *tasks))
        check_known_upstream(map(self._at, tasks), {self._at(each) for each in earlier})
        held = self.held()
        counted, shown = list[Served](), list[Task]()
        for each in tasks:
            if each.analyzer.key in held or (keys_needed and not is_over(each)):
                counted.append(Served(task=each, key=_own(each, held), upstream=self._source(each)))
            else:
                shown.append(each)
        return counted, shown

    def _at(self, task: Task) -> str:
        return self.upstream or task.shufflers[-1].address

    def _source(self, task: Task) -> Upstream:
        missing = "an analyzer with a key fetches batches from the last shuffler with it"
        return self.source(self._at(task), missing=missing)


@dataclass(frozen=True, kw_only=True)
class Settings(SharedSettings):
    """Tasks, store and ledger of an analyzer.

    joined: each release is of all batches so far, instead of one batch.
    only_shown: tasks without a key, for example after it was destroyed. Existing releases are shown; none are added.
    upstream: the address of the last shuffler for the console, if it is not the one in the task.
    sessions: the open sessions of operators.
    block: words that no page or file shows.
    """

    served: Sequence[Served]
    store: TallyStore
    ledger: Ledger | str | Path | None = None
    joined: bool = False
    only_shown: Sequence[Task] = ()
    upstream: str | None = None
    sessions: Sessions = field(default_factory=Sessions)
    block: Blocklist | None = None
    options: TaskOptions | None = None

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
        fetching = Accepted(() if token is None else (hash_of(read_word(token)),))
        operators = read_operators(operator, fetching)
        blocked = None if block is None else Blocklist.read(block)
        files = read_files(task, operators=operators)
        options = TaskOptions(key=key, upstream=upstream, token=token, answers=answers, operators=operators)
        Ledger(ledger)  # raises an error before a store is created
        opened = open_tally_store(store)
        with closed_on_error(opened):
            start = StartFiles(files, opened.files.states())
            needed = bool(key) and not operators.hashes
            served, shown = options.served(start.tasks, keys_needed=needed, is_over=start.is_over)
        return cls(
            served=served,
            store=opened,
            ledger=ledger,
            joined=join,
            processes=processes,
            owns_store=True,
            upstream=upstream,
            operators=operators,
            only_shown=shown,
            block=blocked,
            series=start.series,
            options=options,
        )

    def check_more(self, stored: Sequence[Task]) -> None:
        """Check the ledger."""
        if self.tasks:  # otherwise no option could make what is in the store fit
            self.check_ledger([*self.tasks, *stored])

    def check_ledger(self, tasks: Sequence[Task]) -> None:
        """Refuse tasks that do not fit the ledger, before people answer a question that could never be published."""
        if self.ledger is not None:
            check_tasks_fit(Ledger.of(self.ledger), tasks)

    def close(self) -> None:
        """End the sessions, and close connections and store."""
        self.sessions.close()
        super().close()


def _own(task: Task, held: Mapping[str, KeyPair]) -> KeyPair:
    """The key of the analyzer of a task."""
    own = held.get(task.analyzer.key)
    if own is None:
        raise MissingKeyError(task, "the analyzer", [task.analyzer])
    return own


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

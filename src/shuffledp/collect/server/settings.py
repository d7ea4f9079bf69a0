"""Checks of settings that the shuffler and the analyzer share: tasks, keys, and the server upstream."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from shuffledp.collect.crypto.keys import KeyPair, read_key, read_word
from shuffledp.collect.server.observability import log
from shuffledp.collect.server.pull import Upstream
from shuffledp.collect.task import Phase, Series, Task, read_task_or_series
from shuffledp.collect.task.series import tasks_of
from shuffledp.errors import BrokenPromiseError, ParameterError


def read_tasks(paths: Sequence[Path]) -> tuple[list[Task], list[Series]]:
    """Read files of tasks and series, which must be of different tasks; return all tasks, and the series.

    The tasks of a series are those of all its rounds.
    """
    if not paths:
        raise ParameterError("task must name at least one task file, got none")
    asked = [read_task_or_series(path) for path in paths]
    series = [one for one in asked if isinstance(one, Series)]
    tasks = [task for one in asked for task in tasks_of(one)]
    if len({task.id for task in tasks}) < len(tasks):
        raise ParameterError("task must name each task once, got the same task twice")
    return tasks, series


KEY_FILES, PUBLIC_KEYS = "*.key", "public.txt"
"""The names of the private keys in a folder of keys, and of the list of their public keys."""


def read_keys(paths: Sequence[Path]) -> list[KeyPair]:
    """Read key files, and all keys in folders: a server of a series may have one key for each round."""
    files: list[Path] = []
    for path in paths:
        found = sorted(path.glob(KEY_FILES)) if path.is_dir() else [path]
        if not found:
            raise ParameterError(f"key must be a key file or a folder of files {KEY_FILES}, got the folder {path}")
        files += found
    return [read_key(file) for file in files]


def is_closed_round(task: Task) -> bool:
    """Whether a task is a round that is closed, so that its key may have been destroyed."""
    return task.series is not None and task.phase(time.time()) is Phase.CLOSED


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


def upstream_at(address: str, token: Path) -> Upstream:
    """The server at an address, which knows the hash of the token in a file."""
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ParameterError(f"upstream must be an address such as https://host:port, got {address!r:.80}")
    return Upstream(address, read_word(token))


def check_one_upstream(addresses: Iterable[str]) -> None:
    """Refuse several servers upstream: each would learn the token that opens the batches of the others."""
    if len(set(addresses)) > 1:
        raise ParameterError(
            "all tasks must come from the same shuffler, since each shuffler upstream learns the token: run one server "
            "for each shuffler, with a token of its own"
        )


def warn_of_shared_keys(keys: Iterable[tuple[Task, KeyPair]]) -> None:
    """Log that several tasks share a key: once it is destroyed with one task, the others cannot be opened.

    The rounds of one series may share a key.
    """
    used = {(task.name if task.series is None else task.series.id, key.public) for task, key in keys}
    if len({public for _, public in used}) < len(used):
        log("one key is used by several tasks: make a key for each task, since a key is destroyed with its task")

"""Checks of settings that the shuffler and the analyzer share: tasks, keys, and the server upstream."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from shuffledp.collect.crypto.keys import KeyPair, read_word
from shuffledp.collect.server.observability import log
from shuffledp.collect.server.pull import Upstream
from shuffledp.collect.task import Task, read_task
from shuffledp.errors import BrokenPromiseError, ParameterError


def read_tasks(paths: Sequence[Path]) -> list[Task]:
    """Read task files, which must be of different tasks."""
    if not paths:
        raise ParameterError("task must name at least one task file, got none")
    tasks = [read_task(path) for path in paths]
    if len({task.id for task in tasks}) < len(tasks):
        raise ParameterError("task must name each task once, got the same task twice")
    return tasks


def check_guarantee(task: Task) -> None:
    """Refuse a task that gives less privacy than it claims."""
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


def warn_of_shared_keys(keys: Iterable[KeyPair]) -> None:
    """Log that several tasks share a key: once it is destroyed with one task, the others cannot be opened."""
    public = [key.public for key in keys]
    if len(set(public)) < len(public):
        log("one key is used by several tasks: make a key for each task, since a key is destroyed with its task")

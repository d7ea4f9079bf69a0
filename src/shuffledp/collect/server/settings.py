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
    """The tasks of files, which must be different ones."""
    if not paths:
        raise ParameterError("--task is missing: a server needs at least one task")
    tasks = [read_task(path) for path in paths]
    if len({task.id for task in tasks}) < len(tasks):
        raise ParameterError("--task names the same task twice: give each task once")
    return tasks


def check_served(task: Task) -> None:
    """Refuses a task that gives less privacy than it claims, in words for whoever runs a server."""
    try:
        task.check()
    except BrokenPromiseError as error:
        raise BrokenPromiseError(f"the task {task.name[:16]} cannot be served: {error}; make it anew") from None


def upstream_at(address: str, token: Path) -> Upstream:
    """The hop at an address, which knows the hash of the token in a file."""
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ParameterError(f"--upstream must be an address such as https://host:port, got {address!r:.80}")
    return Upstream(address, read_word(token))


def check_one_upstream(addresses: Iterable[str]) -> None:
    """Refuses hops of which each would learn the token that opens the batches of the others."""
    if len(set(addresses)) > 1:
        raise ParameterError(
            "the tasks come from different shufflers, and each of them would learn the one --token: run one server for "
            "each, with a token of its own"
        )


def warn_of_shared_keys(keys: Iterable[KeyPair]) -> None:
    """Logs that a key is used by more than one task: destroyed with the first, it is missing for the other."""
    public = [key.public for key in keys]
    if len(set(public)) < len(public):
        log("one key is used by several tasks: keys belong to one task, and are destroyed with it; make new ones")

"""What the commands of both servers are given: tasks, and the hop from which batches are pulled."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from shuffledp.collection.envelope.keys import read_word
from shuffledp.collection.service.pulling import Upstream
from shuffledp.collection.task import Task, read_task
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

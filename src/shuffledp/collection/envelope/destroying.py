"""Destroying the private key of a task: what it would make unreadable is said before."""

from __future__ import annotations

import os
import secrets
from datetime import datetime
from pathlib import Path

from shuffledp.collection.envelope.hops import name_of, position_of
from shuffledp.collection.envelope.keys import KeyPair
from shuffledp.collection.task import Task
from shuffledp.errors import DataError
from shuffledp.report.whole_file import sync_folder


def what_is_lost(task: Task, pair: KeyPair, *, now: datetime) -> list[str]:
    """What becomes unreadable without the key, in sentences."""
    position = position_of(task, pair)
    said = [f"It is the key of {name_of(task, position)} of the task {task.name}."]
    reads = "reports that arrive from now on" if position == 0 else "batches that were not opened yet"
    said.append(f"Without it nobody can read {reads}.")
    if now < task.closes:
        said.append(f"The task is open until {task.closing}: people's reports would be refused or lost.")
    return said


def destroy(path: Path) -> None:
    """Overwrites a file with random bytes, durably, and deletes it.

    Copies that a file system, a drive or a backup keeps of its own are beyond reach.
    """
    try:
        with path.open("r+b") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(0)
            file.write(secrets.token_bytes(size))
            file.flush()
            os.fsync(file.fileno())
        path.unlink()
        sync_folder(path.parent)
    except OSError as error:
        raise DataError(f"{path} could not be destroyed: {error.strerror}") from None

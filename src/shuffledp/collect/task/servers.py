"""The hops of a task in order: whose key it is, what its owner opens, and what they are called.

Destroying the private key of a task: what it would make unreadable is said before.
"""

from __future__ import annotations

import os
import secrets
from datetime import datetime
from pathlib import Path

from shuffledp.atomic_file import sync_folder
from shuffledp.collect.crypto.batch import Layer
from shuffledp.collect.crypto.keys import KeyPair
from shuffledp.collect.task import Task
from shuffledp.errors import DataError, ParameterError


def position_of(task: Task, key: KeyPair) -> int:
    """Where the owner of a key is in the chain: shufflers are 0, 1, ... in their order, the analyzer is the next."""
    for position, place in enumerate([*task.shufflers, task.analyzer]):
        if place.key == key.public:
            return position
    raise ParameterError(
        f"the key with the public part {key.public[:16]} is not that of any server of the task {task.name[:16]}: give "
        "the one that was made for it"
    )


def layer_of(task: Task, key: KeyPair) -> Layer:
    """The layer of onions that the owner of a key opens."""
    position = position_of(task, key)
    return Layer(task.id, position, task.onion_length(position), key.private_bytes)


def name_of(task: Task, position: int) -> str:
    """A hop in words."""
    return "the analyzer" if position == len(task.shufflers) else f"shuffler {position + 1} of {len(task.shufflers)}"


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

"""The servers of a task in the order of the chain: positions, names, layers, and destroying their private keys."""

from __future__ import annotations

import os
import secrets
from datetime import datetime
from pathlib import Path

from shuffledp.atomic_file import sync_folder
from shuffledp.collect.crypto.batch import Layer
from shuffledp.collect.crypto.keys import KeyPair
from shuffledp.collect.task import Phase, Task
from shuffledp.errors import DataError, ParameterError


def position_of(task: Task, key: KeyPair) -> int:
    """Return the position of a key's server: shufflers are 0, 1, ... in their order, the analyzer is the next."""
    for position, place in enumerate([*task.shufflers, task.analyzer]):
        if place.key == key.public:
            return position
    raise ParameterError(
        f"key must be of a server of the task {task.name[:16]}, got the one with the public part {key.public[:16]}"
    )


def layer_of(task: Task, key: KeyPair) -> Layer:
    """Return the layer of onions that the owner of a key opens."""
    position = position_of(task, key)
    return Layer(task.id, position, task.onion_length(position), key.private_bytes)


def name_of(task: Task, position: int) -> str:
    """Return the name of the server at a position."""
    return "the analyzer" if position == len(task.shufflers) else f"shuffler {position + 1} of {len(task.shufflers)}"


def what_is_lost(task: Task, pair: KeyPair, *, now: datetime) -> list[str]:
    """Return sentences about the data that becomes unreadable without the key."""
    position = position_of(task, pair)
    sentences = [f"This is the key of {name_of(task, position)} of the task {task.name}."]
    data = "reports that arrive from now on" if position == 0 else "batches that were not opened yet"
    sentences.append(f"Without it nobody can read {data}.")
    if task.phase(now.timestamp()) is not Phase.CLOSED:
        sentences.append(f"The task is open until {task.closing}: reports would be refused or lost.")
    return sentences


def destroy(path: Path) -> None:
    """Overwrite a file with random bytes, durably, and delete it.

    This does not reach copies in a file system, a drive or a backup.
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

"""Private keys whose files are gone.

A key file that was overwritten, or stays missing in its folder, was destroyed. The private key is dropped from memory,
and no report or batch of its tasks is opened any more. A folder that is missing, or another one than before, is a disk
that is not mounted: the key stays.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakKeyDictionary

from shuffledp.collect.crypto.keys import KeyPair
from shuffledp.collect.server.events import Event
from shuffledp.collect.server.observability import log
from shuffledp.collect.task import Task

LOOKS_BEFORE_GONE = 10
"""Looks in a row, by default within five seconds, that must find a key file missing: some disks fail for a moment."""

KEY_GONE = (
    "The file of this task's private key is gone: its reports and batches cannot be opened. If the file comes back, "
    "start the server again; otherwise close and remove the task, and create a new one."
)


@dataclass
class _Seen:
    """What was seen of a key's file: its folder, its state when it was read last, and the looks that missed it.

    `task` is the id of the first task with this key.
    """

    task: bytes
    folder: tuple[int, int] | None = None
    state: tuple[int, int, int] | None = None
    missed: int = 0


class KeyWatch:
    """Drop private keys whose files are gone; `keys` gives the tasks of now and their keys.

    A key is watched as long as it is in memory: its file is usually destroyed after its task was removed.
    """

    def __init__(self, keys: Callable[[], Iterable[tuple[Task, KeyPair]]]) -> None:
        self._keys = keys
        self._seen: WeakKeyDictionary[KeyPair, _Seen] = WeakKeyDictionary()  # several may be of one file
        self._learn()  # a task may be removed before the first step

    def step(self, stopping: threading.Event) -> bool:
        """Look at all key files, as background work."""
        self._learn()
        for key, seen in list(self._seen.items()):
            if key.file is None or key.destroyed or not self._gone(key, key.file, seen):
                continue
            key.destroy()
            log(Event.KEY_DESTROYED, task=seen.task, level=logging.WARNING)
        return False

    def _learn(self) -> None:
        for task, key in self._keys():
            if key not in self._seen:
                self._seen[key] = _Seen(task.id)

    def _gone(self, key: KeyPair, file: Path, seen: _Seen) -> bool:
        """Whether a key file was deleted or overwritten; one that cannot be read at the moment is not gone."""
        try:
            place = file.parent.stat()
            folder = (place.st_dev, place.st_ino)
            try:
                found = file.stat()
            except FileNotFoundError:
                seen.missed += seen.folder in (None, folder)
                return seen.missed >= LOOKS_BEFORE_GONE
            seen.folder, seen.missed = folder, 0
            state = (found.st_ino, found.st_mtime_ns, found.st_size)
            if seen.state == state:
                return False
            content = file.read_bytes()
        except OSError:  # also where a whole disk is missing
            return False
        seen.state = state
        return key.public.encode() not in content

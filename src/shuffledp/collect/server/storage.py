"""What a server needs to do its work: a store that can be written, space on its disks, and its keys.

The store fails when a commit of reports or a probe fails. It works again after a commit that comes long enough after
the last failure: while a disk is nearly full, a short report may still fit where the next one does not. A load balancer
sends no reports to a server that fails, so then a probe commits. No other probe does: commits at known times, between
those of reports, would say when each report arrived. Failures of other work are problems of its task (`TaskHealth`).

A key file that was overwritten, or stays missing in its folder, was destroyed: the private key is dropped from memory.
A folder that is missing, or another one than before, is a disk that is not mounted: the key stays.
"""

from __future__ import annotations

import logging
import shutil
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from shuffledp.collect.crypto.keys import KeyPair
from shuffledp.collect.server.observability import Event, log, log_error
from shuffledp.collect.store.database import Database, Fault, StoreError, fault_of
from shuffledp.collect.task import Task
from shuffledp.errors import DataError

PROBE_EVERY = 10.0
"""Seconds between probes of a store."""

HOLD = 30.0
"""Seconds without a failure before a success counts as a recovery."""

SPACE_STEP = 64 * 2**20
"""Bytes to which free space is rounded down: thousands of reports.

The length of a report says how many messages it has, and so more about its noise than the guarantee allows.
"""

SPACE_EVERY = 60.0
"""Seconds for which free space is not measured again."""

Given = TypeVar("Given")
Result = TypeVar("Result")


class Space(NamedTuple):
    """Free bytes of a file system, and its size; rounded, since in some what others write changes both."""

    free: int
    size: int


def rounded_space(free: int) -> int:
    """Free bytes, rounded down."""
    return free - free % SPACE_STEP


def rounded_size(size: int) -> int:
    """Bytes of a file system, rounded up: one that is smaller than a step has a size too."""
    return size + -size % SPACE_STEP


class StoreHealth:
    """Whether a store can be written, and the number of failures of this process by reason."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._database, self._clock, self._guard = database, clock, threading.Lock()
        self._errors: Counter[str] = Counter()
        self._failing: Fault | None = None
        self._failed_at = self._next_probe = clock()
        self._space: tuple[float, dict[str, Space]] | None = None
        database.watch(lambda error: self._count(error.fault))

    @property
    def failing(self) -> Fault | None:
        """Why reports and probes cannot be written; None while they can."""
        return self._failing

    @property
    def errors(self) -> dict[str, int]:
        """Failures of this process by every possible reason."""
        with self._guard:
            return {reason.value: self._errors[reason.value] for reason in Fault}

    @property
    def version(self) -> int:
        """The version of the tables."""
        return self._database.version

    @property
    def space(self) -> dict[str, Space]:
        """The space for the store, if it is a file, and for temporary files."""
        now = self._clock()
        if self._space is None or now - self._space[0] >= SPACE_EVERY:
            places = {"store": self._database.file, "temporary": Path(tempfile.gettempdir())}
            found = {of: _space(place) for of, place in places.items() if place is not None}
            self._space = now, {of: space for of, space in found.items() if space is not None}
        return self._space[1]

    def watched(self, write: Callable[[Given], Result]) -> Callable[[Given], Result]:
        """The same function; its failures and successes decide whether the store fails."""

        def watching(given: Given) -> Result:
            try:
                result = write(given)
            except Exception as error:
                if not isinstance(error, StoreError):  # the database has told of that
                    self._count(Fault.UNKNOWN)
                self._failed(fault_of(error))
                raise
            self._succeeded()
            return result

        return watching

    def step(self, stopping: threading.Event) -> bool:
        """Probe the store if that is due, as background work."""
        now = self._clock()
        if now < self._next_probe:
            return False
        self._next_probe = now + PROBE_EVERY
        try:
            if self._failing is None:
                self._database.check_usable()
            elif now - self._failed_at >= HOLD:
                self._database.check_writable()
                self._succeeded()
        except DataError as error:
            self._failed(fault_of(error))
            log_error(Event.STORE_FAILED, error)
        return False

    def _count(self, fault: Fault) -> None:
        with self._guard:
            self._errors[fault.value] += 1

    def _failed(self, fault: Fault) -> None:
        self._failing, self._failed_at = fault, self._clock()

    def _succeeded(self) -> None:
        if self._failing is not None and self._clock() - self._failed_at >= HOLD:
            self._failing = None
            log(Event.STORE_RECOVERED)


def _space(place: Path) -> Space | None:
    try:
        found = shutil.disk_usage(place if place.is_dir() else place.parent)
    except OSError:
        return None
    return Space(rounded_space(found.free), rounded_size(found.total))


def storage_problems(key: KeyPair | None, failing: Fault | None, *, closed: bool) -> list[str]:
    """Public sentences about a store that cannot be written, and about a key that is gone."""
    found = []
    if failing is not None:
        found.append(f"Nothing can be stored, since {failing.meaning}: reports are refused and batches wait.")
    if key is not None and key.destroyed and not closed:  # after a task, its key is destroyed on purpose
        found.append(KEY_GONE)
    return found


LOOKS_BEFORE_GONE = 10
"""Looks in a row, by default within five seconds, that must find a key file missing: some disks fail for a moment."""

KEY_GONE = (
    "The file of this task's private key is gone: its reports and batches cannot be opened. If the file comes back, "
    "start the server again; otherwise close and remove the task, and create a new one."
)


@dataclass
class _Seen:
    """What was seen of a key's file: its folder, its state when it was read last, and the looks that missed it."""

    task: bytes  # the first with this key
    folder: tuple[int, int] | None = None
    state: tuple[int, int, int] | None = None
    missed: int = 0


class KeyWatch:
    """Drop private keys whose files are gone; `keys` gives the tasks of now and their keys.

    A key is watched while it is in memory: its file is usually destroyed after its task was removed.
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

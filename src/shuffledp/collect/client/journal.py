"""The journal of a person: the state of their report for each task, so that they answer each task once.

There is one small file for each task, named by its id, that only its owner may read. It holds the sealed report and its
state, never the answer. Files are written atomically and durably. A file that cannot be read is left as it is: another
report would be a second sample for one answer.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

import msgspec

from shuffledp.atomic_file import sync_folder
from shuffledp.collect.task import Task
from shuffledp.errors import DataError, ParameterError

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A report that is ready to be sent, or its outcome; the bytes are kept until the outcome is known."""

    kind: Literal["shuffledp journal 1"] = "shuffledp journal 1"
    task: str
    state: Literal["ready", "sent", "refused"]
    report: bytes = b""
    sha256: str = ""
    reason: str | None = None

    @property
    def whole(self) -> bool:
        """Whether a report that should be here is here and unchanged."""
        if self.state != "ready":
            return not self.report
        return bool(self.report) and hashlib.sha256(self.report).hexdigest() == self.sha256


class Journal:
    """The folder of one person; by default in the platform's folder for application data."""

    def __init__(self, folder: str | Path | None = None) -> None:
        if folder is not None and not isinstance(folder, (str, Path)):
            raise ParameterError(f"journal must be the name of a folder, got {type(folder).__name__}")
        self.folder = default_folder() if folder is None else Path(folder)

    def path(self, task: Task) -> Path:
        """Return the file of a task."""
        return self.folder / f"{task.name}.json"

    def read(self, task: Task) -> Entry | None:
        """Return the entry for a task; None if there is no report."""
        path = self.path(task)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise DataError(f"the journal {path} cannot be read: {error.strerror}") from None
        try:
            entry = msgspec.json.decode(content, type=Entry)
        except (msgspec.DecodeError, UnicodeDecodeError):
            entry = None
        if entry is None or entry.task != task.name or not entry.whole:
            raise DataError(
                f"the journal {path} is broken, so it is unknown whether this task was answered: restore it from a "
                "copy. It is not overwritten, since a second report would weaken the privacy of the answer"
            )
        return entry

    def keep(self, task: Task, report: bytes) -> Entry:
        """Add a report unless there is one already; return the entry that is there then.

        If several processes do this at once, exactly one adds its report, and all get that one.
        """
        self._make_folder()
        entry = Entry(task=task.name, state="ready", report=report, sha256=hashlib.sha256(report).hexdigest())
        with self._clear_errors(), self._written(task, entry) as whole:
            with suppress(FileExistsError, FileNotFoundError):  # another process was faster
                os.link(whole, self.path(task))  # unlike a rename, this never replaces a file
            sync_folder(self.folder)  # the entry that is returned is durable, whichever process added it
        kept = self.read(task)
        if kept is None:
            raise DataError(f"the journal {self.path(task)} was removed while it was written")
        return kept

    def settle(self, task: Task, state: Literal["sent", "refused"], reason: str | None = None) -> None:
        """Record the outcome of a report and drop its bytes; an earlier outcome stays."""
        before = self.read(task)
        if before is None or before.state != "ready":
            return
        with self._clear_errors(), self._written(task, Entry(task=task.name, state=state, reason=reason)) as whole:
            with suppress(FileNotFoundError):  # another process has recorded it and cleaned up
                whole.replace(self.path(task))
            for left in self.folder.glob(f".{task.name}.*"):  # left by a process that was killed
                left.unlink(missing_ok=True)
            sync_folder(self.folder)

    @contextmanager
    def _written(self, task: Task, entry: Entry) -> Iterator[Path]:
        """Write an entry to a durable temporary file, readable by its owner only."""
        handle, name = tempfile.mkstemp(dir=self.folder, prefix=f".{task.name}.")
        whole = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(msgspec.json.encode(entry) + b"\n")
                file.flush()
                os.fsync(file.fileno())
            yield whole
        finally:
            whole.unlink(missing_ok=True)

    @contextmanager
    def _clear_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise DataError(f"the journal in {self.folder} cannot be written: {error.strerror}") from None

    def _make_folder(self) -> None:
        """Create the folder, or check that it is private: file names tell in which tasks a person took part."""
        with self._clear_errors():
            missing = [folder for folder in (self.folder, *self.folder.parents) if not folder.exists()]
            for folder in reversed(missing):
                folder.mkdir(mode=0o700, exist_ok=True)
                sync_folder(folder.parent)
            others = self.folder.stat().st_mode & _OTHERS
        if os.name == "posix" and others:
            raise DataError(
                f"other users may look into the journal {self.folder}: run  chmod 700 {self.folder}  or give another "
                "folder"
            )


def default_folder() -> Path:
    """Return the folder in the platform's place for application data."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "shuffledp" / "reports"

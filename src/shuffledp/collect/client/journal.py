"""The journal of a person: the state of their report for each task, and the privacy that each answer spends.

There is one small file for each task, named by its id, that only its owner may read. It holds the sealed report, its
state and its `Spending`, never the answer. A file that cannot be read is left as it is: another report would be a
second sample for one answer. A client with a budget writes a claim before it looks at the total, so of two clients that
begin at the same time, at least one sees both (docs/reference/wire-format.md, "The journal").
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from shuffledp.atomic_file import sync_folder
from shuffledp.collect.task import Series, Task
from shuffledp.collect.task.public_file import decimal_text, read_decimal
from shuffledp.collect.task.spending import Spending
from shuffledp.errors import DataError, ParameterError, TaskError
from shuffledp.ledger.budget import Budget

T = TypeVar("T")
_OTHERS = stat.S_IRWXG | stat.S_IRWXO

_NAME = re.compile(r"([0-9a-f]{64})(\.json|\.[0-9a-zA-Z-]+\.claim)")
"""The names of entries and claims; other files in the folder are left alone."""

_LIMIT = "budget.json"

OWNER = "this person"
"""The population of a personal limit."""


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A report that is ready to be sent, or its outcome; the bytes are kept until the outcome is known.

    `fallback` is the same report with the earliest time that the task allows, for a server that refuses the time of
    `report`; it is empty where both times are the same. Entries of the first version have no `spending`, and only those
    of the third a `fallback`.
    """

    kind: Literal["shuffledp journal 1", "shuffledp journal 2", "shuffledp journal 3"] = "shuffledp journal 3"
    task: str
    state: Literal["ready", "sent", "refused"]
    report: bytes = b""
    fallback: bytes = b""
    sha256: str = ""
    fallback_sha256: str = ""
    reason: str | None = None
    spending: Spending | None = None

    @property
    def whole(self) -> bool:
        """Whether a report that should be here is here and unchanged, and the spending where there should be one."""
        if (self.kind == "shuffledp journal 1") != (self.spending is None):
            return False
        if self.fallback and self.kind != "shuffledp journal 3":
            return False
        if self.state != "ready":
            return not self.report and not self.fallback
        whole = hashlib.sha256(self.report).hexdigest() == self.sha256
        return bool(self.report) and whole and _fingerprint(self.fallback) == self.fallback_sha256

    def settled(self, state: Literal["sent", "refused"], reason: str | None) -> Entry:
        """Return the entry of the same answer with its outcome, without the report."""
        return Entry(kind=self.kind, task=self.task, state=state, reason=reason, spending=self.spending)


class _Claim(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An answer that a client is about to make, or was when it was killed."""

    kind: Literal["shuffledp claim 1"] = "shuffledp claim 1"
    task: str
    spending: Spending


class _Limit(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The stored limit; decimal numbers as text."""

    kind: Literal["shuffledp budget 1"] = "shuffledp budget 1"
    epsilon: str
    delta: str
    by_results: bool


@dataclass(frozen=True, kw_only=True)
class AnsweredTask:
    """One task in a journal. Its `state` is the entry's, or "claimed" if a client began and did not finish.

    `spending` is None in entries of the first version, until `Journal.describe` adds it.
    """

    task: str
    state: Literal["ready", "sent", "refused", "claimed"]
    spending: Spending | None


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
        return self._entry(task.name)

    def _entry(self, name: str) -> Entry | None:
        path = self.folder / f"{name}.json"
        content = self._content(path)
        if content is None:
            return None
        entry = _decoded(content, Entry)
        if entry is None or entry.task != name or not entry.whole:
            raise DataError(
                f"the journal {path} is broken, so it is unknown whether this task was answered: restore it from a "
                "copy. It is not overwritten, since a second report would weaken the privacy of the answer"
            )
        return entry

    def keep(self, task: Task, report: bytes, fallback: bytes = b"") -> Entry:
        """Add a report unless there is one already; return the entry that is there then.

        If several processes do this at once, exactly one adds its report, and all get that one. Claims of this task
        are removed, since the entry counts from now on.
        """
        self._make_folder()
        entry = Entry(
            task=task.name,
            state="ready",
            report=report,
            fallback=fallback,
            sha256=hashlib.sha256(report).hexdigest(),
            fallback_sha256=_fingerprint(fallback),
            spending=Spending.of(task),
        )
        with self._written(task.name, _plain(entry)) as whole:
            with suppress(FileExistsError, FileNotFoundError):  # another process was faster
                os.link(whole, self.path(task))  # unlike a rename, this never replaces a file
            sync_folder(self.folder)  # the entry that is returned is durable, whichever process added it
        kept = self.read(task)
        if kept is None:
            raise DataError(f"the journal {self.path(task)} was removed while it was written")
        if kept.spending is not None:
            with self._clear_errors():
                for claim in self._claims(task):
                    claim.unlink(missing_ok=True)
        return kept

    def settle(self, task: Task, state: Literal["sent", "refused"], reason: str | None = None) -> None:
        """Record the outcome of a report and drop its bytes; an earlier outcome stays."""
        before = self.read(task)
        if before is None or before.state != "ready":
            return
        with self._written(task.name, _plain(before.settled(state, reason))) as whole:
            with suppress(FileNotFoundError):  # another process has recorded it and cleaned up
                whole.replace(self.path(task))
            for left in self.folder.glob(f".{task.name}.*"):  # left by a process that was killed
                left.unlink(missing_ok=True)
            sync_folder(self.folder)

    def describe(self, task: Task) -> bool:
        """Add the spending to an entry of the first version, or to broken claims; return whether it was missing."""
        before = self.read(task)
        if before is None:
            return self._describe_claims(task)
        if before.spending is not None:
            return False
        with self._clear_errors():
            day = datetime.fromtimestamp(self.path(task).stat().st_mtime, UTC).date()
        after = msgspec.structs.replace(before, kind="shuffledp journal 2", spending=Spending.of(task, day=day))
        with self._written(task.name, _plain(after)) as whole:
            whole.replace(self.path(task))
            sync_folder(self.folder)
        return True

    def describe_rounds(self, series: Series) -> bool:
        """Add the spendings of all rounds that are in this journal; return whether one was missing."""
        present = {name for name, _ in self._names()}
        rounds = [task for task in series.tasks if task.name in present]
        if not rounds:
            raise DataError(f"the journal in {self.folder} has no entry for a round of this series")
        return sum(self.describe(task) for task in rounds) > 0

    def _describe_claims(self, task: Task) -> bool:
        claims = self._claims(task)
        if not claims:
            raise DataError(f"the journal in {self.folder} has no entry for this task")
        self.claim(task)  # the id of a task fixes its spending, so this one is right
        for claim in claims:
            self.withdraw(claim)
        return True

    def claim(self, task: Task) -> Path:
        """Write a claim durably and return its file, which counts as spent until `withdraw` or `keep`."""
        self._make_folder()
        path = self.folder / f"{task.name}.{secrets.token_hex(16)}.claim"
        with self._written(task.name, _Claim(task=task.name, spending=Spending.of(task))) as whole:
            os.link(whole, path)
            sync_folder(self.folder)
        return path

    def withdraw(self, claim: Path) -> None:
        """Remove a claim of which no report was made."""
        with self._clear_errors():
            claim.unlink(missing_ok=True)
            sync_folder(self.folder)

    def _claims(self, task: Task) -> list[Path]:
        return list(self.folder.glob(f"{task.name}.*.claim"))

    def spendings(self) -> list[AnsweredTask]:
        """Return all answered and claimed tasks, each once, in the order of days, series and rounds.

        The names are listed twice. A claim that turns into an entry meanwhile is either in the first list as a claim,
        or in the second as an entry.
        """
        found: dict[str, AnsweredTask] = {}
        for name, ending in sorted(self._names() | self._names()):
            if ending == ".json":
                entry = self._entry(name)
                if entry is not None:
                    claimed = found.get(name)
                    known = entry.spending or (claimed.spending if claimed else None)
                    found[name] = AnsweredTask(task=name, state=entry.state, spending=known)
            elif name not in found or found[name].spending is None:
                self._add_claim(found, name, ending)
        return sorted(found.values(), key=_time_order)

    def _add_claim(self, found: dict[str, AnsweredTask], name: str, ending: str) -> None:
        path = self.folder / f"{name}{ending}"
        content = self._content(path)
        if content is None:  # withdrawn, or an entry by now
            entry = self._entry(name)
            if entry is not None and name not in found:
                found[name] = AnsweredTask(task=name, state=entry.state, spending=entry.spending)
            return
        claim = _decoded(content, _Claim)
        if claim is None or claim.task != name:
            raise DataError(
                f"the journal {path} is broken, so it is unknown how much privacy was spent: restore it from a copy, "
                "or add it again from the task file. It is not removed, since a report may have been sent"
            )
        state = found[name].state if name in found else "claimed"
        found[name] = AnsweredTask(task=name, state=state, spending=claim.spending)

    def _names(self) -> set[tuple[str, str]]:
        try:
            names = os.listdir(self.folder)  # noqa: PTH208  (one system call after another, without objects)
        except FileNotFoundError:
            return set()
        except OSError as error:
            raise DataError(f"the journal {self.folder} cannot be read: {error.strerror}") from None
        for name in names:
            if _NAME.fullmatch(name) is None and _NAME.fullmatch(name.lower()):
                raise DataError(
                    f"the journal {self.folder / name} must have a name in lower case, so that it is counted: rename it"
                )
        return {(match[1], match[2]) for match in map(_NAME.fullmatch, names) if match}

    @property
    def limit(self) -> Budget | None:
        """The stored limit of this person; None if there is none."""
        path = self.folder / _LIMIT
        content = self._content(path)
        if content is None:
            return None
        written = _decoded(content, _Limit)
        try:
            if written is not None:
                return Budget(
                    population=OWNER,
                    epsilon=read_decimal(written.epsilon, name="epsilon"),
                    delta=read_decimal(written.delta, name="delta"),
                    by_results=written.by_results,
                )
        except (ParameterError, TaskError):
            pass
        raise DataError(f"the limit in {path} cannot be read: store it again")

    def store_limit(self, limit: Budget) -> None:
        """Store the limit of this person, in place of an earlier one."""
        self._make_folder()
        epsilon, delta = decimal_text(limit.epsilon), decimal_text(limit.delta)
        written = _Limit(epsilon=epsilon, delta=delta, by_results=limit.by_results)
        with self._written("budget", written) as whole:
            whole.replace(self.folder / _LIMIT)
            sync_folder(self.folder)

    def _content(self, path: Path) -> bytes | None:
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise DataError(f"the journal {path} cannot be read: {error.strerror}") from None

    @contextmanager
    def _written(self, name: str, content: Any) -> Iterator[Path]:
        """A durable temporary file with a record, readable by its owner only."""
        with self._clear_errors():
            handle, temporary = tempfile.mkstemp(dir=self.folder, prefix=f".{name}.")
            whole = Path(temporary)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(msgspec.json.encode(content) + b"\n")
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
                f"other users may look into the journal {self.folder}: run chmod 700 {self.folder} or give another "
                "folder"
            )


def _time_order(spent: AnsweredTask) -> tuple[str, str, int, str]:
    """Sort by the day, which is all that a journal knows of a time, then the rounds of each series by their number."""
    spending = spent.spending
    if spending is None:
        return "", "", 0, spent.task
    series = spending.series
    return (spending.day, "", 0, spent.task) if series is None else (spending.day, series.id, series.round, spent.task)


def _decoded(content: bytes, kind: type[T]) -> T | None:
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _fingerprint(fallback: bytes) -> str:
    return hashlib.sha256(fallback).hexdigest() if fallback else ""


def _plain(entry: Entry) -> dict[str, Any]:
    """The entry as it is written: older versions lack some fields."""
    written: dict[str, Any] = msgspec.structs.asdict(entry)
    if entry.spending is None:
        del written["spending"]
    if entry.kind != "shuffledp journal 3":
        del written["fallback"], written["fallback_sha256"]
    return written


def default_folder() -> Path:
    """Return the folder in the platform's place for application data."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "shuffledp" / "reports"

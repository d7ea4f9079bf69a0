"""What goes into a store and comes out of it.

What the stores ask of a database: transactions that are on the disk when they end, and a handful of verbs in them.

Statements are written once, in the SQL that SQLite and PostgreSQL share, with `?` for a value and, where a column may
be any of many keys, `{keys}` behind its name.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Generic, Protocol, TypeVar

from shuffledp.errors import DataError, ParameterError


class Collected(Protocol):
    """What a store needs to know of a task: its id, and how many reports make a batch."""

    @property
    def id(self) -> bytes:
        """SHA-256 of its canonical bytes."""

    @property
    def users(self) -> int:
        """Reports in a batch."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Arrival:
    """A report that a shuffler has opened: `digest` tells the same bytes sent again from other bytes with the same id.

    `admission_hash` is the hash of a one-time token; None where the task asks for none.
    """

    task_id: bytes
    report_id: bytes
    digest: bytes
    onions: bytes
    number: int
    admission_hash: bytes | None = None


class Outcome(StrEnum):
    """What became of an arrival; nothing is kept of the last three."""

    STORED = "stored"
    KNOWN = "known"  # the same bytes are here since earlier: as good as stored
    OTHER_BYTES = "other bytes"  # another report has this id
    NOT_ADMITTED = "not admitted"  # the token is none of ours, or is spent
    CLOSED = "closed"  # the task has expired


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadyBatch:
    """A mixed batch that the next hop has not acknowledged, and how many onions it holds."""

    batch_id: bytes
    number: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """Counters of a task at a shuffler: reports and messages ever stored, reports in no batch, batches by their state.

    `batches` counts all of them, `short_by` is None until the task has expired, `refused` is by reason.
    """

    reports: int
    messages: int
    waiting: int
    batches: int
    closing: int
    ready: int
    acknowledged: int
    short_by: int | None
    refused: Mapping[str, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class KeptTally:
    """The tally of a batch: how many people are in it, what was refused by reason, why it must not be released."""

    batch_id: bytes
    tally: bytes
    people: int
    refused: Mapping[str, int]
    problem: str | None
    released: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class KeptRelease:
    """A release by its number within the task, from 1: when it was made, and its text."""

    number: int
    made: datetime
    release: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class ListedRelease:
    """A release in a list: its number, and when it was made."""

    number: int
    made: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class CountedBatch:
    """What became of a batch: the people in it, what was refused by reason, its problem, its first release if any."""

    people: int
    refused: Mapping[str, int]
    problem: str | None
    release: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class TallyStanding:
    """Counters of a task at an analyzer: batches counted, those of them with a problem, people in the others."""

    batches: int
    problems: int
    people: int
    releases: int
    refused: Mapping[str, int]


Value = bytes | int | str | None
Row = tuple[Any, ...]
Connection = TypeVar("Connection")

PATIENCE = 60.0
"""Seconds to wait for another process: closing a batch of a million reports takes a few."""


class ConflictError(DataError):
    """Two processes did the same at the same moment, and this one gave way: nothing of it was kept; do it again."""


@dataclass(frozen=True, kw_only=True)
class Schema:
    """The tables of a store. `kind` says whose it is: reports and tallies do not belong into one database.

    `application` is the kind as the number in the head of an SQLite file. `tables` are keyed by what is random or says
    nothing of when a row came; so are `wide_tables`, by one random integer, unless their rows are public and tell it
    anyway. Those rows are long: SQLite would read them in whole to find one by its key.
    """

    kind: str
    version: int
    application: int
    tables: Sequence[str]
    wide_tables: Sequence[str] = ()


class Transaction(Protocol):
    """What can be done between the beginning and the end of a transaction."""

    def run(self, statement: str, *values: Value) -> int:
        """Changes rows; how many."""

    def rows(self, statement: str, *values: Value) -> list[Row]:
        """The rows of a query."""

    def run_among(self, statement: str, keys: Sequence[Value], *values: Value) -> int:
        """Changes rows whose `column {keys}`, at the end of the statement, is one of the keys; how many."""

    def rows_among(self, statement: str, keys: Sequence[Value], *values: Value) -> list[Row]:
        """The rows of a query whose `column {keys}`, at its end, is one of the keys."""

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Value]]) -> int:
        """Adds rows, leaving out those whose key is there already; how many were added."""

    def lock(self, name: str, *, shared: bool = False) -> None:
        """Waits until no other transaction has this lock (a shared one: not alone), and keeps it to the end."""


class Database(Protocol):
    """A database with the tables of one schema, for any number of threads and processes at once."""

    def changing(self) -> AbstractContextManager[Transaction]:
        """One transaction: durable when it ends, undone if anything fails."""

    def estimator(self) -> AbstractContextManager[Transaction]:
        """One view of the database that does not change meanwhile."""

    def forget(self, *tables: str) -> None:
        """Takes what has been deleted from these tables off the disk too, as far as this database can."""

    def close(self) -> None:
        """Ends all connections."""


class Pool(Generic[Connection]):
    """Connections that no thread is using at the moment; a process that was forked makes its own.

    `lost` are the errors by which one that has been idle tells that it is of no more use.
    """

    def __init__(
        self,
        connect: Callable[[], Connection],
        end: Callable[[Connection], None],
        lost: tuple[type[Exception], ...] = (),
    ) -> None:
        self._connect, self._end, self._lost = connect, end, lost
        self._idle: list[Connection] = []
        self._process = os.getpid()
        self._guard = threading.Lock()
        self._closed = False

    @contextmanager
    def borrowed(self, begin: Callable[[Connection], object] = lambda _: None) -> Iterator[Connection]:
        """A connection on which a transaction has begun; one with which anything has failed is not used again."""
        connection = self._begun(begin)
        try:
            yield connection
        except BaseException:
            self._end(connection)
            raise
        self._give_back(connection)

    def close(self) -> None:
        """Ends those that are idle; the others are ended when their transaction is over."""
        with self._guard:
            idle, self._idle, self._closed = self._idle, [], True
        for connection in idle:
            self._end(connection)

    def _begun(self, begin: Callable[[Connection], object]) -> Connection:
        while idle := self._take():
            try:
                begin(idle)
                return idle
            except self._lost:  # the next one may have been lost too, and a new one tells whether there is any hope
                self._end(idle)
        connection = self._connect()
        try:
            begin(connection)
        except BaseException:
            self._end(connection)
            raise
        return connection

    def _take(self) -> Connection | None:
        with self._guard:
            if self._closed:
                raise ParameterError("the store is closed: open it again to use it")
            if self._process != os.getpid():
                # not ended: that would say goodbye in the name of the process that they belong to
                self._inherited, self._idle, self._process = self._idle, [], os.getpid()
            return self._idle.pop() if self._idle else None

    def _give_back(self, connection: Connection) -> None:
        with self._guard:
            if not self._closed:
                self._idle.append(connection)
                return
        self._end(connection)

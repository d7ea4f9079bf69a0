"""The tables of the two stores, and the records that go in and come out.

The tables of a shuffler are laid out to reveal as little as possible about people:

- No table links onions to a report id: onions are stored under a random `place`, which the store chooses. Places also
  decide which reports form a batch, so a client cannot influence that by choosing its report id.
- Reports of one transaction have places near each other. Nothing else says when a report arrived.
- No table has a time or an address, and no token is stored beside a report.

A database records which rows were written together: SQLite in its log until it is emptied, PostgreSQL as a transaction
number in every row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

import msgspec

from shuffledp.collect.task import Task
from shuffledp.errors import DataError


def check_users(tasks: Iterable[Task], known: Mapping[bytes, int]) -> None:
    """Refuse a task whose batches have another size in the store; `known` is by the id of the task."""
    for task in tasks:
        if task.users != (users := known[task.id]):
            raise DataError(f"users must be {users}, as the store has it for this task, got {task.users}")


class Arrival(msgspec.Struct, frozen=True, kw_only=True):
    """A report that a shuffler has opened.

    `digest` tells the same bytes sent again from other bytes with the same id. `admission_hash` is that of a one-time
    token.
    """

    task_id: bytes
    report_id: bytes
    digest: bytes
    onions: bytes
    number: int
    admission_hash: bytes | None = None


class Outcome(StrEnum):
    """The outcome of an arrival; nothing is stored for the last three."""

    STORED = "stored"
    KNOWN = "known"  # the same bytes were stored before
    OTHER_BYTES = "other bytes"  # another report has this id
    NOT_ADMITTED = "not admitted"  # the token is unknown or spent
    CLOSED = "closed"  # the task has expired


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadyBatch:
    """A mixed batch that the next server has not acknowledged, and its number of onions."""

    batch_id: bytes
    number: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """Counters of a task at a shuffler.

    `reports` and `messages` were ever stored, `waiting` reports are in no batch, `batches` is the sum of the three
    states. `short_by` is None until the task has expired. `refused` is by reason.
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
    """The tally of a batch; `problem` says why it must not be released, `refused` counts messages by reason."""

    batch_id: bytes
    tally: bytes
    people: int
    refused: Mapping[str, int]
    problem: str | None
    released: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class ListedRelease:
    """A release in a list: its number within the task, from 1, and its time."""

    number: int
    made: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class KeptRelease(ListedRelease):
    """A release with its text."""

    release: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class CountedBatch:
    """A batch that was counted: people, refused messages by reason, its problem, and its first release if any."""

    people: int
    refused: Mapping[str, int]
    problem: str | None
    release: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class TallyStanding:
    """Counters of a task at an analyzer; `people` are those of batches without a problem."""

    batches: int
    problems: int
    people: int
    releases: int
    refused: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class Schema:
    """The tables of a store of one kind of server.

    `application` is the kind as a number in the header of an SQLite file. The keys of `tables` are random or
    independent of arrival. Rows of `wide_tables` are long; their key is one random integer, or the rows are public and
    their order tells nothing. SQLite stores these with a row id, since without one it would read whole rows to find a
    key. `added` are the tables that a version added.
    """

    kind: str
    version: int
    application: int
    tables: Sequence[str]
    wide_tables: Sequence[str] = ()
    added: Mapping[int, Sequence[str]] = field(default_factory=dict)

    def tables_since(self, version: int) -> list[str]:
        """Return the tables that versions after this one added."""
        return [table for later, tables in sorted(self.added.items()) if later > version for table in tables]


_FINGERPRINTS = (
    # task: a short number of the task; secret: the key of its fingerprints, empty once they are deleted
    """CREATE TABLE fingerprint_keys (
        task_id BLOB NOT NULL PRIMARY KEY, task BIGINT NOT NULL UNIQUE, secret BLOB NOT NULL)""",
    """CREATE TABLE fingerprints (
        task BIGINT NOT NULL, fingerprint BLOB NOT NULL, PRIMARY KEY (task, fingerprint))""",
)

_FILES = (
    # tasks and series that operators have added, closed early or removed; content: the public file
    "CREATE TABLE files (id BLOB NOT NULL PRIMARY KEY, state TEXT NOT NULL, content BLOB NOT NULL)",
)


REPORTS = Schema(
    kind="a shuffler",
    version=3,
    added={2: _FINGERPRINTS, 3: _FILES},
    application=0x53445348,  # the letters SDSH
    tables=(
        # users: reports in a batch; short_by: people missing in the last batch, once the task has expired
        """CREATE TABLE tasks (
            task_id BLOB NOT NULL PRIMARY KEY, task BIGINT NOT NULL UNIQUE, users BIGINT NOT NULL, short_by BIGINT)""",
        """CREATE TABLE seen (
            task BIGINT NOT NULL, report_id BLOB NOT NULL, digest BLOB NOT NULL, PRIMARY KEY (task, report_id))""",
        # spent tokens stay until the task ends, so that reading the list of tokens again does not renew them
        """CREATE TABLE admissions (
            task BIGINT NOT NULL, hash BLOB NOT NULL, spent BIGINT NOT NULL, PRIMARY KEY (task, hash))""",
        "CREATE TABLE waiting (task BIGINT NOT NULL, place BIGINT NOT NULL, PRIMARY KEY (task, place))",
        "CREATE TABLE members (batch_id BLOB NOT NULL, place BIGINT NOT NULL, PRIMARY KEY (batch_id, place))",
        # number: onions after mixing; draft and pieces: where they are; tidy: whether everything unneeded is deleted
        """CREATE TABLE batches (
            batch_id BLOB NOT NULL PRIMARY KEY, task BIGINT NOT NULL, state TEXT NOT NULL, people BIGINT NOT NULL,
            number BIGINT NOT NULL, draft BLOB, pieces BIGINT NOT NULL, tidy BIGINT NOT NULL)""",
        "CREATE TABLE drafts (batch_id BLOB NOT NULL, draft BLOB NOT NULL, PRIMARY KEY (batch_id, draft))",
        """CREATE TABLE pieces (
            draft BLOB NOT NULL, piece BIGINT NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (draft, piece))""",
        # several rows for each task, so that processes that add reports rarely wait for the same row
        """CREATE TABLE counts (
            task BIGINT NOT NULL, shard BIGINT NOT NULL, waiting BIGINT NOT NULL, reports BIGINT NOT NULL,
            messages BIGINT NOT NULL, PRIMARY KEY (task, shard))""",
        """CREATE TABLE refusals (
            task BIGINT NOT NULL, reason TEXT NOT NULL, times BIGINT NOT NULL, PRIMARY KEY (task, reason))""",
    ),
    wide_tables=("CREATE TABLE onions (place BIGINT PRIMARY KEY, onions BLOB NOT NULL)",),
)

TALLIES = Schema(
    kind="an analyzer",
    version=4,
    added={
        2: _FINGERPRINTS,
        # what follows the first part of a long tally: no database stores a value of a gigabyte
        3: (
            """CREATE TABLE tally_parts (
                batch_id BLOB NOT NULL, part BIGINT NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (batch_id, part))""",
        ),
        4: _FILES,
    },
    application=0x5344414E,  # the letters SDAN
    tables=(
        "CREATE TABLE tasks (task_id BLOB NOT NULL PRIMARY KEY, users BIGINT NOT NULL)",
        # refused: counts by reason, as JSON; problem: why the batch must not be released, or NULL
        """CREATE TABLE tallies (
            task_id BLOB NOT NULL, batch_id BLOB NOT NULL, tally BLOB NOT NULL, people BIGINT NOT NULL,
            refused TEXT NOT NULL, problem TEXT, PRIMARY KEY (batch_id))""",
        """CREATE TABLE released (
            batch_id BLOB NOT NULL, task_id BLOB NOT NULL, number BIGINT NOT NULL,
            PRIMARY KEY (batch_id, task_id, number))""",
    ),
    wide_tables=(
        # of_batches: SHA-256 of the sorted batch ids, which makes releases idempotent
        """CREATE TABLE releases (
            task_id BLOB NOT NULL, number BIGINT NOT NULL, made TEXT NOT NULL, of_batches BLOB NOT NULL,
            content BLOB NOT NULL, PRIMARY KEY (task_id, number), UNIQUE (task_id, of_batches))""",
    ),
)

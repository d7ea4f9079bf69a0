"""What goes into a store and comes out of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol


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

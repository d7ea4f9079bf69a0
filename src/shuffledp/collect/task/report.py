"""A report: what one person sends for a task, once.

Inside: a random id (16 bytes), the time in seconds since 1970 rounded down to the task's precision (8 bytes), and the
onions one after another, all of the same length. Around it: one layer for the first shuffler.
An onion: a message as a number of fixed width, sealed to the analyzer, then to every shuffler but the first, from the
last one to the second.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from shuffledp.collect.crypto.hpke import info, public_key, seal, unseal
from shuffledp.collect.crypto.keys import KeyPair
from shuffledp.collect.reasons import Reason, Refused
from shuffledp.collect.task import Task
from shuffledp.collect.task.task import REPORT_HEAD_BYTES, SEALING_BYTES
from shuffledp.errors import ParameterError

ID_BYTES = 16
_TIME_BYTES = REPORT_HEAD_BYTES - ID_BYTES
_DIGEST_BYTES = 16


@dataclass(frozen=True)
class OpenedReport:
    """What the first shuffler finds in a report."""

    report_id: bytes
    time: int
    onions: bytes
    number: int

    @property
    def digest(self) -> bytes:
        """Tells this report from others of the same id; nobody who only recorded the network can compute it."""
        inside = self.report_id + self.time.to_bytes(_TIME_BYTES) + self.onions
        return hashlib.sha256(inside).digest()[:_DIGEST_BYTES]


class ReportForm(Protocol):
    """What opening a report needs of its task: a few numbers, where a task can be long."""

    @property
    def id(self) -> bytes:
        """The task's id."""

    @property
    def most_messages(self) -> int:
        """How many messages a report may hold."""

    @property
    def padded(self) -> bool:
        """Whether it holds exactly that many."""

    @property
    def time_precision(self) -> int:
        """The steps of a report's time, in seconds."""

    @property
    def longest_report(self) -> int:
        """Bytes of the longest sealed report."""

    def onion_length(self, position: int, /) -> int:
        """Bytes of an onion as the hop at this position opens it."""


def seal_onion(task: Task, symbol: int) -> bytes:
    """One message in its layers."""
    onion = symbol.to_bytes(task.symbol_bytes)
    hops = [*task.shufflers[1:], task.analyzer]
    for position, place in reversed(list(enumerate(hops, start=1))):
        onion = seal(onion, public_key(place.public_bytes), info(task.id, position))
    return onion


def seal_report(task: Task, symbols: Sequence[int], *, report_id: bytes, time: int) -> bytes:
    """The bytes that a person sends; the messages stay in the given order."""
    if len(report_id) != ID_BYTES or time < 0 or time % task.time_precision:
        raise ParameterError("a report needs an id of 16 bytes, and a time that is a multiple of the task's precision")
    fewest = task.most_messages if task.padded else 1
    if not fewest <= len(symbols) <= task.most_messages:
        raise ParameterError(f"a report holds {fewest} to {task.most_messages} messages, got {len(symbols)}")
    if not all(0 <= symbol < task.symbols for symbol in symbols):
        raise ParameterError(f"messages are whole numbers from 0 to {task.symbols - 1}")
    onions = b"".join(seal_onion(task, symbol) for symbol in symbols)
    inside = report_id + time.to_bytes(_TIME_BYTES) + onions
    return seal(inside, public_key(task.shufflers[0].public_bytes), info(task.id, 0))


def open_report(task: ReportForm, sealed: bytes, key: KeyPair) -> OpenedReport:
    """What is inside a report, for the first shuffler; refused with its reason if it has not the form of one."""
    each = task.onion_length(0)
    if len(sealed) > task.longest_report:  # its length says how many messages it holds
        whole = (len(sealed) - SEALING_BYTES - REPORT_HEAD_BYTES) % each == 0
        raise Refused(Reason.TOO_MANY_MESSAGES if whole else Reason.TOO_LARGE)
    inside = unseal(sealed, key.private, info(task.id, 0))
    if inside is None:
        raise Refused(Reason.CANNOT_BE_OPENED)
    onions = inside[REPORT_HEAD_BYTES:]
    if len(inside) < REPORT_HEAD_BYTES or not onions or len(onions) % each:
        raise Refused(Reason.MALFORMED)
    time = int.from_bytes(inside[ID_BYTES:REPORT_HEAD_BYTES])
    if time % task.time_precision:
        raise Refused(Reason.MALFORMED)
    number = len(onions) // each
    if task.padded and number != task.most_messages:
        raise Refused(Reason.MALFORMED)
    return OpenedReport(inside[:ID_BYTES], time, onions, number)


_TIMED = 16
"""Messages that are sealed to see how long one takes: a few milliseconds."""


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Of one report: messages and bytes, expected and at most, and the expected milliseconds on this machine."""

    messages: float
    most_messages: int
    bytes: float
    most_bytes: int
    milliseconds: float


def cost(task: Task) -> Cost:
    """The cost of one report; a few messages are sealed to see how fast this machine is."""
    expected = task.most_messages if task.padded else min(task.protocol.messages_per_user.expected, task.most_messages)
    return Cost(
        messages=expected,
        most_messages=task.most_messages,
        bytes=task.report_length(expected),
        most_bytes=task.longest_report,
        milliseconds=_milliseconds(task, expected),
    )


def _milliseconds(task: Task, expected: float) -> float:
    """Drawing the messages once, then sealing as many onions as are expected, and the whole."""
    start = time.perf_counter()
    task.protocol.randomize(0)
    once = time.perf_counter() - start
    start = time.perf_counter()
    for _ in range(_TIMED):
        seal_onion(task, 0)
    return 1000 * (once + (time.perf_counter() - start) / _TIMED * (expected + 1))

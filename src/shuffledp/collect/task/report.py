"""Reports, onions, and the position of each server that opens a layer (docs/reference/wire-format.md, "Sealing").

A report has a random id (16 bytes), the time in seconds since 1970 rounded down to the task's precision (8 bytes), and
onions of the same length. The whole is sealed to the first shuffler. An onion is a message as a number of fixed width,
sealed to the analyzer, then to every shuffler except the first, from the last one to the second.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

import msgspec

from shuffledp.collect.crypto.batch import Layer
from shuffledp.collect.crypto.keys import KeyPair, info, public_key, seal, unseal
from shuffledp.collect.reasons import Reason, Refused
from shuffledp.collect.task import Phase, Task
from shuffledp.collect.task.task import REPORT_HEAD_BYTES, SEALING_BYTES
from shuffledp.errors import ParameterError

ID_BYTES = 16
_TIME_BYTES = REPORT_HEAD_BYTES - ID_BYTES
_DIGEST_BYTES = 16


class OpenedReport(msgspec.Struct, frozen=True):
    """The content of a report, as the first shuffler opens it."""

    report_id: bytes
    time: int
    onions: bytes
    number: int
    digest: bytes
    """Tells this report from others with the same id; a network observer cannot compute it."""


class _ReportForm(Protocol):
    """The numbers of a task that opening a report needs; a whole task can be long."""

    @property
    def id(self) -> bytes: ...
    @property
    def most_messages(self) -> int: ...
    @property
    def padded(self) -> bool: ...
    @property
    def time_precision(self) -> int: ...
    @property
    def longest_report(self) -> int: ...

    def onion_length(self, position: int, /) -> int: ...


def seal_onion(task: Task, symbol: int) -> bytes:
    """Seal one message in all its layers."""
    onion = symbol.to_bytes(task.symbol_bytes)
    servers = [*task.shufflers[1:], task.analyzer]
    for position, place in reversed(list(enumerate(servers, start=1))):
        onion = seal(onion, public_key(place.public_bytes), info(task.id, position))
    return onion


def seal_report(task: Task, symbols: Sequence[int], *, report_id: bytes, time: int) -> bytes:
    """Return the bytes that a person sends; the messages keep their order."""
    (report,) = seal_versions(task, symbols, report_id=report_id, times=[time])
    return report


def seal_versions(task: Task, symbols: Sequence[int], *, report_id: bytes, times: Sequence[int]) -> list[bytes]:
    """Return one report with each of these times: the same id and the same onions, so a server counts at most one."""
    if len(report_id) != ID_BYTES or any(time < 0 or time % task.time_precision for time in times):
        raise ParameterError("report_id must be 16 bytes, and time a multiple of the task's time_precision")
    fewest = task.most_messages if task.padded else 1
    if not fewest <= len(symbols) <= task.most_messages:
        raise ParameterError(f"symbols must be {fewest} to {task.most_messages} messages, got {len(symbols)}")
    if not all(0 <= symbol < task.symbols for symbol in symbols):
        raise ParameterError(f"symbols must be whole numbers from 0 to {task.symbols - 1}")
    onions = b"".join(seal_onion(task, symbol) for symbol in symbols)
    key = public_key(task.shufflers[0].public_bytes)
    return [seal(report_id + time.to_bytes(_TIME_BYTES) + onions, key, info(task.id, 0)) for time in times]


def open_report(task: _ReportForm, sealed: bytes, key: KeyPair) -> OpenedReport:
    """Open a report, as the first shuffler; raise Refused with a reason if it is not valid."""
    each = task.onion_length(0)
    if len(sealed) > task.longest_report:  # its length gives the number of messages
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
    digest = hashlib.sha256(inside).digest()[:_DIGEST_BYTES]
    return OpenedReport(inside[:ID_BYTES], time, onions, number, digest)


_TIMED = 16
"""Messages that are sealed to measure the time of one: a few milliseconds."""


@dataclass(frozen=True, kw_only=True)
class Cost:
    """The cost of one report: messages and bytes, expected and at most, and expected milliseconds on this machine."""

    messages: float
    most_messages: int
    bytes: float
    most_bytes: int
    milliseconds: float


def cost(task: Task) -> Cost:
    """Return the cost of one report; a few messages are sealed to measure this machine."""
    expected = task.expected_messages
    return Cost(
        messages=expected,
        most_messages=task.most_messages,
        bytes=task.report_length(expected),
        most_bytes=task.longest_report,
        milliseconds=_milliseconds(task, expected),
    )


def _milliseconds(task: Task, expected: float) -> float:
    """Randomize once, then seal the expected number of onions, and the report."""
    start = time.perf_counter()
    task.protocol.randomize(task.values_of(None) if task.has_answers else 0)
    once = time.perf_counter() - start
    start = time.perf_counter()
    for _ in range(_TIMED):
        seal_onion(task, 0)
    return 1000 * (once + (time.perf_counter() - start) / _TIMED * (expected + 1))


def position_of(task: Task, key: KeyPair) -> int:
    """Return the position of a key's server in the chain: shufflers from 0 in their order, then the analyzer."""
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


def lost_without_key(task: Task, pair: KeyPair, *, now: datetime, closed_early: bool = False) -> list[str]:
    """Return sentences about the data that becomes unreadable without the key; an operator may have closed the task."""
    position = position_of(task, pair)
    sentences = [f"This is the key of {name_of(task, position)} of the task {task.name}."]
    data = "reports that arrive from now on" if position == 0 else "batches that were not opened yet"
    sentences.append(f"Without it, {data} cannot be read.")
    if not closed_early and task.phase(now.timestamp()) is not Phase.CLOSED:
        sentences.append(f"The task is open until {task.closing}: reports would be refused or lost.")
    return sentences

"""What a task costs each person who answers: messages, bytes, and the time that this machine takes for them."""

from __future__ import annotations

import time
from dataclasses import dataclass

from shuffledp.collection.envelope.report import seal_onion
from shuffledp.collection.task import Task

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

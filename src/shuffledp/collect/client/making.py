"""A report for an answer: its messages are sampled, padded, put into random order, and sealed."""

from __future__ import annotations

import secrets
import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shuffledp.collect.task import Task
from shuffledp.collect.task.report import ID_BYTES, seal_report, seal_versions
from shuffledp.errors import ShuffledpError
from shuffledp.histogram.shuffle import shuffle
from shuffledp.randomness import generator

_MOST_TRIES = 100
"""Sampling again is expected once in 10^13 people: this limit is only reached with a task that was not checked."""


def messages_of(task: Task, answer: Any, *, rng: np.random.Generator | None = None) -> list[int]:
    """Return the messages for an answer, in random order; sample again if they are more than a report may hold."""
    source = generator(rng)
    values = task.values_of(answer, rng=source)
    for _ in range(_MOST_TRIES):
        messages = task.protocol.randomize(values, rng=source).astype(np.int64)
        if messages.size <= task.most_messages:
            return [int(message) for message in shuffle(_padded(task, messages), rng=source)]
    raise ShuffledpError("the randomizer always returns more messages than the task allows: the task was not checked")


def _padded(task: Task, messages: NDArray[np.int64]) -> NDArray[np.int64]:
    missing = task.most_messages - messages.size if task.padded else 0
    return np.append(messages, np.full(missing, task.nothing))


class Versions(NamedTuple):
    """One report with two times: that of this device, and the earliest one that the task allows.

    Both have the same id and the same onions, and a server accepts one of them. The fallback is for a server that
    refuses the time of a device whose clock is ahead. It is sealed when the report is made, so that the device keeps
    nothing that is not sealed to the first shuffler. It is empty where the times are equal.
    """

    report: bytes
    fallback: bytes


def new_versions(task: Task, answer: Any) -> Versions:
    """Make a report with newly sampled messages, and its fallback; a person must not make two."""
    times = sorted({task.time_step(time.time()), task.first_time}, reverse=True)
    report, *fallback = seal_versions(
        task, messages_of(task, answer), report_id=secrets.token_bytes(ID_BYTES), times=times
    )
    return Versions(report, *(fallback or [b""]))


def new_report(task: Task, answer: Any) -> bytes:
    """Make a report with newly sampled messages, without a fallback; a person must not send two."""
    return seal_report(
        task, messages_of(task, answer), report_id=secrets.token_bytes(ID_BYTES), time=task.time_step(time.time())
    )

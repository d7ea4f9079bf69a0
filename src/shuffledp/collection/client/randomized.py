"""One person's messages: the randomizer of the task's protocol, as the one person it is made for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.collection.task import Task
from shuffledp.errors import ShuffledpError
from shuffledp.pipeline.shuffler import shuffle
from shuffledp.randomness import generator

_MOST_TRIES = 100
"""Drawing again is expected once in 10^13 people: whoever gets here has another task than was checked."""


def messages_of(task: Task, answer: Any, *, rng: np.random.Generator | None = None) -> list[int]:
    """The messages for an answer, in random order: drawn anew where they are more than a report may hold.

    Where reports are padded, some of them count for nothing.
    """
    place, source = task.bin_of(answer), generator(rng)
    for _ in range(_MOST_TRIES):
        messages = task.protocol.randomize(place, rng=source).astype(np.int64)
        if messages.size <= task.most_messages:
            return [int(message) for message in shuffle(_padded(task, messages), rng=source)]
    raise ShuffledpError("the randomizer always makes more messages than the task allows: the task was not checked")


def _padded(task: Task, messages: NDArray[np.int64]) -> NDArray[np.int64]:
    """As many messages as every report of the task holds."""
    missing = task.most_messages - messages.size if task.padded else 0
    return np.append(messages, np.full(missing, task.nothing))

"""Counting a batch: its messages are opened on all cores, and whatever is no message of the task is left out.

Onions wait in a file without a name. Copies are found by their first eight bytes, of which honest ones share none, and
only numbers are kept of what is opened: memory grows by 16 bytes for every onion, and with the possible messages.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shuffledp.collection.envelope.hops import layer_of
from shuffledp.collection.envelope.keys import KeyPair
from shuffledp.collection.envelope.mixing import Onions, first_copies, spooled
from shuffledp.collection.envelope.opening import AT_ONCE, Opener
from shuffledp.collection.reasons import Reason, Refused
from shuffledp.collection.service.background import until
from shuffledp.collection.task import Task
from shuffledp.errors import ParameterError
from shuffledp.pipeline.tally import Tally

MOST_LISTED = 1 << 22
"""With more possible messages than this, only those that occur are counted: a count for each would take 32 MB."""

_AT_ONCE = 1 << 20
"""Messages that are counted together where only those that occur are."""

_FEW = 2 * AT_ONCE
"""So few onions are opened before further processes would have started."""

_WORD = 8
"""Bytes of the numbers that messages are read as; no message is longer."""


@dataclass(frozen=True, eq=False)
class Counted:
    """The tally of a batch, and how many onions were left out, by reason."""

    tally: Tally
    refused: Mapping[Reason, int]


class Counting:
    """How the analyzer that holds `key` counts the batches of a task; `processes` of them, one for each core."""

    def __init__(self, task: Task, key: KeyPair, *, processes: int | None = None) -> None:
        if key.public != task.analyzer.key:
            raise ParameterError(f"the key is not the analyzer's in the task {task.name[:16]}: it could open nothing")
        self._task, self._processes = task, processes
        self._layer = layer_of(task, key)

    def count(self, blocks: Iterable[bytes], *, stopping: threading.Event | None = None) -> Counted:
        """The tally of a batch's onions, given in blocks cut anywhere; nothing if it is told to stop."""
        with tempfile.TemporaryFile() as file:
            onions = spooled(file, blocks, self._layer.length)
            kept = first_copies(onions)
            messages = _Messages(self._task)
            processes = 1 if kept.size <= _FEW else self._processes
            with Opener(self._layer, processes=processes) as opener:
                for opened, _ in opener.opened(until(stopping or threading.Event(), _whole(onions, kept))):
                    messages.add(opened)
        refused = {
            Reason.REPEATED: len(onions) - kept.size,
            Reason.CANNOT_BE_OPENED: kept.size - messages.number,
            Reason.NOT_A_MESSAGE: messages.strange,
        }
        return Counted(messages.tally, {reason: number for reason, number in refused.items() if number})


def check_noise(task: Task, tally: Tally) -> None:
    """Refuses a batch with fewer messages than the people send who are counted on: the guarantee was not reached.

    Those are all people of a batch, unless the task says fewer. A batch that has all of its noise is refused with a
    probability of at most `accounting.turnout.RISK`.
    """
    if task.protocol.most_reports(tally) < task.honest_users:
        raise Refused(Reason.TOO_FEW_MESSAGES)


def _whole(onions: Onions, kept: NDArray[np.int64]) -> Iterator[bytes]:
    """The onions that are kept, in blocks."""
    for start in range(0, kept.size, AT_ONCE):
        yield onions[kept[start : start + AT_ONCE]].tobytes()


class _Messages:
    """Messages as they are opened: counted where they are numbers of the task's alphabet."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self.number, self.strange = 0, 0
        self._every = np.zeros(task.alphabet, dtype=np.int64) if task.alphabet <= MOST_LISTED else None
        self._waiting: list[NDArray[np.uint64]] = []
        self._listed = Tally(np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64), messages=0)

    def add(self, opened: bytes) -> None:
        """Counts messages of the task's width."""
        found = numbers_of(opened, self._task.symbol_bytes)
        messages = found[found < self._task.alphabet]
        self.number += found.size
        self.strange += int(np.count_nonzero(found >= self._task.symbols))  # what is left counts for nothing
        if self._every is not None:
            self._every += np.bincount(messages.astype(np.int64), minlength=self._every.size)
            return
        self._waiting.append(messages)
        if sum(part.size for part in self._waiting) >= _AT_ONCE:
            self._list()

    @property
    def tally(self) -> Tally:
        """The tally of all messages so far."""
        if self._every is not None:
            symbols = np.flatnonzero(self._every)
            return self._task.protocol.tally(Tally(symbols, self._every[symbols]))
        self._list()
        return self._task.protocol.tally(self._listed)

    def _list(self) -> None:
        if self._waiting:
            self._listed += Tally.of(np.concatenate(self._waiting))
            self._waiting = []


def numbers_of(opened: bytes, width: int) -> NDArray[np.uint64]:
    """Whole numbers that are written one after another, each in the same number of bytes, the highest first."""
    written = np.frombuffer(opened, dtype=np.uint8).reshape(-1, width)
    words = np.zeros((len(written), _WORD), dtype=np.uint8)
    words[:, _WORD - width :] = written
    return words.view(">u8")[:, 0].astype(np.uint64)

"""Answers of simulated people, read from a column of files.

Simulated people who keep coming, so that somebody who looks sees a group fill up and a result appear.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import numpy as np

from shuffledp.collect.client.client import new_report
from shuffledp.collect.client.transport import SECONDS, Connection, post_over
from shuffledp.collect.task import Task
from shuffledp.data import Files, Source, open_engine
from shuffledp.errors import DataError, ParameterError, RefusedError, UnreachableError
from shuffledp.progress import Progress, quiet
from shuffledp.randomness import secure_rng
from shuffledp.validation import whole


def simulated_answers(files: Files, *, column: str, people: int | None = None, progress: Progress = quiet) -> list[Any]:
    """The values of a column in random order, None where one is missing; of so many people.

    Where there are fewer rows than people, rows are used again, all equally often but for one more or less.
    """
    engine = open_engine(Source.of(files, column=column), progress=progress)
    try:
        values: list[Any] = []
        times: list[int] = []
        for found, counts in engine.counts():
            values += found.to_pylist()
            times += counts.tolist()
    finally:
        engine.close()
    rows = secure_rng().permutation(np.repeat(np.arange(len(values)), times))
    if not rows.size:
        raise DataError(f"{files.shown} has no rows, and so no people")
    chosen = rows if people is None else np.resize(rows, whole("people", people))
    return [values[at] for at in chosen.tolist()]


MOST_A_SECOND = 100.0
"""As many as one thread makes and sends; `shuffledp crowd` sends more."""

_FILLS_IN = 90.0
"""Seconds in which the next batch fills unless said otherwise: long enough to answer oneself, short enough to wait."""

_USUALLY_AT_MOST = 25.0
"""A second: on a slow machine the servers and a browser still have most of it."""

_LOOKS_EVERY = 0.2
"""Seconds between looks at whether it is over."""

_PAUSE = 1.0
"""Seconds before somebody whom the server did not answer tries again."""


def usual_pace(users: int) -> float:
    """People per second such that a batch of this many fills in a minute or two, where a machine can do that."""
    return min(_USUALLY_AT_MOST, users / _FILLS_IN)


def check_pace(pace: float) -> float:
    """A number of people per second."""
    if not 0 <= pace <= MOST_A_SECOND:
        raise ParameterError(
            f"--pace must be from 0 to {MOST_A_SECOND:g} people per second, got {pace:g}: 0 is nobody, and for more "
            "use  shuffledp crowd"
        )
    return pace


class Coming:
    """People with these answers, in a thread, until `stop`; nobody's answer is ever on a disk."""

    def __init__(self, task: Task, answers: Iterator[str], *, pace: float) -> None:
        self._task, self._answers, self._pace = task, answers, pace
        self._over = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._come()), daemon=True)

    def start(self) -> None:
        """The first one comes."""
        self._thread.start()

    def stop(self) -> None:
        """Nobody comes any more."""
        self._over.set()
        self._thread.join()

    async def _come(self) -> None:
        clock = asyncio.get_running_loop().time
        next_one = clock()
        with closing(Connection(self._task.shufflers[0].address, timeout=SECONDS)) as connection:
            while await self._passed(next_one - clock()) and await self._answer(connection):
                next_one = max(clock(), next_one + 1 / self._pace)

    async def _answer(self, connection: Connection) -> bool:
        """One person's report, sent until it is taken; False if none are taken any more, or it is over."""
        report = new_report(self._task, next(self._answers))
        while True:
            try:
                await post_over(connection, self._task, report)
                return True
            except RefusedError:  # the task is closed
                return False
            except UnreachableError:
                if not await self._passed(_PAUSE):
                    return False

    async def _passed(self, seconds: float) -> bool:
        """Waits; False if it is over meanwhile."""
        clock = asyncio.get_running_loop().time
        until = clock() + seconds
        while not self._over.is_set():
            if (left := until - clock()) <= 0:
                return True
            await asyncio.sleep(min(left, _LOOKS_EVERY))
        return False

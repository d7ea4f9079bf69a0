"""Reports of many simulated people, made in processes: sealing them takes time and holds Python's lock."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import Any, NamedTuple

from shuffledp.checks import whole
from shuffledp.collection.client.client import new_report
from shuffledp.collection.task import Task, task_of

_AT_ONCE = 32
"""People whose reports a process makes before it hands them over: a few milliseconds each."""

_WORTH_PROCESSES = 8 * _AT_ONCE
"""With fewer people, starting processes takes longer than making their reports here."""


class Made(NamedTuple):
    """Reports, in the order of the answers, and the seconds that a core took for them."""

    reports: list[bytes]
    seconds: float


@dataclass(frozen=True)
class Makers:
    """Processes that make reports, or a thread."""

    pool: Executor
    make: Callable[[list[Any]], Made]
    number: int

    async def reports(self, answers: Sequence[Any]) -> AsyncIterator[Made]:
        """Everybody's reports in parts, made a little ahead of whoever takes them, so that memory stays bounded."""
        loop, waiting = asyncio.get_running_loop(), deque[asyncio.Future[Made]]()
        for start in range(0, len(answers), _AT_ONCE):
            part = list(answers[start : start + _AT_ONCE])
            waiting.append(loop.run_in_executor(self.pool, self.make, part))
            if len(waiting) > 2 * self.number:
                yield await waiting.popleft()
        while waiting:
            yield await waiting.popleft()


@contextmanager
def makers(task: Task, listed: bytes | None, *, processes: int | None, people: int) -> Iterator[Makers]:
    """Processes for this task; for few people a thread. `listed` is its list of answers, where it is kept elsewhere."""
    number = whole("processes", os.cpu_count() or 1 if processes is None else processes)
    if number == 1 or people < _WORTH_PROCESSES:
        task = task if listed is None else task.with_answers(listed)
        made = Makers(ThreadPoolExecutor(1), partial(_make, task), 1)
    else:
        pool = ProcessPoolExecutor(
            number,
            mp_context=get_context("forkserver"),  # not forked: this process may have threads
            initializer=_begin,
            initargs=(task.canonical, listed),
        )
        made = Makers(pool, _make_of_process, number)
    try:
        yield made
    finally:
        made.pool.shutdown(cancel_futures=True)


_task: Task
"""Of a process that makes reports, and has no other."""


def _begin(content: bytes, listed: bytes | None) -> None:
    global _task
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is for the process that began this one and ends it
    _task = task_of(content)
    if listed is not None:
        _task.with_answers(listed)


def _make_of_process(answers: list[Any]) -> Made:
    return _make(_task, answers)


def _make(task: Task, answers: list[Any]) -> Made:
    started = time.thread_time()  # of this core, whatever else the machine does
    return Made([new_report(task, answer) for answer in answers], time.thread_time() - started)

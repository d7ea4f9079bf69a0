"""Interrupts that wait: one in the midst of starting a process would leave a process that nobody knows of.

Reports of many simulated people, made in processes: sealing them takes time and holds Python's lock.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from queue import SimpleQueue
from typing import Any, NamedTuple

from shuffledp.collect.client.client import new_report
from shuffledp.collect.task import Task, task_of
from shuffledp.errors import DataError
from shuffledp.validation import whole

_KINDS = ("SIGINT", "SIGTERM", "SIGHUP")
"""With which a person, or a system that shuts down, asks a program to end; Windows does not have the last."""


@contextmanager
def interrupts_held() -> Iterator[None]:
    """An interrupt that comes meanwhile comes at the end instead.

    Their handlers are exchanged rather than the signals blocked: Python runs handlers in the main thread whichever
    thread a signal reached, and libraries have threads that block none.
    """
    if not _is_interrupted():
        yield
        return
    came: list[int] = []
    kinds = [getattr(signal, name) for name in _KINDS if hasattr(signal, name)]
    handlers = {kind: handler for kind in kinds if callable(handler := signal.getsignal(kind))}
    try:
        for kind in handlers:
            signal.signal(kind, lambda number, _: came.append(number))
        yield
    finally:
        for kind, handler in handlers.items():
            signal.signal(kind, handler)
    if came:
        signal.raise_signal(came[0])


@contextmanager
def tasks_cancelled_by_interrupts() -> Iterator[None]:
    """Around `asyncio.run`: it ends its tasks in order when Ctrl-C comes, but only where Python's own handler is."""
    handler = signal.getsignal(signal.SIGINT)
    if not _is_interrupted() or not callable(handler):
        yield
        return
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


def _is_interrupted() -> bool:
    """Only the main thread is."""
    return threading.current_thread() is threading.main_thread()


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
    """Threads that make reports, or each have a process that does."""

    pool: Executor
    make: Callable[[list[Any]], Made]
    number: int

    async def reports(self, answers: Sequence[Any]) -> AsyncIterator[Made]:
        """Everybody's reports in parts, made a little ahead of whoever takes them, so that memory stays bounded."""
        loop, waiting = asyncio.get_running_loop(), deque[asyncio.Future[Made]]()
        try:
            for start in range(0, len(answers), _AT_ONCE):
                part = list(answers[start : start + _AT_ONCE])
                waiting.append(loop.run_in_executor(self.pool, self.make, part))
                if len(waiting) > 2 * self.number:
                    yield await waiting.popleft()
            while waiting:
                yield await waiting.popleft()
        finally:
            for each in waiting:  # of nobody's interest any more, and neither is what went wrong with it
                each.cancel()


@contextmanager
def makers(task: Task, listed: bytes | None, *, processes: int | None, people: int) -> Iterator[Makers]:
    """Processes for this task; for few people a thread. `listed` is its list of answers, where it is kept elsewhere."""
    number = whole("processes", os.cpu_count() or 1 if processes is None else processes)
    if number == 1 or people < _WORTH_PROCESSES:
        task = task if listed is None else task.with_answers(listed)
        made, started = Makers(ThreadPoolExecutor(1), partial(_make, task), 1), None
    else:
        started = _Processes()
        made = Makers(ThreadPoolExecutor(number), started.make, number)
    try:
        if started is not None:
            started.start(number, task.canonical, listed)
        yield made
    finally:
        if started is not None:
            started.close()  # first: then no thread waits for a process any more
        made.pool.shutdown(cancel_futures=True)


class _Processes:
    """Processes that make reports, each with a pipe of its own.

    They have nothing in common that one could hold while it is ended, as the queues of a ProcessPoolExecutor are: so
    they are ended at any moment, and each ends by itself when whoever holds the other end of its pipe is gone.
    """

    def __init__(self) -> None:
        self._all: list[BaseProcess] = []
        self._idle = SimpleQueue[Connection]()

    def start(self, number: int, content: bytes, listed: bytes | None) -> None:
        """Starts so many for a task."""
        context = get_context("forkserver")  # not forked: this process may have threads
        with interrupts_held(), _deaf_to_the_terminal():
            for _ in range(number):
                ours, theirs = context.Pipe()
                with theirs:
                    process = context.Process(target=_work, args=(theirs, content, listed), daemon=True)
                    process.start()
                self._all.append(process)
                self._idle.put(ours)

    def make(self, answers: list[Any]) -> Made:
        """Has one make reports, and waits for them; called by as many threads as there are processes."""
        pipe = self._idle.get()
        try:
            pipe.send(answers)
            made: Made | Exception = pipe.recv()
        except (EOFError, OSError):
            raise DataError("a process that makes reports has ended: the machine may be out of memory") from None
        finally:
            self._idle.put(pipe)
        if isinstance(made, Exception):
            raise made
        return made

    def close(self) -> None:
        """Ends all of them at once: they have nothing to finish."""
        for each in self._all:
            each.kill()
        for each in self._all:
            each.join()


@contextmanager
def _deaf_to_the_terminal() -> Iterator[None]:
    """Processes that start meanwhile are not interrupted by a Ctrl-C, which is for whoever starts and ends them."""
    resource_tracker.ensure_running()  # would let signals through again if it had to be started with the first process
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(pipe: Connection, content: bytes, listed: bytes | None) -> None:
    """What a process does until the other end of its pipe is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # also where the server that forks was started by others, and hears it
    task = task_of(content)
    if listed is not None:
        task = task.with_answers(listed)
    with suppress(EOFError, OSError):
        while True:
            answers = pipe.recv()
            try:
                pipe.send(_make(task, answers))
            except Exception as error:  # raised where the reports were asked for
                pipe.send(error)


def _make(task: Task, answers: list[Any]) -> Made:
    started = time.thread_time()  # of this core, whatever else the machine does
    return Made([new_report(task, answer) for answer in answers], time.thread_time() - started)

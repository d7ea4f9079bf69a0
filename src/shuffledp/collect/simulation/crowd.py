"""Many simulated people who answer a task at once: for demonstrations, and to load a shuffler.

Reports are made in processes, since sealing them takes time and holds Python's global lock. They are sent over a
bounded number of connections, and kept in memory until their outcome is known. After a failure the same bytes are sent
again.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection as Pipe
from multiprocessing.process import BaseProcess
from queue import SimpleQueue
from typing import Any, NamedTuple

from shuffledp.collect.client.client import checked, open_task
from shuffledp.collect.client.making import new_report
from shuffledp.collect.client.transport import (
    SECONDS,
    Connection,
    check_admission,
    check_seconds,
    post_over,
)
from shuffledp.collect.task import Series, Task, task_of
from shuffledp.errors import DataError, ParameterError, RefusedError, UnreachableError
from shuffledp.progress import Progress, quiet
from shuffledp.validation import whole

CONNECTIONS = 64
PATIENCE = 60.0
"""Default seconds of retries for one report: longer than a server takes to restart."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0
"""Seconds before a retry, doubled each time, so that a restarted server is not overloaded."""

ACKNOWLEDGED, UNREACHABLE = "acknowledged", "unreachable"

OnOutcome = Callable[[bytes, str], None]
"""Called with every report and its outcome: acknowledged, unreachable, or the reason of its refusal."""


@dataclass(frozen=True, kw_only=True)
class CrowdResult:
    """The outcomes of a crowd's reports; `making_seconds` (of all processes) and `bytes` are totals.

    It is unknown whether the `unreachable` reports, which were given up, arrived.
    """

    people: int
    acknowledged: int
    refused: dict[str, int]
    unreachable: int
    tried_again: int
    seconds: float
    making_seconds: float
    bytes: int

    @property
    def reports_per_second(self) -> float:
        """Acknowledged reports per second."""
        return self.acknowledged / self.seconds

    @property
    def milliseconds_per_report(self) -> float:
        """The time to randomize and seal a report, on one core."""
        return 1e3 * self.making_seconds / self.people

    @property
    def bytes_per_report(self) -> float:
        """The average length of a report."""
        return self.bytes / self.people


def send_crowd(
    task: Task | Series,
    answers: Sequence[Any],
    *,
    listed: bytes | None = None,
    admission: str | Sequence[str] | None = None,
    rate: float | None = None,
    connections: int = CONNECTIONS,
    processes: int | None = None,
    patience: float = PATIENCE,
    timeout: float = SECONDS,
    progress: Progress = quiet,
    told: OnOutcome | None = None,
) -> CrowdResult:
    """Send a report for each of the answers, at most `rate` of them per second; to the open round of a series.

    `listed` is the content of an external list of answers. `admission` is the secret of the task, or a token for each
    person. `patience` is the time for retries of one report, in seconds.
    """
    checked(task)
    task = open_task(task)
    if not len(answers):
        raise ParameterError("answers must be of at least one person, got none")
    if rate is not None and not rate > 0:
        raise ParameterError(f"rate must be a positive number of reports per second, got {rate!r:.40}")
    sending = _Sending(
        task=task,
        people=len(answers),
        rate=rate,
        connections=whole("connections", connections),
        patience=check_seconds("patience", patience),
        timeout=check_seconds("timeout", timeout),
        progress=progress,
        on_outcome=told,
    )
    shown = _admissions(task, admission, len(answers))
    try:  # also while processes start and end
        with makers(task, listed, processes=processes, people=len(answers)) as made:
            return asyncio.run(sending.run(made.reports(answers), shown))
    except KeyboardInterrupt as error:
        error.add_note(f"{sending.became[ACKNOWLEDGED]:,} of {len(answers):,} reports were acknowledged")
        raise


class _Sealed(NamedTuple):
    report: bytes
    admission: str | None


@dataclass(kw_only=True)
class _Sending:
    task: Task
    people: int
    rate: float | None
    connections: int
    patience: float
    timeout: float
    progress: Progress
    on_outcome: OnOutcome | None
    became: Counter[str] = field(default_factory=Counter)
    tried_again: int = 0
    making_seconds: float = 0.0
    bytes: int = 0
    next_start: float = 0.0

    async def run(self, made: AsyncIterator[Made], admissions: Sequence[str | None]) -> CrowdResult:
        """Send all reports until their outcomes are known."""
        started = time.perf_counter()
        queue = asyncio.Queue[_Sealed | None](2 * self.connections)

        async def make() -> None:
            shown = iter(admissions)
            async for part in made:
                self.making_seconds += part.seconds
                for report in part.reports:
                    await queue.put(_Sealed(report, next(shown)))
            for _ in range(self.connections):
                await queue.put(None)

        async def send() -> None:
            with closing(Connection(self.task.shufflers[0].address, timeout=self.timeout)) as connection:
                while (sealed := await queue.get()) is not None:
                    await self._pace()
                    self._count(sealed, await self._deliver(connection, sealed))

        work = [asyncio.ensure_future(part) for part in (make(), *(send() for _ in range(self.connections)))]
        try:
            await asyncio.gather(*work)
        finally:
            for part in work:
                part.cancel()
            await asyncio.gather(*work, return_exceptions=True)
        refused = {name: number for name, number in self.became.items() if name not in (ACKNOWLEDGED, UNREACHABLE)}
        return CrowdResult(
            people=self.people,
            acknowledged=self.became[ACKNOWLEDGED],
            refused=dict(sorted(refused.items())),
            unreachable=self.became[UNREACHABLE],
            tried_again=self.tried_again,
            seconds=time.perf_counter() - started,
            making_seconds=self.making_seconds,
            bytes=self.bytes,
        )

    async def _pace(self) -> None:
        """Wait for this person's turn; a delay is not made up for by a burst."""
        if self.rate is None:
            return
        now = asyncio.get_running_loop().time()
        start = max(now, self.next_start)
        self.next_start = start + 1 / self.rate
        await asyncio.sleep(start - now)

    async def _deliver(self, connection: Connection, sealed: _Sealed) -> str:
        """Send the same bytes until they are accepted or refused, or the patience is over."""
        clock, pause = asyncio.get_running_loop().time, _FIRST_PAUSE
        gives_up = clock() + self.patience
        while True:
            try:
                await post_over(connection, self.task, sealed.report, admission=sealed.admission)
                return ACKNOWLEDGED
            except RefusedError as error:
                return str(error.reason)
            except UnreachableError:
                if clock() + pause > gives_up:
                    return UNREACHABLE
            self.tried_again += 1
            await asyncio.sleep(pause * random.SystemRandom().uniform(0.5, 1.0))
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _count(self, sealed: _Sealed, became: str) -> None:
        self.became[became] += 1
        self.bytes += len(sealed.report)
        if self.on_outcome is not None:
            self.on_outcome(sealed.report, became)
        self.progress("sending reports", self.became.total() / self.people)


def _admissions(task: Task, admission: str | Sequence[str] | None, people: int) -> Sequence[str | None]:
    if task.admission != "tokens":
        one = admission if admission is None or isinstance(admission, str) else next(iter(admission), None)
        return [check_admission(task, one)] * people
    tokens = [] if admission is None else [admission] if isinstance(admission, str) else list(admission)
    if len(tokens) < people:
        raise ParameterError(f"admission must be a token for each person, got {len(tokens):,} for {people:,} people")
    return [check_admission(task, token) for token in tokens[:people]]


_CHUNK = 32
"""People whose reports a process makes at a time: a few milliseconds each."""

_WORTH_PROCESSES = 8 * _CHUNK
"""With fewer people, starting processes takes longer than making the reports in a thread."""


class Made(NamedTuple):
    """Reports, in the order of the answers, and the processor time that they took."""

    reports: list[bytes]
    seconds: float


@dataclass(frozen=True)
class Makers:
    """Threads that make reports, or that each have a process to do so."""

    pool: Executor
    make: Callable[[list[Any]], Made]
    number: int

    async def reports(self, answers: Sequence[Any]) -> AsyncIterator[Made]:
        """Yield the reports of all people in chunks, made a little ahead, so that memory stays bounded."""
        loop, waiting = asyncio.get_running_loop(), deque[asyncio.Future[Made]]()
        try:
            for start in range(0, len(answers), _CHUNK):
                part = list(answers[start : start + _CHUNK])
                waiting.append(loop.run_in_executor(self.pool, self.make, part))
                if len(waiting) > 2 * self.number:
                    yield await waiting.popleft()
            while waiting:
                yield await waiting.popleft()
        finally:
            for each in waiting:  # not needed any more, and neither are their errors
                each.cancel()


@contextmanager
def makers(task: Task, listed: bytes | None, *, processes: int | None, people: int) -> Iterator[Makers]:
    """Start processes that make reports, or a thread for few people; `listed` as for `send_crowd`."""
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
            started.close()  # first: then no thread waits for a process
        made.pool.shutdown(cancel_futures=True)


class _Processes:
    """Processes that make reports, each with a pipe of its own.

    Unlike those of a ProcessPoolExecutor they share no queue, so they can be killed at any moment. Each ends by itself
    when the other end of its pipe is closed, so none is left if this process is killed or interrupted.
    """

    def __init__(self) -> None:
        self._all: list[BaseProcess] = []
        self._idle = SimpleQueue[Pipe]()

    def start(self, number: int, content: bytes, listed: bytes | None) -> None:
        context = get_context("forkserver")  # not forked: this process may have threads
        with _interrupts_not_inherited():
            for _ in range(number):
                ours, theirs = context.Pipe()
                with theirs:
                    process = context.Process(target=_work, args=(theirs, content, listed), daemon=True)
                    process.start()
                self._all.append(process)
                self._idle.put(ours)

    def make(self, answers: list[Any]) -> Made:
        """Each process has one calling thread."""
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
        """Kill all of them: they have nothing to finish."""
        for each in self._all:
            each.kill()
        for each in self._all:
            each.join()


@contextmanager
def _interrupts_not_inherited() -> Iterator[None]:
    """Processes that start in this block ignore the terminal's Ctrl-C, which is for the process that ends them."""
    resource_tracker.ensure_running()  # before, since starting it unblocks signals
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(pipe: Pipe, content: bytes, listed: bytes | None) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # also where the fork server was started before, with signals
    task = task_of(content)
    if listed is not None:
        task = task.with_answers(listed)
    with suppress(EOFError, OSError):
        while True:
            answers = pipe.recv()
            try:
                pipe.send(_make(task, answers))
            except Exception as error:  # raised in the process that asked for the reports
                pipe.send(error)


def _make(task: Task, answers: list[Any]) -> Made:
    started = time.thread_time()  # independent of other load on the machine
    return Made([new_report(task, answer) for answer in answers], time.thread_time() - started)

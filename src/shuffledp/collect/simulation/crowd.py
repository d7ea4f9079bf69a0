"""Many simulated people who answer a task at once: for demonstrations, and to load a shuffler.

Reports are sent over a bounded number of connections and kept in memory until it is known what became of them; whoever
fails tries again with the same bytes, as a person would.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from shuffledp.collect.client.client import check_open, checked
from shuffledp.collect.client.transport import (
    SECONDS,
    Connection,
    check_admission,
    check_seconds,
    post_over,
)
from shuffledp.collect.simulation.makers import Made, makers, tasks_cancelled_by_interrupts
from shuffledp.collect.task import Task
from shuffledp.errors import ParameterError, RefusedError, UnreachableError
from shuffledp.progress import Progress, quiet
from shuffledp.validation import whole

CONNECTIONS = 64
PATIENCE = 60.0
"""Seconds for which somebody tries again, unless said otherwise: longer than a server takes to be started again."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0
"""Seconds before somebody tries again, doubled each time, so that a server that comes back is not overrun."""

ACKNOWLEDGED, UNREACHABLE = "acknowledged", "unreachable"

Told = Callable[[bytes, str], None]
"""Is told of every report what became of it: acknowledged, unreachable, or the reason of its refusal."""


@dataclass(frozen=True, kw_only=True)
class CrowdResult:
    """What became of the reports of so many people; `making_seconds` of all processes and `bytes` are of all reports.

    Of somebody who gave up, `unreachable`, nobody knows whether the report arrived.
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
        """Acknowledged reports in a second."""
        return self.acknowledged / self.seconds

    @property
    def milliseconds_per_report(self) -> float:
        """What a person's machine takes to randomize and seal a report, on one core."""
        return 1e3 * self.making_seconds / self.people

    @property
    def bytes_per_report(self) -> float:
        """What a person sends, on average."""
        return self.bytes / self.people


def send_crowd(
    task: Task,
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
    told: Told | None = None,
) -> CrowdResult:
    """Sends a report for each of the answers, at most `rate` of them in a second.

    `listed` is the file with the task's answers where it is kept elsewhere, `admission` the secret of the task or a
    token for each person, `patience` for how many seconds somebody tries again.
    """
    checked(task)
    check_open(task)
    if not len(answers):
        raise ParameterError("a crowd needs at least one person")
    if rate is not None and not rate > 0:
        raise ParameterError(f"rate must be a positive number of reports in a second, got {rate!r:.40}")
    sending = _Sending(
        task=task,
        people=len(answers),
        rate=rate,
        connections=whole("connections", connections),
        patience=check_seconds("patience", patience),
        timeout=check_seconds("timeout", timeout),
        progress=progress,
        told=told,
    )
    shown = _admissions(task, admission, len(answers))
    with makers(task, listed, processes=processes, people=len(answers)) as made:
        try:
            with tasks_cancelled_by_interrupts():
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
    told: Told | None
    became: Counter[str] = field(default_factory=Counter)
    tried_again: int = 0
    making_seconds: float = 0.0
    bytes: int = 0
    next_start: float = 0.0

    async def run(self, made: AsyncIterator[Made], admissions: Sequence[str | None]) -> CrowdResult:
        """Everybody's report, until it is known what became of it or nobody is patient any more."""
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
        """Waits for this person's turn; time that was lost is not made up for by a burst."""
        if self.rate is None:
            return
        now = asyncio.get_running_loop().time()
        start = max(now, self.next_start)
        self.next_start = start + 1 / self.rate
        await asyncio.sleep(start - now)

    async def _deliver(self, connection: Connection, sealed: _Sealed) -> str:
        """Sends the same bytes until they are taken or refused, as long as the person is patient."""
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
        if self.told is not None:
            self.told(sealed.report, became)
        self.progress("sending reports", self.became.total() / self.people)


def _admissions(task: Task, admission: str | Sequence[str] | None, people: int) -> Sequence[str | None]:
    """What each person shows."""
    if task.admission != "tokens":
        one = admission if admission is None or isinstance(admission, str) else next(iter(admission), None)
        return [check_admission(task, one)] * people
    tokens = [] if admission is None else [admission] if isinstance(admission, str) else list(admission)
    if len(tokens) < people:
        raise ParameterError(
            f"the task asks for a token of each person: {len(tokens):,} for {people:,} people; give a file with one "
            "in each line with --admission FILE (in Python a list as admission)"
        )
    return [check_admission(task, token) for token in tokens[:people]]

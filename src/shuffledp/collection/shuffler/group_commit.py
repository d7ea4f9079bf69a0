"""Many requests, one commit: whoever arrives while the disk is busy shares the next write with all others who did.

A report is acknowledged only when the commit that holds it has ended; if it fails, nobody in it is acknowledged.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from shuffledp.collection.reasons import Reason, Refused
from shuffledp.collection.service.logs import log_error
from shuffledp.collection.stores import Arrival, Outcome

MOST_REPORTS = 500
"""In one commit: beyond some hundreds the disk is no longer what takes the time."""

MOST_BYTES = 32 * 2**20
"""In one commit, so that others of the same store need not wait long."""

Waiting = tuple[Arrival, "asyncio.Future[Outcome]"]


class GroupCommit:
    """Gathers arrivals and adds them together, one commit at a time, in a thread of its own."""

    def __init__(self, add: Callable[[Sequence[Arrival]], list[Outcome]]) -> None:
        self._add = add
        self._waiting: deque[Waiting] = deque()
        self._working: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="commits")

    async def add(self, arrival: Arrival) -> Outcome:
        """What became of the arrival, once it is on the disk; refused if it could not be written."""
        outcome: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._waiting.append((arrival, outcome))
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._commit_all())
        return await outcome

    async def close(self) -> None:
        """Waits for all that was gathered."""
        if self._working is not None:
            await self._working
        self._thread.shutdown()

    async def _commit_all(self) -> None:
        while self._waiting:
            await self._commit(self._next_group())

    def _next_group(self) -> list[Waiting]:
        group: list[Waiting] = []
        size = 0
        while self._waiting and len(group) < MOST_REPORTS and size < MOST_BYTES:
            group.append(self._waiting.popleft())
            size += len(group[-1][0].onions)
        return group

    async def _commit(self, group: list[Waiting]) -> None:
        arrivals = [arrival for arrival, _ in group]
        loop = asyncio.get_running_loop()
        try:
            outcomes = await loop.run_in_executor(self._thread, self._add, arrivals)
        except Exception as error:  # whatever it is, nothing is acknowledged
            log_error("reports could not be stored", error, reports=len(arrivals))
            for _, waiting in group:
                if not waiting.done():
                    waiting.set_exception(Refused(Reason.UNAVAILABLE))
            return
        for (_, waiting), outcome in zip(group, outcomes, strict=True):
            if not waiting.done():
                waiting.set_result(outcome)

"""How much a server takes at once: bytes of a request, requests per second, requests under way.

None of these looks at who sends: the server must not remember that.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from starlette.requests import ClientDisconnect, Request

from shuffledp.collection.reasons import Reason, Refused

FIRST_SECONDS = 5.0
"""For the first bytes of a report, and for pauses: whoever takes longer holds a place that others need."""

SLOWEST_BYTES_PER_SECOND = 16_000
"""What arrives gives its sender more time: a slow telephone has four times this speed."""

MOST_AT_ONCE = 1_000
"""Requests under way in one process: several commits' worth."""

_FEWEST_AT_ONCE = 8
"""So that one slow sender of the longest reports does not keep all others out."""

_MEMORY = 256 * 2**20
"""Bytes of reports under way in one process, where reports are so long that fewer must do."""


def at_once(longest: int) -> int:
    """How many requests of up to this length may be under way."""
    return max(_FEWEST_AT_ONCE, min(MOST_AT_ONCE, _MEMORY // max(1, longest)))


async def body_of(request: Request, most: int, *, seconds: float = FIRST_SECONDS) -> bytes:
    """The body of a request, which is not read beyond `most` bytes.

    At every moment it must have brought SLOWEST_BYTES_PER_SECOND on average, but for the first `seconds`.
    """
    said = request.headers.get("content-length", "")
    if said.isdecimal() and len(said) <= 18 and int(said) > most:
        raise Refused(Reason.TOO_LARGE)
    parts, size = [], 0
    try:
        async with asyncio.timeout(seconds) as limit:
            begun = asyncio.get_running_loop().time()
            async for part in request.stream():
                size += len(part)
                limit.reschedule(begun + seconds + size / SLOWEST_BYTES_PER_SECOND)
                if size > most:
                    raise Refused(Reason.TOO_LARGE)
                parts.append(part)
    except TimeoutError:
        raise Refused(Reason.UNAVAILABLE, "The report arrived too slowly: try again later.") from None
    except ClientDisconnect:
        raise Refused(Reason.UNAVAILABLE, "The connection ended before the report was here.") from None
    return b"".join(parts)


class Rate:
    """At most so many per second, evenly or within a burst of one second's worth; None is as many as come."""

    def __init__(self, most_per_second: float | None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most_per_second
        self._clock = clock
        self._left = max(1.0, most_per_second or 0.0)
        self._last = clock()

    def take(self) -> None:
        """Counts one, or refuses it."""
        if self._most is None:
            return
        now = self._clock()
        self._left = min(max(1.0, self._most), self._left + (now - self._last) * self._most)
        self._last = now
        if self._left < 1:
            raise Refused(Reason.TOO_MANY_REQUESTS)
        self._left -= 1


class UnderWay:
    """At most so many at the same moment."""

    def __init__(self, most: int) -> None:
        self._free = most

    @contextmanager
    def one(self) -> Iterator[None]:
        """One of them, for as long as it takes; refused if there are too many."""
        if self._free < 1:
            raise Refused(Reason.TOO_MANY_REQUESTS)
        self._free -= 1
        try:
            yield
        finally:
            self._free += 1

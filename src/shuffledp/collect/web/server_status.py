"""What is looked up beside the pages: only while somebody looks, at most every few seconds, and no page waits for it.

Whoever asks is given what was found last, while one thread looks again. What nobody has asked for in a while would
mislead: for that, as for the very first, a page waits a little.

What a shuffler says about a task, read without trust: only what it should say, of bounded size, or nothing.

How the shufflers of a task are: asked by the analyzer, only while somebody looks, each by itself.

Addresses come from the task, or from whoever started the analyzer. A shuffler that is slow, away or hostile costs one
thread for some seconds, and its line on the page; nothing that it says is trusted (hop_status.py).
"""

from __future__ import annotations

import json
import math
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Generic, TypeVar

import httpx

from shuffledp.collect.reasons import Reason
from shuffledp.collect.server.observability import log_error
from shuffledp.collect.task import Task
from shuffledp.formatting import shown

Found = TypeVar("Found")

MISLEADS_AFTER = 10.0
"""Seconds: pages look every two, so that nobody who goes on looking ever waits."""


class Fresh(Generic[Found]):
    """The last answer of `look`, which is asked again once that is older than `seconds`."""

    def __init__(
        self, look: Callable[[], Found], *, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._look, self._seconds, self._clock = look, seconds, clock
        self._found: Found | None = None
        self._at: float | None = None
        self._begun: float | None = None
        self._done = threading.Event()
        self._lock = threading.Lock()

    def latest(self, *, wait: float = 0.0) -> Found | None:
        """What was found last, or within `wait` seconds if that is too old; None if nothing ever was."""
        with self._lock:
            age = math.inf if self._at is None else self._clock() - self._at
            if age >= self._seconds and self._begun is None:
                self._begun = self._clock()
                self._done.clear()
                threading.Thread(target=self._run, daemon=True).start()
        if age >= MISLEADS_AFTER and wait:
            self._done.wait(wait)
        return self._found

    @property
    def busy(self) -> float:
        """For how many seconds it has been looking by now."""
        begun = self._begun
        return 0.0 if begun is None else self._clock() - begun

    def _run(self) -> None:
        try:
            self._found = self._look()
        except Exception as error:  # what was found before is better than nothing
            log_error("what the console shows could not be looked up", error)
        finally:
            with self._lock:
                self._at, self._begun = self._clock(), None
            self._done.set()


MOST_BYTES = 64 * 1024
"""Of an answer: twenty times what an honest one has."""

_LARGEST = 2**53
"""Of a number, which other readers of JSON would take for another beyond."""
_MOST_PROBLEMS, _LONGEST_PROBLEM = 10, 400
"""So many sentences are read; a shuffler has half a dozen of them, each of two lines."""

OTHER = "other"
"""The reason of refusals whose reason is none that we know."""


@dataclass(frozen=True, kw_only=True)
class HopStatus:
    """The public counters of a shuffler: reports in no batch, batches made and handed on, refusals, problems."""

    waiting: int
    batches: int
    acknowledged: int
    short_by: int | None
    refused: Mapping[str, int] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


def read_status(content: bytes, task: Task, position: int) -> HopStatus:
    """The status in an answer; a ValueError if it is none of this task at this place of the chain."""
    try:
        said = json.loads(content)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(said, dict) or (said.get("task"), said.get("position")) != (task.name, position):
        raise ValueError("another task, or another place")
    short_by = said.get("short_by")
    return HopStatus(
        waiting=_number(said.get("waiting")),
        batches=_number(said.get("batches")),
        acknowledged=_number(said.get("batches_acknowledged")),
        short_by=None if short_by is None else _number(short_by),
        refused=_refused(said.get("refused")),
        problems=_problems(said.get("problems")),
    )


def _number(value: Any) -> int:
    if type(value) is not int or not 0 <= value < _LARGEST:
        raise ValueError("no count")
    return value


def _refused(value: Any) -> dict[str, int]:
    if not isinstance(value, dict):
        raise ValueError("no counts")
    known, found = set(Reason), dict.fromkeys([*Reason, OTHER], 0)
    for reason, number in value.items():
        found[reason if reason in known else OTHER] += _number(number)
    return {str(reason): number for reason, number in found.items() if number}


def _problems(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ValueError("no sentences")
    return tuple(shown(each, width=_LONGEST_PROBLEM) for each in value[:_MOST_PROBLEMS])


EVERY = 1.5
"""Seconds between two questions: pages look every two."""

TIMEOUT = 2.0
"""Seconds of silence."""

PATIENCE = 5.0
"""Seconds for a whole answer, however little of it comes at a time."""

FIRST_WAIT = 0.3
"""Seconds that a page waits which nobody has looked at before: a shuffler answers in a hundredth of one."""

SLOW = f"It takes longer than {PATIENCE:g} seconds to answer."
UNKNOWN_TASK = "It answers, but does not serve this task."
ODD = "It answers with something else than the status of this task."
STOPPED = "It answers, but says that it is not well: its store does not answer, or work beside has ended."


@dataclass(frozen=True, kw_only=True)
class Hop:
    """A shuffler: whether it answers, what it said last and when, and what is wrong, in words."""

    position: int
    address: str
    answers: bool = False
    seen: datetime | None = None
    status: HopStatus | None = None
    trouble: str | None = None


class Hops:
    """The shufflers of one task; `client` asks, and belongs to whoever made it.

    The last one is asked at `upstream` if that is given, as for batches.
    """

    def __init__(
        self,
        task: Task,
        client: httpx.Client,
        *,
        upstream: str | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        at = [place.address for place in task.shufflers]
        at[-1] = upstream or at[-1]
        self._asked = [_Asked(task, position, address, client, now) for position, address in enumerate(at)]

    def latest(self) -> list[Hop]:
        """What is known of each, in order."""
        return [each.latest() for each in self._asked]


class _Asked:
    """One of them."""

    def __init__(
        self, task: Task, position: int, address: str, client: httpx.Client, now: Callable[[], datetime]
    ) -> None:
        self._task, self._client, self._now = task, client, now
        self._address = address.rstrip("/")
        self._last = Hop(position=position, address=task.shufflers[position].address)
        self._fresh = Fresh(self._look, seconds=EVERY)

    def latest(self) -> Hop:
        """What is known by now."""
        found = self._fresh.latest(wait=FIRST_WAIT) or self._last
        if self._fresh.busy > 2 * PATIENCE:  # it sends a byte now and then
            return replace(found, answers=False, trouble=SLOW)
        return found

    def _look(self) -> Hop:
        self._last = self._asked()
        return self._last

    def _asked(self) -> Hop:
        try:
            status, content = self._get(f"/v1/tasks/{self._task.name}/status")
            if status == HTTPStatus.NOT_FOUND:
                return self._fails(UNKNOWN_TASK)
            if status != HTTPStatus.OK:
                return self._fails(f"It answers with status {status}.")
            found = read_status(content, self._task, self._last.position)
            health, _ = self._get("/health")
        except httpx.TimeoutException:
            return self._fails(SLOW)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return self._fails(f"It cannot be reached ({type(error).__name__}).")
        except ValueError:
            return self._fails(ODD)
        # a balancer in front of it may keep /health inside, and answer that there is none
        trouble = STOPPED if health == HTTPStatus.SERVICE_UNAVAILABLE else None
        return replace(self._last, answers=True, seen=self._now(), status=found, trouble=trouble)

    def _fails(self, trouble: str) -> Hop:
        return replace(self._last, answers=False, trouble=trouble)

    def _get(self, path: str) -> tuple[int, bytes]:
        content, last = bytearray(), time.monotonic() + PATIENCE
        headers = {"accept": "application/json", "accept-encoding": "identity"}  # nothing that grows when unpacked
        with (
            _within(PATIENCE) as trace,
            self._client.stream("GET", self._address + path, headers=headers, extensions={"trace": trace}) as answer,
        ):
            for part in answer.iter_raw():
                content += part
                if len(content) > MOST_BYTES:
                    raise ValueError("longer than any answer")
                if time.monotonic() > last:
                    raise httpx.ReadTimeout("too slow")
        return answer.status_code, bytes(content)


@contextmanager
def _within(seconds: float) -> Iterator[Callable[[str, Mapping[str, Any]], None]]:
    """Shuts the connection of an exchange that takes longer, whichever part of it is slow.

    Timeouts of a client are about silence: one byte of a header now and then would hold a thread for ever. Gives what
    the client has to tell its steps to (the extension `trace`), and learns from that which connection it is.
    """
    over, lock = threading.Event(), threading.Lock()
    connections: list[socket.socket] = []

    def end() -> None:
        with lock:
            over.set()
            for each in connections:
                with suppress(OSError):  # it has ended by itself
                    socket.socket.shutdown(each, socket.SHUT_RDWR)  # under TLS too: nobody is asked to agree

    def trace(step: str, about: Mapping[str, Any]) -> None:
        if step.endswith(("connect_tcp.complete", "start_tls.complete")):
            with lock:
                if over.is_set():
                    raise httpx.ConnectTimeout("too slow")
                connections.append(about["return_value"].get_extra_info("socket"))

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield trace
    except httpx.HTTPError:
        if not over.is_set():
            raise
    finally:
        timer.cancel()
    if over.is_set():  # also where the end of the connection was taken for the end of the answer
        raise httpx.ReadTimeout("too slow")


def new_client() -> httpx.Client:
    """Whoever asks shufflers how they are: follows no redirect, keeps no cookie, and connects for every question."""
    limits = httpx.Limits(max_connections=32, max_keepalive_connections=0)  # so that `_within` sees each connection
    return httpx.Client(timeout=TIMEOUT, follow_redirects=False, limits=limits)

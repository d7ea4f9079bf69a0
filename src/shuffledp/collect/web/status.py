"""The health of a task's shufflers, polled by the analyzer while the console is open, and before releases.

Pages never wait long: they get the last answer while one thread asks again. Only an answer that is too old, or the very
first one, is waited for. Addresses come from the task or from the operator. A slow, absent or hostile shuffler costs
one thread for some seconds and its line on the page. Its answer is read without trust: only the expected fields, of
bounded size.
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

from shuffledp.collect.reaching import certificates
from shuffledp.collect.reasons import Reason
from shuffledp.collect.server.observability import Event, log_error
from shuffledp.collect.task import Task
from shuffledp.formatting import shown

Found = TypeVar("Found")

MISLEADS_AFTER = 10.0
"""Seconds. Pages ask every two seconds, so a reader who keeps looking never waits."""


class Fresh(Generic[Found]):
    """The last result of `look`, which runs again in a thread when the result is older than `seconds`."""

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
        """Return the last result, or wait up to `wait` seconds if it is too old; None if there is none yet."""
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
        """Seconds for which `look` has been running; 0 if it is not."""
        begun = self._begun
        return 0.0 if begun is None else self._clock() - begun

    def _run(self) -> None:
        try:
            self._found = self._look()
        except Exception as error:  # the previous result is better than none
            log_error(Event.CONSOLE_FAILED, error)
        finally:
            with self._lock:
                self._at, self._begun = self._clock(), None
            self._done.set()


MOST_BYTES = 64 * 1024
"""Longest answer: twenty times an honest one."""

_LARGEST = 2**53
"""Numbers must be smaller: other JSON readers would round larger ones."""

_MOST_PROBLEMS, _LONGEST_PROBLEM = 10, 400
"""Sentences that are read, and their length; a shuffler has half a dozen, each of two lines."""

OTHER = "other"
"""Stands for reasons of refusal that this version does not know."""


@dataclass(frozen=True, kw_only=True)
class ShufflerStatus:
    """The public counters of a shuffler: waiting reports, batches made and forwarded, refusals, problems."""

    waiting: int
    batches: int
    acknowledged: int
    short_by: int | None
    refused: Mapping[str, int] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    def reported(self, users: int) -> int:
        """Return the number of reports that the first shuffler has accepted, with `users` in a batch."""
        in_the_last = users - self.short_by if self.short_by else 0  # who waited when the task closed
        return self.batches * users + self.waiting + in_the_last


def read_status(content: bytes, task: Task, position: int) -> ShufflerStatus:
    """Read the status in an answer; raise ValueError if it is not of this task at this position."""
    try:
        fields = json.loads(content)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(fields, dict) or (fields.get("task"), fields.get("position")) != (task.name, position):
        raise ValueError("another task, or another place")
    short_by = fields.get("short_by")
    return ShufflerStatus(
        waiting=_number(fields.get("waiting")),
        batches=_number(fields.get("batches")),
        acknowledged=_number(fields.get("batches_acknowledged")),
        short_by=None if short_by is None else _number(short_by),
        refused=_refused(fields.get("refused")),
        problems=_problems(fields.get("problems")),
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
"""Seconds between two requests: pages ask every two seconds."""

TIMEOUT = 2.0
"""Seconds of silence."""

PATIENCE = 5.0
"""Seconds for a whole answer, even if it arrives byte by byte."""

FIRST_WAIT = 0.3
"""Seconds that the first page waits: a shuffler answers in a hundredth of a second."""

SLOW = f"It takes longer than {PATIENCE:g} seconds to answer."
UNKNOWN_TASK = "It answers, but does not serve this task."
ODD = "It answers, but not with the status of this task."
STOPPED = "It answers, but reports that it is unhealthy: its store does not answer, or background work has ended."


@dataclass(frozen=True, kw_only=True)
class ShufflerHealth:
    """Whether a shuffler answers, its last status and when, and what is wrong, as a sentence."""

    position: int
    address: str
    answers: bool = False
    seen: datetime | None = None
    status: ShufflerStatus | None = None
    problem: str | None = None
    lacks_task: bool = False
    """Whether it answers itself that it does not serve the task: a proxy may answer 404, too."""


class ShufflerMonitor:
    """Asks the shufflers of one task for their status; the caller closes `client`.

    The last shuffler is asked at `upstream`, if given, like for batches.
    """

    def __init__(
        self,
        task: Task,
        client: httpx.Client,
        *,
        upstream: str | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._users = task.users
        at = [place.address for place in task.shufflers]
        at[-1] = upstream or at[-1]
        self._each = [_Monitored(task, position, address, client, now) for position, address in enumerate(at)]

    def latest(self) -> list[ShufflerHealth]:
        """Return the health of each shuffler, in order."""
        return [each.latest() for each in self._each]

    def now(self) -> list[ShufflerHealth]:
        """Ask each shuffler now, in order."""
        return [each.ask() for each in self._each]

    @property
    def first_has_closed(self) -> bool:
        """Whether the first shuffler said in its last answer that the task is closed; asks nothing."""
        status = self._each[0].last.status
        return status is not None and status.short_by is not None

    def ask_reported(self) -> int | None:
        """Ask the first shuffler now for the number of reports it has accepted; None if it does not answer."""
        found = self._each[0].ask()
        return found.status.reported(self._users) if found.answers and found.status is not None else None


class _Monitored:
    def __init__(
        self, task: Task, position: int, address: str, client: httpx.Client, now: Callable[[], datetime]
    ) -> None:
        self._task, self._client, self._now = task, client, now
        self._address = address.rstrip("/")
        self.last = ShufflerHealth(position=position, address=task.shufflers[position].address)
        self._fresh = Fresh(self.ask, seconds=EVERY)

    def latest(self) -> ShufflerHealth:
        """Return what is known by now."""
        found = self._fresh.latest(wait=FIRST_WAIT) or self.last
        if self._fresh.busy > 2 * PATIENCE:  # it sends a byte now and then
            return replace(found, answers=False, problem=SLOW)
        return found

    def ask(self) -> ShufflerHealth:
        """Ask now."""
        self.last = self._asked()
        return self.last

    def _asked(self) -> ShufflerHealth:
        try:
            status, content = self._get(f"/v1/tasks/{self._task.name}/status")
            if status == HTTPStatus.NOT_FOUND:
                return self._fails(UNKNOWN_TASK, lacks_task=_reason(content) == Reason.UNKNOWN_TASK.value)
            if status != HTTPStatus.OK:
                return self._fails(f"It answers with status {status}.")
            found = read_status(content, self._task, self.last.position)
            health, _ = self._get("/health")
        except httpx.TimeoutException:
            return self._fails(SLOW)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return self._fails(f"It cannot be reached ({type(error).__name__}).")
        except ValueError:
            return self._fails(ODD)
        # a load balancer may keep /health inside and answer 404
        problem = STOPPED if health == HTTPStatus.SERVICE_UNAVAILABLE else None
        return replace(self.last, answers=True, seen=self._now(), status=found, problem=problem, lacks_task=False)

    def _fails(self, problem: str, *, lacks_task: bool = False) -> ShufflerHealth:
        return replace(self.last, answers=False, problem=problem, lacks_task=lacks_task)

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


def _reason(content: bytes) -> object:
    """The reason in a problem document; None in any other content."""
    try:
        return json.loads(content)["reason"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


@contextmanager
def _within(seconds: float) -> Iterator[Callable[[str, Mapping[str, Any]], None]]:
    """Close the connection of an exchange that takes longer, whichever part of it is slow.

    The timeouts of httpx are about silence: one byte now and then would hold a thread for ever. Yields the function for
    the extension `trace`, which learns from httpx which connection is used.
    """
    over, lock = threading.Event(), threading.Lock()
    connections: list[socket.socket] = []

    def end() -> None:
        with lock:
            over.set()
            for each in connections:
                with suppress(OSError):  # it is closed already
                    socket.socket.shutdown(each, socket.SHUT_RDWR)  # also under TLS, without its closing handshake

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
    if over.is_set():  # also if the closed connection looked like the end of the answer
        raise httpx.ReadTimeout("too slow")


def new_client() -> httpx.Client:
    """Return the client for status requests: no redirects, and a new connection for every request."""
    limits = httpx.Limits(max_connections=32, max_keepalive_connections=0)  # so that `_within` sees each connection
    return httpx.Client(timeout=TIMEOUT, verify=certificates(), follow_redirects=False, limits=limits)

"""Work beside the requests: a thread that looks for something to do, again and again, and goes on after errors.

What does not work at the moment: told until it works again, and tried again after longer and longer pauses.

The client of a hop upstream: which batches are ready, the bytes of one, and the word that they are safe.

Nothing that arrives is trusted: the head of a batch must say what was asked for, and exactly as many onions must
follow. Asked again before it is acknowledged, a batch is the same bytes, so whatever goes wrong is begun anew.
"""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from http import HTTPStatus
from typing import Any, Protocol, TypeVar

import httpx

from shuffledp.collect.crypto.batch import HEAD_BYTES, BatchHead
from shuffledp.collect.reasons import Refused
from shuffledp.collect.server.observability import log_error
from shuffledp.collect.store import ReadyBatch
from shuffledp.collect.store.batches import BATCH_ID_BYTES
from shuffledp.collect.task import Task
from shuffledp.errors import DataError

Item = TypeVar("Item")

LONGEST_PAUSE = 30.0
"""Seconds between attempts at what keeps failing: soon enough for whoever mended it, seldom enough for the log."""


class StoppedError(Exception):
    """The server stops: what is under way is left as it is, and done again by whoever comes next."""


class Work(Protocol):
    """Something with steps, each of which can be interrupted and done again."""

    def step(self, stopping: threading.Event) -> bool:
        """Does what there is to do; whether there was anything."""


class Background:
    """One thread that takes step after step; it ends soon after `stop`."""

    def __init__(self, work: Work, *, every: float, task: bytes | None = None) -> None:
        self._work, self._every, self._task = work, every, task
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begins."""
        self._thread.start()

    def stop(self) -> None:
        """Waits until the step under way has noticed."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    @property
    def alive(self) -> bool:
        """Whether somebody is working."""
        return self._thread.is_alive()

    def _run(self) -> None:
        pause = self._every
        while not self._stopping.is_set():
            try:
                worked = self._work.step(self._stopping)
                pause = 0.0 if worked else self._every
            except StoppedError:
                return
            except Exception as error:
                log_error("background work failed", error, task=self._task)
                pause = min(LONGEST_PAUSE, max(2 * pause, self._every))
            self._stopping.wait(pause)


def until(stopping: threading.Event, items: Iterable[Item]) -> Iterator[Item]:
    """The same items, until the server stops."""
    for item in items:
        if stopping.is_set():
            raise StoppedError
        yield item


FIRST_PAUSE, LONGEST_BACK_OFF = 1.0, 600.0
"""Seconds before something that failed is tried again: twice as long each time."""


class HasBatches(Protocol):
    """Whoever is asked for batches."""

    def ready(self, task: Task, /) -> Sequence[ReadyBatch]:
        """The batches of a task that wait."""


class Troubles:
    """What failed of the work on one task, by a batch's id or a word; `clock` gives seconds."""

    def __init__(self, task: bytes, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._task, self._clock = task, clock
        self._pauses: dict[bytes | str, tuple[float, float]] = {}
        self._told: dict[bytes | str, str] = {}

    def ready_now(self, upstream: HasBatches, task: Task, *, otherwise: str) -> list[ReadyBatch]:
        """The batches that wait upstream and are to be tried now; none while it fails, which is told as `otherwise`."""
        if not self.is_time("upstream"):
            return []
        try:
            ready = upstream.ready(task)
        except DataError as error:
            self.fails("upstream", error, otherwise)
            return []
        self.works("upstream")
        self.keep_of(batch.batch_id for batch in ready)
        return [batch for batch in ready if self.is_time(batch.batch_id)]

    @property
    def told(self) -> list[str]:
        """What does not work, for everybody to read."""
        return sorted(set(self._told.copy().values()))

    def is_time(self, what: bytes | str) -> bool:
        """Whether something may be tried: at once unless it failed."""
        return self._clock() >= self._pauses.get(what, (0.0, 0.0))[0]

    def works(self, what: bytes | str) -> None:
        """It was tried, and did not fail."""
        self._pauses.pop(what, None)
        self._told.pop(what, None)

    def keep_of(self, batches: Iterable[bytes]) -> None:
        """Forgets all other batches: those that do not wait any longer cannot fail."""
        waiting = set(batches)
        for what in [each for each in self._told if isinstance(each, bytes) and each not in waiting]:
            self.works(what)

    def fails(self, what: bytes | str, error: Exception, words: str) -> None:
        """It was tried and failed. Only what a hop upstream did is told: other errors may hold data."""
        _, last = self._pauses.get(what, (0.0, FIRST_PAUSE / 2))
        pause = min(2 * last, LONGEST_BACK_OFF)
        self._pauses[what] = self._clock() + pause, pause
        why = str(error) if isinstance(error, UpstreamError) else None
        self._told[what] = words if why is None else f"{words} What happened: {why}."
        log_error(words, error, task=self._task, why=why)


ATTEMPTS = 3
"""Of a request, before whoever asked waits longer and begins anew."""

_TIMEOUT = httpx.Timeout(60.0, connect=10.0)
"""Seconds of silence: the store of a busy hop may let readers wait for some."""

_MOST_BYTES = 1 << 24
"""Of a list of batches: two hundred thousand of them."""


@cache
def _certificates() -> ssl.SSLContext:
    """Checks those of hops, against the usual authorities or those of SSL_CERT_FILE, which are read once."""
    return httpx.create_ssl_context()


class UpstreamError(DataError):
    """The hop upstream cannot be reached, refuses, or sends something else than it should.

    Its sentence is public: it holds nothing of what was sent, and no address, which may be one inside of a network.
    """

    def __init__(self, message: str, *, try_again: bool = False) -> None:
        super().__init__(message)
        self.try_again = try_again


class Upstream:
    """The hop before this one, at `address`, which knows the hash of `token`."""

    def __init__(self, address: str, token: str, *, client: httpx.Client | None = None, pause: float = 0.5) -> None:
        self._address = address.rstrip("/")
        self._client = client or httpx.Client(timeout=_TIMEOUT, verify=_certificates())
        self._headers = {"authorization": f"Bearer {token}"}
        self._pause = pause

    def close(self) -> None:
        """Ends its connections."""
        self._client.close()

    def ready(self, task: Task) -> list[ReadyBatch]:
        """The batches that wait to be pulled."""
        answer = self._trying(lambda: self._asked("GET", self._batches(task)))
        try:
            return [_listed(each) for each in json.loads(answer)["batches"]]
        except (TypeError, KeyError, ValueError, OverflowError, RecursionError):
            raise UpstreamError("the hop upstream does not answer with a list of batches") from None

    @contextmanager
    def batch(self, task: Task, batch_id: bytes, *, position: int) -> Iterator[Iterator[bytes]]:
        """The onions of a batch, for the hop at this position, in blocks cut anywhere.

        The blocks end with an error if anything is missing or too much.
        """
        with self._reaching(), self._stream(f"{self._batches(task)}/{batch_id.hex()}") as answer:
            _check(answer)
            yield self._explained(_onions(answer.iter_raw(), task, batch_id, position))

    def acknowledge(self, task: Task, batch_id: bytes) -> None:
        """Says that a batch is safe here, and may be deleted there; twice is once."""
        self._trying(lambda: self._asked("DELETE", f"{self._batches(task)}/{batch_id.hex()}"))

    def _batches(self, task: Task) -> str:
        return f"{self._address}/v1/tasks/{task.name}/batches"

    def _asked(self, method: str, address: str) -> bytes:
        content = bytearray()
        with self._reaching(), self._stream(address, method) as answer:
            _check(answer)
            for part in answer.iter_bytes():
                content += part
                if len(content) > _MOST_BYTES:
                    raise UpstreamError("the hop upstream answers without end")
        return bytes(content)

    def _stream(self, address: str, method: str = "GET") -> Any:
        # the bytes as they are: nothing on the way may compress what is checked by its length
        return self._client.stream(method, address, headers=self._headers | {"accept-encoding": "identity"})

    def _trying(self, ask: Callable[[], bytes]) -> bytes:
        for attempt in range(1, ATTEMPTS):
            try:
                return ask()
            except UpstreamError as error:
                if not error.try_again:
                    raise
                time.sleep(self._pause * attempt)
        return ask()

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        try:
            yield
        except httpx.HTTPError as error:
            kind = type(error).__name__
            raise UpstreamError(
                f"the hop upstream cannot be reached ({kind}): is it running, at its address in the task or at "
                "--upstream",
                try_again=True,
            ) from None

    def _explained(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        with self._reaching():
            yield from blocks


def _check(answer: httpx.Response) -> None:
    status = answer.status_code
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        raise UpstreamError("the hop upstream does not know this token: give it its hash with --next")
    if not answer.is_success:
        raise UpstreamError(f"the hop upstream answers with status {status}", try_again=status >= 500)


def _listed(each: Any) -> ReadyBatch:
    batch_id, number = bytes.fromhex(each["id"]), int(each["number"])
    if len(batch_id) != BATCH_ID_BYTES or number < 0:
        raise ValueError
    return ReadyBatch(batch_id=batch_id, number=number)


def _onions(content: Iterator[bytes], task: Task, batch_id: bytes, position: int) -> Iterator[bytes]:
    """What follows the head of a batch, of exactly the length that it says."""
    begun = b""
    while len(begun) < HEAD_BYTES:
        part = next(content, None)
        if part is None:
            raise UpstreamError("a batch ended within its head")
        begun += part
    left = _length(begun, task, batch_id, position)
    block: bytes | None = begun[HEAD_BYTES:]
    while block is not None:
        left -= len(block)
        if left < 0:
            raise UpstreamError("a batch is longer than its head says")
        if block:
            yield block
        block = next(content, None)
    if left:
        raise UpstreamError(f"a batch ended {left} bytes too early")


def _length(begun: bytes, task: Task, batch_id: bytes, position: int) -> int:
    try:
        head = BatchHead.from_bytes(begun)
    except Refused:
        raise UpstreamError("what the hop upstream sends is no batch") from None
    if (head.task_id, head.batch_id, head.position) != (task.id, batch_id, position):
        raise UpstreamError("the hop upstream sends another batch than was asked for, or one for another hop")
    if head.number > task.users * task.most_messages:
        raise UpstreamError("a batch has more messages than so many people can have sent")
    return head.number * task.onion_length(position)

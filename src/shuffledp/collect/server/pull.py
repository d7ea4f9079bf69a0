"""Pull whole batches from the server upstream, in a background thread.

Later shufflers and the analyzer use one loop (`BatchPuller`): list the batches that are ready upstream, fetch each,
process it, acknowledge it. The server upstream deletes a batch when it is acknowledged, so that happens only when the
result is durable here. A batch that is here already is only acknowledged. What fails is left upstream, reported in
`TaskHealth` until it works again, and retried with growing pauses; it delays no other batch.

Nothing that arrives is trusted: the head of a batch must match the request, and exactly the number of onions it names
must follow. Until it is acknowledged, a batch is the same bytes every time, so every step can be repeated.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
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
"""Seconds between the steps of a thread that keeps failing."""

FIRST_PAUSE, LONGEST_BACK_OFF = 1.0, 600.0
"""Seconds before something that failed is tried again; the pause doubles each time."""

ATTEMPTS = 3
"""Attempts of a request before it counts as failed."""

_TIMEOUT = httpx.Timeout(60.0, connect=10.0)
"""Seconds of silence: the store of a busy server may let readers wait."""

_MOST_BYTES = 1 << 24
"""Bytes of a list of batches: two hundred thousand of them."""


class StoppedError(Exception):
    """The server stops; the step in flight is left as it is and done again after the next start."""


class Work(Protocol):
    """Background work in steps, each of which can be interrupted and repeated."""

    def step(self, stopping: threading.Event) -> bool:
        """Do what there is to do; return whether there was anything."""


class Background:
    """A thread that takes step after step until `stop`, and goes on after errors."""

    def __init__(self, work: Work, *, every: float, task: bytes | None = None) -> None:
        self._work, self._every, self._task = work, every, task
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Interrupt the step in flight and wait for the thread to end."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    @property
    def alive(self) -> bool:
        """Whether the thread runs."""
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
    """Yield the same items; raise StoppedError once the server stops."""
    for item in items:
        if stopping.is_set():
            raise StoppedError
        yield item


class UpstreamError(DataError):
    """The server upstream cannot be reached, refuses, or sends something invalid.

    The message is public: it contains nothing of what was sent, and no address, which may be internal to a network.
    """

    def __init__(self, message: str, *, try_again: bool = False) -> None:
        super().__init__(message)
        self.try_again = try_again


class TaskHealth:
    """Current failures of the work on one task, by batch id or name; `clock` gives seconds."""

    def __init__(self, task: bytes, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._task, self._clock = task, clock
        self._pauses: dict[bytes | str, tuple[float, float]] = {}
        self._messages: dict[bytes | str, str] = {}

    @property
    def problems(self) -> list[str]:
        """Public sentences about current failures."""
        return sorted(set(self._messages.copy().values()))

    def may_try(self, what: bytes | str) -> bool:
        """Whether something may be tried now: at once unless it failed."""
        return self._clock() >= self._pauses.get(what, (0.0, 0.0))[0]

    def succeeded(self, what: bytes | str) -> None:
        """Forget earlier failures of something."""
        self._pauses.pop(what, None)
        self._messages.pop(what, None)

    def forget_all_batches_but(self, batches: Iterable[bytes]) -> None:
        """Forget failures of batches that are no longer upstream."""
        waiting = set(batches)
        for what in [each for each in self._messages if isinstance(each, bytes) and each not in waiting]:
            self.succeeded(what)

    def failed(self, what: bytes | str, error: Exception, message: str) -> None:
        """Record and log a failure. Only errors of the server upstream are quoted: others may contain data."""
        _, last = self._pauses.get(what, (0.0, FIRST_PAUSE / 2))
        pause = min(2 * last, LONGEST_BACK_OFF)
        self._pauses[what] = self._clock() + pause, pause
        why = str(error) if isinstance(error, UpstreamError) else None
        self._messages[what] = message if why is None else f"{message} Cause: {why}."
        log_error(message, error, task=self._task, why=why)


class BatchSource(Protocol):
    """Where batches come from: `Upstream` over the network."""

    def ready(self, task: Task) -> Sequence[ReadyBatch]:
        """The batches that are ready to be pulled."""

    def batch(self, task: Task, batch_id: bytes, *, position: int) -> AbstractContextManager[Iterator[bytes]]:
        """The onions of a batch whose head matches the request, in blocks cut anywhere."""

    def acknowledge(self, task: Task, batch_id: bytes) -> None:
        """Report that a batch is durable here; idempotent."""

    def close(self) -> None:
        """Close the connections."""


class ProcessedBatches(Protocol):
    """The store of the server that pulls."""

    def has_batch(self, batch_id: bytes) -> bool:
        """Whether the batch was processed here."""


ProcessBatch = Callable[[bytes, Iterator[bytes], threading.Event], None]
"""Process a batch, given its id and the blocks of its onions; its result is durable when this returns."""


class BatchPuller:
    """Pull the batches of one task for the server at `position`; `process` makes their result durable.

    `source_failed` and `batch_failed` are the public sentences for failures.
    """

    def __init__(
        self,
        task: Task,
        source: BatchSource,
        store: ProcessedBatches,
        process: ProcessBatch,
        *,
        position: int,
        health: TaskHealth,
        source_failed: str,
        batch_failed: str,
    ) -> None:
        self._task, self._source, self._store, self._process = task, source, store, process
        self._position, self._health = position, health
        self._source_failed, self._batch_failed = source_failed, batch_failed

    def step(self, stopping: threading.Event) -> bool:
        """Pull all batches that are ready; return whether one of them succeeded."""
        pulled = [self._pull(batch.batch_id, stopping) for batch in until(stopping, self._ready())]
        return any(pulled)

    def _ready(self) -> list[ReadyBatch]:
        """The batches to be tried now; none while the list cannot be fetched."""
        if not self._health.may_try("upstream"):
            return []
        try:
            ready = self._source.ready(self._task)
        except DataError as error:
            self._health.failed("upstream", error, self._source_failed)
            return []
        self._health.succeeded("upstream")
        self._health.forget_all_batches_but(batch.batch_id for batch in ready)
        return [batch for batch in ready if self._health.may_try(batch.batch_id)]

    def _pull(self, batch_id: bytes, stopping: threading.Event) -> bool:
        """Fetch, process and acknowledge a batch; return whether that succeeded."""
        try:
            if not self._store.has_batch(batch_id):
                with self._source.batch(self._task, batch_id, position=self._position) as blocks:
                    self._process(batch_id, until(stopping, blocks), stopping)
            self._source.acknowledge(self._task, batch_id)
        except StoppedError:
            raise
        except Exception as error:  # whatever it is, other batches must not wait for it
            self._health.failed(batch_id, error, self._batch_failed)
            return False
        self._health.succeeded(batch_id)
        return True


class Upstream:
    """The server before this one, at `address`, which knows the hash of `token`."""

    def __init__(self, address: str, token: str, *, client: httpx.Client | None = None, pause: float = 0.5) -> None:
        self._address = address.rstrip("/")
        self._client = client or httpx.Client(timeout=_TIMEOUT)
        self._headers = {"authorization": f"Bearer {token}"}
        self._pause = pause

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def ready(self, task: Task) -> list[ReadyBatch]:
        """The batches that are ready to be pulled."""
        answer = self._trying(lambda: self._asked("GET", self._batches(task)))
        try:
            return [_listed(each) for each in json.loads(answer)["batches"]]
        except (TypeError, KeyError, ValueError, OverflowError, RecursionError):
            raise UpstreamError("the server upstream does not answer with a list of batches") from None

    @contextmanager
    def batch(self, task: Task, batch_id: bytes, *, position: int) -> Iterator[Iterator[bytes]]:
        """The onions of a batch for the server at this position, in blocks cut anywhere.

        The blocks end with an error if the batch is too short or too long.
        """
        with self._reaching(), self._stream(f"{self._batches(task)}/{batch_id.hex()}") as answer:
            _check(answer)
            yield self._explained(_onions(answer.iter_raw(), task, batch_id, position))

    def acknowledge(self, task: Task, batch_id: bytes) -> None:
        """Report that a batch is durable here and may be deleted there; idempotent."""
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
                    raise UpstreamError("the server upstream sends a list of batches that is too long")
        return bytes(content)

    def _stream(self, address: str, method: str = "GET") -> Any:
        # no proxy may compress what is checked by its length
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
                f"the server upstream cannot be reached ({kind}): is it running at its address in the task, or at the "
                "address given as upstream",
                try_again=True,
            ) from None

    def _explained(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        with self._reaching():
            yield from blocks


def _check(answer: httpx.Response) -> None:
    status = answer.status_code
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        raise UpstreamError("the server upstream does not know this token: start it with the hash of this token")
    if not answer.is_success:
        raise UpstreamError(f"the server upstream answers with status {status}", try_again=status >= 500)


def _listed(each: Any) -> ReadyBatch:
    batch_id, number = bytes.fromhex(each["id"]), int(each["number"])
    if len(batch_id) != BATCH_ID_BYTES or number < 0:
        raise ValueError
    return ReadyBatch(batch_id=batch_id, number=number)


def _onions(content: Iterator[bytes], task: Task, batch_id: bytes, position: int) -> Iterator[bytes]:
    """Yield the onions after the head of a batch; their length must match the head."""
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
        raise UpstreamError("the server upstream sends something that is not a batch") from None
    if (head.task_id, head.batch_id, head.position) != (task.id, batch_id, position):
        raise UpstreamError("the server upstream sends another batch than the requested one, or one for another server")
    if head.number > task.users * task.most_messages:
        raise UpstreamError("a batch has more messages than its number of reports allows")
    return head.number * task.onion_length(position)

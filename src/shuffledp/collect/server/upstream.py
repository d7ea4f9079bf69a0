"""Batches from the previous server: its client, and the loop of later shufflers and the analyzer that pulls them.

The previous server deletes a batch when it is acknowledged, so that happens only when the result is durable here. Until
then a batch is the same bytes every time, so every step can be repeated. Nothing that arrives is trusted: the head of a
batch must match the request, and exactly the number of onions it names must follow.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from typing import Any

import httpx

from shuffledp.collect.crypto.batch import HEAD_BYTES, BatchHead
from shuffledp.collect.reaching import REACHING, Cause, UpstreamError, cause_of, certificates
from shuffledp.collect.reasons import Refused
from shuffledp.collect.server.background import UPSTREAM, TaskHealth, until
from shuffledp.collect.server.observability import Event
from shuffledp.collect.store import ReadyBatch
from shuffledp.collect.store.batches import BATCH_ID_BYTES
from shuffledp.collect.task import Task
from shuffledp.errors import DataError

ATTEMPTS = 3
"""Attempts of a request before it counts as failed."""

_TIMEOUT = httpx.Timeout(60.0, connect=10.0)
"""Seconds of silence: the store of a busy server may let readers wait."""

_MOST_BYTES = 1 << 24
"""Bytes of a list of batches: two hundred thousand of them."""


PROBLEM = "application/problem+json"
"""The content type of refusals (RFC 9457)."""


NO_BATCHES = "No new batches arrive."

NOT_THERE = "the previous server does not serve this task yet: add it there, or remove it here if it was removed there"


class Upstream:
    """The server before this one, at `address`, which knows the hash of `token`."""

    def __init__(self, address: str, token: str, *, client: httpx.Client | None = None, pause: float = 0.5) -> None:
        self._address = address.rstrip("/")
        self._client = client or httpx.Client(timeout=_TIMEOUT, verify=certificates())
        self._headers = {"authorization": f"Bearer {token}"}
        self._pause = pause

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def ready(self, task: Task) -> list[ReadyBatch]:
        """The batches that are ready to be pulled."""
        try:
            answer = self._trying("GET", self._batches(task))
        except UpstreamError as error:
            if error.reason is Cause.UNKNOWN_TASK:
                raise UpstreamError(NOT_THERE, reason=error.reason) from None
            raise
        with _reading("a list of batches"):
            return [_listed(each) for each in json.loads(answer)["batches"]]

    def left(self, task: Task) -> int | None:
        """The number of batches that were not pulled yet; None if there may be more, since the task is not closed.

        A server that does not know the task has none: it was removed there.
        """
        try:
            answer = self._trying("GET", f"{self._address}/v1/tasks/{task.name}/status")
        except UpstreamError as error:
            if error.reason is Cause.UNKNOWN_TASK:
                return 0
            raise
        with _reading("the status of a task"):
            status = json.loads(answer)
            has_ended = status["short_by"] is not None if status["position"] == 0 else status["closed"] is True
            return int(status["batches"]) - int(status["batches_acknowledged"]) if has_ended else None

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
        self._trying("DELETE", f"{self._batches(task)}/{batch_id.hex()}")

    def _batches(self, task: Task) -> str:
        return f"{self._address}/v1/tasks/{task.name}/batches"

    def _asked(self, method: str, address: str) -> bytes:
        content = bytearray()
        with self._reaching(), self._stream(address, method) as answer:
            _check(answer)
            for part in answer.iter_bytes():
                content += part
                if len(content) > _MOST_BYTES:
                    raise UpstreamError(
                        "the previous server sends a list of batches that is too long", reason=Cause.NOT_SHUFFLEDP
                    )
        return bytes(content)

    def _stream(self, address: str, method: str = "GET") -> Any:
        # no proxy may compress what is checked by its length
        return self._client.stream(method, address, headers=self._headers | {"accept-encoding": "identity"})

    def _trying(self, method: str, address: str) -> bytes:
        for attempt in range(1, ATTEMPTS):
            try:
                return self._asked(method, address)
            except UpstreamError as error:
                if not error.try_again:
                    raise
                time.sleep(self._pause * attempt)
        return self._asked(method, address)

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        try:
            yield
        except httpx.HTTPError as error:
            raise _unreachable(cause_of(error)) from None

    def _explained(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        with self._reaching():
            yield from blocks


@contextmanager
def _reading(what: str) -> Iterator[None]:
    try:
        yield
    except (TypeError, KeyError, ValueError, OverflowError, RecursionError):
        raise UpstreamError(
            f"the previous server does not answer with {what}, as a shuffler of shuffledp does",
            reason=Cause.NOT_SHUFFLEDP,
        ) from None


def _unreachable(cause: Cause) -> UpstreamError:
    if cause is Cause.NOT_SHUFFLEDP:
        return UpstreamError("the previous server does not answer as a shuffler of shuffledp does", reason=cause)
    return UpstreamError(
        f"the previous server cannot be reached, since {REACHING[cause]}", reason=cause, try_again=cause in _PASSING
    )


_PASSING = (Cause.REFUSED_CONNECTION, Cause.UNKNOWN_HOST, Cause.TIMEOUT, Cause.BROKEN_CONNECTION)
"""Failures that may be over at the next attempt."""


def _check(answer: httpx.Response) -> None:
    status = answer.status_code
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        raise UpstreamError(
            "the previous server does not know this token: start it with the hash of this token",
            reason=Cause.WRONG_TOKEN,
        )
    if answer.is_success:
        return
    if answer.headers.get("content-type") != PROBLEM and status < 500:
        raise UpstreamError(
            f"the previous server answers with status {status} and is no shuffler of shuffledp: is the address right",
            reason=Cause.NOT_SHUFFLEDP,
        )
    reason = Cause.UNKNOWN_TASK if status == HTTPStatus.NOT_FOUND else Cause.BAD_STATUS
    raise UpstreamError(f"the previous server answers with status {status}", reason=reason, try_again=status >= 500)


def _listed(each: Any) -> ReadyBatch:
    batch_id, number = bytes.fromhex(each["id"]), int(each["number"])
    if len(batch_id) != BATCH_ID_BYTES or number < 0:
        raise ValueError
    return ReadyBatch(batch_id=batch_id, number=number)


def _onions(content: Iterator[bytes], task: Task, batch_id: bytes, position: int) -> Iterator[bytes]:
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
        raise UpstreamError("the previous server sends something that is not a batch") from None
    if (head.task_id, head.batch_id, head.position) != (task.id, batch_id, position):
        raise UpstreamError("the previous server sends another batch than the requested one, or one for another server")
    if head.number > task.users * task.most_messages:
        raise UpstreamError("a batch has more messages than its number of reports allows")
    return head.number * task.onion_length(position)


ProcessBatch = Callable[[bytes, Iterator[bytes], threading.Event], None]
"""Process a batch, given its id and the blocks of its onions; its result is durable when this returns."""


class BatchPuller:
    """Pull the batches of one task for the server at `position`; `process` makes the result durable of those that this
    server does not have yet.

    What fails is left upstream, reported in `health`, that of a batch by the public sentence `batch_failed`, and
    retried with growing pauses; it delays no other batch.
    """

    def __init__(
        self,
        task: Task,
        source: Upstream,
        has_batch: Callable[[bytes], bool],
        process: ProcessBatch,
        *,
        position: int,
        health: TaskHealth,
        batch_failed: str,
    ) -> None:
        self._task, self._source, self._has_batch, self._process = task, source, has_batch, process
        self._position, self._health = position, health
        self._batch_failed = batch_failed

    def step(self, stopping: threading.Event) -> bool:
        """Pull all batches that are ready; return whether one of them succeeded."""
        pulled = [
            self._health.attempt(
                batch.batch_id, partial(self._pull, batch.batch_id, stopping), message=self._batch_failed
            )
            for batch in until(stopping, self._ready())
        ]
        return any(pulled)

    def _ready(self) -> Sequence[ReadyBatch]:
        if not self._health.may_try(UPSTREAM):
            return []
        try:
            ready = self._source.ready(self._task)
        except DataError as error:
            self._health.failed(UPSTREAM, error, NO_BATCHES, Event.UPSTREAM_FAILED)
            return []
        self._health.succeeded(UPSTREAM)
        self._health.forget_all_batches_but(batch.batch_id for batch in ready)
        return ready

    def _pull(self, batch_id: bytes, stopping: threading.Event) -> bool:
        if not self._has_batch(batch_id):
            with self._source.batch(self._task, batch_id, position=self._position) as blocks:
                self._process(batch_id, until(stopping, blocks), stopping)
        self._source.acknowledge(self._task, batch_id)
        return True

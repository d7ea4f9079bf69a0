"""The client of a hop upstream: which batches are ready, the bytes of one, and the word that they are safe.

Nothing that arrives is trusted: the head of a batch must say what was asked for, and exactly as many onions must
follow. Asked again before it is acknowledged, a batch is the same bytes, so whatever goes wrong is begun anew.
"""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from http import HTTPStatus
from typing import Any

import httpx

from shuffledp.collection.envelope.batch import HEAD_BYTES, BatchHead
from shuffledp.collection.reasons import Refused
from shuffledp.collection.stores import ReadyBatch
from shuffledp.collection.stores.batching import BATCH_ID_BYTES
from shuffledp.collection.task import Task
from shuffledp.errors import DataError

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

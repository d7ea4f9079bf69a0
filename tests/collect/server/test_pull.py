"""The client of the previous server, against one that sends invalid data."""

import json
import math
from contextlib import closing

import httpx
import pytest

from shuffledp.collect.crypto.batch import BatchHead
from shuffledp.collect.reaching import UpstreamError
from shuffledp.collect.server.upstream import _MOST_BYTES, ATTEMPTS, Upstream
from tests.collect.tasks import small_task

TASK = small_task(users=5, epsilon=8.0, delta=1e-2).task
BATCH = bytes(range(16))
WIDTH = TASK.onion_length(1)
ONIONS = bytes(3 * WIDTH)
LIST = json.dumps({"batches": [{"id": BATCH.hex(), "number": 3}]}).encode()


def head(*, task_id=TASK.id, batch_id=BATCH, position=1, number=3):
    return BatchHead(task_id, batch_id, position, number).to_bytes()


def upstream(*answers, seen=None):
    """A server that gives these responses in turn, and then repeats the last."""
    left = list(answers)

    def answer(request):
        if seen is not None:
            seen.append(request)
        given = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(given, Exception):
            raise given
        return given if isinstance(given, httpx.Response) else httpx.Response(200, content=iter([given]))

    return closing(Upstream("http://server/under/", "secret", client=_client(answer), pause=0.0))


def _client(answer):
    return httpx.Client(transport=httpx.MockTransport(answer))


def pulled(*answers):
    with upstream(*answers) as server, server.batch(TASK, BATCH, position=1) as blocks:
        return b"".join(blocks)


def test_the_requests_are_as_documented_and_carry_the_token():
    seen = []
    with upstream(LIST, head() + ONIONS, httpx.Response(204), seen=seen) as server:
        (batch,) = server.ready(TASK)
        with server.batch(TASK, batch.batch_id, position=1) as blocks:
            assert b"".join(blocks) == ONIONS
        server.acknowledge(TASK, batch.batch_id)
    assert (batch.batch_id, batch.number) == (BATCH, 3)
    base = f"http://server/under/v1/tasks/{TASK.name}/batches"
    assert [(request.method, str(request.url)) for request in seen] == [
        ("GET", base),
        ("GET", f"{base}/{BATCH.hex()}"),
        ("DELETE", f"{base}/{BATCH.hex()}"),
    ]
    assert {request.headers["authorization"] for request in seen} == {"Bearer secret"}


@pytest.mark.parametrize("cut", [1, 7, 50, 75, 76, 100])
def test_a_batch_may_arrive_in_any_parts(cut):
    content = head() + ONIONS

    def parts():
        yield content[:cut]
        for at in range(cut, len(content), 11):
            yield content[at : at + 11]

    assert pulled(httpx.Response(200, content=parts())) == ONIONS


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(b"", "within its head", id="nothing"),
        pytest.param(head()[:-1], "within its head", id="part-of-a-head"),
        pytest.param(head() + ONIONS[:-1], "1 bytes too early", id="a-byte-is-missing"),
        pytest.param(head(), "too early", id="only-a-head"),
        pytest.param(head() + ONIONS + b"x", "longer than its head says", id="a-byte-more"),
        pytest.param(head(number=4) + ONIONS, "too early", id="an-onion-is-missing"),
        pytest.param(head(number=2) + ONIONS, "longer", id="an-onion-more"),
        pytest.param(b"x" + head() + ONIONS, "not a batch", id="another-file"),
        pytest.param(head(task_id=bytes(32)) + ONIONS, "another batch", id="another-task"),
        pytest.param(head(batch_id=bytes(16)) + ONIONS, "another batch", id="another-batch"),
        pytest.param(head(position=2) + ONIONS, "another server", id="another-server"),
        pytest.param(head(number=TASK.users * TASK.most_messages + 1), "more messages", id="too-many"),
        pytest.param(head(number=2**64 - 1), "more messages", id="far-too-many"),
    ],
)
def test_truncated_changed_or_foreign_batches_are_refused(content, words):
    with pytest.raises(UpstreamError, match=words):
        pulled(content)


def test_a_connection_broken_within_a_batch_is_an_error():
    def broken():
        yield head() + ONIONS[:10]
        raise httpx.ReadError("gone")

    with pytest.raises(UpstreamError, match="cannot be reached"):
        pulled(httpx.Response(200, content=broken()))


@pytest.mark.parametrize("failure", [httpx.ConnectError("no"), httpx.ReadTimeout("no"), httpx.Response(503)])
def test_a_brief_outage_is_retried(failure):
    with upstream(failure, LIST) as server:
        assert len(server.ready(TASK)) == 1
    with upstream(failure, httpx.Response(204)) as server:
        server.acknowledge(TASK, BATCH)


def test_a_long_outage_is_an_error():
    seen = []
    with (
        upstream(httpx.ConnectError("no"), seen=seen) as server,
        pytest.raises(UpstreamError, match="cannot be reached"),
    ):
        server.ready(TASK)
    assert len(seen) == ATTEMPTS


@pytest.mark.parametrize(("status", "words"), [(401, "does not know this token"), (404, "status 404")])
def test_a_refusal_is_not_retried(status, words):
    seen = []
    with upstream(httpx.Response(status), seen=seen) as server:
        with pytest.raises(UpstreamError, match=words):
            server.ready(TASK)
        with pytest.raises(UpstreamError, match=words):
            server.acknowledge(TASK, BATCH)
        with pytest.raises(UpstreamError, match=words), server.batch(TASK, BATCH, position=1):
            pass
    assert len(seen) == 3


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"{}", b'{"batches": 1}', b'{"batches": [1]}', b'{"batches": [{"id": "00", "number": 1}]}', b"<html>"]
    + [
        json.dumps({"batches": [{"id": BATCH.hex(), "number": number}]}).encode()
        for number in (-1, "x", None, math.inf)
    ]
    + [b'{"batches":' + b"[" * 100_000],
)
def test_an_invalid_list_of_batches_is_an_error(content):
    with upstream(content) as server, pytest.raises(UpstreamError, match="list of batches"):
        server.ready(TASK)


def test_no_error_shows_the_token():
    with upstream(httpx.ConnectError("secret")) as server, pytest.raises(UpstreamError) as error:
        server.ready(TASK)
    assert "secret" not in str(error.value)


def test_an_endless_list_is_not_read_to_its_end():
    with upstream(b" " * (_MOST_BYTES + 1)) as server, pytest.raises(UpstreamError, match="too long"):
        server.ready(TASK)

"""What is said when batches cannot be fetched from the previous server: the cause, without an address or any data."""

import json
import socket
import ssl
from contextlib import closing, contextmanager

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from shuffledp.collect.reaching import UpstreamError
from shuffledp.collect.server.background import UPSTREAM, TaskHealth
from shuffledp.collect.server.observability import Event
from shuffledp.collect.server.upstream import NO_BATCHES, NOT_THERE, Cause, Upstream
from tests.collect.chaos import free_port
from tests.collect.in_process import served
from tests.collect.server.test_run import self_signed
from tests.collect.tasks import small_task

TASK = small_task(users=5, epsilon=8.0, delta=1e-2).task
HELLO = Starlette(routes=[Route("/{rest:path}", lambda _: PlainTextResponse("a page with somebody's name"))])
EMPTY = Starlette()


@contextmanager
def refusing(_):
    yield f"http://127.0.0.1:{free_port()}", httpx.Client()


@contextmanager
def unknown_host(_):
    yield "http://no-such-host.invalid", httpx.Client()


@contextmanager
def untrusted(folder):
    with served(HELLO, certificate=self_signed(folder)) as address:
        yield address, httpx.Client()


@contextmanager
def of_another_host(folder):
    certificate = self_signed(folder)
    trusting = ssl.create_default_context(cafile=certificate.certificate)
    with served(HELLO, certificate=certificate) as address:
        yield address.replace("127.0.0.1", "localhost"), httpx.Client(verify=trusting)


@contextmanager
def without_tls(_):
    with served(HELLO) as address:
        yield address.replace("http:", "https:"), httpx.Client()


@contextmanager
def silent(_):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", httpx.Client(timeout=0.1)


@contextmanager
def another_page(_):
    with served(HELLO) as address:
        yield address, httpx.Client()


@contextmanager
def another_server(_):
    with served(EMPTY) as address:
        yield address, httpx.Client()


CASES = {
    Cause.REFUSED_CONNECTION: (refusing, "refuses connections"),
    Cause.UNKNOWN_HOST: (unknown_host, "host name is unknown"),
    Cause.UNTRUSTED_CERTIFICATE: (untrusted, "certificate is not trusted"),
    Cause.WRONG_HOST_NAME: (of_another_host, "certificate is for another host name"),
    Cause.NO_TLS: (without_tls, "does not speak TLS"),
    Cause.TIMEOUT: (silent, "did not answer in time"),
}
NOT_OURS = {"page": (another_page, "list of batches"), "status": (another_server, "is no shuffler of shuffledp")}


def status(**changes):
    usual = {"position": 0, "batches": 5, "batches_acknowledged": 3, "closed": True, "short_by": 1}
    return httpx.Response(200, json=usual | changes)


PROBLEM = {"content-type": "application/problem+json"}


@pytest.mark.parametrize(
    ("answer", "left"),
    [
        (status(), 2),
        (status(batches_acknowledged=5), 0),
        (status(short_by=None), None),  # the last complete batches may not be closed yet
        (status(position=1, short_by=None), 2),
        (status(position=1, short_by=None, closed=False), None),
        (httpx.Response(404, headers=PROBLEM, json={"reason": "unknown-task"}), 0),
        (httpx.Response(404, text="a proxy"), Cause.NOT_SHUFFLEDP),
        (httpx.Response(500, headers=PROBLEM, json={}), Cause.BAD_STATUS),
        (httpx.Response(200, text="[]"), Cause.NOT_SHUFFLEDP),
        (status(batches=None), Cause.NOT_SHUFFLEDP),
    ],
)
def test_the_batches_that_are_left_upstream(answer, left):
    def asked(request):
        assert request.url.path == f"/v1/tasks/{TASK.name}/status"
        return answer

    with httpx.Client(transport=httpx.MockTransport(asked)) as client:
        server = Upstream("http://upstream", "the-secret-token", client=client, pause=0.0)
        if not isinstance(left, Cause):
            assert server.left(TASK) == left
            return
        with pytest.raises(UpstreamError) as raised:
            server.left(TASK)
        assert raised.value.reason is left


def unknown_task(_):
    return httpx.Response(404, headers=PROBLEM, json={"reason": "unknown-task"})


def test_a_task_that_is_not_added_upstream_yet_is_a_problem_and_no_error_in_the_log(capsys):
    with httpx.Client(transport=httpx.MockTransport(unknown_task)) as client:
        server = Upstream("http://upstream", "the-secret-token", client=client, pause=0.0)
        with pytest.raises(UpstreamError) as raised:
            server.ready(TASK)
    health = TaskHealth(TASK.id)
    health.failed(UPSTREAM, raised.value, NO_BATCHES, Event.UPSTREAM_FAILED)
    assert health.problems == [f"{NO_BATCHES} Cause: {NOT_THERE}."]
    health.failed(bytes(16), raised.value, "A batch cannot be fetched.")
    listed, batch = (json.loads(line) for line in capsys.readouterr().err.splitlines())
    assert (listed["event"], listed["level"], listed["reason"]) == ("upstream-failed", "info", "unknown-task")
    assert (batch["event"], batch["level"], batch["reason"]) == ("batch-failed", "error", "unknown-task")
    assert health.upstream_cause is Cause.UNKNOWN_TASK


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cause", "case", "words"),
    [
        *(pytest.param(cause, *case, id=cause) for cause, case in CASES.items()),
        *(pytest.param(Cause.NOT_SHUFFLEDP, *case, id=name) for name, case in NOT_OURS.items()),
    ],
)
def test_the_cause_is_named_in_problems_and_logs(cause, case, words, tmp_path, capsys):
    with case(tmp_path) as (address, client), client:
        server = Upstream(address, "the-secret-token", client=client, pause=0.0)
        with closing(server), pytest.raises(UpstreamError, match=words) as raised:
            server.ready(TASK)
    assert raised.value.reason is cause
    health = TaskHealth(TASK.id)
    health.failed(UPSTREAM, raised.value, NO_BATCHES, Event.UPSTREAM_FAILED)
    (problem,), line = health.problems, json.loads(capsys.readouterr().err.splitlines()[-1])
    assert health.upstream_cause == cause
    assert words in problem
    assert (line["event"], line["level"], line["reason"]) == ("upstream-failed", "error", cause)
    for secret in ("127.0.0.1", "localhost", "invalid", "the-secret-token", "somebody"):
        assert secret not in f"{problem} {line}"

"""The health of shufflers: requested only while the console is open, at the task's addresses, and not trusted."""

import itertools
import json
import socket
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import anyio
import httpx
import pytest
from tests.collect.web.console.running import Shufflers, asked_task, bare, settings_for, visit

from shuffledp.collect.reasons import Reason, Refused
from shuffledp.collect.server.http import problem
from shuffledp.collect.web import status as module
from shuffledp.collect.web.status import (
    MOST_BYTES,
    ODD,
    OTHER,
    SLOW,
    STOPPED,
    UNKNOWN_TASK,
    Fresh,
    ShufflerMonitor,
    new_client,
    read_status,
)
from shuffledp.errors import DataError


@pytest.fixture
def task():
    return asked_task(shufflers=2).task


@pytest.fixture
def shufflers(task):
    return Shufflers(task)


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """Wait for the first response, also on a busy machine."""
    monkeypatch.setattr(module, "FIRST_WAIT", 30.0)


def latest(task, shufflers):
    with shufflers.client() as client:
        return ShufflerMonitor(task, client).latest()


def test_a_status_is_read(task, shufflers):
    first, second = latest(task, shufflers)
    assert (first.answers, second.answers) == (True, True)
    assert (first.status.waiting, first.status.batches) == (1234, 1)
    assert first.status.refused == {"malformed": 3, "closed": 7}
    assert first.seen is not None
    at = [place.address for place in task.shufflers]
    assert {each for each in shufflers.asked if each.startswith(at[0])} == {
        f"{at[0]}/v1/tasks/{task.name}/status",
        f"{at[0]}/health",
    }
    assert all(each.startswith(tuple(at)) for each in shufflers.asked)


def test_the_last_shuffler_is_asked_at_upstream(task, shufflers):
    inside, at = "http://127.0.0.1:9/inside", [place.address for place in task.shufflers]
    asked = []

    def answer(request):
        asked.append(str(request.url))
        request.url = httpx.URL(asked[-1].replace(inside, at[1]))
        return shufflers.answer(request)

    with httpx.Client(transport=httpx.MockTransport(answer)) as client:
        first, second = ShufflerMonitor(task, client, upstream=f"{inside}/").latest()
    assert (first.answers, second.answers) == (True, True)
    assert {each.removesuffix("/health").split("/v1/")[0] for each in asked} == {at[0], inside}
    assert [first.address, second.address] == at


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (httpx.ConnectError("secret"), "It cannot be reached (ConnectError)."),
        (httpx.ReadTimeout("secret"), SLOW),
        (bare(404), UNKNOWN_TASK),
        (bare(302, location="http://evil.test/"), "It answers with status 302."),
        (bare(503), "It answers with status 503."),
        (b"", ODD),
        (b"<html>", ODD),
        (b"[" * 60_000, ODD),
        (b"9" * 60_000, ODD),
        (b"\xff\xfe", ODD),
        (b"[]", ODD),
        (b" " * (MOST_BYTES + 1), ODD),
    ],
)
def test_invalid_responses_of_a_shuffler(task, shufflers, reply, problem):
    shufflers.replies[0] = reply
    first, second = latest(task, shufflers)
    assert (first.answers, first.problem, first.status) == (False, problem, None)
    assert not first.lacks_task  # a proxy may answer 404, too
    assert second.answers
    assert not any("evil" in each for each in shufflers.asked)


def test_only_a_shuffler_itself_says_that_it_lacks_the_task(task, shufflers):
    unknown = problem(Refused(Reason.UNKNOWN_TASK)).body
    shufflers.replies[0] = httpx.Response(404, stream=httpx.ByteStream(bytes(unknown)))
    assert latest(task, shufflers)[0].lacks_task


@pytest.mark.parametrize(
    "changes",
    [
        {"task": "another"},
        {"position": 1},
        {"waiting": -1},
        {"waiting": True},
        {"waiting": 1.5},
        {"waiting": 2**53},
        {"waiting": None},
        {"batches": "1"},
        {"short_by": []},
        {"refused": []},
        {"refused": {"closed": "<b>"}},
        {"problems": "none"},
        {"problems": [1]},
    ],
)
def test_an_invalid_status_is_refused(task, shufflers, changes):
    content = json.dumps(shufflers.status(**changes)).encode()
    with pytest.raises(ValueError, match=r"another|no count|no sentences"):
        read_status(content, task, 0)


def test_long_lists_are_cut_and_unknown_reasons_are_joined(task, shufflers):
    reply = shufflers.status(refused={"<script>": 2, "x": 3, "closed": 0}, problems=["p" * 1000, "line\nfeed\x07"] * 50)
    found = read_status(json.dumps(reply).encode(), task, 0)
    assert found.refused == {OTHER: 5}
    assert len(found.problems) == 10
    assert max(map(len, found.problems)) == 400
    assert all(each.isprintable() for each in found.problems)


class Sent(httpx.SyncByteStream):
    """A response stream in parts that counts the parts read."""

    def __init__(self, parts):
        self.parts, self.taken = parts, 0

    def __iter__(self):
        for part in self.parts:
            self.taken += len(part)
            yield part


def test_reading_a_response_stops_at_the_limit(task, shufflers):
    """Also if it begins as a valid response."""
    honest = json.dumps(shufflers.status()).encode()
    sent = Sent([honest, *[b" " * 1024] * 1000])
    shufflers.replies[0] = httpx.Response(200, stream=sent)
    assert latest(task, shufflers)[0].problem == ODD
    assert sent.taken <= MOST_BYTES + 1024


def test_a_slow_response_is_cut_off(task, shufflers, monkeypatch):
    """One byte per second, so the read timeout never fires."""
    honest = json.dumps(shufflers.status()).encode()
    sent = Sent([bytes([byte]) for byte in honest])
    shufflers.replies[0] = httpx.Response(200, stream=sent)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: float(sent.taken)))
    assert latest(task, shufflers)[0].problem == SLOW
    assert sent.taken <= module.PATIENCE + 1


class Dribbles:
    """A server that sends a valid start and then single bytes, so the read timeout never fires."""

    def __init__(self, beginning):
        self._beginning, self._over = beginning, threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()

    def _serve(self):
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                with connection, suppress(OSError):
                    connection.recv(65536)
                    connection.sendall(self._beginning)
                    while not self._over.wait(0.05):
                        connection.sendall(b"x")


@pytest.mark.slow
@pytest.mark.parametrize(
    "beginning",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nx-",
        b"HTTP/1.1 200 OK\r\ncontent-length: 60000\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n",
    ],
    ids=["first-line", "header", "content", "chunks", "until-it-closes"],
)
def test_a_connection_of_single_bytes_is_closed(monkeypatch, beginning):
    """Whichever part of the response is slow; the thread is free afterwards."""
    monkeypatch.setattr(module, "PATIENCE", 0.3)
    with Dribbles(beginning) as server, new_client() as client:
        monitor = ShufflerMonitor(asked_task(addresses=(server.address, server.address)).task, client)
        (shuffler,) = monitor.latest()  # it waits for the response, at most half a minute
        assert (shuffler.answers, shuffler.problem) == (False, SLOW)
        assert [each._fresh.busy for each in monitor._each] == [0.0]


def test_no_redirect_is_followed():
    asked = []

    class Redirects(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(302)
            self.send_header("location", "/elsewhere")
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Redirects) as server, new_client() as client:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            address = f"http://127.0.0.1:{server.server_port}"
            (shuffler,) = ShufflerMonitor(asked_task(addresses=(address, address)).task, client).latest()
        finally:
            client.close()
            server.shutdown()
            thread.join()
    assert shuffler.problem == "It answers with status 302."
    assert [path for path in asked if not path.startswith("/v1/tasks/")] == []


def test_text_of_a_shuffler_is_escaped(monkeypatch, tmp_path):
    """In the visible text, and in the attribute for screen readers."""
    kept = asked_task()
    shufflers = Shufflers(kept.task)
    hostile = ['"><script>alert(1)</script>', "'><img src=x onerror=alert(2)>"]
    shufflers.replies[0] = shufflers.status(problems=hostile, refused={hostile[0]: 3})

    async def test(person):
        for path in (f"/operator/tasks/{kept.task.name}", "/operator"):
            page = (await person.signed_in(path)).text
            assert "&#34;&gt;&lt;script&gt;alert(1)" in page
            assert not [bad for bad in ("<script>alert", "<img") if bad in page]

    visit(monkeypatch, settings_for(tmp_path, kept), test, shufflers)


def test_an_unhealthy_shuffler(task, shufflers, monkeypatch):
    usual = shufflers.answer

    def answer(request):
        return bare(503) if request.url.path == "/health" else usual(request)

    monkeypatch.setattr(shufflers, "answer", answer)
    assert [each.problem for each in latest(task, shufflers)] == [STOPPED] * 2


def test_a_shuffler_behind_a_load_balancer_without_health(task, shufflers, monkeypatch):
    usual = shufflers.answer

    def answer(request):
        return bare(404) if request.url.path == "/health" else usual(request)

    monkeypatch.setattr(shufflers, "answer", answer)
    assert [(each.answers, each.problem) for each in latest(task, shufflers)] == [(True, None)] * 2


def test_the_last_status_stays_during_an_outage(task, shufflers, monkeypatch):
    monkeypatch.setattr(module, "EVERY", 0.0)
    with shufflers.client() as client:
        monitor = ShufflerMonitor(task, client)
        known = monitor.latest()[0]
        shufflers.replies[0] = httpx.ConnectError("away")
        away = until(lambda: (found := monitor.latest()[0]).problem and found)
        assert (away.answers, away.status, away.seen) == (False, known.status, away.seen)
        shufflers.replies[0] = shufflers.status(waiting=1500)
        back = until(lambda: (found := monitor.latest()[0]).answers and found)
        assert (back.problem, back.status.waiting) == (None, 1500)


def until(ask):
    for _ in range(2000):
        if found := ask():
            return found
        threading.Event().wait(0.005)
    raise AssertionError("it takes too long")


def test_pages_do_not_wait_for_a_hanging_shuffler(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "FIRST_WAIT", 0.05)
    kept = asked_task()
    shufflers, hanging = Shufflers(kept.task), threading.Event()
    usual = shufflers.answer

    def answer(request):
        hanging.wait(30)
        return usual(request)

    monkeypatch.setattr(shufflers, "answer", answer)

    async def test(person):
        page = await person.signed_in()
        assert "is being asked" in page.text
        assert "has not answered yet" in page.text
        monkeypatch.setattr(module, "PATIENCE", -1.0)
        assert SLOW in (await person.get(f"/operator/tasks/{kept.task.name}")).text
        monkeypatch.undo()
        hanging.set()
        await person.until(f"/operator/tasks/{kept.task.name}", "people are missing for it")

    visit(monkeypatch, settings_for(tmp_path, kept), test, shufflers)


@pytest.mark.slow
def test_shufflers_are_not_polled_without_visitors(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "EVERY", 0.0)
    kept = asked_task()

    async def test(person):
        await person.get("/")
        await person.get(f"/tasks/{kept.task.name}")
        await person.get("/operator")
        await anyio.sleep(0.1)
        assert shufflers.asked == []
        await person.signed_in()
        assert shufflers.asked != []
        await anyio.sleep(0.1)
        asked = len(shufflers.asked)
        await anyio.sleep(0.1)
        assert len(shufflers.asked) == asked

    shufflers = Shufflers(kept.task)
    visit(monkeypatch, settings_for(tmp_path, kept), test, shufflers)


def test_a_shuffler_that_goes_away_is_described(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "EVERY", 0.0)
    kept = asked_task()
    shufflers = Shufflers(kept.task)
    path = f"/operator/tasks/{kept.task.name}"

    async def test(person):
        assert "does not answer" not in (await person.signed_in()).text
        shufflers.replies[0] = httpx.ConnectError("secret")
        page = (await person.until(path, "It cannot be reached (ConnectError).")).text
        assert "The first shuffler does not answer: these numbers are from" in page
        assert '<span class="status bad">does not answer</span>' in page
        assert "<b>766</b>" in page
        assert "secret" not in page
        shufflers.replies[0] = shufflers.status(waiting=1999)
        page = (await person.until(path, "<b>1</b><span>people are missing for it")).text
        assert "does not answer" not in page

    visit(monkeypatch, settings_for(tmp_path, kept), test, shufflers)


def test_one_thread_looks_for_all_requests():
    begun, go = [], threading.Event()

    def look():
        begun.append(1)
        go.wait(30)
        return len(begun)

    fresh = Fresh(look, seconds=1000.0)
    assert [fresh.latest() for _ in range(20)] == [None] * 20
    assert fresh.busy >= 0
    go.set()
    assert fresh.latest(wait=30) == 1
    assert [fresh.latest() for _ in range(20)] == [1] * 20
    assert len(begun) == 1


def test_the_last_result_survives_an_error(capfd):
    calls = []

    def look():
        calls.append(1)
        if len(calls) == 2:
            raise DataError("secret")
        return 1

    fresh = Fresh(look, seconds=0.0)
    assert fresh.latest(wait=30) == 1
    found = {1}
    until(lambda: found.add(fresh.latest()) or len(calls) > 2)  # the third call comes after the second was logged
    assert found == {1}
    logged = capfd.readouterr().err
    assert "DataError" in logged
    assert "secret" not in logged


def test_an_old_result_is_refreshed_before_it_is_shown():
    looks, time = itertools.count(1), [0.0]
    fresh = Fresh(lambda: next(looks), seconds=1.5, clock=lambda: time[0])
    assert fresh.latest(wait=30) == 1
    assert fresh.latest(wait=30) == 1
    time[0] = 1000.0
    assert fresh.latest(wait=30) == 2

"""The JavaScript client over a real network: requests, failures, and journals shared with Python."""

import json
import signal
import stat

import pytest
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from shuffledp.collect import Client
from shuffledp.collect.shuffler.app import CrossOrigin
from shuffledp.collect.task.report import open_report
from shuffledp.errors import DataError, RefusedError
from tests.clients.pages import in_page
from tests.clients.scripts import in_node, node_calling
from tests.collect.client.servers import Recorder, breaking_server, problem, recording_server
from tests.collect.in_process import served
from tests.collect.tasks import small_task

MODULE = "test/client_network.js"
SEND = ["send", "dark"]


@pytest.fixture(scope="module")
def recorder():
    with recording_server() as running:
        yield running


@pytest.fixture
def shuffler(recorder):
    return recorder.reset()


@pytest.fixture
def kept(shuffler):
    return task_at(shuffler.address)


def task_at(address):
    return small_task(addresses=(address, "http://127.0.0.1:9"))


def in_folder(kept, folder, *calls, **options):
    """Return the results of calls of a client in Node."""
    text = kept.task.canonical.decode()
    return in_node(MODULE, "calls", text, {"folder": str(folder)} | options, *calls)


# Journals that Python and Node share ------------------------------------------------------------------------------


@pytest.mark.slow
def test_what_node_has_sent_python_does_not_send_again(kept, shuffler, tmp_path):
    (sent,) = in_folder(kept, tmp_path / "new" / "journal", ["send", "dark"])
    assert (sent["state"], sent["bytes"], sent["madeBefore"]) == ("sent", len(shuffler.bodies[0]), False)
    client = Client(kept.task, journal=tmp_path / "new" / "journal")
    assert client.send("light").state == "already sent"
    assert len(shuffler.bodies) == 1
    assert open_report(kept.task, shuffler.bodies[0], kept.keys[0]).number


@pytest.mark.slow
def test_what_python_has_sent_node_does_not_send_again(kept, shuffler, tmp_path):
    Client(kept.task, journal=tmp_path).send("dark")
    state, again, kept_one = in_folder(kept, tmp_path, ["state"], ["send", "light"], ["sendKept"])
    assert (state, again["state"], again["bytes"], kept_one["state"]) == ("sent", "already sent", 0, "already sent")
    assert len(shuffler.bodies) == 1


@pytest.mark.slow
def test_the_report_of_one_is_sent_by_the_other(kept, shuffler, tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    report = Client(kept.task, journal=one).report("dark")
    (sent,) = in_folder(kept, one, ["sendKept"])
    assert (sent["state"], sent["madeBefore"]) == ("sent", True)
    (prepared,) = in_folder(kept, other, ["prepare", "dark"])
    assert Client(kept.task, journal=other).send("light").made_before
    assert shuffler.bodies == [report, bytes(prepared["report"])]


@pytest.mark.slow
def test_a_refused_report_stays_refused_for_both(kept, shuffler, tmp_path):
    shuffler.script.append(problem("closed", 410))
    (refused,) = in_folder(kept, tmp_path / "one", ["send", "dark"])
    assert (refused["error"], refused["reason"]) == ("RefusedError", "closed")
    with pytest.raises(RefusedError, match="closed"):
        Client(kept.task, journal=tmp_path / "one").send("dark")
    shuffler.script.append(problem("malformed", 400))
    with pytest.raises(RefusedError):
        Client(kept.task, journal=tmp_path / "other").send("dark")
    (refused,) = in_folder(kept, tmp_path / "other", ["send", "dark"])
    assert (refused["error"], refused["reason"]) == ("RefusedError", "malformed")
    assert len(shuffler.bodies) == 2


@pytest.mark.slow
def test_both_detect_the_same_broken_journals(kept, shuffler, tmp_path):
    in_folder(kept, tmp_path, ["prepare", "dark"])
    (path,) = tmp_path.iterdir()
    entry = json.loads(path.read_text())
    for broken in (entry | {"sha256": "0" * 64}, entry | {"state": "sent"}):
        path.write_text(content := json.dumps(broken))
        (found,) = in_folder(kept, tmp_path, ["send", "dark"])
        assert (found["error"], "nobody knows" in found["message"]) == ("DataError", True)
        with pytest.raises(DataError, match="it is unknown whether"):
            Client(kept.task, journal=tmp_path).send("dark")
        assert path.read_text() == content
    assert shuffler.bodies == []


@pytest.mark.slow
def test_only_its_owner_may_look_into_a_folder_of_node(kept, tmp_path):
    folder = tmp_path / "home" / "journal"
    in_folder(kept, folder, ["prepare", "dark"])
    assert {stat.S_IMODE(path.stat().st_mode) for path in (folder, folder.parent)} == {0o700}
    (path,) = folder.iterdir()
    assert (path.name, stat.S_IMODE(path.stat().st_mode)) == (f"{kept.task.name}.json", 0o600)
    open_to_others = tmp_path / "open"
    open_to_others.mkdir(mode=0o755)
    (refused,) = in_folder(kept, open_to_others, ["send", "dark"])
    assert (refused["error"], "chmod 700" in refused["message"]) == ("DataError", True)
    assert list(open_to_others.iterdir()) == []


# What travels -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_requests_of_node_have_no_identifying_headers(kept, shuffler, tmp_path):
    in_folder(kept, tmp_path, ["send", "dark"])
    (headers,) = shuffler.headers
    assert headers["user-agent"] == "shuffledp"
    assert headers["accept-language"] == "*"
    assert not {"cookie", "referer", "authorization", "origin"} & headers.keys()


@pytest.mark.slow
def test_redirects_are_not_followed_and_broken_answers_lose_nothing(kept, shuffler, tmp_path):
    elsewhere = {"Location": f"{shuffler.address}/elsewhere"}
    shuffler.script.extend([Response(status_code=307, headers=elsewhere), Response("x" * 100_000, 400), None])
    failed = in_folder(kept, tmp_path, *[["send", "dark"]] * 3, ["state"], timeout=0.4)
    assert [each["error"] for each in failed[:3]] == ["UnreachableError"] * 3
    assert "307" in failed[0]["message"]
    assert "in time" in failed[2]["message"]
    assert failed[3] == "ready"
    assert shuffler.paths == [f"/v1/tasks/{kept.task.name}/reports"] * 3
    assert len(set(shuffler.bodies)) == 1


@pytest.mark.slow
def test_a_connection_that_breaks_loses_nothing(tmp_path):
    cut = b"HTTP/1.1 201 Created\r\nContent-Length: 10\r\n\r\nhalf"
    with breaking_server(cut, b"") as address:
        found = in_folder(task_at(address), tmp_path, ["send", "dark"], ["send", "dark"], ["state"])
    assert [each["error"] for each in found[:2]] == ["UnreachableError"] * 2
    assert found[2] == "ready"


@pytest.mark.slow
def test_a_program_that_is_killed_sends_the_same_bytes_later(kept, shuffler, tmp_path):
    shuffler.script.append(None)
    text, options = kept.task.canonical.decode(), {"folder": str(tmp_path)}
    with node_calling(MODULE, "calls", text, options, ["send", "dark"]) as node:
        shuffler.wait()
        node.kill()
    assert node.returncode == -signal.SIGKILL
    assert Client(kept.task, journal=tmp_path).send("light").made_before
    assert len(shuffler.bodies) == 2
    assert len(set(shuffler.bodies)) == 1


# In a browser -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_two_tabs_make_one_report(kept, shuffler, browser):
    """Both start before either has finished; the shared journal of the origin accepts one report."""
    context = browser[0].new_context()
    tabs = [context.new_page() for _ in range(2)]
    program = """
    ([text, name]) => {
      window.made = import("/src/index.js").then(async ({ Client }) => {
        const client = await Client.open(text);
        const begun = new BroadcastChannel("begun");
        const other = new Promise((resolve) => (begun.onmessage = resolve));
        begun.postMessage(name);
        await other;
        begun.postMessage(name);
        const { messages, report } = await client.prepare(name);
        return { mine: messages !== null, report: Array.from(report), state: await client.state() };
      });
    }
    """
    for tab, answer in zip(tabs, ("dark", "light"), strict=True):
        tab.goto(f"{browser[1]}/")
        tab.evaluate(program, [kept.task.canonical.decode(), answer])
    made = [tab.evaluate("() => window.made") for tab in tabs]
    assert sorted(each["mine"] for each in made) == [False, True]
    assert made[0]["report"] == made[1]["report"]
    context.close()


@pytest.mark.slow
def test_a_page_that_is_closed_sends_the_same_bytes_later(browser):
    """The first page closes while it sends, the second gets a retry status, and the third succeeds."""
    shuffler, context = Recorder(), browser[0].new_context()
    shuffler.script.extend([None, problem("unavailable", 503)])
    app = Starlette(routes=[Route("/{rest:path}", shuffler.answer, methods=["POST"])])
    with served(CrossOrigin(app)) as address:
        text, found = task_at(address).task.canonical.decode(), []
        page = context.new_page()
        page.goto(f"{browser[1]}/")
        page.evaluate(f"(given) => void import('/{MODULE}').then(({{ calls }}) => calls(...given))", [text, {}, SEND])
        shuffler.wait()
        page.close()
        for call in (["send", "light"], ["state"], ["sendKept"]):
            page = context.new_page()
            page.goto(f"{browser[1]}/")
            found += in_page(page, MODULE, "calls", text, {}, call)
            page.close()
    context.close()
    assert (found[0]["error"], found[0]["reason"]) == ("UnreachableError", "unavailable")
    assert "the answer that was given now was not" in found[0]["message"]
    assert (found[1], found[2]["state"]) == ("ready", "sent")
    assert len(shuffler.bodies) == 3
    assert len(set(shuffler.bodies)) == 1
    for headers in shuffler.headers:
        assert not {"cookie", "referer", "authorization"} & headers.keys()
        assert headers["accept-language"] == "*"

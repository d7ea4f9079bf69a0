"""The commands of operators: what they print, and their errors."""

import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from shuffledp.collect.analyzer.app import make_app as make_analyzer
from shuffledp.collect.crypto.keys import write_secret
from shuffledp.collect.server.auth import hash_of, new_token
from shuffledp.collect.shuffler.app import make_app
from tests.cli.commands import command, real_command
from tests.collect.chaos import free_port
from tests.collect.in_process import served
from tests.collect.server.operated import KEPT, OPERATOR, SMALL, analyzer, shuffler
from tests.collect.server.test_run import self_signed
from tests.collect.server.test_upstream import refusing, unknown_host, untrusted, without_tls
from tests.collect.tasks import small_task

TOKENS = small_task(**SMALL, admission="tokens")


@pytest.fixture
def folder(tmp_path):
    write_secret(tmp_path / "operator.token", OPERATOR)
    write_secret(tmp_path / "wrong.token", new_token())
    (tmp_path / "theme.task.json").write_text(KEPT.task.to_json())
    (tmp_path / "tokens.task.json").write_text(TOKENS.task.to_json())
    return tmp_path


def asked(folder, address, *words, token="operator.token", code=0):
    result = command("task", *words, "--server", address, "--token", token, cwd=folder)
    assert result.returncode == code, result.stderr
    lines = [line for line in result.stderr.splitlines() if not line.startswith("{")]  # not the log of the server
    assert code == 0 or len(lines) == 1
    return result.stdout if code == 0 else result.stderr


@pytest.mark.slow
def test_the_commands_of_an_operator(folder):
    with served(make_app(shuffler(folder / "server", KEPT, TOKENS))) as at:
        assert "no task" in asked(folder, at, "list")
        assert f"Added: task {KEPT.task.name}, open" in asked(folder, at, "add", "theme.task.json")
        assert "Served already" in asked(folder, at, "add", "theme.task.json")
        asked(folder, at, "add", "tokens.task.json")
        hashes = [hash_of(new_token()).hex() for _ in range(3)]
        (folder / "hashes.txt").write_text("\n".join(hashes))
        assert "3 new hashes added." in asked(folder, at, "tokens", "tokens.task.json", "--hashes", "hashes.txt")
        listed = asked(folder, at, "list")
        assert {KEPT.task.name, TOKENS.task.name} <= set(listed.splitlines())  # to be copied
        assert f"open until {KEPT.task.closes:%Y-%m-%d}" in listed
        assert "add --yes" in asked(folder, at, "close", "theme.task.json", code=2)
        assert "closed early" in asked(folder, at, "close", "theme.task.json", "--yes")
        assert "closed early: " in asked(folder, at, "list")
        assert "Closed" in asked(folder, at, "close", KEPT.task.name[:8].upper(), "--yes")
        assert "with which no id begins" in asked(folder, at, "close", _other_than(KEPT.task.name[:8]), "--yes", code=3)
        assert "not-finished" in asked(folder, at, "remove", "tokens.task.json", code=3)
        assert "Removed" in asked(folder, at, "remove", KEPT.task.name)
        assert KEPT.task.name not in asked(folder, at, "list")
        assert "unknown-task" in asked(folder, at, "close", KEPT.task.name, "--yes", code=3)
        assert "no-token" in asked(folder, at, "list", token="wrong.token", code=3)


def _other_than(digits):
    return f"{(int(digits, 16) + 1) % 16**8:08x}"


def test_two_ids_with_the_same_first_digits(folder):
    two = [{"id": f"{'ab' * 8}{number:048x}", "state": "open", "kind": "task"} for number in range(2)]
    with other_server(200, json.dumps({"tasks": two}).encode()) as at:
        assert "with which 2 ids begin" in asked(folder, at, "remove", "ab" * 4, code=3)
        assert "with which no id begins" in asked(folder, at, "remove", "ab" * 9, code=3)  # as for a whole id


@pytest.mark.slow
def test_a_private_certificate_authority_is_trusted(folder, monkeypatch):
    """As in every other command; a new process reads the variable."""
    certificate = self_signed(folder)
    with served(make_app(shuffler(folder / "server", KEPT)), certificate=certificate) as at:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate.certificate))
        monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")  # the token goes to no proxy
        listed = real_command("task", "list", "--server", at, "--token", folder / "operator.token")
        assert (listed.returncode, listed.stderr) == (0, "")
        health = real_command("health", at)
        assert (health.returncode, health.stdout) == (0, "ok\n")
        monkeypatch.delenv("SSL_CERT_FILE")
        assert "SSL_CERT_FILE" in real_command("health", at).stderr


@pytest.mark.slow
def test_a_task_is_removed_although_its_shuffler_does_not_answer(folder):
    name = KEPT.task.name
    with served(make_analyzer(analyzer(folder / "server", KEPT))) as at:
        asked(folder, at, "add", "theme.task.json")
        asked(folder, at, "close", name, "--yes")
        assert "remove the task with --unchecked" in asked(folder, at, "remove", name, code=3)
        assert "Removed" in asked(folder, at, "remove", name, "--unchecked")


def test_an_analyzer_takes_no_tokens(folder):
    (folder / "hashes.txt").write_text(hash_of(new_token()).hex())
    with served(make_analyzer(analyzer(folder / "server", TOKENS))) as at:
        error = asked(folder, at, "tokens", TOKENS.task.name, "--hashes", "hashes.txt", code=3)
    assert "send their hashes to the first shuffler" in error


def test_a_task_with_tokens_takes_no_secret(folder):
    write_secret(folder / "secret", "sesame")
    with served(make_app(shuffler(folder / "server", TOKENS))) as at:
        asked(folder, at, "add", "tokens.task.json")
        for which in ("tokens.task.json", TOKENS.task.name, TOKENS.task.name[:8]):
            error = asked(folder, at, "tokens", which, "--secret", "secret", code=2)
            assert "the task needs one-time tokens: use --hashes" in error


@contextmanager
def other_server(status, content):
    """A server that is none of shuffledp."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(content)

        def do_POST(self):
            self.do_GET()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize(
    ("status", "content", "code", "words"),
    [
        (200, b"<html>", 3, "does not answer like a server of shuffledp"),
        (200, b"[]", 3, "does not answer like a server of shuffledp"),
        (200, b'{"tasks": [3]}', 3, "does not answer like a server of shuffledp"),
        (200, b'{"tasks": 3}', 3, "does not answer like a server of shuffledp"),
        (404, b"not here", 3, "does not answer like a server of shuffledp"),
        (302, b"", 3, "does not answer like a server of shuffledp"),
        (502, b"bad gateway", 5, "answered with status 502"),
        (503, b'{"reason": "unavailable", "detail": "The store\\u001b[2J does not answer."}', 5, "does not answer"),
        (403, b'{"reason": "\\u001b[2J", "detail": "\\u001b[2J"}', 3, "refused this"),
    ],
)
def test_other_servers_are_one_clear_error(folder, status, content, code, words):
    with other_server(status, content) as at:
        error = asked(folder, at, "list", code=code)
    assert words in error
    assert "\x1b" not in error


@pytest.mark.parametrize(
    ("counters", "line"),
    [
        ({"waiting": 1_200, "short_by": None}, "  1,200 reports waiting"),
        ({"waiting": 1, "short_by": 0}, "  1 report waiting"),
        ({"waiting": 0, "short_by": 1}, "  0 reports waiting; 1 person was missing from the last batch"),
        ({"waiting": 0, "short_by": 12}, "  0 reports waiting; 12 people were missing from the last batch"),
        ({"people": 3}, None),  # of an analyzer
        ({"waiting": "\x1b[2J", "short_by": [3]}, None),
        (None, None),
    ],
)
def test_the_list_has_the_reports_that_wait_and_those_that_lacked(folder, counters, line):
    with other_server(200, json.dumps({"tasks": [{**LIKE_A_TASK, "counters": counters}]}).encode()) as at:
        lines = asked(folder, at, "list").splitlines()
    assert lines[2:] == ([] if line is None else [line])


@pytest.mark.parametrize(("short_by", "people"), [(1, "1 person was"), (2, "2 people were")])
def test_closing_says_how_many_people_the_last_batch_lacked(folder, short_by, people):
    about = {**LIKE_A_TASK, "state": "closed-early", "counters": {"short_by": short_by}}
    with other_server(200, json.dumps(about).encode()) as at:
        closed = asked(folder, at, "close", about["id"], "--yes")
    assert f"{people} missing from the last batch: its reports were deleted.\n" in closed


LIKE_A_TASK = {"id": "ab" * 32, "kind": "task", "state": "open", "counters": None}


@pytest.mark.parametrize(
    "wrong",
    [{"id": "\x1b[2J"}, {"id": ["a"] * 64}, {"kind": None}, {"kind": ["task"]}, {"state": 3}, {"counters": [3]}],
)
def test_what_a_server_says_of_a_task_is_checked(folder, wrong):
    answers = {"list": {"tasks": [LIKE_A_TASK | wrong]}, "close": LIKE_A_TASK | wrong, "add": LIKE_A_TASK | wrong}
    options = {"list": [], "close": ["ab" * 32, "--yes"], "add": ["theme.task.json"]}
    for step, answer in answers.items():
        with other_server(200, json.dumps(answer).encode()) as at:
            assert "does not answer like a server of shuffledp" in asked(folder, at, step, *options[step], code=3)


@pytest.mark.parametrize("added", ["x", None, 1.5, True])
def test_the_number_of_added_hashes_is_checked(folder, added):
    (folder / "hashes.txt").write_text(hash_of(new_token()).hex())
    with other_server(200, json.dumps({"added": added}).encode()) as at:
        error = asked(folder, at, "tokens", "ab" * 32, "--hashes", "hashes.txt", code=3)
    assert "does not answer like a server of shuffledp" in error


@pytest.mark.parametrize("user", ["user:hunter2@", "hunter2@", "user:hun/ter2@"])
def test_an_address_with_a_password_is_refused_and_not_printed(folder, user):
    """A request with a user name would carry it instead of the token."""
    for scheme in ("http", "ftp"):
        error = asked(folder, f"{scheme}://{user}127.0.0.1:9", "list", code=2)
        assert "server must be an address such as https://host:port without a user name" in error
        assert "hun" not in error


def test_wrong_options_are_one_clear_error(folder):
    away = f"http://127.0.0.1:{free_port()}"
    assert "cannot be reached" in asked(folder, away, "list", code=5)
    for address in ("host:8000", "ftp://host", "http://", "https://["):
        assert "server must be an address" in asked(folder, address, "list", code=2)
    assert "cannot be read" in asked(folder, away, "add", "missing.json", code=3)
    assert "at least its first 8 digits, got 1d79" in asked(folder, away, "remove", "1d79", code=2)
    assert "cannot be read" in asked(folder, away, "remove", "task", code=3)
    assert "cannot be reached" in asked(folder, away, "remove", "0" * 63, code=5)  # the first digits of an id
    assert "either --hashes or --secret" in asked(folder, away, "tokens", "theme.task.json", code=2)
    (folder / "hashes.txt").write_text("")
    assert "at least one hash" in asked(folder, away, "tokens", "theme.task.json", "--hashes", "hashes.txt", code=3)
    (folder / "hashes.txt").write_text("x")
    assert "64 hexadecimal" in asked(folder, away, "tokens", "theme.task.json", "--hashes", "hashes.txt", code=2)
    write_secret(folder / "odd.token", "zwölf")
    assert "token must be" in asked(folder, away, "list", token="odd.token", code=2)
    assert "cannot be read" in asked(folder, away, "list", token="none.token", code=3)


@contextmanager
def at_a_port_with_tls(folder):
    with untrusted(folder) as (address, client):
        yield address.replace("https:", "http:"), client


@pytest.mark.parametrize(
    ("server", "words"),
    [
        (refusing, "it refuses connections: is it running"),
        (unknown_host, "its host name is unknown"),
        (untrusted, "its certificate is not trusted here"),
        (without_tls, "it does not speak TLS"),
        (
            at_a_port_with_tls,
            "the connection broke: does it restart, or does a proxy end connections, or should the address begin with "
            "https://?",
        ),
    ],
)
def test_the_cause_is_named_if_a_server_cannot_be_reached(folder, server, words):
    with server(folder) as (address, client), client:
        listed = asked(folder, address, "list", code=5)
        health = command("health", address)
    assert f"{address} cannot be reached: {words}" in listed
    assert (health.returncode, f"{address} cannot be reached: {words}" in health.stderr) == (5, True)
    assert "Errno" not in health.stderr


def test_a_file_may_have_a_name_like_an_id(folder):
    away = f"http://127.0.0.1:{free_port()}"
    (folder / "1d79").write_text(KEPT.task.to_json())
    assert "cannot be reached" in asked(folder, away, "remove", "1d79", code=5)


def test_errors_in_json(folder):
    away = f"http://127.0.0.1:{free_port()}"
    result = command("task", "list", "--server", away, "--token", "operator.token", "--json", cwd=folder)
    assert (result.returncode, json.loads(result.stdout)["reason"]) == (5, "unreachable")

"""`shuffledp deploy` and `shuffledp health`: output and errors. tests/collect/test_deployment.py has the folders."""

import json
import shlex
import tomllib
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

from shuffledp.cli.deploy import task_command
from shuffledp.collect.deployment.parties import Chain, read_party
from shuffledp.collect.task import Place
from tests.cli.commands import command
from tests.collect.deploying import create_task

TASK = ["--question", "Tea or coffee?", "--domain", "tea,coffee", "--users", 20, "--epsilon", 4, "--delta", "1e-3"]
TWO = ["--address", "https://a.example.org", "--address", "https://b.example.org"]


def test_the_shortest_command_creates_all_but_the_task(tmp_path):
    result = command("deploy", "init", "collection", "--shufflers", 2, cwd=tmp_path)
    assert result.returncode == 0
    first, *_ = result.stdout.splitlines()
    assert first == "Created 2 shufflers and an analyzer in collection"
    assert "You hold all keys" in result.stdout
    assert result.stdout.count("--shuffler http://127.0.0.1:800") == 2
    assert "shuffledp deploy join collection" in result.stdout
    made = {path.name for path in (tmp_path / "collection").iterdir()}
    assert made == {"shuffler-1", "shuffler-2", "analyzer", "public", "HAND-OVER.md"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "invitations"),
    [
        ([], None),
        (["--admission", "tokens"], "invitations/tokens.txt, one line for each person."),
        (["--admission", "secret"], "invitations/admission.secret, for everybody."),
        (["--page", "--admission", "tokens"], "invitations/links.txt, one line for each person."),
        (["--page", "--admission", "secret"], "invitations/links.txt, for everybody."),
    ],
)
def test_the_output_names_what_people_and_operators_need(tmp_path, options, invitations):
    shown = command("deploy", "init", "ours", *TASK, *options, cwd=tmp_path).stdout
    (task,) = [line.removeprefix("Task id: ") for line in shown.splitlines() if line.startswith("Task id: ")]
    assert ("Survey: " in shown) == ("--page" in options)
    assert ("--page" not in options) or f"Survey: http://127.0.0.1:8001/ask/{task}\n" in shown
    assert ("Invitations: " in shown) == (invitations is not None)
    assert invitations is None or f"Invitations: ours/{invitations}" in shown
    words = " ".join(shown.split())
    assert "Limit of all tasks together: epsilon 4, delta 0.001. It is final" in words
    assert "--limit" in words


@pytest.mark.slow
def test_the_hint_to_give_a_limit_follows_a_limit_that_was_chosen(tmp_path):
    given = ["--limit", "5,1e-2"]
    init, join = ("deploy", "init"), ("deploy", "join")
    for words in ([*init, "with", *TASK, *given], [*join, "with"], [*init, "without", *TASK], [*join, "without"]):
        result = command(*words, cwd=tmp_path)
        assert result.returncode == 0
        shown = " ".join(result.stdout.split())
        assert "It is final" in shown
        assert ("start again with --limit" in shown) == (words == [*init, "without", *TASK])
    (ledger,) = (tmp_path / "with").rglob("*.ledger")
    for more in ([], given):
        ledger.unlink()
        shown = " ".join(command(*join, "with", *more, cwd=tmp_path).stdout.split())
        assert ("start again with --limit" in shown) == (not more)


@pytest.mark.parametrize("path", ["$(touch${IFS}x)", "`touch${IFS}x`", "a;touch${IFS}x", "a'b", 'a"b', "a\\b", "a b\n"])
def test_the_command_for_a_task_quotes_what_other_parties_gave(path):
    """Addresses and keys of other parties are one word each for a shell, whatever is in them."""
    places = [Place(f"https://{host}.example/{path}", path) for host in "abc"]
    printed = task_command(Chain([SimpleNamespace(place=place) for place in places]), Path("my collection"))
    words = shlex.split(printed.replace(" \\\n  ", " "))
    given = [f"{place.address}={place.key}" for place in places]
    expected = ["--shuffler", given[0], "--shuffler", given[1], "--analyzer", given[2]]
    assert words[words.index("--shuffler") :] == [*expected, "--out", "my collection/public/first.task.json"]


def test_printed_commands_quote_the_folder(tmp_path):
    shown = command("deploy", "init", "my collection", cwd=tmp_path).stdout
    assert "\nshuffledp deploy join 'my collection'\n" in shown
    assert "\nshuffledp deploy join 'my collection'\n" in (tmp_path / "my collection" / "HAND-OVER.md").read_text()
    own = ["--only", "shuffler-1", "--address", "https://a.example.org"]
    assert command("deploy", "init", "our folder", *own, cwd=tmp_path).returncode == 0
    text = (tmp_path / "our folder" / "HAND-OVER.md").read_text()
    assert "`shuffledp deploy join 'our folder'`" in text
    assert "join our folder" not in text


def test_an_organisation_sees_the_fingerprint_of_its_public_values(tmp_path):
    own = ["--only", "shuffler-1", "--address", "https://a.example.org"]
    shown = command("deploy", "init", "ours", *own, cwd=tmp_path).stdout
    fingerprint = read_party(tmp_path / "ours" / "public" / "shuffler-1.party.json").fingerprint
    assert f"Fingerprint, to compare by telephone: {fingerprint}\n" in shown
    made = json.loads(command("deploy", "init", "other", *own, "--json", cwd=tmp_path).stdout)
    assert made["parties"][0]["fingerprint"] != fingerprint


def test_json(tmp_path):
    result = json.loads(command("deploy", "init", "collection", *TASK, "--json", cwd=tmp_path).stdout)
    assert [each["party"] for each in result["parties"]] == ["shuffler-1", "shuffler-2", "analyzer"]
    assert len(result["task"]) == 64
    assert result["next"][0] == "shuffledp shuffler --config collection/shuffler-1/server/shuffler.toml"


def test_errors_in_json(tmp_path):
    result = command("deploy", "init", "collection", "--shufflers", 0, "--json", cwd=tmp_path)
    assert result.returncode == 2
    assert json.loads(result.stdout)["reason"] == "wrong-parameter"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--shufflers", "0"], "shufflers must be from 1 to 8, got 0"),
        (["--shufflers", "9"], "shufflers must be from 1 to 8, got 9"),
        (TWO, "got 2 addresses and no address of the analyzer"),
        ([*TWO[:2], "--analyzer-address", "https://c.example.org"], "got 1 address and an address of the analyzer"),
        ([*TWO, "--analyzer-address", "https://a.example.org"], "each party must have its own address"),
        (
            [*TWO, "--analyzer-address", "https://c.example.org/x"],
            "the address of analyzer must have no path, got https://c.example.org/x: give each server a name or a port",
        ),
        ([*TWO, "--analyzer-address", "c.example.org"], "the address of analyzer must be such as https://host:port"),
        (["--only", "shuffler-3", "--address", "https://a.example.org"], "--only must be one of shuffler-1"),
        (["--only", "shuffler-1"], "needs one --address, its own, got 0"),
        (["--only", "shuffler-1", *TWO], "needs one --address, its own, got 2"),
        (["--only", "shuffler-1", *TWO[:2], *TASK], "--question cannot be given with --only"),
        (["--only", "shuffler-1", *TWO[:2], "--limit", "3,1e-5"], "--limit is for the analyzer's ledger"),
        (["--only", "shuffler-1", *TWO[:2], "--population", "us"], "--population is for the analyzer's ledger"),
        (["--only", "analyzer", *TWO[:2], "--population", "us"], "--population needs --limit or --question"),
        (["--population", "us"], "--population needs --limit or --question"),
        (["--only", "shuffler-2", *TWO[:2], "--page"], "--page is for shuffler-1"),
        (["--only", "shuffler-1", "--address", "http://me:secret@[h"], "got http://...@[h\n"),
        (["--epsilon", "1"], "--epsilon needs --question"),
        (["--tokens", "100"], "--tokens needs --question"),
        (TASK[:-2], "--delta must be given with --question"),
        ([*TASK[:2], *TASK[4:]], "give the possible answers with exactly one of --domain, --range or --edges"),
        ([*TASK, "--tokens", "100"], "tokens must be left out"),
        ([*TASK, "--admission", "tokens", "--tokens", "5"], "tokens must be at least the 20 people"),
        ([*TASK, "--admission", "friends"], "admission must be one of"),
        ([*TASK, "--closes", "never"], "closes must be a time"),
        ([*TASK, "--limit", "3"], "--limit must be an epsilon and a delta"),
        ([*TASK, "--limit", "0,1e-5"], "epsilon must be"),
        ([*TASK, "--limit", "0.1,1e-9"], "limit must allow all tasks together, got epsilon 0.1, delta 1e-9 for"),
        (["--store", "mysql"], "store must be one of"),
    ],
)
def test_a_wrong_option_is_one_line_and_leaves_nothing(tmp_path, arguments, message):
    result = command("deploy", "init", "collection", *arguments, cwd=tmp_path)
    assert result.returncode == 2
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten(tmp_path):
    (tmp_path / "collection").mkdir()
    (tmp_path / "collection" / "note").write_text("mine")
    result = command("deploy", "init", "collection", cwd=tmp_path)
    assert result.returncode == 2
    assert "folder must be new, got collection, which exists" in result.stderr
    assert [path.name for path in tmp_path.rglob("*")] == ["collection", "note"]


@pytest.mark.parametrize("is_file", [False, True])
def test_joining_names_a_folder_that_does_not_exist(tmp_path, is_file):
    if is_file:
        (tmp_path / "nofolder").write_text("a file")
    result = command("deploy", "join", "nofolder", cwd=tmp_path)
    assert result.returncode == 3
    assert result.stderr.splitlines() == ["shuffledp deploy join: there is no folder nofolder"]


ALL = [*TWO, "--analyzer-address", "https://c.example.org"]


def test_servers_behind_a_proxy_or_with_a_database_start_in_containers(tmp_path):
    """The host of the database exists only beside them, and without a proxy nothing answers at https://."""
    docker = "docker compose --file ours/compose.yaml --env-file ours/{}/.env up --detach"
    parties = ("shuffler-1", "shuffler-2", "analyzer")
    shown = command("deploy", "init", "ours", *ALL, cwd=tmp_path).stdout
    text = (tmp_path / "ours" / "HAND-OVER.md").read_text()
    for party in parties:
        assert docker.format(party) in shown.splitlines()
        assert f"docker compose --env-file {party}/.env up --detach" in text.splitlines()
    assert "--config" not in shown + text
    assert "docs/how-to/deploy.md" in shown
    assert "The host `database` in `shuffler.toml`" in text
    create_task(tmp_path / "ours", tmp_path / "ours" / "public" / "first.task.json")
    joined = json.loads(command("deploy", "join", "ours", "--json", cwd=tmp_path).stdout)
    assert joined["next"] == [docker.format(party) for party in parties]
    command("deploy", "init", "last", "--only", "analyzer", *TWO[:2], cwd=tmp_path)
    assert "The host `database`" not in (tmp_path / "last" / "HAND-OVER.md").read_text()
    here = json.loads(command("deploy", "init", "here", "--store", "postgres", *TASK, "--json", cwd=tmp_path).stdout)
    assert [line.split()[0] for line in here["next"]] == ["docker", "docker", "shuffledp"]


def test_the_commands_for_separate_folders_repeat_the_options(tmp_path):
    more = ["--page", "--store", "sqlite", "--limit", "3,1e-5", "--population", "all of us"]
    assert command("deploy", "init", "ours", *ALL, *more, cwd=tmp_path).returncode == 0
    text = (tmp_path / "ours" / "HAND-OVER.md").read_text()
    commands = [line for line in text.splitlines() if line.startswith("shuffledp deploy init")]
    for at, (line, host) in enumerate(zip(commands, "abc", strict=True)):
        words = shlex.split(line)[1:]
        assert words[words.index("--address") + 1] == f"https://{host}.example.org"
        words[2] = f"own-{at}"
        assert command(*words, cwd=tmp_path).returncode == 0
    for at, name in enumerate(("shuffler-1/server/shuffler", "shuffler-2/server/shuffler", "analyzer/server/analyzer")):
        own, whole = (tomllib.loads((tmp_path / at / f"{name}.toml").read_text()) for at in (f"own-{at}", "ours"))
        keys = ("store", "page", "port")
        assert [own.get(key) for key in keys] == [whole.get(key) for key in keys]
    ledger = json.loads(command("ledger", tmp_path / "own-2/analyzer/state/budget.ledger", "--json").stdout)
    assert (ledger["limit"]["epsilon"], ledger["population"]) == (3, "all of us")
    command("deploy", "init", "here", cwd=tmp_path)
    assert "--page" not in (tmp_path / "here" / "HAND-OVER.md").read_text()


@pytest.mark.parametrize(
    ("address", "warned"),
    [
        ("http://a.example.org:81", True),
        ("http://192.0.2.1", True),
        ("http://127.evil.example", True),
        *((address, False) for address in ("https://a.example.org", "http://localhost:81", "http://127.0.0.2:81")),
        ("http://[::1]:81", False),
    ],
)
def test_an_address_without_tls_is_warned_of(tmp_path, address, warned):
    shown = command("deploy", "init", "ours", "--only", "shuffler-1", "--address", address, cwd=tmp_path).stdout
    assert ("Warning: shuffler-1 has an address without TLS" in shown) == warned
    assert not warned or f"start again with {address.replace('http:', 'https:')}." in shown


def test_another_port_than_443_is_noted(tmp_path):
    """Certificate authorities do not check there."""
    only = ("--only", "shuffler-1", "--address", "https://a.example.org:8443")
    shown = command("deploy", "init", "one", *only, cwd=tmp_path).stdout
    assert "shuffler-1: a public certificate authority checks port 443 of a.example.org, not 8443." in shown
    addresses = ("--address", "https://a.example.org:443", "--address", "https://b.example.org:8443")
    analyzer = ("--analyzer-address", "http://c.example.org:81")
    shown = command("deploy", "init", "all", *addresses, *analyzer, cwd=tmp_path).stdout
    assert shown.count("a public certificate authority checks port 443 of b.example.org, not 8443.") == 1
    assert shown.count("certificate authority") == 1


@pytest.mark.parametrize("kind", ["file", "folder", "broken link"])
def test_the_folder_must_be_new(tmp_path, kind):
    path = tmp_path / "collection"
    if kind == "file":
        path.touch()
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("nowhere")
    result = command("deploy", "init", "collection", cwd=tmp_path)
    assert result.returncode == 2
    assert "folder must be new" in result.stderr
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    result = command("deploy", "init", "missing/collection", cwd=tmp_path)
    assert result.returncode == 3
    assert "the folder missing/collection cannot be made: No such file or directory" in result.stderr


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_an_interrupted_run_leaves_nothing(tmp_path, monkeypatch, error):
    """It fails after the last secret was written."""

    def fails(*_, **__):
        raise error

    monkeypatch.setattr("shuffledp.collect.deployment.parties.write_hand_over", fails)
    result = command("deploy", "init", "collection", *TASK, cwd=tmp_path)
    assert result.returncode == (130 if error is KeyboardInterrupt else 3)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("url", "code", "message"),
    [
        ("http://127.0.0.1:9", 5, "cannot be reached"),
        ("nothing", 2, "URL must be an address such as https://host:port"),
    ],
)
def test_health_of_no_server(url, code, message):
    result = command("health", url)
    assert result.returncode == code
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("status", "content", "code", "shown"),
    [
        (200, {"state": "ok"}, 0, "ok\n"),
        (200, {"state": "problems", "problems": {"ab" * 32: ["Too few."]}}, 0, "problems\n"),
        (200, {"state": "degraded", "reason": "disk-full", "problems": {}}, 0, "degraded: disk-full\n"),
        (503, {"reason": "unavailable", "detail": "A background thread has ended."}, 3, ""),
        (503, {"state": "degraded", "reason": "disk-full", "problems": {}}, 3, ""),
        (200, None, 3, ""),
    ],
)
def test_health_of_a_server(monkeypatch, status, content, code, shown):
    answer = httpx.Response(status, **({"text": "<html>"} if content is None else {"json": content}))
    monkeypatch.setattr(httpx, "get", lambda *_, **__: answer)
    result = command("health", "http://127.0.0.1:8000")
    assert (result.returncode, result.stdout) == (code, shown)
    if status == 503:
        assert f"does not work: {content.get('detail', 'disk-full')}" in result.stderr


@pytest.mark.parametrize("status", [200, 503])
@pytest.mark.parametrize(
    "content",
    [
        *([], "x", None, 3, {"state": "ok", "problems": [1]}, {"state": "ok", "problems": {"ab": 1}}),
        *({"state": "ok", "problems": {"ab": [1]}}, {"state": "ok", "reason": 1}, {"state": "ok", "detail": [1]}),
    ],
)
@pytest.mark.parametrize("more", [[], ["--json"]])
def test_health_of_another_server_is_one_clear_error(monkeypatch, status, content, more):
    monkeypatch.setattr(httpx, "get", lambda *_, **__: httpx.Response(status, json=content))
    result = command("health", "http://127.0.0.1:8000", *more)
    assert (result.returncode, result.stdout) == (3, "")
    assert result.stderr.count("\n") == 1
    assert "is no server of shuffledp" in result.stderr


@pytest.mark.parametrize("content", [{}, {"state": 3}, {"state": None}])
def test_a_server_that_works_says_its_state(monkeypatch, content):
    monkeypatch.setattr(httpx, "get", lambda *_, **__: httpx.Response(200, json=content))
    result = command("health", "http://127.0.0.1:8000")
    assert (result.returncode, result.stdout) == (3, "")


@pytest.mark.parametrize("status", [200, 503])
def test_health_prints_no_control_characters(monkeypatch, status):
    bad = "\x1b[2J\x9b\n"
    content = {"state": bad, "reason": bad, "problems": {bad: [bad]}}
    monkeypatch.setattr(httpx, "get", lambda *_, **__: httpx.Response(status, json=content))
    result = command("health", "http://127.0.0.1:8000")
    assert result.returncode == (0 if status == 200 else 3)
    assert (result.stdout + result.stderr).replace("\n", "").isprintable()
    assert result.stderr.count("\n") == (1 if status == 200 else 2)


@pytest.mark.parametrize("status", [200, 503])
def test_health_prints_a_problem_of_several_tasks_once(monkeypatch, status):
    problems = {f"{at:02x}" * 32: ["The server after this one cannot be reached."] for at in range(3)}
    problems["00" * 32].append("Too few.")
    content = {"state": "degraded", "reason": "input-output-error", "problems": problems}
    monkeypatch.setattr(httpx, "get", lambda *_, **__: httpx.Response(status, json=content))
    result = command("health", "http://127.0.0.1:8000")
    assert result.returncode == (0 if status == 200 else 3)
    lines = ["The server after this one cannot be reached. (3 tasks)", f"{'0' * 16}: Too few."]
    if status == 503:
        lines.append("shuffledp health: http://127.0.0.1:8000 does not work: input-output-error")
    assert result.stderr.splitlines() == lines


@pytest.mark.parametrize("text", ['{"reason": "unknown-task", "detail": "No such task."}', "<html>"])
@pytest.mark.parametrize("path", ["/v1/tasks", "/?a=b", "/#a"])
def test_health_of_a_page_of_a_server(monkeypatch, text, path):
    monkeypatch.setattr(httpx, "get", lambda *_, **__: httpx.Response(404, text=text))
    result = command("health", f"http://127.0.0.1:8000{path}")
    assert result.returncode == 2
    assert f"URL must be the address of a server without a path, got http://127.0.0.1:8000{path}\n" in result.stderr


def test_health_of_a_server_behind_a_path_of_a_proxy(monkeypatch):
    monkeypatch.setattr(httpx, "get", lambda *_, **__: httpx.Response(200, json={"state": "ok"}))
    assert command("health", "https://example.org/theme").stdout == "ok\n"


@pytest.mark.parametrize("address", ["http://user:hunter2@127.0.0.1:9", "ftp://user:hunter2@host", "user:hunter2@host"])
def test_health_takes_no_password_and_prints_none(address):
    result = command("health", address)
    assert result.returncode == 2
    assert "URL must be an address such as https://host:port without a user name and a password" in result.stderr
    assert "hunter2" not in result.stderr

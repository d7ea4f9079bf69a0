"""`--config FILE` of the servers: options from TOML. tests/collect/test_deployment.py starts servers from it."""

import json

import pytest
import typer.main

from shuffledp import Ledger
from shuffledp.cli.app import app
from shuffledp.cli.servers import read_config
from shuffledp.collect.crypto.keys import write_key, write_secret
from shuffledp.collect.server.auth import new_token
from tests.cli.commands import command
from tests.collect.tasks import small_task

HASH = "ab" * 32


def options(name):
    params = typer.main.get_command(app).commands[name].params
    return [each for each in params if each.name != "config"]


def read(folder, text, name="shuffler"):
    file = folder / "server.toml"
    file.write_text(text)
    return read_config(file, options(name))


def test_values_become_texts_and_paths_start_at_the_file(tmp_path):
    found = read(
        tmp_path,
        f"""
        task = ["tasks", "/other/a.json"]
        key = "keys"
        store = "state/reports.db"
        port = 8000
        next = ["{HASH}"]
        page = true
        most-per-second = 2.5
        upstream = "https://mix.example.org"
        """,
    )
    assert found == {
        "task": [str(tmp_path / "tasks"), "/other/a.json"],
        "key": [str(tmp_path / "keys")],
        "store": str(tmp_path / "state" / "reports.db"),
        "port": "8000",
        "next": [HASH],
        "page": True,
        "most_per_second": "2.5",
        "upstream": "https://mix.example.org",
    }


@pytest.mark.parametrize(
    ("store", "expected"),
    [
        ("postgresql://shuffledp@database/shuffledp", "postgresql://shuffledp@database/shuffledp"),
        ("sqlite:///a.db", "sqlite:///{folder}/a.db"),
        ("sqlite:////a.db", "sqlite:////a.db"),
        ("/a.db", "/a.db"),
    ],
)
def test_a_store_may_be_an_address(tmp_path, store, expected):
    assert read(tmp_path, f'store = "{store}"')["store"] == expected.format(folder=tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prot = 1", "unknown key, 'prot': did you mean port?"),
        ("most_per_second = 1", "did you mean most-per-second?"),
        ("zzz = 1", "it must be one of key, store, port, task"),
        ("config = 'a.toml'", "unknown key, 'config'"),
        ("port = '8000'", "port must be a number, got text"),
        ("port = true", "port must be a number, got true or false"),
        ("store = 3", "store must be text, got a whole number"),
        ("store = ''", "store must be text, got an empty text"),
        ("token = ['a']", "token must be text, got a list"),
        ("next = [3]", "next must be text or a list of texts, got a whole number"),
        ("next = 2027-01-01", "next must be text or a list of texts, got a time"),
        ("page = 'yes'", "page must be true or false, got text"),
        ("[page]", "page must be true or false, got a table"),
        ("", "is empty: it must have options of the command"),
        ("# only a comment", "is empty"),
        ("port =", "is not TOML"),
        ("port = 1\nport = 2", "is not TOML"),
    ],
)
def test_a_wrong_file_is_one_clear_error(tmp_path, text, message):
    (tmp_path / "server.toml").write_text(text)
    result = command("shuffler", "--config", "server.toml", cwd=tmp_path)
    assert result.returncode in (2, 3)
    assert message in result.stderr
    assert "server.toml" in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("content", [None, b"port = \xff"])
def test_a_file_that_cannot_be_read_is_named(tmp_path, content):
    if content is not None:
        (tmp_path / "server.toml").write_bytes(content)
    result = command("analyzer", "--config", "server.toml", cwd=tmp_path)
    assert result.returncode == 3
    assert "server.toml cannot be read" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_value_is_not_shown_in_an_error(tmp_path):
    """A token may stand where its file should be named."""
    secret = new_token()
    (tmp_path / "server.toml").write_text(f"token = ['{secret}']\n")
    result = command("analyzer", "--config", "server.toml", cwd=tmp_path)
    assert result.returncode == 2
    assert secret not in result.stderr


@pytest.mark.slow
def test_required_options_may_come_from_the_file_and_the_command_line_wins(tmp_path):
    """The analyzer reads the files that the configuration names; a small ledger is refused before it starts."""
    kept = small_task()
    for folder in ("tasks", "keys"):
        (tmp_path / folder).mkdir()
    (tmp_path / "tasks" / "a.task.json").write_text(kept.task.to_json())
    write_key(kept.keys[-1], tmp_path / "keys" / "a.key")
    write_secret(tmp_path / "token", new_token())
    for name, epsilon in (("small", 0.5), ("tiny", 0.25)):
        Ledger.create(tmp_path / f"{name}.ledger", epsilon=epsilon, delta=1e-9, population="people")
    lines = {"task": "tasks", "key": "keys", "store": "a.db", "port": 0, "token": "token", "ledger": "small.ledger"}
    text = "\n".join(f"{key} = {json.dumps(value)}" for key, value in lines.items())
    (tmp_path / "analyzer.toml").write_text(text)
    from_file = command("analyzer", "--config", tmp_path / "analyzer.toml")
    assert from_file.returncode == 2
    assert "epsilon 0.5 with delta" in from_file.stderr
    assert (tmp_path / "a.db").exists()
    tiny = command("analyzer", "--config", "analyzer.toml", "--ledger", "tiny.ledger", cwd=tmp_path)
    assert "epsilon 0.25 with delta" in tiny.stderr


def test_a_missing_required_option_is_named(tmp_path):
    (tmp_path / "server.toml").write_text("port = 8000\n")
    result = command("shuffler", "--config", "server.toml", cwd=tmp_path)
    missing = "shuffledp shuffler: --key must be given, in server.toml or on the command line\n"
    assert (result.returncode, result.stderr) == (2, missing)
    without = command("shuffler")
    assert (without.returncode, "Missing option '--key'" in without.stderr) == (2, True)


def test_a_number_that_an_option_refuses_names_the_file(tmp_path):
    (tmp_path / "server.toml").write_text("key = 's.key'\nstore = 's.db'\nport = 8000\nworkers = 2.5\n")
    result = command("shuffler", "--config", "server.toml", cwd=tmp_path)
    assert result.returncode == 2
    assert "shuffledp shuffler: workers must be a whole number such as" in result.stderr
    assert result.stderr.endswith(", got '2.5' in server.toml\n")
    given = command("shuffler", "--config", "server.toml", "--workers", "3.5", cwd=tmp_path)
    assert (given.returncode, "--workers" in given.stderr, "server.toml" in given.stderr) == (2, True, False)


def test_a_number_that_a_server_refuses_names_the_file(tmp_path):
    (tmp_path / "t.json").write_text(small_task().task.to_json())
    write_key(small_task().keys[0], tmp_path / "s.key")
    lines = f"task = 't.json'\nkey = 's.key'\nstore = 's.db'\nport = 8000\nnext = '{HASH}'\nworkers = 0\n"
    (tmp_path / "server.toml").write_text(lines)
    result = command("shuffler", "--config", "server.toml", cwd=tmp_path)
    assert result.returncode == 2
    assert "workers must " in result.stderr
    assert result.stderr.endswith("; workers is set in server.toml\n")
    given = command("shuffler", "--config", "server.toml", "--workers", "-1", cwd=tmp_path)
    assert ("workers must " in given.stderr, "server.toml" in given.stderr) == (True, False)


def test_a_folder_without_tasks_is_refused(tmp_path):
    (tmp_path / "tasks").mkdir()
    write_key(small_task().keys[0], tmp_path / "s.key")
    given = ["--task", "tasks", "--key", "s.key", "--store", "a.db", "--port", "0", "--next", HASH]
    result = command("shuffler", *given, cwd=tmp_path)
    assert result.returncode == 2
    assert "task must name at least one task file, got none in the folder tasks" in result.stderr

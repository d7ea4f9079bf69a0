"""Folders that `shuffledp deploy` creates, for tests."""

import json
import shlex

import pytest

from tests.cli.commands import command

TASK = ["--question", "Tea or coffee?", "--domain", "tea,coffee", "--users", 20, "--epsilon", 4, "--delta", "1e-3"]
PARTIES = ("shuffler-1", "shuffler-2", "analyzer")


def init(folder, *more, code=0):
    result = command("deploy", "init", folder, *more)
    assert result.returncode == code, result.stderr
    return result


def config(folder, party):
    (found,) = (folder / party / "server").glob("*.toml")
    return found


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """Folders of all parties with every kind of secret."""
    folder = tmp_path_factory.mktemp("deployment") / "collection"
    given = ["--address", "https://a.example.org", "--address", "https://b.example.org"]
    init(folder, *given, "--analyzer-address", "https://c.example.org", *TASK, "--admission", "secret", "--page")
    return folder


def separate(tmp_path):
    """Three organisations that create their own folders and exchange public files."""
    folders = {party: tmp_path / f"of-{party}" for party in PARTIES}
    for party, folder in folders.items():
        init(folder, "--only", party, "--shufflers", 2, "--address", f"https://{party}.example.org")
    for party, folder in folders.items():
        for other in folders.values():
            name = f"public/{party}.party.json"
            (other / name).write_bytes((folder / name).read_bytes())
    return folders


def create_task(folder, out, **changed):
    """Create the task with the command that `deploy join` prints."""
    printed = json.loads(command("deploy", "join", folder, "--json").stdout)["next"][0]
    words = shlex.split(printed.replace("\\\n", " "))[1:]
    words[words.index("--out") + 1] = str(out)
    words[words.index("--users") + 1] = "20"
    words[words.index("--epsilon") + 1] = "4"
    for old, new in changed.items():
        words = [word.replace(old, new) for word in words]
    assert command(*words).returncode == 0
    return out

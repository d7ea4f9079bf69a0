"""`shuffledp protocols`: the whole catalogue, in one line each."""

import json

from shuffledp.protocols import CATALOGUE
from tests.cli.commands import command


def test_every_protocol_has_its_line():
    lines = command("protocols").stdout.splitlines()
    for name, entry in CATALOGUE.items():
        (line,) = (line for line in lines if line.split()[:1] == [name])
        assert entry.summary
        assert entry.title in line
        assert entry.summary in line


def test_only_one_model():
    rows = json.loads(command("protocols", "--model", "local", "--json").stdout)
    assert [row["name"] for row in rows] == [name for name, entry in CATALOGUE.items() if entry.model == "local"]
    wrong = command("protocols", "--model", "shufled")
    assert wrong.returncode == 2
    assert wrong.stderr.endswith("got 'shufled': did you mean shuffled?\n")

"""`shuffledp amplify`: every bound side by side."""

import json

import pytest

from tests.cli.commands import command


def amplify(*arguments):
    return command("amplify", *arguments)


def test_the_command_shows_every_bound():
    shown = amplify("--epsilon0", "0.4", "--users", "100000", "--delta", "1e-6")
    for needed in ("closed form", "privacy blanket", "tight", "0.003927", "lower bound", "largest local epsilon"):
        assert needed in shown.stdout
    answer = json.loads(amplify("--epsilon0", "4", "--users", "10000", "--delta", "1e-6", "--json").stdout)
    assert answer["epsilon"]["tight"] == pytest.approx(0.4108, abs=5e-5)
    assert answer["epsilon"]["closed form"] is None


@pytest.mark.parametrize("arguments", [("0", "10", "1e-6"), ("1", "0", "1e-6"), ("1", "10", "2")])
def test_the_command_refuses_wrong_parameters(arguments):
    epsilon0, users, delta = arguments
    result = amplify("--epsilon0", epsilon0, "--users", users, "--delta", delta)
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1

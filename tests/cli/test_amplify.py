"""`shuffledp amplify`: every bound side by side."""

import json
import re

import pytest

from tests.cli.commands import command


def amplify(*arguments):
    return command("amplify", *arguments)


@pytest.mark.slow
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


def test_an_error_names_the_parameter():
    result = amplify("--epsilon0", "-2", "--users", "1e5", "--delta", "1e-6")
    assert result.stderr == "shuffledp amplify: epsilon0 must be above 0 and at most 30, got -2\n"


@pytest.mark.parametrize(("epsilon0", "users"), [("0.4", "1e5"), ("2.3", "12345"), ("3", "10^6")])
def test_printed_bounds_hold(epsilon0, users):
    asked = ["--epsilon0", epsilon0, "--users", users, "--delta", "1e-6"]
    shown, truth = amplify(*asked).stdout, json.loads(amplify(*asked, "--json").stdout)
    for name, epsilon in truth["epsilon"].items():
        (printed,) = re.findall(rf"{name} +([\d.]+|not applicable)", shown)
        if epsilon is None:
            assert printed == "not applicable"
        elif name == "lower bound":
            assert 0.998 * epsilon <= float(printed) <= epsilon
        else:
            assert epsilon <= float(printed) <= 1.002 * epsilon
    for target, local in truth["largest_local_epsilon"].items():
        (printed,) = re.findall(rf"shuffles down to {target} is ([\d.]+)\.\n", shown)
        assert 0.98 * local <= float(printed) <= local

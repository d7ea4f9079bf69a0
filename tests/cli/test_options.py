"""A number of any size in any option gives a clear error, never a traceback."""

import pytest

from tests.cli.commands import GUARANTEE, command

SIMULATED = ["simulate", "people.csv", "--column", "v", *GUARANTEE]


@pytest.mark.parametrize("number", ["2^5000", "1e300", "-7", "0", "1.5", "many", "9" * 5000])
@pytest.mark.parametrize(
    "arguments",
    [
        ["plan", "--bins", "3", *GUARANTEE, "--users"],
        ["plan", "--bins", "3", *GUARANTEE, "--users", "1000", "--honest-users"],
        ["amplify", "--epsilon0", "1", "--delta", "1e-6", "--users"],
        ["compare", "--bins", "3", *GUARANTEE, "--users"],
        ["demo", "--people"],
        [*SIMULATED, "--seed", "-1", "--trials"],  # no seed is negative, so nothing is simulated
    ],
)
def test_an_impossible_number_is_one_clear_error(arguments, number, tmp_path):
    (tmp_path / "people.csv").write_text("v\na\n")
    result = command(*arguments, number, cwd=tmp_path)
    assert (result.returncode, result.stdout) == (2, "")
    assert "Traceback" not in result.stderr
    assert len(result.stderr) < 500


@pytest.mark.parametrize("text", ["1,000", "10,0,5"])
def test_commas_separate_numbers_where_several_are_taken(text):
    result = command("compare", "--users", text, "--bins", "3", *GUARANTEE)
    assert result.returncode == 2
    assert "write 1000000 or 1e6 for one" in result.stderr


def test_a_command_has_only_the_options_of_a_record_that_it_uses():
    offered = command("task", "new", "--help").stdout
    assert "--domain-at" in offered
    assert "--answers-from" in offered
    assert "--answers-from" not in command("task", "series", "new", "--help").stdout
    refused = command("deploy", "init", "folder", "--domain-at", "https://example.org/list")
    assert (refused.returncode, "No such option: --domain-at" in refused.stderr) == (2, True)

"""`shuffledp separate`: tables, JSON and figures of the number of people that each model needs."""

import json

import pytest

from tests.cli.commands import command


@pytest.mark.slow
def test_the_command_prints_tables_json_and_figures(tmp_path):
    wish = ["separate", "--epsilon", "1", "--delta", "1e-6"]
    result = command(*wish, "--problem", "pointer-chasing", "--l", "10,10000", "--no-local", "--figure", "f.png",
                     cwd=tmp_path)  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "l = 10,000" in result.stdout
    assert (tmp_path / "f.png").stat().st_size > 10_000
    data = json.loads(command(*wish, "--problem", "bernoulli", "--alpha", "0.1", "--json").stdout)
    assert {column["name"] for column in data["columns"]} >= {"local", "paper", "exact", "blanket", "central"}
    assert all(cell["users"] > 0 for column in data["columns"] for cell in column["cells"])


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--problem", "chess"], "problem must be one of pointer-chasing"),
        (["--problem", "support", "--l", "3"], "l does not apply to support"),
        (["--problem", "pointer-chasing", "--l", "ten"], "l must be a whole number"),
        (["--problem", "pointer-chasing", "--l", "0"], "l must be a whole number from 1"),
        (["--problem", "pointer-jumping", "--h", "1"], "h must be at least 2"),
        (["--problem", "pointer-jumping", "--s", "0"], "s must be a whole number from 1"),
        (["--problem", "pointer-jumping", "--s", "3,4"], "s must be a whole number"),
        (["--problem", "pointer-jumping", "--h", "2", "--s", "\u00b2"], "s must be a whole number"),
        (["--problem", "pointer-jumping", "--h", "1000000"], "h must be at most"),
        (["--problem", "support", "--h", "2^5000"], "got about 2^5000"),
        (["--problem", "pointer-chasing", "--l", "2^5000"], "got about 2^5000"),
        (["--problem", "suport"], "did you mean support?"),
        (["--problem", "bernoulli", "--alpha", "1.5"], "alpha must lie strictly between 0 and 1"),
        (["--problem", "support", "--figure", "f.txt"], "a figure must end in"),
        (["--problem", "support", "--seed", "-1"], "seed must be at least 0"),
    ],
)
def test_bad_requests_are_one_clear_error(arguments, reason):
    result = command("separate", "--epsilon", "1", "--delta", "1e-6", *arguments)
    assert result.returncode == 2
    assert reason in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""

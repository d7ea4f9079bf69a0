"""`shuffledp verify`: the table of statements, JSON, and the exit code of a false one."""

import json
import math

import pytest

from shuffledp.paper.protocol_checks import DEFAULT, NAMES
from shuffledp.paper.statements import PAPER, Basis, Quantity, at_most
from tests.cli.commands import command


@pytest.mark.slow
def test_the_table_names_the_statements_of_the_paper():
    result = command("verify")
    assert result.returncode == 0
    for part in ("i", "ii", "iii", "iv"):
        assert f"Theorem 3.1 {part}: " in result.stdout
        assert f"Theorem 3.2 {part}: " in result.stdout
    for statement in ("Claim 4.2", "Theorem 4.1", "CSU+19", "R^infinity", "R^gap", "Lemma", "Corollary", "Section 3.3"):
        assert statement in result.stdout
    assert "FAILS" not in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80
    rows = json.loads(command("verify", "--json").stdout)["statements"]
    assert {row["protocol"] for row in rows} == set(DEFAULT)


def test_the_help_lists_every_name():
    words = command("verify", "--help").stdout.replace("│", " ").replace(",", " ").replace(".", " ").split()
    assert set(NAMES) <= set(words)


def test_one_protocol_as_json():
    result = command("verify", "--protocol", "r-gap", "--json")
    answer = json.loads(result.stdout)
    assert result.returncode == 0
    assert answer["holds"] is True
    assert {row["protocol"] for row in answer["statements"]} == {"r-gap"}
    (row,) = answer["statements"]
    assert row["claimed"] == "infinite"
    assert row["exact"] == pytest.approx(math.log(2.5))


def test_an_unknown_name_is_one_clear_error():
    result = command("verify", "--protocol", "histo")
    assert result.returncode == 2
    assert "single-message" in result.stderr
    assert "'histo'" in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_an_upper_limit_is_not_called_exact():
    rows = json.loads(command("verify", "--protocol", "zsum", "--json").stdout)["statements"]
    assert [row["basis"] for row in rows] == ["recomputed", "noise", "enumerated", "enumerated", "recomputed"]
    assert "exact" not in rows[0]
    assert rows[0]["slack_above"] > 1e20
    assert "<=1e-29" in command("verify", "--protocol", "zsum").stdout


def false_statement():
    yield at_most("r-gap", "Theorem 0", Quantity.DELTA, claimed=1e-6, computed=1e-3, basis=Basis.RECOMPUTED)


def test_a_false_statement_is_shown_and_fails_the_command(monkeypatch):
    monkeypatch.setitem(PAPER, "r-gap", false_statement)
    shown = command("verify", "--protocol", "r-gap")
    assert shown.returncode == 4
    assert "FAILS" in shown.stdout
    assert "Theorem 0" in shown.stdout
    plain = command("verify", "--protocol", "r-gap", "--json")
    assert plain.returncode == 4
    assert json.loads(plain.stdout)["holds"] is False
    assert command("verify", "--protocol", "r-infinity").returncode == 0


def test_a_check_that_raises_fails_the_command(monkeypatch):
    monkeypatch.setitem(PAPER, "r-gap", lambda: iter([1 // 0]))
    shown = command("verify", "--protocol", "r-gap")
    assert shown.returncode == 4
    assert "not checked" in shown.stdout

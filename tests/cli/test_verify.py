"""`shuffledp verify`: the table of statements, JSON, and the exit code of a false one."""

import json
import math

import pytest

from shuffledp.verification.statements import NAMES, Verdict
from shuffledp.verification.statements.by_name import PAPER
from shuffledp.verification.statements.verdict import ENUMERATED, OWN_CURVE, OWN_LAW
from tests.cli.commands import command


@pytest.mark.slow
def test_the_table_names_the_statements_of_the_paper():
    result = command("verify")
    assert result.returncode == 0
    for part in ("i", "ii", "iii", "iv"):
        assert f"Theorem 3.1 {part}, " in result.stdout
        assert f"Theorem 3.2 {part}, " in result.stdout
    for statement in ("Claim 4.2", "Theorem 4.1", "CSU+19", "R^infinity", "R^gap", "Lemma", "Corollary"):
        assert statement in result.stdout
    assert "FAILS" not in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_the_help_lists_every_name():
    words = command("verify", "--help").stdout.replace("│", " ").replace(",", " ").replace(".", " ").split()
    assert set(NAMES) <= set(words)


def test_one_protocol_as_json():
    result = command("verify", "--protocol", "r-gap", "--json")
    answer = json.loads(result.stdout)
    assert result.returncode == 0
    assert answer["holds"] is True
    assert {row["protocol"] for row in answer["statements"]} == {"r-gap"}
    assert answer["statements"][0]["exact"] == "infinite"
    assert answer["statements"][1]["exact"] == pytest.approx(math.log(2.5))


def test_an_unknown_name_is_one_clear_error():
    result = command("verify", "--protocol", "histo")
    assert result.returncode == 2
    assert "single-message" in result.stderr
    assert "'histo'" in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_what_is_only_an_upper_limit_is_not_called_exact():
    rows = json.loads(command("verify", "--protocol", "zsum", "--json").stdout)["statements"]
    assert [row["basis"] for row in rows] == [OWN_CURVE, OWN_LAW, ENUMERATED, ENUMERATED, ENUMERATED]
    assert "exact" not in rows[0]
    table = command("verify", "--protocol", "zsum").stdout
    assert "<=1e-29" in table
    assert "own curve" in table


def test_the_claim_on_support_identification_is_in_the_table():
    assert "h = 8" in command("verify", "--protocol", "support").stdout


def false_statement():
    yield Verdict.at_most(statement="Theorem 0", claim="delta", claimed=1e-6, exact=1e-3, basis=OWN_CURVE)


def test_a_false_statement_is_shown_and_fails_the_command(monkeypatch):
    monkeypatch.setitem(PAPER, "zsum", false_statement)
    shown = command("verify", "--protocol", "zsum")
    assert shown.returncode == 4
    assert "FAILS" in shown.stdout
    plain = command("verify", "--protocol", "zsum", "--json")
    assert plain.returncode == 4
    assert json.loads(plain.stdout)["holds"] is False
    assert command("verify", "--protocol", "r-gap").returncode == 0
    assert command("verify", "--protocol", "r-infinity").returncode == 0

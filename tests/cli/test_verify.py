"""`shuffledp verify`: the table of statements, JSON, and the exit code of a false one."""

import json
import math

import pytest

from shuffledp.verification.drawn.specimens import SPECIMENS
from shuffledp.verification.statements import NAMES, Verdict, by_name, randomizers
from shuffledp.verification.statements.by_name import PAPER, SUMS
from shuffledp.verification.statements.verdict import (
    COUNTED,
    DRAWN,
    ENUMERATED,
    FORMULA,
    ONE_BY_ONE,
    OWN_LAW,
    RECOMPUTED,
    TOGETHER,
)
from tests.cli.commands import command


@pytest.fixture(autouse=True)
def _few_draws(monkeypatch):
    """The shipped numbers of draws take part in tests/verification/test_statements.py."""
    monkeypatch.setattr(randomizers, "ONE_PERSON", 40)
    monkeypatch.setattr(randomizers, "FEW_PEOPLE", 40)
    monkeypatch.setattr(randomizers, "CROWD", 500)


def test_the_table_names_the_statements_of_the_paper(monkeypatch):
    monkeypatch.setattr(by_name, "NAMES", tuple(name for name in PAPER if name != "support"))
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
    assert [row["basis"] for row in rows] == [RECOMPUTED, OWN_LAW, *3 * [ENUMERATED], *2 * [RECOMPUTED], *4 * [COUNTED],
                                              *2 * [ENUMERATED]]  # fmt: skip
    assert "exact" not in rows[0]
    table = command("verify", "--protocol", "zsum").stdout
    assert "<=1e-29" in table
    assert "recomputed" in table
    assert "own law" in table


def test_every_row_says_what_was_run_and_what_it_is_compared_with():
    rows = json.loads(command("verify", "--protocol", "zsum", "--json").stdout)["statements"]
    ran = [row["ran"] for row in rows]
    assert ran == [FORMULA] * 7 + [ONE_BY_ONE, TOGETHER, DRAWN, TOGETHER] + [FORMULA] * 2
    counted = [row for row in rows if row["basis"] == COUNTED]
    assert all(1e-9 < row["chance"] <= 1 and row["oracle"] for row in counted)


@pytest.mark.slow
def test_the_claim_on_support_identification_is_in_the_table():
    assert "h = 8" in command("verify", "--protocol", "support").stdout


def false_statement():
    yield Verdict.at_most(statement="Theorem 0", claim="delta", claimed=1e-6, exact=1e-3, basis=RECOMPUTED)


def test_a_false_statement_is_shown_and_fails_the_command(monkeypatch):
    monkeypatch.setitem(PAPER, "zsum", false_statement)
    monkeypatch.delitem(SUMS, "zsum")
    monkeypatch.delitem(SPECIMENS, "zsum")
    shown = command("verify", "--protocol", "zsum")
    assert shown.returncode == 4
    assert "FAILS" in shown.stdout
    assert "Theorem 0" in shown.stdout
    plain = command("verify", "--protocol", "zsum", "--json")
    assert plain.returncode == 4
    assert json.loads(plain.stdout)["holds"] is False
    assert command("verify", "--protocol", "r-gap").returncode == 0
    assert command("verify", "--protocol", "r-infinity").returncode == 0

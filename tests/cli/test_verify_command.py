"""`shuffledp verify`: every statement holds, each says on what basis, and a false one is noticed."""

import json
import math

import pytest

from shuffledp.cli.verify import show_verdicts
from shuffledp.errors import ParameterError
from shuffledp.verification import statements
from shuffledp.verification.statements import CATALOGUE, Verdict, catalogue, check
from shuffledp.verification.statements.promises import _exponential_below
from shuffledp.verification.statements.verdict import BOUND, ENUMERATED, OWN_CURVE, OWN_LAW
from tests.cli.test_command_line import command


def test_every_statement_holds():
    verdicts = list(check())
    assert {name for name, _ in verdicts} == set(CATALOGUE)
    assert [verdict.statement for _, verdict in verdicts if not verdict.holds] == []


def test_a_protocol_whose_promise_rests_on_its_own_curve_is_enumerated_too():
    """Of the protocols only RealSum, whose shares are too many to list, is compared with its own bound alone."""
    for name in CATALOGUE:
        bases = {verdict.basis for _, verdict in check(name)}
        assert bases <= {ENUMERATED, OWN_CURVE, OWN_LAW, BOUND}
        if name not in {"real-sum", "smooth", "support"}:
            assert ENUMERATED in bases, name


def test_enumerations_are_near_the_curves_and_below():
    """What is enumerated is no curve's own value: near it where the curve is exact, and never above."""
    rows = {
        verdict.statement: verdict
        for name in ("sparse", "dummy", "public-coin", "private-coin", "central")
        for _, verdict in check(name)
        if verdict.basis == ENUMERATED
    }
    assert len(rows) == 7
    for statement, verdict in rows.items():
        assert verdict.exact <= verdict.claimed <= (1.1 if "bound" in statement else 1.05) * verdict.exact
        assert verdict.exact != verdict.claimed


@pytest.mark.parametrize(
    ("name", "statement"),
    [
        ("sparse", "SparseHistogram, bound"),
        ("dummy", "DummyHistogram, curve"),
        ("public-coin", "PublicCoinHistogram with 1 row, curve"),
        ("central", "LaplaceHistogram, curve"),
    ],
)
def test_a_curve_that_is_too_small_fails_against_the_enumeration(name, statement, monkeypatch):
    from shuffledp.accounting.curve import PrivacyCurve

    true_delta = PrivacyCurve.delta
    monkeypatch.setattr(PrivacyCurve, "delta", lambda self, epsilon: 0.97 * true_delta(self, epsilon))
    failed = {verdict.statement for _, verdict in check(name) if not verdict.holds}
    assert statement in failed


def test_what_is_only_an_upper_limit_is_not_called_exact():
    tail = Verdict.at_most(statement="", claim="", claimed=1e-6, exact=1.5777e-30, basis=OWN_CURVE)
    bound = Verdict.at_most(statement="", claim="", claimed=1e-6, exact=9e-7, basis=BOUND)
    for verdict in (tail, bound):
        assert {"exact", "slack"}.isdisjoint(verdict.as_dict())
        assert verdict.as_dict()["exact_below"] == verdict.exact
        assert verdict.as_dict()["slack_above"] == verdict.slack
    known = Verdict.at_most(statement="", claim="", claimed=1e-6, exact=9e-7, basis=ENUMERATED)
    assert known.as_dict()["exact"] == 9e-7
    assert "exact_below" not in known.as_dict()
    rows = json.loads(command("verify", "--protocol", "zsum", "--json").stdout)["statements"]
    assert [row["basis"] for row in rows] == [OWN_CURVE, OWN_LAW, ENUMERATED, ENUMERATED, ENUMERATED]
    assert "exact" not in rows[0]
    table = command("verify", "--protocol", "zsum").stdout
    assert "<=1e-29" in table
    assert "own curve" in table


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


def test_the_claim_on_support_identification_is_in_the_table():
    """The numbers of people that docs/reference/paper.md states for two items."""
    verdicts = [verdict for _, verdict in check("support") if "h = 2" in verdict.claim]
    assert verdicts[0].claimed == 0.99
    assert 0.999 < verdicts[0].exact <= 1
    assert verdicts[0].slack is None
    assert [(verdict.claimed, verdict.exact) for verdict in verdicts[1:]] == [(13_631, 6_606), (13_631, 163)]
    assert "h = 8" in command("verify", "--protocol", "support").stdout


def test_the_help_lists_every_name():
    words = command("verify", "--help").stdout.replace("│", " ").replace(",", " ").replace(".", " ").split()
    assert set(CATALOGUE) <= set(words)


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
    with pytest.raises(ParameterError, match="one of zsum"):
        list(check("nothing"))


def false_statement():
    yield Verdict.at_most(statement="Theorem 0", claim="delta", claimed=1e-6, exact=1e-3, basis=OWN_CURVE)


def test_a_false_statement_is_shown_and_fails_the_command(monkeypatch, capsys):
    monkeypatch.setitem(catalogue.CATALOGUE, "zsum", false_statement)
    assert not show_verdicts(protocol="zsum", as_json=False)
    assert "FAILS" in capsys.readouterr().out
    assert not show_verdicts(protocol="zsum", as_json=True)
    assert json.loads(capsys.readouterr().out)["holds"] is False
    assert show_verdicts(protocol="r-gap", as_json=False)


def test_a_false_statement_has_an_exit_code(monkeypatch):
    from typer.testing import CliRunner

    from shuffledp.cli.app import app

    monkeypatch.setitem(catalogue.CATALOGUE, "zsum", false_statement)
    assert CliRunner().invoke(app, ["verify", "--protocol", "zsum"]).exit_code == 4
    assert CliRunner().invoke(app, ["verify", "--protocol", "r-infinity"]).exit_code == 0


def test_weak_noise_fails_its_statement(monkeypatch):
    """A protocol with less noise than its theorem asks for does not pass."""
    from shuffledp.accounting import theorems

    monkeypatch.setattr(theorems, "theorem_noise_mean", lambda *, epsilon, delta: 5.0)
    verdicts = {verdict.statement: verdict for verdict in statements.CATALOGUE["zsum"]()}
    assert not verdicts["Theorem 3.1 i, privacy"].holds
    assert verdicts["Theorem 3.1 iii, zero"].holds


def test_too_small_a_probability_is_noticed():
    assert not Verdict.at_least(statement="", claim="", claimed=0.99, exact=0.98, basis=OWN_LAW).holds
    assert Verdict.at_least(statement="", claim="", claimed=0.99, exact=0.99, basis=OWN_LAW).holds


def test_slack_means_something_only_for_positive_finite_numbers():
    verdict = Verdict.at_most(statement="", claim="", claimed=4.0, exact=2.0, basis=ENUMERATED)
    assert verdict.slack == 2
    assert Verdict.at_most(statement="", claim="", claimed=0.0, exact=0.0, basis=ENUMERATED).slack is None
    assert Verdict(statement="", claim="", claimed=None, exact=1.0, basis=ENUMERATED, holds=True).slack is None


def test_the_exponential_is_bounded_from_below():
    for number in (0.1, 1.0, 2.5):
        assert _exponential_below(number) == pytest.approx(math.exp(number), rel=1e-14)
    assert _exponential_below(1.0) < math.nextafter(math.e, 3)

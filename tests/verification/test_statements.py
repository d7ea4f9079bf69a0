"""Every statement holds, each says on what basis, and a false one is noticed."""

import pytest

from shuffledp.errors import ParameterError
from shuffledp.protocols import CATALOGUE
from shuffledp.verification.drawn.agreement import FAILURE, TOTAL_FAILURE
from shuffledp.verification.statements import NAMES, Verdict, check, curves, histograms
from shuffledp.verification.statements.by_name import SUMS
from shuffledp.verification.statements.verdict import (
    BOUND,
    COUNTED,
    DRAWN,
    ENUMERATED,
    ONE_BY_ONE,
    OWN_LAW,
    RECOMPUTED,
    TOGETHER,
)

ONCE = pytest.mark.xdist_group("verify")
"""Tests that share a whole run of `verify` share a worker."""


@pytest.fixture(scope="module")
def verdicts():
    """Everything that `shuffledp verify` checks; by bad luck one fails once in a million times."""
    return list(check())


@pytest.mark.slow
@ONCE
def test_every_statement_holds(verdicts):
    assert {name for name, _ in verdicts} == set(NAMES)
    assert [verdict.statement for _, verdict in verdicts if not verdict.holds] == []


@pytest.mark.slow
@ONCE
def test_every_protocol_is_calibrated_against_an_oracle_that_did_not_calibrate(verdicts):
    """One promise for every entry of the catalogue and every sum, none of which rests on the protocol's own curve."""
    promised = {name for name, verdict in verdicts if verdict.statement.endswith(", promise") and verdict.oracle}
    assert promised == {*CATALOGUE, *SUMS, "several-values"}
    assert {verdict.basis for _, verdict in verdicts} == {ENUMERATED, RECOMPUTED, COUNTED, OWN_LAW, BOUND}
    assert {name for name, verdict in verdicts if verdict.basis == BOUND} == {"public-coin-published", "real-sum"}


@pytest.mark.slow
@ONCE
def test_every_protocol_is_run_as_it_is_deployed(verdicts):
    """Published parameters and the best of others change numbers, not code; a curator is not a person who sends."""
    ran = {name: {verdict.ran for group, verdict in verdicts if group == name} for name in NAMES}
    others = {name for name in CATALOGUE if CATALOGUE[name].published} | {"amplified", "sparse-best"}
    for name, entry in CATALOGUE.items():
        if name not in others:
            assert ran[name] >= ({DRAWN} if entry.model == "central" else {ONE_BY_ONE, TOGETHER, DRAWN})
    assert all(ran[name] >= {ONE_BY_ONE, TOGETHER, DRAWN} for name in SUMS)
    assert sum(verdict.chance is not None for _, verdict in verdicts) < TOTAL_FAILURE / FAILURE


@pytest.mark.slow
def test_enumerations_are_near_the_curves_and_below():
    """What is enumerated is no curve's own value: near it where the curve is exact, and never above."""
    rows = {
        verdict.statement: verdict
        for name in ("sparse", "dummy", "public-coin", "private-coin", "laplace", "stability")
        for verdict in curves.of_name(name)
    }
    assert len(rows) == 7
    for statement, verdict in rows.items():
        assert verdict.exact <= verdict.claimed <= (1.1 if "bound" in statement else 1.05) * verdict.exact
        assert verdict.exact != verdict.claimed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "statement"),
    [
        ("sparse", "SparseHistogram, bound"),
        ("dummy", "DummyHistogram, curve"),
        ("public-coin", "PublicCoinHistogram with 1 row, curve"),
        ("laplace", "LaplaceHistogram, curve"),
    ],
)
def test_a_curve_that_is_too_small_fails_against_the_enumeration(name, statement, monkeypatch):
    from shuffledp.accounting.curve import PrivacyCurve

    true_delta = PrivacyCurve.delta
    monkeypatch.setattr(PrivacyCurve, "delta", lambda self, epsilon: 0.97 * true_delta(self, epsilon))
    failed = {verdict.statement for verdict in curves.of_name(name) if not verdict.holds}
    assert statement in failed


def test_what_is_only_an_upper_limit_is_not_called_exact():
    tail = Verdict.at_most(statement="", claim="", claimed=1e-6, exact=1.5777e-30, basis=OWN_LAW)
    bound = Verdict.at_most(statement="", claim="", claimed=1e-6, exact=9e-7, basis=BOUND)
    for verdict in (tail, bound):
        assert {"exact", "slack"}.isdisjoint(verdict.as_dict())
        assert verdict.as_dict()["exact_below"] == verdict.exact
        assert verdict.as_dict()["slack_above"] == verdict.slack
    known = Verdict.at_most(statement="", claim="", claimed=1e-6, exact=9e-7, basis=ENUMERATED)
    assert known.as_dict()["exact"] == 9e-7
    assert "exact_below" not in known.as_dict()


@pytest.mark.slow
def test_the_claim_on_support_identification_is_in_the_table():
    """The numbers of people that docs/reference/paper.md states for two items."""
    verdicts = [verdict for _, verdict in check("support") if "h = 2" in verdict.claim]
    assert verdicts[0].claimed == 0.99
    assert 0.999 < verdicts[0].exact <= 1
    assert verdicts[0].slack is None
    assert [(verdict.claimed, verdict.exact) for verdict in verdicts[1:]] == [(13_631, 6_606), (13_631, 163)]


def test_an_unknown_name_is_refused():
    with pytest.raises(ParameterError, match="one of zsum"):
        list(check("nothing"))


def test_weak_noise_fails_its_statement(monkeypatch):
    """A protocol with less noise than its theorem asks for does not pass."""
    from shuffledp.accounting import theorems

    monkeypatch.setattr(theorems, "theorem_noise_mean", lambda *, epsilon, delta: 5.0)
    verdicts = {verdict.statement: verdict for verdict in histograms.binary_sum()}
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

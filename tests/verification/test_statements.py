"""Every statement holds, each says on what basis, and a false one is noticed."""

import math

import pytest

from shuffledp.errors import ParameterError
from shuffledp.protocols import CATALOGUE
from shuffledp.verification.statements import NAMES, Verdict, check, histograms
from shuffledp.verification.statements.promises import _exponential_below
from shuffledp.verification.statements.verdict import BOUND, ENUMERATED, OWN_CURVE, OWN_LAW


@pytest.fixture(scope="module")
def verdicts():
    return list(check())


@pytest.mark.slow
def test_every_statement_holds(verdicts):
    assert {name for name, _ in verdicts} == set(NAMES)
    assert [verdict.statement for _, verdict in verdicts if not verdict.holds] == []


@pytest.mark.slow
def test_a_protocol_whose_promise_rests_on_its_own_curve_is_enumerated_too(verdicts):
    """Only RealSum, whose shares are too many to list, rests on its own bound alone; every class has one entry at least
    that is enumerated (shuffled hashing is a shuffled response on the hashed cells)."""
    enumerated = set()
    for name in NAMES:
        bases = {verdict.basis for group, verdict in verdicts if group == name}
        assert bases <= {ENUMERATED, OWN_CURVE, OWN_LAW, BOUND}
        if ENUMERATED in bases:
            enumerated.add(name)
    assert set(NAMES) - set(CATALOGUE) - enumerated == {"real-sum", "smooth", "support"}
    assert {entry.kind for entry in CATALOGUE.values()} == {
        CATALOGUE[name].kind for name in enumerated & set(CATALOGUE)
    }


@pytest.mark.slow
def test_enumerations_are_near_the_curves_and_below():
    """What is enumerated is no curve's own value: near it where the curve is exact, and never above."""
    rows = {
        verdict.statement: verdict
        for name in ("sparse", "dummy", "public-coin", "private-coin", "laplace", "stability")
        for _, verdict in check(name)
        if verdict.basis == ENUMERATED
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


def test_the_exponential_is_bounded_from_below():
    for number in (0.1, 1.0, 2.5):
        assert _exponential_below(number) == pytest.approx(math.exp(number), rel=1e-14)
    assert _exponential_below(1.0) < math.nextafter(math.e, 3)

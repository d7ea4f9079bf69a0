"""The statements of the paper and the checks of the protocols: all hold, and a claim is compared to the last digit."""

import math
from fractions import Fraction

import pytest

from shuffledp.errors import ParameterError
from shuffledp.paper.protocol_checks import DEFAULT, NAMES, ORACLES, PROTOCOLS, SUMS, check
from shuffledp.paper.statements import PAPER, Basis, Quantity, Statement, at_most
from shuffledp.protocols import CATALOGUE


@pytest.mark.slow
def test_the_whole_table_holds():
    statements = list(check())
    assert {statement.group for statement in statements} == set(DEFAULT)
    assert [statement.source for statement in statements if not statement.holds] == []
    assert 15 <= len(statements) <= 35
    assert {statement.basis for statement in statements} == set(Basis)
    assert {statement.quantity for statement in statements} == set(Quantity)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in DEFAULT])
def test_variants_hold_by_name(name):
    (statement,) = check(name)
    assert statement.holds
    assert statement.group == name


def test_every_class_is_checked_by_default():
    assert set(SUMS) | set(PAPER) <= set(DEFAULT)
    assert {CATALOGUE[name].kind for name in DEFAULT if name in CATALOGUE} == {e.kind for e in CATALOGUE.values()}
    assert {entry.kind for entry in CATALOGUE.values() if entry.model != "local"} <= ORACLES.keys()
    assert set(PROTOCOLS) <= set(NAMES)


@pytest.mark.slow
def test_calibrations_are_nearly_tight():
    """The oracle is close to the target, so that slightly less noise would fail the check."""
    for name in ("zsum", "hist", "blanket-sum", "dummy", "laplace", "shuffled-response", "public-coin", "response"):
        statement = list(check(name))[-1]
        assert 0.999 * statement.claimed <= statement.computed <= statement.claimed


def test_an_unknown_name_is_refused():
    with pytest.raises(ParameterError, match="one of zsum"):
        list(check("nothing"))


def claim(claimed, computed, **options):
    return at_most("a", "b", Quantity.DELTA, claimed=claimed, computed=computed, **{"basis": Basis.NOISE, **options})


@pytest.mark.parametrize("claimed", [1e-6, 1.0, 42.0])
def test_a_claim_that_is_missed_by_one_float_does_not_hold(claimed):
    above, below = math.nextafter(claimed, math.inf), math.nextafter(claimed, 0)
    assert [claim(claimed, computed).holds for computed in (below, claimed, above)] == [True, True, False]
    assert not claim(claimed, Fraction(claimed) + Fraction(1, 10**60)).holds
    assert claim(claimed, Fraction(claimed), rounding=1e-9).holds


def test_an_upper_limit_is_not_exact():
    assert claim(1e-6, 1.5e-30).is_limit
    assert claim(1e-6, 9e-7, basis=Basis.BOUND).is_limit
    assert not claim(1e-6, 9e-7, basis=Basis.ENUMERATED).is_limit


def test_slack_has_a_meaning_only_for_positive_finite_numbers():
    assert claim(4.0, 2.0).slack == 2
    assert claim(0.0, 0.0).slack is None
    assert claim(math.inf, 1.0).slack is None
    assert next(iter(check("support"))).slack is None


def test_what_is_not_checked_does_not_hold():
    assert not Statement.unchecked("hist", "Histogram", problem="no oracle").holds

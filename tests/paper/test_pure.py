"""Section 4 of the paper: Claim 4.2, generating polynomials, R^infinity, and the lemma of CSU+19."""

import math
import re
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp import ParameterError
from shuffledp.paper.finite_randomizer import FiniteRandomizer
from shuffledp.paper.gap import Gap
from shuffledp.paper.pure_privacy import generating_ratio, opposite_bits, removal_cost, shuffler_removal
from shuffledp.protocols.local import HadamardResponse, RandomizedResponse, UnaryEncoding
from tests.oracles.documents import document
from tests.oracles.enumerable_protocols import ENUMERABLE
from tests.oracles.random_randomizers import HALF, larger, multi_message, single_message


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(single_message(), st.integers(1, 6))
def test_claim_4_2_a_single_message_is_as_private_alone(randomizer, users):
    assert randomizer.single_message
    assert randomizer.shuffled_privacy(users=users).ratio == randomizer.privacy().ratio


@pytest.mark.parametrize("users", [10, 40])
def test_claim_4_2_for_many_people(users):
    randomizer = FiniteRandomizer.single({0: {0: HALF, 1: HALF}, 1: {0: Fraction(1, 7), 1: Fraction(6, 7)}})
    exact = randomizer.shuffled_privacy(users=users)
    assert exact.ratio == Fraction(7, 2)
    # the pair of the paper's proof: everyone holds the same value, except for one
    assert (exact.dataset, set(exact.neighbour[1:]), set(exact.outcome)) == ((0,) * users, {0}, {0})


def test_claim_4_2_is_false_for_several_messages_and_for_approximate_privacy():
    gap = Gap.uniform().randomizer
    assert gap.shuffled_privacy(users=3).ratio < larger(gap.pre_shuffled().privacy().ratio)
    response = FiniteRandomizer.of(RandomizedResponse(users=8, bins=2, epsilon=1), range(2))
    delta = Fraction(1, 100)
    assert response.shuffled_privacy(users=20, delta=delta).epsilon < 0.8 * response.privacy(delta=delta).epsilon


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(multi_message(), st.integers(1, 4), st.fractions(Fraction(1, 50), 50), st.fractions(Fraction(1, 50), 50))
def test_generating_polynomials_bound_epsilon_for_every_n(randomizer, users, first, second):
    bound = generating_ratio(randomizer, {0: first, 1: second})
    assert larger(randomizer.shuffled_privacy(users=users).ratio) >= bound


@settings(max_examples=30, deadline=None)
@given(single_message())
def test_generating_polynomials_give_claim_4_2(randomizer):
    """With nearly all weight on one symbol the bound is that symbol's likelihood ratio."""
    tiny = Fraction(1, 10**12)
    bounds = [
        generating_ratio(randomizer, {s: Fraction(1) if s == chosen else tiny for s in randomizer.symbols})
        for chosen in randomizer.symbols
    ]
    local = randomizer.privacy().ratio
    assert max(bounds) > 10**9 if local is None else max(bounds) == pytest.approx(float(local), rel=1e-9)


def test_r_infinity_says_everything_as_sent_and_nothing_shuffled():
    randomizer = opposite_bits()
    assert randomizer.privacy().ratio is None
    assert randomizer.privacy().epsilon == math.inf
    assert randomizer.pre_shuffled().privacy().ratio == 1
    for users in (1, 2, 7, 30):
        exact = randomizer.shuffled_privacy(users=users)
        assert exact.ratio == 1
        assert exact.epsilon == 0
        assert exact.outcome == (0,) * users + (1,) * users


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(single_message(), st.integers(1, 5), st.fractions(1, 8, max_denominator=9))
def test_lemma_of_csu19_on_removing_the_shuffler(randomizer, users, ratio):
    assert shuffler_removal(randomizer, users=users, ratio=ratio).holds


def test_the_lemma_of_csu19_needs_its_ln_n():
    """With less than n in place of n it is false, so a test of it can fail."""
    n = 6
    randomizer = FiniteRandomizer.single({0: {0: Fraction(99, 100), 1: Fraction(1, 100)}, 1: {0: HALF, 1: HALF}})
    for ratio in (Fraction(1), Fraction(4)):
        check = shuffler_removal(randomizer, users=n, ratio=ratio)
        assert check.holds
        assert randomizer.delta(ratio=ratio).delta > check.shuffled_delta


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ENUMERABLE, ids=lambda p: type(p).__name__)
def test_the_cost_of_removing_the_shuffler_from_real_protocols(protocol):
    randomizer = FiniteRandomizer.of(protocol, range(protocol.bins))
    for users in (2, 5):
        cost = removal_cost(randomizer, users=users, delta=Fraction(1, 1000))
        assert 0 < cost.gap < math.log(users)  # by amplification, the shuffled epsilon is below the local one
        pure = removal_cost(randomizer, users=users, delta=Fraction(0))
        assert pure.gap == pytest.approx(math.log(users), abs=1e-12)


@pytest.mark.slow
def test_the_table_of_the_documentation_is_true():
    text = document("pure-privacy.md")
    rows = re.findall(r"^\| (\w+), (\d) bins \| (\d+) \|(.*)\|$", text, flags=re.MULTILINE)
    assert len(rows) == 5
    kinds = {kind.__name__: kind for kind in (RandomizedResponse, HadamardResponse, UnaryEncoding)}
    for name, bins, users, figures in rows:
        protocol = kinds[name](users=1, bins=int(bins), epsilon=1)
        randomizer = FiniteRandomizer.of(protocol, range(protocol.bins))
        cost = removal_cost(randomizer, users=int(users), delta=Fraction(1, 1000))
        measured = (cost.shuffled.epsilon, cost.promised, cost.local.epsilon, cost.gap)
        assert [float(x) for x in figures.split("|")] == pytest.approx(measured, abs=6e-4)


def test_the_lemma_is_about_single_messages():
    with pytest.raises(ParameterError, match="single-message"):
        shuffler_removal(opposite_bits(), users=2, ratio=Fraction(1))
    # and it is false for several
    assert opposite_bits().delta(ratio=Fraction(2)).delta > opposite_bits().shuffled_delta(users=2, ratio=1).delta

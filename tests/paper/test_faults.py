"""Every kind of row of `shuffledp verify` fails if the code that it checks has a fault."""

from dataclasses import replace
from fractions import Fraction

import pytest

from shuffledp.accounting import theorems
from shuffledp.paper import SupportIdentification, statements
from shuffledp.paper.finite_randomizer import FiniteRandomizer
from shuffledp.paper.gap import Gap
from shuffledp.paper.protocol_checks import SUMS, check
from shuffledp.protocols import (
    CATALOGUE,
    AmplifiedOracle,
    BinarySum,
    BlanketHistogram,
    BlanketSum,
    DummyHistogram,
    Histogram,
    LaplaceHistogram,
    LocalHashing,
    PrivateCoinHistogram,
    PublicCoinHistogram,
    RealSum,
    SparseHistogram,
    StabilityHistogram,
)
from shuffledp.protocols.local import BassilySmith, HadamardResponse, RandomizedResponse, UnaryEncoding
from shuffledp.protocols.shuffled import amplified


def failed(name):
    return [statement.source for statement in check(name) if not statement.holds]


# The paper --------------------------------------------------------------------------------------------------------


def test_too_little_noise_fails_the_theorems(monkeypatch):
    monkeypatch.setattr(theorems, "theorem_noise_mean", lambda *, epsilon, delta: 5.0)
    assert failed("zsum") == ["Theorem 3.1 i"]
    assert failed("hist") == ["Theorem 3.2 i"]


def test_an_error_above_the_bound_fails(monkeypatch):
    monkeypatch.setattr(theorems, "sum_error_bound", lambda *, epsilon, delta, beta: 2963.0)
    monkeypatch.setattr(theorems, "simultaneous_error_bound", lambda **_: 2963.0)
    assert failed("zsum") == ["Theorem 3.1 ii"]
    assert failed("hist") == ["Theorem 3.2 ii", "Theorem 3.2 iii"]


def test_a_count_of_nobody_that_is_not_zero_fails(monkeypatch):
    monkeypatch.setattr(BinarySum, "estimate", lambda self, tally: {1: tally.total - 2})
    assert failed("zsum") == ["Theorem 3.1 iii"]


def test_one_message_too_many_fails(monkeypatch):
    for kind in (BinarySum, Histogram):
        monkeypatch.setattr(kind, "randomizer_distribution", longer(kind.randomizer_distribution))
    assert "Theorem 3.1 iv" in failed("zsum")
    assert "Theorem 3.2 iv" in failed("hist")


def longer(randomizer_distribution):
    return lambda self, value: {(*messages, 1): p for messages, p in randomizer_distribution(self, value).items()}


def test_smoothness_claims_that_are_too_small_fail(monkeypatch):
    monkeypatch.setattr(statements, "smooth_delta", lambda *_, **__: 1e-4)
    for name in ("binomial_lemma", "corollary"):
        true = getattr(statements, name)
        monkeypatch.setattr(statements, name, lambda true=true, **given: replace(true(**given), claimed_delta=0.0))
    assert len(failed("smooth")) == 3


def test_too_few_users_for_support_identification_fail(monkeypatch):
    true_size = SupportIdentification.claimed_sample_size
    monkeypatch.setattr(SupportIdentification, "claimed_sample_size", lambda self, **p: true_size(self, **p) // 3)
    assert failed("support")


def test_a_local_epsilon_that_differs_from_the_shuffled_one_fails(monkeypatch):
    true_privacy = FiniteRandomizer.privacy
    monkeypatch.setattr(
        FiniteRandomizer, "privacy", lambda self: replace(true_privacy(self), ratio=true_privacy(self).ratio * 2)
    )
    assert "Claim 4.2" in failed("single-message")


def test_a_simulation_with_another_output_fails(monkeypatch):
    other = statements.FiniteProtocol(users=3, randomizer=statements.response(epsilon=2.0), analyzer=tuple)
    true_to_local = statements.to_local
    monkeypatch.setattr(statements, "to_local", lambda protocol: true_to_local(other))
    assert failed("single-message") == ["Theorem 4.1"]


def test_randomizers_that_do_not_separate_fail(monkeypatch):
    private = statements.response(epsilon=1.0)
    monkeypatch.setattr(statements, "opposite_bits", lambda: private)
    assert failed("r-infinity")
    monkeypatch.setattr(FiniteRandomizer, "pre_shuffled", lambda self: private)
    assert failed("r-gap")
    assert Gap.uniform().privacy(users=2).ratio == Fraction(5, 2)


# The protocols ----------------------------------------------------------------------------------------------------


CALIBRATED = {
    "zsum": BinarySum,
    "hist": Histogram,
    "blanket": BlanketHistogram,
    "blanket-sum": BlanketSum,
    "public-coin": PublicCoinHistogram,
    "private-coin": PrivateCoinHistogram,
    "dummy": DummyHistogram,
    "dummy-poisson": DummyHistogram,
    "sparse": SparseHistogram,
    "shuffled-response": AmplifiedOracle,
    "stability": StabilityHistogram,
    "laplace": LaplaceHistogram,
    "response": RandomizedResponse,
    "unary": UnaryEncoding,
    "hashing": LocalHashing,
    "hadamard": HadamardResponse,
    "bassily-smith": BassilySmith,
}


def for_another_target(monkeypatch, kind, **changes):
    """Make the calibration aim at a target other than the requested one."""
    true_for_target = kind.for_target.__func__

    def for_target(cls, target, **choices):
        return true_for_target(cls, replace(target, **{name: change(target) for name, change in changes.items()}))

    monkeypatch.setattr(kind, "for_target", classmethod(for_target))


@pytest.mark.parametrize("name", CALIBRATED)
def test_a_larger_epsilon_fails(name, monkeypatch):
    for_another_target(monkeypatch, CALIBRATED[name], epsilon=lambda target: 1.2 * target.epsilon)
    assert failed(name)


@pytest.mark.parametrize("name", ["zsum", "hist", "blanket-sum", "dummy"])
def test_an_epsilon_that_is_a_thousandth_too_large_fails(name, monkeypatch):
    for_another_target(monkeypatch, CALIBRATED[name], epsilon=lambda target: 1.001 * target.epsilon)
    assert failed(name)


@pytest.mark.parametrize("name", [name for name in CALIBRATED if name in SUMS or CATALOGUE[name].model == "shuffled"])
def test_a_calibration_that_counts_on_all_users_fails(name, monkeypatch):
    for_another_target(monkeypatch, CALIBRATED[name], honest_users=lambda target: target.users)
    assert failed(name)


def test_too_few_shares_fail(monkeypatch):
    monkeypatch.setattr(RealSum, "shares", property(lambda self: 3))
    assert failed("real-sum") == ["RealSum"]


@pytest.fixture
def _no_cached_protocols():
    amplified._best.cache_clear()
    yield
    amplified._best.cache_clear()


@pytest.mark.usefixtures("_no_cached_protocols")
def test_too_few_telling_messages_fail(monkeypatch):
    telling = LocalHashing.telling.fget
    monkeypatch.setattr(LocalHashing, "telling", property(lambda self: 0.5 * telling(self)))
    assert failed("shuffled-hashing")


def test_a_check_that_raises_does_not_hold(monkeypatch):
    def broken(cls, target, **choices):
        raise IndexError

    monkeypatch.setattr(Histogram, "for_target", classmethod(broken))
    (statement,) = check("hist-unbiased")
    assert statement.problem == "IndexError"
    assert not statement.holds

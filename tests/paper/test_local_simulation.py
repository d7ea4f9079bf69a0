"""Theorem 4.1: the local protocol that simulates a single-message shuffled one."""

import math
from fractions import Fraction
from itertools import pairwise, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp import Histogram, ParameterError, run
from shuffledp.paper.finite_randomizer import FiniteRandomizer
from shuffledp.paper.pure_privacy import FiniteProtocol, opposite_bits, to_local
from shuffledp.protocols import AmplifiedOracle, RandomizedResponse
from tests.oracles.goodness import FALSE_FAILURE_RATE, p_value
from tests.oracles.random_randomizers import single_message

ANALYZERS = {
    "everything": tuple,
    "the first message": lambda messages: messages[0],
    "runs": lambda messages: sum(a != b for a, b in pairwise(messages)),
    "the sum": sum,
}


def protocol_of(randomizer, users, analyzer):
    return FiniteProtocol(users=users, randomizer=randomizer, analyzer=analyzer)


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(single_message(), st.integers(1, 3), st.sampled_from(sorted(ANALYZERS)))
def test_theorem_4_1_the_output_distribution_is_the_same_for_every_input(randomizer, users, analyzer):
    protocol = protocol_of(randomizer, users, ANALYZERS[analyzer])
    local = to_local(protocol)
    for dataset in product(randomizer.values, repeat=users):
        assert local.output_distribution(dataset) == protocol.output_distribution(dataset)


@settings(max_examples=30, deadline=None)
@given(single_message(), st.integers(1, 4))
def test_theorem_4_1_the_randomizer_keeps_epsilon(randomizer, users):
    local = to_local(protocol_of(randomizer, users, tuple))
    assert local.guarantee.epsilon == randomizer.privacy().epsilon
    assert local.guarantee.delta == 0


def test_theorem_4_1_needs_its_permutation():
    """An analyzer that looks at the order has another distribution if the messages come in the order of people."""
    randomizer = FiniteRandomizer.of(RandomizedResponse(users=2, bins=2, epsilon=1), range(2))
    protocol = protocol_of(randomizer, 2, ANALYZERS["the first message"])
    unpermuted = {message: p for (message,), p in randomizer.table[0].items()}
    assert to_local(protocol).output_distribution((0, 1)) == protocol.output_distribution((0, 1))
    assert protocol.output_distribution((0, 1)) != unpermuted


@pytest.mark.slow
def test_the_local_simulation_draws_from_the_distribution():
    """The analyzer keeps the first of four messages and the sum of the rest."""
    randomizer = FiniteRandomizer.of(RandomizedResponse(users=4, bins=2, epsilon=1), range(2))
    protocol = protocol_of(randomizer, 4, lambda messages: (messages[0], sum(messages[1:])))
    local, dataset, rng = to_local(protocol), (0, 0, 1, 1), np.random.default_rng(5)
    distribution = protocol.output_distribution(dataset)
    outputs = [local.estimate(local.tally(local.randomize(dataset, rng=rng), rng=rng)) for _ in range(3000)]
    observed = np.array([outputs.count(output) for output in distribution])
    assert p_value(observed, np.array([float(p) for p in distribution.values()])) > FALSE_FAILURE_RATE
    # without the permutation the test fails
    ordered = [local.estimate(protocol.tally(local.randomize(dataset, rng=rng))) for _ in range(3000)]
    observed = np.array([ordered.count(output) for output in distribution])
    assert p_value(observed, np.array([float(p) for p in distribution.values()])) < FALSE_FAILURE_RATE


@pytest.mark.slow
def test_a_real_protocol_and_its_local_simulation_have_one_distribution():
    """Among 300 people, both follow Bin(c, p) + Bin(n - c, q) in a bin."""
    protocol = RandomizedResponse(users=300, bins=3, epsilon=1)
    local, rng = to_local(protocol), np.random.default_rng(6)
    values = np.repeat([0, 1, 2], [50, 100, 150])
    distribution = np.convolve(binomial(50, protocol.true_support), binomial(250, protocol.false_support))
    for simulate in (
        lambda: local.tally(local.randomize(values, rng=rng), rng=rng).counts[0],
        lambda: (
            run(protocol, values, rng=rng)[0] * (protocol.true_support - protocol.false_support)
            + 300 * protocol.false_support
        ),
    ):
        drawn = np.array([round(float(simulate())) for _ in range(2000)])
        assert p_value(np.bincount(drawn, minlength=distribution.size), distribution) > FALSE_FAILURE_RATE
    estimate = local.estimate(local.tally(local.randomize(values, rng=rng), rng=rng))
    assert estimate.bins == 3
    assert local.users == 300


def binomial(n, p):
    return np.array([math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)])


@pytest.mark.slow
def test_the_guarantee_of_a_local_simulation():
    pure = RandomizedResponse(users=100, bins=3, epsilon=0.7)
    assert (to_local(pure).guarantee.epsilon, to_local(pure).guarantee.delta) == (0.7, 0)
    amplified = AmplifiedOracle.calibrate(
        users=1000, bins=3, epsilon=0.5, delta=1e-6, honest_users=900, kind=RandomizedResponse
    )
    local = to_local(amplified)
    assert local.guarantee.epsilon == pytest.approx(0.5 + math.log(900))
    assert local.guarantee.delta == 1e-6
    # the lemma's promise, beside the truth
    exact = FiniteRandomizer.of(amplified.oracle, range(3)).privacy(delta=Fraction(1e-6))
    assert exact.epsilon < local.guarantee.epsilon


def test_what_is_not_a_single_message_protocol_is_refused():
    with pytest.raises(ParameterError, match="single-message"):
        to_local(Histogram.calibrate(users=1000, bins=3, epsilon=1, delta=1e-6))
    with pytest.raises(ParameterError, match="single-message"):
        to_local(protocol_of(opposite_bits(), 2, tuple))
    for what in (3, None, opposite_bits()):
        with pytest.raises(ParameterError, match="shuffled protocol"):
            to_local(what)
    silent = FiniteRandomizer({0: {(): Fraction(1)}, 1: {("x",): Fraction(1)}})
    with pytest.raises(ParameterError, match="single-message"):
        to_local(protocol_of(silent, 2, tuple))


def test_the_order_of_a_multiset_is_uniform_in_the_enumeration():
    randomizer = FiniteRandomizer.single({0: {0: Fraction(1)}, 1: {1: Fraction(1)}})
    distribution = protocol_of(randomizer, 3, tuple).output_distribution((0, 0, 1))
    assert distribution == dict.fromkeys(set(permutations((0, 0, 1))), Fraction(1, 3))

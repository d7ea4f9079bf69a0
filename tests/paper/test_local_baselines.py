"""Local baselines: drawn from their distribution as with every message made."""

import numpy as np
import pytest
from scipy import stats

from shuffledp import DataError, ParameterError
from shuffledp.paper import PointerChasing, PointerJumping, SupportIdentification
from shuffledp.paper.local_baselines import LocalChasing, LocalJumping, LocalSupport
from shuffledp.protocols.local import HadamardResponse, RandomizedResponse
from tests.oracles.goodness import FALSE_FAILURE_RATE, p_value


@pytest.mark.parametrize("kind", [HadamardResponse, RandomizedResponse])
@pytest.mark.parametrize("held", [[2], [0, 3, 5], [0, 1, 2, 3, 4, 5]])
def test_reports_and_messages_have_one_distribution(kind, held):
    oracle, rng = kind(users=20_000, bins=6, epsilon=1.0), np.random.default_rng(9)
    shares = np.zeros(6)
    shares[held] = 1 / len(held)
    distribution = oracle.report_distribution(shares)
    assert distribution.sum() == pytest.approx(1)
    messages = oracle.randomize(rng.choice(held, size=20_000), rng=rng)
    sent = np.bincount(messages, minlength=oracle.symbols)
    assert p_value(sent, distribution) > FALSE_FAILURE_RATE
    assert np.array_equal(oracle.supports_of(sent), oracle.supports(messages))


def chased_with_messages(baseline, rng):
    problem, oracle = baseline.problem, baseline.oracle
    instance = problem.draw(rng=rng)
    positions = rng.integers(0, problem.length, size=baseline.users)
    values = np.where(
        rng.random(baseline.users) < 0.5,
        instance.first[0] - 1,
        problem.length + np.array(instance.second)[positions] - 1,
    )
    messages = oracle.randomize(values, rng=rng)
    start = baseline._first(np.bincount(messages, minlength=oracle.symbols))
    there = np.bincount(messages[positions == start], minlength=oracle.symbols)
    return start == instance.first[0] - 1 and baseline._second(there) + 1 == problem.answer(instance)


def jumped_with_messages(baseline, rng):
    problem, oracle = baseline.problem, baseline.oracle
    instance, node, path = problem.draw(rng=rng), 0, []
    for level in instance:
        holds = rng.integers(1, problem.levels + 1, size=baseline.round_users)
        values = np.where(holds == level.depth, level.label(node), problem.branching)
        messages = oracle.randomize(values, rng=rng)
        path.append(baseline._label(np.bincount(messages, minlength=oracle.symbols)))
        node = node * problem.branching + path[-1]
    return tuple(path) == problem.answer(instance)


def found_with_messages(baseline, rng):
    support = np.array(baseline.problem.draw(rng=rng))
    messages = baseline.oracle.randomize(rng.choice(support, size=baseline.users), rng=rng)
    return baseline._finds(support, np.bincount(messages, minlength=baseline.oracle.symbols))


WITH_MESSAGES = {
    LocalChasing: chased_with_messages,
    LocalJumping: jumped_with_messages,
    LocalSupport: found_with_messages,
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "baseline",
    [
        LocalChasing(problem=PointerChasing(steps=2, length=5), users=600, epsilon=1.0),
        LocalChasing(problem=PointerChasing(steps=2, length=4), users=12, epsilon=4.0),
        LocalJumping(problem=PointerJumping(levels=2), users=300, epsilon=1.0),
        LocalSupport(problem=SupportIdentification(items_in_support=3, bins=50), users=800, epsilon=1.0),
    ],
    ids=["chasing", "chasing by randomized response", "jumping", "support"],
)
def test_baselines_sampled_from_their_distribution_succeed_as_often_as_with_messages(baseline):
    rng, trials = np.random.default_rng(10), 1500
    drawn = sum(baseline.run(rng) for _ in range(trials))
    made = sum(WITH_MESSAGES[type(baseline)](baseline, rng) for _ in range(trials))
    assert 0.2 * trials < drawn < 0.97 * trials
    table = [[drawn, trials - drawn], [made, trials - made]]
    assert stats.fisher_exact(table).pvalue > FALSE_FAILURE_RATE


def test_a_local_baseline_with_hardly_any_privacy_needs_only_the_sample():
    problem = PointerChasing(steps=2, length=5)
    rng = np.random.default_rng(11)
    assert all(LocalChasing(problem=problem, users=200, epsilon=20.0).run(rng) for _ in range(50))
    assert sum(LocalChasing(problem=problem, users=200, epsilon=0.01).run(rng) for _ in range(200)) < 60


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (lambda: LocalChasing(problem=PointerChasing(steps=3, length=4), users=9, epsilon=1.0), "steps=2"),
    ],
)  # fmt: skip
def test_bad_parameters(wrong, reason):
    with pytest.raises((ParameterError, DataError), match=reason):
        wrong()

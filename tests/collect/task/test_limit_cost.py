"""The cost of a limit on messages if the tally does not tell who sampled again, compared with all outcomes."""

import math
from fractions import Fraction
from functools import cache

import msgspec
import pytest

from shuffledp.collect.task.guarantee import CODECS, is_padded
from shuffledp.noise import CompoundPoisson
from shuffledp.noise.compound_poisson import SIZE_GRID
from shuffledp.protocols.message_limit import LimitCost
from shuffledp.protocols.shuffled.dummy import DummyHistogram
from shuffledp.protocols.shuffled_histogram import chance_of_more, seldom_enough
from tests.collect.series import small_series
from tests.collect.tasks import small_task

PEOPLE, BINS, RATE = 2, 2, 2
LARGE = SIZE_GRID // 1000
CLUSTERS = (SIZE_GRID - LARGE, 0, 0, 0, 0, 0, 0, LARGE)
SINGLE = (SIZE_GRID,)
RATIOS = [Fraction(2), Fraction(3), Fraction(4)]


def dummies(sizes):
    """Two people with two bins, each of whom adds `RATE` clusters on average to each bin."""
    noise = CompoundPoisson(rate=float(PEOPLE * RATE), size_weights=sizes)
    return DummyHistogram(users=PEOPLE, bins=BINS, noise=noise)


@cache
def limited(sizes, most):
    """The weights of the dummies in both bins of both people, each with at most `most` messages, and their sum.

    Every weight is a fraction: a probability times e^(people * bins * rate).
    """
    weights = [Fraction(1)]
    for number in range(1, most):
        clusters = sum(
            size * Fraction(weight, SIZE_GRID) * weights[number - size]
            for size, weight in enumerate(sizes, start=1)
            if size <= number
        )
        weights.append(RATE * clusters / number)
    one = {(a, b): weights[a] * weights[b] for a in range(most) for b in range(most - a)}
    both = {}
    for (a, b), p in one.items():
        for (c, d), q in one.items():
            both[a + c, b + d] = both.get((a + c, b + d), 0) + p * q
    return both, sum(one.values()) ** PEOPLE


def true_delta(sizes, most, ratio):
    """The delta of the people who sample again, over all tallies, in fractions."""
    both, total = limited(sizes, most)
    tallies = {(a + 1, b) for a, b in both} | {(a, b + 1) for a, b in both}
    gaps = (both.get((a - 1, b), 0) - ratio * both.get((a, b - 1), 0) for a, b in tallies)
    return float(sum(max(Fraction(0), gap) for gap in gaps) / total)


def sampled_again(sizes, most):
    """The probability that somebody samples again; floats are off by 1e-15 here."""
    return 1 - float(limited(sizes, most)[1]) * math.exp(-PEOPLE * BINS * RATE)


@pytest.mark.parametrize("ratio", RATIOS)
def test_a_factor_alone_is_below_the_truth_for_clusters(ratio):
    """The curve is never below the truth, so what fails is the lemma: it is off by 1.6e-4 to 3e-4."""
    protocol, most, epsilon = dummies(CLUSTERS), 10, math.log(ratio)
    again, truth = sampled_again(CLUSTERS, most), true_delta(CLUSTERS, most, ratio)
    assert chance_of_more(protocol, most) >= again > 0.02
    assert protocol.privacy.delta(epsilon) / (1 - again) < truth - 1e-4
    assert LimitCost(kept=1 - again, hidden=again).delta(protocol.privacy.delta, epsilon) >= truth
    assert LimitCost.of(protocol, most).delta(protocol.privacy.delta, epsilon) >= truth


@pytest.mark.parametrize("most", [4, 6, 8, 10])
@pytest.mark.parametrize("ratio", RATIOS)
def test_the_factor_suffices_for_dummies_one_at_a_time(ratio, most):
    protocol, epsilon = dummies(SINGLE), math.log(ratio)
    again, truth = sampled_again(SINGLE, most), true_delta(SINGLE, most, ratio)
    free = protocol.privacy.delta(epsilon)
    assert truth <= LimitCost(kept=1 - again).delta(lambda _: free, epsilon) == free / (1 - again)
    assert truth > free  # the factor is needed


@pytest.mark.parametrize("name", CODECS)
def test_padded_protocols_have_the_term(name):
    task = small_task(protocol=name).task
    most = max(1, task.most_messages - 3)
    again = chance_of_more(task.protocol, most)
    assert again > 0
    assert LimitCost.of(task.protocol, most) == LimitCost(1 - again, again if is_padded(name) else 0.0)


def test_limits_of_several_tasks_add_up():
    one, other = LimitCost(0.75, 0.25), LimitCost(0.5, 0.125)
    assert LimitCost.of_all([one, other, other]) == LimitCost(0.1875, 0.5)
    assert LimitCost.of_all([one] * 3) == one.times(3)
    assert LimitCost.of_all([]) == LimitCost()
    assert one.delta(lambda _: 0.125, 0.0) == (0.125 + 0.25) / 0.75
    assert LimitCost(0.0, 0.0).delta(lambda _: 0.0, 1.0) == 1.0


def test_a_larger_epsilon_is_never_refused_for_the_term():
    """A task that a person allows at its own epsilon is also allowed at every larger one."""
    task = small_task(protocol="sparse", epsilon=0.5, delta=1e-4, users=1000).task
    for epsilon in (0.5, 3.0, 10.0, 25.0, 50.0):
        assert task.check(at_most=(epsilon, 1.0001e-4))
    cost, curve = LimitCost(1.0, 1e-12), task.protocol.privacy.delta
    assert cost.delta(curve, 50.0) < 2e-4 < cost.added(50.0)


GRID = [(0.1, 1e-3), (0.1, 1e-10), (1.0, 1e-6), (3.0, 1e-10), (8.0, 1e-3), (8.0, 1e-10)]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hist", "dummy", "sparse"])
@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_new_tasks_keep_their_claims(name, epsilon, delta):
    """The term is below the rounding margin of a new task."""
    users = 200_000 if epsilon < 1 else 2000
    answers = tuple(str(at) for at in range(60))
    task = small_task(protocol=name, epsilon=epsilon, delta=delta, users=users, answers=answers).task
    cost = LimitCost.of(task.protocol, task.most_messages)
    assert task.check().reached <= delta * (1 + 1e-9)
    assert cost.added(epsilon) <= 1.001e-10 * delta
    assert chance_of_more(task.protocol, task.most_messages) <= seldom_enough(delta)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dummy", "sparse"])
@pytest.mark.parametrize(("epsilon", "delta", "rounds"), [(0.5, 1e-6, 3), (8.0, 1e-9, 12), (8.0, 1e-4, 2)])
def test_new_series_keep_their_claims(name, epsilon, delta, rounds):
    series = small_series(protocol=name, epsilon=epsilon, delta=delta, rounds=rounds, users=20_000).series
    assert series.check().total.reached <= delta * (1 + 1e-9)
    cost = LimitCost.of(series.protocol, series.most_messages).times(rounds)
    assert cost.added(epsilon) <= 1.001e-10 * delta


def test_the_term_counts_in_a_claim():
    """A limit that readers accept, and that makes a tight claim of a small delta false."""
    task = small_task(protocol="sparse", epsilon=4.0, delta=1e-12, users=2000, answers=tuple(map(str, range(60)))).task
    reached = task.check().reached
    fewer = next(
        most
        for most in range(task.most_messages)
        if chance_of_more(task.protocol, most) <= seldom_enough(task.guarantee.delta)
    )
    added = LimitCost.of(task.protocol, fewer).added(4.0)
    assert added > 1e-2 * reached
    shorter = msgspec.structs.replace(
        task, most_messages=fewer, claim=msgspec.structs.replace(task.claim, delta="2e-12")
    )
    assert shorter.check().reached == pytest.approx(shorter.protocol.privacy.delta(4.0) + added, rel=1e-6)

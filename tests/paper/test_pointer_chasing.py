"""Pointer chasing: the chase by hand, values as numbers, messages and the drawn distribution."""

from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from shuffledp import DataError, Histogram, ParameterError, run
from shuffledp.paper import PointerChasing, PointerInstance
from shuffledp.paper.pointers import rank, unrank
from tests.oracles.goodness import assert_distribution
from tests.oracles.item_finders import FINDERS, GUARANTEE, WITH_FALSE_POSITIVES, report_chance
from tests.oracles.successes import agrees

BY_HAND = PointerInstance(first=(3, 1, 4, 2), second=(2, 4, 1, 3))
# a_1 = 3, b_3 = 1, a_1 = 3, ...; from 3 to 1 and back for ever

OTHER = PointerInstance(first=(2, 3, 1), second=(3, 1, 2))
# a_1 = 2, b_2 = 1, a_1 = 2, ...

LONGER = PointerInstance(first=(2, 3, 1), second=(3, 2, 1))
# a_1 = 2, b_2 = 2, a_2 = 3, b_3 = 1, a_1 = 2


def test_the_chase_by_hand():
    def chased(instance, steps):
        return [PointerChasing(steps=k, length=len(instance.first)).answer(instance) for k in range(1, steps + 1)]

    assert chased(BY_HAND, 4) == [3, 1, 3, 1]
    assert chased(OTHER, 3) == [2, 1, 2]
    assert chased(LONGER, 5) == [2, 2, 3, 1, 2]


def test_a_chase_without_a_permutation_that_it_needs_has_no_answer():
    first, second = BY_HAND.support
    assert PointerChasing(steps=1, length=4).chase([first]) == 3
    assert PointerChasing(steps=2, length=4).chase([first]) is None
    assert PointerChasing(steps=1, length=4).chase([second]) is None


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_permutations_are_numbered(length):
    listed = list(permutations(range(1, length + 1)))
    assert [rank(permutation) for permutation in listed] == list(range(len(listed)))
    assert [unrank(place, length) for place in range(len(listed))] == listed
    problem = PointerChasing(steps=2, length=length)
    labels = [(part, permutation) for part in (1, 2) for permutation in listed]
    assert problem.encode(labels).tolist() == list(range(problem.bins))
    assert [problem.decode(number) for number in range(problem.bins)] == labels


@pytest.mark.slow
@pytest.mark.parametrize("by_messages", [True, False])
def test_messages_and_the_drawn_distribution_agree_for_short_permutations(by_messages):
    """Every coordinate of the tally, and how often the chase succeeds, for all 2 * 3! values."""
    problem, rng = PointerChasing(steps=2, length=3), np.random.default_rng(4)
    protocol = Histogram(users=30, bins=problem.bins, missing_probability=0.3125)
    first, second = problem.encode(LONGER.support).tolist()
    noise, solved, trials = [], 0, 1500
    for _ in range(trials):
        if by_messages:
            values = rng.choice([first, second], size=30)
            tally = protocol.tally(rng.permutation(protocol.randomize(values, rng=rng)))
            counts = np.bincount(values, minlength=problem.bins)
            noise.append(counts + 30 - tally.counts)
        else:
            sample = problem.sample(LONGER, users=30, rng=rng)
            tally = protocol.sample_tally(sample, rng=rng)
            noise.append(sample.counts + 30 - tally.counts)
        solved += problem.solved(LONGER, protocol.estimate(tally))
    for coordinate in np.array(noise).T:
        assert_distribution(coordinate, 0, protocol.noise.window.pmf)
    assert agrees(solved, trials, problem.success(protocol))
    assert 0.1 < problem.success(protocol) < 0.9


def test_a_whole_run_with_messages():
    problem, rng = PointerChasing(steps=2, length=4), np.random.default_rng(5)
    protocol = Histogram.calibrate(users=300, bins=problem.bins, **GUARANTEE)
    values = rng.choice(problem.encode(BY_HAND.support), size=300)
    assert problem.solve(run(protocol, values, rng=rng)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("length", [10, 10_000])
def test_long_permutations_are_solved_by_few_people(length):
    problem, rng = PointerChasing(steps=2, length=length), np.random.default_rng(6)
    trials, solved = 40, 0
    protocol = Histogram.calibrate(users=200, bins=problem.bins, **GUARANTEE)
    for _ in range(trials):
        instance = problem.draw(rng=rng)
        tally = protocol.sample_tally(problem.sample(instance, users=200, rng=rng), rng=rng)
        solved += problem.solved(instance, protocol.estimate(tally, domain=problem.domain))
    assert problem.success(protocol) > 0.999
    assert solved >= 38


def test_one_step_needs_one_permutation():
    protocol = FINDERS["exact"](160)
    one, two = (PointerChasing(steps=k, length=50).success(protocol) for k in (1, 2))
    halves = stats.binom.pmf(np.arange(161), 160, 0.5)
    assert one == pytest.approx(sum(halves * [report_chance(protocol, c) for c in range(161)]), abs=1e-9)
    assert two < one < 1
    assert PointerChasing(steps=7, length=50).success(protocol) == two


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (lambda: PointerChasing(steps=0, length=3), "steps must be at least 1"),
        (lambda: PointerChasing(steps=2, length=2.5), "length must be a whole number"),
        (lambda: PointerChasing(steps=2, length=9).encode([]), "too long for messages"),
        (lambda: PointerInstance((1, 2), (1, 1)), "permutations"),
        (lambda: PointerInstance((1, 2), (1, 2, 3)), "permutations"),
        (lambda: PointerChasing(steps=2, length=3).answer(BY_HAND), "not of 1 .. 3"),
        (lambda: PointerChasing(steps=2, length=3).encode([(3, (1, 2, 3))]), "1 or 2 and a permutation"),
        (lambda: PointerChasing(steps=2, length=3).encode([(1, (1, 2, 2))]), "1 or 2 and a permutation"),
        (lambda: PointerChasing(steps=2, length=3).encode([7]), "1 or 2 and a permutation"),
        (lambda: PointerChasing(steps=2, length=3).decode(12), "numbered 0 .. 11"),
        (lambda: PointerChasing(steps=2, length=3).decode(-1), "numbered 0 .. 11"),
        (lambda: PointerChasing(steps=2, length=3).success(WITH_FALSE_POSITIVES), "false positives"),
    ],
)  # fmt: skip
def test_bad_parameters(wrong, reason):
    with pytest.raises((ParameterError, DataError), match=reason):
        wrong()

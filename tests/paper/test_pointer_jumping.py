"""Pointer jumping: the path by hand, labels on demand, computed success against simulated."""

import numpy as np
import pytest

from shuffledp import DataError, Histogram, ParameterError
from shuffledp.paper import PointerJumping
from shuffledp.paper.pointers import Level
from tests.oracles.goodness import p_value
from tests.oracles.item_finders import GUARANTEE
from tests.oracles.successes import agrees


def test_the_path_by_hand():
    problem = PointerJumping(levels=3, branching=2)
    items = [(2, (1, 0)), (1, (1,)), (3, (0, 1, 1, 0))]
    # the root says 1; node 1 of level 2 says 0; that is node 2 of level 3, which says 1
    assert problem.path(items) == (1, 0, 1)
    assert problem.path(items[:2]) is None
    assert problem.bins == 2**1 + 2**2 + 2**4


def test_levels_too_large_to_list_are_made_on_demand():
    problem, rng = PointerJumping(levels=8), np.random.default_rng(7)
    assert problem.branching == 8**4
    instance = problem.draw(rng=rng)
    path, node = [], 0
    for level in instance:
        path.append(level.label(node))
        node = node * 8**4 + path[-1]
    assert problem.answer(instance) == tuple(path)
    assert all(0 <= label < 8**4 for label in path)
    with pytest.raises(DataError, match="no such node"):
        instance[1].label(8**4)


def test_labels_are_uniform():
    level = Level(3, 10, b"key")
    assert p_value(np.bincount([level.label(node) for node in range(100)], minlength=10), np.full(10, 0.1)) > 1e-6
    assert len(level.item[1]) == 100
    assert Level(3, 10, b"key").item == level.item != Level(3, 10, b"another").item


@pytest.mark.slow
def test_jumping_is_solved_as_often_as_computed():
    problem, rng = PointerJumping(levels=4), np.random.default_rng(8)
    protocol = Histogram.calibrate(users=250, bins=problem.bins, **GUARANTEE)
    trials, solved = 500, 0
    for _ in range(trials):
        instance = problem.draw(rng=rng)
        tally = protocol.sample_tally(problem.sample(instance, users=250, rng=rng), rng=rng)
        solved += problem.solved(instance, protocol.estimate(tally))
    assert 0.5 < problem.success(protocol) < 0.99
    assert agrees(solved, trials, problem.success(protocol))


def test_many_levels_have_a_number_of_bins():
    assert PointerJumping(levels=48).bins == PointerJumping(levels=100).bins == 2**4096
    assert PointerJumping(levels=12, branching=2).bins == sum(2**2**depth for depth in range(12))
    assert PointerJumping(levels=13, branching=2).bins == 2**4096


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (lambda: PointerJumping(levels=0), "levels must be at least 1"),
        (lambda: PointerJumping(levels=2, branching=-1), "branching must be at least 1"),
        (lambda: PointerJumping(levels=2, branching=0), "branching must be at least 1"),
        (lambda: PointerJumping(levels=3).answer(PointerJumping(levels=2).draw()), "not one of 3 levels"),
        (lambda: PointerJumping(levels=2, branching=3).sample(PointerJumping(levels=2).draw(), users=9), "branching 3"),
    ],
)  # fmt: skip
def test_bad_parameters(wrong, reason):
    with pytest.raises((ParameterError, DataError), match=reason):
        wrong()

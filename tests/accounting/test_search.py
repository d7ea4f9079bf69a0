"""The search: always on the safe side, never farther than the tolerance, whatever the start and the limits."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp.accounting.search import first_safe, first_safe_from, last_safe_from, smallest_epsilon

SHAPES = {
    "line": lambda x: -x,
    "cube": lambda x: -(x**3),
    "bend": lambda x: -math.expm1(min(x, 50.0)),
    "step": lambda x: 1.0 if x < 0 else -1.0,
    "flat": lambda x: 1e-9 if x < 0 else -1e3,
}
roots, starts = st.floats(-50, 50), st.floats(-60, 60)


@pytest.mark.slow
@given(st.sampled_from(sorted(SHAPES)), roots, starts, st.floats(1e-3, 30), st.sampled_from([1.0, 1.5, 2.0]))
def test_the_answer_is_safe_and_close_wherever_one_starts(shape, root, start, stride, growth):

    def excess(x):
        return SHAPES[shape](x - root)

    found = first_safe_from(excess, start, stride=stride, growth=growth, least=-60, most=60, tolerance=1e-6)
    assert excess(found) <= 0
    assert excess(found - 1.001e-6) > 0


@given(roots, starts)
def test_the_mirror_image(root, start):
    found = last_safe_from(lambda x: x - root, start, stride=0.5, least=-60, most=60, tolerance=1e-6)
    assert root - 1e-6 <= found <= root


def test_limits():
    limits = {"stride": 0.1, "least": -1.0, "most": 1.0, "tolerance": 1e-9}
    for start in (-5.0, -1.0, 0.3, 1.0, 5.0):
        assert first_safe_from(lambda x: 3.0, start, **limits) is None
        assert first_safe_from(lambda x: -3.0, start, **limits) == -1.0
        assert last_safe_from(lambda x: 3.0, start, **limits) is None
        assert last_safe_from(lambda x: -3.0, start, **limits) == 1.0


def test_nothing_is_tried_twice_or_outside_the_limits():
    tried = []

    def excess(x):
        tried.append(x)
        return 0.7 - x

    found = first_safe_from(excess, 0.0, stride=0.25, least=-1.0, most=2.0, tolerance=1e-9)
    assert 0.7 <= found <= 0.7 + 1e-9
    assert len(set(tried)) == len(tried)
    assert min(tried) >= -1
    assert max(tried) <= 2
    # places 0, 0.25, 0.75, then a few more: the function is a line
    assert tried[:3] == [0.0, 0.25, 0.75]
    assert len(tried) < 10


@given(roots, st.floats(1e-9, 1.0))
def test_a_given_bracket(root, tolerance):
    found = first_safe(lambda x: root - x, root - 3, root + 5, tolerance=tolerance)
    assert root <= found <= root + tolerance + 1e-12


@pytest.mark.parametrize("rate", [0.02, 1.0, 40.0])
@pytest.mark.parametrize("delta", [1e-2, 1e-9])
def test_smallest_epsilon(rate, delta):
    found = smallest_epsilon(lambda epsilon: math.exp(-rate * epsilon), delta)
    exact = math.log(1 / delta) / rate
    if exact > 512:
        assert found == math.inf
    else:
        assert math.exp(-rate * found) <= delta
        assert found == pytest.approx(exact, abs=1e-10)


def test_smallest_epsilon_at_the_ends():
    assert smallest_epsilon(lambda epsilon: 1e-7, 1e-6) == 0.0
    assert smallest_epsilon(lambda epsilon: 1e-5, 1e-6) == math.inf
    assert smallest_epsilon(lambda epsilon: 0.5 if epsilon < 3 else 0.0, 1e-6) == pytest.approx(3, abs=1e-10)

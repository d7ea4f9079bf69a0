"""What there is to choose between: the points are what the protocols and plans say."""

import pytest

from shuffledp import SparseHistogram, plan
from shuffledp.release.compare import trade_off

pytestmark = pytest.mark.slow

ASKED = {"users": 10**5, "bins": 10**4, "epsilon": 1.0, "delta": 1e-6}


@pytest.fixture(scope="module")
def result():
    return trade_off(plan(**ASKED))


def test_choices_are_rows_of_the_plan(result):
    assert set(result.choices) == {"hist", "hist-unbiased", "dummy", "sparse"}
    for name, point in result.choices.items():
        row = result.asked.row(name)
        assert point == (row.messages, row.simultaneous)


def test_more_messages_never_cost_accuracy_and_end_at_the_best(result):
    points = result.sparse_budgets
    assert list(points) == sorted(points)
    assert len(points) > 5
    errors = [point.error for point in points]
    assert errors == sorted(errors, reverse=True)
    best = SparseHistogram.calibrate(**ASKED, messages=float("inf"))
    assert points[-1] == (best.messages_per_user.expected, best.error(0.05).simultaneous)


def test_errors_for_other_numbers_of_bins_are_those_of_plans(result):
    at = result.bin_powers.index(10)
    other = plan(**{**ASKED, "bins": 1024})
    assert {name: errors[at] for name, errors in result.errors.items()} == {
        name: other.row(name).simultaneous for name in ("hist", "hist-unbiased", "sparse")
    }


def test_protocols_that_are_not_possible_are_left_out():
    few = trade_off(plan(users=100, bins=20, epsilon=1, delta=1e-6))
    assert set(few.choices) == {"sparse"}
    assert set(few.errors) == {"sparse"}


def test_several_values_are_drawn_with_their_own_errors():
    asked = {**ASKED, "bins": 100, "values_per_person": 2}
    drawn = trade_off(plan(**asked))
    at = drawn.bin_powers.index(10)
    assert drawn.errors["hist"][at] == plan(**{**asked, "bins": 2**10}).row("hist").simultaneous
    assert all(point.messages > 2 for point in drawn.sparse_budgets)

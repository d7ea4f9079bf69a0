"""What an audit found, in words: a lower bound is rounded down, an upper one up."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp.auditing.black_box import Audit

CHANCE = st.floats(1e-9, 1.0)


@pytest.mark.slow
@given(st.floats(0, 50), CHANCE, CHANCE)
def test_printed_bounds_hold(epsilon, likely, unlikely):
    found = Audit(
        epsilon=epsilon, delta=1e-6, confidence=0.99, event="the number at symbol 1 is at least 3", likely=likely,
        unlikely=unlikely, trials=100,
    )  # fmt: skip
    printed = re.findall(r"epsilon >= (\S+) at.* at least (\S+) on one dataset and at most (\S+) on", str(found))
    ((lower, more, less),) = printed
    assert 0.98 * epsilon <= float(lower) <= epsilon
    assert 0.98 * likely <= float(more) <= likely
    assert unlikely <= float(less) <= 1.02 * unlikely

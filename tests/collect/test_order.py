"""The order test: it accepts uniform permutations at its rate, and detects layers that keep an order."""

import numpy as np
import pytest

from tests.collect.order import order_p_value

RATE = 1e-6


@pytest.mark.slow
def test_uniform_permutations_are_accepted():
    """About 20 of 2,000 uniform permutations have a p-value below 0.01."""
    rng = np.random.default_rng(1)
    values = [order_p_value(rng.permutation(200)) for _ in range(2_000)]
    assert sum(value < 0.01 for value in values) <= 45  # P(Bin(2000, 0.01) > 45) < 1e-6
    assert min(values) > RATE


@pytest.mark.parametrize("size", [100, 1_000])
@pytest.mark.parametrize(
    "kept",
    [
        lambda rng, size: np.arange(size),
        lambda rng, size: np.arange(size)[::-1],
        # reports in random order, with their messages together
        lambda rng, size: np.argsort(np.repeat(rng.permutation(size // 5), 5), kind="stable"),
        # only neighbours are swapped
        lambda rng, size: np.argsort(np.arange(size) + 20 * rng.random(size)),
        # a rotation keeps neighbours
        lambda rng, size: np.roll(np.arange(size), size // 3),
    ],
    ids=["order", "reversed", "reports together", "neighbours", "rotation"],
)
def test_kept_orders_are_detected(kept, size):
    assert order_p_value(kept(np.random.default_rng(2), size)) < RATE

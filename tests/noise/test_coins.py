"""Coins that are tossed together: their number of heads, and which."""

import math

import numpy as np
import pytest

from shuffledp.noise import Binomial, coins
from shuffledp.noise.binomial import round_up_to_grid
from shuffledp.noise.coins import count_heads, fair_heads, heads, packed_flips
from tests.oracles.goodness import assert_distribution, p_value


@pytest.mark.slow
@pytest.mark.parametrize("tosses", [1, 63, 64, 65, 200])
def test_fair_heads_follow_their_distribution(tosses):
    rng = np.random.default_rng(4)
    draws = np.array([fair_heads(tosses, rng) for _ in range(20_000)])
    pmf = np.array([math.comb(tosses, k) / 2**tosses for k in range(tosses + 1)])
    assert_distribution(draws, 0, pmf)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tosses", "p"), [(1, 0.5), (5, 0.375), (40, 2.0**-3 + 2.0**-53), (3000, round_up_to_grid(0.004))]
)
def test_counted_heads_follow_the_binomial_distribution(tosses, p):
    rng = np.random.default_rng(5)
    draws = np.array([count_heads(tosses, p, rng) for _ in range(8_000)])
    window = Binomial(trials=tosses, probability=p).window
    assert_distribution(draws, window.first, window.pmf)


@pytest.mark.slow
def test_heads_fall_on_every_subset_with_its_probability():
    rng = np.random.default_rng(6)
    tosses, p = 4, 0.25
    counts = np.zeros(2**tosses, dtype=np.int64)
    for _ in range(15_000):
        counts[sum(1 << int(i) for i in heads(tosses, p, rng))] += 1
    pmf = np.array([p ** k.bit_count() * (1 - p) ** (tosses - k.bit_count()) for k in range(2**tosses)])
    assert p_value(counts, pmf) > 1e-6


def test_heads_among_more_coins_than_are_tossed_one_by_one():
    tosses, rng = 2**22 + 100, np.random.default_rng(21)
    distribution = Binomial(trials=tosses, probability=round_up_to_grid(20 / tosses))
    drawn = [heads(tosses, distribution.probability, rng) for _ in range(3000)]
    assert_distribution(np.array([chosen.size for chosen in drawn]), distribution.window.first, distribution.window.pmf)
    places = np.concatenate(drawn)
    assert all(np.unique(chosen).size == chosen.size for chosen in drawn)
    assert p_value(np.bincount(places * 20 // tosses, minlength=20), np.full(20, 1 / 20)) > 1e-6


PROBABILITIES = [0.5, 0.375, 2.0**-53, 2.0**-40 + 2.0**-53, 1 - 2.0**-53, round_up_to_grid(0.3), round_up_to_grid(1e-9)]


@pytest.mark.parametrize("probability", PROBABILITIES)
def test_every_digit_of_a_probability_counts(probability, monkeypatch):
    """A coin shows heads exactly if its uniform number lies below the probability, down to the last of 53 digits."""
    below = int(math.ldexp(probability, 53))
    for number in {max(0, below - 1), below, min(below + 1, 2**53 - 1), 0, 2**53 - 1}:
        digits = [number >> place & 1 for place in reversed(range(53))]
        places = iter(digits)
        monkeypatch.setattr(coins, "fair_heads", lambda undecided, rng: undecided * (1 - next(places)))  # noqa: B023
        assert count_heads(1, probability, None) == (number < below)
        read = iter(range(0, 56, 8))

        def words(size, rng, digits=digits, read=read):
            """One byte of coins, all with this number: a byte of equal bits for each of the next eight digits."""
            start = next(read)
            return np.array([255 * digit for digit in (*digits, 0, 0, 0)[start : start + 8]], dtype=np.uint8).view(
                np.uint64
            )

        monkeypatch.setattr(coins, "random_words", words)
        assert packed_flips(1, probability, None).tolist() == [255 * (number < below)]

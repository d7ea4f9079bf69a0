"""What a curator publishes follows the accounted noise and threshold.

Each statistical assertion fails on correct code with a probability of at most 1e-6, under fixed seeds.
"""

import math

import numpy as np
import pytest
from scipy.stats import binomtest

from shuffledp.noise.discrete_laplace import DiscreteLaplace
from shuffledp.protocols import LaplaceHistogram, StabilityHistogram
from tests.oracles.goodness import FALSE_FAILURE_RATE, assert_distribution


def test_a_release_has_the_noise_of_one_draw():
    protocol, rng = LaplaceHistogram.calibrate(users=40, bins=8, epsilon=1, delta=1e-6), np.random.default_rng(85)
    values = np.repeat(np.arange(4), 10)
    truth = np.bincount(values, minlength=8)
    noise = np.concatenate([protocol.release(values, rng=rng).counts - truth for _ in range(400)]).astype(np.int64)
    assert_distribution(noise, protocol.noise.window.first, protocol.noise.window.pmf)


@pytest.mark.parametrize("below", [0, 1, 3])
def test_values_are_published_exactly_from_the_threshold_on(below):
    bins, threshold = 4000, 9
    count = threshold - below
    protocol = StabilityHistogram(users=bins * count, bins=bins, noise=DiscreteLaplace(decay=0.5), threshold=threshold)
    published = protocol.sample_tally(np.full(bins, count), rng=np.random.default_rng(86)).counts
    assert published.min() == threshold
    chance = 0.5**below / 1.5 if below else 1 / 1.5  # P(Z >= below)
    assert binomtest(published.size, bins, chance).pvalue > FALSE_FAILURE_RATE


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.5, 1e-4), (2.0, 1e-9)])
def test_published_parameters_are_the_published_ones(epsilon, delta):
    protocol = StabilityHistogram.published(users=10**5, bins=10, epsilon=epsilon, delta=delta)
    assert protocol.threshold == math.ceil(1 + 2 * math.log(2 / delta) / epsilon)
    assert protocol.privacy.delta(epsilon) <= delta


def published_distribution(count, decay, threshold):
    """Of one value: each published count with its probability, None where it is not published."""
    if not count:
        return {None: 1.0}
    shown = {k: (1 - decay) / (1 + decay) * decay ** abs(k - count) for k in range(threshold, count + 60)}
    return {None: 1 - sum(shown.values()), **shown}


@pytest.mark.parametrize(("decay", "threshold"), [(0.25, 2), (0.5, 2), (0.5, 3)])
def test_the_first_holder_of_a_value_is_accounted(decay, threshold):
    """Someone leaves a value of many for one that nobody holds: here the worst of all neighbours."""
    curve = StabilityHistogram(users=100, bins=9, noise=DiscreteLaplace(decay=decay), threshold=threshold).privacy
    distributions = {count: published_distribution(count, decay, threshold) for count in (0, 1, 29, 30)}
    ratio = math.exp(0.25)
    reached = max(
        sum(
            max(p * q - ratio * distributions[b[0]].get(x, 0.0) * distributions[b[1]].get(y, 0.0), 0.0)
            for x, p in distributions[a[0]].items()
            for y, q in distributions[a[1]].items()
        )
        for a, b in (((30, 0), (29, 1)), ((29, 1), (30, 0)))
    )
    assert curve.delta(0.25) == pytest.approx(reached, rel=1e-9)


def test_a_value_that_nobody_holds_is_never_published():
    """Also where its noise alone reaches the threshold, as it does here for every third of 2,000 values."""
    protocol = StabilityHistogram(users=10, bins=2000, noise=DiscreteLaplace(decay=0.75), threshold=2)
    counts = np.append(10, np.zeros(1999, dtype=np.int64))
    drawn = protocol.sample_tally(counts, rng=np.random.default_rng(87))
    assert drawn.symbols.tolist() in ([], [0])

"""Central histograms: exact privacy against a sum over all outcomes of small datasets, distributions, and errors that
hold.
"""

import math

import mpmath
import numpy as np
import pytest

from shuffledp import run
from shuffledp.errors import DataError, ParameterError
from shuffledp.noise.binomial import round_up_to_grid
from shuffledp.noise.discrete_laplace import DiscreteLaplace
from shuffledp.protocols import LaplaceHistogram, StabilityHistogram
from tests.oracles.goodness import assert_distribution, assert_not_distribution

EPSILONS = [0.2, 1.0, 3.0]


# the distribution
# ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [0.7, 1.0, 1.3])
def test_the_sampler_follows_the_distribution(scale):
    claimed = DiscreteLaplace(decay=round_up_to_grid(math.exp(-0.5)))
    distribution = DiscreteLaplace(decay=round_up_to_grid(math.exp(-0.5 / scale)))
    draws = distribution.sample(20_000, rng=np.random.default_rng(40))
    (assert_distribution if scale == 1.0 else assert_not_distribution)(draws, claimed.window.first, claimed.window.pmf)


def test_the_window_is_the_distribution():
    distribution = DiscreteLaplace(decay=0.75)
    exact = [
        float(distribution.pmf_fraction(k)) for k in range(distribution.window.first, distribution.window.last + 1)
    ]
    assert np.allclose(distribution.window.pmf, exact, rtol=1e-12)
    assert float(sum(distribution.pmf_fraction(k) for k in range(-200, 201))) == pytest.approx(1)
    assert distribution.variance == pytest.approx(
        sum(k * k * p for k, p in enumerate(exact, distribution.window.first))
    )


@pytest.mark.parametrize("decay", [0, 1, -0.5, 1 / 3 * 2**-10 + 1e-30, float("nan")])
def test_decays_that_cannot_be_sampled_are_refused(decay):
    with pytest.raises(ParameterError):
        DiscreteLaplace(decay=decay)


# privacy ----------------------------------------------------------------------------------------------------------


def published(count, noise, threshold):
    """The distribution of what is published of one bin: None, or a noisy count of at least the threshold."""
    if count == 0:
        return {None: 1.0}
    pmf = {k: float(noise.pmf_fraction(k)) for k in range(-120, 121)}
    distribution = {count + k: p for k, p in pmf.items() if count + k >= threshold}
    return {**distribution, None: 1 - sum(distribution.values())}


def divergence(first, second, factor):
    """Hockey-stick divergence of two bins' joint distributions."""
    total = 0.0
    for x, p in first[0].items():
        for y, q in first[1].items():
            total += max(p * q - factor * second[0].get(x, 0.0) * second[1].get(y, 0.0), 0.0)
    return total


@pytest.mark.slow
@pytest.mark.parametrize("threshold", [2, 4, 9])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0, 2.0])
def test_stability_is_exact_over_all_small_neighbours(threshold, epsilon):
    noise = DiscreteLaplace(decay=round_up_to_grid(math.exp(-0.5)))
    protocol = StabilityHistogram(
        users=100,
        bins=10,
        noise=noise,
        threshold=threshold,
        guarantee=StabilityHistogram.published(users=100, bins=10, epsilon=1, delta=0.01).guarantee,
    )
    distributions = {count: published(count, noise, threshold) for count in range(32)}
    worst = max(
        divergence(
            (distributions[a], distributions[b]), (distributions[a - 1], distributions[b + 1]), math.exp(epsilon)
        )
        for a, b in [(1, 0), (1, 1), (1, 30), (2, 0), (2, 2), (3, 0), (5, 1), (30, 0), (30, 29), (30, 1)]
    )
    assert worst <= protocol.privacy.delta(epsilon) * (1 + 1e-9) + 1e-12
    assert protocol.privacy.delta(epsilon) == pytest.approx(worst, rel=1e-3, abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", [1e-3, 1e-6])
def test_published_parameters_keep_what_they_claim_and_exact_ones_need_less(epsilon, delta):
    paper = StabilityHistogram.published(users=10**5, bins=10**6, epsilon=epsilon, delta=delta)
    exact = StabilityHistogram.calibrate(users=10**5, bins=10**6, epsilon=epsilon, delta=delta)
    assert paper.privacy.delta(epsilon) <= delta
    assert exact.privacy.delta(epsilon) <= delta
    assert exact.error(0.05).simultaneous <= paper.error(0.05).simultaneous
    laplace = LaplaceHistogram.calibrate(users=10**5, bins=100, epsilon=epsilon, delta=delta)
    pure = LaplaceHistogram.published(users=10**5, bins=100, epsilon=epsilon, delta=delta)
    assert laplace.noise.decay <= pure.noise.decay
    assert laplace.privacy.delta(epsilon) <= delta
    assert pure.privacy.delta(epsilon + 1e-9) < 1e-11  # pure, except for the allowances for rounding and tails


def test_the_floor_of_the_design():
    """Simultaneous errors of the published parameters, 1000 bins, 10^6 people, delta 1e-6."""
    floor = {0.1: 475, 0.2: 238, 0.5: 96, 1.0: 48, 2.0: 25}
    for epsilon, expected in floor.items():
        error = StabilityHistogram.published(users=10**6, bins=1000, epsilon=epsilon, delta=1e-6).error(0.05)
        assert error.simultaneous == pytest.approx(expected, abs=1)


# errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("kind", [LaplaceHistogram, StabilityHistogram])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_errors_and_intervals_are_covered(kind, epsilon):
    counts = np.concatenate([np.arange(1, 61), np.zeros(40, dtype=np.int64)])
    protocol = kind.calibrate(users=int(counts.sum()), bins=100, epsilon=epsilon, delta=1e-5)
    rng, failed, uncovered, rounds = np.random.default_rng(41), 0, 0, 300
    for _ in range(rounds):
        estimate = protocol.estimate(protocol.sample_tally(counts, rng=rng))
        found = np.zeros(100)
        found[estimate.symbols] = estimate.counts
        low, high = np.zeros(100), np.full(100, estimate.simultaneous.unreported_high)
        low[estimate.symbols], high[estimate.symbols] = estimate.simultaneous.low, estimate.simultaneous.high
        failed += np.abs(found - counts).max() > protocol.error(0.05).simultaneous
        uncovered += bool(((counts < low) | (counts > high)).any())
    most = 0.05 * rounds + 5 * math.sqrt(0.05 * rounds)  # exceeded with probability below 1e-5
    assert failed <= most
    assert uncovered <= most


def test_an_empty_bin_is_never_published_by_the_stable_histogram():
    protocol = StabilityHistogram.calibrate(users=300, bins=2**64, epsilon=1, delta=1e-6)
    estimate = protocol.release(np.repeat([5, 2**40], [200, 100]))
    assert set(estimate) == {5, 2**40}
    assert estimate.estimator == "truncated"
    assert "curator, who saw every value" in estimate.explain()


@pytest.mark.parametrize("kind", [LaplaceHistogram, StabilityHistogram])
def test_true_counts_cannot_pass_for_a_release(kind):
    """`run` would shuffle and tally the values as they are: a central protocol must not let it."""
    protocol = kind.calibrate(users=300, bins=5, epsilon=1, delta=1e-6)
    with pytest.raises(AttributeError):
        run(protocol, np.repeat([0, 1], [299, 1]))
    assert len({tuple(protocol.release(np.zeros(300, dtype=np.int64)).counts) for _ in range(30)}) > 1


@pytest.mark.parametrize("epsilon", [0.001, 0.1, 1.0, 7.3, 50.0])
def test_pure_noise_is_not_a_hair_too_small(epsilon):
    decay = LaplaceHistogram.published(users=10, bins=5, epsilon=epsilon, delta=1e-6).noise.decay
    with mpmath.workdps(60):
        assert mpmath.mpf(decay) >= mpmath.exp(-mpmath.mpf(epsilon) / 2)


@pytest.mark.parametrize("kind", [LaplaceHistogram, StabilityHistogram])
def test_there_is_one_estimator_and_no_other_is_accepted(kind):
    protocol = kind.calibrate(users=300, bins=5, epsilon=1, delta=1e-6)
    tally = protocol.sample_tally([300, 0, 0, 0, 0])
    for call in (lambda: protocol.estimate(tally, estimator="best"), lambda: protocol.error(0.05, estimator="best")):
        with pytest.raises(TypeError, match="estimator"):
            call()


def test_laplace_reports_every_bin():
    protocol = LaplaceHistogram.calibrate(users=300, bins=7, epsilon=1, delta=1e-6)
    estimate = protocol.release(np.repeat([0, 3], [200, 100]))
    assert len(estimate) == 7
    assert abs(estimate[0] - 200) < 40
    with pytest.raises(DataError, match="every bin"):
        protocol.sample_tally({0: 300})


def test_wrong_parameters():
    with pytest.raises(ParameterError, match="epsilon"):
        StabilityHistogram.calibrate(users=10, bins=10, epsilon=0, delta=1e-6)
    with pytest.raises(ParameterError, match="delta"):
        LaplaceHistogram.calibrate(users=10, bins=10, epsilon=1, delta=0)
    with pytest.raises(DataError, match="not a bin"):
        LaplaceHistogram.published(users=2, bins=3, epsilon=1, delta=1e-6).release([0, 3])

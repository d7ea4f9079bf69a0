"""Error bounds and intervals cover what they say they cover, and are not much wider than they need be."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from shuffledp import BinarySum, Histogram, Tally

USERS = 100_000
BETA = 0.05
RUNS = 250


def uniform(noise_mean):
    return np.full(1000, USERS // 1000)


def zipf(noise_mean):
    weights = 1 / np.arange(1, 20_001) ** 1.1
    counts = np.floor(USERS * weights / weights.sum()).astype(np.int64)
    counts[0] += USERS - counts.sum()
    return counts


def one_bin(noise_mean):
    return np.array([USERS])


def adversarial(noise_mean):
    """Occupied bins hold counts spread evenly over 1 .. 2 lambda, so that many are on the edge of being hidden."""
    ladder = np.arange(1, int(2 * noise_mean) + 1)
    counts = np.tile(ladder, USERS // ladder.sum())
    return np.append(counts, USERS - counts.sum())


def edge(noise_mean):
    """The worst dataset of the proof: as many bins as possible just above the error bound."""
    return np.append(np.full(USERS // 72, 72), USERS % 72)


def runs(protocol, counts, rng):
    """Largest error and whether the intervals cover, simultaneously and for the first bin alone, in every run."""
    occupied = np.flatnonzero(counts)
    if protocol.reading.phantoms:
        truth = np.zeros(protocol.bins, dtype=np.int64)
        truth[: counts.size] = counts
        source = truth
    else:
        truth = counts
        source = Tally(occupied, counts[occupied])
    for _ in range(RUNS):
        estimate = protocol.estimate(protocol.sample_tally(source, rng=rng), beta=BETA)
        guess = np.zeros(truth.size)
        low = np.zeros(truth.size, dtype=np.int64)
        high = np.full(truth.size, estimate.simultaneous.unreported_high)
        guess[estimate.symbols] = estimate.counts
        low[estimate.symbols] = estimate.simultaneous.low
        high[estimate.symbols] = estimate.simultaneous.high
        covered = bool(((low <= truth) & (truth <= high)).all())
        first_low, first_high = estimate.interval(0, simultaneous=False)
        yield np.abs(guess - truth).max(), covered, first_low <= truth[0] <= first_high, (high - guess).max()


@pytest.mark.slow
@pytest.mark.parametrize("dataset", [uniform, zipf, one_bin, adversarial, edge])
@pytest.mark.parametrize(("truncated", "bins"), [(True, 2**64), (True, 20_000), (False, 20_000)])
def test_intervals_and_bounds_cover(dataset, truncated, bins):
    protocol = Histogram.calibrate(users=USERS, bins=bins, epsilon=1, delta=1e-6, truncated=truncated)
    counts = dataset(protocol.noise.mean)
    bound = protocol.error(BETA)
    rng = np.random.default_rng(20)
    errors, covered, first_covered, _ = map(np.array, zip(*runs(protocol, counts, rng), strict=True))
    assert covered.mean() >= 1 - BETA
    assert (errors <= bound.simultaneous + 1e-9).mean() >= 1 - BETA
    assert first_covered.mean() >= 1 - BETA


@pytest.mark.slow
@pytest.mark.parametrize("bins", [20_000, 2**64])
def test_bounds_are_tight_on_adversarial_data(bins):
    protocol = Histogram.calibrate(users=USERS, bins=bins, epsilon=1, delta=1e-6)
    counts = adversarial(protocol.noise.mean)
    rng = np.random.default_rng(21)
    errors, _, _, widths = map(np.array, zip(*runs(protocol, counts, rng), strict=True))
    quantile = np.quantile(errors, 1 - BETA)
    assert protocol.error(BETA).simultaneous <= 1.3 * quantile
    assert widths.max() <= 1.3 * quantile


def test_the_unbiased_bound_is_exact():
    """It is a quantile, not a bound: the chance to exceed it is as close to beta as integers allow."""
    protocol = Histogram.calibrate(users=1000, bins=500, epsilon=1, delta=1e-6, truncated=False)
    noise, bound = protocol.noise, protocol.error(BETA).simultaneous
    far = binom.cdf(np.ceil(noise.mean - bound - 1e-9) - 1, 1000, noise.probability) + binom.sf(
        np.floor(noise.mean + bound + 1e-9), 1000, noise.probability
    )
    assert -np.expm1(500 * np.log1p(-far)) <= BETA
    closer = bound - 1e-6
    nearer = binom.cdf(np.ceil(noise.mean - closer) - 1, 1000, noise.probability) + binom.sf(
        np.floor(noise.mean + closer), 1000, noise.probability
    )
    assert -np.expm1(500 * np.log1p(-nearer)) > BETA


@pytest.mark.parametrize("beta", [0.9, 0.5, 0.2, 0.05, 1e-4])
def test_truncated_per_bin_error_is_the_smallest_that_holds(beta):
    """Against the law itself: the worst true count for every error, by exhaustion."""
    protocol = BinarySum(users=300, missing_probability=0.125)
    law, mean = binom(300, 0.125), protocol.noise.mean
    m = np.arange(301)
    pmf = law.pmf(m)

    def worst_failure(error):
        return max(pmf[np.where(m >= c, c, np.abs(mean - m)) > error + 1e-9].sum() for c in range(1, 301))

    bound = protocol.error(beta).per_bin
    assert worst_failure(bound) <= beta
    assert worst_failure(bound - 1e-6) > beta


@pytest.mark.slow
@pytest.mark.parametrize("honest", [None, 400])
def test_fewer_reports_than_users_are_debiased(honest):
    protocol = Histogram.calibrate(users=1000, bins=4, epsilon=1, delta=1e-6, honest_users=honest)
    rng = np.random.default_rng(22)
    values = np.repeat([0, 1], [500, 300])
    unbiased = replace(protocol, truncated=False)
    estimates = [
        unbiased.estimate(protocol.tally(protocol.randomize(values, rng=rng)), reports=800) for _ in range(300)
    ]
    mean = np.mean([e.counts for e in estimates], axis=0)
    assert mean == pytest.approx([500, 300, 0, 0], abs=6 * np.sqrt(protocol.noise.variance / 300))
    truncated = protocol.estimate(protocol.tally(protocol.randomize(values, rng=rng)), reports=800)
    assert set(truncated.symbols) <= {0, 1}


def test_the_known_number_of_occupied_bins_sharpens_the_bound():
    protocol = Histogram.calibrate(users=10**6, bins=2**64, epsilon=1, delta=1e-6)
    assert protocol.error(0.05, occupied_bins=1).simultaneous == protocol.error(0.05).per_bin
    assert protocol.error(0.05, occupied_bins=1000).simultaneous == 70
    assert protocol.error(0.05).simultaneous > 70

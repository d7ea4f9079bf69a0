"""DummyHistogram: the usual protocol, as a baseline with the same faces."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom, poisson

from shuffledp import DataError, DummyHistogram, Histogram, ParameterError, TooFewUsersError, run, shuffle
from shuffledp.noise import Binomial
from shuffledp.paper.finite_randomizer import exact_delta
from tests.oracles.exact import shuffled_distribution
from tests.oracles.goodness import assert_distribution, assert_not_distribution

COMMON = {"users": 1000, "bins": 50, "epsilon": 1, "delta": 1e-6}


def test_privacy_matches_enumeration_of_messages():
    protocol = DummyHistogram(users=2, bins=2, noise=Binomial(trials=2, probability=0.25))
    g = Fraction(1, 4)

    def person(value):
        distribution = {}
        for a in (0, 1):
            for b in (0, 1):
                messages = tuple(sorted([value, *[0] * a, *[1] * b]))
                distribution[messages] = distribution.get(messages, 0) + g ** (a + b) * (1 - g) ** (2 - a - b)
        return distribution

    outputs = [shuffled_distribution(person(v) for v in dataset) for dataset in ((0, 0), (0, 1), (1, 1))]
    for ratio in (Fraction(3, 2), Fraction(4)):
        exact = max(exact_delta(outputs[i], outputs[j], ratio=ratio) for i, j in ((0, 1), (1, 0), (1, 2), (2, 1)))
        assert protocol.privacy.delta(math.log(ratio)) == pytest.approx(float(exact), rel=1e-9)


@pytest.mark.parametrize("dummies", ["binomial", "poisson"])
def test_calibration(dummies):
    protocol = DummyHistogram.calibrate(**COMMON, dummies=dummies)
    assert protocol.privacy.delta(1) <= 1e-6 < 1.01 * protocol.privacy.delta(1)
    assert protocol.noise.mean == pytest.approx(Histogram.calibrate(**COMMON).noise.mean, rel=0.03)
    assert protocol.messages_per_user.expected == pytest.approx(1 + 50 * protocol.noise.mean / 1000)
    assert protocol.bits_per_message == 6
    half = DummyHistogram.calibrate(**COMMON, dummies=dummies, honest_users=500)
    assert half.noise.mean > 1.9 * protocol.noise.mean
    assert half.privacy.delta(1) <= 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("dummies", ["binomial", "poisson"])
@pytest.mark.parametrize("scale", [0.7, 1.0, 1.3])
def test_message_path_and_distribution(dummies, scale):
    protocol = DummyHistogram.calibrate(users=200, bins=3, epsilon=1, delta=1e-6, dummies=dummies)
    distribution = binom(200, protocol.noise.probability) if dummies == "binomial" else poisson(protocol.noise.rate)
    pmf = distribution.pmf(np.arange(201))
    rng = np.random.default_rng(50)
    values = np.repeat([0, 2], [150, 50])
    counts = np.bincount(values, minlength=3)
    draws = np.array([
        protocol.tally(shuffle(protocol.randomize(values, rng=rng), rng=rng)).counts - counts for _ in range(2000)
    ])  # fmt: skip
    sampled = np.array([protocol.sample_tally(counts, rng=rng).counts - counts for _ in range(2000)])
    for j in range(3):
        for seen in (draws[:, j], sampled[:, j]):
            scaled = np.rint(protocol.noise.mean + scale * (seen - protocol.noise.mean)).astype(np.int64)
            (assert_distribution if scale == 1.0 else assert_not_distribution)(scaled, 0, pmf)


@pytest.mark.parametrize("dummies", ["binomial", "poisson"])
def test_unbiased_and_covered(dummies):
    protocol = DummyHistogram.calibrate(users=10_000, bins=200, epsilon=1, delta=1e-6, dummies=dummies)
    counts = np.zeros(200, dtype=np.int64)
    counts[:20] = 500
    rng = np.random.default_rng(51)
    bound = protocol.error(0.05).simultaneous
    estimates = [protocol.estimate(protocol.sample_tally(counts, rng=rng)) for _ in range(400)]
    deviations = np.array([e.counts - counts for e in estimates])
    assert deviations.mean() == pytest.approx(0, abs=0.15)
    assert (np.abs(deviations).max(axis=1) <= bound + 1e-9).mean() >= 0.95
    covered = [((e.simultaneous.low <= counts) & (counts <= e.simultaneous.high)).all() for e in estimates]
    assert np.mean(covered) >= 0.95


def test_run_and_fewer_reports():
    protocol = DummyHistogram.calibrate(**COMMON)
    values = np.repeat([1, 4], [500, 300])
    estimate = run(protocol, values)
    assert estimate[1] == pytest.approx(500, abs=40)
    assert estimate.guarantee.epsilon > 1
    assert "dummy messages" in estimate.explain()


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda: DummyHistogram.calibrate(**COMMON, dummies="geometric"), "binomial or poisson"),
        pytest.param(
            lambda: DummyHistogram.calibrate(**{**COMMON, "epsilon": 0.02}, dummies="poisson"),
            "too small for poisson",
            marks=pytest.mark.slow,
        ),
        (lambda: DummyHistogram.calibrate(**COMMON).noise.share(5, of=900), "made by 1000 people"),
        (lambda: DummyHistogram.calibrate(**{**COMMON, "bins": 2**40}).randomize(0), "too many"),
    ],
)
def test_bad_parameters(call, reason):
    with pytest.raises(ParameterError, match=reason):
        call()


def test_bad_data_and_too_few_people():
    protocol = DummyHistogram.calibrate(**COMMON)
    with pytest.raises(DataError, match="every bin"):
        protocol.estimate(protocol.sample_tally({0: 1000}))
    with pytest.raises(TooFewUsersError, match="at least 148, or poisson"):
        DummyHistogram.calibrate(**{**COMMON, "users": 100})

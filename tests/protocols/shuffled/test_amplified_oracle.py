"""Local protocols whose messages are shuffled."""

from dataclasses import replace

import numpy as np
import pytest

from shuffledp import run
from shuffledp.errors import ParameterError
from shuffledp.protocols import AmplifiedOracle, HadamardResponse, LocalHashing, RandomizedResponse, UnaryEncoding

KINDS = [LocalHashing, HadamardResponse, RandomizedResponse, UnaryEncoding]
WISH = {"epsilon": 0.5, "delta": 1e-6}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_whole_run_is_unbiased_and_gives_its_guarantee(kind):
    counts = np.array([1000, 600, 280, 120, 0, 0])
    values, rng = np.repeat(np.arange(6), counts), np.random.default_rng(50)
    protocol = AmplifiedOracle.calibrate(users=2000, bins=6, kind=kind, **WISH)
    estimates = np.array([run(protocol, values, rng=rng).counts for _ in range(60)])
    spread = np.sqrt([protocol.estimator.variance(int(count)) / 60 for count in counts])
    assert (np.abs(estimates.mean(axis=0) - counts) < 5.5 * spread).all()
    assert (np.abs(estimates - counts).max(axis=1) > protocol.error(0.05).simultaneous).mean() <= 0.2


@pytest.mark.slow
@pytest.mark.parametrize("users", [1, 100, 10**4, 10**6, 10**10])
def test_the_guarantee_is_that_of_the_shuffled_messages(users):
    protocol = AmplifiedOracle.calibrate(users=users, bins=100, **WISH)
    assert protocol.privacy.delta(0.5) <= 1e-6
    assert protocol.oracle.epsilon >= 0.5
    assert protocol.messages_per_user.expected == 1


@pytest.mark.slow
def test_the_best_local_protocol_is_chosen():
    for bins in (2, 1000):
        best = AmplifiedOracle.calibrate(users=200, bins=bins, **WISH).error(0.05).simultaneous
        for kind in KINDS:
            assert best <= AmplifiedOracle.calibrate(users=200, bins=bins, kind=kind, **WISH).error(0.05).simultaneous


@pytest.mark.slow
def test_shuffling_makes_the_error_much_smaller_than_in_the_local_model():
    shuffled = AmplifiedOracle.calibrate(users=10**5, bins=1000, epsilon=1, delta=1e-6).error(0.05).simultaneous
    local = LocalHashing(users=10**5, bins=1000, epsilon=1).error(0.05).simultaneous
    assert shuffled < local / 3


@pytest.mark.slow
def test_fewer_reports_weaken_the_guarantee():
    protocol = AmplifiedOracle.calibrate(users=300, bins=4, **WISH)
    values = np.arange(150) % 4
    estimate = run(protocol, values)
    assert estimate.guarantee.epsilon > 0.5
    assert "fewer people reported" in estimate.explain()
    careful = AmplifiedOracle.calibrate(users=300, bins=4, honest_users=120, **WISH)
    fewest = replace(careful, honest_users=110)  # the ten missing people may be honest
    assert run(careful, np.arange(290) % 4).guarantee.epsilon == pytest.approx(fewest.privacy.epsilon(1e-6))
    assert "shuffler mixes" in run(careful, values).explain()


@pytest.mark.slow
def test_a_tally_of_shuffled_bits_is_sampled_from_its_distribution():
    """A million values of 10^5 people: no message is made, and nothing takes longer than a few steps for each value."""
    protocol = AmplifiedOracle.calibrate(users=10**5, bins=10**6, kind=UnaryEncoding, **WISH)
    assert protocol.drawing_cost == 0
    counts = np.zeros(10**6, dtype=np.int64)
    counts[:2] = 60_000, 40_000
    estimate = protocol.estimate(protocol.sample_tally(counts, rng=np.random.default_rng(51)))
    assert estimate[0] == pytest.approx(60_000, abs=protocol.error(1e-6).simultaneous)
    made = AmplifiedOracle.calibrate(users=10**5, bins=10**6, kind=LocalHashing, **WISH)
    assert made.drawing_cost > 10**11  # every report against every value


def test_wrong_parameters():
    with pytest.raises(ParameterError, match="epsilon"):
        AmplifiedOracle.calibrate(users=10, bins=4, epsilon=-1, delta=1e-6)
    with pytest.raises(ParameterError, match="bins"):
        AmplifiedOracle.calibrate(users=10, bins=1, **WISH)

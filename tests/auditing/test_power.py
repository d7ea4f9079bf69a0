"""What audits find: shuffles inside groups, and noise 30 % too small among 40 people, in the stated number of runs."""

import numpy as np
import pytest

from shuffledp import Histogram, audit, shuffle
from shuffledp.auditing import audit_outputs, provable_epsilon
from shuffledp.noise.binomial import round_up_to_grid
from shuffledp.paper.divergence import Pair, binomial
from shuffledp.protocols import RandomizedResponse
from shuffledp.protocols.shuffled.amplified import AmplifiedOracle
from tests.oracles.audits import audited, datasets


def in_groups(protocol, size):
    """A shuffler that mixes only the messages of neighbouring people."""

    def mechanism(values, *, rng):
        groups = [values[start : start + size] for start in range(0, len(values), size)]
        return np.concatenate([shuffle(protocol.randomize(group, rng=rng), rng=rng) for group in groups])

    return mechanism


RESPONSE = AmplifiedOracle.calibrate(users=200, bins=3, epsilon=1, delta=0.01, kind=RandomizedResponse)
HISTOGRAM = Histogram.calibrate(users=200, bins=3, epsilon=1, delta=1e-3)


@pytest.mark.slow
def test_a_shuffle_in_groups_of_20_of_200_is_found():
    result = audited(in_groups(RESPONSE, 20), datasets(200), delta=0.01, trials=1200)
    assert result.accuses(1.0)


@pytest.mark.slow
def test_a_shuffle_in_groups_is_found_wherever_the_person_is():
    first, second = (np.zeros(200, dtype=int) for _ in range(2))
    second[110] = 1
    assert audited(in_groups(RESPONSE, 20), (first, second), delta=0.01, trials=1200).accuses(1.0)


@pytest.mark.slow
def test_a_histogram_with_a_group_of_10_shuffled_apart_is_found():
    """The other 190 are shuffled together, which only saves time: their order says nothing about the person."""

    def mechanism(values, *, rng):
        parts = (values[:10], values[10:])
        return np.concatenate([shuffle(HISTOGRAM.randomize(part, rng=rng), rng=rng) for part in parts])

    result = audited(mechanism, datasets(200), delta=1e-3, trials=1200)
    assert result.accuses(1.0)
    assert "places" in result.event


def noisy_counts(users, missing, trials, rng, *, mine):
    """The shuffled messages of P^hist on three bins as counts, which is all they say; everyone else holds 0."""
    true = np.bincount([mine] + [0] * (users - 1), minlength=3)
    counts = true + users - rng.binomial(users, missing, size=(trials, 3))
    return [dict(enumerate(row)) for row in counts.tolist()]


WEAKER = round_up_to_grid(0.49 * 0.25)


def found(seed, trials, *, missing=WEAKER, delta=0.05):
    rng = np.random.default_rng(seed)
    outputs = (noisy_counts(40, missing, trials, rng, mine=mine) for mine in (0, 1))
    return audit_outputs(*outputs, delta=delta)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_noise_30_percent_too_small_among_40_people_is_found_in_the_default_number_of_runs(seed):
    """guaranteed 0.553 at delta 0.05, truth 0.946, and no choice of an event could show more than 0.71 in 10,000
    runs.
    """
    promised = Histogram(users=40, bins=3, missing_probability=0.25).privacy.epsilon(0.05)
    assert found(seed, 10_000).accuses(promised)


@pytest.mark.slow
def test_the_right_noise_is_not_accused():
    promised = Histogram(users=40, bins=3, missing_probability=0.25).privacy.epsilon(0.05)
    assert not found(0, 10_000, missing=0.25).accuses(promised)


def pair(missing):
    distribution = binomial(40, missing)
    return Pair.shifted(distribution, 1).beside(Pair.shifted(distribution, -1))


@pytest.mark.slow
def test_no_audit_shows_more_than_the_best_event_would():
    """The audit comes near: within a fifth. More runs prove more, and never more than is true."""
    best = provable_epsilon(pair(WEAKER), trials=10_000, delta=0.05)
    true = Histogram(users=40, bins=3, missing_probability=WEAKER).privacy.epsilon(0.05)
    assert best == pytest.approx(0.709, abs=0.01)
    assert 0.8 * best < found(0, 10_000).epsilon < 1.1 * best
    assert best < provable_epsilon(pair(WEAKER), trials=10**6, delta=0.05) < true


def test_fifteen_percent_fewer_missing_messages_cannot_be_found_in_the_default_number_of_runs():
    """Not by this audit's fault: guaranteed 0.553, truth 0.614, and the best event shows 0.44."""
    missing = round_up_to_grid(0.85 * 0.25)
    promised = Histogram(users=40, bins=3, missing_probability=0.25).privacy.epsilon(0.05)
    assert provable_epsilon(pair(missing), trials=10_000, delta=0.05) < promised
    assert provable_epsilon(pair(missing), trials=200_000, delta=0.05) > promised


@pytest.mark.slow
def test_orders_that_say_nothing_are_not_taken_for_faults():
    """Of 40 audits at confidence 0.8 of messages in random order 20 % may accuse: more than 23 has chance 1e-7."""
    accused = 0
    for seed in range(40):
        outputs = np.random.default_rng(seed).integers(0, 3, size=(2, 240, 30))
        accused += audit_outputs(*outputs, confidence=0.8, row=7, people=30).accuses(0.0)
    assert accused <= 23


def test_the_event_says_which_places():
    """A person whose message stays among the first four."""

    def mechanism(values, *, rng):
        return np.concatenate([rng.permutation(values[:4]), rng.integers(0, 2, size=60)])

    result = audit(mechanism, [0] * 64, [1] + [0] * 63, trials=600, rng=np.random.default_rng(0))
    assert result.epsilon > 2
    assert "places" in result.event

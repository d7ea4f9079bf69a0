"""Curators who count several values of each person: guarantees, what is published, errors and intervals.

Each statistical assertion fails on correct code with a probability of at most 1e-6, under fixed seeds.
"""

from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product

import numpy as np
import pytest
from scipy.stats import binom

from shuffledp.errors import DataError, ParameterError
from shuffledp.histogram.domain import Domain
from shuffledp.paper.divergence import exponential_above
from shuffledp.paper.finite_randomizer import exact_delta
from shuffledp.paper.protocol_checks import count_distributions
from shuffledp.protocols import LaplaceHistogram, StabilityHistogram, Target
from shuffledp.protocols.catalogue import from_record, to_record
from tests.oracles.goodness import FALSE_FAILURE_RATE, assert_distribution

KINDS = [LaplaceHistogram, StabilityHistogram]
GUARANTEE = {"epsilon": 1.0, "delta": 1e-6}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("values", [1, 2, 3, 4, 6, 10, 40])
def test_the_curve_gives_the_guarantee(kind, values):
    protocol = kind.calibrate(users=10**5, bins=50, values_per_person=values, **GUARANTEE)
    assert 0.5 * 1e-6 < protocol.privacy.delta(1.0) <= 1e-6
    assert protocol.privacy.epsilon(1e-6) <= 1.0
    assert "parameters were changed" not in protocol.describe()
    assert ("all of one person's values" in protocol.describe()) == (values > 1)


@pytest.mark.parametrize("kind", KINDS)
def test_one_value_is_what_it_always_was(kind):
    """The noise and the threshold of earlier versions."""
    protocol = kind.calibrate(users=10**5, bins=10**4, **GUARANTEE)
    if kind is StabilityHistogram:
        assert (protocol.noise.decay, protocol.threshold) == (0.606530659712634, 28)
        assert protocol.error(0.05).simultaneous == 47
    else:
        assert protocol.noise.decay == pytest.approx(0.6065291, abs=1e-6)
        assert protocol.error(0.05).simultaneous == 24


def test_noise_grows_less_than_with_the_number_of_values():
    """K values with noise for epsilon / K each would need K times as much; together they need less."""
    one = LaplaceHistogram.calibrate(users=10**5, bins=50, **GUARANTEE)
    many = LaplaceHistogram.calibrate(users=10**5, bins=50, values_per_person=64, **GUARANTEE)
    assert many.noise.variance < (0.5 * 64) ** 2 * one.noise.variance


@pytest.mark.parametrize("values", [3, 20])
def test_another_accountant_gives_the_same_guarantee(values):
    """dp_accounting's composition of as many pairs as values move, on a grid of its two losses."""
    pytest.importorskip("dp_accounting")
    from dp_accounting.pld import privacy_loss_distribution as library

    noise = LaplaceHistogram.calibrate(users=10**5, bins=50, values_per_person=values, **GUARANTEE).noise
    rate = -np.log(noise.decay)
    each = library.from_discrete_laplace_mechanism(rate, value_discretization_interval=rate / 1000)
    assert each.self_compose(2 * values).get_delta_for_epsilon(1.0) == pytest.approx(1e-6, rel=1e-3)


HELD = ((0, 0, 1, 1), (1, 0, 1, 0), (0, 1, 1, 0), (1, 1, 0, 0))
"""What one person adds to the counts of two values and two padding bins: nothing, either value, or both."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_calibration_is_private_over_all_datasets_of_three_people(kind):
    """All outputs in fractions, for up to two values each. Bins with equal counts reveal nothing."""
    target = Target(users=3, bins=2, epsilon=1.0, delta=0.1, values_per_person=2)
    distributions, worst = count_distributions(kind.for_target(target)), Fraction(0)
    for others in combinations_with_replacement(HELD, target.users - 1):
        rest = np.sum(others, axis=0)
        for one, other in permutations(HELD, 2):
            moved = [(int(r + a), int(r + b)) for r, a, b in zip(rest, one, other, strict=True) if a != b]
            pair = [joint(distributions[counts[side]] for counts in moved) for side in (0, 1)]
            worst = max(worst, exact_delta(*pair, ratio=exponential_above(target.epsilon)))
    assert 0.9 * target.delta < worst <= Fraction(target.delta)


def joint(distributions):
    """The distribution of independent bins."""
    together = {(): Fraction(1)}
    for distribution in distributions:
        together = {(*x, y): p * q for (x, p), (y, q) in product(together.items(), distribution.items())}
    return together


@pytest.mark.parametrize("kind", KINDS)
def test_a_release_counts_everyone_once_for_each_value(kind):
    """500 people: 300 hold both values, 200 the second one only; who holds fewer is told by the padding bins."""
    protocol = kind.calibrate(users=500, bins=3, values_per_person=2, **GUARANTEE)
    rows = np.array([[0, 1]] * 300 + [[1, -1]] * 200)
    estimate = protocol.release(rows, rng=np.random.default_rng(3), domain=Domain.of(["a", "b", "c"]))
    assert estimate.people == 500
    assert estimate["a"] == pytest.approx(300, abs=90)
    assert estimate["b"] == pytest.approx(500, abs=90)
    labels = {str(label): count for label, count in zip(estimate.labels, estimate.counts, strict=True)}
    assert labels["(at most 1 value)"] == pytest.approx(200, abs=90)
    assert labels.get("(no value)", 0.0) == pytest.approx(0, abs=90)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [[[0, 0]], [[0, 1, 2]], [[0, 7]], [0, 1]])
def test_what_no_person_can_hold_is_refused(kind, rows):
    protocol = kind.calibrate(users=1, bins=3, values_per_person=2, **GUARANTEE)
    with pytest.raises(DataError):
        protocol.release(rows)


@pytest.mark.parametrize("kind", KINDS)
def test_published_parameters_are_for_one_value(kind):
    with pytest.raises(ParameterError, match="exactly one value"):
        kind.published_for(Target(users=1000, bins=4, values_per_person=2, **GUARANTEE))


def test_every_count_has_its_own_noise():
    protocol, rng = (
        LaplaceHistogram.calibrate(users=30, bins=4, values_per_person=2, **GUARANTEE),
        np.random.default_rng(9),
    )
    rows = np.array([[0, 1]] * 10 + [[2, -1]] * 20)
    truth = np.array([10, 10, 20, 0, 20, 0])
    noise = np.concatenate([protocol.release(rows, rng=rng).counts - truth for _ in range(300)]).astype(np.int64)
    assert_distribution(noise, protocol.noise.window.first, protocol.noise.window.pmf)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_errors_and_intervals_hold(kind):
    """Values of all sizes, held by people who hold one, two or three of them."""
    rng, users, bins, rounds = np.random.default_rng(11), 900, 60, 300
    held = rng.integers(0, 4, size=users)
    rows = np.full((users, 3), -1)
    for person, number in enumerate(held.tolist()):
        rows[person, :number] = rng.choice(bins, size=number, replace=False, p=weights(bins))
    protocol = kind.calibrate(users=users, bins=bins, epsilon=2.0, delta=1e-4, values_per_person=3)
    truth = np.bincount(rows[rows >= 0], minlength=bins + 3)
    truth[bins:] = [(held <= most).sum() for most in (2, 1, 0)]
    failed = uncovered = 0
    for _ in range(rounds):
        estimate = protocol.estimate(protocol.sample_tally(truth, rng=rng))
        found, low, high = (
            np.zeros(bins + 3),
            np.zeros(bins + 3),
            np.full(bins + 3, estimate.simultaneous.unreported_high),
        )
        found[estimate.symbols] = estimate.counts
        low[estimate.symbols], high[estimate.symbols] = estimate.simultaneous.low, estimate.simultaneous.high
        failed += np.abs(found - truth).max() > protocol.error(0.05).simultaneous
        uncovered += bool(((truth < low) | (truth > high)).any())
    most = binom.isf(FALSE_FAILURE_RATE, rounds, 0.05)
    assert failed <= most
    assert uncovered <= most


def weights(bins):
    shares = 1 / np.arange(1, bins + 1)
    return shares / shares.sum()


def test_a_record_of_several_values_comes_back():
    protocol = StabilityHistogram.calibrate(users=500, bins=2**80, values_per_person=3, **GUARANTEE)
    assert from_record(to_record(protocol)) == protocol

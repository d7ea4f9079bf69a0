"""What the earlier protocols have in common: guarantees, noticed absences, any integers, clear refusals."""

import math
from dataclasses import replace

import numpy as np
import pytest

from shuffledp import Histogram
from shuffledp.errors import DataError, ParameterError, TooFewUsersError
from shuffledp.estimators.supports import flipped_reach
from shuffledp.noise import Binomial
from shuffledp.protocols import (
    AmplifiedOracle,
    BassilySmith,
    BlanketHistogram,
    BlanketSum,
    HadamardResponse,
    LocalHashing,
    PrivateCoinHistogram,
    PublicCoinHistogram,
    RandomizedResponse,
    RealSum,
    StabilityHistogram,
    UnaryEncoding,
)

WISH = {"epsilon": 1.0, "delta": 1e-6}
ORACLES = [RandomizedResponse, UnaryEncoding, LocalHashing, HadamardResponse]


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0, 6.0, 10.0, 20.0, 50.0])
@pytest.mark.parametrize("users", [10**4, 10**6])
def test_published_parameters_give_their_guarantee_or_are_refused(users, epsilon):
    """For a large epsilon some of them miss it by orders of magnitude."""
    makers = [
        lambda **fields: BlanketSum.published(**fields),
        lambda **fields: BlanketHistogram.published(bins=4, **fields),
        lambda **fields: PublicCoinHistogram.published(bins=2, **fields),
        lambda **fields: PrivateCoinHistogram.published(bins=4, **fields),
    ]
    for make in makers:
        outcome = ""
        try:
            protocol = make(users=users, epsilon=epsilon, delta=1e-6)
        except TooFewUsersError:
            continue
        except ParameterError as refused:
            outcome = str(refused)
        if outcome:
            assert epsilon >= 4
            assert "use calibrate" in outcome
        else:
            assert protocol.privacy.delta(epsilon) <= 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("kind", ORACLES, ids=lambda kind: kind.__name__)
def test_missing_reports_of_amplified_oracles_are_noticed(kind):
    protocol = AmplifiedOracle.calibrate(users=1000, bins=16, kind=kind, **WISH)
    tally = protocol.tally(protocol.randomize(np.zeros(100, dtype=int)))
    with pytest.raises(DataError, match="reports="):
        protocol.estimate(tally)
    assert protocol.estimate(tally, reports=100).guarantee.epsilon > 1.5
    parts = [protocol.tally(protocol.randomize(np.zeros(500, dtype=int))) for _ in range(2)]
    assert protocol.estimate(parts[0] + parts[1]).guarantee.epsilon == 1


@pytest.mark.parametrize(
    ("protocol", "values"),
    [
        (BlanketSum.calibrate(users=1000, **WISH), np.ones(990, dtype=int)),
        (RealSum.calibrate(users=1000, **WISH), np.ones(990)),
        (PrivateCoinHistogram.calibrate(users=1000, bins=100, **WISH), np.zeros(990, dtype=int)),
    ],
    ids=["sum", "real sum", "private coin"],
)
def test_a_few_missing_reports_are_noticed(protocol, values):
    with pytest.raises(DataError, match="reports="):
        protocol.estimate(protocol.tally(protocol.randomize(values)))


def test_nobody_can_prepare_data_for_the_next_public_coin():
    coins = {PublicCoinHistogram.calibrate(users=1000, bins=10, **WISH).coin for _ in range(3)}
    assert len(coins) == 3
    fixed = PublicCoinHistogram.calibrate(users=1000, bins=10, coin=7, **WISH)
    assert fixed.coin == fixed.for_reports(900).coin == 7


def test_one_crowded_row_still_has_a_bound():
    """Everyone in one bin, one row: a value that shares its cell is off by all people and the noise."""
    counts = np.zeros(5000, dtype=np.int64)
    counts[17] = 200
    rng, failed = np.random.default_rng(96), 0
    for coin in range(60):
        protocol = PublicCoinHistogram.calibrate(users=200, bins=5000, epsilon=1, delta=1e-3, rows=1, coin=coin)
        errors = protocol.estimate(protocol.sample_tally(counts, rng=rng)).counts - counts
        failed += np.abs(errors).max() > protocol.error(0.05).simultaneous
    assert failed <= 10


@pytest.mark.slow
def test_honest_people_cannot_be_more_than_there_are():
    protocol = AmplifiedOracle.calibrate(users=10, bins=4, **WISH)
    with pytest.raises(ParameterError, match="cannot exceed"):
        replace(protocol, honest_users=10**6)


@pytest.mark.parametrize("kind", ["response", Histogram, BassilySmith])
def test_only_oracles_whose_messages_carry_everything_can_be_shuffled(kind):
    with pytest.raises(ParameterError, match="kind must be one of"):
        AmplifiedOracle.calibrate(users=10, bins=4, kind=kind, **WISH)


@pytest.mark.slow
@pytest.mark.parametrize("users", [2, 1000, 10**9])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 25.0, 50.0])
def test_errors_of_sums_are_found_for_any_noise(users, epsilon):
    protocol = BlanketSum.calibrate(users=users, epsilon=epsilon, delta=1e-6)
    assert 0 <= protocol.error(0.05).per_bin < math.inf
    assert flipped_reach(users, protocol.flip_probability, 1e-300) <= users


@pytest.mark.slow
def test_refusals():
    with pytest.raises(ParameterError, match="one trial for each user"):
        PublicCoinHistogram(users=5, bins=3, rows=1, width=4, noise=Binomial(trials=6, probability=0.5))
    with pytest.raises(DataError, match="more values"):
        RealSum.calibrate(users=100, **WISH).sample_tally(np.zeros(101))


@pytest.mark.slow
def test_the_smallest_guarantee_is_possible_for_a_curator():
    extreme = StabilityHistogram.calibrate(users=1000, bins=10, epsilon=0.001, delta=1e-20)
    assert extreme.privacy.delta(0.001) <= 1e-20

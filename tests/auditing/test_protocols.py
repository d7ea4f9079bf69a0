"""Every protocol is audited as a black box; planted faults are found.

An audit accuses a correct mechanism with probability at most 1 - CONFIDENCE = 1e-4. Fewer than twenty correct ones
are audited here, under fixed seeds, so that a change of the code that redraws them all fails by bad luck less than once
in 500 times.
"""

from dataclasses import is_dataclass

import numpy as np
import pytest

from shuffledp import BinarySum, DummyHistogram, Histogram, SparseHistogram, protocols, shuffle
from shuffledp.auditing.black_box import audit_outputs, released_counts, shuffled_messages, tallied_messages
from shuffledp.noise.binomial import round_up_to_grid
from shuffledp.protocols import BlanketHistogram, BlanketSum, PrivateCoinHistogram
from shuffledp.protocols.base import BaseHistogram
from shuffledp.protocols.central import LaplaceHistogram, StabilityHistogram
from shuffledp.protocols.local import BassilySmith, HadamardResponse, LocalHashing, RandomizedResponse, UnaryEncoding
from shuffledp.protocols.shuffled.amplified import AmplifiedOracle
from shuffledp.protocols.shuffled.hashed import HashedHistogram
from shuffledp.protocols.shuffled.public_coin import PublicCoinHistogram
from shuffledp.protocols.sums.real_sum import RealSum
from tests.oracles.audits import CONFIDENCE, audited, datasets, single_reports

SHUFFLED = {
    BinarySum: BinarySum(users=12, missing_probability=0.25),
    Histogram: Histogram(users=12, bins=3, missing_probability=0.25),
    SparseHistogram: SparseHistogram.calibrate(users=12, bins=3, epsilon=1, delta=0.05),
    DummyHistogram: DummyHistogram.calibrate(users=12, bins=3, epsilon=1, delta=0.05, dummies="poisson"),
    HashedHistogram: HashedHistogram.calibrate(users=12, bins=3, epsilon=1, delta=0.05, dummies=0.5),
    BlanketSum: BlanketSum(users=60, flip_probability=2.0**-4),
    BlanketHistogram: BlanketHistogram(users=12, bins=3, flip_probability=0.125),
    PublicCoinHistogram: PublicCoinHistogram.calibrate(
        users=30, bins=4, epsilon=1, delta=0.05, rows=2, width=4, coin=1
    ),
    PrivateCoinHistogram: PrivateCoinHistogram.calibrate(users=12, bins=3, epsilon=1, delta=0.05, elements=2),
    RealSum: RealSum.calibrate(users=30, epsilon=1, delta=0.01, scale=1),
    AmplifiedOracle: AmplifiedOracle.calibrate(users=200, bins=3, epsilon=1, delta=0.05, kind=RandomizedResponse),
}

CENTRAL = {
    LaplaceHistogram: LaplaceHistogram.published(users=6, bins=3, epsilon=1, delta=1e-6),
    StabilityHistogram: StabilityHistogram.calibrate(users=6, bins=3, epsilon=1, delta=0.05),
}

LOCAL = {
    kind: kind(users=1, bins=3, epsilon=1)
    for kind in (RandomizedResponse, UnaryEncoding, HadamardResponse, LocalHashing, BassilySmith)
}


def view(protocol):
    """What is looked at: the shuffled messages. Shares and hashes say nothing one by one, so their tally."""
    by_sums = isinstance(protocol, RealSum | HashedHistogram)
    return tallied_messages(protocol) if by_sums else shuffled_messages(protocol)


def test_every_protocol_is_audited():
    offered = [getattr(protocols, name) for name in protocols.__all__]
    kinds = {kind for kind in offered if is_dataclass(kind) and issubclass(kind, BaseHistogram | RealSum)}
    assert kinds - {protocols.ShuffledHistogram} == {*SHUFFLED, *CENTRAL, *LOCAL}


@pytest.mark.slow
@pytest.mark.parametrize("kind", SHUFFLED, ids=lambda kind: kind.__name__)
def test_shuffled_protocols_are_not_accused(kind):
    protocol, delta = SHUFFLED[kind], 0.05
    result = audited(view(protocol), datasets(protocol.users), delta=delta, trials=1500)
    assert not result.accuses(protocol.privacy.epsilon(delta))


@pytest.mark.slow
@pytest.mark.parametrize("kind", SHUFFLED, ids=lambda kind: kind.__name__)
def test_people_without_noise_are_found(kind):
    """The same protocols, where all but one send nothing that hides the one: the guarantee counts on their noise."""
    protocol, delta = SHUFFLED[kind], 0.05

    def faulty(values, *, rng):
        return view(protocol)(values[:1], rng=rng)

    result = audited(faulty, datasets(protocol.users), delta=delta, trials=2000)
    assert result.accuses(protocol.privacy.epsilon(delta))


@pytest.mark.slow
@pytest.mark.parametrize("kind", CENTRAL, ids=lambda kind: kind.__name__)
def test_central_protocols_are_not_accused(kind):
    protocol = CENTRAL[kind]
    pair = datasets(protocol.users, mine=1, instead=0)
    result = audited(released_counts(protocol), pair, delta=protocol.guarantee.delta, trials=2000)
    assert not result.accuses(protocol.guarantee.epsilon)


@pytest.mark.slow
@pytest.mark.parametrize("kind", LOCAL, ids=lambda kind: kind.__name__)
def test_local_protocols_are_not_accused(kind):
    rng = np.random.default_rng(1)
    outputs = (single_reports(LOCAL[kind], value, 20_000, rng) for value in (0, 1))
    result = audit_outputs(*outputs, confidence=CONFIDENCE)
    assert not result.accuses(1.0)
    assert result.epsilon > 0.8  # all of these are tight


@pytest.mark.slow
def test_a_tally_of_reports_can_be_audited():
    result = audited(tallied_messages(LOCAL[HadamardResponse]), datasets(1), delta=0.0, trials=1500)
    assert 0.1 < result.epsilon <= 1


@pytest.mark.slow
def test_noise_that_is_30_percent_too_small_is_found():
    """In P^hist: 0.7 times the standard deviation of the missing messages."""
    claimed, delta = SHUFFLED[Histogram], 0.05
    faulty = Histogram(users=12, bins=3, missing_probability=round_up_to_grid(0.49 * claimed.missing_probability))
    result = audited(shuffled_messages(faulty), datasets(12), delta=delta, trials=4000)
    assert result.accuses(claimed.privacy.epsilon(delta))


@pytest.mark.slow
def test_central_noise_that_is_30_percent_too_small_is_found():
    faulty = LaplaceHistogram.published(users=6, bins=3, epsilon=1 / 0.7, delta=1e-6)
    result = audited(released_counts(faulty), datasets(6), delta=0.0, trials=5000)
    assert result.accuses(CENTRAL[LaplaceHistogram].guarantee.epsilon)


@pytest.mark.slow
def test_a_bin_without_noise_is_found():
    protocol, delta = SHUFFLED[Histogram], 0.05

    def faulty(values, *, rng):
        messages = protocol.randomize(values, rng=rng)
        silent = np.zeros(protocol.users + np.count_nonzero(values == 0), dtype=messages.dtype)
        return shuffle(np.concatenate([messages[messages != 0], silent]), rng=rng)

    result = audited(faulty, datasets(12), delta=delta, trials=1500)
    assert result.accuses(protocol.privacy.epsilon(delta))
    assert "number" in result.event


@pytest.mark.slow
def test_a_biased_coin_is_found():
    faulty = RandomizedResponse(users=1, bins=3, epsilon=1.3)
    rng = np.random.default_rng(2)
    result = audit_outputs(*(single_reports(faulty, v, 20_000, rng) for v in (0, 1)), confidence=CONFIDENCE)
    assert result.accuses(1.0)


def test_a_bit_that_is_left_as_it_is_is_found():
    rng, protocol = np.random.default_rng(3), LOCAL[UnaryEncoding]

    def outputs(value):
        reports = protocol.randomize(np.full(3000, value), rng=rng)
        bits = np.unpackbits(reports.view(np.uint8)).reshape(3000, 8)
        bits[:, 0] = value == 0
        return np.packbits(bits, axis=1).view(reports.dtype)

    assert audit_outputs(outputs(0), outputs(1), confidence=CONFIDENCE).accuses(3.0)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [AmplifiedOracle, Histogram], ids=lambda kind: kind.__name__)
def test_a_shuffler_that_keeps_order_is_found(kind):
    enough = Histogram(users=40, bins=3, missing_probability=0.25)  # others hide more than a person's own noise
    protocol, delta = enough if kind is Histogram else SHUFFLED[kind], 0.05
    result = audited(protocol.randomize, datasets(protocol.users), delta=delta, trials=1500)
    assert result.accuses(protocol.privacy.epsilon(delta))
    assert "place" in result.event

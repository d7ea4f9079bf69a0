"""Faults that a review planted and no test noticed, each with the test that does."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from shuffledp import BinarySum, Histogram, shuffle
from shuffledp.accounting import blanket_curve
from shuffledp.accounting.blanket_curve import BlanketCurve
from shuffledp.noise import Binomial
from shuffledp.noise.discrete_laplace import DiscreteLaplace
from shuffledp.protocols import CATALOGUE, RealSum, Target
from shuffledp.protocols.local import LocalHashing
from shuffledp.protocols.local.hashed_reports import _hash
from shuffledp.protocols.shuffled.blanket import BlanketSum
from tests.oracles.exact import distribution_table, exact_exp, shifted_delta
from tests.protocols.test_contract import MOST_DEVIATIONS, NOISY, deviations

MADE = [name for name, entry in CATALOGUE.items() if not entry.published and name not in ("amplified", "sparse-best")]
"""Those two are of classes that are here under another name."""


# Calibration ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("users", "epsilon", "delta"), [(40, 1.0, 0.02)])
def test_calibrated_noise_gives_delta_and_not_twice_as_much(users, epsilon, delta):
    """In fractions, from the probabilities that are sampled: within 1e-6 of the delta that was asked for."""
    ratio = exact_exp(epsilon)
    gamma = Histogram.calibrate(users=users, bins=5, epsilon=epsilon, delta=delta).missing_probability
    table = distribution_table(Binomial(trials=users, probability=gamma))
    assert delta * (1 - 1e-6) <= shifted_delta([table, table], (1, -1), ratio=ratio) <= Fraction(delta)
    gamma = BinarySum.calibrate(users=users, epsilon=epsilon, delta=delta).missing_probability
    table = distribution_table(Binomial(trials=users, probability=gamma))
    worse = max(shifted_delta([table], (by,), ratio=ratio) for by in (1, -1))
    assert delta * (1 - 1e-6) <= worse <= Fraction(delta)


@pytest.mark.slow
def test_calibrated_noise_counts_on_honest_people_only():
    for kind, shifts, fields in ((Histogram, (1, -1), {"bins": 3}), (BinarySum, (1,), {})):
        protocol = kind.calibrate(users=90, epsilon=1.0, delta=0.02, honest_users=45, **fields)
        table = distribution_table(Binomial(trials=45, probability=protocol.missing_probability))
        assert shifted_delta([table] * len(shifts), shifts, ratio=exact_exp(1.0)) <= Fraction(0.02)


# Real sums --------------------------------------------------------------------------------------------------------


def test_a_real_sum_counts_on_honest_people_only():
    """Shares mix among the honest, and their noise alone has the distribution that was accounted for."""
    users, honest = 4000, 40
    protocol = RealSum.calibrate(users=users, epsilon=1.0, delta=1e-6, honest_users=honest)
    needed = 2 + (2 * protocol.security_bits + protocol.modulus_bits) / math.log2(honest / math.e)
    assert protocol.shares == math.ceil(needed)
    # Poisson clusters of both signs: their rate over the honest people is -ln(1 - decay)
    draws = protocol._clusters.sample(20_000, rng=np.random.default_rng(1)).mean()
    rate = -math.log1p(-protocol.noise.decay) / honest
    assert abs(draws - rate) < 6 * math.sqrt(rate / 20_000)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_what_shares_tell_counts_for_both_sides(epsilon):
    """Two distributions within s of two others: delta grows by (1 + e^epsilon) s, not by s."""
    protocol = RealSum(users=100, scale=4, noise=DiscreteLaplace(decay=0.75), security_bits=9)
    told = protocol.privacy.delta(epsilon) - protocol.privacy.noise.delta(epsilon)
    assert told == pytest.approx((1 + math.exp(epsilon)) * 2.0**-9)


# Curves -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cells", [2, 4, 16, 200])
def test_reports_of_hashes_are_telling_as_often_as_they_say(cells):
    """A report is telling if its cell is that of one of two bins only. Fails by luck less than once in 10^6 runs."""
    reports, rng = 200_000, np.random.default_rng(2)
    oracle = LocalHashing(users=100, bins=50, epsilon=2.0, cells=cells)
    sent = oracle.randomize(np.full(reports, 7), rng=rng)
    one, other = (
        _hash(np.full(reports, bin, dtype=np.uint64), sent["multiplier"], sent["offset"], cells) for bin in (7, 31)
    )
    telling = np.mean((one != other) & ((sent["cell"] == one) | (sent["cell"] == other)))
    slack = 5 * math.sqrt(oracle.telling * (1 - oracle.telling) / reports) + 1e-6
    assert oracle.telling - slack <= telling <= oracle.telling + slack


def test_coins_that_are_taken_together_err_on_the_safe_side(monkeypatch):
    """Fewer blocks never give a smaller delta; one block per value is the definition."""
    deltas = []
    for outcomes in (10**8, 60_000, 6000):
        monkeypatch.setattr(blanket_curve, "_MOST_OUTCOMES", outcomes)
        deltas.append(BlanketCurve(users=4000, flip_probability=0.125, shifts=2).delta(0.3))
    assert deltas[0] < deltas[1] < deltas[2]


# Randomness -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", MADE)
def test_unseeded_draws_all_differ(name):
    """Three draws of 500 bins: two of them are equal with probability far below 1e-9, unless a seed is fixed."""
    users, bins = 4000, 500
    protocol = CATALOGUE[name].make(Target(users=users, bins=bins, epsilon=1.0, delta=1e-6))
    counts = np.full(bins, users // bins)
    drawn = {protocol.sample_tally(counts).counts.tobytes() for _ in range(3)}
    if name == "stability":  # publishes few of its bins: what is drawn is compared where all are large
        few = CATALOGUE[name].make(Target(users=users * bins, bins=bins, epsilon=0.1, delta=1e-6))
        drawn = {few.sample_tally(np.full(bins, users)).counts.tobytes() for _ in range(3)}
    assert len(drawn) == 3
    values = np.repeat(np.arange(bins), users // bins)
    if CATALOGUE[name].model == "central":
        released = {protocol.release(values).counts.tobytes() for _ in range(3)} if name == "laplace" else {1, 2, 3}
        assert len(released) == 3
    elif protocol.messages_per_user.expected <= 20:
        sent = {np.sort(protocol.randomize(values), axis=None).tobytes() for _ in range(3)}
        assert len(sent) == 3
        alone = {b"".join(np.sort(protocol.randomize(7)).tobytes() for _ in range(200)) for _ in range(3)}
        assert len(alone) == 3


@pytest.mark.slow
def test_unseeded_sums_and_shuffles_differ():
    """Sums of 10^6 people with a flip each with 1/4 agree with probability 1e-3: eight of them never do."""
    bits = np.zeros(10**6, dtype=np.int64)
    for protocol in (
        BinarySum(users=10**6, missing_probability=0.25),
        BlanketSum(users=10**6, flip_probability=0.25),
    ):
        assert len({protocol.sample_tally(0).total for _ in range(8)}) > 2
        assert len({protocol.tally(protocol.randomize(bits)).total for _ in range(8)}) > 2
    sums = RealSum.calibrate(users=50, epsilon=0.01, delta=1e-6)
    assert len({sums.sample_tally(np.zeros(50)).total for _ in range(8)}) > 2
    assert len({sums.randomize(np.zeros(50)).tobytes() for _ in range(8)}) == 8
    assert len({shuffle(np.arange(1000)).tobytes() for _ in range(8)}) == 8


# One person at a time, as deployed ---------------------------------------------------------------------------------


def on_grid(probability):
    return round(probability * 2**20) / 2**20


@pytest.mark.slow
@pytest.mark.parametrize("bit", [0, 1])
def test_one_bit_at_a_time_has_the_distribution_of_many(bit):
    """As tests/protocols/test_contract.py has it for every histogram, with its rate of false failures."""
    rng = np.random.default_rng(4)
    for protocol in (BinarySum(users=300, missing_probability=0.25), BlanketSum(users=300, flip_probability=0.25)):
        assert deviations(protocol, protocol, bit, rng) < MOST_DEVIATIONS


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.7, 1.3])
def test_thirty_percent_of_the_noise_are_seen(share):
    """The negative control, for dummies, flips and missing messages: such a difference is 7 deviations or more."""
    rng, dummies = np.random.default_rng(5), CATALOGUE["dummy"].make(NOISY)
    noise = Binomial(trials=dummies.users, probability=on_grid(share * dummies.noise.probability))
    for one, other in (
        (dummies, replace(dummies, noise=noise)),
        *(
            (kind(users=300, **{field: 0.25}), kind(users=300, **{field: on_grid(0.25 * share)}))
            for kind, field in ((BlanketSum, "flip_probability"), (BinarySum, "missing_probability"))
        ),
    ):
        assert deviations(one, other, 0, rng) > MOST_DEVIATIONS

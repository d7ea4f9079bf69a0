"""What one person sends in a call of their own, as deployed, against the distribution that privacy is computed from.

Each assertion fails on correct code with a probability of at most 1e-6 (tests/oracles/goodness.py), under fixed seeds.
"""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import binomtest

from shuffledp.noise import Binomial
from shuffledp.protocols import CATALOGUE, PublicCoinHistogram, RealSum, Target
from shuffledp.protocols.local.hashed_reports import _hash
from shuffledp.protocols.shuffled.blanket import BlanketSum
from shuffledp.protocols.sums.binary_sum import BinarySum
from tests.oracles.goodness import FALSE_FAILURE_RATE, assert_distribution, p_value, same_distribution_p_value

BINS = 3
TARGET = Target(users=40, bins=BINS, epsilon=1.0, delta=0.05)
DRAWS = 2500


def dummy_distribution(protocol, value):
    """The value, and each bin once more with the probability of a dummy."""
    p, distribution = Fraction(protocol.noise.probability), {}
    for present in product([False, True], repeat=BINS):
        dummies = [j for j, sent in enumerate(present) if sent]
        distribution[tuple(sorted([value, *dummies]))] = p ** len(dummies) * (1 - p) ** (BINS - len(dummies))
    return distribution


def symbols(messages):
    """Messages of one person as a sorted tuple, packed ones as bytes."""
    return tuple(sorted(m.tobytes() if messages.dtype.kind == "V" else int(m) for m in messages))


def check_table(randomize, distribution, rng):
    seen = Counter(symbols(randomize(rng=rng)) for _ in range(DRAWS))
    assert set(seen) <= set(distribution)
    observed = np.array([seen[outcome] for outcome in distribution])
    assert p_value(observed, np.array([float(p) for p in distribution.values()])) > FALSE_FAILURE_RATE


def check_sparse(protocol, value, rng):
    """The counts of every kind of message in every bin: P (and the value) of +j, and M in their difference."""
    sent = np.zeros((DRAWS, 2 * BINS), dtype=np.int64)
    for draw in sent:
        np.add.at(draw, protocol.randomize(value, rng=rng).astype(np.int64), 1)
    plus, minus = sent[:, 0::2], sent[:, 1::2]
    plus[:, value] -= 1
    pairs, lone = (
        distribution.share(1, of=protocol.users).window.pmf for distribution in (protocol.pairs, protocol.lone)
    )
    for j in range(BINS):
        assert_distribution(plus[:, j], 0, pairs)
        assert_distribution(minus[:, j] - plus[:, j], 0, lone)


def check_poisson_dummies(protocol, value, rng):
    """The value, and one user's part of Poisson dummies in every bin."""
    sent = np.array([np.bincount(protocol.randomize(value, rng=rng), minlength=BINS) for _ in range(DRAWS)])
    sent[:, value] -= 1
    for column in sent.T:
        assert_distribution(column, 0, protocol.noise.share(1, of=protocol.users).window.pmf)


def public_coin_distribution(protocol, value):
    """The value's cell of every row, and each cell once more with the probability of a dummy."""
    p, cells, distribution = Fraction(protocol.noise.probability), protocol.rows * protocol.width, Counter()
    own = protocol.hashes.of(np.array([value])).ravel().tolist()
    for present in product([False, True], repeat=cells):
        dummies = [cell for cell, sent in enumerate(present) if sent]
        distribution[tuple(sorted([*own, *dummies]))] += p ** len(dummies) * (1 - p) ** (cells - len(dummies))
    return distribution


def check_share(hits, probability):
    assert binomtest(int(hits.sum()), hits.size, probability).pvalue > FALSE_FAILURE_RATE


def check_hashing(protocol, value, rng):
    """How often the cell is that of the person's own value under the hash function that travels with it."""
    reports = np.concatenate([protocol.randomize(value, rng=rng) for _ in range(DRAWS)])
    own = _hash(np.full(DRAWS, value, dtype=np.uint64), reports["multiplier"], reports["offset"], protocol.cells)
    check_share(reports["cell"] == own, protocol.true_support)


def check_bassily_smith(protocol, value, rng):
    """How often the bit is the sign of the person's own value."""
    reports = np.concatenate([protocol.randomize(value, rng=rng) for _ in range(DRAWS)])
    sign = (np.uint64(value) * reports["multiplier"] + reports["offset"]) >> np.uint64(63)
    check_share(reports["bit"] == sign.astype(bool), protocol.true_support)


OTHERS = {
    "sparse": check_sparse,
    "hashing": check_hashing,
    "bassily-smith": check_bassily_smith,
    "dummy-poisson": check_poisson_dummies,
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "dummy",
        "dummy-poisson",
        "blanket",
        "sparse",
        "response",
        "unary",
        "unary-symmetric",
        "hadamard",
        "hashing",
        "bassily-smith",
    ],
)
def test_messages_of_one_person_have_their_distribution(name):
    few = replace(TARGET, users=12, honest_users=None)  # who make more noise each
    protocol, rng = (
        CATALOGUE[name].make(few if name in ("sparse", "dummy-poisson") else TARGET),
        np.random.default_rng(80),
    )
    for value in (0, BINS - 1):
        if name in OTHERS:
            OTHERS[name](protocol, value, rng)
            continue
        distribution = (
            dummy_distribution(protocol, value) if name == "dummy" else protocol.randomizer_distribution(value)
        )
        check_table(lambda rng, value=value: protocol.randomize(value, rng=rng), distribution, rng)


@pytest.mark.slow
def test_cells_of_one_person_have_their_distribution():
    noise = Binomial(trials=9, probability=0.25)
    protocol, rng = (
        PublicCoinHistogram(users=9, bins=2, rows=2, width=2, noise=noise, coin=3),
        np.random.default_rng(84),
    )
    for value in (0, 1):
        distribution = public_coin_distribution(protocol, value)
        check_table(lambda rng, value=value: protocol.randomize(value, rng=rng), distribution, rng)


@pytest.mark.parametrize("kind", [BinarySum, BlanketSum], ids=lambda kind: kind.__name__)
def test_bits_of_one_person_have_their_distribution(kind):
    protocol, rng = kind.calibrate(users=60, epsilon=1.0, delta=0.01), np.random.default_rng(81)
    for bit in (0, 1):
        check_table(lambda rng, bit=bit: protocol.randomize(bit, rng=rng), protocol.randomizer_distribution(bit), rng)


@pytest.mark.parametrize("ones", [0, 1, 60])
def test_drawn_sums_have_noise_whatever_people_hold(ones):
    protocol, rng = BinarySum.calibrate(users=60, epsilon=1.0, delta=0.01), np.random.default_rng(82)
    drawn = np.array([ones + 60 - protocol.sample_tally(ones, rng=rng).total for _ in range(DRAWS)])
    assert_distribution(drawn, protocol.noise.window.first, protocol.noise.window.pmf)


@pytest.mark.slow
def test_parts_of_a_sum_one_by_one_add_up_to_its_noise():
    """One person at a time makes the same parts as many at once, which tests/protocols/sums compares with the
    distribution.
    """
    protocol, rng = RealSum.calibrate(users=19, epsilon=1.0, delta=1e-6, scale=4), np.random.default_rng(83)
    mask = (1 << protocol.modulus_bits) - 1

    def parts(shares):
        sums = shares.reshape(-1, protocol.shares).sum(axis=1, dtype=np.uint64) & np.uint64(mask)
        return np.where(sums > mask // 2, sums.astype(np.int64) - mask - 1, sums.astype(np.int64))

    alone = np.concatenate([parts(protocol.randomize(1.0, rng=rng)) for _ in range(DRAWS)])
    together = parts(protocol.randomize(np.ones(DRAWS), rng=rng))
    assert same_distribution_p_value(alone, together) > FALSE_FAILURE_RATE
    assert same_distribution_p_value(alone, np.full(DRAWS, 4)) <= FALSE_FAILURE_RATE  # what no noise at all would give

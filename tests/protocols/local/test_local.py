"""Local protocols: exact privacy by enumeration, unbiased estimates with the stated variance, bounds that hold."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from shuffledp.errors import DataError, ParameterError
from shuffledp.noise.coins import packed_flips
from shuffledp.protocols.local import (
    BassilySmith,
    HadamardResponse,
    LocalHashing,
    RandomizedResponse,
    UnaryEncoding,
    unary_encoding,
)
from shuffledp.protocols.local.responses import walsh_hadamard
from tests.oracles.goodness import assert_distribution, assert_not_distribution, p_value

MAKERS = {
    "randomized response": RandomizedResponse,
    "optimised unary": UnaryEncoding,
    "symmetric unary": lambda **fields: UnaryEncoding(**fields, optimised=False),
    "local hashing": LocalHashing,
    "Hadamard response": HadamardResponse,
    "Bassily-Smith": BassilySmith,
}
EPSILONS = [0.1, 1.0, 3.0, 20.0]
oracles = pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)


def exact_distributions(protocol):
    """The distribution of one report for each value, in fractions; for hashes, given the hash, which carries no
    information.
    """
    bins = protocol.bins
    p = Fraction(protocol.true_support)
    if isinstance(protocol, RandomizedResponse):
        truth = Fraction(protocol.truth_probability)
        return [{y: (1 - truth) / bins + (truth if x == y else 0) for y in range(bins)} for x in range(bins)]
    if isinstance(protocol, UnaryEncoding):
        q = Fraction(protocol.false_support)
        chances = [[p if j == x else q for j in range(bins)] for x in range(bins)]
        rows = [tuple(map(int, f"{bits:0{bins}b}")) for bits in range(2**bins)]
        return [{r: math.prod(c if b else 1 - c for b, c in zip(r, row, strict=True)) for r in rows} for row in chances]
    if isinstance(protocol, HadamardResponse):
        half = protocol.symbols // 2
        return [
            {y: (1 - p if ((x + 1) & y).bit_count() % 2 else p) / half for y in range(protocol.symbols)}
            for x in range(bins)
        ]
    if isinstance(protocol, LocalHashing):  # the own cell, another given one, and all the rest together
        truth = Fraction(protocol._response.truth_probability)
        other = (1 - truth) / protocol.cells
        rest = {2: (protocol.cells - 2) * other} if protocol.cells > 2 else {}
        return [{0: truth + other, 1: other, **rest}, {0: other, 1: truth + other, **rest}]
    return [{0: p, 1: 1 - p}, {0: 1 - p, 1: p}]


@oracles
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("bins", [2, 3, 5])
def test_every_report_is_private_and_no_more_than_needed(maker, epsilon, bins):
    distributions = exact_distributions(maker(users=10, bins=bins, epsilon=epsilon))
    assert all(sum(distribution.values()) == 1 for distribution in distributions)
    worst = max(p[y] / q[y] for p in distributions for q in distributions for y in p)
    with mpmath.workdps(60):
        assert mpmath.mpf(worst.numerator) / worst.denominator <= mpmath.exp(mpmath.mpf(epsilon))  # not a hair above
    assert math.log(worst) == pytest.approx(epsilon, rel=1e-7)


@oracles
@pytest.mark.parametrize("epsilon", [30.0, 37.0, 50.0])
def test_no_epsilon_is_so_large_that_nothing_is_randomized(maker, epsilon):
    distributions = exact_distributions(maker(users=10, bins=3, epsilon=epsilon))
    assert all(min(distribution.values()) > 0 for distribution in distributions)
    worst = max(p[y] / q[y] for p in distributions for q in distributions for y in p)
    assert math.log(worst) <= epsilon


@pytest.mark.parametrize("maker", [RandomizedResponse, HadamardResponse], ids=lambda maker: maker.__name__)
@pytest.mark.parametrize("value", [0, 1, 2])
def test_reports_follow_their_distribution(maker, value):
    protocol = maker(users=10, bins=3, epsilon=1.0)
    distribution = exact_distributions(protocol)[value]
    sent = protocol.randomize(np.full(20_000, value), rng=np.random.default_rng(30))
    seen = np.bincount(sent, minlength=len(distribution))
    assert p_value(seen, np.array([float(distribution[y]) for y in range(len(distribution))])) > 1e-6


@pytest.mark.parametrize("optimised", [True, False])
def test_every_bit_of_unary_encoding_follows_its_distribution(optimised):
    """Joint distribution over all rows of three bits, so that no bit is left alone and none depends on another."""
    protocol = UnaryEncoding(users=10, bins=3, epsilon=1.0, optimised=optimised)
    distribution = exact_distributions(protocol)[1]
    sent = protocol.randomize(np.full(20_000, 1), rng=np.random.default_rng(31))
    rows = np.unpackbits(sent.view(np.uint8).reshape(-1, 1), axis=1, count=3)
    seen = np.bincount(rows @ [4, 2, 1], minlength=8)
    assert p_value(seen, np.array([float(distribution[tuple(map(int, f"{k:03b}"))]) for k in range(8)])) > 1e-6


@pytest.mark.slow
@oracles
def test_support_counts_follow_their_distribution_in_every_bin(maker):
    """s_j ~ Bin(c_j, p) + Bin(n - c_j, q) for a held and for an empty bin, whatever the protocol."""
    protocol = maker(users=40, bins=6, epsilon=1.0)
    values, rng = np.array([0] * 25 + [3] * 15), np.random.default_rng(32)
    draws = np.array([protocol.tally(protocol.randomize(values, rng=rng)).counts for _ in range(2500)])
    for bin_, count in ((0, 25), (3, 15), (1, 0), (5, 0)):
        distribution = _sum_distribution(count, protocol.true_support, 40 - count, protocol.false_support)
        assert_distribution(draws[:, bin_], 0, distribution)
        assert_not_distribution(
            draws[:, bin_],
            0,
            _sum_distribution(count, protocol.true_support * 0.7, 40 - count, protocol.false_support * 0.7),
        )


def _sum_distribution(first, p, second, q):
    def pmf(trials, chance):
        return np.array([math.comb(trials, k) * chance**k * (1 - chance) ** (trials - k) for k in range(trials + 1)])

    return np.convolve(pmf(first, p), pmf(second, q))


@pytest.mark.slow
@oracles
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_estimates_are_unbiased_with_the_stated_variance_and_covered(maker, epsilon):
    users, bins, rounds = 1000, 12, 150  # rounds make the test sharp, people only take time
    counts = np.array([500, 230, 130, 70, 30, 20, 10, 7, 3, 0, 0, 0])
    values, rng = np.repeat(np.arange(bins), counts), np.random.default_rng(33)
    protocol = maker(users=users, bins=bins, epsilon=epsilon)
    estimates = [protocol.estimate(protocol.tally(protocol.randomize(values, rng=rng))) for _ in range(rounds)]
    found = np.array([estimate.counts for estimate in estimates])
    variances = np.array([protocol.estimator.variance(int(count)) for count in counts])
    assert (np.abs(found.mean(axis=0) - counts) < 5.5 * np.sqrt(variances / rounds)).all()
    assert 0.8 < (found.var(axis=0) / variances).mean() < 1.2
    errors = np.abs(found - counts).max(axis=1)
    assert (errors > protocol.error(0.05).simultaneous).mean() <= 0.05 + 5 * math.sqrt(0.05 / rounds)
    for estimate in estimates[:20]:
        assert (estimate.simultaneous.low <= estimate.simultaneous.high).all()


@oracles
def test_faces(maker):
    protocol = maker(users=100, bins=8, epsilon=1.0)
    assert protocol.guarantee.delta == 0.0
    assert protocol.messages_per_user.expected == 1
    assert protocol.bits_per_message >= 1
    one = protocol.randomize(3)
    assert len(one) == 1
    parts = [protocol.randomize(np.arange(8)) for _ in range(3)]
    merged = protocol.tally(parts[0]) + protocol.tally(parts[1]) + protocol.tally(parts[2])
    assert merged == protocol.tally(np.concatenate(parts))
    estimate = protocol.estimate(merged, reports=24)
    assert estimate.people == 24
    assert "private by itself" in estimate.explain()
    assert not np.array_equal(protocol.randomize(np.arange(8).repeat(50)), protocol.randomize(np.arange(8).repeat(50)))


@oracles
def test_wrong_parameters_and_data(maker):
    with pytest.raises(ParameterError, match="bins must be at least 2"):
        maker(users=10, bins=1, epsilon=1.0)
    with pytest.raises(ParameterError, match="too many"):
        maker(users=10, bins=2**30, epsilon=1.0)
    with pytest.raises(ParameterError, match="epsilon"):
        maker(users=10, bins=4, epsilon=0)
    protocol = maker(users=10, bins=4, epsilon=1.0)
    with pytest.raises(DataError, match="not a bin"):
        protocol.randomize(4)
    with pytest.raises(DataError):
        protocol.tally(np.array([[1.5, 2.5]]))


def test_walsh_hadamard_is_its_definition():
    values = np.random.default_rng(34).integers(-5, 6, 16)
    signs = np.array([[(-1) ** (j & y).bit_count() for y in range(16)] for j in range(16)])
    assert np.array_equal(walsh_hadamard(values), signs @ values)


@pytest.mark.parametrize("probability", [0.5, 0.25, 1 / 256, 1 / 256 + 2**-53, 0.3, 2**-53, 0.2689414213699951])
@pytest.mark.parametrize("tied", [0, 8, 16, 48])
def test_packed_coins_are_exact_at_every_digit(probability, tied):
    """A generator that repeats the first digits of the probability leaves the decision to the rest of them."""
    digits, coins = int(probability * 2**53), 20_000
    random, calls = np.random.default_rng(35), itertools.count()

    class Tied:
        bit_generator = None  # not one whose words are taken as they are

        def integers(self, low, high, *, size, dtype):
            place = 8 * next(calls)
            if place >= tied:
                return random.integers(low, high, size=size, dtype=dtype)
            rows = [np.full(coins // 8, -(digits >> (52 - place - i) & 1) & 0xFF, dtype=np.uint8) for i in range(8)]
            return np.concatenate(rows).view(dtype)

    rest = digits % 2 ** (53 - tied) / 2 ** (53 - tied)
    heads = int(np.bitwise_count(packed_flips(coins // 8, probability, Tied())).sum())
    assert abs(heads - coins * rest) <= 6 * math.sqrt(coins * rest * (1 - rest)) + 1e-6


def test_reports_over_many_parts_and_no_bits_beyond_the_last_bin(monkeypatch):
    monkeypatch.setattr(unary_encoding, "_CELLS_AT_ONCE", 1000)
    protocol = UnaryEncoding(users=2000, bins=13, epsilon=1.0)
    values = np.arange(2000) % 3
    reports = protocol.randomize(values, rng=np.random.default_rng(36))
    rows = np.unpackbits(reports.view(np.uint8).reshape(2000, 2), axis=1)
    assert not rows[:, 13:].any()
    assert protocol.supports(reports).tolist() == rows[:, :13].sum(axis=0).tolist()
    expected = np.full(13, 2000 * protocol.false_support)
    expected[:3] += np.bincount(values) * (protocol.true_support - protocol.false_support)
    assert np.abs(protocol.supports(reports) - expected).max() < 6 * math.sqrt(2000 / 4)


def test_the_best_hash_range_has_the_smallest_variance():
    best = LocalHashing(users=1000, bins=100, epsilon=1.0)
    assert best.cells == 4
    for cells in (2, 3, 6, 10):
        assert (
            LocalHashing(users=1000, bins=100, epsilon=1.0, cells=cells).estimator.variance()
            >= best.estimator.variance() * 0.99
        )

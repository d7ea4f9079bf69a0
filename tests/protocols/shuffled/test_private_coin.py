"""PrivateCoinHistogram: messages of parities, decoded by linear algebra, with an exact account of their privacy."""

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product

import numpy as np
import pytest
from scipy.stats import binom

from shuffledp import DataError, DummyHistogram, ParameterError, TooFewUsersError, run, shuffle
from shuffledp.accounting.support_curves import SupportCurve
from shuffledp.estimators.supports import ChanceSupports
from shuffledp.paper.finite_randomizer import exact_delta
from shuffledp.protocols import PrivateCoinHistogram
from shuffledp.protocols.shuffled import private_coin
from tests.oracles.exact import shuffled_distribution, worst_delta
from tests.oracles.goodness import FALSE_FAILURE_RATE, assert_distribution, assert_not_distribution, p_value

COMMON = {"users": 1000, "bins": 50, "epsilon": 1, "delta": 1e-6}


def supported(message, bins):
    """The bins whose vector shares an even number of ones with every element, one by one."""
    return [j for j in range(bins) if all(((j + 1) & y).bit_count() % 2 == 0 for y in message)]


def messages_of(protocol):
    return list(product(range(2**protocol.bits_per_element), repeat=protocol.elements))


class Enumerated:
    """The distribution of one person's messages, written down from the protocol's description."""

    def __init__(self, protocol):
        self.protocol = protocol

    def randomizer_distribution(self, value):
        everything = messages_of(self.protocol)
        own = [m for m in everything if value in supported(m, self.protocol.bins)]
        distribution = Counter()
        for real in own:
            for noise in combinations_with_replacement(everything, self.protocol.noise_messages):
                orders = len(set(permutations(noise)))
                chance = Fraction(orders, len(own) * len(everything) ** self.protocol.noise_messages)
                distribution[tuple(sorted((real, *noise)))] += chance
        return distribution


# privacy ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("bins", "elements", "noise"), [(3, 1, 3), (5, 1, 3), (3, 2, 2), (2, 2, 2)])
def test_one_honest_person_is_exactly_as_private_as_enumeration_says(bins, elements, noise):
    protocol = PrivateCoinHistogram(users=1, bins=bins, elements=elements, noise_messages=noise)
    for ratio in (Fraction(1), Fraction(3, 2), Fraction(2), Fraction(3)):
        truth = worst_delta(Enumerated(protocol), users=1, values=range(bins), ratio=ratio).delta
        assert protocol.privacy.delta(math.log(ratio)) >= float(truth)
        assert protocol.privacy.delta(math.log(ratio)) == pytest.approx(float(truth), rel=1e-8, abs=1e-25)


@pytest.mark.parametrize(("bins", "elements", "noise"), [(4, 1, 1), (2, 2, 1), (3, 1, 2)])
def test_more_people_are_at_most_as_revealing_as_the_curve(bins, elements, noise):
    """Over all pairs of neighbouring datasets, both directions, and all multisets of messages."""
    protocol = PrivateCoinHistogram(users=2, bins=bins, elements=elements, noise_messages=noise)
    for ratio in (Fraction(1), Fraction(3, 2), Fraction(3)):
        truth = worst_delta(Enumerated(protocol), users=2, values=range(bins), ratio=ratio).delta
        assert protocol.privacy.delta(math.log(ratio)) >= float(truth)
        if bins >= 4:
            assert protocol.privacy.lowest_delta(math.log(ratio)) <= float(truth)
    assert truth > 0


def test_the_lower_bound_is_met_by_the_dataset_it_speaks_of():
    """Two elements: the truth of that one pair of datasets lies between the bounds, which are not trivial."""
    protocol = PrivateCoinHistogram(users=2, bins=4, elements=1, noise_messages=2)
    enumerated = Enumerated(protocol)
    before, after = (
        shuffled_distribution(enumerated.randomizer_distribution(v) for v in pair) for pair in ((0, 3), (1, 3))
    )
    for ratio in (Fraction(1), Fraction(11, 10)):
        truth = float(exact_delta(before, after, ratio=ratio))
        low, high = protocol.privacy.lowest_delta(math.log(ratio)), protocol.privacy.delta(math.log(ratio))
        assert 0 < low <= truth <= high


@pytest.mark.parametrize("elements", [10, 17])
def test_bounds_meet_when_messages_have_many_elements(elements):
    curve = SupportCurve(noise_messages=43 << elements, elements=elements)
    low, high = curve.lowest_delta(1.0), curve.delta(1.0)
    assert (1 - 16 * 2.0**-elements) * high <= low <= high
    assert curve.delta(curve.epsilon(1e-6)) <= 1e-6 < curve.delta(0.9999 * curve.epsilon(1e-6))
    assert not curve.exact


def test_the_formula_against_fractions():
    noise, elements, ratio = 9, 2, Fraction(3, 2)
    t = Fraction(1, 4)

    def pmf(n, k):
        return math.comb(n, k) * t**k * (1 - t) ** (n - k)

    exact = sum(
        pmf(noise, own) * pmf(noise + 1, other) * max(Fraction(0), 1 - ratio * other / (own + 1))
        for own in range(noise + 1)
        for other in range(noise + 2)
    )
    reached = SupportCurve(noise_messages=noise, elements=elements).delta(math.log(ratio))
    assert float(exact) <= reached <= float(exact) * (1 + 1e-8)


def test_too_little_noise_has_no_finite_epsilon():
    assert SupportCurve(noise_messages=3, elements=2).epsilon(1e-6) == math.inf
    with pytest.raises(ParameterError, match="must not be negative"):
        SupportCurve(noise_messages=3, elements=2).delta(-1)


# calibration --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("elements", [None, 1, 3, 8, 14])
def test_calibration_takes_the_fewest_noise_messages(elements):
    protocol = PrivateCoinHistogram.calibrate(**COMMON, elements=elements)
    assert protocol.privacy.delta(1) <= 1e-6
    if protocol.noise_messages > 1:
        fewer = replace(protocol, noise_messages=math.floor(0.999 * protocol.noise_messages))
        assert fewer.privacy.delta(1) > 1e-6
    assert protocol.messages_per_user == (1 + protocol.noise_messages,) * 2
    assert protocol.bits_per_message == 6 * protocol.elements


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1, 2])
def test_noise_30_percent_too_small_is_not_private(epsilon):
    protocol = PrivateCoinHistogram.calibrate(users=100_000, bins=64, epsilon=epsilon, delta=1e-6)
    assert 8 <= protocol.noise_messages <= 16
    weak = replace(protocol, noise_messages=math.floor(0.7 * protocol.noise_messages), guarantee=None)
    assert weak.privacy.delta(epsilon) > 1e-6
    assert weak.privacy.lowest_delta(epsilon) > 1e-6  # it really is not


def test_as_much_noise_per_bin_as_the_dummy_protocol():
    coin = PrivateCoinHistogram.calibrate(users=10**6, bins=100, epsilon=1, delta=1e-6, elements=30)
    dummy = DummyHistogram.calibrate(users=10**6, bins=100, epsilon=1, delta=1e-6)
    assert coin.noise_messages * 10**6 / 2**30 == pytest.approx(dummy.noise.mean, rel=0.005)


def test_honest_people_only():
    protocol = PrivateCoinHistogram.calibrate(**COMMON, honest_users=300)
    assert protocol.privacy.noise_messages == 300 * protocol.noise_messages
    assert protocol.privacy.delta(1) <= 1e-6


@pytest.mark.parametrize("users", [2, 1000, 1025, 10**6])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1, 2, 4])
@pytest.mark.parametrize("delta", [1e-4, 1e-6, 1e-10])
def test_published_parameters_give_their_guarantee(users, epsilon, delta):
    protocol = PrivateCoinHistogram.published(users=users, bins=64, epsilon=epsilon, delta=delta)
    assert protocol.noise_messages == math.ceil(36 * math.log(1 / delta) / epsilon**2)
    assert 2**protocol.elements >= users
    assert protocol.privacy.delta(epsilon) <= delta
    exact = PrivateCoinHistogram.calibrate(
        users=users, bins=64, epsilon=epsilon, delta=delta, elements=protocol.elements
    )
    assert exact.noise_messages <= protocol.noise_messages


def test_published_parameters_do_not_for_a_large_epsilon():
    with pytest.raises(ParameterError, match="reach only delta="):
        PrivateCoinHistogram.published(users=1000, bins=64, epsilon=8, delta=1e-6)


@pytest.mark.slow
def test_few_people():
    assert PrivateCoinHistogram.minimum_users(epsilon=1, delta=1e-6) == 1
    assert PrivateCoinHistogram.calibrate(users=1, bins=5, epsilon=1, delta=1e-6).privacy.delta(1) <= 1e-6
    fewest = PrivateCoinHistogram.minimum_users(epsilon=0.001, delta=1e-6)
    assert fewest > 1
    PrivateCoinHistogram.calibrate(users=fewest, bins=5, epsilon=0.001, delta=1e-6, elements=1)
    with pytest.raises(TooFewUsersError, match=f"needs at least {fewest}$"):
        PrivateCoinHistogram.calibrate(users=fewest - 1, bins=5, epsilon=0.001, delta=1e-6, elements=1)
    with pytest.raises(TooFewUsersError, match="or fewer elements"):
        PrivateCoinHistogram.calibrate(users=10, bins=5, epsilon=1, delta=1e-6, elements=40)


# decoding and sampling ----------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("bins", "elements"), [(1, 1), (2, 3), (5, 1), (7, 2), (8, 9), (64, 3), (300, 12), (700, 2)])
def test_decoder_against_trying_every_bin(bins, elements):
    bits = bins.bit_length()
    rng = np.random.default_rng(60)
    words = rng.integers(0, 1 << bits, size=(300, elements), dtype=private_coin.word_kind(bits))
    words[:20] = words[:20, :1]  # equations that say the same
    words[0] = 0  # supports everything
    expected = Counter(j for message in words.tolist() for j in supported(message, bins))
    found = private_coin.supports(words, bits=bits, bins=bins)
    assert found.tolist() == [expected[j] for j in range(bins)]


def test_decoder_over_many_blocks(monkeypatch):
    monkeypatch.setattr(private_coin, "MESSAGES_AT_ONCE", 64)
    monkeypatch.setattr(private_coin, "_VECTORS_AT_ONCE", 16)
    test_decoder_against_trying_every_bin(64, 3)


@pytest.mark.parametrize(("equations", "bits"), [(1, 1), (1, 3), (2, 2), (2, 3), (3, 2)])
def test_dimensions_of_solutions_against_all_matrices(equations, bits):
    rows = np.array(list(product(range(2**bits), repeat=equations)), dtype=np.uint8)
    dimensions = np.count_nonzero(private_coin.solve(rows, bits=bits), axis=1)
    seen = np.bincount(dimensions, minlength=bits + 1).tolist()
    assert seen == [private_coin.matrices(equations=equations, bits=bits, dimension=k) for k in range(bits + 1)]


@pytest.mark.slow
def test_one_persons_messages_follow_the_randomizers_distribution():
    protocol = PrivateCoinHistogram(users=1, bins=3, elements=1, noise_messages=2)
    distribution = Enumerated(protocol).randomizer_distribution(2)
    rng = np.random.default_rng(61)
    seen = Counter(
        tuple(sorted((y,) for y in protocol.randomize(2, rng=rng).view(np.uint8).tolist())) for _ in range(8000)
    )
    assert set(seen) <= set(distribution)
    assert (
        p_value(np.array([seen[m] for m in distribution]), np.array([float(p) for p in distribution.values()]))
        > FALSE_FAILURE_RATE
    )


def by_messages(protocol, values, rng):
    return protocol.tally(shuffle(protocol.randomize(values, rng=rng), rng=rng))


def by_distribution(protocol, values, rng):
    return protocol.sample_tally(np.bincount(values, minlength=protocol.bins), rng=rng)


@pytest.mark.slow
@pytest.mark.parametrize("draw", [by_messages, by_distribution])
def test_joint_distribution_of_the_whole_tally_matches_enumeration(draw):
    protocol = PrivateCoinHistogram(users=2, bins=4, elements=2, noise_messages=1)
    one = {v: Counter() for v in (0, 3, None)}
    for message in messages_of(protocol):
        bins = supported(message, 4)
        for value in one:
            if value is None or value in bins:
                one[value][tuple(int(j in bins) for j in range(4))] += 1
    exact = Counter({(0, 0, 0, 0): 1.0})
    for value in (0, 3, None, None):
        total, before = sum(one[value].values()), exact
        exact = Counter()
        for seen, p in before.items():
            for more, count in one[value].items():
                exact[tuple(np.add(seen, more).tolist())] += p * count / total
    rng = np.random.default_rng(62)
    seen = Counter(tuple(draw(protocol, np.array([0, 3]), rng).counts.tolist()) for _ in range(4000))
    assert set(seen) <= set(exact)
    outcomes = list(exact)
    assert p_value(np.array([seen[o] for o in outcomes]), np.array([exact[o] for o in outcomes])) > FALSE_FAILURE_RATE


@pytest.mark.slow
@pytest.mark.parametrize("draw", [by_messages, by_distribution])
@pytest.mark.parametrize("scale", [0.7, 1.0, 1.3])
def test_every_coordinate_with_negative_controls(draw, scale):
    protocol = PrivateCoinHistogram(users=40, bins=9, elements=3, noise_messages=10)
    changed = replace(protocol, noise_messages=round(10 * scale))
    values = np.repeat([0, 4, 8], [25, 5, 10])
    counts = np.bincount(values, minlength=9)
    rng = np.random.default_rng(63)
    draws = np.array([draw(changed, values, rng).counts for _ in range(500)])
    for j in range(9):
        others = protocol.users * 11 - counts[j]
        pmf = binom(others, 1 / 8).pmf(np.arange(others + 1))
        (assert_distribution if scale == 1.0 else assert_not_distribution)(draws[:, j] - counts[j], 0, pmf)


# estimates ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("elements", [2, None])
def test_unbiased_and_covered(elements):
    protocol = PrivateCoinHistogram.calibrate(users=2000, bins=100, epsilon=1, delta=1e-6, elements=elements)
    counts = np.zeros(100, dtype=np.int64)
    counts[[3, 50, 99]] = [1500, 300, 200]
    rng = np.random.default_rng(64)
    estimates = [protocol.estimate(protocol.sample_tally(counts, rng=rng)) for _ in range(100)]
    deviations = np.array([e.counts - counts for e in estimates])
    spread = np.sqrt([protocol.estimator.variance(int(c)) for c in counts])
    assert np.abs(deviations.mean(axis=0) / spread * math.sqrt(100)).max() < 5
    assert (deviations / spread).std() == pytest.approx(1, abs=0.05)
    bound = protocol.error(0.05)
    assert (np.abs(deviations).max(axis=1) <= bound.simultaneous).mean() >= 0.93
    assert (np.abs(deviations) <= bound.per_bin).mean() >= 0.94
    for name, least in (("simultaneous", 0.93), ("per_bin", 0.94)):
        covered = np.array([(getattr(e, name).low <= counts) & (counts <= getattr(e, name).high) for e in estimates])
        assert (covered.all(axis=1) if name == "simultaneous" else covered).mean() >= least


def test_error_bounds_hold_for_every_true_count_and_are_tight():
    others = ChanceSupports(people=60, bins=1, messages=660, probability=1 / 8)
    beta = 0.01
    error = others.error(beta=beta, bins=1, occupied=1)
    risks = []
    for count in range(61):
        distribution, b = binom(660 - count, 1 / 8), np.arange(661 - count)
        risks.append(distribution.pmf(b)[np.abs(b - (660 - count) / 8) / (7 / 8) > error].sum())
        drawn = np.arange(count, 661)
        low, high = others.interval(drawn, beta=beta)
        missed = (low > count) | (high < count)
        assert distribution.pmf(drawn - count)[missed].sum() <= beta
    assert max(risks) <= beta
    assert others.failure(error - 1.5) > beta
    low, high = others.interval(np.array([0, 660]), beta=beta)
    assert low.tolist() == high.tolist() == [0, 60]  # supports that no true count explains


def test_run_fewer_reports_and_words():
    protocol = PrivateCoinHistogram.calibrate(**COMMON)
    estimate = run(protocol, np.repeat([1, 4], [500, 300]))
    assert estimate[1] == pytest.approx(500, abs=60)
    assert estimate.guarantee.epsilon > 1
    assert "noise messages besides the real one" in estimate.explain()
    assert protocol.for_reports(1000) is protocol


def test_parts_of_the_messages_add_up():
    protocol = PrivateCoinHistogram.calibrate(**COMMON)
    messages = protocol.randomize(np.arange(1000) % 50, rng=np.random.default_rng(65))
    first, second = (protocol.tally(part) for part in np.array_split(messages, 2))
    assert first + second == protocol.tally(messages)
    assert protocol.tally(messages[:0]).total == 0


@pytest.mark.parametrize(
    ("call", "error", "reason"),
    [
        (lambda p: replace(p, elements=51), ParameterError, "at most 50"),
        (lambda p: replace(p, elements=0), ParameterError, "at least 1"),
        (lambda p: replace(p, noise_messages=0), ParameterError, "at least 1"),
        (lambda p: replace(p, noise_messages=2**21), ParameterError, "use fewer elements"),
        (lambda p: replace(p, bins=2**25), ParameterError, "too many"),
        (lambda p: SupportCurve(noise_messages=1, elements=60), ParameterError, "at most 50"),
        (lambda p: p.randomize([50]), DataError, "not shown"),
        (lambda p: p.tally(np.arange(5)), DataError, "elements of 6 bits"),
        (lambda p: p.tally(np.full(p._message.itemsize, 255, np.uint8).view(p._message)), DataError, "more than 6"),
        (lambda p: p.estimate(p.tally(p.randomize([1] * 300))), DataError, "reports="),
        (lambda p: p.estimate(DummyHistogram.calibrate(**COMMON).sample_tally({1: 1000})), DataError, "every bin"),
    ],
)
def test_refusals(call, error, reason):
    with pytest.raises(error, match=reason):
        call(PrivateCoinHistogram.calibrate(**COMMON))

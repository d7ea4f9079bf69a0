"""Thresholds, misses and limits of the search for texts against scipy's distributions."""

from functools import cache

import numpy as np
import pytest
from scipy import stats

from shuffledp.estimators.text_search import EARLY_SHARE, TextTests
from shuffledp.protocols.shuffled.hashed import HashedHistogram
from shuffledp.protocols.target import Target

PEOPLE, LEVELS, PIECES = 3000, 5, 40


@pytest.fixture(scope="module")
def tests():
    target = Target(users=PEOPLE, bins=(PIECES + 3) << 48, epsilon=2, delta=1e-5, padding_bins=0)
    protocol = HashedHistogram.for_levels(target, levels=LEVELS, pieces=PIECES + 3)
    return TextTests(values=protocol.estimator, levels=LEVELS, pieces=PIECES)


@cache
def counts(buckets, rate, count, copies):
    """The probabilities of the number of messages consistent with a value of `count` people on `copies` levels."""
    most = int(copies * (PEOPLE / buckets + rate) + 20 * (copies * (PEOPLE / buckets + rate)) ** 0.5)
    others = stats.binom.pmf(np.arange(most), copies * (PEOPLE - count), 1 / buckets)
    noise = np.convolve(others, stats.poisson.pmf(np.arange(most), copies * rate))
    return np.concatenate([np.zeros(copies * count), noise])


def oracle(tests, count, copies):
    return counts(tests.values.family.modulus, tests.values.dummies.rate, count, copies)


@pytest.mark.parametrize("copies", [1, 3])
@pytest.mark.parametrize("risk", [0.2, 1e-3, 1e-9])
def test_a_threshold_is_the_smallest_with_its_risk(tests, copies, risk):
    tail = np.cumsum(oracle(tests, 0, copies)[::-1])[::-1]
    threshold = tests.threshold(copies, risk)
    assert tail[threshold] <= risk < tail[threshold - 1]


def test_the_risk_is_shared_by_groups_and_candidates(tests):
    assert sum(tests.share(length) for length in range(LEVELS + 1)) == pytest.approx(1)
    for length, copies in ((1, 4), (3, 2), (4, 1), (5, 1)):
        tail = np.cumsum(oracle(tests, 0, copies)[::-1])[::-1]
        threshold = tests.whole(length, candidates=500, risk=0.01)
        most = 0.01 * (0.5 if length == LEVELS else 0.1) / 500
        assert tail[threshold] <= most < tail[threshold - 1]


@pytest.mark.parametrize(("count", "copies", "threshold"), [(40, 1, 110), (40, 3, 300), (100, 2, 330), (0, 1, 60)])
def test_a_miss_is_the_exact_tail(tests, count, copies, threshold):
    expected = oracle(tests, count, copies)[:threshold].sum()
    assert tests.miss(count, copies=copies, threshold=threshold) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("people", [None, PEOPLE])
def test_the_limit_is_the_smallest_count_whose_misses_are_rare_enough(tests, people):
    beta = 0.05
    thresholds = {length: tests.whole(length, candidates=10**length, risk=1e-3) for length in range(1, LEVELS + 1)}

    def fails(count):
        texts = 1 if people is None else max(1, people / count)
        early = (LEVELS - 1) * oracle(tests, count, 1)[: tests.prefix].sum()
        early += sum(oracle(tests, count, copies)[: tests.ended(copies)].sum() for copies in (1, 2))
        last = max(oracle(tests, count, tests.copies(k))[: thresholds[k]].sum() for k in thresholds)
        return texts * early > EARLY_SHARE * beta or texts * last > (1 - EARLY_SHARE) * beta

    limit = tests.limit(thresholds, beta, people=people)
    assert fails(limit - 1)
    assert not fails(limit)


def test_a_limit_above_all_people_is_one_more_than_all(tests):
    assert tests.limit({5: 10**6}, 0.05) == PEOPLE + 1


def test_false_continuations_are_a_quarter_of_a_prefix_on_average(tests):
    tail = oracle(tests, 0, 1)[tests.prefix :].sum()
    assert tail * PIECES <= 0.25 < oracle(tests, 0, 1)[tests.prefix - 1 :].sum() * PIECES


def test_no_data_have_more_expected_prefixes_than_the_bound(tests):
    passes = [oracle(tests, count, 1)[tests.prefix :].sum() for count in range(1, 200, 8)]
    for count, chance in zip(range(1, 200, 8), passes, strict=True):  # all people in prefixes of equal size
        assert PEOPLE // count * chance <= tests.most_prefixes


@pytest.mark.parametrize("copies", [1, 4])
def test_intervals_hold_the_counts_under_which_the_support_is_likely(tests, copies):
    beta, estimator = 0.01, tests.counted(copies)
    supports = np.array([copies * 60, copies * 150, copies * 400])
    low, high = estimator.interval(supports, beta=beta)
    for support, first, last in zip(supports.tolist(), low.tolist(), high.tolist(), strict=True):

        def likely(count, support=support):
            pmf = oracle(tests, count, copies)
            return pmf[support:].sum() > beta / 2 and pmf[: support + 1].sum() > beta / 2

        ends = [*range(max(0, first - 3), first + 6), *range(last - 6, last + 4)]
        inside = [count for count in ends if likely(count)]
        assert first <= inside[0] <= first + 4  # blocks of counts make intervals a little wider
        assert last - 4 <= inside[-1] <= last

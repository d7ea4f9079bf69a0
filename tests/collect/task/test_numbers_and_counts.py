"""What the first shuffler can learn from all numbers of messages together with the published counts.

An exact oracle for two or three people and two values, with fractions and without the package's accounting. It
enumerates all outcomes given the limit on messages, and compares two inputs that differ in the first person's value.
It computes the divergence of the counts alone, as for the guarantee, and of the counts with all numbers of messages.
For Poisson dummies that come one at a time, both are equal. For coins, and for dummies of several sizes, the numbers
reveal more, so such reports are padded (collect/task/guarantee.py).

Hashed messages are enumerated in the same way: the seeds and buckets of all messages with all numbers of messages.
"""

from collections import defaultdict
from fractions import Fraction
from itertools import product
from math import factorial

import numpy as np
import pytest

from shuffledp import Histogram
from shuffledp.histogram.hash_family import HashFamily
from shuffledp.noise import CompoundPoisson
from shuffledp.noise.compound_poisson import SIZE_GRID
from shuffledp.protocols.shuffled.hashed import HashedHistogram
from tests.oracles.goodness import assert_distribution

MOST = 4
"""A limit that allows several dummies of each value."""

TILTS = [Fraction(1), Fraction(9, 8), Fraction(3, 2), Fraction(2), Fraction(4)]
"""e^epsilon."""

INPUTS = [((0, 0), (1, 0)), ((1, 1), (0, 1)), ((0, 0, 1), (1, 0, 1)), ((0, 1, 1), (1, 1, 1))]
"""The values of all people, in two neighbouring datasets."""

neighbours = pytest.mark.parametrize("inputs", INPUTS, ids=str)


def poisson(rate):
    """The weights r^k / k!; their sum e^r cancels."""
    return [rate**k / factorial(k) for k in range(MOST)]


def of_two_sizes(rate, two):
    """A Poisson number of clusters, each of two dummies with probability `two` and otherwise of one."""
    ones, twos = poisson(rate * (1 - two)), poisson(rate * two)
    weights = [Fraction(0)] * MOST
    for (i, one), (j, other) in product(enumerate(ones), enumerate(twos)):
        if i + 2 * j < MOST:
            weights[i + 2 * j] += one * other
    return weights


def coin(chance):
    """One dummy or none."""
    return [1 - chance, chance]


def sent_by(value, dummies):
    """The distribution of the messages of each value that a person sends, given the limit."""
    distribution = {}
    for (i, here), (j, there) in product(enumerate(dummies), repeat=2):
        if 1 + i + j <= MOST:
            distribution[i + (value == 0), j + (value == 1)] = here * there
    total = sum(distribution.values())
    return {sent: weight / total for sent, weight in distribution.items()}


def seen(held, dummies):
    """The joint distribution of all numbers of messages and the counts."""
    distribution = {((), (0, 0)): Fraction(1)}
    for value in held:
        longer = defaultdict(Fraction)
        for (numbers, counts), before in distribution.items():
            for (zeros, ones), chance in sent_by(value, dummies).items():
                outcome = (*numbers, zeros + ones), (counts[0] + zeros, counts[1] + ones)
                longer[outcome] += before * chance
        distribution = dict(longer)
    assert sum(distribution.values()) == 1
    return distribution


def counts_of(distribution):
    """The marginal distribution of the counts, which are published."""
    alone = defaultdict(Fraction)
    for (_, counts), chance in distribution.items():
        alone[counts] += chance
    return dict(alone)


def padded(distribution):
    """The view of the first shuffler if all reports are padded."""
    filled = defaultdict(Fraction)
    for (numbers, counts), chance in distribution.items():
        filled[(MOST,) * len(numbers), counts] += chance
    return dict(filled)


def delta(distribution, other, tilt):
    """The hockey-stick divergence: the largest P(S) - tilt Q(S)."""
    return sum(
        max(chance - tilt * other.get(outcome, Fraction(0)), Fraction(0)) for outcome, chance in distribution.items()
    )


def deltas(distributions):
    """The divergence in both directions, at each tilt."""
    one, other = distributions
    return [(delta(one, other, tilt), delta(other, one, tilt)) for tilt in TILTS]


def both(distributions):
    """The divergences with all numbers of messages, and with the counts alone."""
    distributions = list(distributions)
    return deltas(distributions), deltas([counts_of(distribution) for distribution in distributions])


@neighbours
@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(2)], ids=str)
def test_numbers_of_poisson_dummies_add_nothing_to_the_counts(inputs, rate):
    with_numbers, alone = both(seen(held, poisson(rate)) for held in inputs)
    assert with_numbers == alone
    assert all(0 < there < 1 for pair in alone[:2] for there in pair)


@pytest.mark.parametrize("people", [2, 3])
def test_given_the_counts_the_numbers_are_independent_of_the_values(people):
    """The reason: P_x(numbers, counts) = P_x(counts) P(numbers | sum of the counts)."""
    given = {}
    for held in product((0, 1), repeat=people):
        distribution = seen(held, poisson(Fraction(3, 4)))
        alone = counts_of(distribution)
        for (numbers, counts), chance in distribution.items():
            known = given.setdefault(numbers, chance / alone[counts])
            assert known == chance / alone[counts]  # for all inputs, and all counts of this sum
    assert len(given) == MOST**people


OTHERS = {
    "a coin for each value": coin(Fraction(1, 3)),
    "a coin that is seldom": coin(Fraction(1, 50)),
    "one or two at a time": of_two_sizes(Fraction(1), Fraction(1, 2)),
}


@neighbours
@pytest.mark.parametrize("name", OTHERS)
def test_numbers_of_other_dummies_reveal_more_than_the_counts(inputs, name):
    """The negative control."""
    with_numbers, alone = both(seen(held, OTHERS[name]) for held in inputs)
    pairs = [pair for tilt in zip(with_numbers, alone, strict=True) for pair in zip(*tilt, strict=True)]
    assert all(more >= counts for more, counts in pairs)
    assert any(more > counts for more, counts in pairs)


@pytest.mark.parametrize("value", [0, 1])
def test_the_oracle_uses_the_coins_of_the_protocol(value):
    protocol = Histogram(users=2, bins=2, missing_probability=0.25)
    distribution = {
        (sent.count(0), sent.count(1)): chance for sent, chance in protocol.randomizer_distribution(value).items()
    }
    assert distribution == sent_by(value, coin(Fraction(3, 4)))


@neighbours
@pytest.mark.parametrize("name", OTHERS)
def test_padded_reports_add_nothing_to_the_counts(inputs, name):
    distributions = [seen(held, OTHERS[name]) for held in inputs]
    assert deltas([padded(distribution) for distribution in distributions]) == deltas(
        [counts_of(distribution) for distribution in distributions]
    )


SEEDS, BUCKETS = 2, 2
"""Two functions into two buckets for two values: h(x) = seed * x mod 2. The values collide under one of them."""


def hashed_by(value, dummies, levels=1, copies=(1,)):
    """The distribution of the mixed messages of a person: one on every level, and dummies, each sent so many times."""
    pairs = [(seed, bucket) for seed in range(SEEDS) for bucket in range(BUCKETS)]
    messages = [(level, *pair) for level in range(levels) for pair in pairs]
    drawn = [(message,) * times for message in messages for times in copies]
    distribution = defaultdict(Fraction)
    for seeds in product(range(SEEDS), repeat=levels):
        own = tuple((level, seed, seed * value % BUCKETS) for level, seed in enumerate(seeds))
        for number, weight in enumerate(dummies):
            for noise in product(drawn, repeat=number):
                distribution[tuple(sorted(own + sum(noise, ())))] += weight / Fraction(len(drawn)) ** number
    total = sum(distribution.values())
    return {sent: weight / total for sent, weight in distribution.items()}


def hashed_seen(held, dummies, levels=1, copies=(1,)):
    """The joint distribution of all numbers of messages and the mixed messages."""
    sent = {value: hashed_by(value, dummies, levels, copies) for value in set(held)}
    distribution = {((), ()): Fraction(1)}
    for value in held:
        longer = defaultdict(Fraction)
        for (numbers, messages), before in distribution.items():
            for more, chance in sent[value].items():
                longer[(*numbers, len(more)), tuple(sorted(messages + more))] += before * chance
        distribution = dict(longer)
    assert sum(distribution.values()) == 1
    return distribution


RATE = Fraction(3, 2)
HASHED_INPUTS = {"one level": (((0, 1), (1, 1)), 1, 3), "two levels": (((0, 0), (1, 0)), 2, 2)}
"""The values of two people in neighbouring datasets, the levels, and the numbers of dummies that are enumerated."""


@pytest.mark.parametrize(("inputs", "levels", "most"), HASHED_INPUTS.values(), ids=HASHED_INPUTS)
def test_numbers_of_hashed_dummies_add_nothing_to_the_messages(inputs, levels, most):
    with_numbers, alone = both(hashed_seen(held, poisson(RATE)[:most], levels) for held in inputs)
    assert with_numbers == alone
    assert all(0 < there < 1 for pair in alone[:2] for there in pair)


def test_given_hashed_messages_the_numbers_are_independent_of_the_values():
    given = {}
    for held in product((0, 1), repeat=2):
        distribution = hashed_seen(held, poisson(RATE)[:2])
        alone = counts_of(distribution)
        for (numbers, messages), chance in distribution.items():
            known = given.setdefault(numbers, chance / alone[messages])
            assert known == chance / alone[messages]
    assert len(given) == 4


def test_numbers_of_hashed_dummies_in_clusters_reveal_more():
    """The negative control: one or two equal dummies at a time."""
    with_numbers, alone = both(hashed_seen(held, poisson(RATE)[:2], copies=(1, 2)) for held in ((0, 1), (1, 1)))
    pairs = [pair for tilt in zip(with_numbers, alone, strict=True) for pair in zip(*tilt, strict=True)]
    assert all(more >= counts for more, counts in pairs)
    assert any(more > counts for more, counts in pairs)


@pytest.mark.parametrize("value", [0, 1])
def test_the_oracle_uses_the_functions_of_the_protocol(value):
    """The family of two buckets has the two functions of the oracle, and each is as likely."""
    family = HashFamily.of(modulus=BUCKETS, values=2)
    seeds = np.arange(family.seeds)
    buckets = family.buckets(seeds, np.full(family.seeds, value))
    own = {sent[0]: chance for sent, chance in hashed_by(value, [Fraction(1)]).items()}
    assert own == {(0, int(seed), int(bucket)): Fraction(1, SEEDS) for seed, bucket in zip(seeds, buckets, strict=True)}


@pytest.mark.parametrize("levels", [1, 2])
def test_the_protocol_sends_what_the_oracle_enumerates(levels):
    """Statistical, with the false failure rate of the helper: the dummies of the protocol are uniform on all messages,
    and their number is Poisson.
    """
    family = HashFamily.of(modulus=BUCKETS, values=2, levels=levels)
    rate = 600.0
    protocol = HashedHistogram(
        users=2, bins=2, family=family, levels=levels, dummies=CompoundPoisson(rate=rate, size_weights=(SIZE_GRID,))
    )
    sent = protocol.randomize(1 if levels == 1 else np.ones(levels, dtype=np.int64), rng=np.random.default_rng(3))
    dummies = sent[levels:]
    assert_distribution(dummies, 0, np.full(protocol.alphabet, 1 / protocol.alphabet))
    mean = rate * BUCKETS * levels / 2
    assert abs(dummies.size - mean) < 6 * mean**0.5  # false failure rate 2e-9

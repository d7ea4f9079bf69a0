"""What the first shuffler can learn from all numbers of messages together with the published counts.

An exact oracle for two or three people and two values, with fractions and without the package's accounting. It
enumerates all outcomes given the limit on messages, and compares two inputs that differ in the first person's value.
It computes the divergence of the counts alone, as for the guarantee, and of the counts with all numbers of messages.
For Poisson dummies that come one at a time, both are equal. For coins, and for dummies of several sizes, the numbers
reveal more, so such reports are padded (collect/task/guarantee.py).
"""

from collections import defaultdict
from fractions import Fraction
from itertools import product
from math import factorial

import pytest

from shuffledp import Histogram

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

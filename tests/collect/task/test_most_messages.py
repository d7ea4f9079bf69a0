"""The cost in delta of sampling again above a limit of messages, compared with exact fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom, poisson

from shuffledp import Histogram
from shuffledp.collect.task.guarantee import CODECS
from shuffledp.noise import Binomial
from shuffledp.paper.finite_randomizer import exact_delta
from shuffledp.protocols.shuffled.hashed import HashedHistogram
from shuffledp.protocols.shuffled_histogram import chance_of_more, most_messages, seldom_enough
from tests.collect.tasks import small_task

USERS, BINS = 2, 4
RATIOS = [Fraction(1), Fraction(3, 2), Fraction(3), Fraction(10)]


def person(protocol, value, most):
    """The distribution of one person's messages given that they are at most the limit, and its probability."""
    distribution = {
        sent: chance for sent, chance in protocol.randomizer_distribution(value).items() if len(sent) <= most
    }
    kept = sum(distribution.values())
    return {sent: chance / kept for sent, chance in distribution.items()}, kept


def output(distributions):
    """The distribution of the shuffled messages of all people: of the multiset, as a sorted tuple."""
    total = {(): Fraction(1)}
    for distribution in distributions:
        longer = {}
        for have, p in total.items():
            for sent, q in distribution.items():
                both = tuple(sorted(have + sent))
                longer[both] = longer.get(both, Fraction(0)) + p * q
        total = longer
    return total


@pytest.mark.parametrize("missing", [0.25, 0.5])
@pytest.mark.parametrize("most", [2, 3, 4])
def test_delta_grows_at_most_by_the_probability_of_sampling_again(missing, most):
    """delta' <= (delta + ratio q) / (1 - q) with q = P(not A), in fractions; P(A) is the same for neighbours."""
    protocol = Histogram(users=USERS, bins=BINS, missing_probability=missing)
    distributions = [person(protocol, value, most) for value in range(BINS)]
    (kept,) = {chance for _, chance in distributions}
    likely = kept**USERS
    eta = chance_of_more(protocol, most)
    assert Fraction(eta) >= 1 - likely
    redrawn = [output([distributions[value][0], distributions[0][0]]) for value in (0, 1)]
    free = [output([person(protocol, value, BINS + 1)[0], person(protocol, 0, BINS + 1)[0]]) for value in (0, 1)]
    for ratio in RATIOS:
        for one, other in ((0, 1), (1, 0)):
            delta = exact_delta(free[one], free[other], ratio=ratio)
            again = exact_delta(redrawn[one], redrawn[other], ratio=ratio)
            assert again <= (delta + ratio * (1 - likely)) / likely
            if eta < 1:
                assert again <= (delta + ratio * Fraction(eta)) / (1 - Fraction(eta))


def test_sampling_again_increases_delta():
    """The negative control: the limit can increase delta, so the division by 1 - eta is needed."""
    protocol = Histogram(users=USERS, bins=BINS, missing_probability=0.25)
    grown = []
    for most in (2, 3, 4):
        distributions = [person(protocol, value, most)[0] for value in (0, 1)]
        free = [person(protocol, value, BINS + 1)[0] for value in (0, 1)]
        for ratio in RATIOS:
            again, delta = (
                exact_delta(
                    output([distribution[0], distribution[0]]), output([distribution[1], distribution[0]]), ratio=ratio
                )
                for distribution in (distributions, free)
            )
            grown.append(again > delta)
    assert any(grown)


def number_distribution(protocol):
    """Probabilities of 0, 1, 2, ...

    Messages of one person, from the distributions of the noise instead of its cumulants.
    """
    bins, users, own = protocol.bins, protocol.users, np.zeros(protocol.values_per_person)
    if isinstance(protocol, Histogram):
        return np.concatenate([own, binom.pmf(np.arange(bins + 1), bins, 1 - protocol.missing_probability)])
    if hasattr(protocol, "pairs"):
        pairs, lone = (
            distribution.with_rate(distribution.rate * bins / users).window.pmf
            for distribution in (protocol.pairs, protocol.lone)
        )
        doubled = np.zeros(2 * pairs.size - 1)
        doubled[::2] = pairs
        return np.concatenate([own, np.convolve(doubled, lone)])
    if isinstance(protocol, HashedHistogram):
        dummies = protocol.dummies.rate * protocol.family.modulus * protocol.levels / users
        return np.concatenate([np.zeros(protocol.levels), poisson.pmf(np.arange(int(dummies) + 200), dummies)])
    if isinstance(protocol.noise, Binomial):
        return np.concatenate([own, binom.pmf(np.arange(bins + 1), bins, protocol.noise.probability)])
    return np.concatenate([own, protocol.noise.with_rate(protocol.noise.rate * bins / users).window.pmf])


@pytest.mark.parametrize("name", CODECS)
@pytest.mark.parametrize("answers", [3, 200])
def test_the_chance_of_more_is_an_upper_bound(name, answers):
    task = small_task(protocol=name, answers=tuple(str(at) for at in range(answers))).task
    protocol = task.protocol
    distribution = number_distribution(protocol)
    assert protocol.messages_per_user.expected == pytest.approx(
        float(distribution @ np.arange(distribution.size)), rel=1e-9
    )
    tails = distribution[::-1].cumsum()[::-1]  # P(at least k)
    last = min(
        distribution.size - 2,
        int(protocol.messages_per_user.maximum) if name in ("hist", "dummy") else distribution.size,
    )
    for most in range(1, last):
        more = float(tails[most + 1])
        if protocol.users * more < 1e-22:  # the windows end at 2^-100
            break
        assert chance_of_more(protocol, most) >= min(1.0, protocol.users * more) * (1 - 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, codec in CODECS.items() if "choices" in codec.kinds])
def test_the_limit_for_several_choices(name):
    """Every report has a message for each choice, in addition to the noise."""
    protocol = small_task(protocol=name, most=3, users=600).task.protocol
    most = most_messages(protocol, delta=1e-6)
    assert most == 3 + protocol.bins or chance_of_more(protocol, most) <= seldom_enough(1e-6)
    distribution = number_distribution(protocol)
    assert distribution[:3].sum() == 0
    tails = distribution[::-1].cumsum()[::-1]
    for limit in range(3, min(distribution.size - 2, most)):
        if protocol.users * float(tails[limit + 1]) < 1e-22:  # the windows end at 2^-100
            break
        assert chance_of_more(protocol, limit) >= min(1.0, protocol.users * float(tails[limit + 1])) * (1 - 1e-9)


@pytest.mark.parametrize("name", CODECS)
def test_the_limit_is_large_enough_and_not_much_larger(name):
    protocol = small_task(protocol=name, answers=tuple(str(at) for at in range(200))).task.protocol
    most = most_messages(protocol, delta=1e-6)
    distribution = number_distribution(protocol)
    tails = distribution[::-1].cumsum()[::-1]
    limit = seldom_enough(1e-6)
    assert limit == 2.0**-44
    if most < protocol.messages_per_user.maximum:
        assert protocol.users * float(tails[most + 1]) <= limit
        exact = int(np.flatnonzero(protocol.users * tails <= limit)[0])
        assert most <= 1.15 * exact + 5  # the slack of Chernoff's bound
    assert chance_of_more(protocol, most) <= limit
    assert most == protocol.messages_per_user.maximum or chance_of_more(protocol, most - 1) > limit


def test_a_share_of_a_tiny_delta():
    assert seldom_enough(1e-15) == pytest.approx(1e-18)
    assert math.log2(seldom_enough(0.5)) == -44

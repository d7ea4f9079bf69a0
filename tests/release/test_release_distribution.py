"""A release follows the distribution of its protocol, whichever way it is made, and whichever empty bins there are.

Each chi-square assertion fails on correct code with probability at most 1e-6 (see goodness.py). Releases cannot be
seeded, so these draws differ from run to run.
"""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from shuffledp import Histogram, SparseHistogram, private_histogram
from shuffledp.data.people import People
from shuffledp.data.source import Source
from shuffledp.noise import Binomial
from shuffledp.noise.binomial import round_up_to_grid
from tests.oracles.exact import shuffled_distribution
from tests.oracles.goodness import assert_distribution, assert_not_distribution

BINS, PEOPLE_PER_BIN = 2000, 150


def opened(each, *, listed):
    """So many people in each bin."""
    held, domain = np.repeat(np.arange(BINS), each), range(BINS) if listed else None
    return People(Source.of(held, drop_missing=True, domain=domain))


ROUTES = {
    "universe, drawn": (False, lambda values, protocol: values.draw(protocol)),
    "domain, drawn": (True, lambda values, protocol: values.draw(protocol)),
    "domain, messages": (True, lambda values, protocol: values.send(protocol)),
}


@pytest.mark.slow
@pytest.mark.parametrize("route", ROUTES)
def test_histogram_by_every_route_with_negative_controls(route):
    listed, make = ROUTES[route]
    # with 300,000 people the message route would send 6e8 messages; in the universe a bin of few people is not seen
    each = 10 if listed else PEOPLE_PER_BIN
    users = each * BINS
    protocol = Histogram(users=users, bins=BINS, missing_probability=round_up_to_grid(43 / users))
    with opened(each, listed=listed) as values:
        missing = each + users - make(values, protocol).counts
    assert missing.size == BINS
    assert_distribution(missing, protocol.noise.window.first, protocol.noise.window.pmf)
    for scale in (0.7, 1.3):
        wrong = Binomial(trials=users, probability=round_up_to_grid(scale * 43 / users))
        assert_not_distribution(missing, wrong.window.first, wrong.window.pmf)


@pytest.mark.parametrize("route", ROUTES)
def test_sparse_histogram_by_every_route(route):
    listed, make = ROUTES[route]
    protocol = SparseHistogram.calibrate(users=BINS * PEOPLE_PER_BIN, bins=BINS, epsilon=1, delta=1e-6)
    with opened(PEOPLE_PER_BIN, listed=listed) as values:
        tally = make(values, protocol)
    pairs = tally.counts[:, 0] - PEOPLE_PER_BIN
    lone = tally.counts[:, 1] - pairs
    assert pairs.size == BINS
    for draws, distribution in ((pairs, protocol.pairs), (lone, protocol.lone)):
        assert_distribution(draws, distribution.window.first, distribution.window.pmf)
    assert abs(np.corrcoef(pairs, lone)[0, 1]) < 0.12  # independent: outside with probability below 1e-7


@pytest.mark.slow
def test_intervals_of_releases_give_their_guarantee():
    """Of 60 releases at beta = 0.05, more than 14 that fail at once have probability below 1e-6."""
    values = np.repeat(np.arange(300), np.arange(1, 301))
    failed = sum(
        not private_histogram(values, epsilon=1, delta=1e-6, evaluate=True).evaluation.covered for _ in range(60)
    )
    assert failed <= 14


# empty bins -------------------------------------------------------------------------------------------------------


def released_distribution(protocol, values):
    """The exact distribution of the truncated histogram, in fractions, by enumeration of all messages of all people."""
    distribution = Counter()
    for messages, probability in shuffled_distribution(
        protocol.randomizer_distribution(value) for value in values
    ).items():
        estimate = protocol.estimate(protocol.tally(np.array(messages, dtype=np.int64)))
        distribution[tuple(zip(estimate.labels.tolist(), estimate.counts.tolist(), strict=True))] += probability
    return distribution


@pytest.mark.parametrize("values", [(0, 0), (0, 1), (1, 1)])
def test_the_distribution_of_a_release_does_not_depend_on_which_empty_bins_exist(values):
    distributions = [
        released_distribution(Histogram(users=2, bins=bins, missing_probability=0.375), values) for bins in (2, 3, 4)
    ]
    assert sum(distributions[0].values()) == Fraction(1)
    assert distributions[0] == distributions[1] == distributions[2]
    assert {label for outcome in distributions[2] for label, _ in outcome} <= set(values)


def test_an_empty_bin_is_never_visible_in_any_draw():
    counts = np.zeros(5000, dtype=np.int64)
    counts[:10] = 100
    for protocol in (
        Histogram.calibrate(users=1000, bins=5000, epsilon=1, delta=1e-6),
        SparseHistogram.calibrate(users=1000, bins=5000, epsilon=1, delta=1e-6),
    ):
        for _ in range(20):
            assert protocol.estimator.statistic(protocol.sample_tally(counts)).symbols.max(initial=0) < 10

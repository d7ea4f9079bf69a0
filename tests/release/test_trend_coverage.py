"""All intervals of all rounds, and of the changes between any two rounds, hold at once with the stated probability.

Every assertion fails on correct intervals with probability at most FALSE_FAILURE_RATE = 1e-6, under fixed seeds. The
controls show that the test rejects noise that is 30 % larger or smaller than the protocol says, and intervals that
share no risk among the rounds.
"""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import binom

from shuffledp import Tally
from shuffledp.release import trend as trends
from shuffledp.release.trend import Trend
from shuffledp.release.trend_changes import Measure
from shuffledp.release.trend_rounds import Risks
from tests.oracles.goodness import FALSE_FAILURE_RATE
from tests.release.trends import protocol_of, release_of, release_of_ages

BETA = 0.5
"""Large, so that few runs show whether the risk is right."""

WEAK = 0.9
"""Of the releases themselves, so that a trend must state all of them with its own confidence."""

RUNS = 200
COUNTS = np.array([[900, 700, 399, 1], [905, 700, 395, 0], [930, 660, 400, 10], [800, 700, 400, 100]])
"""True counts of four rounds."""

LARGEST = 0.85
"""Correct intervals hold in at most this share of the runs: they are not much wider than they need be."""

most = binom.isf(FALSE_FAILURE_RATE, RUNS, LARGEST)


def fewest(runs=RUNS):
    """The fewest runs in which correct intervals hold: of levels, of changes, each with half of beta, and of both."""
    return binom.ppf(FALSE_FAILURE_RATE, runs, [1 - BETA / 2, 1 - BETA / 2, 1 - BETA])


def noisy_release(protocol, counts, rng, *, scale, labels=None, **more):
    """A release whose noise is scaled around its mean."""
    tally, mean = protocol.sample_tally(counts, rng=rng), protocol.noise.mean
    noise = np.rint(mean + scale * (tally.counts - counts - mean)).astype(np.int64)
    changed = Tally(tally.symbols, counts + noise, drawn=True)
    return release_of(protocol, counts, rng=rng, tally=changed, **more)


def holds(trend, truth):
    """Whether all intervals of levels, and all of changes, hold; `truth` has the counts of each label by round."""
    levels = all(
        level.low <= count <= level.high
        for label, counts in truth.items()
        for level, count in zip(trend.levels(label), counts, strict=True)
    )
    changes = True
    numbers, sizes = [each.number for each in trend.rounds], [each.people for each in trend.rounds]
    for one, other in combinations(range(len(numbers)), 2):
        for found in trend.differences(since=numbers[one], until=numbers[other]):
            counts = truth[found.label]
            change, share = counts[other] - counts[one], counts[other] / sizes[other] - counts[one] / sizes[one]
            changes &= found.low <= change <= found.high and found.share_low <= share <= found.share_high
    return levels, changes


def simulated(make, truth, *, runs=RUNS, seed=1):
    """In how many runs all intervals hold: of levels, of changes, and of both."""
    rng, held = np.random.default_rng(seed), np.zeros(3, dtype=int)
    for _ in range(runs):
        levels, changes = holds(Trend.of(make(rng), beta=BETA), truth)
        held += [levels, changes, levels and changes]
    return held


def of_dummies(scale):
    protocol = protocol_of("dummy")
    return lambda rng: [noisy_release(protocol, counts, rng, scale=scale, beta=WEAK) for counts in COUNTS]


THEMES = dict(zip(("dark", "light", "auto", "none"), COUNTS.T, strict=True))


@pytest.mark.slow
def test_everything_holds_at_once_and_the_controls_do_not():
    held = simulated(of_dummies(1.0), THEMES)
    assert (held >= fewest()).all()
    assert held[2] <= most
    larger, smaller = (simulated(of_dummies(scale), THEMES) for scale in (1.3, 0.7))
    assert (larger < fewest()).all()
    assert smaller[2] > most


@pytest.mark.slow
def test_intervals_of_each_round_alone_are_rejected(monkeypatch):
    """The negative control: the same beta for every round, and for every pair of rounds."""
    alone = Risks(planned=len(COUNTS), each_round=BETA / 2, each_pair=BETA / 2)
    monkeypatch.setattr(trends.Risks, "of", classmethod(lambda cls, *given, **more: alone))
    held = simulated(of_dummies(1.0), THEMES)
    assert (held < fewest()).all()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "beta"), [("hist", WEAK), ("sparse", WEAK), ("stability", WEAK)])
def test_values_that_are_not_found_in_every_round(name, beta):
    """With a noise of about forty people, values of fifty people are found in some rounds."""
    counts = [[700, 600, 400, 150, 80, 70], [700, 600, 400, 100, 130, 70], [900, 500, 300, 180, 50, 70]]
    protocol = protocol_of(name, bins=2**40)
    truth = {f"v{at}": each for at, each in enumerate(zip(*counts, strict=True))}
    found, rng = [], np.random.default_rng(11)
    for _ in range(RUNS // 2):
        releases = [release_of(protocol, each, rng=rng, labels=None, beta=beta) for each in counts]
        trend = Trend.of(releases, beta=BETA)
        found.append(all(holds(trend, truth_of(trend, truth))))
    assert sum(found) >= fewest(RUNS // 2)[2]


def truth_of(trend, truth):
    return {label: truth[label] for label in trend.labels}


@pytest.mark.slow
def test_rounds_of_different_people_are_compared_by_shares():
    """The second round has two joined batches, each of the size of the first round."""
    one = protocol_of("dummy-poisson", users=2000)
    two = one.joined(2)
    counts = [COUNTS[0], 2 * COUNTS[2]]

    def make(rng):
        return [
            release_of(protocol, each, rng=rng, beta=WEAK) for protocol, each in zip((one, two), counts, strict=True)
        ]

    truth = dict(zip(("dark", "light", "auto", "none"), np.array(counts).T, strict=True))
    assert Trend.of(make(np.random.default_rng(0))).measure is Measure.SHARE
    held = simulated(make, truth)
    assert (held >= fewest()).all()
    assert held[2] <= most


@pytest.mark.slow
def test_quantiles_of_all_rounds_hold_with_the_values():
    rng = np.random.default_rng(12)
    ages = [np.sort(rng.integers(0, 12 + 3 * at, 2000)) for at in range(3)]
    middles = [int(each[999]) for each in ages]
    bins = [np.bincount(np.clip(each + 1, 0, 20), minlength=21) for each in ages]
    truth, good = dict(enumerate(np.array(bins).T)), 0
    for _ in range(RUNS // 4):
        trend = Trend.of([release_of_ages(each, rng=rng, beta=WEAK) for each in ages], beta=BETA)
        (middle,) = [each for each in trend.quantiles if each.share == 0.5]
        inside = all(
            (found.low is None or found.low <= value) and (found.high is None or value < found.high)
            for found, value in zip(middle.values, middles, strict=True)
        )
        change = middle.difference()
        apart = middles[-1] - middles[0]
        inside &= (change.low is None or change.low <= apart) and (change.high is None or apart <= change.high)
        good += inside and all(holds(trend, truth))
    assert good >= fewest(RUNS // 4)[2]

"""Error bounds and intervals cover what they say they cover, and are not much wider than they need be.

Statistical assertions fail on correct intervals with a probability of at most FALSE_FAILURE_RATE = 1e-6 each, under
fixed seeds. test_every_dataset.py shows the same for few people without sampling.
"""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from experiments import intervals as table
from scipy.stats import binom

from shuffledp import BinarySum, Histogram, Tally
from shuffledp.estimators import levels
from shuffledp.estimators.base import MissingNoise
from shuffledp.estimators.counts import UnbiasedCounts
from shuffledp.noise import Binomial
from shuffledp.protocols import CATALOGUE, Target
from shuffledp.surnames import surnames
from tests.oracles.goodness import FALSE_FAILURE_RATE

USERS = 20_000
BETA = 0.05
BETAS = (0.05, 0.5, 0.9)
RUNS = 200
TRUNCATED = ("hist", "sparse", "stability")

truncated = pytest.mark.parametrize("name", TRUNCATED)


@cache
def protocol_of(name, *, users=USERS, bins=2**64, epsilon=1.0):
    return CATALOGUE[name].make(Target(users=users, bins=bins, epsilon=epsilon, delta=1e-6))


# Datasets, for the largest count h that can be hidden --------------------------------------------------------------


def zipf(hidden, users=USERS):
    weights = 1 / np.arange(1, users) ** 1.1
    counts = np.floor(users * weights / weights.sum()).astype(np.int64)
    return np.append(counts[counts > 0], users - counts.sum())


def census(hidden, users=USERS):
    counts = np.random.default_rng(1990).multinomial(users, surnames()[1])
    return counts[counts > 0]


def equal(size):
    """As many bins of one size as there are people for."""
    return np.full(USERS // size, size)


ADVERSARIAL = {
    "everybody alone": lambda hidden: equal(1),
    "everybody in one bin": lambda hidden: equal(USERS),
    "rarely reported": lambda hidden: equal(2 * hidden // 5),
    "reported half of the time": lambda hidden: equal(2 * hidden // 3),
    "on the edge of being hidden": lambda hidden: equal(hidden),
    "just above it": lambda hidden: equal(hidden + 1),
    "on both sides of it": lambda hidden: np.tile(np.arange(hidden - 4, hidden + 5), USERS // (9 * hidden)),
    "all sizes": lambda hidden: np.tile(np.arange(1, 2 * hidden), USERS // (2 * hidden**2)),
    "large and many small ones": lambda hidden: np.append(equal(2 * hidden)[: USERS // (4 * hidden)], equal(20)[:500]),
}
REAL = {"Zipf": zipf, "surnames": census}


def covered(protocol, counts, *, betas=BETAS, runs=RUNS, seed=20, narrower=0):
    """In how many runs all intervals hold, for each beta; optionally with this many people less at either end."""
    rng, truth = np.random.default_rng(seed), Tally(np.arange(counts.size), counts)
    held = np.zeros(len(betas), dtype=int)
    for _ in range(runs):
        statistic = protocol.estimator.statistic(protocol.sample_tally(truth, rng=rng, part=True))
        hidden_count = np.delete(counts, statistic.symbols).max(initial=0)
        true_counts = counts[statistic.symbols]
        for place, beta in enumerate(betas):
            read = protocol.estimator.intervals(statistic, beta=beta, bins=protocol.bins)
            within = (read.low + narrower <= true_counts) & (true_counts <= read.high - narrower)
            held[place] += within.all() and hidden_count <= read.unreported_high - narrower
    return held


def fewest(beta, runs=RUNS):
    """The fewest covered runs that are still plausible for intervals that hold."""
    return binom.ppf(FALSE_FAILURE_RATE, runs, 1 - beta)


@pytest.mark.slow
@truncated
@pytest.mark.parametrize("dataset", [*ADVERSARIAL, *REAL])
def test_all_intervals_hold_at_once(name, dataset):
    protocol = protocol_of(name)
    counts = (ADVERSARIAL | REAL)[dataset](protocol.error(BETA).hidden)
    assert (covered(protocol, counts) >= [fewest(beta) for beta in BETAS]).all()


@pytest.mark.slow
@truncated
@pytest.mark.parametrize("dataset", REAL)
def test_coverage_on_real_data_is_near_what_was_asked_for(name, dataset):
    """They hold with probability 0.5 and 0.1 at least, and 0.72 and 0.35 at most."""
    counts = REAL[dataset](0, users=10**6)
    held = covered(protocol_of(name, users=10**6), counts, betas=(0.5, 0.9))
    assert (held >= [fewest(beta) for beta in (0.5, 0.9)]).all()
    assert (held <= [binom.isf(FALSE_FAILURE_RATE, RUNS, share) for share in (0.72, 0.35)]).all()


@pytest.mark.slow
def test_what_was_seen_makes_intervals_narrower():
    """The bounds before a release are for the worst data; a few hundred visible names are not."""
    protocol, rng = protocol_of("hist", users=10**6), np.random.default_rng(21)
    counts = census(0, users=10**6)
    bound = protocol.error(BETA)
    estimate = protocol.estimate(protocol.sample_tally(Tally(np.arange(counts.size), counts), rng=rng), beta=BETA)
    assert estimate.simultaneous.unreported_high < bound.hidden
    reach = np.maximum(estimate.counts - estimate.simultaneous.low, estimate.simultaneous.high - estimate.counts)
    assert reach.max() < bound.shown


@pytest.mark.slow
def test_one_person_less_at_either_end_is_noticed():
    """At epsilon 2 a person changes the risk by a factor of 2.7."""
    protocol = protocol_of("stability", epsilon=2.0)
    counts = equal(3 * protocol.error(BETA).hidden)
    assert covered(protocol, counts, betas=(0.5,))[0] >= fewest(0.5)
    assert covered(protocol, counts, betas=(0.5,), narrower=1)[0] < fewest(0.5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "name", "fault", "dataset"),
    [
        (levels, "_bins_allowed", lambda risk, beta: 4 * beta / max(risk, 1e-30), "just above it"),
        (levels._Seen, "too_few_for", lambda *_, **__: True, "just above it"),
        (MissingNoise, "least_of_small", lambda *_, **__: math.inf, "rarely reported"),
    ],
    ids=["too many bins allowed", "nothing counted", "small bins forgotten"],
)
def test_injected_faults_are_noticed(where, name, fault, dataset, monkeypatch):
    protocol = replace(protocol_of("hist"))
    counts = ADVERSARIAL[dataset](protocol.error(BETA).hidden)
    monkeypatch.setattr(where, name, fault)
    assert covered(replace(protocol), counts, betas=(0.5,))[0] < fewest(0.5)


# Bounds before a release --------------------------------------------------------------------------------------------


@pytest.mark.slow
@truncated
@pytest.mark.parametrize("dataset", ["on the edge of being hidden", "just above it", "all sizes"])
def test_bounds_before_a_release_hold(name, dataset):
    """For the largest error, and for what is shown and what is hidden at once."""
    protocol, rng = protocol_of(name), np.random.default_rng(22)
    bound = protocol.error(BETA)
    counts = ADVERSARIAL[dataset](bound.hidden)
    truth = Tally(np.arange(counts.size), counts)
    close, told, first = 0, 0, 0
    for _ in range(RUNS):
        statistic = protocol.estimator.statistic(protocol.sample_tally(truth, rng=rng, part=True))
        guess = np.zeros(counts.size)
        guess[statistic.symbols] = protocol.estimator.point(statistic)
        errors = np.abs(guess - counts)
        close += errors.max() <= bound.simultaneous + 1e-9
        shown = errors[statistic.symbols].max(initial=0) <= bound.shown + 1e-9
        told += shown and np.delete(counts, statistic.symbols).max(initial=0) <= bound.hidden
        first += errors[0] <= bound.per_bin + 1e-9
    assert min(close, told, first) >= fewest(BETA)


@pytest.mark.slow
@pytest.mark.parametrize("bins", [20_000, 2**64])
def test_bounds_are_tight_on_adversarial_data(bins):
    protocol, rng = protocol_of("hist", bins=bins), np.random.default_rng(21)
    bound = protocol.error(BETA)
    counts = ADVERSARIAL["all sizes"](bound.hidden)
    truth, errors = Tally(np.arange(counts.size), counts), []
    for _ in range(RUNS):
        estimate = protocol.estimate(protocol.sample_tally(truth, rng=rng, part=True), beta=BETA)
        guess = np.zeros(counts.size)
        guess[estimate.symbols] = estimate.counts
        errors.append(np.abs(guess - counts).max())
    quantile = np.quantile(errors, 1 - BETA)
    assert bound.simultaneous <= 1.3 * quantile
    assert estimate.simultaneous.unreported_high <= 1.3 * quantile
    assert (estimate.simultaneous.high - estimate.counts).max() <= 1.3 * quantile


@pytest.mark.parametrize("name", ["sparse", "stability"])
def test_a_bound_that_no_noise_can_keep_is_the_number_of_people(name):
    """A search that ends without an answer used to give the last place tried, which does not hold."""
    estimator, asked = protocol_of(name).estimator, 1e-40
    assert estimator.failure(estimator.people - 1, bins=2**64, occupied=USERS) > asked
    assert estimator.error(beta=asked, bins=2**64, occupied=USERS) == USERS
    assert estimator.shown_and_hidden(beta=asked, bins=2**64, occupied=USERS) == (USERS, USERS)
    nothing = Tally(np.empty(0, dtype=np.int64), np.empty((0, 2)[: protocol_of(name).kinds], dtype=np.int64))
    assert estimator.intervals(nothing, beta=asked, bins=2**64).unreported_high == USERS


def test_the_unbiased_bound_is_exact():
    """It is a quantile, not a bound: the chance to exceed it is as close to beta as integers allow."""
    protocol = Histogram.calibrate(users=1000, bins=500, epsilon=1, delta=1e-6, truncated=False)
    noise, bound = protocol.noise, protocol.error(BETA).simultaneous
    far = binom.cdf(np.ceil(noise.mean - bound - 1e-9) - 1, 1000, noise.probability) + binom.sf(
        np.floor(noise.mean + bound + 1e-9), 1000, noise.probability
    )
    assert -np.expm1(500 * np.log1p(-far)) <= BETA
    closer = bound - 1e-6
    nearer = binom.cdf(np.ceil(noise.mean - closer) - 1, 1000, noise.probability) + binom.sf(
        np.floor(noise.mean + closer), 1000, noise.probability
    )
    assert -np.expm1(500 * np.log1p(-nearer)) > BETA


@pytest.mark.parametrize("beta", [0.9, 0.5, 0.2, 0.05, 1e-4])
def test_truncated_per_bin_error_is_the_smallest_that_holds(beta):
    """Against the distribution itself: the worst true count for every error, by exhaustion."""
    protocol = BinarySum(users=300, missing_probability=0.125)
    distribution, mean = binom(300, 0.125), protocol.noise.mean
    m = np.arange(301)
    pmf = distribution.pmf(m)

    def worst_failure(error):
        return max(pmf[np.where(m >= c, c, np.abs(mean - m)) > error + 1e-9].sum() for c in range(1, 301))

    bound = protocol.error(beta).per_bin
    assert worst_failure(bound) <= beta
    assert worst_failure(bound - 1e-6) > beta


@pytest.mark.slow
@pytest.mark.parametrize("honest", [None, 400])
def test_fewer_reports_than_users_are_debiased(honest):
    protocol = Histogram.calibrate(users=1000, bins=4, epsilon=1, delta=1e-6, honest_users=honest)
    rng = np.random.default_rng(22)
    values = np.repeat([0, 1], [500, 300])
    unbiased = replace(protocol, truncated=False)
    estimates = [
        unbiased.estimate(protocol.tally(protocol.randomize(values, rng=rng)), reports=800) for _ in range(300)
    ]
    mean = np.mean([e.counts for e in estimates], axis=0)
    assert mean == pytest.approx([500, 300, 0, 0], abs=6 * np.sqrt(protocol.noise.variance / 300))
    truncated = protocol.estimate(protocol.tally(protocol.randomize(values, rng=rng)), reports=800)
    assert set(truncated.symbols) <= {0, 1}


def test_the_known_number_of_occupied_bins_sharpens_the_bound():
    protocol = Histogram.calibrate(users=10**6, bins=2**64, epsilon=1, delta=1e-6)
    assert protocol.error(0.05, occupied_bins=1).simultaneous == protocol.error(0.05).per_bin
    assert protocol.error(0.05, occupied_bins=1000).simultaneous == 70
    assert protocol.error(0.05).simultaneous > 70


@pytest.mark.slow
def test_the_table_of_the_proof_is_written(tmp_path):
    page = tmp_path / "intervals.md"
    page.write_text("before\n<!-- coverage -->\nold\n<!-- /coverage -->\nafter\n")
    table.main(page, people=5000, trials=3, protocols=["hist"])
    lines = page.read_text().splitlines()
    assert (lines[0], lines[-1]) == ("before", "after")
    assert len([line for line in lines if "`hist`" in line]) == 9


@pytest.mark.slow
def test_the_table_of_releases_under_a_cap_is_written(tmp_path):
    """With 4 releases at each of two betas; most people are over the cap, so no interval holds all uncapped counts."""
    page = tmp_path / "intervals.md"
    page.write_text("before\n<!-- capped -->\nold\n<!-- /capped -->\nafter\n")
    table.write_capped(page, people=2000, trials=4, protocols=["dummy", "laplace"], caps=[5])
    lines = page.read_text().splitlines()
    assert (lines[0], lines[-1]) == ("before", "after")
    rows = [line.split(" | ") for line in lines if "`" in line]
    assert [row[0] for row in rows] == ["| `dummy`"] * 2 + ["| `laplace`"] * 2
    assert all(row[4].startswith("0.000, ") for row in rows)
    assert float(rows[0][3]) >= 0.25  # of 4 at 0.95; a seed makes the trials the same every time


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("missing", [True, False])
def test_intervals_of_unbiased_counts_hold_as_often_as_asked_for(beta, missing):
    """From the distribution itself: all of 500 independent bins at once, except for what whole counts do not
    resolve.
    """
    noise, people, true = Binomial(trials=3000, probability=0.125), 3000, 1500
    estimator = UnbiasedCounts(noise=noise, people=people, bins=3001, missing=missing)
    values = np.arange(people + 1)
    counts = true + (people - values if missing else values)
    read = estimator.intervals(Tally(values, counts), beta=beta, bins=500)
    outside = binom.pmf(values, 3000, 0.125)[(read.low > true) | (true > read.high)].sum()
    missed = -np.expm1(500 * np.log1p(-outside))
    assert 0.8 * beta <= missed <= beta

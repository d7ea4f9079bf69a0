"""Estimates and their intervals fit together, for every protocol, and say nothing that was not released."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from shuffledp.histogram.tally import Tally
from shuffledp.protocols import CATALOGUE, RealSum, Target

DATASETS = [[130, 0, 0, 0], [70, 40, 20, 0], [127, 1, 1, 1], [33, 33, 32, 32]]
RUNS = 8
EVERY = [name for name in CATALOGUE if name != "private-coin-published"]
"""But for one that takes seconds to draw; its class is here with calibrated parameters."""

TRUNCATED = [name for name, entry in CATALOGUE.items() if entry.estimator == "truncated"]


@cache
def protocol_of(name):
    """Published parameters need many people."""
    users, delta = (200_000, 1e-6) if CATALOGUE[name].published else (130, 1e-3)
    return CATALOGUE[name].make(Target(users=users, bins=4, epsilon=1.0, delta=delta))


def estimates(name, beta, seed=80):
    protocol, rng = protocol_of(name), np.random.default_rng(seed)
    for dataset in DATASETS:
        counts = np.array(dataset) * (protocol.users // 130)
        counts[0] += protocol.users - counts.sum()
        for _ in range(RUNS if protocol.users == 130 else 1):
            tossed = protocol.fresh(rng)
            yield tossed.estimate(tossed.sample_tally(counts, rng=rng), beta=beta)


@pytest.mark.slow
@pytest.mark.parametrize("beta", [0.05, 0.9])
@pytest.mark.parametrize("name", EVERY)
def test_an_estimate_lies_in_its_intervals(name, beta):
    """What holds for all bins at once is no narrower than what holds for one, and some count is always possible."""
    for estimate in estimates(name, beta):
        one, every = estimate.per_bin, estimate.simultaneous
        assert (one.low <= estimate.counts).all()
        assert (estimate.counts <= one.high).all()
        assert (every.low <= one.low).all()
        assert (one.high <= every.high).all()
        assert one.unreported_high <= every.unreported_high
        assert (one.low <= estimate.people).all()
        assert (one.high >= 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", TRUNCATED)
def test_a_truncated_estimate_is_possible(name):
    """Between nobody and everyone, with its intervals; all together are no more than there are."""
    for estimate in estimates(name, 0.05):
        assert ((estimate.counts >= 0) & (estimate.counts <= estimate.people)).all()
        assert (estimate.frequencies <= 1).all()
        assert (estimate.simultaneous.low >= 1).all()
        assert (estimate.simultaneous.high <= estimate.people).all()
        if estimate.people == 130:
            assert estimate.simultaneous.unreported_high <= 130 - len(estimate)


def test_an_unbiased_estimate_may_be_negative_and_its_interval_says_so():
    """Clipping would bias it; the interval reaches from the possible counts to the estimate."""
    estimate = min(estimates("hist-unbiased", 0.05), key=lambda estimate: estimate.counts.min())
    at = int(np.argmin(estimate.counts))
    assert estimate.counts[at] < 0
    assert estimate.simultaneous.low[at] == np.floor(estimate.counts[at])
    assert estimate.simultaneous.high[at] >= 0


def test_a_sum_of_numbers_lies_in_its_interval():
    protocol, rng = RealSum.calibrate(users=200, epsilon=0.1, delta=1e-6), np.random.default_rng(82)
    sums = [protocol.estimate(protocol.sample_tally(np.zeros(200), rng=rng)) for _ in range(20)]
    assert min(estimate.counts[0] for estimate in sums) < 0
    assert all(estimate.per_bin.low[0] <= estimate.counts[0] <= estimate.per_bin.high[0] for estimate in sums)


@pytest.mark.parametrize("name", [name for name in TRUNCATED if not CATALOGUE[name].published])
def test_intervals_are_a_function_of_what_is_reported(name):
    """Which bins were drawn and stayed hidden is not private, so nothing may depend on them or on their noise."""
    protocol = protocol_of(name)
    tally = protocol.sample_tally({0: 80, 1: 50}, rng=np.random.default_rng(81))
    reported = protocol.estimator.statistic(tally)
    assert len(reported)
    hidden = np.array([[0, 3], [1, 4]])[:, : protocol.kinds] if protocol.kinds == 2 else np.array([2, 1])
    other = Tally(
        np.append([3, 2], reported.symbols[::-1]), np.concatenate([hidden, reported.counts[::-1]]), complete=False,
        drawn=True,
    )  # fmt: skip
    assert len(protocol.estimator.statistic(other)) == len(reported)
    one, two = protocol.estimate(replace(reported, messages=None)), protocol.estimate(other)
    for this, that in ((one.per_bin, two.per_bin), (one.simultaneous, two.simultaneous)):
        assert (this.low.tolist(), this.high.tolist()) == (that.low.tolist(), that.high.tolist())
        assert this.unreported_high == that.unreported_high
    assert one.counts.tolist() == two.counts.tolist()


def test_the_two_bounds_before_a_release_have_names():
    """One is about what is shown, one about what is hidden; where everything is shown, nothing is hidden."""
    truncated, unbiased = (protocol_of(name).error(0.05) for name in ("hist", "hist-unbiased"))
    assert 0 < truncated.shown < truncated.hidden <= 130
    assert unbiased.hidden == 0
    assert unbiased.shown == unbiased.simultaneous


@pytest.mark.parametrize("name", ["hist", "sparse", "stability"])
def test_bounds_fall_where_more_failures_are_allowed(name):
    bounds = [protocol_of(name).error(beta) for beta in (1e-6, 0.05, 0.5, 0.9)]
    assert [bound.shown for bound in bounds] == sorted((bound.shown for bound in bounds), reverse=True)
    assert [bound.hidden for bound in bounds] == sorted((bound.hidden for bound in bounds), reverse=True)

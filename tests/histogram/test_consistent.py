"""Estimates made possible: projections onto what could be true."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp import private_histogram
from shuffledp.histogram.intervals import nearest_possible
from shuffledp.protocols.central import LaplaceHistogram
from shuffledp.protocols.shuffled.dummy import DummyHistogram
from shuffledp.protocols.shuffled.histogram import Histogram
from shuffledp.release.release import Release

numbers = st.floats(-50, 50).map(lambda x: round(x, 3))


@st.composite
def boxes(draw):
    size = draw(st.integers(1, 6))
    counts, truth = (np.array(draw(st.lists(numbers, min_size=size, max_size=size))) for _ in range(2))
    margins = np.array(draw(st.lists(st.floats(0, 30), min_size=2 * size, max_size=2 * size))).reshape(2, size)
    return counts, truth, truth - margins[0], truth + margins[1]


@pytest.mark.slow
@given(boxes(), st.floats(0, 5))
def test_it_is_a_projection(box, slack):
    """In the box, of the right total, no farther from anything possible than before; twice changes nothing."""
    counts, truth, low, high = box
    least, most = truth.sum() - slack, truth.sum() + slack
    near = nearest_possible(counts, low=low, high=high, least=least, most=most)
    assert (low <= near).all()
    assert (near <= high).all()
    assert least - 1e-6 <= near.sum() <= most + 1e-6
    assert np.linalg.norm(near - truth) <= np.linalg.norm(counts - truth) + 1e-6
    again = nearest_possible(near, low=low, high=high, least=least, most=most)
    assert np.allclose(near, again, atol=1e-6)


@pytest.mark.slow
@given(boxes())
def test_no_other_possible_point_is_nearer(box):
    """The condition of a nearest point of a convex set, towards a possible point."""
    counts, truth, low, high = box
    near = nearest_possible(counts, low=low, high=high, least=truth.sum(), most=truth.sum())
    assert (counts - near) @ (truth - near) <= 1e-4


def test_totals_that_no_interval_allows_come_as_near_as_they_can():
    low, high = np.zeros(2), np.ones(2)
    assert nearest_possible(np.array([0.5, 0.5]), low=low, high=high, least=5, most=6).tolist() == [1, 1]


@pytest.mark.parametrize(
    "protocol",
    [
        DummyHistogram.calibrate(users=3000, bins=40, epsilon=1, delta=1e-6),
        Histogram.calibrate(users=3000, bins=40, epsilon=1, delta=1e-6, truncated=False),
        Histogram.calibrate(users=3000, bins=40, epsilon=1, delta=1e-6),
        LaplaceHistogram.calibrate(users=3000, bins=40, epsilon=0.2, delta=1e-6),
        DummyHistogram.calibrate(users=3000, bins=40, epsilon=1, delta=1e-6, values_per_person=2),
    ],
    ids=["dummy", "unbiased", "truncated", "laplace", "sets"],
)
def test_consistent_counts_of_a_release(protocol):
    each = protocol.values_per_person
    truth = np.zeros(protocol.bins, dtype=int)
    truth[:3] = [1500 * each, 1000 * each, 500 * each] if each == 1 else [3000, 2000, 1000]
    for seed in range(20):
        tally = protocol.sample_tally(truth, rng=np.random.default_rng(seed))
        estimate = protocol.estimate(tally, reports=3000)
        consistent = estimate.consistent()
        held = 3000 * each
        assert consistent.counts.min() >= 0
        if len(consistent) == protocol.bins:
            assert consistent.counts.sum() == pytest.approx(held, abs=1e-3)
        else:
            assert consistent.counts.sum() <= held + 1e-3
        assert (consistent.simultaneous.low <= consistent.counts + 1e-9).all()
        assert (consistent.counts <= consistent.simultaneous.high + 1e-9).all()
        for cut, whole in (
            (consistent.simultaneous, estimate.simultaneous),
            (consistent.per_bin, estimate.per_bin),
        ):
            assert cut.low.tolist() == whole.low.clip(0, 3000).tolist()
            assert cut.high.tolist() == whole.high.clip(0, 3000).tolist()
            assert cut.unreported_high == whole.unreported_high
        shown = truth[estimate.symbols]
        if (
            len(estimate) == protocol.bins
            and (estimate.simultaneous.low <= shown).all()
            and (shown <= estimate.simultaneous.high).all()
        ):
            assert np.linalg.norm(consistent.counts - shown) <= np.linalg.norm(estimate.counts - shown) + 1e-6


def test_no_end_of_an_interval_is_an_impossible_number_afterwards():
    """Nobody holds 39 of 40 values, and everyone the first: both ends of what is possible are passed by noise."""
    protocol = LaplaceHistogram.calibrate(users=3000, bins=40, epsilon=0.2, delta=1e-6)
    truth = np.append(3000, np.zeros(39, dtype=int))
    estimate = protocol.estimate(protocol.sample_tally(truth, rng=np.random.default_rng(1)), reports=3000)
    assert estimate.simultaneous.low.min() < 0
    consistent = estimate.consistent()
    for bounds in (consistent.simultaneous, consistent.per_bin):
        assert bounds.low.min() == 0
        assert max(bounds.low.max(), bounds.high.max()) <= 3000
    assert consistent.largest_distance <= estimate.simultaneous.high.max()
    assert consistent.consistent().simultaneous.low.tolist() == consistent.simultaneous.low.tolist()
    assert (estimate.simultaneous.low < 0).any(), "the estimate itself stays as it is"


def test_its_use_is_stated():
    protocol = DummyHistogram.calibrate(users=3000, bins=40, epsilon=1, delta=1e-6)
    truth = np.append(3000, np.zeros(39, dtype=int))
    estimate = protocol.estimate(protocol.sample_tally(truth), reports=3000)
    assert not estimate.adjusted
    assert "adjusted" not in estimate.explain()
    assert "adjusted to possible numbers" in estimate.consistent().explain()
    assert estimate.consistent().to_dict()["adjusted"] is True


def test_a_release_can_be_consistent():
    values, domain = ["a"] * 900 + ["b"] * 600, ["a", "b", "c", "d"]
    for consistent in (False, True):
        release = private_histogram(
            values, domain=domain, epsilon=1, delta=1e-6, protocol="dummy", consistent=consistent
        )
        assert release.estimate.adjusted == consistent
        again = Release.from_json(release.to_json())
        assert again.estimate.adjusted == consistent
        assert again.explain() == release.explain()
    assert release.estimate.counts.sum() == pytest.approx(1500, abs=1e-3)


def test_intervals_that_contradict_the_number_of_people_are_left_aside():
    protocol = LaplaceHistogram.calibrate(users=300, bins=3, epsilon=1, delta=1e-6)
    truth = np.array([100, 100, 100])
    far = protocol.sample_tally(truth)
    far.counts[:] += 250  # noise that is next to impossible
    consistent = protocol.estimate(far, reports=300).consistent()
    assert consistent.counts.sum() == pytest.approx(300, abs=1e-3)
    assert consistent.counts.min() >= 0

"""A published release stated with another confidence: the same intervals as if it had been made with it."""

import numpy as np
import pytest

from shuffledp import Release
from shuffledp.histogram.ordered_estimate import OrderedEstimate
from shuffledp.release.trend_rounds import with_confidence
from tests.release.trends import THEMES, ages_protocol, protocol_of, release_of, release_of_ages

COUNTS = [1000, 600, 399, 1]
ALL_REPORTED = ("dummy", "dummy-poisson", "hist-unbiased", "hashed", "laplace")
SMALLER = 0.002


def stored(release):
    return Release.from_json(release.to_json())


@pytest.mark.parametrize("name", ALL_REPORTED)
def test_the_intervals_are_those_of_a_release_with_that_confidence(name):
    protocol = protocol_of(name)
    tally = protocol.sample_tally(np.array(COUNTS), rng=np.random.default_rng(1))
    release = stored(release_of(protocol, COUNTS, rng=None, tally=tally, asked={"task": "t", "batches": 1}))
    direct = release_of(protocol, COUNTS, rng=None, tally=tally, beta=SMALLER).estimate
    found = with_confidence(release.estimate, release.protocol, beta=SMALLER)
    assert found.beta == SMALLER
    for label in THEMES:
        for simultaneous in (True, False):
            assert found.interval(label, simultaneous=simultaneous) == direct.interval(label, simultaneous=simultaneous)


@pytest.mark.parametrize("name", ["hist", "stability"])
def test_truncated_releases_too_if_nothing_was_clipped(name):
    protocol = protocol_of(name, bins=2**40)
    counts = [700, 600, 400, 200, 99, 1]
    rng = np.random.default_rng(3)
    tally = protocol.sample_tally({f"v{at}": n for at, n in enumerate(counts)}, rng=rng)
    made = release_of(protocol, counts, rng=None, labels=None, tally=tally)
    direct = release_of(protocol, counts, rng=None, labels=None, tally=tally, beta=SMALLER).estimate
    found = with_confidence(made.estimate, protocol, beta=SMALLER)
    assert found.simultaneous.low.tolist() == direct.simultaneous.low.tolist()
    assert found.simultaneous.high.tolist() == direct.simultaneous.high.tolist()
    assert found.simultaneous.unreported_high == direct.simultaneous.unreported_high


def test_a_clipped_estimate_keeps_its_confidence():
    """Everybody holds one value: in about half of the releases the estimate is cut to the number of people."""
    protocol = protocol_of("hist", bins=2**40)
    rng, seen = np.random.default_rng(4), set()
    for _ in range(40):
        release = release_of(protocol, [2000], rng=rng, labels=None)
        clipped = release["v0"] == 2000
        assert (with_confidence(release.estimate, protocol, beta=SMALLER) is None) == clipped
        seen.add(clipped)
    assert seen == {True, False}


@pytest.mark.slow
def test_ranges_have_a_new_band_and_new_quantiles():
    rng = np.random.default_rng(5)
    ages = rng.integers(0, 19, 2000)
    release = release_of_ages(ages, rng=rng)
    found = with_confidence(release.estimate, ages_protocol(), beta=SMALLER)
    assert isinstance(found, OrderedEstimate)
    before, after, counts = release.estimate, found, np.bincount(np.clip(ages + 1, 0, 20), minlength=21)
    assert (after.below_low <= before.below_low).all()
    assert (after.below_high >= before.below_high).all()
    assert (after.below_high - after.below_low).sum() > (before.below_high - before.below_low).sum()
    assert (after.simultaneous.low <= before.simultaneous.low).all()
    assert (after.below_low <= np.cumsum(counts)[:-1]).all()
    assert after.shares == before.shares


def test_a_more_confident_release_is_unchanged():
    release = release_of(protocol_of("dummy"), COUNTS, rng=np.random.default_rng(6), beta=1e-4)
    assert with_confidence(release.estimate, release.protocol, beta=0.05) is release.estimate


def test_what_the_estimates_do_not_determine_is_not_restated():
    rng = np.random.default_rng(7)
    dummy = protocol_of("dummy")
    adjusted = release_of(dummy, COUNTS, rng=rng).estimate.consistent()
    assert with_confidence(adjusted, dummy, beta=SMALLER) is None
    blanket = protocol_of("blanket", epsilon=4.0)
    assert with_confidence(release_of(blanket, COUNTS, rng=rng).estimate, blanket, beta=SMALLER) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sparse", "sparse-best"])
def test_intervals_of_pairs_are_wider_from_estimates_alone(name):
    """The estimates do not tell how many large bins there may be; the worst data is assumed."""
    protocol, rng = protocol_of(name, bins=2**40), np.random.default_rng(8)
    counts = [700, 600, 400, 200, 99, 1]
    for _ in range(5):
        tally = protocol.sample_tally({f"v{at}": n for at, n in enumerate(counts)}, rng=rng)
        made = release_of(protocol, counts, rng=None, labels=None, tally=tally).estimate
        direct = release_of(protocol, counts, rng=None, labels=None, tally=tally, beta=SMALLER).estimate.simultaneous
        found = with_confidence(made, protocol, beta=SMALLER).simultaneous
        assert (found.low <= direct.low).all()
        assert (found.high >= direct.high).all()
        assert found.unreported_high >= direct.unreported_high
        assert found.high.max() - direct.high.max() < 40


def test_a_clipped_pair_keeps_its_confidence():
    protocol, rng = protocol_of("sparse", bins=2**40), np.random.default_rng(9)
    clipped = [release_of(protocol, [2000], rng=rng, labels=None) for _ in range(20)]
    for release in clipped:
        whole = release["v0"] == round(release["v0"])
        assert (with_confidence(release.estimate, protocol, beta=SMALLER) is None) == whole
    assert any(release["v0"] == 2000 for release in clipped)

"""Of very many listed values, those are reported that stand out from the noise."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from shuffledp.collect.analyzer import releases
from shuffledp.histogram.domain import Domain
from shuffledp.protocols import DummyHistogram
from shuffledp.protocols.shuffled.hashed import HashedHistogram
from shuffledp.release.notes import standing_out
from shuffledp.release.release import Release
from tests.collect.analyzer.test_releases import tally_of as tally_of_listed
from tests.collect.tasks import small_task

USERS, BINS, RISK, BETA, RUNS = 2000, 400, 0.2, 0.1, 300
FALSE_FAILURES = 1e-6


@pytest.fixture(scope="module")
def protocol():
    return DummyHistogram.calibrate(users=USERS, bins=BINS, epsilon=1.0, delta=1e-6, dummies="poisson")


@pytest.fixture(scope="module")
def runs(protocol):
    """The labels that stand out, and whether all bounds hold, where one value has as many people as the limit says."""
    limit = selected(protocol, protocol.sample_tally(np.eye(1, BINS, dtype=int)[0] * USERS)).detection.limit
    truth = np.zeros(BINS, dtype=np.int64)
    truth[0], truth[1], truth[2] = USERS - limit - 3, limit, 3
    rng, found = np.random.default_rng(11), []
    for _ in range(RUNS):
        estimate = selected(protocol, protocol.sample_tally(truth, rng=rng))
        others = np.delete(truth, estimate.symbols.astype(np.int64))
        held = all(low <= truth[row.label] <= high for row in estimate.top() for low, high in [(row.low, row.high)])
        found.append((set(estimate), held and others.max() <= estimate.simultaneous.unreported_high))
    return found


def selected(protocol, tally, *, risk=RISK):
    estimate = protocol.estimate(tally, beta=BETA, reports=USERS, domain=Domain.range(BINS))
    return standing_out(estimate, protocol, most_rows=10, risk=risk)


def at_most(probability):
    """The number of failures in all runs that is exceeded with the probability of a false failure."""
    return stats.binom.isf(FALSE_FAILURES, RUNS, probability)


@pytest.mark.slow
def test_values_that_nobody_holds_are_seldom_reported(runs):
    assert sum(bool(labels - {0, 1, 2}) for labels, _ in runs) <= at_most(RISK)


def test_a_value_with_the_limit_is_reported(runs):
    assert sum(1 not in labels for labels, _ in runs) <= at_most(BETA)


@pytest.mark.slow
def test_all_bounds_hold_at_once(runs):
    assert sum(not held for _, held in runs) <= at_most(BETA)


def test_less_noise_than_planned_would_be_noticed(protocol):
    """Negative control: with a threshold 30% too low, values that nobody holds are reported far too often."""
    rng, wrong = np.random.default_rng(12), 0
    threshold = 0.7 * protocol.error(RISK).simultaneous
    for _ in range(100):
        tally = protocol.sample_tally(np.eye(1, BINS, dtype=int)[0] * USERS, rng=rng)
        wrong += bool((protocol.estimate(tally, reports=USERS).counts[1:] > threshold).any())
    assert wrong > stats.binom.isf(FALSE_FAILURES, 100, RISK)


def test_few_values_and_zero_preserving_estimates_are_unchanged(protocol):
    estimate = protocol.estimate(protocol.sample_tally(np.eye(1, BINS, dtype=int)[0] * USERS), reports=USERS)
    assert standing_out(estimate, protocol, most_rows=BINS) is estimate
    sparse = replace(estimate, estimator="truncated")
    assert standing_out(sparse, protocol, most_rows=10) is sparse


def test_some_labels_are_always_reported():
    protocol = HashedHistogram.calibrate(users=USERS, bins=BINS, epsilon=1.0, delta=1e-6)
    messages = protocol.randomize(np.zeros(USERS, dtype=np.int64), rng=np.random.default_rng(1))
    labels = [*map(str, range(BINS - 2)), "(other)", "(none)"]
    whole = protocol.estimate(protocol.tally(messages), reports=USERS, domain=Domain.of(labels))
    found = standing_out(whole, protocol, always=("(other)", "(none)"), most_rows=10)
    assert set(found) == {"0", "(other)", "(none)"}
    for label in found:
        assert found[label] == whole[label]
        assert found.interval(label) == whole.interval(label)
    assert found["17"] == 0
    assert found.interval("17") == (0, max(whole.interval(label)[1] for label in labels[1:-2]))
    assert not found.reports_all


def test_a_collected_release_of_many_answers_comes_back(monkeypatch):
    def few_rows(*given, **options):
        return standing_out(*given, **options, most_rows=10)

    monkeypatch.setattr(releases, "standing_out", few_rows)
    task = small_task(answers=("dark", "light", *map(str, range(40))), protocol="hashed").task
    release = releases.release_of(task, [tally_of_listed(task)], refused={})
    assert "dark" in release
    assert {"(other)", "(none)"} < set(release)
    assert len(release) < 10
    again = Release.from_json(release.to_json())
    assert again.to_json() == release.to_json()
    assert (
        "The chance that any value shown is held by nobody is at most 1 in 1,000, if everyone follows"
        in again.explain()
    )
    assert "forged reports together could have made a value appear" in again.explain()

"""The comparison table: every protocol on equal terms, against what the paper says about them."""

import math

import numpy as np
import pytest
from scipy.stats import t as student

from shuffledp.errors import ParameterError
from shuffledp.histogram.tally import Tally
from shuffledp.protocols import CATALOGUE, LocalHashing, Target
from shuffledp.release.compare import _t_quantile, compare, true_histogram
from shuffledp.release.plan import plan
from shuffledp.release.private_histogram import private_histogram

WISH = {"epsilon": 1.0, "delta": 1e-6}
pytestmark = pytest.mark.xdist_group("comparison")  # one worker measures once


@pytest.fixture(scope="module")
def measured():
    results = compare(users=[8000], bins=[50, 1000], trials=3, **WISH)
    return {(result.name, result.bins): result for result in results}


@pytest.mark.slow
def test_every_protocol_has_a_row_and_errors_keep_to_their_bounds(measured):
    assert set(measured) == {(name, bins) for name in CATALOGUE for bins in (50, 1000)}
    for result in measured.values():
        if not result.problem:
            assert 0 < result.mean <= result.bound
            assert result.low <= result.mean <= result.high
            assert result.messages > 0
            assert result.bits > 0
    assert "too few" in measured["public-coin-published", 50].problem


@pytest.mark.slow
def test_the_statements_of_the_paper_are_visible(measured):
    mean = {key: result.mean for key, result in measured.items()}
    for bins in (50, 1000):
        local = [mean[name, bins] for name, contender in CATALOGUE.items() if contender.model == "local"]
        assert min(local) > 3 * max(mean["hist", bins], mean["sparse", bins])  # local is worse by far
        assert mean["stability", bins] < mean["hist", bins]  # the floor
        assert mean["hist-published", bins] > 5 * mean["hist", bins]


@pytest.mark.slow
def test_some_errors_grow_with_the_number_of_values_and_others_do_not():
    growing, flat = ["blanket", "public-coin", "hadamard", "laplace"], ["hist", "sparse", "stability"]
    results = compare(
        users=[20_000], bins=[1000, 300_000], trials=5, data="adversarial", protocols=growing + flat, **WISH
    )
    mean = {(result.name, result.bins): result.mean for result in results}
    assert all(mean[name, 300_000] > 1.15 * mean[name, 1000] for name in growing)
    assert all(mean[name, 300_000] < 1.1 * mean[name, 1000] for name in flat)


@pytest.mark.parametrize("kind", ["zipf", "uniform", "adversarial"])
@pytest.mark.parametrize("bins", [2, 30, 10**6])
def test_made_up_data_has_everyone_once(kind, bins):
    truth = true_histogram(kind, Target(users=5000, bins=bins, **WISH))
    assert truth.total == 5000
    assert len(truth) <= min(bins, 5000)
    assert truth.counts.min() > 0


def test_adversarial_data_hurts_truncation_more_than_uniform_data():
    errors = {
        kind: compare(users=[10_000], bins=[100], trials=6, data=kind, protocols=["hist"], **WISH)[0].mean
        for kind in ("uniform", "adversarial")
    }
    assert errors["adversarial"] > 1.5 * errors["uniform"]


def test_huge_domains_need_a_protocol_that_samples_its_tally():
    results = compare(users=[5000], bins=[2**200], trials=2, **WISH)
    feasible = {result.name for result in results if not result.problem}
    assert feasible == {name for name, contender in CATALOGUE.items() if not contender.false_positives} - {
        result.name for result in results if "too few" in result.problem
    }
    assert {"stability", "hist", "sparse", "sparse-best"} <= feasible


@pytest.mark.slow
def test_the_same_seed_gives_the_same_errors():
    once, again, other = (
        compare(users=[1000], bins=[20], trials=3, protocols=["blanket", "response"], seed=seed, **WISH)
        for seed in (1, 1, 2)
    )
    assert [r.mean for r in once] == [r.mean for r in again] != [r.mean for r in other]


@pytest.mark.parametrize("freedom", [1, 2, 3, 5, 19, 100])
def test_quantile_of_student(freedom):
    assert _t_quantile(freedom) == pytest.approx(student.ppf(0.975, freedom), rel=1e-9)


def test_wrong_parameters():
    with pytest.raises(ParameterError, match="protocols must be one of"):
        compare(users=[10], bins=[2], protocols=["none"], **WISH)
    with pytest.raises(ParameterError, match="data must be"):
        compare(users=[10], bins=[2], data="gauss", **WISH)
    with pytest.raises(ParameterError, match="trials"):
        compare(users=[10], bins=[2], trials=1, **WISH)
    with pytest.raises(ParameterError, match="users must be the number of people in the data, 3, got 10"):
        compare(users=[10], bins=[2], data=Tally(np.array([0]), np.array([3])), **WISH)
    with pytest.raises(ParameterError, match="bins must be at least the 3 values in the data"):
        compare(users=[3], bins=[2], data=Tally(np.arange(3), np.ones(3, dtype=int)), **WISH)


@pytest.mark.slow
def test_hashed_reports_are_made_shuffled_and_counted():
    values, domain = np.arange(3000) % 40, list(range(60))
    release = private_histogram(values, domain=domain, protocol="amplified", messages=True, **WISH)
    assert isinstance(release.protocol.oracle, LocalHashing)
    assert release.messages == 3000
    assert all(abs(release.estimate[value] - 75 * (value < 40)) <= 2 * release.error for value in domain)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["blanket", "public-coin", "private-coin", "amplified"])
def test_earlier_protocols_in_releases_and_plans(protocol):
    values, domain = np.repeat(["a", "b"], [700, 300]), ["a", "b", "c"]
    release = private_histogram(values, domain=domain, protocol=protocol, messages=True, **WISH)
    assert abs(release.estimate["a"] - 700) <= 3 * release.error
    if protocol == "amplified":
        assert release.messages == 1000
        with pytest.raises(ParameterError, match="messages must be True"):
            private_histogram(values, domain=domain, protocol=protocol, **WISH)
    else:
        drawn = private_histogram(values, domain=domain, protocol=protocol, **WISH)
        assert abs(drawn.estimate["a"] - 700) <= 3 * drawn.error
    with pytest.raises(ParameterError, match="give the domain"):
        private_histogram(values, protocol=protocol, messages=False, **WISH)
    row = plan(users=1000, bins=3, earlier=True, **WISH).row(protocol)
    assert math.isfinite(row.simultaneous)
    with pytest.raises(StopIteration):
        plan(users=1000, bins=3, **WISH).row(protocol)

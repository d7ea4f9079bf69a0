"""The search for a number of people: computed and measured."""

import math

import numpy as np
import pytest
from scipy import stats

from shuffledp import ParameterError
from shuffledp.paper import local_baselines as search
from shuffledp.paper.local_baselines import judged, measured_users
from shuffledp.paper.support_identification import smallest_users
from tests.oracles.goodness import FALSE_FAILURE_RATE


@pytest.mark.parametrize("trials", [100, 1000])
@pytest.mark.parametrize("level", [0.01, 1e-4])
def test_verdicts_are_those_of_clopper_and_pearson(trials, level):
    for failures in range(0, 60):
        lower = 0.0 if failures == trials else stats.beta.ppf(level, trials - failures, failures + 1)
        upper = 1.0 if failures == 0 else stats.beta.ppf(1 - level, trials - failures + 1, failures)
        expected = True if lower >= 0.99 else False if upper <= 0.99 else None
        assert judged(failures=failures, trials=trials, target=0.99, level=level) == expected


def test_the_smallest_number_is_found():
    assert smallest_users(lambda users: users / 1000) == 990
    assert smallest_users(lambda users: users / 1000, target=0.5, least=700) == 700
    with pytest.raises(ParameterError, match="no number of people"):
        smallest_users(lambda users: 0.5)


def known_success(users):
    """1 - e^(-users / 100): 0.99 at 460.5 people."""
    return 1 - math.exp(-users / 100)


@pytest.mark.parametrize("start", [2.0, 100.0, 460.0, 9000.0])
def test_a_measured_number_brackets_the_true_one(start):
    found = measured_users(
        lambda users, rng: bool(rng.random() < known_success(users)), start=start, rng=np.random.default_rng(12)
    )
    assert found.too_few < 460.5 <= found.users
    assert found.users < 1.8 * found.too_few


@pytest.mark.slow
def test_measured_numbers_are_as_sure_as_they_say():
    """With confidence 0.9, at most a tenth of the pairs may be wrong (and with Bonferroni far fewer are)."""
    rng, wrong = np.random.default_rng(13), 0
    for _ in range(30):
        found = measured_users(
            lambda users, rng: bool(rng.random() < known_success(users)), start=450.0, rng=rng, confidence=0.9
        )
        wrong += not found.too_few < 460.5 <= found.users
    assert stats.binomtest(wrong, 30, 0.1, alternative="greater").pvalue > FALSE_FAILURE_RATE


def test_the_levels_of_all_looks_and_tests_add_up_to_the_error(monkeypatch):
    levels = []

    def undecided_for_long(*, level, **_):
        levels.append(level)
        return {60: True, 120: False}.get(len(levels))

    monkeypatch.setattr(search, "judged", undecided_for_long)
    measured_users(lambda users, rng: users >= 10**6, start=1e6, rng=np.random.default_rng(1), confidence=0.95)
    assert len(levels) == 120
    assert 0.04 < sum(levels) <= 0.05
    assert all(level > 0 for level in levels)

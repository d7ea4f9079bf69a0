"""Support identification: computed success against simulated, and the claim of the paper."""

import math
from itertools import product

import numpy as np
import pytest

from shuffledp import DataError, Histogram, ParameterError, SparseHistogram
from shuffledp.paper import SupportIdentification
from shuffledp.protocols.central import StabilityHistogram
from tests.oracles.goodness import FALSE_FAILURE_RATE, p_value
from tests.oracles.item_finders import BINS, FINDERS, GUARANTEE, WITH_FALSE_POSITIVES, report_chance
from tests.oracles.successes import agrees


@pytest.mark.slow
@pytest.mark.parametrize("name", FINDERS)
@pytest.mark.parametrize("thresholded", [False, True])
def test_report_chance_is_how_often_a_bin_is_reported(name, thresholded):
    protocol, rng = FINDERS[name](7000), np.random.default_rng(1)
    error = protocol.error(0.05, occupied_bins=1).simultaneous
    at_least = error + 1 if thresholded else 0.0
    # a count for which it is nearly a coin flip
    count = next(c for c in range(1, 7000) if report_chance(protocol, c, at_least=at_least) > 0.4)
    trials = 500
    counts = {0: count, 1: 7000 - count}
    seen = 0
    for _ in range(trials):
        estimate = protocol.estimate(protocol.sample_tally(counts, rng=rng))
        seen += 0 in estimate and estimate[0] >= at_least
    assert agrees(seen, trials, report_chance(protocol, count, at_least=at_least))
    assert report_chance(protocol, 0, at_least=at_least) == 0


def test_report_chance_of_the_histogram_is_its_definition():
    protocol = Histogram(users=12, bins=5, missing_probability=0.25)
    for count, at_least in product(range(13), (0.0, 2.5, 5.0)):
        exact = sum(protocol.noise.pmf_fraction(m) for m in range(13) if count - m > 0 and count - m + 3 >= at_least)
        assert report_chance(protocol, count, at_least=at_least) == pytest.approx(float(exact), abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["any", "paper"])
@pytest.mark.parametrize(("name", "items"), [("paper", 2), ("exact", 2), ("exact", 8), ("sparse", 8), ("central", 8)])
def test_the_sample_size_is_right_and_not_more_than_needed(name, items, rule):
    if (name, rule) == ("sparse", "paper"):
        items = 2
    problem, rng = SupportIdentification(items_in_support=items, bins=BINS), np.random.default_rng(2)
    users = problem.sample_size(FINDERS[name], rule=rule)
    protocol = FINDERS[name](users)
    exact = problem.success(protocol, rule=rule)
    assert 0.99 <= exact < 0.9999
    error = problem.error_bound(protocol) if rule == "paper" else None
    trials, found = 400, 0
    for _ in range(trials):
        support = problem.draw(rng=rng)
        tally = protocol.sample_tally(problem.sample(support, users=users, rng=rng), rng=rng)
        found += problem.identify(protocol.estimate(tally), error=error) == set(support)
    assert agrees(found, trials, exact)
    if name != "paper":  # the theorem asks for 6,081 people whatever the problem
        fewer = max(int(0.85 * users), type(protocol).minimum_users(**GUARANTEE))
        assert problem.success(FINDERS[name](fewer), rule=rule) < 0.99


@pytest.mark.slow
@pytest.mark.parametrize("items", [1, 2, 10, 50])
def test_the_claim_holds_with_room_to_spare(items):
    """The paper's proof is enough, by about a factor of two even with the paper's own noise."""
    problem = SupportIdentification(items_in_support=items, bins=BINS)
    claimed = problem.claimed_sample_size(**GUARANTEE)
    assert problem.success(FINDERS["paper"](claimed), rule="paper") >= 0.99
    assert problem.sample_size(FINDERS["paper"], rule="any") <= problem.sample_size(FINDERS["paper"], rule="paper")
    assert problem.sample_size(FINDERS["paper"], rule="paper") <= claimed
    assert claimed < 1000 * items * max(1, math.log(items)) * math.log(1e6)
    assert problem.sample_size(FINDERS["exact"]) < claimed / 30


@pytest.mark.slow
def test_the_documented_numbers_of_people():
    """docs/reference/paper.md states them for two items, on a million bins."""
    problem = SupportIdentification(items_in_support=2, bins=10**6)
    claimed = problem.claimed_sample_size(**GUARANTEE)
    made = {
        rule: problem.sample_size(lambda users, make=make: make(users=users, bins=10**6, **GUARANTEE), rule=rule)
        for rule, make in (("paper", Histogram.published), ("any", Histogram.calibrate))
    }
    assert (claimed, made) == (13_631, {"paper": 6_606, "any": 163})


def test_the_claim_is_for_the_total_delta():
    """(1 / 400)^(1/25) = 0.787 lies between delta / 2 and delta."""
    with pytest.raises(ParameterError, match=r"delta=0\.8 "):
        SupportIdentification(items_in_support=2, bins=9).claimed_sample_size(epsilon=1, delta=0.8)


def test_the_number_of_bins_does_not_matter():
    for name in (Histogram, SparseHistogram, StabilityHistogram):
        chances = {
            SupportIdentification(items_in_support=3, bins=bins).success(
                name.calibrate(users=400, bins=bins, **GUARANTEE)
            )
            for bins in (400, 10**6, 2 * math.factorial(1000))
        }
        assert max(chances) - min(chances) < 1e-12


@pytest.mark.slow
def test_drawn_supports_are_uniform():
    problem, rng = SupportIdentification(items_in_support=2, bins=5), np.random.default_rng(3)
    pairs = [(a, b) for a in range(5) for b in range(a + 1, 5)]
    drawn = [pairs.index(problem.draw(rng=rng)) for _ in range(5000)]
    assert p_value(np.bincount(drawn, minlength=10), np.full(10, 0.1)) > FALSE_FAILURE_RATE


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (lambda: SupportIdentification(items_in_support=0, bins=5), "items_in_support must be at least 1"),
        (lambda: SupportIdentification(items_in_support=6, bins=5), "must not exceed bins=5"),
        (lambda: SupportIdentification(items_in_support=2, bins=5).sample_size(FINDERS["exact"], rule="x"), "rule"),
        (lambda: SupportIdentification(items_in_support=10**6, bins=10**6).claimed_sample_size(epsilon=1, delta=0.99),
         "as the claim requires"),
        (lambda: SupportIdentification(items_in_support=2, bins=5).sample((1,), users=5), "2 different items"),
        (lambda: SupportIdentification(items_in_support=2, bins=5).success(WITH_FALSE_POSITIVES), "false positives"),
    ],
)  # fmt: skip
def test_bad_parameters(wrong, reason):
    with pytest.raises((ParameterError, DataError), match=reason):
        wrong()

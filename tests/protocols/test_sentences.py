"""Texts about protocols and estimates: every printed bound holds, and there is no jargon."""

import math
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp import BinarySum, Histogram, run
from shuffledp.accounting.curve import Guarantee
from shuffledp.protocols import CATALOGUE, Target
from shuffledp.protocols.shuffled.blanket import BlanketSum
from shuffledp.protocols.sums.real_sum import RealSum

TITLES = ["Guarantee", "Trust", "Error bounds", "Noise", "Not protected"]
OUR_WORDS = r"\bbins?\b|\blone\b|phantom|calibrat|safe side|2\^|tally|\bbeta\b|None|nan\b"
COUNTS = np.array([400, 150, 50, 0])
MADE = [name for name, entry in CATALOGUE.items() if not entry.published]


def paragraphs(text):
    """The paragraphs of a text by title."""
    return dict(part.split(": ", 1) for part in text.split("\n\n"))


def number(text):
    return float(text.replace(",", ""))


def figures(pattern, text):
    """The numbers in the only place of a text that looks like the pattern."""
    (found,) = re.findall(pattern, text)
    return tuple(map(number, found if isinstance(found, tuple) else (found,)))


@cache
def protocol_of(name, **changes):
    asked = {"users": 600, "bins": 4, "epsilon": 1.1, "delta": 1e-4, **changes}
    return CATALOGUE[name].make(Target(**asked))


@pytest.mark.parametrize("beta", [0.05, 0.0123456, 1e-7])
@pytest.mark.parametrize("name", MADE)
def test_every_bound_that_a_protocol_prints_holds(name, beta):
    protocol = protocol_of(name)
    error, said = protocol.error(beta).simultaneous, paragraphs(protocol.describe(beta=beta))
    assert list(said) == TITLES
    chance, people, share = figures(
        r"^([\d.]+)% confidence, all values at once, for any data: counts are within ±([\d,]+) people "
        r"\(([\d.]+)% of all\)",
        said["Error bounds"],
    )
    assert error <= people <= error + 1
    assert error / 600 <= share / 100 * (1 + 1e-12) <= error / 600 * 1.1 + 1e-9
    assert 1 - 1.01 * beta <= chance / 100 <= 1 - beta + 1e-15
    epsilon, delta = figures(r"^\(([\d.]+), ([\d.e-]+)\)-differential privacy", said["Guarantee"])
    assert (epsilon, delta) == (1.1, protocol.guarantee.delta)
    (factor,) = figures(r"by at most ([\d.]+)(?=,|\.$)", said["Guarantee"])
    assert math.exp(1.1) <= factor <= 1.01 * math.exp(1.1)


@pytest.mark.parametrize("name", MADE)
def test_every_bound_that_an_estimate_prints_holds(name):
    protocol = protocol_of(name)
    estimate = protocol.estimate(protocol.sample_tally(COUNTS, rng=np.random.default_rng(5)))
    said, bounds = paragraphs(estimate.explain()), estimate.simultaneous
    assert list(said)[:2] == ["Result", "Error bounds"]
    assert sorted(said) == sorted(["Result", *TITLES])
    (off,) = figures(r"shown counts are within ±([\d,]+) people", said["Error bounds"])
    farthest = np.maximum(estimate.counts - bounds.low, bounds.high - estimate.counts).max()
    assert farthest <= off <= farthest + 1
    if estimate.estimator == "truncated":
        hidden = figures(r"any value not shown has at most ([\d,]+)", said["Error bounds"])
        assert hidden == (bounds.unreported_high,)
    else:
        assert "including values that nobody holds" in said["Error bounds"]
    assert said["Error bounds"].startswith("95% confidence, all values at once: ")


@pytest.mark.parametrize("drawn", [False, True])
@pytest.mark.parametrize("name", MADE)
def test_a_reader_needs_none_of_our_words(name, drawn):
    text = protocol_of(name).describe(drawn=drawn)
    assert not re.search(OUR_WORDS, text)
    assert max(map(len, paragraphs(text).values())) < 400
    trusted = paragraphs(text)["Trust"]
    model = CATALOGUE[name].model
    expected = {"central": "curator", "local": "Nobody", "shuffled": "holds the data" if drawn else "shuffler"}
    assert expected[model] in trusted


@pytest.mark.parametrize("kind", [BinarySum, BlanketSum, RealSum])
def test_sums_say_the_same(kind):
    protocol = kind.calibrate(users=1000, epsilon=1, delta=1e-6)
    said = paragraphs(protocol.describe())
    assert list(said) == TITLES
    (people,) = figures(r"within ±([\d,]+) people", said["Error bounds"])
    assert protocol.error(0.05).simultaneous <= people <= protocol.error(0.05).simultaneous + 1
    explained = run(protocol, np.ones(1000, dtype=int)).explain()
    assert not re.search(OUR_WORDS, explained)
    assert "Every possible value" not in explained


def test_a_bound_as_printed_fails_as_rarely_as_it_says():
    """60,000 releases; a rate of 0.05 is called larger with probability 3e-7. To the nearest whole it was 0.0584."""
    protocol = Histogram.calibrate(users=500, bins=2, epsilon=2, delta=1e-6, truncated=False)
    (printed,) = figures(r"within ±([\d,]+) people", protocol.describe())
    trials, beta = 60_000, 0.05
    many = replace(protocol, bins=2 * trials)  # every bin has noise of its own, so pairs of them are releases
    truth = np.zeros(2 * trials, dtype=np.int64)
    truth[0] = 500
    errors = np.abs(many.estimator.point(many.sample_tally(truth, rng=np.random.default_rng(11))) - truth)
    largest = errors.reshape(trials, 2).max(axis=1)
    limit = beta + 5 * math.sqrt(beta * (1 - beta) / trials)
    assert (largest > printed).mean() <= limit
    assert (largest > round(protocol.error(beta).simultaneous)).mean() > limit


@given(st.floats(1e-3, 50), st.floats(1e-20, 0.5))
def test_a_printed_guarantee_is_never_better_than_the_real_one(epsilon, delta):
    printed = figures(r"^\(([\d.e-]+), ([\d.e-]+)\)-differential privacy$",
                      str(Guarantee(epsilon=epsilon, delta=delta, basis="")))  # fmt: skip
    assert epsilon <= printed[0] <= epsilon * (1 + 2e-5)
    assert delta <= printed[1] <= delta * (1 + 2e-5)


def test_what_was_asked_for_is_printed_as_asked():
    assert str(Guarantee(epsilon=1.2345678, delta=1e-6, basis="")) == "(1.2345678, 1e-6)-differential privacy"
    assert str(Guarantee(epsilon=1.1834721234567, delta=1e-6, basis="")) == "(1.18348, 1e-6)-differential privacy"


def test_a_weaker_guarantee_is_rounded_up():
    protocol = Histogram.calibrate(users=2000, bins=3, epsilon=1, delta=1e-6)
    estimate = run(protocol, np.repeat([0, 1], [1000, 500]))
    epsilon, _ = figures(r"\(([\d.]+), ([\d.e-]+)\)-differential privacy", estimate.explain())
    assert estimate.guarantee.epsilon <= epsilon < estimate.guarantee.epsilon + 1e-4


def test_one_person_and_one_value_are_singular():
    protocol = protocol_of("laplace", users=1, bins=1)
    text = protocol.estimate(protocol.sample_tally(np.array([1]), rng=np.random.default_rng(0))).explain()
    assert "1 value shown" in text
    assert "1 person" in text
    assert not re.search(r"\b1 (values|people)\b", text.replace("at most 1 people", ""))

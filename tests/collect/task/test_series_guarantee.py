"""The guarantee of all rounds together, against brute force with fractions and against dp_accounting."""

import json
import math
from collections import Counter
from fractions import Fraction
from itertools import product

import pytest

from shuffledp.collect.task import series_of
from shuffledp.collect.task.new_task import new_series
from shuffledp.errors import ParameterError
from tests.collect.series import FIRST, WEEK, small_series

COIN = Fraction(1, 4)


def tiny():
    """Two rounds of two people, two answers and one dummy per person and value with probability 1/4."""
    plain = json.loads(small_series(protocol="dummy", users=2000).series.canonical)
    return series_of(
        json.dumps(
            plain
            | {
                "answers": {"kind": "list", "values": ["a"]},
                "protocol": {"name": "dummy", "parameters": {"dummy_probability": "1/2^2"}},
                "users": 2,
                "honest_users": 2,
                "most_messages": 4,
                "rounds": 2,
            }
        ).encode()
    )


def tallies(values, bins):
    """The distribution of the tally of one round, by listing the coins of all people."""
    found = Counter()
    for coins in product((0, 1), repeat=bins * len(values)):
        weight = math.prod((COIN if coin else 1 - COIN) for coin in coins)
        tally = [sum(coins[at::bins]) for at in range(bins)]
        for value in values:
            tally[value] += 1
        found[tuple(tally)] += weight
    return found


def delta(one, other, ratio):
    """The smallest delta at epsilon = ln(ratio) of two distributions, in one direction."""
    return sum(max(Fraction(0), mass - ratio * other[outcome]) for outcome, mass in one.items())


def both(rounds):
    """The distributions of several independent rounds."""
    found = {(): Fraction(1)}
    for each in rounds:
        found = {(*seen, tally): mass * more for seen, mass in found.items() for tally, more in each.items()}
    return Counter(found)


@pytest.mark.slow
@pytest.mark.parametrize("ratio", [Fraction(1), Fraction(3, 2), Fraction(3), Fraction(8), Fraction(20)])
def test_two_rounds_of_a_tiny_protocol(ratio):
    """Every change of one person's two answers: never below the truth, and within 1 % of the worst change."""
    series, bins, worst = tiny(), 3, Fraction(0)
    first, second = (0, 1), (0, 2)
    for a, b in product(range(bins), repeat=2):  # the person's answers instead, in each of the rounds
        one = both([tallies([first[0], first[1]], bins), tallies([second[0], second[1]], bins)])
        other = both([tallies([a, first[1]], bins), tallies([b, second[1]], bins)])
        worst = max(worst, delta(one, other, ratio), delta(other, one, ratio))
    computed = series.delta_of(2, math.log(ratio))
    assert float(worst) * (1 - 1e-9) <= computed <= float(worst) * 1.01 + 1e-12
    assert series.delta_of(1, math.log(ratio)) < computed


@pytest.mark.slow
def test_52_rounds_match_dp_accounting():
    pytest.importorskip("dp_accounting")
    series = small_series(rounds=52, users=10**6).series
    together = series.protocol.privacy.pld(value_discretization_interval=1e-4).self_compose(52)
    for epsilon in (0.5, 1.0, 1.25):  # that library rounds every loss up by half a step on average, 104 times
        ours, theirs = series.delta_of(52, epsilon), together.get_delta_for_epsilon(epsilon)
        assert 0.99 * ours <= theirs
        assert ours >= 0.99 * together.get_delta_for_epsilon(epsilon + 104 * 1e-4)


def test_sampling_again_counts_in_every_round():
    """A small limit on messages makes people sample again; the factor counts once for each round."""
    series = small_series().series
    plain = json.loads(series.canonical)
    rarely = series_of(json.dumps(plain | {"most_messages": series.most_messages + 5}).encode())
    often = series_of(json.dumps(plain | {"most_messages": series.most_messages - 8}).encode())
    never = series_of(json.dumps(plain | {"most_messages": 1}).encode())
    assert never.delta_of(4, 1.0) == 1.0
    ratio = often.delta_of(4, 1.0) / rarely.delta_of(4, 1.0)
    once = often.delta_of(1, 1.0) / rarely.delta_of(1, 1.0)
    assert once > 1 + 1e-9
    assert ratio == pytest.approx(once**4, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [2, 4, 12])
def test_fewer_rounds_need_less_noise(rounds):
    made = small_series(rounds=rounds, users=5000).series
    more = small_series(rounds=2 * rounds, users=5000).series
    assert made.protocol.noise.rate < more.protocol.noise.rate
    assert made.check().total.reached <= 1e-6


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"rounds": 1}, "rounds must be at least 2"),
        ({"rounds": 0}, "rounds must be at least 2"),
        ({"rounds": 1.5}, "rounds must be a whole number"),
        ({"rounds": 10**6}, "rounds must be from 2 to 4096"),
        ({"period": 0}, "period must be at least 1"),
        ({"period": 10**10}, "period must be at most"),
        ({"epsilon": 0}, "epsilon must be above 0"),
        ({"shufflers": []}, "servers must be given"),
        ({"servers": "one"}, "must not be given together"),
        ({"protocol": "laplace"}, "protocol must be one of"),
        ({"protocol": "dummy", "users": 20}, "for one of 4 rounds, users=20 is too few"),
    ],
)
def test_wrong_parameters_of_new_series(changes, reason):
    series = small_series().series
    servers = series.servers[0]
    asked = {
        "question": "Which?",
        "answers": series.answers,
        "users": 200,
        "epsilon": 1,
        "delta": 1e-6,
        "rounds": 4,
        "period": WEEK,
        "shufflers": servers.shufflers,
        "analyzer": servers.analyzer,
        "opens": FIRST,
        "protocol": "dummy-poisson",
    }
    if changes.get("servers"):
        changes = {"servers": [servers]}
    with pytest.raises(ParameterError, match=reason):
        new_series(**{**asked, **changes})

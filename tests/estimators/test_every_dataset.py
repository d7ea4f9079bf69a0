"""Intervals hold for every dataset: all outcomes of all datasets of a few people, one by one, without any sampling."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

from shuffledp.estimators import levels
from shuffledp.estimators.counts import ThresholdedCounts, TruncatedCounts
from shuffledp.estimators.pairs import PairedCounts
from shuffledp.histogram.tally import Tally
from shuffledp.noise import Binomial, CompoundPoisson
from shuffledp.noise.discrete_laplace import DiscreteLaplace

PEOPLE = 9
BETAS = (0.05, 0.5, 0.9)
MANY = 2**64
ROUNDING = 1e-12
"""Of a sum of some thousand probabilities."""


@dataclass(frozen=True, eq=False)
class Case:
    """An estimator, the noise of one bin with its probabilities, and the counts that a bin shows with it."""

    estimator: Any
    occupied: int
    noise: list[tuple[Any, float]]
    shows: Callable[[int, Any], tuple[int, ...]]


def values_of(distribution, *, mass):
    """The values of a distribution with their probabilities, except for those that are rarer than a given mass."""
    window = distribution.window
    listed = zip(range(window.first, window.last + 1), window.pmf.tolist(), strict=True)
    return [(value, probability) for value, probability in listed if probability > mass]


BINOMIAL = Binomial(trials=PEOPLE, probability=0.25)
LAPLACE = DiscreteLaplace(decay=0.5)
PAIRS = CompoundPoisson(rate=1.0, size_weights=(2**40,))
LONE = CompoundPoisson(rate=2.0, size_weights=(2**39, 2**39))

CASES = {
    "missing messages": Case(
        TruncatedCounts(noise=BINOMIAL, people=PEOPLE),
        3,
        values_of(BINOMIAL, mass=1e-4),
        lambda count, missing: (PEOPLE + count - missing,),
    ),
    "threshold": Case(
        ThresholdedCounts(noise=LAPLACE, people=PEOPLE, threshold=3),
        3,
        values_of(LAPLACE, mass=3e-3),
        lambda count, noise: (count + noise,),
    ),
    "pairs": Case(
        PairedCounts(pairs=PAIRS, lone=LONE, people=PEOPLE),
        2,
        [
            ((pairs, lone), chance * other)
            for pairs, chance in values_of(PAIRS, mass=1e-2)
            for lone, other in values_of(LONE, mass=5e-3)
        ],
        lambda count, noise: (count + noise[0], sum(noise)),
    ),
}


def datasets(people, occupied):
    """All ways to divide people over at most this number of bins, largest first."""
    if occupied == 1 or people == 1:
        return [(people,)]
    smaller = [(largest, *rest) for largest in range(1, people) for rest in datasets(people - largest, occupied - 1)]
    return [(people,), *(counts for counts in smaller if list(counts) == sorted(counts, reverse=True))]


def tally_of(rows, kinds):
    counts = np.array(rows, dtype=np.int64).reshape(len(rows), kinds)
    return Tally(np.arange(len(rows)), counts if kinds > 1 else counts[:, 0], complete=False)


def reader(case, beta):
    """The simultaneous intervals of bins that show given counts, cached by their statistic."""
    kinds = len(case.shows(1, case.noise[0][0]))

    @cache
    def of_statistic(rows):
        read = case.estimator.intervals(tally_of(rows, kinds), beta=beta, bins=MANY)
        return read.low.tolist(), read.high.tolist(), read.unreported_high

    @cache
    def of_bins(rows):
        kept = case.estimator.statistic(tally_of(rows, kinds)).symbols.tolist()
        low, high, hidden = of_statistic(tuple(rows[at] for at in kept))
        shown = dict(zip(kept, zip(low, high, strict=True), strict=True))
        return [shown.get(at, (0, hidden)) for at in range(len(rows))]

    return of_bins


def missed(case, counts, read):
    """How likely some true count is outside of its interval; rare outcomes that are not listed count as covered."""
    total = 0.0
    for outcome in product(case.noise, repeat=len(counts)):
        rows = tuple(case.shows(count, noise) for count, (noise, _) in zip(counts, outcome, strict=True))
        intervals = read(rows)
        if not all(low <= count <= high for count, (low, high) in zip(counts, intervals, strict=True)):
            total += float(np.prod([probability for _, probability in outcome]))
    return total


def worst(case, beta):
    """The dataset that is missed most often."""
    read = reader(case, beta)
    return max(missed(case, counts, read) for counts in datasets(PEOPLE, case.occupied))


@pytest.mark.slow
@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("name", CASES)
def test_all_intervals_hold_at_once_for_every_dataset(name, beta):
    """None of them is missed more often than it may be, and some are missed: the bounds are not empty words."""
    assert 0 < worst(CASES[name], beta) <= beta + ROUNDING


def narrower(case):
    """The same estimator, with intervals that lose a person at either end."""

    class Narrower:
        statistic = staticmethod(case.estimator.statistic)

        @staticmethod
        def intervals(statistic, **options):
            read = case.estimator.intervals(statistic, **options)
            return replace(read, low=read.low + 1, high=read.high - 1, unreported_high=read.unreported_high - 1)

    return replace(case, estimator=Narrower)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_one_person_less_at_either_end_is_noticed(name):
    assert worst(narrower(CASES[name]), 0.5) > 0.5


@pytest.mark.slow
def test_more_bins_than_the_risk_allows_are_noticed(monkeypatch):
    case = CASES["missing messages"]
    monkeypatch.setattr(levels, "_bins_allowed", lambda risk, beta: 3 * beta / max(risk, 1e-30))
    assert worst(case, 0.5) > 0.5

"""Noise that is chosen by results: it can tell more than any choice by itself, and the bound by moments covers it."""

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shuffledp import BinarySum, Histogram
from shuffledp.accounting.bounds import PureCurve, StatedCurve
from shuffledp.accounting.composition import MomentBound, composed
from shuffledp.accounting.curve import REPLACE_ONE, PrivacyCurve
from tests.oracles.documents import document
from tests.oracles.pairs import best_tree, numbers

HALF = Fraction(1, 2)


def response(x):
    """Binary randomized response with likelihood ratio x, in either direction."""
    pair = [(x / (1 + x), 1 / (1 + x)), (1 / (1 + x), x / (1 + x))]
    return [pair, [(q, p) for p, q in pair]]


def reveal(share):
    """Everything is revealed with some probability, and nothing otherwise."""
    return [[(share, Fraction(0)), (Fraction(0), share), (1 - share, 1 - share)]]


def test_noise_that_is_chosen_by_results_can_tell_more_than_either_choice():
    """The figures of docs/proofs/exact-privacy.md; the compositions of either choice are below the tree's."""
    first, small, large = response(Fraction(2)), response(Fraction(3)), reveal(Fraction(1, 3))
    branches = [best_tree([first, second], ratio=2) for second in (small, large)]
    tree = best_tree([first, small + large], ratio=2)
    assert branches == [Fraction(1, 3), Fraction(1, 3)]
    assert tree == Fraction(4, 9)
    page = document("exact-privacy.md")
    assert all(f"{float(value):.4f}" in page for value in (*branches, tree))
    curves = [PureCurve(pure_epsilon=math.log(x)) for x in (2, 3)]
    revealing = StatedCurve(stated_epsilon=0.0, stated_delta=1 / 3)
    ways = [composed(curves), composed([curves[0], revealing])]
    assert all(way.delta(math.log(2)) == pytest.approx(1 / 3, rel=0.01) for way in ways)
    bound = MomentBound(epsilon=math.log(2), delta=0.4)
    assert max(map(bound.reached, ways)) >= tree


CHOICES = st.lists(
    st.one_of(
        st.tuples(st.just(response), st.integers(2, 9).map(lambda x: Fraction(x, 2) + HALF)),
        st.tuples(st.just(reveal), st.integers(1, 9).map(lambda x: Fraction(x, 40))),
    ),
    min_size=1,
    max_size=3,
)


def curve_of(kind, parameter):
    if kind is response:
        return PureCurve(pure_epsilon=math.log(parameter))
    return StatedCurve(stated_epsilon=0.0, stated_delta=float(parameter))


REVEALING_WHERE_LITTLE_IS_KNOWN = [
    [(response, Fraction(3, 2))],
    [(response, Fraction(7, 2)), (reveal, Fraction(1, 20))],
]
"""Each way by itself stays below 0.125, by moments and what is revealed added up; together they reach 0.131."""


@settings(max_examples=30)
@example(REVEALING_WHERE_LITTLE_IS_KNOWN, Fraction(4))
@given(st.lists(CHOICES, min_size=2, max_size=3), st.sampled_from([Fraction(3, 2), Fraction(4)]))
def test_no_choice_by_results_beats_the_bound(choices, ratio):
    """Every tree of releases, each chosen among several by the earlier results, against the worst of its ways."""
    tree = best_tree([[pair for kind, x in options for pair in kind(x)] for options in choices], ratio=ratio)
    bound = MomentBound(epsilon=math.log(ratio), delta=0.05)
    ways = (composed([curve_of(*choice) for choice in way]) for way in product(*choices))
    assert max(bound.reached(way) for way in ways) >= tree


def test_the_bound_is_above_the_composition_and_not_far():
    """About a fifth fewer releases fit; the order depends on the limit alone."""
    one = Histogram.calibrate(users=10**5, bins=3, epsilon=1, delta=1e-6).privacy
    other = BinarySum.calibrate(users=10**4, epsilon=0.5, delta=1e-7).privacy
    bound = MomentBound(epsilon=3, delta=1e-5)
    for curves in ([one] * 10, [one] * 4 + [other] * 6, [StatedCurve(stated_epsilon=0.4, stated_delta=1e-7)] * 9):
        total = composed(curves)
        assert total.delta(3.0) < bound.reached(total) < 100 * total.delta(3.0) + 1e-5
    assert composed([one] * 10).delta(3.0) <= 1e-5 < composed([one] * 11).delta(3.0)
    assert bound.reached(composed([one] * 8)) <= 1e-5
    assert bound.reached(composed([])) == 0.0


def test_the_moment_is_that_of_its_definition_for_shifts_and_for_numbers():
    pairs = response(Fraction(3))
    bound = MomentBound(epsilon=1, delta=1e-3)
    pure = composed([PureCurve(pure_epsilon=math.log(3))])
    a = bound.order
    moment = 0.75 * 3 ** (a - 1) + 0.25 * 3.0 ** (1 - a)
    tail = (1 - 1 / a) ** (a - 1) / a * math.exp(-(a - 1)) * moment
    assert bound.reached(pure) == pytest.approx(2 * tail, rel=1e-6)  # half of a delta is for what is revealed
    assert numbers(pairs, Fraction(math.e)) <= tail
    revealing = composed([StatedCurve(stated_epsilon=0.0, stated_delta=0.01)] * 3)
    assert bound.reached(revealing) == pytest.approx(2 * 0.03, rel=1e-6)
    shifts = Histogram.calibrate(users=1000, bins=3, epsilon=1, delta=1e-4).privacy
    known = bound.reached(composed([shifts] * 2))
    assert known == pytest.approx(bound.reached(composed([Hidden(shifts)] * 2)), rel=0.02)


@dataclass(frozen=True)
class Hidden:
    """A curve of which only the numbers are known."""

    curve: PrivacyCurve
    neighbours: str = REPLACE_ONE
    exact = False

    def delta(self, epsilon):
        return self.curve.delta(epsilon)


def test_the_numbers_of_releases_that_fit_are_those_of_the_page():
    """docs/proofs/exact-privacy.md says how many fewer fit than by composition."""
    bound, page = MomentBound(epsilon=3, delta=1e-5), " ".join(document("exact-privacy.md").split())
    for epsilon, delta, by_moments, by_composition in ((1, 1e-6, 8, 10), (0.5, 1e-7, 35, 43)):
        curve = Histogram.calibrate(users=10**5, bins=3, epsilon=epsilon, delta=delta).privacy
        for number, reached in ((by_moments, bound.reached), (by_composition, lambda total: total.delta(3.0))):
            assert reached(composed([curve] * number)) <= 1e-5 < reached(composed([curve] * (number + 1)))
        assert re.search(rf"{by_moments} instead of {by_composition} (histograms )?of \({epsilon:g}, ", page)

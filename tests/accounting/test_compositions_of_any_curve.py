"""Compositions of curves of any kind: against shifts, all decision trees in fractions, formulas and dp_accounting."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp import BinarySum, Histogram, SparseHistogram
from shuffledp.accounting.amplification import Amplification
from shuffledp.accounting.blanket_curve import BlanketCurve
from shuffledp.accounting.bounds import PureCurve, SplitAndMixCurve, StatedCurve
from shuffledp.accounting.composition import composed, connected
from shuffledp.accounting.curve import REPLACE_ONE
from shuffledp.accounting.support_curves import SupportCurve
from shuffledp.accounting.threshold_curve import ThresholdCurve
from shuffledp.errors import ParameterError
from shuffledp.noise import Binomial
from shuffledp.noise.discrete_laplace import DiscreteLaplace
from tests.oracles.exact import distribution_table
from tests.oracles.pairs import best_tree, numbers, shifted_pairs, threshold_pairs

HISTOGRAM = Histogram.calibrate(users=10_000, bins=3, epsilon=1, delta=1e-6).privacy
SUM = BinarySum.calibrate(users=10_000, epsilon=0.5, delta=1e-7).privacy
KINDS = [
    HISTOGRAM,
    SUM,
    PureCurve(pure_epsilon=0.7),
    StatedCurve(stated_epsilon=0.7, stated_delta=1e-7),
    BlanketCurve(users=40, flip_probability=0.25, shifts=2),
    Amplification(local_epsilon=1.5, users=400),
    SupportCurve(noise_messages=400, elements=2),
    SplitAndMixCurve(noise=SUM, security_bits=40),
    ThresholdCurve(noise=DiscreteLaplace(decay=0.75), threshold=50),
]


@dataclass(frozen=True)
class Numbers:
    """A curve that hides what it is made of: only its numbers are known. Steps make it worse than convex."""

    of: object
    steps: float = 0.0
    neighbours: str = REPLACE_ONE
    exact = False

    def delta(self, epsilon):
        at = epsilon if not self.steps else math.floor(epsilon / self.steps) * self.steps
        return self.of.delta(at)

    def epsilon(self, delta):
        return self.of.epsilon(delta)


@dataclass(frozen=True)
class Enumerated:
    """The exact numbers of a release that is listed as pairs of distributions, rounded up."""

    pairs: tuple
    neighbours: str = REPLACE_ONE
    exact = True

    def delta(self, epsilon):
        return math.nextafter(float(numbers(self.pairs, Fraction(math.exp(epsilon)) * Fraction(1 - 2**-50))), 1)


def enumerated(pairs):
    return Enumerated(tuple(tuple(pair) for pair in pairs))


def test_nothing_tells_nothing():
    nothing = composed([])
    assert (nothing.delta(0.0), nothing.epsilon(1e-6), nothing.exact, nothing.releases) == (0.0, 0.0, True, 0)


@pytest.mark.parametrize("curve", KINDS, ids=lambda curve: type(curve).__name__)
def test_a_curve_with_nothing_else_is_itself(curve):
    alone = composed([curve])
    assert alone.exact == curve.exact
    assert alone.neighbours == curve.neighbours
    for epsilon in (0.0, 0.3, 1.1):
        assert alone.delta(epsilon) == curve.delta(epsilon)
    assert alone.epsilon(1e-4) == pytest.approx(curve.epsilon(1e-4), rel=1e-6)


def test_curves_of_shifts_are_composed_as_before():
    ours, known = composed([HISTOGRAM, SUM, HISTOGRAM]), HISTOGRAM.times(2).compose(SUM)
    assert not ours.exact
    for epsilon in (0.0, 0.5, 2.0):
        assert ours.delta(epsilon) == known.delta(epsilon)


@pytest.mark.parametrize("curve", KINDS, ids=lambda curve: type(curve).__name__)
def test_k_fold_equals_k_single_compositions(curve):
    at_once = composed([curve] * 4)
    one_by_one = composed([composed([composed([curve]), composed([curve])]), curve, curve])
    assert at_once == one_by_one
    assert at_once.releases == 4
    assert at_once.delta(1.5) == one_by_one.delta(1.5)
    assert at_once.delta(1.5) > composed([curve] * 3).delta(1.5) > curve.delta(1.5) or curve.delta(0.0) == 0


def test_the_order_does_not_matter_and_more_is_never_less():
    curves = [*KINDS, KINDS[2]]
    forwards, backwards = composed(curves), composed(curves[::-1])
    assert forwards == backwards
    epsilons = np.linspace(0, 9, 40)
    deltas = [forwards.delta(epsilon) for epsilon in epsilons]
    assert deltas == sorted(deltas, reverse=True)
    for left_out in range(len(curves)):
        fewer = composed(curves[:left_out] + curves[left_out + 1 :])
        assert all(fewer.delta(epsilon) <= forwards.delta(epsilon) for epsilon in (0.5, 2.0, 4.0))


@pytest.mark.slow
@pytest.mark.parametrize("curve", KINDS, ids=lambda curve: type(curve).__name__)
def test_the_pair_tells_no_less_than_the_curve(curve):
    """At every epsilon, also below 0, where the curve says what it does with the datasets exchanged; and hardly more.

    Between dots a bound that is not convex may be above the pair, which is then the better one; none here is by 1e-4.
    """
    pair = connected(curve, 1e-25)
    assert pair.masses.sum() + pair.infinity == pytest.approx(1, abs=1e-9)
    assert (pair.masses >= 0).all()
    for epsilon in np.linspace(0.0, 1.5 * pair.losses[-1], 173):
        known = curve.delta(float(epsilon))
        assert float(pair.delta(epsilon)) >= known * (1 - 1e-4) or isinstance(curve, SplitAndMixCurve)
        below = 1 - math.exp(-epsilon) * (1 - known)
        assert float(pair.delta(-epsilon)) >= below * (1 - 1e-4) - 1e-12
    for epsilon in pair.losses[pair.losses >= 0]:
        assert float(pair.delta(epsilon)) == pytest.approx(curve.delta(float(epsilon)), rel=0.05, abs=1e-20)


@pytest.mark.parametrize("curve", KINDS, ids=lambda curve: type(curve).__name__)
def test_both_directions_of_the_pair_are_the_same(curve):
    """The mass of Q at a loss is that of P at the opposite one."""
    pair = connected(curve, 1e-25)
    for loss in pair.losses[pair.losses > 0][::16]:
        above = pair.masses[pair.losses >= loss - 1e-9].sum() + pair.infinity
        mirrored = (pair.masses * np.exp(-pair.losses))[pair.losses <= -loss + 1e-9].sum()
        assert 1 - (pair.masses * np.exp(-pair.losses)).sum() + mirrored == pytest.approx(above, rel=1e-6, abs=1e-12)


TRIALS = [(4, 30 / 64, 2), (3, 0.25, 2), (5, 0.5, 2), (4, 30 / 64, 3)]


@pytest.mark.parametrize(("trials", "gamma", "releases"), TRIALS)
@pytest.mark.parametrize("ratio", [Fraction(11, 10), Fraction(2), Fraction(73, 16)])
def test_counts_known_by_their_numbers_bound_every_decision_tree(trials, gamma, releases, ratio):
    pairs = shifted_pairs(distribution_table(Binomial(trials=trials, probability=gamma)))
    truth = best_tree([pairs] * releases, ratio=ratio)
    total = composed([enumerated(pairs)] * releases).delta(math.log(ratio))
    assert Fraction(total) >= truth
    assert total == pytest.approx(float(truth), rel=0.06)


@pytest.mark.parametrize("ratio", [Fraction(11, 10), Fraction(2), Fraction(9)])
@pytest.mark.parametrize("values", [1, 2])
def test_thresholds_and_counts_bound_every_decision_tree(ratio, values):
    """Neighbours of several kinds, chosen result by result, and another release with other noise."""
    noise, other = DiscreteLaplace(decay=0.5), Binomial(trials=4, probability=0.25)
    thresholded = ThresholdCurve(noise=noise, threshold=4, values=values)
    pairs = threshold_pairs(Fraction(1, 2), 4, values=values)
    for epsilon in (0.1, 1.0):
        assert thresholded.delta(epsilon) == pytest.approx(float(numbers(pairs, Fraction(math.exp(epsilon)))), rel=1e-9)
    counts = shifted_pairs(distribution_table(other))
    truth = max(best_tree(order, ratio=ratio) for order in ([pairs, pairs, counts], [counts, pairs, pairs]))
    sums = BinarySum(users=4, missing_probability=0.25).privacy
    total = composed([thresholded, sums, thresholded]).delta(math.log(ratio))
    assert Fraction(total) >= truth
    assert total == pytest.approx(float(truth), rel=0.25)


@pytest.mark.slow
@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=2, max_size=4),
    st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9)), min_size=2, max_size=4).filter(lambda pair: pair[0][0]),
    st.sampled_from([Fraction(1), Fraction(5, 4), Fraction(2), Fraction(7)]),
)
def test_any_two_releases_are_bounded(first, second, ratio):
    """Random pairs of distributions with their datasets in either order, also with outcomes that reveal everything."""
    releases = []
    for weights in (first, second):
        p, q = (Fraction(sum(column)) for column in zip(*weights, strict=True))
        pair = [(Fraction(a) / p, Fraction(b) / q) for a, b in weights]
        releases.append([pair, [(b, a) for a, b in pair]])
    total = composed([enumerated(pairs) for pairs in releases])
    truth = max(best_tree(order, ratio=ratio) for order in (releases, releases[::-1]))
    assert Fraction(total.delta(math.log(ratio))) >= truth


def test_a_coarse_curve_is_composed_finely():
    """A curve may be coarse where its own guarantee does not need more: one release never counts for more than two."""
    curve = SparseHistogram.calibrate(users=1000, bins=50, epsilon=1, delta=1e-6).privacy
    for epsilon in (1.0, 2.0, 4.0):
        assert composed([curve]).delta(epsilon) <= curve.delta(epsilon)
        assert composed([curve]).delta(epsilon) < composed([curve] * 2).delta(epsilon) <= curve.times(2).delta(epsilon)


def test_bounds_that_are_not_convex_are_only_bounds():
    """A staircase above the truth is composed to something above the truth, and a coarse one to more."""
    truth = HISTOGRAM.times(4)
    fine, coarse = (composed([Numbers(HISTOGRAM, steps)] * 4) for steps in (0.01, 0.2))
    for epsilon in (0.5, 1.5, 2.5):
        assert truth.delta(epsilon) <= fine.delta(epsilon) <= coarse.delta(epsilon)


@pytest.mark.parametrize(("epsilon", "delta", "releases"), [(1, 1e-6, 4), (0.1, 1e-8, 50), (3, 1e-6, 2)])
def test_numbers_alone_cost_little(epsilon, delta, releases):
    shifts = Histogram.calibrate(users=10**5, bins=3, epsilon=epsilon, delta=delta).privacy
    known = shifts.times(releases)
    ours = composed([Numbers(shifts)] * releases)
    mixed = composed([Numbers(shifts)] * (releases - 1) + [shifts])
    for total in (1e-5, 4 * releases * delta):
        assert known.epsilon(total) <= mixed.epsilon(total) <= ours.epsilon(total) * (1 + 1e-6)
        assert ours.epsilon(total) <= known.epsilon(total) * 1.004


def worst_total(epsilon0, delta0, releases, ratio):
    """Theorem 3.3 of Kairouz, Oh and Viswanath, with e^epsilon0 as a fraction."""
    k, x = releases, Fraction(epsilon0)
    terms = (math.comb(k, heads) * max(Fraction(0), x ** (k - heads) - ratio * x**heads) for heads in range(k + 1))
    return 1 - (1 - Fraction(delta0)) ** k * (1 - sum(terms) / (1 + x) ** k)


@pytest.mark.parametrize("delta0", [Fraction(0), Fraction(1, 10**6), Fraction(1, 20)])
@pytest.mark.parametrize(("releases", "ratio"), [(2, Fraction(3, 2)), (5, Fraction(3)), (30, Fraction(20))])
def test_stated_guarantees_compose_as_the_worst_releases(delta0, releases, ratio):
    x = Fraction(5, 4)
    curve = StatedCurve(stated_epsilon=math.log(x), stated_delta=float(delta0))
    truth = float(worst_total(x, delta0, releases, ratio))
    total = composed([curve] * releases).delta(math.log(ratio))
    assert truth * (1 - 1e-12) <= total <= truth * 1.01 + 1e-12


@pytest.mark.parametrize(("epsilon0", "delta0"), [(0.5, 1e-6), (0.0, 0.1), (3.0, 0.0), (45.0, 1e-9)])
def test_a_stated_guarantee_is_its_own_point(epsilon0, delta0):
    curve = StatedCurve(stated_epsilon=epsilon0, stated_delta=delta0)
    assert curve.delta(epsilon0) == curve.delta(epsilon0 + 1) == delta0
    assert curve.epsilon(delta0) == epsilon0
    assert curve.epsilon(delta0 / 2) == (math.inf if delta0 else epsilon0)
    assert not curve.exact
    if epsilon0:
        assert curve.delta(epsilon0 / 2) > delta0
        assert curve.epsilon(curve.delta(epsilon0 / 2)) == pytest.approx(epsilon0 / 2, rel=1e-6)


def test_a_pure_curve_is_a_stated_one_without_delta():
    for epsilon in (0.0, 0.3, 0.69, 2.0):
        stated = StatedCurve(stated_epsilon=0.7, stated_delta=0.0)
        assert stated.delta(epsilon) == PureCurve(pure_epsilon=0.7).delta(epsilon)


@pytest.mark.slow
def test_large_compositions_match_dp_accounting():
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as library

    theirs = HISTOGRAM.pld().self_compose(3)
    stated, pure = (0.2, 1e-8), 0.15
    for (epsilon, delta), times in ((stated, 12), ((pure, 0.0), 20)):
        worst = library.from_privacy_parameters(common.DifferentialPrivacyParameters(epsilon, delta))
        theirs = theirs.compose(worst.self_compose(times))
    curves = [StatedCurve(stated_epsilon=stated[0], stated_delta=stated[1])] * 12 + [PureCurve(pure_epsilon=pure)] * 20
    ours = composed([*curves, *[HISTOGRAM] * 3])
    for delta in (1e-4, 1e-6):
        assert ours.epsilon(delta) == pytest.approx(theirs.get_epsilon_for_delta(delta), rel=4e-3)


def test_curves_for_other_neighbours_are_refused():
    with pytest.raises(ParameterError, match="different neighbouring relations"):
        composed([SUM, PureCurve(pure_epsilon=1, neighbours="one person more or less")])
    with pytest.raises(ParameterError, match="must not be negative"):
        composed([SUM, PureCurve(pure_epsilon=1)]).delta(-0.1)
    for wrong, name in (((-1, 0.1), "stated_epsilon"), ((1, 1.0), "stated_delta"), ((1, -1e-9), "stated_delta")):
        with pytest.raises(ParameterError, match=name):
            StatedCurve(stated_epsilon=wrong[0], stated_delta=wrong[1])

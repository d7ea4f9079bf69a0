"""The total of many releases: against all outcomes in fractions, dp_accounting, and its own parts."""

import json
import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scripts.budget_vectors import computed

from shuffledp import BinarySum, Histogram
from shuffledp.accounting.bounds import PureCurve
from shuffledp.accounting.composition import Composition, composed
from shuffledp.accounting.curve import moved_bins
from shuffledp.accounting.loss import GridLoss, Term, total_loss
from shuffledp.accounting.rounding import PRIVACY_LOSS
from shuffledp.accounting.support_curves import HashedCurve
from shuffledp.noise import Binomial
from shuffledp.noise.compound_poisson import poisson
from shuffledp.protocols.catalogue import named
from shuffledp.protocols.target import Target
from tests.collect.test_vectors import FOLDER
from tests.oracles.exact import distribution_table, exact_exp
from tests.oracles.pairs import shifted_pairs

EPSILONS = (0.0, 0.1, 0.7, 1.5, 4.0)
ABSOLUTE = 1e-22
"""The mass that shortening gives up, all steps together."""


@pytest.mark.slow
@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=9),
    st.integers(-6, 6),
    st.sampled_from([2.0**-9, 2.0**-3, 1.0]),
)
def test_coarsening_keeps_both_masses_and_never_lowers_delta(masses, first, step):
    fine = GridLoss(step, first, np.array(masses), 0.125, 0.0)
    coarse = fine.coarsened
    assert coarse.step == 2 * step
    assert coarse.infinity == fine.infinity
    losses = [loss.step * np.arange(loss.first, loss.first + loss.masses.size) for loss in (fine, coarse)]
    assert coarse.masses.sum() == pytest.approx(fine.masses.sum(), rel=1e-12)
    under_q = [float(loss.masses @ np.exp(-at)) for loss, at in zip((fine, coarse), losses, strict=True)]
    assert under_q[1] == pytest.approx(under_q[0], rel=1e-11)
    for epsilon in np.linspace(losses[0][0] - step, losses[0][-1] + step, 23):
        assert float(coarse.loss.delta(epsilon)) >= float(fine.loss.delta(epsilon)) * (1 - 1e-11)


def test_coarsening_splits_a_point_between_its_neighbours():
    """The one point at step has the shares of the definition: p and q are kept at 0 and at 2 step."""
    coarse = GridLoss(0.5, 1, np.ones(1), 0.0, 0.0).coarsened
    below, above = coarse.masses
    assert coarse.first == 0
    assert below + above == pytest.approx(1, rel=1e-15)
    assert below + above * math.exp(-1) == pytest.approx(math.exp(-0.5), rel=1e-11)


def exact_delta(noises, epsilon):
    """The exact delta of moved bins, over all outcomes in fractions: one bin up and one down for each of the noises."""
    ratios = {Fraction(1): Fraction(1)}  # Q / P of an outcome, and the probability P of all outcomes with it
    for noise in noises:
        for pair in shifted_pairs(distribution_table(noise)):
            longer = {}
            for ratio, mass in ratios.items():
                for p, q in pair:
                    if p:
                        longer[ratio * q / p] = longer.get(ratio * q / p, Fraction(0)) + mass * p
            ratios = longer
    bound = exact_exp(epsilon)
    return sum(mass * max(Fraction(0), 1 - bound * ratio) for ratio, mass in ratios.items())


SMALL = [
    Binomial(trials=4, probability=0.25),
    Binomial(trials=3, probability=0.5),
    Binomial(trials=5, probability=30 / 64),
    Binomial(trials=2, probability=0.375),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    "noises", [*combinations(SMALL, 2), *combinations(SMALL, 3), SMALL[:3] + SMALL[:1], SMALL[:2] * 2]
)
def test_totals_are_never_below_all_outcomes_in_fractions(noises):
    total = composed([moved_bins(noise) for noise in noises])
    for epsilon in EPSILONS:
        truth = exact_delta(noises, epsilon)
        assert truth <= Fraction(total.delta(epsilon)) <= truth * Fraction(101, 100)


def protocol(name, epsilon, delta=1e-8, *, users=10**6, values=1):
    target = Target(
        users=users,
        bins=40,
        epsilon=epsilon,
        delta=delta,
        honest_users=users,
        values_per_person=values,
        padding_bins=0,
    )
    return named(name).make(target)


def accounted(curves, *, step, pessimistic):
    """The same releases with dp_accounting, whose optimistic estimates are below the truth."""
    from dp_accounting.pld import privacy_loss_distribution as library

    total = None
    for curve, times in curves:
        ((release, _),) = curve.releases
        for shift, count in release.shifts:
            window = shift.distribution.window
            likely = window.log_pmf > -75  # less is far below every delta, and underflows in that library
            log_upper = {window.first + int(i): float(window.log_pmf[i]) for i in np.flatnonzero(likely)}
            log_lower = {k + shift.by: p for k, p in log_upper.items()}
            one = library.from_two_probability_mass_functions(
                log_lower, log_upper, pessimistic_estimate=pessimistic, value_discretization_interval=step
            ).self_compose(times * count)
            total = one if total is None else total.compose(one)
    return total


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parts", "step"),
    [
        ([("dummy-poisson", 0.12, 52)], 2e-5),
        ([("hist", 0.05, 365)], 4e-6),
        ([("dummy-poisson", 0.12, 52), ("hist", 0.3, 5), ("sparse", 0.4, 2)], 4e-5),
    ],
    ids=["52 rounds", "365 rounds", "mixed"],
)
def test_totals_match_dp_accounting(parts, step):
    """Between its optimistic and its pessimistic estimate, up to half a percent."""
    curves = [(protocol(name, epsilon).privacy, times) for name, epsilon, times in parts]
    ours = composed([curve for curve, times in curves for _ in range(times)])
    low, high = (accounted(curves, step=step, pessimistic=pessimistic) for pessimistic in (False, True))
    for delta in (1e-4, 1e-6):
        epsilon = ours.epsilon(delta)
        assert low.get_epsilon_for_delta(delta) <= epsilon <= high.get_epsilon_for_delta(delta) * 1.005
        assert epsilon <= low.get_epsilon_for_delta(delta) * 1.005


@pytest.mark.slow
def test_the_total_grows_with_the_number_of_releases():
    """One by one, also where the number of binary digits or the step of the grid changes."""
    curve = protocol("hist", 0.1).privacy
    for epsilon in (0.5, 1.0):
        deltas = [composed([curve] * number).delta(epsilon) for number in (*range(1, 40), 63, 64, 65, 127, 128, 129)]
        assert deltas == sorted(deltas)


@pytest.mark.parametrize("number", [2, 7, 20])
def test_k_fold_equals_k_single_terms(number):
    """Equal terms one by one are added in another order, so that the grids differ: by less than 1e-4 of epsilon."""
    ((release, _),) = protocol("hist", 0.3).privacy.releases
    term = release.term(1, cut=1e-25)
    at_once, one_by_one = (
        total_loss(terms) for terms in ([Term(term.losses, term.span, term.on_grid, number)], [term] * number)
    )
    for epsilon in (0.2, 0.5, 1.0):
        assert float(at_once.delta(epsilon)) == pytest.approx(float(one_by_one.delta(epsilon)), rel=1e-3, abs=ABSOLUTE)


@pytest.mark.slow
def test_no_mass_is_lost_in_a_long_total():
    curves = [protocol("hist", 0.1).privacy] * 300 + [protocol("sparse", 0.5).privacy] * 3
    pair = composed(curves).pair
    number = 2 * 300 + 4 * 3
    assert 1 <= pair.masses.sum() + pair.infinity <= 1 + 2 * number * PRIVACY_LOSS
    assert float((pair.masses * np.exp(-pair.losses)).sum()) == pytest.approx(1, rel=1e-9)


def test_a_total_has_few_points():
    curve = protocol("hist", 0.1).privacy
    for number in (2, 30, 365, 4000):
        assert 1000 < composed([curve] * number).pair.losses.size < 5000


def test_a_small_release_is_not_lost_beside_a_large_one():
    large, small = protocol("hist", 3.0).privacy, protocol("hist", 0.05).privacy
    for epsilon in (1.0, 2.0):
        alone, both = composed([large] * 2).delta(epsilon), composed([large] * 2 + [small] * 2).delta(epsilon)
        assert alone < both < alone * 1.01


def test_the_total_does_not_depend_on_the_order_of_parts():
    curves = [moved_bins(Binomial(trials=1000 + 37 * at, probability=0.25)) for at in range(9)]
    parts = [(curve, 1 + at % 3) for at, curve in enumerate(curves)]
    totals = [Composition(frozenset(order)) for order in (parts, parts[::-1])]
    assert totals[0].delta(1.0) == totals[1].delta(1.0)


def test_values_of_one_person_count_as_releases_of_one_value():
    noise = Binomial(trials=4000, probability=0.25)
    several, single = composed([moved_bins(noise, values=5)] * 4), composed([moved_bins(noise)] * 20)
    assert several.delta(0.5) == single.delta(0.5)


def test_values_of_one_person_share_noise_with_other_releases():
    """A noise distribution is counted in all releases that have it."""
    noise, other = Binomial(trials=4, probability=0.25), Binomial(trials=3, probability=0.5)
    total = composed([moved_bins(noise), moved_bins(noise, other)])
    for epsilon in EPSILONS:
        truth = exact_delta([noise, noise, other], epsilon)
        assert truth <= Fraction(total.delta(epsilon)) <= truth * Fraction(101, 100)


def test_hashed_values_compose_as_the_dummies_of_their_graphs():
    hashed, bins = HashedCurve(rate=90.0, values=8), moved_bins(poisson(90.0), values=8)
    assert composed([hashed] * 3).delta(2.0) == composed([bins] * 3).delta(2.0)
    assert not composed([hashed]).exact


def test_losses_of_one_size_are_composed_exactly():
    """Pure releases together are pure, with the sum of their epsilons."""
    total = composed([PureCurve(pure_epsilon=0.25)] * 6)
    assert total.delta(1.5) <= 1e-15
    assert total.delta(1.25) > 1e-4


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 12), st.integers(1, 32), st.integers(1, 3)), min_size=1, max_size=3))
def test_any_few_totals_bound_all_outcomes(chosen):
    noises = [Binomial(trials=trials % 4 + 1, probability=k / 64) for trials, k, times in chosen for _ in range(times)][
        :4
    ]
    total = composed([moved_bins(noise) for noise in noises])
    for epsilon in (0.0, 0.4, 2.0):
        assert min(Fraction(1), exact_delta(noises, epsilon)) <= Fraction(total.delta(epsilon))


def test_sums_and_histograms_together_stay_above_each():
    """Releases whose directions differ are added as pairs that are as bad as either direction."""
    sums = BinarySum.calibrate(users=10**4, epsilon=0.4, delta=1e-7).privacy
    counts = Histogram.calibrate(users=10**4, bins=3, epsilon=0.4, delta=1e-7).privacy
    both = composed([sums] * 3 + [counts] * 3)
    for epsilon in (0.5, 1.0):
        assert both.delta(epsilon) > max(composed([one] * 3).delta(epsilon) for one in (sums, counts))


@pytest.mark.slow
def test_the_vectors_are_what_this_package_computes():
    for vector in json.loads((FOLDER / "budgets.json").read_text(encoding="utf-8")):
        again = computed(vector)
        for field in ("delta_at", "epsilon_at"):
            assert again[field] == pytest.approx(vector[field], rel=1e-9, abs=1e-25), vector["name"]
        expected = vector["by_results"]["reached"]
        assert again["by_results"]["reached"] == pytest.approx(expected, rel=1e-9), vector["name"]

"""Amplification by shuffling against enumeration in exact fractions, and the bounds against each other."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from shuffledp.accounting import amplification
from shuffledp.accounting.amplification import (
    Amplification,
    blanket_epsilon,
    closed_form_epsilon,
    largest_local_epsilon,
    unavoidable_epsilon,
)
from shuffledp.errors import ParameterError
from shuffledp.noise.binomial import round_up_to_grid
from shuffledp.paper.finite_randomizer import exact_delta
from shuffledp.protocols import HadamardResponse, RandomizedResponse, UnaryEncoding
from tests.oracles.exact import exact_exp, shuffled_distribution, worst_delta
from tests.protocols.local.test_local import exact_distributions


def exact_tight_delta(epsilon, local_epsilon, users):
    """The tight bound as its definition says: both distributions of (A + D, C - A + 1 - D), summed outcome by
    outcome.
    """
    ratio, factor = exact_exp(local_epsilon), exact_exp(epsilon)
    copy, own = 2 / (ratio + 1), ratio / (ratio + 1)
    distributions = ({}, {})
    for c in range(users):
        weight = math.comb(users - 1, c) * copy**c * (1 - copy) ** (users - 1 - c)
        for a in range(c + 1):
            probability = weight * Fraction(math.comb(c, a), 2**c)
            for d, (distribution, flipped) in product((0, 1), zip(distributions, (False, True), strict=True)):
                first = a + (1 - d if flipped else d)
                outcome = (first, c + 1 - first)
                distribution[outcome] = distribution.get(outcome, 0) + probability * (own if d else 1 - own)
    outcomes = set(distributions[0]) | set(distributions[1])
    both = [
        sum(max(p.get(o, 0) - factor * q.get(o, 0), 0) for o in outcomes)
        for p, q in (distributions, distributions[::-1])
    ]
    assert float(both[0]) == pytest.approx(float(both[1]), rel=1e-9, abs=1e-40)
    return float(max(both))


def exact_thinned_delta(epsilon, local_epsilon, users, telling, covered):
    """The same where messages are telling with a probability only: C copies are known, and so how many of each kind."""
    ratio, factor = exact_exp(local_epsilon), exact_exp(epsilon)
    t, h = Fraction(telling), max(Fraction(covered), 1 / ratio)
    kind, plain, own = t / (ratio + 1), (1 - t) * h, ratio / (ratio + 1)
    rest = 1 - 2 * kind - plain
    distributions = ({}, {})
    for a, b, c in product(range(users), repeat=3):
        if a + b + c > users - 1:
            continue
        unknown = users - 1 - a - b - c
        ways = math.factorial(users - 1) // math.prod(map(math.factorial, (a, b, c, unknown)))
        probability = ways * kind ** (a + b) * plain**c * rest**unknown
        for distribution, first in zip(distributions, (own, 1 - own), strict=True):
            for outcome, chance in (
                ((a + 1, b, c), t * first),
                ((a, b + 1, c), t * (1 - first)),
                ((a, b, c + 1), 1 - t),
            ):
                distribution[outcome] = distribution.get(outcome, 0) + probability * chance
    return float(sum(max(p - factor * distributions[1].get(o, 0), 0) for o, p in distributions[0].items()))


@pytest.mark.slow
@given(
    st.integers(1, 7),
    st.floats(0.05, 6) | st.just(20.0),
    st.floats(0, 1),
    st.floats(0.01, 0.99),
    st.sampled_from([0.0, 0.5, 1.0]),
)
@example(users=5, local_epsilon=20.0, share=0.9375, telling=0.25, covered=1.0)
@example(users=4, local_epsilon=20.0, share=0.9375, telling=0.03125, covered=1.0)
@settings(max_examples=60)
def test_the_bound_for_messages_that_tell_little_is_its_definition(users, local_epsilon, share, telling, covered):
    epsilon = share * local_epsilon
    exact = exact_thinned_delta(epsilon, local_epsilon, users, telling, covered)
    bound = Amplification(local_epsilon=local_epsilon, users=users, telling=telling, covered=covered)
    low, high = bound.delta_of_bound(epsilon)
    for_any = Amplification(local_epsilon=local_epsilon, users=users).delta(epsilon)
    assert high >= min(exact, for_any) * (1 - 1e-9)
    # copies come with a probability on the grid, rounded down, also for `low`: a large share of a very small one, and
    # of the chance, at least `telling`, that a person sends no copy
    rounded = 1e-7 + users * 2.0**-51 / (telling**2 * 2 / (1 + math.exp(local_epsilon)))
    assert low <= exact * (1 + rounded) + 1e-14
    assert high == pytest.approx(min(exact, for_any), rel=rounded, abs=1e-12)


@pytest.mark.parametrize("users", [100, 150])
@pytest.mark.parametrize(("local_epsilon", "telling"), [(4.0, 0.3), (6.0, 0.02)])
def test_rare_messages_of_few_people_have_the_delta_of_the_formula(users, local_epsilon, telling):
    """A review found up to 3.65 times as much, where numbers of copies were taken together; summed here one by one."""
    epsilon = local_epsilon / 2
    e0, factor = math.exp(local_epsilon), math.exp(epsilon)
    kind, plain, own = telling / (e0 + 1), (1 - telling) / e0, e0 / (e0 + 1)
    total = 0.0
    for copies in range(users):
        chance = binom.pmf(copies, users - 1, 2 * kind + plain)
        if chance < 1e-18:
            continue
        likely = binom.pmf(np.arange(copies + 2), copies, 2 * kind / (2 * kind + plain))
        for number in range(1, copies + 2):
            coins, fewer = (np.append(binom.pmf(np.arange(number + 1), m, 0.5), 0) for m in (number, number - 1))
            with_own, without = telling * likely[number - 1], (1 - telling) * likely[number]
            like = np.append(0, fewer)[: number + 1], fewer[: number + 1]
            one, other = (
                with_own * (p * like[0] + (1 - p) * like[1]) + without * coins[: number + 1] for p in (own, 1 - own)
            )
            total += chance * np.maximum(one - factor * other, 0).sum()
    bound = Amplification(local_epsilon=local_epsilon, users=users, telling=telling).delta(epsilon)
    assert total * (1 - 1e-9) <= bound <= total * (1 + 1e-6)


def test_blocks_of_copies_err_on_the_safe_side(monkeypatch):
    """Fewer blocks never give a smaller delta, whether messages are telling always or rarely."""
    for fields in ({"users": 3000}, {"users": 3000, "telling": 0.3}):
        deltas = []
        for most in (4096, 64, 16):
            monkeypatch.setattr(amplification, "_MOST_BLOCKS", most)
            monkeypatch.setattr(amplification, "_THINNED_BLOCKS", (most, most))
            deltas.append(Amplification(local_epsilon=4.0, **fields).delta(0.5))
        assert deltas[0] < deltas[1] < deltas[2]


def spread(local_epsilon, epsilon, *, telling, covered):
    """The distribution of L of docs/proofs/comparison.md, "All randomizers", in fractions: {value: probability}."""
    p, factor = exact_exp(local_epsilon), exact_exp(epsilon)
    t, h = Fraction(telling), max(Fraction(covered), 1 / p)
    distribution = {p - factor: t / (p + 1), 1 - p * factor: t / (p + 1)}
    distribution[(1 - factor) / h] = distribution.get((1 - factor) / h, 0) + (1 - t) * h
    distribution[Fraction(0)] = distribution.get(Fraction(0), 0) + 1 - sum(distribution.values())
    return distribution


@pytest.mark.parametrize(("local_epsilon", "share"), [(0.1, 0.5), (1.0, 0.1), (1.0, 0.9), (4.0, 0.3), (8.0, 0.7)])
def test_telling_always_is_the_worst(local_epsilon, share):
    """The three steps of the proof: the formula is the bound, and the distributions are ordered, so that deltas are."""
    epsilon, users = share * local_epsilon, 4
    always, never = (spread(local_epsilon, epsilon, telling=t, covered=0) for t in (1, 0))
    assert sum(v * q for v, q in always.items()) == sum(v * q for v, q in never.items()) == 1 - exact_exp(epsilon)
    for point in (*always, *never, *(Fraction(-k, 7) for k in range(40))):
        above = [sum(max(v - point, 0) * q for v, q in distribution.items()) for distribution in (never, always)]
        assert above[0] <= above[1]
    for telling, covered in ((1, 0), (Fraction(1, 2), 0), (Fraction(1, 10), 0), (Fraction(1, 2), 1)):
        distribution = spread(local_epsilon, epsilon, telling=telling, covered=covered)
        outcomes = product(distribution.items(), repeat=users)
        delta = (
            sum(max(sum(v for v, _ in outcome), 0) * math.prod(q for _, q in outcome) for outcome in outcomes) / users
        )
        published = exact_tight_delta(epsilon, local_epsilon, users)
        if telling == 1:
            assert float(delta) == pytest.approx(published, rel=1e-9)
        else:
            assert float(delta) == pytest.approx(
                exact_thinned_delta(epsilon, local_epsilon, users, telling, covered), rel=1e-9, abs=1e-30
            )
            assert float(delta) <= published


@pytest.mark.parametrize("third", [[8, 1, 1], [3, 3, 4], [1, 8, 1]])
@pytest.mark.parametrize("users", [2, 3, 5])
def test_two_values_with_one_distribution_and_a_third(third, users):
    """Where R(x) = R(x') nothing is told, and the bound for the pairs that differ still holds."""
    rows = [[Fraction(w, 10) for w in row] for row in ([5, 3, 2], [5, 3, 2], third)]
    worst = max(max(p, q) / min(p, q) for p, q in zip(rows[0], rows[2], strict=True))
    randomizer = TinyRandomizer([dict(enumerate(row)) for row in rows])
    distributions = [
        shuffled_distribution([randomizer.randomizer_distribution(v) for v in (mine, *[2] * (users - 1))])
        for mine in (0, 1)
    ]
    assert distributions[0] == distributions[1]
    for share in (0.1, 0.5):
        epsilon = share * math.log(worst)
        truth = worst_delta(randomizer, users=users, values=range(3), ratio=exact_exp(epsilon)).delta
        assert float(truth) <= Amplification(local_epsilon=math.log(worst) * (1 + 1e-12), users=users).delta(epsilon)


@pytest.mark.slow
@given(st.lists(st.integers(1, 30), min_size=12, max_size=12), st.floats(0, 0.95), st.integers(2, 4))
@settings(max_examples=60)
def test_the_bound_for_all_holds_for_any_randomizer(weights, share, users):
    """Three values, four messages, any probabilities; everyone else holds the third value."""
    rows = [[Fraction(w, sum(weights[i : i + 4])) for w in weights[i : i + 4]] for i in (0, 4, 8)]
    worst = max(max(p, q) / min(p, q) for one in rows for two in rows for p, q in zip(one, two, strict=True))
    if worst == 1:
        return
    local_epsilon = math.log(worst) * (1 + 1e-12)
    epsilon = share * local_epsilon
    randomizer = TinyRandomizer([dict(enumerate(row)) for row in rows])
    distributions = [
        shuffled_distribution([randomizer.randomizer_distribution(v) for v in (mine, *[2] * (users - 1))])
        for mine in (0, 1)
    ]
    truth = float(exact_delta(distributions[0], distributions[1], ratio=exact_exp(epsilon)))
    assert truth <= Amplification(local_epsilon=local_epsilon, users=users).delta(epsilon)


def hard_randomizer(local_epsilon, telling):
    """Messages that tell nothing are as unlikely as they can be under any third value: nobody else hides them well."""
    p, t = float(exact_exp(local_epsilon)), telling
    rare = (1 - 2 * t / (p + 1) - (1 - t) / p) / (p - 1 / p)
    common = 1 - t - rare
    assert common > 0
    one, other = t * p / (p + 1), t / (p + 1)
    tables = ([one, other, common, rare], [other, one, common, rare], [other, other, common / p, p * rare])
    return [dict(enumerate(map(Fraction, table))) for table in tables]


@pytest.mark.parametrize("local_epsilon", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("telling", [0.05, 0.3, 0.6])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_the_bounds_hold_where_nobody_hides_what_tells_nothing(local_epsilon, telling, share):
    users, epsilon = 4, share * local_epsilon
    randomizer = TinyRandomizer(hard_randomizer(local_epsilon, telling))
    distributions = [
        shuffled_distribution([randomizer.randomizer_distribution(v) for v in (mine, 2, 2, 2)]) for mine in (0, 1)
    ]
    truth = float(exact_delta(distributions[0], distributions[1], ratio=exact_exp(epsilon)))
    hair = 1 + 1e-9
    for fields in ({}, {"telling": telling * hair}):
        assert truth <= Amplification(local_epsilon=local_epsilon * hair, users=users, **fields).delta(epsilon)


class TinyRandomizer:
    """Exact distributions of one message: d-ary randomized response, Hadamard response or unary encoding."""

    def __init__(self, distributions):
        self.distributions = distributions

    def randomizer_distribution(self, value):
        return {(message,): chance for message, chance in self.distributions[value].items()}


@pytest.mark.parametrize(
    "oracle",
    [
        RandomizedResponse(users=3, bins=3, epsilon=1.5),
        RandomizedResponse(users=4, bins=4, epsilon=0.7),
        HadamardResponse(users=3, bins=3, epsilon=1.5),
        UnaryEncoding(users=3, bins=2, epsilon=1.2),
        UnaryEncoding(users=3, bins=2, epsilon=1.2, optimised=False),
    ],
    ids=lambda oracle: f"{type(oracle).__name__}-{oracle.users}-{oracle.bins}",
)
@pytest.mark.parametrize("share", [0.1, 0.4, 0.8])
def test_no_shuffled_randomizer_is_less_private_than_its_bound(oracle, share):
    epsilon = share * oracle.epsilon
    randomizer = TinyRandomizer(exact_distributions(oracle))
    truth = worst_delta(randomizer, users=oracle.users, values=range(oracle.bins), ratio=exact_exp(epsilon)).delta
    bound = oracle.amplified(oracle.users).delta(epsilon)
    assert 0 < float(truth) <= bound
    assert bound <= Amplification(local_epsilon=oracle.epsilon, users=oracle.users).delta(epsilon)


@pytest.mark.slow
@given(st.integers(1, 9), st.floats(0.05, 6) | st.sampled_from([15.0, 25.0, 30.0]), st.floats(0, 1))
@settings(max_examples=60)
def test_the_tight_bound_is_its_definition(users, local_epsilon, share):
    epsilon = share * local_epsilon
    exact = exact_tight_delta(epsilon, local_epsilon, users)
    low, high = Amplification(local_epsilon=local_epsilon, users=users).delta_of_bound(epsilon)
    assert high >= exact * (1 - 1e-12)
    assert high == pytest.approx(exact, rel=1e-8, abs=1e-14)
    assert low <= exact * (1 + 1e-12) + 1e-14


def exact_shuffled_delta(epsilon, flip, users):
    """Binary randomized response, shuffled, worst of all datasets and both directions, in fractions."""
    factor, worst = Fraction(math.exp(epsilon)), Fraction(0)
    for ones in range(users):
        distributions = []
        for value in (0, 1):
            distribution = [Fraction(1)]
            for person in [1] * ones + [0] * (users - 1 - ones) + [value]:
                chance = 1 - flip if person else flip
                distribution = [
                    (distribution[k] if k < len(distribution) else 0) * (1 - chance)
                    + (distribution[k - 1] if k else 0) * chance
                    for k in range(len(distribution) + 1)
                ]
            distributions.append(distribution)
        for p, q in (distributions, distributions[::-1]):
            worst = max(worst, sum(max(a - factor * b, 0) for a, b in zip(p, q, strict=True)))
    return float(worst)


@pytest.mark.parametrize("users", [1, 2, 3, 8])
@pytest.mark.parametrize("local_epsilon", [0.3, 1.0, 3.0])
def test_the_tight_bound_covers_randomized_response_exactly_enumerated(users, local_epsilon):
    flip = Fraction(1 / (1 + math.exp(local_epsilon)))
    for share in (0.0, 0.2, 0.5, 0.8):
        epsilon = share * local_epsilon
        covered = Amplification(local_epsilon=local_epsilon, users=users).delta(epsilon)
        assert covered >= exact_shuffled_delta(epsilon, flip, users) * (1 - 1e-9)


@pytest.mark.parametrize(("users", "expected"), [(10**4, 0.4108), (10**5, 0.1182)])
def test_reference_values(users, expected):
    assert Amplification(local_epsilon=4.0, users=users).epsilon(1e-6) == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize("users", [10**3, 10**6, 10**9])
@pytest.mark.parametrize("local_epsilon", [0.1, 0.4, 1.0, 4.0])
def test_the_bounds_are_in_order(users, local_epsilon):
    wish = {"local_epsilon": local_epsilon, "users": users, "delta": 1e-6}
    tight = Amplification(local_epsilon=local_epsilon, users=users).epsilon(1e-6)
    assert unavoidable_epsilon(**wish) <= tight <= local_epsilon
    for published in (blanket_epsilon(**wish), closed_form_epsilon(**wish)):
        assert published is None or published >= tight
    low, high = Amplification(local_epsilon=local_epsilon, users=users).delta_of_bound(tight)
    assert high <= 1e-6
    assert low == pytest.approx(high, rel=0.01)


@pytest.mark.parametrize("local_epsilon", [2.0**-38, 0.3, 3.0])
@pytest.mark.parametrize("delta", [1e-13, 1e-6, 0.01])
def test_no_randomizer_has_less_than_the_unavoidable_epsilon(local_epsilon, delta):
    """The delta of randomized response among zeros is larger at that epsilon, in fractions, down to rounding."""
    users = 12
    found = unavoidable_epsilon(local_epsilon=local_epsilon, users=users, delta=delta)
    truth = exact_shuffled_delta(found, Fraction(round_up_to_grid(1 / (1 + math.exp(local_epsilon)))), users)
    assert found == 0 or truth >= delta


@pytest.mark.slow
def test_the_lower_number_of_a_merged_bound_is_below_the_unmerged_one(monkeypatch):
    settings = {"local_epsilon": 2.0, "users": 3000, "telling": 0.25, "covered": 1.0}
    monkeypatch.setattr(amplification, "_BLOCK_WIDTH", 0.0)
    monkeypatch.setattr(amplification, "_THINNED_BLOCKS", (4000, 4000))
    _, exact = Amplification(**settings).delta_of_bound(0.1)
    monkeypatch.setattr(amplification, "_THINNED_BLOCKS", (12, 12))
    low, high = Amplification(**settings).delta_of_bound(0.1)
    assert 0.1 * exact < low < exact < high


def test_the_closed_form_says_where_it_holds():
    assert closed_form_epsilon(local_epsilon=0.4, users=10**5, delta=1e-6) == pytest.approx(
        12 * 0.4 * math.sqrt(math.log(1e6) / 10**5)
    )
    assert closed_form_epsilon(local_epsilon=0.5, users=10**5, delta=1e-6) is None
    assert closed_form_epsilon(local_epsilon=0.4, users=999, delta=1e-6) is None


@pytest.mark.parametrize("users", [100, 10**5, 10**8])
def test_the_largest_local_epsilon_is_the_inverse(users):
    local = largest_local_epsilon(epsilon=0.5, delta=1e-6, users=users)
    assert local >= 0.5
    assert Amplification(local_epsilon=local, users=users).delta(0.5) <= 1e-6
    assert Amplification(local_epsilon=local * (1 + 1e-6), users=users).epsilon(1e-6) > 0.5


def test_more_people_and_less_local_epsilon_never_hurt():
    deltas = [Amplification(local_epsilon=2.0, users=n).delta(0.1) for n in (10, 100, 1000, 10**4, 10**5)]
    assert deltas == sorted(deltas, reverse=True)
    epsilons = [Amplification(local_epsilon=e, users=1000).epsilon(1e-5) for e in (0.2, 0.5, 1, 2, 4, 8)]
    assert epsilons == sorted(epsilons)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [({"local_epsilon": 0}, "local_epsilon"), ({"local_epsilon": 31}, "local_epsilon"), ({"users": 0}, "users")],
)
def test_wrong_parameters(changes, reason):
    with pytest.raises(ParameterError, match=reason):
        Amplification(**{"local_epsilon": 1.0, "users": 10, **changes})
    with pytest.raises(ParameterError, match="negative"):
        Amplification(local_epsilon=1.0, users=10).delta(-1)
    with pytest.raises(ParameterError, match="epsilon must lie"):
        largest_local_epsilon(epsilon=0, delta=1e-6, users=10)

"""Bernoulli means: computed success against simulated, the worst mean, and enough people for it."""

import math

import numpy as np
import pytest
from scipy import stats

from shuffledp import BinarySum, DataError, ParameterError
from shuffledp.noise.discrete_laplace import DiscreteLaplace
from shuffledp.paper import BernoulliMean
from shuffledp.paper.bernoulli import binary_sum, blanket_sum, central_sum, local_sum
from shuffledp.protocols import BlanketSum
from shuffledp.protocols.local import RandomizedResponse
from tests.oracles.item_finders import GUARANTEE
from tests.oracles.successes import agrees


def binary_sum_estimates(protocol):
    def draw(ones, rng):
        return protocol.estimate(protocol.sample_tally(ones, rng=rng))[1]

    return draw


def coin_flips(users):
    oracle = RandomizedResponse(users=users, bins=2, epsilon=1.0)

    def draw(ones, rng):
        bits = np.arange(users) < ones
        return oracle.estimate(oracle.tally(oracle.randomize(bits.astype(np.int64), rng=rng)))[1]

    return draw


def laplace(ones, rng):
    return ones + int(DiscreteLaplace(decay=round(math.exp(-1) * 2**53) / 2**53).sample(1, rng=rng)[0])


@pytest.mark.slow
@pytest.mark.parametrize("mean", [0.0, 0.06, 0.5, 0.9])
@pytest.mark.parametrize("name", ["local", "exact", "paper", "blanket", "central"])
def test_success_of_a_mean_is_that_of_the_protocol(name, mean):
    users, alpha = {"local": 400, "exact": 200, "paper": 3000, "blanket": 250, "central": 100}[name], 0.05
    calibrated = BinarySum.calibrate(users=200, truncated=False, **GUARANTEE)
    published = BinarySum.published(users=3000, **GUARANTEE)
    blanket = BlanketSum.calibrate(users=250, **GUARANTEE)
    distribution, draw = {
        "local": (local_sum(users=400, epsilon=1.0), coin_flips(400)),
        "exact": (binary_sum(calibrated), binary_sum_estimates(calibrated)),
        "paper": (binary_sum(published), binary_sum_estimates(published)),
        "blanket": (blanket_sum(blanket), binary_sum_estimates(blanket)),
        "central": (central_sum(users=100, epsilon=1.0), laplace),
    }[name]
    rng, trials = np.random.default_rng(14), 600
    close = 0
    for _ in range(trials):
        estimate = draw(int(rng.binomial(users, mean)), rng)
        close += abs(estimate - users * mean) <= alpha * users + 1e-9
    assert agrees(close, trials, BernoulliMean(alpha=alpha).success(distribution, users=users, mean=mean))


SUMS = {
    "local": lambda users: local_sum(users=users, epsilon=1.0),
    "exact": lambda users: binary_sum(BinarySum.calibrate(users=users, truncated=False, **GUARANTEE)),
    "paper": lambda users: binary_sum(BinarySum.published(users=users, **GUARANTEE)),
    "blanket": lambda users: blanket_sum(BlanketSum.calibrate(users=users, **GUARANTEE)),
    "central": lambda users: central_sum(users=users, epsilon=1.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.1, 0.17])
@pytest.mark.parametrize("users", [211, 775])
@pytest.mark.parametrize("name", ["local", "exact", "central"])
def test_the_worst_mean_is_found(name, users, alpha):
    """Against p on both sides of every one at which some estimate becomes too far away."""
    problem, protocol = BernoulliMean(alpha=alpha), SUMS[name](users)
    estimates = np.unique(protocol(0.5).estimates)
    step = estimates[1] - estimates[0]
    lattice = estimates[0] + step * np.arange(-estimates[0] // step - 2 * users, 3 * users)
    edges = np.concatenate([lattice / users - alpha, lattice / users + alpha])
    near = (edge + side for edge in edges for side in (-1e-7, 1e-7))
    worst = min(problem.success(protocol, users=users, mean=mean) for mean in near if 0 <= mean <= 1)
    assert problem.worst_success(protocol, users=users) == pytest.approx(worst, abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "alpha"), [("local", 0.1), ("exact", 0.1), ("blanket", 0.1), ("central", 0.1), ("paper", 0.3)]
)
def test_the_sample_size_is_enough_for_every_mean(name, alpha):
    """And so are all numbers in the next few ripples, but one person fewer is not."""
    problem = BernoulliMean(alpha=alpha)
    users = problem.sample_size(SUMS[name])
    means = np.concatenate([np.linspace(0, 1, 21), np.linspace(0.48, 0.52, 81), [alpha + 1e-6]])
    for number in range(users, users + 30, 1 if users < 1000 else 7):
        protocol = SUMS[name](number)
        assert min(problem.success(protocol, users=number, mean=mean) for mean in means) >= 0.99
    assert problem.worst_success(SUMS[name](users - 1), users=users - 1) < 0.99


@pytest.mark.parametrize("mean", [0.03, 0.4, 0.97])
def test_edges_are_where_estimates_are_lost_among_millions_of_people(mean):
    users, problem = 6_647_507, BernoulliMean(alpha=0.01)
    protocol = local_sum(users=users, epsilon=0.1)
    estimates = protocol(mean).estimates
    for side, sign in (("above", 1), ("below", -1)):
        origin, step = problem._edges(protocol, users)[side]
        edge = origin + round((mean - origin) / step) * step
        assert np.abs(estimates + sign * problem.alpha * users - edge * users).min() < 5e-7


def test_means_near_one_half_are_not_missed():
    assert BernoulliMean(alpha=0.1).worst_success(SUMS["local"](775), users=775) < 0.9893
    assert BernoulliMean(alpha=0.1).worst_success(SUMS["central"](172), users=172) < 0.9890


@pytest.mark.slow
def test_the_local_model_pays_for_privacy_in_the_leading_term():
    """Local: 1 / (alpha epsilon)^2. Shuffled: 1 / alpha^2 and a term that matters less as alpha falls."""
    total = {"epsilon": 0.5, "delta": 1e-6}
    ratios = []
    for alpha in (0.1, 0.02):
        problem = BernoulliMean(alpha=alpha)
        local = problem.sample_size(lambda users: local_sum(users=users, epsilon=0.5))
        shuffled = problem.sample_size(
            lambda users: binary_sum(BinarySum.calibrate(users=users, truncated=False, **total))
        )
        central = problem.sample_size(lambda users: central_sum(users=users, epsilon=0.5))
        # with coin flips the variance is that of the sample, 1/4, times ((e^eps + 1) / (e^eps - 1))^2
        assert local == pytest.approx(stats.norm.ppf(0.995) ** 2 / 4 / alpha**2 / math.tanh(0.25) ** 2, rel=0.03)
        assert central < shuffled < local
        assert local >= problem.local_bound(epsilon=0.5)
        ratios.append(shuffled / central)
    assert ratios[1] < ratios[0]
    assert ratios[1] < 1.1


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (lambda: BernoulliMean(alpha=0), "alpha must lie strictly"),
    ],
)  # fmt: skip
def test_bad_parameters(wrong, reason):
    with pytest.raises((ParameterError, DataError), match=reason):
        wrong()

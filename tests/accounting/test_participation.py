"""How many people must have reported, by their messages: against exact binomial tails."""

import numpy as np
import pytest
from scipy.stats import binom

from shuffledp import Histogram
from shuffledp.accounting.participation import RISK, fewest_people, most_people
from shuffledp.noise import Binomial, CompoundPoisson
from shuffledp.noise.compound_poisson import SIZE_GRID, gamma_sizes


def one_coin(probability):
    return lambda tilts: np.log1p(probability * np.expm1(tilts))


@pytest.mark.parametrize("probability", [0.001, 0.25, 0.9])
@pytest.mark.parametrize("total", [0, 3, 40, 2000])
def test_the_true_number_is_hardly_ever_excluded_and_few_others_are_kept(probability, total):
    """The fewest who reach a total as rarely as the stated risk, by exact tails; Chernoff's bound is a little wider."""
    fewest, most = fewest_people(total, one_coin(probability)), most_people(total, one_coin(probability))
    # excluded numbers of people reach the total less often than the risk
    if fewest > 1:
        assert binom.sf(total - 1, fewest - 1, probability) <= RISK
    assert binom.cdf(total, np.floor(most) + 1, probability) <= RISK
    # and a risk that is a thousand times smaller would exclude fewer
    assert total == 0 or binom.sf(total - 1, fewest, probability) >= RISK / 1000
    assert binom.cdf(total, max(1, np.floor(most)), probability) >= RISK / 1000 or most < 1


@pytest.mark.parametrize(
    "distribution",
    [
        Binomial(trials=40, probability=0.25),
        CompoundPoisson(rate=3.0, size_weights=(SIZE_GRID,)),
        CompoundPoisson(rate=7.5, size_weights=gamma_sizes(mean=4.0, shape=3.0)),
    ],
)
def test_cumulants_match_the_distribution(distribution):
    tilts, window = np.array([-2.0, -0.1, 1e-6, 0.05, 0.2]), distribution.window
    numbers = np.arange(window.first, window.last + 1)
    expected = np.log([window.pmf @ np.exp(tilt * numbers) for tilt in tilts])
    assert distribution.cumulant(tilts) == pytest.approx(expected, rel=1e-6, abs=1e-12)


def test_a_fixed_number_of_messages_gives_the_number_of_people():
    everybody = fewest_people(700, lambda tilts: 7 * tilts)
    assert 70 <= everybody <= 100
    assert most_people(700, lambda tilts: 7 * tilts) >= 100


@pytest.mark.parametrize("missing", [0, 1, 5, 60])
def test_who_is_missing_is_not_counted(missing):
    """Whatever is drawn for fewer people, not more than these are found to be necessary; fails by luck with RISK."""
    protocol = Histogram.calibrate(users=1000, bins=10, epsilon=1, delta=1e-6)
    rng = np.random.default_rng(80 + missing)
    tally = protocol.tally(protocol.randomize(rng.integers(0, 10, 1000 - missing), rng=rng))
    assert 0.97 * (1000 - missing) <= protocol._fewest_reports(tally) <= 1000 - missing

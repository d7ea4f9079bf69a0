"""The budgets of a task that finds texts and of a task that counts them."""

import math

import pytest
from dp_accounting.pld import privacy_loss_distribution
from scipy import stats

from shuffledp.collect.task.follow_up import counting_error, split_budget
from shuffledp.errors import ParameterError
from shuffledp.histogram.text_code import TextCode
from shuffledp.protocols.catalogue import named
from shuffledp.protocols.free_text import FreeText
from shuffledp.protocols.target import Target

CODE = TextCode(levels=3, longest=6, alphabet="abcdefghijklmnopqrstuvwxyz", width=2)
USERS = 20_000


def losses(rate, shifts):
    """The privacy loss of Poisson noise that one person shifts down and up this often, by dp_accounting."""
    noise = {count: float(stats.poisson.logpmf(count, rate)) for count in range(4 * math.ceil(rate))}
    noise = {count: chance for count, chance in noise.items() if chance > -600}
    shifted = {count + 1: chance for count, chance in noise.items()}
    down, up = (
        privacy_loss_distribution.from_two_probability_mass_functions(*pair, value_discretization_interval=1e-4)
        for pair in ((shifted, noise), (noise, shifted))
    )
    return down.compose(up).self_compose(shifts)


def rates(find, count):
    """The mean dummies of a value: of a level that finds, and of an answer that is counted."""
    searched = FreeText.for_target(CODE, users=USERS, epsilon=find.epsilon, delta=find.delta)
    part = Target(users=USERS, bins=5, epsilon=count.epsilon, delta=count.delta, padding_bins=0)
    return searched.protocol.dummies.rate, named("dummy-poisson").make(part).noise.rate


@pytest.mark.slow
def test_both_tasks_together_are_within_the_budget_and_use_it():
    """Composed by dp_accounting, an independent implementation; 3% more of either epsilon would be too much."""
    split = split_budget(CODE, users=USERS, epsilon=1.0, delta=1e-6, share=0.4)
    level, answer = rates(split.find, split.count)
    reached = losses(level, CODE.levels).compose(losses(answer, 1)).get_delta_for_epsilon(1.0)
    assert reached <= 1e-6 * 1.01  # its grid rounds up
    more = losses(level / 1.06, CODE.levels).compose(losses(answer / 1.06, 1)).get_delta_for_epsilon(1.0)
    assert more > 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.2, 0.7])
def test_shares_of_the_budget(share):
    split = split_budget(CODE, users=USERS, epsilon=1.0, delta=1e-6, share=share)
    assert split.find.delta == split.count.delta == 5e-7
    assert split.count.epsilon / (split.count.epsilon + split.find.epsilon) == pytest.approx(share, abs=0.01)
    assert split.count.epsilon + split.find.epsilon > 1.0
    assert max(split.count.epsilon, split.find.epsilon) <= 1.0
    fewer, more = (counting_error(split, users=USERS, texts=texts) for texts in (3, 300))
    assert 0 < fewer < more


@pytest.mark.parametrize("share", [0, 1, -0.1, float("nan")])
def test_a_share_is_a_part(share):
    with pytest.raises(ParameterError, match="confirm must"):
        split_budget(CODE, users=USERS, epsilon=1.0, delta=1e-6, share=share)

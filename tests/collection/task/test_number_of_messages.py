"""How many messages a report holds says nothing about the answer: the first shuffler counts them.

Statistical assertions fail on a correct randomizer with a probability of at most 1e-6 each, under fixed seeds.
"""

from fractions import Fraction

import msgspec
import numpy as np
import pytest

from shuffledp import Histogram
from shuffledp.collection.client.randomized import messages_of
from shuffledp.collection.task.parameters import CODECS
from shuffledp.errors import ShuffledpError
from tests.collection.task.test_most_messages import number_law
from tests.collection.tasks import small_task
from tests.oracles.goodness import FALSE_FAILURE_RATE, assert_law, assert_not_law, same_law_p_value

ANSWERS = ["dark", "light", "system", "something else", None]
CALLS = 300

every = pytest.mark.parametrize("name", CODECS)


def noisy_task(name):
    """So few people that each sends several messages."""
    return small_task(protocol=name, users=140, delta=1e-3, epsilon=0.6).task


def numbers(task, answer, seed, calls=CALLS):
    rng = np.random.default_rng(seed)
    return np.array([len(messages_of(task, answer, rng=rng)) for _ in range(calls)])


@every
def test_with_the_same_coins_every_answer_sends_the_same_number(name):
    """So the laws are equal, whatever they are: the coins that decide the number do not see the answer."""
    task = noisy_task(name)
    drawn = np.array(
        [
            [task.protocol.randomize(task.bin_of(answer), rng=np.random.default_rng(seed)).size for answer in ANSWERS]
            for seed in range(100)
        ]
    )
    assert (drawn == drawn[:, :1]).all()
    assert len(set(drawn[:, 0])) > 1


@every
def test_the_number_has_its_law_for_every_answer(name):
    task = noisy_task(name)
    law = number_law(task.protocol)
    for seed, answer in enumerate(("dark", None)):  # with the same coins all others send as many
        assert_law(numbers(task, answer, seed), 0, law)


@every
def test_a_client_that_leaves_out_an_empty_answer_is_noticed(name):
    """The negative control: no message of one's own for (none)."""
    task = noisy_task(name)
    fewer = numbers(task, None, 1) - 1
    assert_not_law(fewer, 0, number_law(task.protocol))
    assert same_law_p_value(numbers(task, "dark", 2), fewer) <= FALSE_FAILURE_RATE


@pytest.mark.parametrize("name", ["hist", "hist-unbiased"])
def test_the_number_has_exactly_one_law(name):
    protocol = noisy_task(name).protocol
    laws = []
    for value in range(protocol.bins):
        law = {}
        for sent, chance in protocol.randomizer_law(value).items():
            law[len(sent)] = law.get(len(sent), Fraction(0)) + chance
        laws.append(law)
    assert all(law == laws[0] for law in laws)
    assert sum(laws[0].values()) == 1


@every
def test_what_is_sent_is_a_message_of_the_protocol(name):
    task = noisy_task(name)
    rng = np.random.default_rng(5)
    for answer in ANSWERS:
        for _ in range(20):
            sent = messages_of(task, answer, rng=rng)
            assert all(type(message) is int and 0 <= message < task.alphabet for message in sent)
            assert task.bin_of(answer) in {message // task.protocol.kinds for message in sent}


def test_who_draws_too_many_draws_again():
    """The number then has its law given that it is at most the limit, and not the law cut off at the limit."""
    task = msgspec.structs.replace(noisy_task("hist"), most_messages=4)
    law = number_law(task.protocol)
    assert law[5:].sum() > 0.05
    drawn = numbers(task, "dark", 3, calls=800)
    assert drawn.max() <= 4
    assert_law(drawn, 0, law[:5])
    cut = np.concatenate([law[:4], [law[4:].sum()]])
    assert_not_law(drawn, 0, cut)


def test_a_limit_that_everybody_exceeds_is_an_error_and_no_loop():
    task = msgspec.structs.replace(noisy_task("hist"), most_messages=1)
    always = Histogram(users=140, bins=5, missing_probability=2.0**-53)
    task.__dict__["protocol"] = always
    with pytest.raises(ShuffledpError, match="the task was not checked"):
        messages_of(task, "dark", rng=np.random.default_rng(1))


def first_messages(order, calls):
    task = msgspec.structs.replace(noisy_task("hist"))  # a copy: the other is shared
    task.__dict__["protocol"] = Histogram(users=140, bins=5, missing_probability=2.0**-53)  # 0 1 2 3 4 and one's own
    rng = np.random.default_rng(8)
    return np.array([order(task, rng)[0] for _ in range(calls)])


def test_messages_are_in_random_order():
    """One's own value may be anywhere: of six messages two are light."""
    law = np.array([1, 2, 1, 1, 1]) / 6
    assert_law(first_messages(lambda task, rng: messages_of(task, "light", rng=rng), 1200), 0, law)
    made = first_messages(lambda task, rng: task.protocol.randomize(1, rng=rng), 1200)
    assert_not_law(made, 0, law)


def test_without_a_generator_messages_come_from_the_operating_system(monkeypatch):
    task, asked = noisy_task("sparse"), []
    from shuffledp import randomness

    monkeypatch.setattr(randomness, "secure_rng", lambda: asked.append(1) or np.random.default_rng(1))
    messages_of(task, "dark")
    assert asked

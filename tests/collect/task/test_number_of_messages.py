"""The number of messages in a report, which the first shuffler sees, is independent of the answer.

Padded reports all have the same number. Without padding, the number has one distribution for every answer;
test_numbers_and_counts.py shows why that alone would not suffice. Statistical assertions have a false failure rate of
at most 1e-6 each, under fixed seeds.
"""

from fractions import Fraction

import msgspec
import numpy as np
import pytest

from shuffledp import DummyHistogram, Histogram
from shuffledp.collect.client.making import messages_of
from shuffledp.collect.task.answers import kind_of
from shuffledp.collect.task.guarantee import CODECS
from shuffledp.errors import ShuffledpError
from shuffledp.noise import Binomial
from tests.collect.task.test_most_messages import number_distribution
from tests.collect.tasks import small_task
from tests.oracles.goodness import (
    FALSE_FAILURE_RATE,
    assert_distribution,
    assert_not_distribution,
    same_distribution_p_value,
)

ANSWERS = ["dark", "light", "system", "something else", None]
NUMBERS = [-5, 3, "7.5", 100, "something else", None]
CHOICES = [["dark"], ["light", "system"], ["dark", "something else"], [], None]
CALLS = 300

OF_CHOICES = [f"choices {name}" for name, codec in CODECS.items() if "choices" in codec.kinds]
every = pytest.mark.parametrize("name", [*CODECS, *OF_CHOICES])


def noisy_task(name):
    """A task with few people, who each send several messages."""
    if name in OF_CHOICES:
        return small_task(protocol=name.split()[1], users=300, delta=1e-3, epsilon=0.6, most=2).task
    return small_task(protocol=name, users=140, delta=1e-3, epsilon=0.6).task


def answers_to(task):
    """Answers of every kind, the last of them none."""
    return {"numbers": NUMBERS, "choices": CHOICES}.get(kind_of(task.answers), ANSWERS)


def sent_by(task, answer, seed, calls=CALLS):
    rng = np.random.default_rng(seed)
    return [messages_of(task, answer, rng=rng) for _ in range(calls)]


def numbers(task, answer, seed, calls=CALLS):
    """The numbers of messages without padding."""
    return np.array([sum(message < task.alphabet for message in sent) for sent in sent_by(task, answer, seed, calls)])


@pytest.mark.slow
def test_which_protocols_are_padded():
    assert {name for name in CODECS if not noisy_task(name).padded} == {"dummy-poisson", "hashed", "ranges"}
    assert [name for name in OF_CHOICES if not noisy_task(name).padded] == ["choices dummy-poisson"]


@pytest.mark.slow
@every
def test_the_first_shuffler_sees_one_number_or_one_distribution(name):
    task = noisy_task(name)
    for seed, answer in enumerate(answers_to(task)):
        seen = np.array([len(sent) for sent in sent_by(task, answer, seed, calls=50 if task.padded else CALLS)])
        if task.padded:
            assert set(seen) == {task.most_messages}
        else:
            assert_distribution(seen, 0, number_distribution(task.protocol))
            assert len(set(seen)) > 1


@every
def test_with_the_same_coins_every_answer_sends_the_same_number(name):
    """The coins that decide the number do not see the answer, so the distributions are equal."""
    task = noisy_task(name)
    drawn = np.array(
        [
            [
                task.protocol.randomize(task.values_of(answer), rng=np.random.default_rng(seed)).size
                for answer in answers_to(task)
            ]
            for seed in range(100)
        ]
    )
    assert (drawn == drawn[:, :1]).all()
    assert len(set(drawn[:, 0])) > 1


@pytest.mark.slow
@every
def test_the_number_has_its_distribution_for_every_answer(name):
    task = noisy_task(name)
    distribution = number_distribution(task.protocol)
    for seed, answer in enumerate((answers_to(task)[0], None)):  # with the same coins all others send the same number
        assert_distribution(numbers(task, answer, seed), 0, distribution)


@pytest.mark.slow
@every
def test_a_client_without_a_message_for_none_is_detected(name):
    """The negative control: a client that sends no message for (none)."""
    task = noisy_task(name)
    fewer = numbers(task, None, 1, calls=2 * CALLS) - 1
    assert_not_distribution(fewer, 0, number_distribution(task.protocol))
    assert (
        same_distribution_p_value(numbers(task, answers_to(task)[0], 2, calls=2 * CALLS), fewer) <= FALSE_FAILURE_RATE
    )


@pytest.mark.parametrize("name", ["hist", "hist-unbiased"])
def test_the_number_has_exactly_one_distribution(name):
    protocol = noisy_task(name).protocol
    distributions = []
    for value in range(protocol.bins):
        distribution = {}
        for sent, chance in protocol.randomizer_distribution(value).items():
            distribution[len(sent)] = distribution.get(len(sent), Fraction(0)) + chance
        distributions.append(distribution)
    assert all(distribution == distributions[0] for distribution in distributions)
    assert sum(distributions[0].values()) == 1


def holds(task, answer, messages):
    """Whether the person's own messages are among these."""
    if task.values_per_person > 1:
        (own,) = task.values_of(answer)
        return {task.protocol.kinds * value for value in own.tolist() if value >= 0} <= set(messages)
    if task.protocol_used.name == "hashed":
        return task.protocol.family.count(np.array(messages), np.array([task.bin_of(answer)]))[0] >= 1
    return task.protocol.kinds * task.bin_of(answer) in messages


@every
def test_clients_send_messages_of_the_protocol(name):
    task = noisy_task(name)
    rng = np.random.default_rng(5)
    for answer in answers_to(task):
        for _ in range(20):
            sent = messages_of(task, answer, rng=rng)
            assert all(type(message) is int and 0 <= message < task.symbols for message in sent)
            counted = [message for message in sent if not (task.padded and message == task.nothing)]
            assert all(message < task.alphabet for message in counted)
            assert holds(task, answer, counted)
            assert task.protocol.tally(np.array(counted)).total == len(counted)


@pytest.mark.slow
def test_too_many_messages_are_sampled_again_with_the_conditional_distribution():
    """The number has the conditional distribution given the limit, not the distribution clipped at the limit."""
    task = msgspec.structs.replace(noisy_task("hist"), most_messages=4)
    distribution = number_distribution(task.protocol)
    assert distribution[5:].sum() > 0.05
    assert {len(sent) for sent in sent_by(task, "dark", 3)} == {4}
    drawn = numbers(task, "dark", 3, calls=800)
    assert drawn.max() <= 4
    assert_distribution(drawn, 0, distribution[:5])
    cut = np.concatenate([distribution[:4], [distribution[4:].sum()]])
    assert_not_distribution(drawn, 0, cut)


def test_a_limit_that_everybody_exceeds_is_an_error_and_no_loop():
    task = msgspec.structs.replace(noisy_task("hist"), most_messages=1)
    always = Histogram(users=140, bins=5, missing_probability=2.0**-53)
    task.__dict__["protocol"] = always
    with pytest.raises(ShuffledpError, match="the task was not checked"):
        messages_of(task, "dark", rng=np.random.default_rng(1))


def first_messages(order, calls):
    task = msgspec.structs.replace(noisy_task("hist"))  # a copy: the original is shared
    task.__dict__["protocol"] = Histogram(
        users=140, bins=5, missing_probability=2.0**-53
    )  # 0 1 2 3 4 and the own message
    rng = np.random.default_rng(8)
    return np.array([order(task, rng)[0] for _ in range(calls)])


def test_messages_are_in_random_order():
    """The own message may be at any position; two of six messages are "light"."""
    distribution = np.array([1, 2, 1, 1, 1]) / 6
    assert_distribution(first_messages(lambda task, rng: messages_of(task, "light", rng=rng), 1200), 0, distribution)
    made = first_messages(lambda task, rng: task.protocol.randomize(1, rng=rng), 1200)
    assert_not_distribution(made, 0, distribution)


def own_places(order):
    """The position of the own message among it and eight padding messages."""
    task = msgspec.structs.replace(noisy_task("dummy"), most_messages=9)
    seldom = Binomial(trials=140, probability=2.0**-53)
    task.__dict__["protocol"] = DummyHistogram(users=140, bins=5, noise=seldom)
    rng = np.random.default_rng(9)
    return np.array([order(messages_of(task, "dark", rng=rng)).index(0) for _ in range(1200)])


def test_padding_is_mixed_in():
    """With padding at the end, the position would reveal which messages count. The negative control sorts messages."""
    uniform = np.full(9, 1 / 9)
    assert_distribution(own_places(list), 0, uniform)
    assert_not_distribution(own_places(sorted), 0, uniform)


def test_without_a_generator_messages_come_from_the_operating_system(monkeypatch):
    task, asked = noisy_task("sparse"), []
    from shuffledp import randomness

    monkeypatch.setattr(randomness, "secure_rng", lambda: asked.append(1) or np.random.default_rng(1))
    messages_of(task, "dark")
    assert asked

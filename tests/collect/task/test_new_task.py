"""The protocol that `new_task` chooses."""

import pytest

from shuffledp.collect.task import AnswerRange
from shuffledp.collect.task.new_task import ACCEPTABLE, SHORTER, new_task
from shuffledp.collect.task.task import BETA
from shuffledp.errors import ParameterError
from tests.collect.tasks import CLOSES, OPENS, small_task

MANY = tuple(f"answer {at}" for at in range(100))


def error_of(task):
    return task.protocol.error(BETA).simultaneous


@pytest.mark.parametrize("users", [20, 60, 120, 200])
def test_small_groups_get_poisson_dummies_where_they_are_no_worse(users):
    task = small_task(users=users, protocol=None).task
    assert task.protocol_used.name == "dummy-poisson"
    for other in ("sparse", "sparse-best"):
        named = small_task(users=users, protocol=other).task
        assert named.protocol_used.name == other
        assert error_of(task) <= error_of(named)
        assert task.most_messages < named.most_messages


def test_another_protocol_with_a_smaller_error_is_chosen():
    """With 20 people and 100 answers, the smallest error is the number of people."""
    task, poisson = (small_task(users=20, answers=MANY, protocol=name).task for name in (None, "dummy-poisson"))
    assert task.protocol_used.name == "sparse"
    assert error_of(task) == 20 < error_of(poisson)


def numbers(answers, *, users=10**6, protocol=None):
    """A task about whole numbers."""
    places = small_task().task
    return new_task(
        question="Which number?", answers=AnswerRange(0, answers), users=users, epsilon=1.0, delta=1e-6,
        shufflers=places.shufflers, analyzer=places.analyzer, opens=OPENS, closes=CLOSES, protocol=protocol,
    )  # fmt: skip


def test_a_million_answers_of_a_million_people_are_hashed():
    """Five messages and 350 bytes, and an error of 44 people."""
    task, other = numbers(10**6), numbers(10**6, protocol="dummy-poisson")
    assert task.protocol_used.name == "hashed"
    expected = task.protocol.messages_per_user.expected
    assert expected == pytest.approx(5, abs=0.01)
    assert task.report_length(expected) < 350
    assert error_of(task) < 44
    assert error_of(task) <= ACCEPTABLE * error_of(other)
    assert expected * SHORTER <= other.protocol.messages_per_user.expected


@pytest.mark.parametrize(("users", "answers"), [(200, 3), (200, 50), (1000, 200), (10**4, 1000), (10**6, 10**5)])
def test_reports_that_are_short_anyway_keep_the_smaller_error(users, answers):
    assert numbers(answers, users=users).protocol_used.name == "dummy-poisson"


@pytest.mark.slow
def test_hashed_is_used_where_all_others_would_send_too_many_messages():
    with pytest.raises(ParameterError, match="answers must be at most 67,108,862 for hashed"):
        numbers(2**26, protocol="hashed")
    for users in (200, 10**6):
        with pytest.raises(ParameterError, match="at most 67,108,862 for short reports, got 100,000,000"):
            numbers(10**8, users=users)
    task = numbers(10**5, users=1000)
    assert task.protocol_used.name == "hashed"
    assert task.protocol.messages_per_user.expected < 5.2
    assert numbers(3, users=1000, protocol="hashed").protocol_used.name == "hashed"


def test_texts_need_their_protocol():
    with pytest.raises(ParameterError, match="protocol must be hashed for answers of kind text, got 'sparse'"):
        new_task(
            question="Which?",
            answers=small_task(texts=True).task.answers,
            users=200,
            epsilon=1.0,
            delta=1e-6,
            shufflers=[],
            analyzer=small_task().task.analyzer,
            opens=OPENS,
            closes=CLOSES,
            protocol="sparse",
        )

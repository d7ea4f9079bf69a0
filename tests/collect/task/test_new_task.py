"""The protocol that `new_task` chooses."""

import pytest

from shuffledp.collect.task.task import BETA
from tests.collect.tasks import small_task

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

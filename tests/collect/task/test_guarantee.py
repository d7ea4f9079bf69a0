"""Readers of a task compute its guarantee themselves, and refuse a task with a false claim."""

import json
from fractions import Fraction

import msgspec
import pytest

from shuffledp.collect.task import Claim, Named, task_of
from shuffledp.collect.task.guarantee import CODECS
from shuffledp.errors import BrokenPromiseError, ParameterError, TaskError
from shuffledp.protocols import CATALOGUE
from shuffledp.protocols.shuffled_histogram import seldom_enough
from tests.collect.tasks import small_task


def with_claim(task, epsilon, delta):
    return msgspec.structs.replace(task, claim=Claim(epsilon, delta))


def with_parameters(task, **parameters):
    return msgspec.structs.replace(task, protocol_used=Named(task.protocol_used.name, parameters))


@pytest.mark.parametrize("name", CODECS)
@pytest.mark.parametrize("honest", [None, 150])
def test_a_new_task_keeps_its_guarantee_also_after_reading(name, honest):
    task = small_task(protocol=name, honest_users=honest).task
    read = task_of(task.to_json().encode())
    assert read.protocol == task.protocol
    promise = read.check()
    assert promise == task.check()
    assert 0.99e-6 < promise.reached <= 1e-6
    assert promise.exact is (name not in ("sparse", "sparse-best", "hashed", "ranges"))


@pytest.mark.parametrize("name", CODECS)
def test_a_task_that_claims_more_than_it_gives_is_refused(name):
    task = small_task(protocol=name).task
    for claim in (("0.9", "1e-6"), ("1", "0.9e-6")):
        with pytest.raises(BrokenPromiseError, match=r"but its parameters give .*, which is weaker$"):
            with_claim(task, *claim).check()
    assert with_claim(task, "1.1", "1e-6").check().reached < 1e-6


@pytest.mark.parametrize("name", CODECS)
def test_only_the_honest_people_count(name):
    task = small_task(protocol=name).task
    with pytest.raises(BrokenPromiseError):
        msgspec.structs.replace(task, honest_users=180).check()


def test_too_little_noise_is_refused():
    task = small_task(protocol="hist").task
    less = Fraction(task.protocol.missing_probability) * 99 // Fraction(100, 2**53) | 1
    weaker = with_parameters(task, missing_probability=f"{less}/2^53")
    with pytest.raises(BrokenPromiseError):
        weaker.check()
    assert weaker.id != task.id


@pytest.mark.parametrize("at_most", [(0.5, 1e-6), (1.0, 1e-7), (1e-3, 1e-20)])
def test_a_guarantee_weaker_than_allowed_is_refused(at_most):
    with pytest.raises(BrokenPromiseError, match="that is allowed here"):
        small_task().task.check(at_most)


@pytest.mark.parametrize("at_most", [(1.0, 1e-6), (2.0, 1e-6), (1.0, 1e-3), (1.2, 0.9e-6)])
def test_the_allowed_guarantee_is_compared_with_the_whole_curve(at_most):
    """Not only with the claim: a task that claims (1, 1e-6) may also give (1.2, 0.9e-6)."""
    assert small_task().task.check(at_most).epsilon == 1.0


@pytest.mark.parametrize("at_most", [(0, 1e-6), (1, 0), (-1, 1e-6), (1, 2), (float("nan"), 1e-6), ("1", "x")])
def test_an_invalid_limit_is_refused(at_most):
    with pytest.raises(ParameterError):
        small_task().task.check(at_most)


@pytest.mark.parametrize("name", CODECS)
def test_a_limit_of_messages_that_people_often_exceed_is_refused(name):
    task = small_task(protocol=name).task
    assert msgspec.structs.replace(task, most_messages=task.most_messages + 5).check()
    with pytest.raises(BrokenPromiseError, match=r"most_messages=\d+ is too small"):
        msgspec.structs.replace(task, most_messages=max(1, task.most_messages // 2)).check()


def test_the_limit_of_messages_is_counted_in_delta():
    """Sampling again divides delta by 1 - eta, which is visible where eta is at its limit."""
    task = small_task(protocol="dummy-poisson").task
    most = task.most_messages
    reached = [msgspec.structs.replace(task, most_messages=most + more).check().reached for more in (0, 40)]
    plain = task.protocol.privacy.delta(1.0)
    assert reached[0] >= reached[1] >= plain
    assert reached[0] <= plain / (1 - seldom_enough(1e-6))
    with pytest.raises(BrokenPromiseError, match="is too small"):
        msgspec.structs.replace(task, most_messages=most - 1).check()


@pytest.mark.parametrize("name", sorted(set(CATALOGUE) - set(CODECS)))
def test_other_protocols_are_refused_in_tasks(name):
    """Their messages are not single numbers, their number depends on the value, or they are of another model."""
    plain = json.loads(small_task().task.to_json())
    plain["protocol"]["name"] = name
    with pytest.raises(
        TaskError, match="a task's protocol must be one of hist, hist-unbiased, sparse, sparse-best, dummy"
    ):
        task_of(json.dumps(plain).encode())
    with pytest.raises(ParameterError, match="protocol must be one of"):
        small_task(protocol=name)


def test_noise_that_vanishes_in_floating_point_is_refused():
    task = small_task(protocol="sparse", honest_users=60).task
    parameters = task.protocol_used.parameters
    tiny = with_parameters(task, **parameters | {"lone": parameters["lone"] | {"rate": "1/2^1074"}})
    with pytest.raises(BrokenPromiseError, match="cannot be computed"):
        tiny.check()

"""Series files: ids, rounds, times, corrupted files, and the guarantee of all rounds together."""

import hashlib
import json
from datetime import UTC, datetime, timedelta
from itertools import pairwise, product

import msgspec
import pytest

from shuffledp.collect.task import (
    Phase,
    Series,
    Task,
    read_series,
    read_task,
    read_task_or_series,
    series_of,
    task_of,
)
from shuffledp.collect.task.series import MOST_ROUNDS, tasks_of
from shuffledp.errors import BrokenPromiseError, ParameterError, TaskError
from tests.collect.series import FIRST, WEEK, small_series
from tests.collect.tasks import small_task

SERIES = small_series().series
PLAIN = json.loads(SERIES.canonical)


def changed(path, value):
    """The series with one field changed, as bytes."""
    plain = json.loads(SERIES.canonical)
    place = plain
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return json.dumps(plain).encode()


def without(name):
    return json.dumps({field: value for field, value in PLAIN.items() if field != name}).encode()


def test_id_is_the_hash_of_the_canonical_bytes():
    by_hand = json.dumps(PLAIN, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()
    assert SERIES.canonical == by_hand
    assert SERIES.id == hashlib.sha256(by_hand).digest()
    assert series_of(SERIES.to_json().encode()) == SERIES


def test_every_round_is_a_task_that_names_the_series():
    tasks = SERIES.tasks
    assert [task.series.round for task in tasks] == [1, 2, 3, 4]
    assert {task.series.id for task in tasks} == {SERIES.name}
    assert len({task.id for task in tasks}) == 4
    for task in tasks:
        assert task.version == 2
        read = task_of(task.canonical)  # a round can be used alone
        assert read == task
        assert read.id == task.id
        assert read.protocol == task.protocol
        assert read.check() == SERIES.check().round


def test_rounds_follow_each_other_without_a_gap():
    tasks = SERIES.tasks
    assert tasks[0].opens == FIRST == SERIES.opens
    assert all(one.closes == other.opens for one, other in pairwise(tasks))
    assert tasks[-1].closes == FIRST + timedelta(seconds=4 * WEEK) == SERIES.closes


@pytest.mark.parametrize("at", range(-2, 11))
@pytest.mark.parametrize("edge", [-1, -0.001, 0, 0.001, 1])
def test_the_open_round_is_the_task_that_is_open(at, edge):
    now = FIRST.timestamp() + at * WEEK / 2 + edge
    open_rounds = [task.series.round for task in SERIES.tasks if task.phase(now) is Phase.OPEN]
    assert open_rounds == ([] if SERIES.round_at(now) is None else [SERIES.round_at(now)])
    assert (SERIES.phase(now) is Phase.OPEN) == bool(open_rounds)


def test_rounds_share_one_protocol():
    series = series_of(SERIES.canonical)
    assert all(task.protocol is series.protocol for task in series.tasks)


def test_new_keys_in_every_round():
    kept = small_series(new_keys=True)
    for number, task in enumerate(kept.series.tasks, 1):
        assert task.analyzer.key == kept.keys[number - 1][-1].public
        assert [place.key for place in task.shufflers] == [kept.keys[number - 1][0].public]


@pytest.mark.parametrize("number", [0, -1, 5, 1.0, "1", True])
def test_no_such_round(number):
    with pytest.raises(ParameterError, match="round must"):
        SERIES.task(number)


def test_either_kind_of_file(tmp_path):
    series, task = tmp_path / "a.series.json", tmp_path / "a.task.json"
    series.write_text(SERIES.to_json())
    task.write_text(small_task().task.to_json())
    assert read_task_or_series(series) == read_series(series) == SERIES
    assert read_task_or_series(task) == read_task(task) == small_task().task
    assert tasks_of(read_task_or_series(series)) == SERIES.tasks
    assert tasks_of(read_task_or_series(task)) == [small_task().task]
    with pytest.raises(TaskError, match="it is a series"):
        read_task(series)
    with pytest.raises(TaskError, match="is one task"):
        read_series(task)
    with pytest.raises(TaskError, match="cannot be read"):
        read_series(tmp_path / "none.json")


OTHERS = {
    ("question",): "Which theme do you use today?",
    ("answers", "values"): ["dark", "light", "other themes"],
    ("protocol", "parameters", "dummies", "rate"): "2000",
    ("guarantee", "epsilon"): "0.6",
    ("total", "epsilon"): "1.5",
    ("total", "delta"): "2e-6",
    ("users",): 201,
    ("honest_users",): 199,
    ("most_messages",): SERIES.most_messages + 1,
    ("opens",): "2027-01-01T00:00:01Z",
    ("period",): WEEK + 1,
    ("rounds",): 5,
    ("time_precision",): 60,
    ("admission",): "tokens",
    ("servers", 0, "analyzer", "key"): small_series(users=201).series.servers[0].analyzer.key,
}


@pytest.mark.parametrize("path", OTHERS, ids=str)
def test_any_field_changes_the_id_and_every_task(path):
    other = series_of(changed(path, OTHERS[path]))
    assert other.id != SERIES.id
    assert not {task.id for task in other.tasks} & {task.id for task in SERIES.tasks}


def test_every_field_was_changed():
    assert {path[0] for path in OTHERS} == set(PLAIN) - {"kind", "version"}


SERVERS = PLAIN["servers"][0]
CORRUPTED = [
    (("kind",), "task", "`kind` must be series, got 'task'"),
    (("version",), 3, "version must be 1 or 2, got a series of version 3"),
    (("version",), 2, "a series of version 2 must have one of the fields asker, purpose, contact, language"),
    (("asker",), "A", "a series of version 1 has no field `asker`"),
    (("rounds",), 1, "rounds must be from 2 to 4096, got 1"),
    (("rounds",), 0, "rounds must be from 2 to 4096, got 0"),
    (("rounds",), MOST_ROUNDS + 1, "rounds must be from 2 to 4096, got 4097"),
    (("rounds",), "4", "`rounds` must be a whole number, got text"),
    (("period",), 0, "period must be from one second to ten years"),
    (("period",), -5, "period must be from one second to ten years"),
    (("period",), 10**12, "period must be from one second to ten years"),
    (("time_precision",), WEEK + 1, "time_precision must be at most the period"),
    (("time_precision",), 0, "time_precision must be from one second"),
    (("opens",), "9999-12-30T00:00:00Z", "before the year 10000"),
    (("opens",), "2027-01-01", "opens must be a time in UTC"),
    (("servers",), [], "one entry for all rounds or one for each of 4, got 0"),
    (("servers",), [SERVERS] * 3, "one entry for all rounds or one for each of 4, got 3"),
    (("servers",), SERVERS, "`servers` must be a list, got an object"),
    (("servers", 0, "shufflers"), [], "servers[0]: a task needs 1 to 8 shufflers"),
    (("servers", 0, "analyzer", "key"), "00" * 32, "servers[0]: the key of the analyzer is no public key"),
    (("servers", 0, "analyzer", "key"), SERVERS["shufflers"][0]["key"], "have the same key"),
    (("servers", 0, "more"), 1, "`more` is no field of `servers[0]`"),
    (("total",), {"epsilon": "1"}, "the field `delta` of `total` is missing"),
    (("total", "delta"), "1e-06", "delta must be a decimal number"),
    (("total", "epsilon"), "0", "epsilon must be above 0"),
    (("guarantee", "epsilon"), "0", "epsilon must be above 0"),
    (("question",), " ", "the question must have"),
    (("closes",), "2028-01-01T00:00:00Z", "`closes` is no field of a series"),
    (("series",), {"id": "ab" * 32, "round": 1}, "`series` is no field of a series"),
    (("most_messages",), 2**32 - 1, "nobody should have to send"),
]


@pytest.mark.parametrize(("path", "value", "reason"), CORRUPTED, ids=[case[2] for case in CORRUPTED])
def test_corrupted_series(path, value, reason):
    with pytest.raises(TaskError) as caught:
        series_of(changed(path, value))
    assert reason in str(caught.value)


@pytest.mark.parametrize("name", PLAIN)
def test_missing_fields(name):
    with pytest.raises(TaskError, match=f"the field `{name}` of a series is missing"):
        series_of(without(name))


@pytest.mark.parametrize(
    ("series", "reason"),
    [
        (None, "`series` must be an object"),
        ({"id": "ab" * 32}, "the field `round` of `series` is missing"),
        ({"id": "AB" * 32, "round": 1}, "64 hexadecimal digits, in small letters"),
        ({"id": "ab" * 31, "round": 1}, "64 hexadecimal digits"),
        ({"id": "ab" * 32, "round": 0}, "from 1 to 4096, got 0"),
        ({"id": "ab" * 32, "round": 4097}, "from 1 to 4096, got 4097"),
        ({"id": "ab" * 32, "round": "1"}, "`series.round` must be a whole number"),
        ({"id": "ab" * 32, "round": 1, "of": 4}, "`of` is no field of `series`"),
    ],
)
def test_tasks_with_a_wrong_series(series, reason):
    plain = json.loads(SERIES.task(1).canonical) | {"series": series}
    with pytest.raises(TaskError) as caught:
        task_of(json.dumps(plain).encode())
    assert reason in str(caught.value)


def test_a_task_of_version_1_has_no_such_field():
    task = small_task().task
    assert "series" not in json.loads(task.canonical)
    assert "series" not in json.loads(task.to_json())


def test_check_computes_the_composition_of_all_rounds():
    promise = SERIES.check()
    assert promise.total.epsilon == 1
    assert promise.total.delta == 1e-6
    assert 0.98e-6 < promise.total.reached <= 1e-6
    assert promise.round.reached <= promise.round.delta == 2.5e-7
    assert SERIES.delta_of(4, 1.0) == promise.total.reached
    reached = [SERIES.delta_of(rounds, 1.0) for rounds in (1, 2, 3, 4)]
    assert reached == sorted(reached)


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        (("total", "epsilon"), "0.9", "for all 4 rounds together, but its parameters give"),
        (("total", "delta"), "9e-7", "for all 4 rounds together"),
        (("rounds",), 5, "for all 5 rounds together"),
        (("guarantee", "epsilon"), "0.5", "the task claims"),
        (("honest_users",), 150, "which is weaker"),
        (("most_messages",), 5, "most_messages=5 is too small"),
    ],
)
def test_false_claims_are_refused(path, value, reason):
    with pytest.raises(BrokenPromiseError) as caught:
        series_of(changed(path, value)).check()
    assert reason in str(caught.value)


def test_limits_are_limits_on_the_total():
    SERIES.check((1.0, 1e-6))
    one = (SERIES.guarantee.epsilon, SERIES.guarantee.delta)
    with pytest.raises(BrokenPromiseError, match="all 4 rounds together give"):
        SERIES.check(one)
    SERIES.task(1).check(one)


def test_random_changes_of_bytes_never_give_another_error():
    """Any change of one byte is refused as no series, or gives a series of another id."""
    content = SERIES.canonical
    for at, new in product(range(0, len(content), 7), (0, 48, 125, 255)):
        if content[at] == new:
            continue
        try:
            other = series_of(content[:at] + bytes([new]) + content[at + 1 :])
        except TaskError:
            continue
        assert other.id != SERIES.id


def test_times_are_in_utc():
    assert SERIES.opens.tzinfo is UTC
    assert SERIES.opens_at(2) == datetime(2027, 1, 8, tzinfo=UTC)
    assert isinstance(SERIES, Series)
    assert isinstance(SERIES.task(1), Task)
    assert msgspec.to_builtins(SERIES)["kind"] == "series"

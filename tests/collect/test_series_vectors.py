"""The vectors of series: ids, rounds, times, limits on all rounds together, and corrupted files."""

import json
from pathlib import Path

import pytest

from shuffledp.collect.task import read_series, series_of, task_of
from shuffledp.collect.task.series import task_or_series_of
from shuffledp.errors import BrokenPromiseError, TaskError

FOLDER = Path(__file__).parent.parent.parent / "vectors"
VECTORS = json.loads((FOLDER / "series.json").read_text())


def named(kind):
    return pytest.mark.parametrize("vector", VECTORS[kind], ids=[vector["name"] for vector in VECTORS[kind]])


@named("valid")
def test_valid(vector):
    series = read_series(FOLDER / vector["file"])
    assert series.canonical.decode() == vector["canonical"]
    assert series.name == vector["id"]
    assert series.rounds == vector["rounds"]
    assert series.check().total.strength == vector["strength"]
    for expected in vector["open_round_at"]:
        assert series.round_at(expected["time"]) == expected["round"]
    for expected in vector["tasks"]:
        task = series.task(expected["round"])
        assert (task.name, task.opening, task.closing) == (expected["id"], expected["opens"], expected["closes"])
        if expected["canonical"] is not None:
            assert task_of(expected["canonical"].encode()) == task


@named("valid")
def test_limits_on_all_rounds_together(vector):
    series = read_series(FOLDER / vector["file"])
    assert {limit["allowed"] for limit in vector["limits"]} == {True, False}
    for limit in vector["limits"]:
        if limit["allowed"]:
            series.check((limit["epsilon"], limit["delta"]))
        else:
            with pytest.raises(BrokenPromiseError, match="rounds together give"):
                series.check((limit["epsilon"], limit["delta"]))


@named("corrupted")
def test_corrupted(vector):
    content = vector["content"].encode()
    if vector["reason"] == "broken-promise":
        with pytest.raises(BrokenPromiseError) as caught:
            series_of(content).check()
    else:
        with pytest.raises(TaskError) as caught:
            (task_of if vector["reason"] == "no-task" else series_of)(content)
        with pytest.raises(TaskError):
            task_or_series_of(content)
    assert vector["says"] in str(caught.value)

"""What a shuffler says about a task, read without trust: only what it should say, of bounded size, or nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shuffledp.collection.reasons import Reason
from shuffledp.collection.task import Task
from shuffledp.words import shown

MOST_BYTES = 64 * 1024
"""Of an answer: twenty times what an honest one has."""

_LARGEST = 2**53
"""Of a number, which other readers of JSON would take for another beyond."""
_MOST_PROBLEMS, _LONGEST_PROBLEM = 10, 400
"""So many sentences are read; a shuffler has half a dozen of them, each of two lines."""

OTHER = "other"
"""The reason of refusals whose reason is none that we know."""


@dataclass(frozen=True, kw_only=True)
class HopStatus:
    """The public counters of a shuffler: reports in no batch, batches made and handed on, refusals, problems."""

    waiting: int
    batches: int
    acknowledged: int
    short_by: int | None
    refused: Mapping[str, int] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


def read_status(content: bytes, task: Task, position: int) -> HopStatus:
    """The status in an answer; a ValueError if it is none of this task at this place of the chain."""
    try:
        said = json.loads(content)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(said, dict) or (said.get("task"), said.get("position")) != (task.name, position):
        raise ValueError("another task, or another place")
    short_by = said.get("short_by")
    return HopStatus(
        waiting=_number(said.get("waiting")),
        batches=_number(said.get("batches")),
        acknowledged=_number(said.get("batches_acknowledged")),
        short_by=None if short_by is None else _number(short_by),
        refused=_refused(said.get("refused")),
        problems=_problems(said.get("problems")),
    )


def _number(value: Any) -> int:
    if type(value) is not int or not 0 <= value < _LARGEST:
        raise ValueError("no count")
    return value


def _refused(value: Any) -> dict[str, int]:
    if not isinstance(value, dict):
        raise ValueError("no counts")
    known, found = set(Reason), dict.fromkeys([*Reason, OTHER], 0)
    for reason, number in value.items():
        found[reason if reason in known else OTHER] += _number(number)
    return {str(reason): number for reason, number in found.items() if number}


def _problems(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ValueError("no sentences")
    return tuple(shown(each, width=_LONGEST_PROBLEM) for each in value[:_MOST_PROBLEMS])

"""The shuffled model between real machines: no server holds the data.

person --Client--> report --Shuffler (1..k in a chain)--> batch --Analyzer--> tally --> release

The names below are what most programs need; each is loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shuffledp.errors import MissingExtraError
from shuffledp.lazy_import import lazy_names

if TYPE_CHECKING:
    from shuffledp.collect.client.client import Client
    from shuffledp.collect.client.transport import Receipt
    from shuffledp.collect.crypto.keys import KeyPair, read_key, write_key
    from shuffledp.collect.reasons import Reason
    from shuffledp.collect.simulation.crowd import CrowdResult, send_crowd
    from shuffledp.collect.task.answers import (
        AnswerChoices,
        AnswerEdges,
        AnswerList,
        AnswerRange,
        AnswersElsewhere,
        AnswerText,
        PieceAlphabet,
        PieceList,
    )
    from shuffledp.collect.task.guarantee import Promise
    from shuffledp.collect.task.new_task import new_series, new_task
    from shuffledp.collect.task.series import Series, SeriesPromise, read_series
    from shuffledp.collect.task.servers import Place, Servers
    from shuffledp.collect.task.task import Task, read_task

_load, __dir__ = lazy_names(
    __name__,
    {
        "client.client": ("Client",),
        "client.transport": ("Receipt",),
        "crypto.keys": (
            "KeyPair",
            "read_key",
            "write_key",
        ),
        "reasons": ("Reason",),
        "simulation.crowd": (
            "CrowdResult",
            "send_crowd",
        ),
        "task.answers": (
            "AnswerChoices",
            "AnswerEdges",
            "AnswerList",
            "AnswerRange",
            "AnswerText",
            "AnswersElsewhere",
            "PieceAlphabet",
            "PieceList",
        ),
        "task.guarantee": ("Promise",),
        "task.new_task": ("new_series", "new_task"),
        "task.series": (
            "Series",
            "SeriesPromise",
            "read_series",
        ),
        "task.servers": (
            "Place",
            "Servers",
        ),
        "task.task": (
            "Task",
            "read_task",
        ),
    },
)

_LIBRARIES = ("cryptography", "httptools", "httpx", "msgspec")
"""Libraries that a client needs beyond the core."""


def __getattr__(name: str) -> Any:
    try:
        return _load(name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in _LIBRARIES:
            raise MissingExtraError(", ".join(_LIBRARIES), extra="collect") from None
        raise


__all__ = [
    "AnswerChoices",
    "AnswerEdges",
    "AnswerList",
    "AnswerRange",
    "AnswerText",
    "AnswersElsewhere",
    "Client",
    "CrowdResult",
    "KeyPair",
    "PieceAlphabet",
    "PieceList",
    "Place",
    "Promise",
    "Reason",
    "Receipt",
    "Series",
    "SeriesPromise",
    "Servers",
    "Task",
    "new_series",
    "new_task",
    "read_key",
    "read_series",
    "read_task",
    "send_crowd",
    "write_key",
]

"""The shuffled model between real machines: nobody holds the data.

person --Client--> report --Shuffler (1..k in a chain)--> batch --Analyzer--> tally --> release

These names are what most programs need; each is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shuffledp.errors import MissingExtraError
from shuffledp.lazily import lazy_names

if TYPE_CHECKING:
    from shuffledp.collection.client.client import Client
    from shuffledp.collection.client.crowd import CrowdResult, send_crowd
    from shuffledp.collection.client.sending import Receipt
    from shuffledp.collection.envelope.keys import KeyPair, read_key, write_key
    from shuffledp.collection.reasons import Reason
    from shuffledp.collection.task.answers import AnswerList, AnswerRange, AnswersElsewhere
    from shuffledp.collection.task.making import new_task
    from shuffledp.collection.task.promise import Promise
    from shuffledp.collection.task.task import Place, Task, read_task

_load, __dir__ = lazy_names(
    __name__,
    {
        "client.client": ("Client",),
        "client.crowd": ("CrowdResult", "send_crowd"),
        "client.sending": ("Receipt",),
        "envelope.keys": ("KeyPair", "read_key", "write_key"),
        "reasons": ("Reason",),
        "task.answers": ("AnswerList", "AnswerRange", "AnswersElsewhere"),
        "task.making": ("new_task",),
        "task.promise": ("Promise",),
        "task.task": ("Place", "Task", "read_task"),
    },
)

_LIBRARIES = ("cryptography", "httptools", "httpx", "msgspec")
"""What people's side needs beyond the core."""


def __getattr__(name: str) -> Any:
    try:
        return _load(name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in _LIBRARIES:
            raise MissingExtraError(", ".join(_LIBRARIES), extra="collect") from None
        raise


__all__ = [
    "AnswerList",
    "AnswerRange",
    "AnswersElsewhere",
    "Client",
    "CrowdResult",
    "KeyPair",
    "Place",
    "Promise",
    "Reason",
    "Receipt",
    "Task",
    "new_task",
    "read_key",
    "read_task",
    "send_crowd",
    "write_key",
]

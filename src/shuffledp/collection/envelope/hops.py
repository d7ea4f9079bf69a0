"""The hops of a task in order: whose key it is, what its owner opens, and what they are called."""

from __future__ import annotations

from shuffledp.collection.envelope.keys import KeyPair
from shuffledp.collection.envelope.opening import Layer
from shuffledp.collection.task import Task
from shuffledp.errors import ParameterError


def position_of(task: Task, key: KeyPair) -> int:
    """Where the owner of a key is in the chain: shufflers are 0, 1, ... in their order, the analyzer is the next."""
    for position, place in enumerate([*task.shufflers, task.analyzer]):
        if place.key == key.public:
            return position
    raise ParameterError(
        f"the key with the public part {key.public[:16]} is not that of any server of the task {task.name[:16]}: give "
        "the one that was made for it"
    )


def layer_of(task: Task, key: KeyPair) -> Layer:
    """The layer of onions that the owner of a key opens."""
    position = position_of(task, key)
    return Layer(task.id, position, task.onion_length(position), key.private_bytes)


def name_of(task: Task, position: int) -> str:
    """A hop in words."""
    return "the analyzer" if position == len(task.shufflers) else f"shuffler {position + 1} of {len(task.shufflers)}"

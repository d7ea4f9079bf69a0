"""What a shuffler serves and how: all of it checked before the first request."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from shuffledp.collection.envelope.keys import KeyPair
from shuffledp.collection.service.pulling import Upstream
from shuffledp.collection.service.tokens import Accepted
from shuffledp.collection.shuffler.admission import Admission, Anybody
from shuffledp.collection.stores import ReportStore
from shuffledp.collection.task import Task
from shuffledp.errors import ParameterError

LOOKS_EVERY = 0.5
"""Seconds between looks at whether a batch is complete, or waits upstream: far below what mixing one takes."""


@dataclass(frozen=True, kw_only=True)
class Served:
    """A task, the place of this shuffler in its chain, and the key that decided it.

    `upstream` is the shuffler before this one; the first has none, and takes reports from those whom `admission` lets
    in.
    """

    task: Task
    position: int
    key: KeyPair
    admission: Admission = field(default_factory=Anybody)
    upstream: Upstream | None = None


def position_of(task: Task, key: KeyPair) -> int:
    """The place of the shuffler that has this key; the analyzer is none."""
    if key.public == task.analyzer.key:
        raise ParameterError("the key is the analyzer's: whoever mixes and counts could see who sent what")
    for at, place in enumerate(task.shufflers):
        if place.key == key.public:
            return at
    raise ParameterError(f"the key is of none of the {len(task.shufflers)} shufflers of the task {task.name[:16]}")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The tasks of a shuffler, its store, and the tokens of those who pull batches from it.

    `most_per_second` is of this process. `background` is off in all but one of the processes of a server. `processes`
    open layers; `clock` gives seconds since 1970. A store that it owns is closed at the end of the application.
    """

    served: Sequence[Served]
    store: ReportStore
    next_hops: Accepted
    most_per_second: float | None = None
    background: bool = True
    owns_store: bool = False
    processes: int | None = None
    every: float = LOOKS_EVERY
    clock: Callable[[], float] = time.time

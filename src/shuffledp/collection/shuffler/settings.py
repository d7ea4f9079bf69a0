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

    @property
    def next_hop(self) -> str:
        """The address, in the task, of whoever fetches its batches here."""
        return (*self.task.shufflers, self.task.analyzer)[self.position + 1].address

    def __post_init__(self) -> None:
        if (self.position > 0) != (self.upstream is not None):
            raise ParameterError("a later shuffler needs the one before it as upstream, and the first has none")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The tasks of a shuffler, its store, and the tokens of those who pull batches from it.

    Whoever has such a token gets the batches of all tasks, so these must have the same next hop.
    `page` serves the page that asks, for the tasks of which this is the first shuffler. `most_per_second` is of this
    process. `background` is off in all but one of the processes of a server. `processes`
    open layers; `clock` gives seconds since 1970. All upstreams, and a store that it owns, are closed at the end of the
    application.
    """

    served: Sequence[Served]
    store: ReportStore
    next_hops: Accepted
    page: bool = False
    most_per_second: float | None = None
    background: bool = True
    owns_store: bool = False
    processes: int | None = None
    every: float = LOOKS_EVERY
    clock: Callable[[], float] = time.time

    def __post_init__(self) -> None:
        check_next_hops(self.served)


def check_next_hops(served: Sequence[Served]) -> None:
    """Refuses tasks with different next hops, each of which could fetch and delete the batches of the others."""
    if len({each.next_hop for each in served}) > 1:
        raise ParameterError(
            "the tasks have different next hops, and a token given with --next opens the batches of all of them: run "
            "one shuffler for each next hop, with a store of its own"
        )

"""Who may send a report: anybody, whoever knows a secret, or whoever holds a one-time token.

Without one a forger can fill a batch with reports of its own and is left with one person's messages: that
`honest_users` people of a batch follow the protocol is an assumption, and admission is what makes it true.

What a shuffler serves and how: all of it checked before the first request.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from shuffledp.collect.crypto.keys import KeyPair
from shuffledp.collect.reasons import Reason, Refused
from shuffledp.collect.server.auth import Accepted, hash_of
from shuffledp.collect.server.pull import BatchSource
from shuffledp.collect.store import ReportStore
from shuffledp.collect.task import Task
from shuffledp.errors import ParameterError


class Admission(Protocol):
    """Decides about a report by what came with it."""

    def spends(self, token: str | None) -> bytes | None:
        """The hash of the one-time token that the report spends, if any; refused without what is needed."""


@dataclass(frozen=True)
class Anybody:
    """Everybody is let in."""

    def spends(self, token: str | None) -> None:
        """Nothing."""


@dataclass(frozen=True)
class SharedSecret:
    """Whoever knows the secret, as often as they like."""

    secret: Accepted

    def spends(self, token: str | None) -> None:
        """Nothing, but the secret must be right."""
        if token not in self.secret:
            raise Refused(Reason.NOT_ADMITTED)


@dataclass(frozen=True)
class OneTimeTokens:
    """Whoever has a token that is not spent; the store spends it in the transaction that keeps the report."""

    def spends(self, token: str | None) -> bytes:
        """The hash of the token, of which only the store knows whether it is good."""
        if token is None:
            raise Refused(Reason.NOT_ADMITTED)
        return hash_of(token)


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
    upstream: BatchSource | None = None

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

"""What an analyzer serves and how."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from shuffledp.collect.crypto.keys import KeyPair
from shuffledp.collect.server.auth import Accepted
from shuffledp.collect.server.pull import BatchSource
from shuffledp.collect.store import TallyStore
from shuffledp.collect.task import Task
from shuffledp.collect.web.sessions import Sessions
from shuffledp.ledger import Ledger

LOOKS_EVERY = 0.5
"""Seconds between looks at whether a batch waits upstream: far below what counting one takes."""

NOBODY = Accepted(())
"""Without an operator's token there is no operator's view."""

PAUSE_AFTER_WRONG = 1.0
"""Seconds before a wrong token of the operator is answered."""


@dataclass(frozen=True, kw_only=True)
class Served:
    """A task, the analyzer's key in it, and its last shuffler."""

    task: Task
    key: KeyPair
    upstream: BatchSource


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The tasks of an analyzer, its store, and the ledger that their releases are entered in.

    With `joined` each release is of all batches so far, instead of every batch by itself. `processes` open messages.
    Of tasks that are `only_shown`, as once their key is destroyed, the releases that are there can be seen. Whoever has
    a token of the `operators` may see what goes on, in one of the `sessions`; the last shuffler is asked how it is at
    `upstream`, if not at its address in the task. All upstreams, and a store that it owns, are closed at the end of the
    application.
    """

    served: Sequence[Served]
    store: TallyStore
    ledger: Ledger | str | Path | None = None
    joined: bool = False
    processes: int | None = None
    owns_store: bool = False
    every: float = LOOKS_EVERY
    only_shown: Sequence[Task] = ()
    upstream: str | None = None
    operators: Accepted = NOBODY
    sessions: Sessions = field(default_factory=Sessions)
    pause_after_wrong: float = PAUSE_AFTER_WRONG

    @property
    def tasks(self) -> Iterable[Task]:
        """All tasks."""
        return [*(served.task for served in self.served), *self.only_shown]

"""The events that servers log, by stable names: alerts and log searches may rely on them."""

from __future__ import annotations

from enum import StrEnum


class Event(StrEnum):
    """The name of a log line. A name never changes its meaning; `meaning` is a sentence for operators."""

    READY = "ready"
    STOPPED = "stopped"
    CANNOT_START = "cannot-start"
    PROCESS_RESTARTED = "process-restarted"
    LIBRARY_MESSAGE = "library-message"
    UNEXPECTED_ERROR = "unexpected-error"
    BACKGROUND_FAILED = "background-failed"
    STORE_FAILED = "store-failed"
    STORE_RECOVERED = "store-recovered"
    REPORTS_NOT_STORED = "reports-not-stored"
    REFUSALS_NOT_COUNTED = "refusals-not-counted"
    KEY_SHARED = "key-shared"
    KEY_DESTROYED = "key-destroyed"
    TOKENS_SPENT = "tokens-spent"
    BATCH_CLOSED = "batch-closed"
    BATCH_MIXED = "batch-mixed"
    BATCH_COUNTED = "batch-counted"
    BATCH_REFUSED = "batch-refused"
    BATCH_FAILED = "batch-failed"
    UPSTREAM_FAILED = "upstream-failed"
    TASK_CLOSED = "task-closed"
    TASK_ADDED = "task-added"
    TASK_NOT_SERVED = "task-not-served"
    TASK_CLOSED_EARLY = "task-closed-early"
    TASK_REMOVED = "task-removed"
    HASHES_ADDED = "admission-hashes-added"
    RELEASED = "released"
    RELEASE_FAILED = "release-failed"
    RELEASES_STOPPED = "releases-stopped"
    BUDGET_EXCEEDED = "budget-exceeded"
    LEDGER_NOT_MARKED = "ledger-not-marked"
    TREND_FAILED = "trend-failed"
    CONSOLE_FAILED = "console-failed"

    @property
    def meaning(self) -> str:
        """What happened, in one sentence."""
        return _MEANINGS[self]


_MEANINGS = {
    Event.READY: "The server answers at `address`.",
    Event.STOPPED: "The server has ended after a signal.",
    Event.CANNOT_START: "The server or one of its processes cannot start.",
    Event.PROCESS_RESTARTED: "A worker process ended with exit code `code` and was started again.",
    Event.LIBRARY_MESSAGE: "A library reported an error; its text may contain addresses and is left out.",
    Event.UNEXPECTED_ERROR: "A request failed with an error of the program.",
    Event.BACKGROUND_FAILED: "A step of the background work failed; it is repeated.",
    Event.STORE_FAILED: "The store cannot be read or written; `reason` says why.",
    Event.STORE_RECOVERED: "The store can be written again.",
    Event.REPORTS_NOT_STORED: "The commit of `reports` reports failed; none of them was acknowledged.",
    Event.REFUSALS_NOT_COUNTED: "Counters of refusals were lost at the end of the process.",
    Event.KEY_SHARED: "Several tasks use one key, which is destroyed with the first of them: make a key for each task.",
    Event.KEY_DESTROYED: "The key file of a task is gone; its private key was dropped, and nothing is opened any more.",
    Event.TOKENS_SPENT: "No unspent one-time token or secret is known, so no report can be admitted.",
    Event.BATCH_CLOSED: "A batch of `people` reports is complete.",
    Event.BATCH_MIXED: "A batch was mixed and waits for the next server.",
    Event.BATCH_COUNTED: "The analyzer counted a batch.",
    Event.BATCH_REFUSED: "A batch has too few messages, so its noise is incomplete; it is not used.",
    Event.BATCH_FAILED: "A batch could not be closed, fetched, processed or acknowledged; it is retried.",
    Event.UPSTREAM_FAILED: (
        "The previous server cannot be reached or refuses; `reason` and `why` say more. "
        "The level is `info` while it does not know the task: the task may be added there later."
    ),
    Event.TASK_CLOSED: "The task has closed; `short_by` reports are missing from its last batch.",
    Event.TASK_ADDED: "An operator added a task or series.",
    Event.TASK_NOT_SERVED: "A task in the store cannot be served by this process; it is retried.",
    Event.TASK_CLOSED_EARLY: "An operator closed a task or series before its time.",
    Event.TASK_REMOVED: "An operator removed a task or series.",
    Event.HASHES_ADDED: "An operator added `hashes` new hashes of tokens or of a secret.",
    Event.RELEASED: "A release is visible.",
    Event.RELEASE_FAILED: "A release could not be made; it is retried.",
    Event.RELEASES_STOPPED: "More people were counted than have reported, so no further release is made.",
    Event.BUDGET_EXCEEDED: "A release would exceed the budget of the ledger, so it is not made.",
    Event.LEDGER_NOT_MARKED: "A release is visible and its entry in the ledger could not be marked as finished.",
    Event.TREND_FAILED: "The rounds of a series could not be compared.",
    Event.CONSOLE_FAILED: "The console could not read its data.",
}

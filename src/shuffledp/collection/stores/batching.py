"""Reports that wait become batches of exactly so many.

A batch is `closed` (its reports are chosen), then `mixed`, then `acknowledged` by the next hop. Each step is one
transaction, after which what is no longer needed is deleted (see `tidying`).
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator

from shuffledp.collection.stores.arriving import count
from shuffledp.collection.stores.database import Database, Transaction
from shuffledp.errors import DataError

CLOSED, MIXED, ACKNOWLEDGED, DROPPED, REFUSED = "closed", "mixed", "acknowledged", "dropped", "refused"
"""States of a batch; a dropped one holds what was in no batch when the task expired, until that is deleted.

Of a refused one, which a later shuffler did not hand on, there is nothing but its id.
"""

BATCH_ID_BYTES = 16

BLOCK = 1 << 20
"""Bytes that are read or written at a time."""

_FIRST_REPORTS = 16
"""Reports to read at first; then as many as make a block, by the size of those before."""


def waiting(transaction: Transaction, task: int) -> int:
    """Reports of a task that are in no batch."""
    ((number,),) = transaction.rows("SELECT COALESCE(SUM(waiting), 0) FROM counts WHERE task = ?", task)
    return int(number)


def close(transaction: Transaction, task: int, users: int, *, state: str = CLOSED) -> bytes | None:
    """Makes a batch of exactly `users` reports, chosen at random by their places; None if fewer wait."""
    transaction.lock(f"batches {task}")
    if waiting(transaction, task) < users:
        return None
    batch_id = secrets.token_bytes(BATCH_ID_BYTES)
    chosen = transaction.run(
        "INSERT INTO members (batch_id, place) SELECT ?, place FROM waiting WHERE task = ? ORDER BY place LIMIT ?",
        *(batch_id, task, users),
    )
    moved = transaction.run(
        "DELETE FROM waiting WHERE task = ? AND place IN (SELECT place FROM members WHERE batch_id = ?)", task, batch_id
    )
    if not chosen == moved == users:
        raise DataError("the store has counted other reports than it holds: it is damaged; make new tasks")
    count(transaction, task, waiting=-users)
    columns = ("batch_id", "task", "state", "people", "number", "pieces", "tidy")
    transaction.insert("batches", columns, [(batch_id, task, state, users, 0, 0, 0)])
    return batch_id


def onions(database: Database, batch_id: bytes) -> Iterator[bytes]:
    """The onions of a closed batch's reports, in blocks, each of which ends where a report ends."""
    with database.reading() as transaction:
        found = transaction.rows("SELECT people FROM batches WHERE batch_id = ? AND state = ?", batch_id, CLOSED)
    if not found:
        raise DataError("there is no such batch that waits to be mixed: another process may have mixed it by now")
    return _onions(database, batch_id, people=found[0][0])


def _onions(database: Database, batch_id: bytes, *, people: int) -> Iterator[bytes]:
    """Every block is read by itself, so that nobody waits for a reader; none may be missing at the end."""
    place, reports = -1, _FIRST_REPORTS
    while places := _places(database, batch_id, place, reports):
        with database.reading() as transaction:
            rows = transaction.rows_among("SELECT onions FROM onions WHERE place {keys}", places)
        place, people = places[-1], people - len(rows)
        block = b"".join(content for (content,) in rows)
        reports = max(1, min(2 * reports, reports * BLOCK // max(1, len(block))))
        yield block
    if people:
        raise DataError("a batch was mixed by another process while this one read it: use what that one kept")


def _places(database: Database, batch_id: bytes, after: int, most: int) -> list[int]:
    with database.reading() as transaction:
        rows = transaction.rows(
            "SELECT place FROM members WHERE batch_id = ? AND place > ? ORDER BY place LIMIT ?", batch_id, after, most
        )
    return [place for (place,) in rows]

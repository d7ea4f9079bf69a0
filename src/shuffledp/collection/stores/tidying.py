"""Deletes what a batch no longer needs, in transactions so small that nobody waits for them.

A closed batch needs the onions of its reports, a mixed one its pieces, and an acknowledged one nothing. A process that
is killed on the way leaves a batch that is not marked as tidy; the next one goes on with it.
"""

from __future__ import annotations

from shuffledp.collection.stores.batching import CLOSED, DROPPED, MIXED
from shuffledp.collection.stores.database import Database, Transaction

_REPORTS = 1_000
_PIECES = 16
"""In one transaction: a fraction of a second for reports of usual sizes."""

_MOST_DRAFTS = 3
"""Of one batch: seldom do so many processes mix the same one."""


def tidy_all(database: Database, task: int) -> None:
    """Tidies all batches of a task that are not yet."""
    with database.reading() as transaction:
        left = transaction.rows("SELECT batch_id FROM batches WHERE task = ? AND tidy = 0 AND state <> ?", task, CLOSED)
    for (batch_id,) in left:
        tidy(database, batch_id)


def tidy(database: Database, batch_id: bytes) -> None:
    """Deletes what a batch that is not only closed has left behind, also on the disk."""
    place: int | None = -1
    while place is not None:
        place = _delete_reports(database, batch_id, after=place)
    while not _delete_drafts(database, batch_id):
        pass
    database.forget("onions", "waiting", "members", "drafts", "pieces")


def delete_draft(database: Database, batch_id: bytes, draft: bytes) -> None:
    """Deletes a draft, unless it has become the batch."""
    done = False
    while not done:
        with database.changing() as transaction:
            transaction.lock(f"drafts {batch_id.hex()}")
            kept = transaction.rows("SELECT 1 FROM batches WHERE batch_id = ? AND draft = ?", batch_id, draft)
            done = bool(kept) or _delete_some(transaction, batch_id, draft)


def delete_abandoned_drafts(database: Database, batch_id: bytes) -> None:
    """Deletes all drafts of a batch if there are many: processes that were killed have left them.

    One or two may belong to processes that are writing them now, which would have to begin again.
    """
    with database.reading() as transaction:
        drafts = transaction.rows("SELECT draft FROM drafts WHERE batch_id = ?", batch_id)
    if len(drafts) >= _MOST_DRAFTS:
        for (draft,) in drafts:
            delete_draft(database, batch_id, draft)


def _delete_reports(database: Database, batch_id: bytes, *, after: int) -> int | None:
    """Deletes some of a batch's reports; the last of their places, or None if there were no more.

    In the order of their places, so that PostgreSQL need not step over those that were deleted before.
    """
    with database.changing() as transaction:
        transaction.lock(f"drafts {batch_id.hex()}")
        if _untidy(transaction, batch_id) is None:
            return None
        rows = transaction.rows(
            "SELECT place FROM members WHERE batch_id = ? AND place > ? ORDER BY place LIMIT ?",
            *(batch_id, after, _REPORTS),
        )
        places = [int(place) for (place,) in rows]
        transaction.run_among("DELETE FROM onions WHERE place {keys}", places)
        transaction.run_among("DELETE FROM members WHERE batch_id = ? AND place {keys}", places, batch_id)
    return places[-1] if places else None


def _delete_drafts(database: Database, batch_id: bytes) -> bool:
    """Deletes some of the drafts that a batch does not need, or marks it as tidy; whether that was the last step.

    It needs the one that was kept, until it is acknowledged.
    """
    with database.changing() as transaction:
        transaction.lock(f"drafts {batch_id.hex()}")
        found = _untidy(transaction, batch_id)
        if found is None:
            return True
        state, kept = found
        rows = transaction.rows("SELECT draft FROM drafts WHERE batch_id = ?", batch_id)
        needless = [draft for (draft,) in rows if not (state == MIXED and draft == kept)]
        if needless:
            _delete_some(transaction, batch_id, needless[0])
        elif state == DROPPED:
            transaction.run("DELETE FROM batches WHERE batch_id = ?", batch_id)
        else:
            transaction.run("UPDATE batches SET tidy = 1 WHERE batch_id = ?", batch_id)
        return not needless


def _untidy(transaction: Transaction, batch_id: bytes) -> tuple[str, bytes | None] | None:
    """State and kept draft of a batch that has something to delete; None if it is tidy, or still needs everything."""
    rows = transaction.rows(
        "SELECT state, draft FROM batches WHERE batch_id = ? AND tidy = 0 AND state <> ?", batch_id, CLOSED
    )
    return rows[0] if rows else None


def _delete_some(transaction: Transaction, batch_id: bytes, draft: bytes) -> bool:
    """Deletes some pieces of a draft, or it itself if it has none; whether that was the last step."""
    deleted = transaction.run(
        "DELETE FROM pieces WHERE draft = ? AND piece IN (SELECT piece FROM pieces WHERE draft = ? LIMIT ?)",
        *(draft, draft, _PIECES),
    )
    if deleted:
        return False
    transaction.run("DELETE FROM drafts WHERE batch_id = ? AND draft = ?", batch_id, draft)
    return True

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
    while not _step(database, batch_id):
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


def _step(database: Database, batch_id: bytes) -> bool:
    """One transaction of it; whether it was the last."""
    with database.changing() as transaction:
        transaction.lock(f"drafts {batch_id.hex()}")
        found = transaction.rows("SELECT state, draft, tidy FROM batches WHERE batch_id = ?", batch_id)
        if not found or found[0][0] == CLOSED or found[0][2]:
            return True
        state, draft, _ = found[0]
        if _delete_reports(transaction, batch_id) or _delete_draft(transaction, batch_id, draft, state):
            return False
        if state == DROPPED:
            transaction.run("DELETE FROM batches WHERE batch_id = ?", batch_id)
        else:
            transaction.run("UPDATE batches SET tidy = 1 WHERE batch_id = ?", batch_id)
        return True


def _delete_reports(transaction: Transaction, batch_id: bytes) -> bool:
    """Deletes some of a batch's reports; whether there were any."""
    rows = transaction.rows("SELECT place FROM members WHERE batch_id = ? ORDER BY place LIMIT ?", batch_id, _REPORTS)
    places = [place for (place,) in rows]
    transaction.run_among("DELETE FROM onions WHERE place {keys}", places)
    transaction.run_among("DELETE FROM members WHERE batch_id = ? AND place {keys}", places, batch_id)
    return bool(places)


def _delete_draft(transaction: Transaction, batch_id: bytes, kept: bytes | None, state: str) -> bool:
    """Deletes some of a draft that is not needed: any but the one that was kept, and that one once acknowledged."""
    rows = transaction.rows("SELECT draft FROM drafts WHERE batch_id = ?", batch_id)
    needless = [draft for (draft,) in rows if not (state == MIXED and draft == kept)]
    if not needless:
        return False
    _delete_some(transaction, batch_id, needless[0])
    return True


def _delete_some(transaction: Transaction, batch_id: bytes, draft: bytes) -> bool:
    """Deletes some pieces of a draft, or it itself if it has none; whether that was the last step."""
    deleted = transaction.run(
        "DELETE FROM pieces WHERE draft = ? AND piece IN (SELECT piece FROM pieces WHERE draft = ? LIMIT ?)",
        *(draft, draft, _PIECES),
    )
    return not deleted and transaction.run("DELETE FROM drafts WHERE batch_id = ? AND draft = ?", batch_id, draft) >= 0

"""Reports that wait become batches of exactly so many.

A batch is `closed` (its reports are chosen), then `mixed`, then `acknowledged` by the next hop. Each step is one
transaction, after which what is no longer needed is deleted (see `tidying`).

Mixed batches: written once, read by the next hop as often as it asks, until it has acknowledged them.

The bytes are written piece by piece as a draft that nobody sees, so that reports can be added meanwhile; one
transaction then makes the draft the batch. Of two processes that mix the same batch the first one's draft stays.

Deletes what a batch no longer needs, in transactions so small that nobody waits for them.

A closed batch needs the onions of its reports, a mixed one its pieces, and an acknowledged one nothing. A process that
is killed on the way leaves a batch that is not marked as tidy; the next one goes on with it.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from shuffledp.collect.crypto.batch import in_blocks
from shuffledp.collect.store.arrivals import count
from shuffledp.collect.store.database import ConflictError, Database, Transaction
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
    with database.estimator() as transaction:
        found = transaction.rows("SELECT people FROM batches WHERE batch_id = ? AND state = ?", batch_id, CLOSED)
    if not found:
        raise DataError("there is no such batch that waits to be mixed: another process may have mixed it by now")
    return _onions(database, batch_id, people=found[0][0])


def _onions(database: Database, batch_id: bytes, *, people: int) -> Iterator[bytes]:
    """Every block is read by itself, so that nobody waits for a reader; none may be missing at the end."""
    place, reports = -1, _FIRST_REPORTS
    while places := _places(database, batch_id, place, reports):
        with database.estimator() as transaction:
            rows = transaction.rows_among("SELECT onions FROM onions WHERE place {keys}", places)
        place, people = places[-1], people - len(rows)
        block = b"".join(content for (content,) in rows)
        reports = max(1, min(2 * reports, reports * BLOCK // max(1, len(block))))
        yield block
    if people:
        raise DataError("a batch was mixed by another process while this one read it: use what that one kept")


def _places(database: Database, batch_id: bytes, after: int, most: int) -> list[int]:
    with database.estimator() as transaction:
        rows = transaction.rows(
            "SELECT place FROM members WHERE batch_id = ? AND place > ? ORDER BY place LIMIT ?", batch_id, after, most
        )
    return [place for (place,) in rows]


def state_of(transaction: Transaction, batch_id: bytes) -> str | None:
    """The state of a batch; None if there is none."""
    found = transaction.rows("SELECT state FROM batches WHERE batch_id = ?", batch_id)
    return str(found[0][0]) if found else None


def write_draft(database: Database, batch_id: bytes, blocks: Iterable[bytes]) -> tuple[bytes, int] | None:
    """Writes a draft of a batch; its random name and how many pieces it has, or None if the batch is kept already."""
    draft, pieces = secrets.token_bytes(BATCH_ID_BYTES), 0
    delete_abandoned_drafts(database, batch_id)
    with database.changing() as transaction:
        transaction.lock(f"drafts {batch_id.hex()}")
        if state_of(transaction, batch_id) not in (None, CLOSED):
            return None
        transaction.insert("drafts", ("batch_id", "draft"), [(batch_id, draft)])
    try:
        for piece in in_blocks(blocks, BLOCK):
            with database.changing() as transaction:
                transaction.lock(f"drafts {batch_id.hex()}")
                if not _is_there(transaction, batch_id, draft):
                    break  # another process has kept the batch, and deleted the drafts of everybody else
                transaction.insert("pieces", ("draft", "piece", "bytes"), [(draft, pieces, piece)])
            pieces += 1
    except BaseException:
        with suppress(DataError):  # what stopped the writing may stop this too, and then it is done later
            delete_draft(database, batch_id, draft)
        raise
    return draft, pieces


def keep_draft(transaction: Transaction, task: int, batch_id: bytes, *, draft: bytes, pieces: int, number: int) -> bool:
    """Makes a draft the batch, unless there is one; whether it did."""
    transaction.lock(f"drafts {batch_id.hex()}")
    state = state_of(transaction, batch_id)
    if state not in (None, CLOSED):
        return False
    ((written,),) = transaction.rows("SELECT COUNT(*) FROM pieces WHERE draft = ?", draft)
    if written != pieces or not _is_there(transaction, batch_id, draft):
        raise ConflictError("a mixed batch was deleted while it was written: mix it again")
    if state is None:  # from a shuffler before this one
        columns = ("batch_id", "task", "state", "people", "number", "draft", "pieces", "tidy")
        transaction.insert("batches", columns, [(batch_id, task, MIXED, 0, number, draft, pieces, 0)])
    else:
        transaction.run(
            "UPDATE batches SET state = ?, number = ?, draft = ?, pieces = ? WHERE batch_id = ?",
            *(MIXED, number, draft, pieces, batch_id),
        )
    return True


def mixed(database: Database, batch_id: bytes) -> Iterator[bytes]:
    """The bytes of a mixed batch, the same every time, cut anywhere."""
    with database.estimator() as transaction:
        found = transaction.rows("SELECT draft, pieces FROM batches WHERE batch_id = ? AND state = ?", batch_id, MIXED)
    if not found:
        raise DataError("there is no such batch to hand on: it is not mixed yet, or was acknowledged")
    return _read(database, *found[0])


def count_refusals(transaction: Transaction, task: int, reasons: Mapping[str, int]) -> None:
    """Adds to the counters of what was refused."""
    for reason, times in sorted(reasons.items()):  # in one order, so that nobody waits in a ring
        transaction.run(
            "INSERT INTO refusals (task, reason, times) VALUES (?, ?, ?) "
            "ON CONFLICT (task, reason) DO UPDATE SET times = refusals.times + excluded.times",
            *(task, reason, times),
        )


def _is_there(transaction: Transaction, batch_id: bytes, draft: bytes) -> bool:
    return bool(transaction.rows("SELECT 1 FROM drafts WHERE batch_id = ? AND draft = ?", batch_id, draft))


def _read(database: Database, draft: bytes, pieces: int) -> Iterator[bytes]:
    for piece in range(pieces):
        with database.estimator() as transaction:
            found = transaction.rows("SELECT bytes FROM pieces WHERE draft = ? AND piece = ?", draft, piece)
        if not found:
            raise DataError("a batch was acknowledged while it was read: what was read of it is not whole")
        yield bytes(found[0][0])


_REPORTS = 1_000
_PIECES = 16
"""In one transaction: a fraction of a second for reports of usual sizes."""

_MOST_DRAFTS = 3
"""Of one batch: seldom do so many processes mix the same one."""


def tidy_all(database: Database, task: int) -> None:
    """Tidies all batches of a task that are not yet."""
    with database.estimator() as transaction:
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
    with database.estimator() as transaction:
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

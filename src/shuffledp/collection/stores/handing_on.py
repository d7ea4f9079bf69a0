"""Mixed batches: written once, read by the next hop as often as it asks, until it has acknowledged them.

The bytes are written piece by piece as a draft that nobody sees, so that reports can be added meanwhile; one
transaction then makes the draft the batch. Of two processes that mix the same batch the first one's draft stays.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from shuffledp.collection.blocks import in_blocks
from shuffledp.collection.stores.batching import BATCH_ID_BYTES, BLOCK, CLOSED, MIXED
from shuffledp.collection.stores.database import ConflictError, Database, Transaction
from shuffledp.collection.stores.tidying import delete_abandoned_drafts, delete_draft
from shuffledp.errors import DataError


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
    with database.reading() as transaction:
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
        with database.reading() as transaction:
            found = transaction.rows("SELECT bytes FROM pieces WHERE draft = ? AND piece = ?", draft, piece)
        if not found:
            raise DataError("a batch was acknowledged while it was read: what was read of it is not whole")
        yield bytes(found[0][0])

"""Tasks and reports for the tests of stores; their content does not matter."""

import hashlib
import secrets
from dataclasses import dataclass

from shuffledp.collect.store import Arrival

WIDTH = 48
"""Bytes of an onion."""


@dataclass(frozen=True)
class MadeUpTask:
    """The part of a task that a store needs."""

    id: bytes
    users: int


def task_of(users, name="a task"):
    return MadeUpTask(id=hashlib.sha256(name.encode()).digest(), users=users)


def arrival(task, *, report_id=None, onions=None, number=3, admission_hash=None):
    """A report with `number` random onions."""
    onions = secrets.token_bytes(WIDTH * number) if onions is None else onions
    return Arrival(
        task_id=task.id,
        report_id=report_id or secrets.token_bytes(16),
        digest=hashlib.sha256(onions).digest()[:16],
        onions=onions,
        number=number,
        admission_hash=admission_hash,
    )


def arrivals(task, people, **rest):
    return [arrival(task, **rest) for _ in range(people)]


def every_row(store):
    """All rows of a store's tables, by the name of the table."""
    database = store._database
    with database.reading() as transaction:
        schema = database._schema
        tables = (*schema.tables, *schema.wide_tables, *schema.tables_since(0))
        names = [table.split()[2] for table in tables]
        return {name: transaction.rows(f"SELECT * FROM {name}") for name in names}

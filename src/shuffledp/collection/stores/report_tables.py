"""The tables of a shuffler.

No table says which onions came with which report id: `seen` remembers ids and digests, so that a report counts once,
and a report's onions are under a random place of the store's own choosing. Places also decide which reports make a
batch, so that nobody has a say in it by choosing an id. Reports that were stored by one transaction have places near
one another; that is all that is said of when they came. The database's own records of its transactions say more, which
rows were written together and in which order: SQLite's log until it is emptied, PostgreSQL's number in every row.
No table has a time or an address, and no token is beside a report.
"""

from __future__ import annotations

from shuffledp.collection.stores.database import Schema

SCHEMA = Schema(
    kind="a shuffler",
    version=1,
    application=0x53445348,  # the letters SDSH
    tables=(
        # users: reports in a batch; short_by: by how many people the last batch fell short, once the task has expired
        """CREATE TABLE tasks (
            task_id BLOB NOT NULL PRIMARY KEY, task BIGINT NOT NULL UNIQUE, users BIGINT NOT NULL, short_by BIGINT)""",
        """CREATE TABLE seen (
            task BIGINT NOT NULL, report_id BLOB NOT NULL, digest BLOB NOT NULL, PRIMARY KEY (task, report_id))""",
        # spent ones stay to the end of the task, so that they are not new when the list of tokens is read again
        """CREATE TABLE admissions (
            task BIGINT NOT NULL, hash BLOB NOT NULL, spent BIGINT NOT NULL, PRIMARY KEY (task, hash))""",
        "CREATE TABLE waiting (task BIGINT NOT NULL, place BIGINT NOT NULL, PRIMARY KEY (task, place))",
        "CREATE TABLE members (batch_id BLOB NOT NULL, place BIGINT NOT NULL, PRIMARY KEY (batch_id, place))",
        # number: onions after mixing; draft and pieces: where they are; tidy: whether all is deleted that can be
        """CREATE TABLE batches (
            batch_id BLOB NOT NULL PRIMARY KEY, task BIGINT NOT NULL, state TEXT NOT NULL, people BIGINT NOT NULL,
            number BIGINT NOT NULL, draft BLOB, pieces BIGINT NOT NULL, tidy BIGINT NOT NULL)""",
        "CREATE TABLE drafts (batch_id BLOB NOT NULL, draft BLOB NOT NULL, PRIMARY KEY (batch_id, draft))",
        """CREATE TABLE pieces (
            draft BLOB NOT NULL, piece BIGINT NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (draft, piece))""",
        # in several rows for a task, so that processes that add reports seldom wait for the same one
        """CREATE TABLE counts (
            task BIGINT NOT NULL, shard BIGINT NOT NULL, waiting BIGINT NOT NULL, reports BIGINT NOT NULL,
            messages BIGINT NOT NULL, PRIMARY KEY (task, shard))""",
        """CREATE TABLE refusals (
            task BIGINT NOT NULL, reason TEXT NOT NULL, times BIGINT NOT NULL, PRIMARY KEY (task, reason))""",
    ),
    wide_tables=("CREATE TABLE onions (place BIGINT PRIMARY KEY, onions BLOB NOT NULL)",),
)

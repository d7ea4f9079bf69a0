"""End-to-end throughput with real messages on both engines: SparseHistogram, n = 10^6, d = 10^5."""

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from benchmarks.files import spark_session
from benchmarks.timing import best_of, table
from shuffledp import private_histogram

USERS, BINS = 10**6, 10**5


def rows(path):
    def send(engine):
        return private_histogram(
            path,
            column="value",
            epsilon=1,
            delta=1e-6,
            domain=range(BINS),
            drop_missing=True,
            protocol="sparse",
            messages=True,
            engine=engine,
        )

    for engine in ("local", "spark"):
        sent = send(engine).messages
        seconds = best_of(lambda engine=engine: send(engine), rounds=3, warm_up=0)
        yield engine, f"{sent:,}", f"{seconds:.2f}", f"{sent / seconds / 1e6:.1f}", f"{USERS / seconds:,.0f}"


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.parquet"
        values = np.random.default_rng(0).integers(0, BINS, USERS)
        pa.parquet.write_table(pa.table({"value": values}), path)
        session = spark_session()
        table(
            "Real messages, from file to estimate: n = 10^6, d = 10^5, SparseHistogram",
            ["engine", "messages", "seconds", "million messages/s", "people/s"],
            rows(path),
        )
        session.stop()

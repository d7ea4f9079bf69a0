"""Time and memory of `private_histogram` on Parquet files against a bare GROUP BY, on both engines."""

import multiprocessing
import os
import resource
import sys
import tempfile
import warnings
from pathlib import Path

import duckdb

from benchmarks.timing import best_of, table
from shuffledp import private_histogram

SIZES = (10**6, 10**7, 10**8)
COLUMNS = {
    # 10^5 distinct values each; strings have about 25 characters
    "int": "(hash(range) % 100000)::INTEGER",
    "string": "'https://site' || lpad((hash(range) % 100000)::VARCHAR, 5, '0') || '.example'",
}


def write(folder, kind, rows):
    path = Path(folder) / f"{kind}-{rows}.parquet"
    if not path.exists():
        duckdb.connect().execute(f"COPY (SELECT {COLUMNS[kind]} AS value FROM range({rows})) TO '{path}'")
    return path


def release(path, **options):
    return private_histogram(path, column="value", epsilon=1, delta=1e-9, **options)


def bare(path):
    with duckdb.connect() as connection:
        connection.sql(f"SELECT value, count(*) FROM '{path}' GROUP BY value").to_arrow_table()


def _peak_memory(path, answer):
    release(path)
    answer.put(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def peak_gigabytes(path):
    """Return the peak memory of a new process that makes one release."""
    context = multiprocessing.get_context("spawn")
    answer = context.Queue()
    process = context.Process(target=_peak_memory, args=(path, answer))
    process.start()
    kilobytes = answer.get()
    process.join()
    return kilobytes / 2**20


def in_process_rows(folder):
    for kind in COLUMNS:
        for rows in SIZES:
            path = write(folder, kind, rows)
            rounds = 5 if rows < 10**8 else 3
            ours, theirs = (best_of(lambda f=f, p=path: f(p), rounds=rounds) for f in (release, bare))
            yield (
                kind,
                f"{rows:,}",
                f"{ours:.2f}",
                f"{theirs:.2f}",
                f"{ours / theirs:.2f}",
                f"{rows / ours / 1e6:.0f}",
                f"{peak_gigabytes(path):.2f}",
            )


def spark_rows(folder, session):
    for kind in COLUMNS:
        for rows in SIZES[1:]:
            path = write(folder, kind, rows)
            rounds = 3 if rows < 10**8 else 2

            def counted(path=path):
                session.read.parquet(str(path)).groupBy("value").count().toArrow()

            def ours(path=path):
                release(path, engine="spark")

            times = [best_of(f, rounds=rounds) for f in (ours, counted)]
            yield kind, f"{rows:,}", *(f"{t:.1f}" for t in times), f"{times[0] / times[1]:.2f}"


def spark_session():
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
    settings = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "OFF",
                "spark.driver.memory": "4g"}  # fmt: skip
    return SparkSession.builder.master("local[*]").config(map=settings).getOrCreate()


def main():
    with tempfile.TemporaryDirectory() as folder:
        table(
            "A Parquet column of 10^5 distinct values, in process: seconds",
            ["values", "rows", "private_histogram", "bare DuckDB GROUP BY", "ratio", "million rows/s", "peak GB"],
            in_process_rows(folder),
        )
        session = spark_session()
        table(
            "The same on Spark, local[*], session started before: seconds",
            ["values", "rows", "private_histogram", "bare groupBy.count", "ratio"],
            spark_rows(folder, session),
        )
        session.stop()

"""Several values per person: a release from a file of rows, against bare SQL with the same bound on contributions."""

import math
import tempfile
from functools import partial
from pathlib import Path

import duckdb

from benchmarks.timing import best_of, table
from shuffledp import SparseHistogram
from shuffledp.data.people import People
from shuffledp.data.source import Source

PEOPLE, ROWS_EACH, MOST, VALUES = 10**6, 10, 5, 10**5
BOUNDED = {
    "arg_min": "arg_min(value, random(), {most})",
    "sorted list": "list(value ORDER BY random())[:{most}]",
}
"""SQL that keeps a uniform sample of each person's distinct values."""


def write(folder, people):
    path = Path(folder) / f"{people}.parquet"
    drawn = f"hash(range) % {people} AS person, hash(range + 1) % {VALUES} AS value"
    duckdb.connect().execute(f"COPY (SELECT {drawn} FROM range({ROWS_EACH * people})) TO '{path}'")
    return path


def bare(path, how):
    different = f"(SELECT DISTINCT person, value FROM '{path}')"
    kept = f"SELECT unnest({BOUNDED[how].format(most=MOST)}) AS value FROM {different} GROUP BY person"
    with duckdb.connect() as connection:
        connection.sql(f"SELECT value, count(*) FROM ({kept}) GROUP BY value").to_arrow_table()


def release(path):
    with People(Source.of(path, column="value", user="person", values_per_person=MOST)) as people:
        users = people.number(count=True)
        protocol = SparseHistogram.calibrate(
            users=users, bins=people.domain.size, epsilon=1, delta=1e-9, values_per_person=MOST
        )
        return protocol.estimate(people.draw(protocol), reports=users, domain=people.domain)


def rows(folder):
    for people, rounds in ((PEOPLE // 10, 4), (PEOPLE, 2)):
        path = write(folder, people)
        ways = {how: partial(bare, path, how) for how in BOUNDED} | {"ours": partial(release, path)}
        seconds = dict.fromkeys(ways, math.inf)
        for _ in range(rounds):  # in turn, so that other load slows all of them equally
            for name, way in ways.items():
                seconds[name] = min(seconds[name], best_of(way, rounds=1, warm_up=0))
        ratio = seconds["ours"] / min(seconds[how] for how in BOUNDED)
        figures = (*seconds.values(), ratio)
        yield f"{people:,}", f"{ROWS_EACH * people:,}", *(f"{figure:.2f}" for figure in figures)


def main():
    with tempfile.TemporaryDirectory() as folder:
        table(
            f"At most {MOST} distinct values per person, from rows to the estimate, seconds",
            ["people", "rows", *(f"bare SQL, {how}" for how in BOUNDED), "ours", "ours / fastest"],
            rows(folder),
        )

"""Whatever one row holds or is compared as, the sets of other people and the number of people stay the same.

Tables that differ in one row are read in every format, with a condition and without missing values. Every count then
differs by at most one, and at most one value is lost and one gained. Negative controls: faulty results fail the check.
"""

import csv
import json
import tempfile
from collections import Counter
from contextlib import closing
from functools import cache, partial
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shuffledp.data import Files, Source, find_files, open_engine
from shuffledp.data.labels import Kind
from shuffledp.data.where import Condition
from tests.data.test_neighbouring_values import anything, exact
from tests.oracles.hostile_rows import objects, texts

SIZE = 6
USERS = [1, 1, 2, 3, None, 3]
WHERE = Condition.parse("c >= 1 OR c = 'x' OR c = TRUE OR c < DATE '2030-01-01'")
few = settings(max_examples=4, suppress_health_check=[HealthCheck.too_slow])


def columns(pair):
    return {"v": pair[0], "c": pair[1], "user": USERS}


def written(save, name):
    """Return a function that writes files to a new folder."""

    def build(pair, folder):
        path = Path(tempfile.mkdtemp(dir=folder), name)
        save(path, columns(pair))
        return find_files([path])

    return build


def write_csv(path, table):
    with path.open("w", newline="") as file:
        out = csv.writer(file, quoting=csv.QUOTE_ALL)
        out.writerow(table)
        out.writerows(zip(*table.values(), strict=True))


def write_json(path, table):
    rows = (dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def typed(table):
    return pa.table({"v": pa.array(table["v"], pa.string()), "c": pa.array(table["c"], pa.float64()), "user": USERS})


plain = st.one_of(st.none(), st.booleans(), st.integers(-(2**53), 2**53), texts(), st.floats(allow_nan=False))
json_values = st.one_of(st.none(), st.booleans(), st.integers(-(2**53), 2**53), texts())
fractions = st.one_of(st.none(), st.floats(), st.sampled_from([0.5, 1.0, 2.0]))
maybe_text = st.one_of(st.none(), texts())
FORMATS = {
    "dictionary of lists": (columns, anything, exact),
    "rows": (lambda pair: pd.DataFrame(columns(pair), dtype=object).to_dict("records"), objects(), plain),
    "pandas": (lambda pair: pd.DataFrame(columns(pair)), exact, st.one_of(st.none(), st.integers(0, 3))),
    "polars": (
        lambda pair: pl.DataFrame(columns(pair), schema={"v": pl.String, "c": pl.Float64, "user": pl.Int64}),
        maybe_text,
        fractions,
    ),
    "Arrow": (lambda pair: typed(columns(pair)), maybe_text, fractions),
    "CSV": (written(write_csv, "rows.csv"), texts(), texts()),
    "JSON lines": (written(write_json, "rows.jsonl"), json_values, json_values),
    "Parquet": (
        written(lambda path, table: pa.parquet.write_table(typed(table), path), "rows.parquet"),
        maybe_text,
        fractions,
    ),
    "Arrow file": (
        written(lambda path, table: pa.feather.write_feather(typed(table), str(path)), "rows.arrow"),
        maybe_text,
        fractions,
    ),
}

ON_DISK = ("CSV", "JSON lines", "Parquet", "Arrow file")


def held(data, **options):
    """Return the number of people per label and type, and the number of people."""
    source = Source.of(data, column="v", user="user", **options)
    kind = None if isinstance(source.data, Files) else source.data.kinds[0]
    with closing(open_engine(source)) as engine:
        found = Counter()
        for labels, people in engine.counts():
            for label, number in zip((kind or Kind(engine.label_type)).labels(labels), people.tolist(), strict=True):
                found[type(label).__name__, repr(label)] += number
        assert sum(engine.holdings().values()) == engine.people()
        return found, engine.people()


def close(first, second):
    """Return whether two results are possible for tables that differ in one row."""
    (one, people), (other, as_many) = first, second
    return people == as_many and (one - other).total() <= 1 and (other - one).total() <= 1


@st.composite
def neighbouring_tables(draw, values, compared):
    """Two tables that differ in one row."""
    v, c = (draw(st.lists(one, min_size=SIZE, max_size=SIZE)) for one in (values, compared))
    at = draw(st.integers(0, SIZE - 1))
    others = [list(v), list(c)]
    others[0][at], others[1][at] = draw(values), draw(compared)
    return (v, c), tuple(others)


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
@few
@given(data=st.data())
def test_one_row_moves_one_value_of_its_person_and_nothing_else(name, data, tmp_path_factory):
    build, values, compared = FORMATS[name]
    build = partial(build, folder=tmp_path_factory.getbasetemp()) if name in ON_DISK else build
    pair = data.draw(neighbouring_tables(values, compared))
    options = {"values_per_person": SIZE, "where": WHERE, "drop_missing": data.draw(st.booleans())}
    first, second = (held(build(one), **options) for one in pair)
    assert close(first, second)
    assert first[1] == (4 if name == "CSV" else 3)  # a quoted empty text is a user there


@pytest.mark.slow
@pytest.mark.parametrize("odd", ["x", 2.5, None, True])
def test_one_odd_value_does_not_change_comparisons_of_others(odd):
    """In a column without a declared type, one value could turn all others into text or fractions."""
    for text in ("c = 2", "c = '2'", "c >= 3"):
        for build in (columns, framed):
            first, second = (held_where(text, build, last) for last in (6, odd))
            assert close(first, second)
            assert first[0].total() >= 1


def framed(pair):
    return pd.DataFrame(columns(pair))


@cache  # the same table for every odd value
def held_where(text, build, last):
    pair = ["a", "b", "c", "d", "e", "f"], [2, 2, 2, 4, 5, last]
    return held(build(pair), values_per_person=3, where=Condition.parse(text))


def test_results_of_faulty_readers_fail_the_check():
    assert close((Counter("aab"), 3), (Counter("aac"), 3))
    assert not close((Counter("aab"), 3), (Counter("aab"), 2))  # one person is lost
    assert not close((Counter("aab"), 3), (Counter("AAb"), 3))  # other people have new labels
    assert not close((Counter("aab"), 3), (Counter("ccc"), 3))  # a person counts several times in one value

"""Sets of values on Apache Spark: the same as in process, and the same choice if a task runs again."""

import warnings
from collections import Counter
from contextlib import closing
from math import comb

import numpy as np
import pyarrow as pa
import pytest

from shuffledp import Edges
from shuffledp.data import Source, find_files, open_engine
from shuffledp.data.people import People
from shuffledp.data.where import Condition
from tests.data.test_sets import (
    ADULTS,
    CHOSEN,
    FILES,
    PEOPLE,
    ROWS,
    TABLE,
    VALUES,
    chosen_subsets,
    expected,
    is_adult,
    subsets,
)
from tests.oracles.goodness import FALSE_FAILURE_RATE, p_value
from tests.oracles.held import Truthful, counted, held_by, sent

pytestmark = pytest.mark.xdist_group("spark")


def frame(spark, table):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return spark.createDataFrame(pa.table(table)).repartition(3)


def engine(data, column="value", **options):
    named = column if isinstance(column, str) else list(column)
    return closing(open_engine(Source.of(data, column=named, engine="spark", **options)))


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl", "rows.parquet", "a data frame"])
def test_sets_equal_those_of_the_local_engine(spark, tmp_path, name):
    data = frame(spark, TABLE)
    if name in FILES:
        FILES[name](tmp_path / name)
        data = find_files([tmp_path])
    values, sizes = expected(held_by(ROWS, keep=is_adult))
    with engine(data, user="person", values_per_person=4, where=ADULTS) as opened:
        assert opened.people() == 5
        assert counted(opened) == values
        assert opened.holdings() == sizes
        assert opened.people() == 5


def test_without_a_user_and_several_columns(spark):
    data = frame(spark, TABLE)
    with engine(data, where=ADULTS) as opened:
        assert opened.people() == len(ROWS)
        assert counted(opened) == Counter(row[1] for row in ROWS if is_adult(row))
        assert opened.holdings() == {0: 5, 1: 5}
    rows = [(row[0], (row[1], row[3])) for row in ROWS]
    values, sizes = expected(held_by(rows, keep=lambda row: None not in row[1]))
    with engine(data, ("value", "country"), user="person", values_per_person=3, drop_missing=True) as opened:
        assert counted(opened) == values
        assert opened.holdings() == sizes
    with engine(data, ("value", "country")) as opened:
        assert counted(opened) == Counter((row[1], row[3]) for row in ROWS)


def test_who_has_more_values_keeps_a_uniform_subset(spark):
    """The chi-square test of the local engine (false-failure rate 1e-6).

    An engine repeats its choice, because Spark can run a task again; another engine chooses differently.
    """
    data = frame(spark, subsets())
    options = {"user": "person", "values_per_person": CHOSEN}
    with engine(data, **options) as opened:
        found = counted(opened)
        opened._counted = None
        assert counted(opened) == found
    seen = chosen_subsets(found)
    assert seen.sum() == PEOPLE
    assert p_value(seen, np.full(comb(VALUES, CHOSEN), 1 / comb(VALUES, CHOSEN))) > FALSE_FAILURE_RATE
    with engine(data, **options) as opened:
        assert counted(opened) != found


def test_the_choice_does_not_follow_the_order_in_which_rows_arrive(spark, monkeypatch):
    """The order can differ when Spark repeats a shuffle."""
    monkeypatch.setattr("secrets.token_bytes", lambda size: b"one secret for both runs")
    found = []
    for partitions in (1, 5):
        with engine(frame(spark, subsets(300)).repartition(partitions), user="person", values_per_person=2) as opened:
            found.append(counted(opened))
    assert found[0] == found[1]


@pytest.mark.parametrize("domain", [["a", "b"], {"value": ["a"], "age": Edges([18, 50])}])
def test_a_person_counts_once_in_a_bin_also_in_messages(spark, domain):
    """Five values outside the list count as one (other), and three ages of one interval once."""
    rows = [("1", f"unknown {at}", 20 + at) for at in range(5)] + [("1", "a", 20), ("2", "b", 60)]
    data = frame(spark, {name: [row[at] for row in rows] for at, name in enumerate(("person", "value", "age"))})
    column = list(domain) if isinstance(domain, dict) else "value"
    options = {"column": column, "user": "person", "drop_missing": True, "domain": domain, "other": True}
    with People(Source.of(data, **options, values_per_person=4)) as people:
        protocol = Truthful(users=people.number(count=True), bins=people.domain.size, values_per_person=4)
        drawn = people.draw(protocol)
        assert sent(people, protocol) == drawn
        labels = [*people.domain.decode(np.arange(people.domain.size)).tolist(), 3, 2, 1, 0]
        found = {label: count for label, count in zip(labels, drawn.counts.tolist(), strict=True) if count}
    if isinstance(domain, list):
        assert found == {"a": 1, "b": 1, "(other)": 1, 3: 2, 2: 2, 1: 1}
    else:
        assert sorted(map(str, found.values())) == ["1", "1", "1", "1", "2", "2"]
        assert drawn.counts.max() <= 2


@pytest.mark.parametrize("options", [{}, {"values_per_person": 2, "count_capped": True}])
def test_all_values_of_everybody_are_counted_beside_the_cap(spark, options):
    """For any value and for bins, as in process; a person who has more values than count is marked."""
    data, sets = frame(spark, TABLE), held_by(ROWS)
    everybody, most = Counter(value for held in sets.values() for value in held), options.get("values_per_person", 1)
    with People(Source.of(data, column="value", user="person", **options)) as people:
        people.number(count=True)
        values, others = people.numbered_truth()
    assert sorted(values.uncapped.tolist()) == sorted(everybody.values())
    assert values.people.sum() == sum(min(len(held), most) for held in sets.values())
    assert (values.people <= values.uncapped).all()
    more = sum(len(held) > most for held in sets.values())
    assert others.people[:1].tolist() == ([more] if options else [])
    with People(Source.of(data, column="value", user="person", domain=["a", "b", "c"], **options)) as people:
        users = people.number(count=True)
        values, others = people.numbered_truth()
        assert values.uncapped[:4].tolist() == [everybody[value] for value in ("a", "b", "c", None)]
        assert values.people.sum() == sum(min(len(held), most) for held in sets.values())
        if options:
            protocol = Truthful(users=users, bins=people.domain.size, values_per_person=3)
            made = sent(people, protocol)
            assert made == people.draw(protocol)
            assert made.counts[people.values.size] == more == others.people[0]


def test_messages_of_people_without_a_value(spark):
    data = frame(spark, TABLE)
    options = {"drop_missing": True, "domain": ["a", "b", "c", "z"], "where": "country = 'DE'"}
    with People(Source.of(data, column="value", **options)) as people:
        assert people.padding_bins == 1
        protocol = Truthful(users=people.number(count=False), bins=people.domain.size, values_per_person=1)
        made = sent(people, protocol)
        assert made == people.draw(protocol)
    assert made.counts.tolist() == [2, 2, 1, 1, 0, 4]  # nobody outside the list, four without a value


def test_names_with_dots_and_quotes(spark):
    table = {"a.b": ["x", "y"], "it`s": [1, 2]}
    with engine(frame(spark, table), "a.b", where=Condition.parse('"it`s" = 2')) as opened:
        assert counted(opened) == {"y": 1}

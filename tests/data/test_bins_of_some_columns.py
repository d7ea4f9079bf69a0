"""Cross tables in which some columns have possible values: their bins are counted with any value of the others."""

import warnings
from collections import Counter
from itertools import chain, combinations

import pyarrow as pa
import pytest

from shuffledp import DataError, Edges, Ledger, ParameterError, Periods, private_histogram
from shuffledp.data import Source, find_files
from shuffledp.data.bins import OTHER
from shuffledp.data.people import People
from shuffledp.histogram.labels import NotAValue
from tests.oracles.held import Truthful

COLUMNS = ["sex", "surname"]
ROWS = [("Male", "A"), ("diverse", "A"), ("unknown", "A"), ("Male", "B"), (None, "A"), ("Female", None)]
BIN = {"Male": "Male", "Female": "Female", None: None}
LISTED = ["Male", "Female"]


def table(rows, columns=COLUMNS):
    return {name: [row[at] for row in rows] for at, name in enumerate(columns)}


def true_counts(data, column=COLUMNS, **options):
    """Return the exact count of every label, by a protocol without noise."""
    with People(Source.of(data, column=column, **options)) as people:
        users = people.number(count=True)
        each = people.source.bins_per_person
        drawn = people.draw(Truthful(users=users, bins=people.values.size, values_per_person=each))
        return dict(zip(drawn.symbols.tolist(), drawn.counts.tolist(), strict=True))


def of_values(counts):
    return {label: count for label, count in counts.items() if count and not isinstance(label, NotAValue)}


def binned(row):
    return BIN.get(row[0], OTHER), row[1]


def forms(tmp_path):
    import pandas as pd
    import pyarrow.csv
    import pyarrow.parquet

    found = pa.table(table(ROWS))
    pyarrow.parquet.write_table(found, tmp_path / "rows.parquet")
    return [table(ROWS), found, pd.DataFrame(table(ROWS)), find_files([tmp_path / "rows.parquet"])]


@pytest.mark.slow
@pytest.mark.parametrize("domain", [[LISTED, None], {"sex": LISTED}, {"sex": LISTED, "surname": None}])
def test_a_pair_is_the_bin_of_the_listed_column_and_any_value_of_the_other(tmp_path, domain):
    for data in forms(tmp_path):
        assert true_counts(data, domain=domain, other=True) == Counter(map(binned, ROWS))


def test_intervals_and_periods_of_some_of_three_columns():
    rows = [(17, "A", "2026-05-05"), (18, "A", "2026-06-01"), (40, "A", "2026-07-01"), ("x", "B", "never")]
    domain = {"age": Edges("18"), "day": Periods("year", start="2026", stop="2027")}
    data = {**table(rows, ["age", "name", "day"]), "age": [17, 18, 40, None]}
    assert true_counts(data, column=["age", "name", "day"], domain=domain) == {
        ("below 18", "A", "2026"): 1,
        ("18 and above", "A", "2026"): 2,
        (None, "B", None): 1,
    }


@pytest.mark.parametrize("most", [1, 2, 3])
def test_two_values_of_one_bin_count_once_for_each_person(most):
    """A person for each set of four rows: nobody counts twice in a pair, or in more pairs than allowed."""
    every = list(chain.from_iterable(combinations(ROWS[:4], size) for size in range(1, 5)))
    rows = [row for held in every for row in held]
    data = {**table(rows), "person": [number for number, held in enumerate(every) for _ in held]}
    sets = [{binned(row) for row in held} for held in every]
    holders = Counter(chain.from_iterable(sets))
    counts = of_values(true_counts(data, domain=[LISTED, None], user="person", values_per_person=most, other=True))
    assert all(count <= holders[pair] for pair, count in counts.items())
    assert sum(counts.values()) == sum(min(most, len(held)) for held in sets)
    if most == 3:
        assert counts == holders


@pytest.mark.slow
def test_values_outside_a_list_are_refused_before_anything_is_spent(tmp_path):
    ledger = Ledger.create(tmp_path / "ledger.json", epsilon=3, delta=1e-5, population="rows")
    people = 3000
    # a random row of the first person counts, nearly always another one; the evaluation reads all
    rows = [*ROWS[:1] * 2 * people, ("diverse", "A")]
    data = {**table(rows), "person": [*range(people), *[0] * (people + 1)]}
    for how in ({}, {"user": "person", "evaluate": True}):
        with pytest.raises(DataError, match="a value is not in the domain"):
            private_histogram(data, column=COLUMNS, domain=[LISTED, None], epsilon=1, delta=1e-6, ledger=ledger, **how)
    assert not ledger.entries


def test_with_a_condition_nothing_is_refused():
    counts = true_counts({**table(ROWS), "age": range(6)}, domain=[LISTED, None], where="age < 3")
    assert of_values(counts) == {("Male", "A"): 1, (OTHER, "A"): 2}


def test_missing_values_are_left_out_in_any_column():
    counts = true_counts(table(ROWS), domain=[LISTED, None], other=True, drop_missing=True)
    assert counts == Counter(binned(row) for row in ROWS if None not in row)


@pytest.mark.slow
def test_a_pair_that_nobody_holds_is_never_shown_and_its_values_are_compared_with_the_truth():
    rows = [("Male", "A")] * 3000 + [("Female", "B")] * 3000 + [("diverse", "B")] * 2000
    release = private_histogram(
        table(rows), column=COLUMNS, domain=[LISTED, None], other=True, epsilon=2, delta=1e-6, evaluate=True
    )
    assert set(release.estimate.labels.tolist()) == {("Male", "A"), ("Female", "B"), (OTHER, "B")}
    assert release.evaluation.found == release.evaluation.occupied == 3
    assert release.evaluation.largest_error < 500
    assert release.asked["domain"] == [2, None]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"domain": [["a", "a"], None]}, "must differ"),
        ({"domain": [None, Edges("1")], "other": True}, "other must be left out"),
        ({"domain": [LISTED, None], "messages": True}, "every column"),
        ({"domain": [LISTED, None], "other": True, "estimator": "unbiased"}, "report every possible value"),
        ({"domain": [[], None]}, "at least one"),
    ],
)
def test_wrong_options_are_refused(options, reason):
    with pytest.raises(ParameterError, match=reason):
        private_histogram(table(ROWS), column=COLUMNS, epsilon=1, delta=1e-6, **options)


def test_only_the_columns_without_possible_values_must_be_countable():
    data = pa.table({"age": [1.5, 2.5], "surname": ["A", "A"]})
    assert true_counts(data, column=["age", "surname"], domain=[Edges("2"), None]) == {
        ("below 2", "A"): 1,
        ("2 and above", "A"): 1,
    }
    with pytest.raises(ParameterError, match="column 'age' holds numbers with fractions"):
        true_counts(data, column=["age", "surname"], domain=[None, ["A"]])


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_spark_counts_the_same_pairs(spark):
    rows = [row for row in ROWS for _ in range(2)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        numbers = [number // 3 for number in range(len(rows))]
        frame = spark.createDataFrame(pa.table({**table(rows), "person": numbers})).repartition(3)
    assert true_counts(frame, domain=[LISTED, None], other=True) == Counter(map(binned, rows))
    sets = {(number, binned(row)) for number, row in zip(numbers, rows, strict=True)}
    counts = true_counts(frame, domain=[LISTED, None], user="person", values_per_person=3)
    assert of_values(counts) == Counter(pair for _, pair in sets)
    with pytest.raises(DataError, match="a value is not in the domain"):
        true_counts(frame, domain=[LISTED, None])

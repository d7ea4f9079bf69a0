"""Sets of values in process: bounded by a uniform choice, the same in every format."""

import json
from collections import Counter
from contextlib import closing
from itertools import combinations
from math import comb

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet
import pytest

from shuffledp import DummyHistogram, Edges, Histogram, SparseHistogram
from shuffledp.data import Source, find_files, open_engine
from shuffledp.data.bins import Codebook
from shuffledp.data.labels import Kind
from shuffledp.data.people import People
from shuffledp.data.where import Condition
from shuffledp.errors import DataError, ParameterError
from shuffledp.histogram.labels import Absent
from tests.oracles.goodness import FALSE_FAILURE_RATE, p_value
from tests.oracles.held import Truthful, counted, held_by, sent

ROWS = [
    # person, value, age, country
    ("1", "a", "17", "DE"), ("1", "b", "40", "FR"), ("1", "b", "41", "DE"), ("1", None, "18", "DE"),
    ("2", "a", "90", "DE"), ("2", "a", "91", None), ("3", "c", None, "DE"), ("4", "b", "5", "DE"),
    (None, "z", "50", "DE"), ("5", None, "60", "DE"),
]  # fmt: skip
NAMES = ("person", "value", "age", "country")
TABLE = pa.table({name: [row[at] for row in ROWS] for at, name in enumerate(NAMES)})
ADULTS = Condition.parse("age >= 18 AND country = 'DE'")


def is_adult(row):
    return row[2] is not None and int(row[2]) >= 18 and row[3] == "DE"


def engine(data, column="value", **options):
    named = column if isinstance(column, str) else list(column)
    return closing(open_engine(Source.of(data, column=named, **options)))


def write_csv(path):
    lines = [",".join("" if field is None else field for field in row) for row in [NAMES, *ROWS]]
    path.write_text("\n".join(lines) + "\n")


def write_json(path):
    path.write_text("".join(json.dumps(dict(zip(NAMES, row, strict=True))) + "\n" for row in ROWS))


FILES = {
    "rows.csv": write_csv,
    "rows.jsonl": write_json,
    "rows.parquet": lambda path: pa.parquet.write_table(TABLE, path),
    "rows.arrow": lambda path: pa.feather.write_feather(TABLE, str(path)),
}


def in_relation():
    connection = duckdb.connect()
    connection.register("people", TABLE)
    return connection.sql("select * from people")


MEMORY = {
    "Arrow": lambda: TABLE,
    "Arrow dataset": lambda: pyarrow.dataset.dataset(TABLE),
    "pandas": TABLE.to_pandas,
    "polars": lambda: pl.from_arrow(TABLE),
    "dictionary": TABLE.to_pydict,
    "rows": TABLE.to_pylist,
    "numbers": lambda: {**TABLE.to_pydict(), "age": [None if row[2] is None else int(row[2]) for row in ROWS]},
    "pandas with numbers": lambda: TABLE.to_pandas().assign(age=lambda t: pd.to_numeric(t["age"])),  # as floats
    "DuckDB relation": in_relation,
}


@pytest.fixture(params=[*FILES, *MEMORY])
def data(request, tmp_path):
    """The same rows in every format."""
    if request.param in MEMORY:
        return MEMORY[request.param]()
    FILES[request.param](tmp_path / request.param)
    return find_files([tmp_path])


def expected(sets):
    return Counter(value for held in sets.values() for value in held), Counter(map(len, sets.values()))


def test_everybody_counts_once_for_each_of_their_values_in_every_format(data):
    values, sizes = expected(held_by(ROWS))
    with engine(data, user="person", values_per_person=4) as opened:
        assert opened.people() == 5
        assert counted(opened) == values
        assert opened.holdings() == sizes
        assert opened.people() == 5


@pytest.mark.slow
def test_rows_that_fail_a_condition_give_their_person_nothing_in_every_format(data):
    """A person without another row still counts; every format provides the compared columns."""
    values, sizes = expected(held_by(ROWS, keep=is_adult))
    assert sizes[0] == 2
    with engine(data, user="person", values_per_person=4, where=ADULTS) as opened:
        assert counted(opened) == values
        assert opened.holdings() == sizes
        assert opened.people() == 5


@pytest.mark.slow
def test_without_a_user_a_row_that_fails_is_a_person_without_a_value(data):
    with engine(data, where=ADULTS) as opened:
        assert counted(opened) == Counter(row[1] for row in ROWS if is_adult(row))
        assert opened.holdings() == {0: 5, 1: 5}
        assert opened.people() == len(ROWS)


@pytest.mark.slow
def test_missing_values_can_be_left_out_and_their_people_stay(data):
    values, sizes = expected(held_by(ROWS, keep=lambda row: row[1] is not None))
    with engine(data, user="person", values_per_person=4, drop_missing=True) as opened:
        assert counted(opened) == values
        assert opened.holdings() == sizes
        assert opened.people() == 5
    with engine(data, where=Condition.parse("country = 'DE'"), drop_missing=True) as opened:
        assert opened.people() == len(ROWS)


@pytest.mark.slow
def test_several_columns_are_counted_together_in_every_format(data):
    with engine(data, ("value", "country")) as opened:
        assert counted(opened) == Counter((row[1], row[3]) for row in ROWS)
    rows = [(row[0], (row[1], row[3])) for row in ROWS]
    values, sizes = expected(held_by(rows, keep=lambda row: None not in row[1]))
    with engine(data, ("value", "country"), user="person", values_per_person=3, drop_missing=True) as opened:
        assert counted(opened) == values
        assert opened.holdings() == sizes


@pytest.mark.slow
def test_no_timestamp_makes_a_condition_fail(tmp_path):
    """DuckDB stores timestamps that it cannot write; their holders count like all other people."""
    for unit in ("s", "ms", "us", "ns"):
        table = pa.table({"value": list("abcd"), "at": pa.array([0, 2**62, -(2**62), None], pa.timestamp(unit))})
        pa.feather.write_feather(table, str(tmp_path / "rows.arrow"))
        for data in (find_files([tmp_path]), table):
            with engine(data, where=Condition.parse("at < DATE '2000-01-01'")) as opened:
                assert counted(opened)["a"] == 1
                assert opened.people() == 4


@pytest.mark.slow
def test_columns_may_have_names_that_queries_use():
    table = {"kept": ["a", "b", "c"], "person": [1, 2, 3], "value": [1, 1, 2], "held": [1, 2, 2]}
    with engine(table, "kept", user="value", values_per_person=2, where=Condition.parse("person < 3")) as opened:
        assert counted(opened) == {"a": 1, "b": 1}
        assert opened.holdings() == {0: 1, 2: 1}
    with engine(table, ("person", "kept"), where=Condition.parse("held = 2 AND person = 2")) as opened:
        assert counted(opened) == {(2, "b"): 1}


# the choice ---------------------------------------------------------------------------------------------------------

VALUES, CHOSEN, PEOPLE = 5, 2, 3000


def subsets(people=PEOPLE):
    """Return rows in which all people hold the same values, some of them twice."""
    rows = [(person, f"{person} {value}") for person in range(people) for value in (*range(VALUES), 0, 0, 1)]
    return {"person": [row[0] for row in rows], "value": [row[1] for row in rows]}


def chosen_subsets(found):
    """Return how often each subset of the values was kept."""
    kept = {}
    for label in found:
        person, value = label.split()
        kept.setdefault(person, []).append(int(value))
    every = {subset: at for at, subset in enumerate(combinations(range(VALUES), CHOSEN))}
    return np.bincount([every[tuple(sorted(one))] for one in kept.values()], minlength=len(every))


def test_who_has_more_values_keeps_a_uniform_subset_of_the_different_ones():
    """A chi-square test over all subsets (false-failure rate 1e-6); repeated rows do not count more."""
    with engine(subsets(), user="person", values_per_person=CHOSEN) as opened:
        found = counted(opened)
        assert opened.holdings() == {CHOSEN: PEOPLE}
    distribution = np.full(comb(VALUES, CHOSEN), 1 / comb(VALUES, CHOSEN))
    seen = chosen_subsets(found)
    assert seen.sum() == PEOPLE
    assert p_value(seen, distribution) > FALSE_FAILURE_RATE
    by_rows = np.random.default_rng(0).choice(VALUES, size=(PEOPLE, 3), p=np.array([3, 2, 1, 1, 1]) / 8)
    kept = [f"{person} {value}" for person, row in enumerate(by_rows) for value in list(dict.fromkeys(row))[:2]]
    pairs = Counter(label.split()[0] for label in kept)
    control = chosen_subsets([label for label in kept if pairs[label.split()[0]] == CHOSEN])
    assert p_value(control, distribution) <= FALSE_FAILURE_RATE


@pytest.mark.slow
def test_the_choice_varies_and_is_reproducible_with_a_seed():
    def once(rng=None):
        column = Source.of(subsets(200), column="value", user="person", values_per_person=CHOSEN)
        with closing(open_engine(column, rng=rng)) as opened:
            return counted(opened)

    assert once() != once()
    assert once(np.random.default_rng(1)) == once(np.random.default_rng(1)) != once(np.random.default_rng(2))


@pytest.mark.slow
def test_many_people_in_little_memory(monkeypatch):
    """Rows with twelve times the memory limit of DuckDB; the rest is in temporary files."""
    monkeypatch.setattr("shuffledp.data.duckdb._MEMORY", "64MB")
    people, each = 60_000, 6
    table = pa.table(
        {
            "person": np.tile(np.arange(people), each),
            "value": [f"{'x' * 40}{at % 50_021}" for at in range(people * each)],
        }
    )
    with engine(table, user="person", values_per_person=3) as opened:
        assert counted(opened).total() == 3 * people
        assert opened.holdings() == {3: people}


# bins ---------------------------------------------------------------------------------------------------------------


def people_of(rows, **options):
    table = {"person": [row[0] for row in rows], "value": [row[1] for row in rows]}
    options = {"user": "person", **options}
    return People(Source.of(table, column="value", **options))


def test_values_outside_the_list_count_once_together():
    """Otherwise replacing a person with five such values would change the count of (other) by five."""
    rows = [("1", f"unknown {number}") for number in range(5)] + [("1", "a"), ("2", "b")]
    with people_of(rows, domain=["a", "b"], other=True, values_per_person=6) as people:
        protocol = Truthful(users=people.number(count=True), bins=people.domain.size, values_per_person=6)
        drawn, made = people.draw(protocol), sent(people, protocol)
    # a, b, missing, (other), then who holds at most 5, 4, ... 0 values
    assert drawn.counts.tolist() == [1, 1, 0, 1, 2, 2, 2, 2, 1, 0]
    assert made == drawn


def test_the_same_bin_of_the_next_person_counts_too():
    rows = [("1", "a"), ("2", "a"), ("2", "b"), ("3", "b")]
    with people_of(rows, domain=["a", "b"], values_per_person=2) as people:
        protocol = Truthful(users=people.number(count=True), bins=people.domain.size, values_per_person=2)
        drawn, made = people.draw(protocol), sent(people, protocol)
    assert drawn.counts[:2].tolist() == [2, 2]
    assert made == drawn


def test_numbers_of_one_interval_count_once():
    rows = [("1", 1), ("1", 2), ("1", 3), ("1", 30), ("2", 99)]
    with people_of(rows, domain=Edges([0, 10, 50]), values_per_person=2) as people:
        protocol = Truthful(users=people.number(count=True), bins=people.domain.size, values_per_person=2)
        drawn, made = people.draw(protocol), sent(people, protocol)
    assert drawn.counts.tolist() == [0, 1, 1, 1, 0, 1, 0]  # (below 0), 0 to 10, to 50, from 50, missing; padding bins
    assert made == drawn


def test_people_in_too_many_bins_keep_bins_not_values():
    """The first ten values are in one bin; each of the two bins is kept by half of the people."""
    people = 2000
    rows = [(person, value) for person in range(people) for value in (*range(10), 99)]
    with people_of(rows, domain=Edges([0, 50, 100]), values_per_person=1, where="value IS NOT NULL") as opened:
        protocol = Truthful(users=people, bins=opened.domain.size, values_per_person=1)
        counts = opened.draw(protocol).counts
    assert counts[[0, 3, 4, 5]].tolist() == [0, 0, 0, 0]
    assert counts[1] + counts[2] == people
    assert abs(counts[1] - people / 2) < 5 * (people / 4) ** 0.5  # fails wrongly with probability below 1e-6


def test_rows_that_do_not_count_may_hold_what_is_not_in_the_list():
    rows = {"person": [1, 1, 2], "value": ["a", "unknown", None], "use": [True, False, False]}
    options = {"user": "person", "drop_missing": True, "domain": ["a"], "values_per_person": 2, "where": "use = TRUE"}
    with People(Source.of(rows, column="value", **options)) as people:
        protocol = Truthful(users=2, bins=people.domain.size, values_per_person=2)
        for tally in (people.draw(protocol), sent(people, protocol)):
            assert tally.counts.tolist() == [1, 0, 2, 1]  # a, nothing outside the list, and who lacks one or both


@pytest.mark.parametrize("where", [None, "country = 'DE'"])
def test_messages_and_sampled_counts_are_of_the_same_people(where):
    table = TABLE.to_pydict()
    options = {"user": "person", "domain": ["a", "b"], "other": True, "values_per_person": 2, "where": where}
    with People(Source.of(table, column="value", **options)) as people:
        protocol = Truthful(users=people.number(count=False), bins=people.domain.size, values_per_person=2)
        made = sent(people, protocol)
        assert made == people.draw(protocol)
        assert made.total == 2 * 5
        assert people.padding_bins == 2


def test_padding_bins_of_the_universe_have_their_own_labels():
    rows = [("1", "a"), ("1", "b"), ("2", "a"), ("3", None)]
    with people_of(rows, values_per_person=3) as people:
        protocol = Truthful(users=people.number(count=True), bins=1, values_per_person=3)
        drawn = people.draw(protocol)
        found = dict(zip(drawn.symbols.tolist(), drawn.counts.tolist(), strict=True))
        assert found == {"a": 2, "b": 1, None: 1, Absent(most=2): 3, Absent(most=1): 2, Absent(most=0): 0}
        assert sorted(people.numbered().counts.tolist()) == sorted(found.values())
        truth = np.zeros(drawn.symbols.size, dtype=np.int64)
        for part in people.truth(drawn.symbols, drawn.symbols):
            truth[part.at] = part.people
    assert truth.tolist() == drawn.counts.tolist()


def test_pairs_of_values_are_labels_and_are_found_again():
    table = {"x": ["a", "a", "b"], "y": [1.0, 1.0, None]}
    with People(Source.of(table, column=["x", "y"])) as people:
        assert people.source.name == "x \N{MULTIPLICATION SIGN} y"
        protocol = Truthful(users=3, bins=1, values_per_person=1)
        drawn = people.draw(protocol)
        assert dict(zip(drawn.symbols.tolist(), drawn.counts.tolist(), strict=True)) == {("a", 1): 2, ("b", None): 1}
        (part,) = people.truth(drawn.symbols, drawn.symbols)
        assert part.people[np.argsort(part.at)].tolist() == drawn.counts.tolist()
    for domain in ([["a", "b"], Edges([0, 5])], {"y": Edges([0, 5]), "x": ["a", "b"]}):
        with People(Source.of(table, column=["x", "y"], domain=domain)) as people:
            counts = people.draw(protocol).counts
            labels = people.domain.decode(np.flatnonzero(counts)).tolist()
        assert [label[0] for label in labels] == ["a", "b"]
        assert labels[1][1] is None
        assert counts[counts > 0].tolist() == [2, 1]


@pytest.mark.slow
@pytest.mark.parametrize("protocol", [DummyHistogram, Histogram, SparseHistogram])
def test_real_protocols_estimate_who_holds_what(protocol):
    """Errors are within their bounds (failure probability 1e-6 each), sampled and with messages."""
    users, most, beta = 400, 2, 1e-6
    rows = [(person, value) for person in range(users) for value in ("a", "b", "c")[: 1 + person % 3]]
    with people_of(rows, domain=["a", "b", "c"], drop_missing=True, values_per_person=most) as people:
        calibrated = protocol.calibrate(
            users=users, bins=people.domain.size, epsilon=5, delta=1e-2, values_per_person=most
        )
        truth = people.numbered().counts
        for tally in (people.draw(calibrated), people.send(calibrated)):
            estimate = calibrated.estimate(tally, beta=beta, reports=users, domain=people.domain)
            low, high = estimate.simultaneous.low, estimate.simultaneous.high
            where = estimate.symbols
            assert ((low <= truth[where]) & (truth[where] <= high)).all()


# what is refused ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"values_per_person": 2}, "needs user"),
        ({"values_per_person": 0, "user": "person"}, "values_per_person"),
        ({"values_per_person": 10**6, "user": "person"}, "values_per_person must be at most"),
        ({"values_per_person": 1.5, "user": "person"}, "values_per_person"),
        ({"column": ["value", "value"]}, "given twice"),
        ({"column": ["value", "person"], "user": "person"}, "same column"),
        ({"column": []}, "name of a column"),
        ({"column": ["value", "age"], "domain": [["a"]]}, "an entry for each of 2 columns"),
        ({"column": ["value", "age"], "domain": {"sex": ["a"]}}, "columns of the table only: 'value', 'age'"),
        ({"column": ["value", "age"], "domain": Edges([1])}, "an entry for each of 2 columns"),
        ({"column": ["value", "age"], "domain": ["a", None]}, "list of labels"),
        ({"column": ["value", "age"], "domain": [None, None], "other": True}, "other needs a domain"),
    ],
)
@pytest.mark.parametrize("read", [TABLE.to_pydict, lambda: TABLE])
def test_wrong_options_are_refused(options, reason, read):
    with pytest.raises(ParameterError, match=reason):
        Source.of(read(), **{"column": "value", **options})


@pytest.mark.parametrize("names", [[0, 0], [0, "0"]])
def test_a_column_without_a_name_of_text_is_also_given_once(names):
    with pytest.raises(ParameterError, match="given twice"):
        Source.of(pd.DataFrame([[1, 2]]), column=names)


def test_lists_are_refused_with_what_to_do_instead():
    with pytest.raises(DataError, match="holds lists: write one row for each"):
        open_engine(Source.of(pa.table({"value": [["a", "b"]], "user": [1]}), column="value"))


def test_what_a_condition_needs_must_be_there(tmp_path):
    where = Condition.parse("nowhere = 1")
    for data in (TABLE, TABLE.to_pylist()):
        with pytest.raises(DataError, match="no column 'nowhere'"):
            Source.of(data, column="value", where=where)
    with pytest.raises(ParameterError, match="where needs a table"):
        Source.of(["a", "b"], where=where)
    for name, write in FILES.items():
        write(tmp_path / name)
        with pytest.raises(DataError, match="no column 'nowhere'"):
            open_engine(Source.of(find_files([tmp_path / name]), column="value", where=where))


def test_columns_that_differ_in_capitals_are_not_taken_for_each_other(tmp_path):
    table = {"value": ["a", "b"], "VALUE": ["x", "y"], "user": [1, 1]}
    with engine(table, ["value", "VALUE"]) as opened:
        assert counted(opened) == {("a", "x"): 1, ("b", "y"): 1}
    (tmp_path / "rows.csv").write_text("value,VALUE\na,x\n")
    with pytest.raises(DataError, match="differ only in capitals"):
        open_engine(Source.of(tmp_path, column=["value", "VALUE"]))


def test_a_codebook_in_another_call_makes_other_sets():
    table = {"person": [1, 1], "value": ["a", "b"]}
    one, other = (Codebook(list(labels), kind=Kind(pa.string()), missing=False, other=True) for labels in ("a", "ab"))
    with engine(table, user="person", values_per_person=2) as opened:
        assert counted(opened, one) == {0: 1, 1: 1}
        assert counted(opened, other) == {0: 1, 1: 1}
        assert opened.holdings(other) == {2: 1}
        assert counted(opened) == {"a": 1, "b": 1}


def test_the_columns_of_a_lazy_query_belong_together():
    """The query runs once for all columns, because each run can return rows in another order."""
    runs = []

    def shuffled(frame):
        runs.append(1)
        return frame.sample(fraction=1.0, shuffle=True, seed=len(runs))

    rows = pl.DataFrame({"person": [at // 3 for at in range(900)], "app": [f"of {at // 3}" for at in range(900)]})
    query = rows.lazy().map_batches(shuffled)
    source = Source.of(query, column="app", user="person", values_per_person=2, where="app != 'x'")
    with People(source) as people:
        assert people.number(count=True) == 300
        assert people.numbered().counts.tolist().count(1) >= 300  # each value belongs to one person
        assert people.numbered().counts.max() <= 300
        assert sorted(people.numbered().counts.tolist())[-1] == 300  # all of them lack one of two values
    assert len(runs) == 1


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"where": "u = 17"}, {"values_per_person": 2, "user": "u"}])
@pytest.mark.parametrize("domain", [["healthy"], Edges([50])])
def test_what_is_outside_a_list_is_never_refused_where_few_can_be_asked_about(options, domain):
    """A refusal would reveal what one person holds, without spending budget."""
    held = ["healthy", "ill", "30", "n/a", None]
    for value in held:
        rows = {"u": [*range(17), 17, *range(18, 40)], "v": [*["60"] * 17, value, *["60"] * 22]}
        for drop in (False, True):
            with People(Source.of(rows, column="v", drop_missing=drop, domain=domain, **options)) as people:
                assert people.number(count=True) == 40
                assert people.numbered().counts.sum() == 40 * options.get("values_per_person", 1)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"values_per_person": 2}, {"where": "app != 'x'"}])
def test_a_user_that_is_no_number_is_nobody_in_every_format(options, tmp_path):
    """In files and in memory, with single values and sets; 0.0 and -0.0 are one person."""
    table = pa.table({"u": [1.0, 2.0, float("nan"), None, 0.0, -0.0], "app": ["a", "b", "c", "d", "e", "e"]})
    path = tmp_path / "rows.parquet"
    pa.parquet.write_table(table, path)
    for data in (path, table, table.to_pandas(), pl.from_arrow(table)):
        with People(Source.of(data, column="app", user="u", **options)) as people:
            assert people.number(count=True) == 3

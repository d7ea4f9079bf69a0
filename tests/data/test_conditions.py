"""Conditions: parsing, errors, and the same result on every engine for any data.

The oracle evaluates the random expression itself; it shares no code with the parser or the SQL.
"""

import operator
import re
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shuffledp import ParameterError
from shuffledp.data import Source, open_engine
from shuffledp.data.where import Condition

SIGNS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq, "!=": operator.ne}

# the oracle -------------------------------------------------------------------------------------------------------


def number_of(value):
    """Return a Fraction for whole numbers of up to 38 digits, a float for other numbers, else None."""
    if isinstance(value, bool) or value is None or value != value:
        return None
    if isinstance(value, int | float):
        return Fraction(value) if isinstance(value, int) else value
    text = str(value)
    if not isinstance(value, str | Decimal) or len(text) > 400:
        return None
    bare = text.strip(" ")
    if re.fullmatch(r"[+-]?[0-9]{1,38}", bare):
        return Fraction(bare)
    if re.fullmatch(r"[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]{1,4})?", bare):
        return float(bare)
    return None


def day_of(value):
    if isinstance(value, datetime):
        return value.date() if value.tzinfo is None else value.astimezone(UTC).date()
    if isinstance(value, date):
        return value
    parts = re.fullmatch(
        r" *([0-9]{4}-[0-9]{2}-[0-9]{2})([ T]([0-9]{2}:[0-9]{2})(:[0-9]{2}(\.[0-9]{1,12})?)?"
        r"(Z|[+-][0-9]{2}(:?[0-9]{2})?)?)? *",
        value if isinstance(value, str) else "",
    )
    try:
        if parts is None or int((parts[4] or ":0")[1:3]) > 59:
            return None
        zone = (parts[6] or "Z").replace(":", "").replace("Z", "+0000").ljust(5, "0")
        if int(zone[3:]) > 59 or int(zone[1:3]) > 23:
            return None
        local = datetime.fromisoformat(f"{parts[1]} {parts[3] or '00:00'}")
        return (local - int(zone[0] + "1") * timedelta(hours=int(zone[1:3]), minutes=int(zone[3:]))).date()
    except ValueError:
        return None


def compared(value, sign, literal):
    """Return True, False or None for undecided."""
    if isinstance(literal, bool):
        truth = {"true": True, "false": False}.get(str(value).lower()) if isinstance(value, str | bool) else None
        return None if truth is None else SIGNS[sign](truth, literal)
    if isinstance(literal, str):
        return None if value is None else SIGNS[sign](value.encode(), literal.encode())
    if isinstance(literal, date):
        return None if (day := day_of(value)) is None else SIGNS[sign](day, literal)
    found = number_of(value)
    if found is None:
        return None
    return SIGNS[sign](found, Fraction(literal)) if isinstance(found, Fraction) else SIGNS[sign](found, float(literal))


def either(answers):
    return True if True in answers else None if None in answers else False


def negated(answer):
    return None if answer is None else not answer


def holds(tree, row):
    kind, *rest = tree
    if kind == "missing":
        return row[rest[0]] is None or row[rest[0]] != row[rest[0]]
    if kind == "in":
        return either([compared(row[rest[0]], "=", literal) for literal in rest[1]])
    if kind == "not":
        return negated(holds(rest[0], row))
    if kind in ("and", "or"):
        answers = [holds(part, row) for part in rest[0]]
        return either(answers) if kind == "or" else negated(either(list(map(negated, answers))))
    return compared(row[rest[0]], kind, rest[1])


def written(tree):
    """Return the expression as a person could write it."""
    kind, *rest = tree
    if kind in ("and", "or"):
        return "(" + f" {kind.upper()} ".join(map(written, rest[0])) + ")"
    if kind == "not":
        return f"NOT {written(rest[0])}"
    name = '"' + rest[0].replace('"', '""') + '"' if not rest[0].isidentifier() else rest[0]
    if kind == "missing":
        return f"{name} is null"
    if kind == "in":
        return f"{name} In ({', '.join(map(literal_text, rest[1]))})"
    return f"{name}{kind}{literal_text(rest[1])}"


def literal_text(literal):
    if isinstance(literal, bool):
        return str(literal)
    if isinstance(literal, str):
        return "'" + literal.replace("'", "''") + "'"
    return f"date '{literal}'" if isinstance(literal, date) else str(literal)


# random data and expressions --------------------------------------------------------------------------------------

HOSTILE = [
    "", " ", "'", '"', "it's", "DE", "de", "é", "日本", "\x00", "\n", "5\n", "%", "\\", "--",
    "'; DROP TABLE x; --", "NULL",
    "nan", "inf", "-inf", "Infinity", "1e400", "-1e400", "1e-400", "0x10", "1_000", "1,000", " 7 ", "7.", ".5", "+5",
    "9007199254740993", "9007199254740992.5", "9" * 38, "9" * 39, "9" * 401, "-0", "0", "18", "17.99999999999999999999",
    "true", "TRUE", "False", "t", "1", "2026-01-31", "2026-01-31T23:30:00-05:00", "2026-01-31 00:30+01:00",
    "2026-02-30",
    "2026-01-31 12:00:60", "0000-01-01", "0001-01-01 01:00+01:00", "9999-12-31 23:30+01:00", "2026-01-31Z", "20260131",
    "2026-01-31 23:59:59.999999999Z",
]  # fmt: skip
TEXT = st.sampled_from(HOSTILE) | st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
NUMBERS = st.one_of(
    st.integers(-(10**20), 10**20).map(Decimal),
    st.sampled_from(["0", "-0", "18", "17.5", "0.1", "1e400", "-1e400", "1e-400", "9007199254740993", "1e38"]).map(
        Decimal
    ),
    st.decimals(-1000, 1000, places=3),
)
DAYS = st.dates(date(2026, 1, 28), date(2026, 2, 3)) | st.sampled_from([date(1, 1, 1), date(9999, 12, 31)])
ROW = st.fixed_dictionaries(
    {
        "t": st.none() | TEXT,
        "i": st.none() | st.integers(-(2**63), 2**63 - 1) | st.sampled_from([0, 17, 18, 2**53, 2**53 + 1]),
        "d": st.none() | st.floats() | st.sampled_from([0.1, -0.0, 18.0, 17.5]),
        "c": st.none() | st.decimals(-1000, 1000, places=3),
        "b": st.none() | st.booleans(),
        "day": st.none() | DAYS,
        "at": st.none() | st.datetimes(datetime(2026, 1, 28), datetime(2026, 2, 3)),
        'my "column"': st.none() | TEXT,
    }
)
NAMES = ["t", "i", "d", "c", "b", "day", "at", 'my "column"']
TEXTS = ["t", 'my "column"']
KINDS = {
    "t": pa.string(), "i": pa.int64(), "d": pa.float64(), "c": pa.decimal128(18, 3), "b": pa.bool_(),
    "day": pa.date32(),
    "at": pa.timestamp("us"), 'my "column"': pa.string(),
}  # fmt: skip
LITERAL = NUMBERS | DAYS | st.booleans()
TEST = st.one_of(
    st.tuples(st.sampled_from(list(SIGNS)), st.sampled_from(NAMES), NUMBERS | DAYS),
    st.tuples(st.sampled_from(["=", "!="]), st.sampled_from(NAMES), st.booleans()),
    st.tuples(st.sampled_from(list(SIGNS)), st.sampled_from(TEXTS), TEXT),
    st.tuples(st.just("in"), st.sampled_from(NAMES), st.lists(LITERAL, min_size=1, max_size=4)),
    st.tuples(st.just("in"), st.sampled_from(TEXTS), st.lists(LITERAL | TEXT, min_size=1, max_size=4)),
    st.tuples(st.just("missing"), st.sampled_from(NAMES)),
)
TREE = st.recursive(
    TEST,
    lambda part: st.one_of(
        st.tuples(st.just("not"), part),
        st.tuples(st.sampled_from(["and", "or"]), st.lists(part, min_size=2, max_size=3)),
    ),
    max_leaves=6,
)


CONNECTION = duckdb.connect()


def on_duckdb(condition, table):
    CONNECTION.register("rows", table)
    types = {name: kind for name, kind, *_ in CONNECTION.execute("DESCRIBE rows").fetchall()}
    return [one for (one,) in CONNECTION.execute(f"SELECT {condition.to_duckdb(types=types)} FROM rows").fetchall()]


NEGATIVE_NAN = np.copysign(np.nan, -1.0).item()


@pytest.mark.slow
@settings(max_examples=150)
@given(TREE, st.lists(ROW, min_size=1, max_size=20))
@example(("missing", "d"), [dict.fromkeys(NAMES, None) | {"d": value} for value in (NEGATIVE_NAN, float("nan"), 1.0)])
def test_duckdb_answers_as_the_oracle_whatever_the_data(tree, rows):
    table = pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in KINDS.items()})
    condition = Condition.parse(written(tree))
    assert set(condition.columns) <= set(NAMES)
    assert on_duckdb(condition, table) == [holds(tree, row) for row in rows]


@pytest.mark.parametrize("sign", ["=", "<", ">="])
@pytest.mark.parametrize("literal", [Decimal(18), Decimal("0.5"), "DE", date(2026, 1, 31), True])
def test_every_hostile_text_against_every_kind_of_literal(sign, literal):
    tree = ("=" if isinstance(literal, bool) else sign, "t", literal)
    found = on_duckdb(Condition.parse(written(tree)), pa.table({"t": HOSTILE}))
    assert dict(zip(HOSTILE, found, strict=True)) == {text: holds(tree, {"t": text}) for text in HOSTILE}


LARGE = [Decimal(text) for text in ("1e400", "-1e400", "1e38", "-1e38", "9" * 38, "9" * 38 + ".5", "-0.5", "7")]
GRID = [
    *[(sign, name, literal) for name in ("t", "i", "d") for sign in SIGNS for literal in LARGE],
    *[("in", name, [literal, Decimal(3)]) for name in ("t", "i", "d") for literal in LARGE],
    *[(sign, "t", text) for text in ("'", "it's", "'; DROP TABLE x; --", "\\", "%") for sign in ("=", "<")],
    ("in", "t", ["it's", "''", '"']),
]
"""Comparisons that random ones hardly ever reach: numbers beyond 38 digits, and texts with quotes."""


@pytest.mark.slow
def test_large_numbers_and_quotes():
    texts = [*HOSTILE, " " * 399 + "7", " " * 400 + "7", "''", "-" + "9" * 38, "1" + "0" * 38]
    numbers = [-(2**63), -1, 0, 7, 2**63 - 1]
    floats = [float("inf"), float("-inf"), 1e300, 1e38, -0.5, 7.0]
    rows = [
        {"t": text, "i": numbers[at % len(numbers)], "d": floats[at % len(floats)]} for at, text in enumerate(texts)
    ]
    table = pa.table({name: pa.array([row[name] for row in rows], KINDS[name]) for name in ("t", "i", "d")})
    CONNECTION.register("rows", table)
    answers = ", ".join(Condition.parse(written(tree)).to_duckdb() for tree in GRID)
    found = CONNECTION.execute(f"SELECT {answers} FROM rows").fetchall()
    assert [list(row) for row in found] == [[holds(tree, row) for tree in GRID] for row in rows]


@pytest.mark.parametrize("zone", [None, "UTC", "Asia/Kathmandu"])
@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_the_first_and_the_last_moment_of_the_calendar(unit, zone):
    """Also where DuckDB's own time zone is another one; moments outside the calendar are undecided."""
    first, last = datetime(1, 1, 1), datetime(9999, 12, 31, 12)
    seconds = [(at - datetime(1970, 1, 1)) // timedelta(seconds=1) for at in (first, last)]
    per_second = {"s": 1, "ms": 1000, "us": 10**6}[unit]
    ticks = [seconds[0] - 1, seconds[0], seconds[1], seconds[1] + 12 * 3600]
    table = pa.table({"at": pa.array([at * per_second for at in ticks], pa.timestamp(unit, zone))})
    with duckdb.connect() as connection:
        connection.register("rows", table)
        if zone is not None:
            connection.execute(f"SET TimeZone = '{zone}'")
        types = {name: kind for name, kind, *_ in connection.execute("DESCRIBE rows").fetchall()}
        answers = [
            f"({Condition.parse(text).to_duckdb(types=types)})"
            for text in ("at = DATE '0001-01-01'", "at = DATE '9999-12-31'", "at IS NULL")
        ]
        found = connection.execute(f"SELECT {', '.join(answers)} FROM rows").fetchall()
    assert [row[2] for row in found] == [False] * 4
    assert [row[:2] for row in found][1:3] == [(True, False), (False, True)]
    assert [row[:2] for row in found][0::3] == [(None, None)] * 2


@pytest.mark.slow
@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("made", [lambda values: {"v": values}, lambda values: pa.table({"v": values})])
def test_nan_of_either_sign_is_missing(made, kind):
    """As a compared value, as a counted value and as a user."""
    values = np.array([NEGATIVE_NAN, np.nan, 1.0], dtype=kind)
    assert np.signbit(values).tolist() == [True, False, False]
    data = made(values)
    with closing(open_engine(Source.of(data, column="v", where="v IS NULL"))) as engine:
        assert [(labels.to_pylist(), people.tolist()) for labels, people in engine.counts()] == [([None], [2])]
    with closing(open_engine(Source.of(data, column="v"))) as engine:
        ((labels, people),) = engine.counts()
        assert dict(zip(labels.to_pylist(), people.tolist(), strict=True)) == {None: 2, 1.0: 1}
    users = {"u": values, "v": ["a", "b", "c"]}
    with closing(open_engine(Source.of(users, column="v", user="u"))) as engine:
        assert engine.people() == 1


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_timestamps_outside_the_calendar_are_undecided(zone):
    ticks = pa.array([2**63 - 1, -(2**63), 2**62, -(2**62), None, 0])
    moments = pa.table({"at": ticks.view(pa.timestamp("us", zone))})
    assert on_duckdb(Condition.parse("at = DATE '1970-01-01'"), moments) == [None] * 5 + [True]
    assert on_duckdb(Condition.parse("at IS NULL"), moments) == [False] * 4 + [True, False]


def test_a_timestamp_outside_the_calendar_in_a_file(tmp_path):
    moments = pa.array([-(2**63), -(2**62), 0, 0], pa.int64()).view(pa.timestamp("us"))
    pa.parquet.write_table(pa.table({"at": moments, "v": ["a", "a", "a", "b"]}), tmp_path / "people.parquet")
    source = Source.of(tmp_path / "people.parquet", column="v", where="at = DATE '1970-01-01'")
    with closing(open_engine(source)) as engine:
        found = {one: count for labels, people in engine.counts()
                 for one, count in zip(labels.to_pylist(), people.tolist(), strict=True)}  # fmt: skip
        assert found == {"a": 1, "b": 1}
        assert engine.people() == 4


def test_timestamps_with_a_zone_are_compared_by_their_day_in_utc():
    at = [datetime(2026, 1, 31, 23, 30, tzinfo=UTC), datetime(2026, 2, 1, 0, 30, tzinfo=UTC)]
    table = pa.table({"at": pa.array(at, pa.timestamp("us", "Europe/Berlin"))})
    try:
        for zone in ("UTC", "America/New_York", "Asia/Kathmandu"):
            CONNECTION.execute(f"SET TimeZone = '{zone}'")
            assert on_duckdb(Condition.parse("at = DATE '2026-01-31'"), table) == [True, False]
    finally:
        CONNECTION.execute("RESET TimeZone")


# words ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_not_binds_closer_than_and_which_binds_closer_than_or():
    table = pa.table({"a": [1, 0, 1, 0], "b": [1, 1, 0, 0], "c": [0, 1, 1, 1]})
    assert on_duckdb(Condition.parse("a = 1 OR b = 1 AND c = 1"), table) == [True, True, True, False]
    assert on_duckdb(Condition.parse("(a = 1 or b = 1) and c = 1"), table) == [False, True, True, False]
    assert on_duckdb(Condition.parse("NOT a = 1 AND b = 1"), table) == [False, True, False, False]
    assert on_duckdb(Condition.parse("NOT (a = 1 AND b = 1)"), table) == [False, True, True, True]
    assert on_duckdb(Condition.parse("a not in (1, 2) and b is not null"), table) == [False, True, False, True]


def test_columns_are_listed_once_and_the_text_is_kept():
    condition = Condition.parse('country = \'DE\' AND ("my ""column""" > 5 OR country IS NULL) AND größe<>3')
    assert condition.columns == ("country", 'my "column"', "größe")
    assert str(condition) == condition.text
    assert condition == Condition.parse(condition.text)
    assert Condition.parse("date = 5").columns == ("date",)  # a word only before a text


TEST_NEEDED, LITERAL_NEEDED = "the name of a column with =, .* is needed", "a number, 'text' .* is needed"
PART = "this part is unexpected, or one is missing"


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("", 1, TEST_NEEDED),
        ("age", 1, TEST_NEEDED),
        ("age >", 5, PART),
        ("age > > 5", 1, TEST_NEEDED),
        ("age = NULL", 1, "IS NULL"),
        ("age == 5", 6, PART),
        ("5 < age", 1, TEST_NEEDED),
        ("age BETWEEN 1 AND 5", 5, PART),
        ("name LIKE 'secret4711%'", 6, PART),
        ("age > 5 5", 9, PART),
        ("(age > 5", 8, PART),
        ("age > 5)", 8, PART),
        ("name = 'secret4711", None, "a quote is missing"),
        ('"name = 5', None, "a quote is missing"),
        ("age IN ()", 1, "a list in parentheses"),
        ("age IN (5,)", 11, LITERAL_NEEDED),
        ("age IN (5 6)", 11, PART),
        ("age IN (other)", 9, LITERAL_NEEDED),
        ("age IN (SELECT 1)", 16, PART),
        ("age IS 5", 1, "NULL is needed after IS"),
        ("age NOT 5", 5, PART),
        ("age > DATE 'secret4711'", 12, "a date such as"),
        ("age > DATE '2026-02-30'", 12, "a date such as"),
        ("age > TRUE", 1, "TRUE and FALSE have no order"),
        ("age > 5; DROP TABLE x", 8, "no part of a condition"),
        ("age > 5 -- 'secret4711'", 9, LITERAL_NEEDED),
        ("age {# secret4711 #} > 5", 1, "no part of a condition"),
        ("age > 5abc", 8, PART),
        ("age > 1.2.3", 7, LITERAL_NEEDED),
        ("age + 1 > 5", 5, LITERAL_NEEDED),
        ("a.age > 5", 2, LITERAL_NEEDED),
        ("random() > 5", 1, TEST_NEEDED),
        ("AND = 5", 7, PART),
        ("IN = 5", 1, TEST_NEEDED),
        ("age = secret4711", 7, LITERAL_NEEDED),
        ("(" * 26 + "a = 1" + ")" * 26, 27, "at most 25 parentheses"),
        ("(" * 500 + "a = 1" + ")" * 500, None, "at most 25 parentheses"),
        ("NOT " * 26 + "a = 1", 105, "at most 25"),
        (" OR ".join(["a = 1"] * 101), 901, "at most 100 comparisons"),
    ],
)
def test_an_error_says_where_and_shows_no_literal(text, place, message):
    at = "" if place is None else f" at character {place}"
    with pytest.raises(ParameterError, match=rf"where cannot be read{at}: .*{message}") as caught:
        Condition.parse(text)
    assert "secret" not in str(caught.value)


@pytest.mark.slow
def test_keywords_of_other_sql_are_names_of_columns():
    """A function such as current_date would give another result on another day."""
    for name in ("group", "order", "case", "select", "current_date", "if", "any", "date", "like", "show", "interval"):
        condition = Condition.parse(f"{name} = 5 AND {name} IS NOT NULL")
        assert condition.columns == (name,)
        assert on_duckdb(condition, pa.table({name: [5, 6, None]})) == [True, False, False]


def test_only_text_is_a_condition():
    with pytest.raises(ParameterError, match="where must be text"):
        Condition.parse(5)


@pytest.mark.slow
@given(st.text(max_size=20))
def test_any_text_is_read_or_refused(text):
    try:
        Condition.parse(text)
    except ParameterError as refused:
        assert "where cannot be read" in str(refused)  # noqa: PT017


@pytest.mark.slow
def test_a_long_list_and_many_comparisons():
    numbers = pa.table({"a": [5, 20_000], "t": ["5", "x"]})
    among = ", ".join(map(str, range(4998)))
    assert on_duckdb(Condition.parse(f"a IN ({among})"), numbers) == [True, False]
    assert on_duckdb(Condition.parse(" OR ".join(f"a = {at}" for at in range(100))), numbers) == [True, False]
    deep = "(" * 25 + "a = 5" + ")" * 25
    assert on_duckdb(Condition.parse(deep), numbers) == [True, False]
    with pytest.raises(ParameterError, match="at most 5,000"):
        Condition.parse(f"a IN ({among}, 1, 2, 3)")


def test_the_oracle_itself_knows_three_values():
    row = {"t": "x", "n": None}
    assert holds(("=", "t", Decimal(5)), row) is None
    assert holds(("or", [("=", "n", "a"), ("=", "t", "x")]), row) is True
    assert holds(("and", [("=", "n", "a"), ("=", "t", "y")]), row) is False


@pytest.mark.slow
@pytest.mark.parametrize("literal", ["1", "0", "250", "-3", "10000000000000000", "1.25"])
def test_the_type_of_a_column_does_not_change_how_its_numbers_compare_with_text(literal):
    """One missing value can turn whole numbers into floats, and one longer fraction makes all decimals longer."""
    numbers = [1, 0, 250, -3, 10**16, None]
    tables = {
        "whole": pa.array(numbers, pa.int64()),
        "double": pa.array([None if n is None else float(n) for n in numbers], pa.float64()),
        "decimal": pa.array([None if n is None else Decimal(n) for n in numbers], pa.decimal128(30, 0)),
        "longer": pa.array([None if n is None else Decimal(n) for n in numbers], pa.decimal128(38, 4)),
        "text": pa.array([None if n is None else str(n) for n in numbers]),
    }
    condition = Condition.parse(f"v = '{literal}' OR v IN ('{literal}', 'x')")
    found = {}
    for name, column in tables.items():
        with duckdb.connect() as connection:
            connection.register("rows", pa.table({"v": column}))
            types = dict(connection.execute("SELECT column_name, column_type FROM (DESCRIBE rows)").fetchall())
            query = f"SELECT {condition.to_duckdb(types=types)} FROM rows"
            found[name] = [answer for (answer,) in connection.execute(query).fetchall()]
    expected = [None if n is None else str(n) == literal for n in numbers]
    assert set(map(tuple, found.values())) == {tuple(expected)}

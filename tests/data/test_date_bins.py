"""The period of a date or timestamp depends on that value alone, for every type."""

import pickle
from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shuffledp import DataError, ParameterError, Periods
from shuffledp.data import ordered_bins as date_bins
from shuffledp.data.arrow import store
from shuffledp.data.labels import Kind
from shuffledp.data.ordered_bins import DateBins
from tests.data.secrets import shows_nothing

LENGTHS = ("hour", "day", "week", "month", "year")
QUARTER = Periods("month", start="2026-01", stop="2026-04")
MOMENTS = [
    datetime(1, 1, 1),
    datetime(1969, 12, 31, 23, 59, 59, 999999),
    datetime(1970, 1, 1),
    datetime(2025, 12, 31, 23, 59, 59, 999999),
    datetime(2026, 1, 1),
    datetime(2026, 2, 28, 23, 59, 59),
    datetime(2026, 3, 31, 23, 59, 59, 999999),
    datetime(2026, 4, 1),
    datetime(9999, 12, 31),
    None,
]


def bins(values, periods=QUARTER, kind=None, missing=True):
    encode = pickle.loads(pickle.dumps(DateBins(periods, kind=kind or Kind(values.type), missing=missing)))
    return encode(values).tolist()


def expected(moments, periods=QUARTER):
    edges = periods.edges
    return [len(edges) + 1 if at is None else sum(edge <= at for edge in edges) for at in moments]


def test_a_period_holds_its_beginning_and_both_ends_are_open():
    encode = DateBins(QUARTER, kind=Kind(pa.date32()), missing=True)
    values = [date(2025, 12, 31), date(2026, 1, 1), date(2026, 3, 31), date(2026, 4, 1), None]
    found = encode.domain.decode(encode(pa.array(values))).tolist()
    assert found == ["before 2026-01", "2026-01", "2026-03", "2026-04 and later", None]


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
@pytest.mark.parametrize("by", LENGTHS)
@pytest.mark.parametrize("zone", [None, "UTC", "America/New_York"])
def test_timestamps_of_every_unit_before_and_after_1970(unit, by, zone):
    periods = Periods(by, start="1969-12-01", stop="1970-02-01")
    values = [at and at.replace(microsecond=0) for at in MOMENTS]
    aware = [at and at.replace(tzinfo=UTC) for at in values] if zone else values
    assert bins(pa.array(aware, pa.timestamp(unit, zone)), periods) == expected(values, periods)


def test_nanoseconds_and_edges_that_they_do_not_reach():
    values = pa.array([-(2**63), -1, 0, 2**63 - 1], pa.int64()).view(pa.timestamp("ns"))
    assert bins(values, Periods("year", start="1000", stop="3000")) == [678, 970, 971, 1263]
    assert bins(values, Periods("hour", start="1969-12-31 23:00", stop="1970-01-01 01:00")) == [0, 1, 2, 3]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [pa.date32(), pa.date64()])
@pytest.mark.parametrize("by", LENGTHS[1:])
def test_dates(kind, by):
    periods = Periods(by, start="1969-12-01", stop="2026-02-15")
    days = [at and at.replace(hour=0, minute=0, second=0, microsecond=0) for at in MOMENTS]
    values = pa.array([day and day.date() for day in days], kind)
    assert bins(values, periods) == expected(days, periods)
    ticks = values.view(pa.int32() if kind == pa.date32() else pa.int64())  # as they are kept in memory
    assert bins(ticks, periods, kind=Kind(kind)) == expected(days, periods)


TEXTS = {
    "2026-01-01": datetime(2026, 1, 1),
    " 2026-01-01 ": datetime(2026, 1, 1),
    "2026-01-01 00:00": datetime(2026, 1, 1),
    "2026-01-01T00:00:00": datetime(2026, 1, 1),
    "2026-01-01T00:00:00Z": datetime(2026, 1, 1),
    "2025-12-31 23:59:59.999999999": datetime(2025, 12, 31, 23, 59),
    "2026-01-01 00:30+01:00": datetime(2025, 12, 31, 23, 30),
    "2026-01-01 00:30+0100": datetime(2025, 12, 31, 23, 30),
    "2026-01-01 00:30+01": datetime(2025, 12, 31, 23, 30),
    "2026-03-31T23:30:00.5-00:45": datetime(2026, 4, 1, 0, 15),
    "2026-03-31T23:30:00-00:15": datetime(2026, 3, 31, 23, 45),
    "2026-02-28T12:00:00+00:00": datetime(2026, 2, 28, 12),
    "0001-01-01": datetime(1, 1, 1),
    "2024-02-29": datetime(2024, 2, 29),
    **dict.fromkeys(
        ["2026-02-29", "2026-00-01", "2026-13-01", "2026-01-32", "0000-01-01", "20260101", "2026-1-1", "01.01.2026",
         "01/02/2026", "2026-01-01 24:00", "2026-01-01 12", "2026-01-01 12:60", "2026-01-01 12:00:60", "2026-01-01Z",
         "2026-01-01 12:00+24:00", "2026-01", "2026", "2026-W01-1", "", "x", "\uff12026-01-01", "2026-01-01\n",
         "10000-01-01", "-2026-01-01", "2026-01-01  00:00", "2026-01-01t00:00", "1767225600", "NaT"]
    ),
}  # fmt: skip


@pytest.mark.parametrize("few", [0, 4096])
@pytest.mark.parametrize("by", LENGTHS)
def test_text_is_read_strictly_few_or_many(monkeypatch, few, by):
    monkeypatch.setattr(date_bins, "_FEW", few)
    periods = Periods(by, start="2025-12-31", stop="2026-04-01 01:00")
    assert bins(pa.array([*TEXTS, None], pa.string()), periods) == expected([*TEXTS.values(), None], periods)


@pytest.mark.slow
@pytest.mark.parametrize("few", [0, 4096])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(LENGTHS),
    st.lists(st.datetimes(timezones=st.none() | st.timedeltas(timedelta(hours=-23), timedelta(hours=23)).map(
        lambda offset: timezone(timedelta(minutes=offset // timedelta(minutes=1)))
    ), min_value=datetime(1999, 12, 29), max_value=datetime(2000, 1, 16)), min_size=20),
    st.sampled_from([" ", "T"]),
)  # fmt: skip
def test_text_with_any_offset(monkeypatch, few, by, moments, between):
    monkeypatch.setattr(date_bins, "_FEW", few)
    periods = Periods(by, start="1999-12-30", stop="2000-01-15")
    utc = [at if at.tzinfo is None else at.astimezone(UTC).replace(tzinfo=None) for at in moments]
    assert bins(pa.array([at.isoformat(between) for at in moments], pa.string()), periods) == expected(utc, periods)


AMERICAN = Periods("month", start="2026-01", stop="2026-04", date_format="%m/%d/%y")
NUMBERS = Periods("month", start="2026-01", stop="2026-04", date_format="%Y%m%d")


def test_text_in_a_given_format_is_read_in_no_other():
    texts = {"01/31/26": 1, " 3/1/26": 3, "4/1/26": 4, "12/31/25": 0, "2026-01-31": 5, "31/01/26": 5, "": 5, None: 5}
    assert bins(pa.array(list(texts), pa.string()), AMERICAN) == list(texts.values())
    stored = store([*texts, date(2026, 2, 1), datetime(2026, 3, 1, 12), 20260301, True])
    assert stored.kind.type is None
    assert bins(stored.entries, AMERICAN, stored.kind) == [*texts.values(), 2, 3, 5, 5]
    for kind in (pa.timestamp("ms"), pa.date32()):  # no text: the format has no influence
        assert bins(pa.array(MOMENTS[3:8], pa.timestamp("us")).cast(kind, safe=False), AMERICAN) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    "values",
    [
        pa.array([20260131, 20260301, None, 7], pa.int64()),
        np.array([20260131, 20260301, 2026, 7], dtype=np.int32),
        pd.Series([20260131, 20260301, None, 7]),  # pandas makes floats of whole numbers if one is missing
        [20260131, "20260301", 10**5000, 7],
        [20260131.0, 20260301, 2026.5, 7],
        ["20260131", "20260301", "2026-01-31", ""],
    ],
    ids=lambda values: type(values).__name__,
)
def test_whole_numbers_are_read_as_text_in_a_given_format(values):
    stored = store(values)
    kind = stored.kind or Kind(stored.entries.type, declared=stored.declared)
    assert bins(stored.entries, NUMBERS, kind) == [1, 3, 5, 5]
    if stored.declared:
        with pytest.raises(ParameterError, match="must not be Periods for a column of int64"):
            bins(stored.entries, QUARTER, kind)
    else:
        assert bins(stored.entries, QUARTER, kind) == [5, 5, 1 if values[2] == "2026-01-31" else 5, 5]


@pytest.mark.slow
@given(st.lists(st.text(max_size=12) | st.none()))
def test_no_text_is_an_error(texts):
    assert len(bins(pa.array(texts, pa.string()))) == len(texts)


def test_data_without_a_type_is_read_value_by_value():
    berlin = timezone(timedelta(hours=1))
    values = [
        date(2026, 1, 1), datetime(2026, 2, 1), datetime(2026, 1, 1, 0, 30, tzinfo=berlin), "2026-03-01", "x", 5, None,
        pd.Timestamp("2026-01-01 00:00:00.123456789"), np.datetime64("2026-02-03"), pd.NaT, True,
    ]  # fmt: skip
    stored = store(values)
    assert stored.kind.type is None
    assert bins(stored.entries, kind=stored.kind) == [1, 2, 0, 3, 5, 5, 5, 1, 2, 5, 5]


def test_arrays_of_numpy_and_pandas():
    for values in (
        np.array(["2026-01-01", "NaT"], dtype="datetime64[D]"),
        pd.Series(pd.to_datetime(["2026-01-01", None])),
    ):
        stored = store(values)
        assert bins(stored.entries, kind=stored.kind) == [1, 5]


@pytest.mark.parametrize(
    "kind", [pa.int64(), pa.float64(), pa.bool_(), pa.time64("us"), pa.duration("s"), pa.decimal128(5)]
)
def test_a_column_that_holds_no_dates_is_refused_by_its_type(kind):
    with pytest.raises(ParameterError, match=r"domain must not be Periods for a column of .*: use Edges"):
        DateBins(QUARTER, kind=Kind(kind), missing=True)
    assert DateBins(QUARTER, kind=Kind(kind, declared=False), missing=True)(pa.nulls(2, kind)).tolist() == [5, 5]


@pytest.mark.parametrize("few", [0, 4096])
def test_a_zone_moves_a_text_to_another_period_also_by_whole_hours(monkeypatch, few):
    monkeypatch.setattr(date_bins, "_FEW", few)
    texts = {
        "2026-01-01 00:30:00+01:00": 0, "2026-01-01 00:30+01": 0, "2025-12-31T23:30:00-01:00": 1,
        "2025-12-31 23:30:00.5-0100": 1, "2026-01-01 00:30:00+00:00": 1, "2025-12-31 23:30Z": 0,
        "2026-01-01 00:10:00+00:30": 0, "2026-01-01 00:40:00+00:30": 1,
    }  # fmt: skip
    assert bins(pa.array(list(texts))) == list(texts.values())


@pytest.mark.parametrize("few", [0, 4096])
def test_many_texts_in_a_given_format_are_not_shortened(monkeypatch, few):
    monkeypatch.setattr(date_bins, "_FEW", few)
    given = Periods("month", start="2026-01", stop="2026-04", date_format="%Y-%m-%d %H:%M:%S")
    texts = {"2026-01-01 12:30:10": 1, "2026-02-01 00:00:00": 2, "2026-02-01 00:00": 5}
    assert bins(pa.array(list(texts)), given) == list(texts.values())


def test_a_date_is_its_midnight_among_hours():
    """Refused where a column declares dates; other dates could come from a person's value."""
    periods = Periods("hour", start="2026-01-01 12:00", stop="2026-01-02 12:00")
    stored = store(np.array(["2026-01-01", "2026-01-02", "2026-01-03"], dtype="datetime64[D]"))
    assert bins(stored.entries, periods, stored.kind) == [0, 13, 25]


def test_dates_have_no_hours():
    with pytest.raises(ParameterError, match=r"by must be at least a day for a column of dates, got hour"):
        DateBins(Periods("hour", start="2026-01-01", stop="2026-01-02"), kind=Kind(pa.date32()), missing=True)


def test_without_a_bin_for_missing_values_they_are_an_error_that_shows_none():
    with pytest.raises(DataError, match="missing or is no date") as caught:
        bins(pa.array(["2026-01-01", "secret-4711"]), missing=False)
    assert shows_nothing(caught, "4711")

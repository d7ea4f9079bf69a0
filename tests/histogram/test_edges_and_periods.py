"""Public intervals and periods: what is read, what is refused, and how they are called."""

import pickle
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pandas import NaT

from shuffledp import Domain, Edges, ParameterError, Periods


def labels(of):
    return of.domain.decode(np.arange(of.domain.size)).tolist()


# edges ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given_edges",
    ["0,18,30,65", " 0, 18 ,30,65", [0, 18, 30, 65], (0.0, 18.0, Decimal("30.00"), 65), np.array([0, 18, 30, 65])],
)
def test_edges_in_every_form_are_the_same(given_edges):
    edges = Edges(given_edges)
    assert edges == Edges("0,18,30,65")
    assert edges.edges == (0, 18, 30, 65)
    assert labels(edges) == ["below 0", "0 to below 18", "18 to below 30", "30 to below 65", "65 and above"]


def test_steps_are_exact_and_both_ends_are_edges():
    tenths = Edges("0:1:0.1")
    assert tenths.edges == tuple(Fraction(at, 10) for at in range(11))
    assert labels(tenths)[3:5] == ["0.2 to below 0.3", "0.3 to below 0.4"]
    assert Edges("0:120:5").edges == tuple(range(0, 121, 5))
    assert Edges("-1e3:1e3:500").edges == (-1000, -500, 0, 500, 1000)
    assert Edges([0.1, 0.2, 0.3]) == Edges("0.1,0.2,0.3")
    assert Edges(np.array([0.1, 0.3], dtype=np.float32)) == Edges("0.1,0.3")
    assert Edges("0:1:0.1") != Edges("0:1:0.2")


def test_n_edges_make_n_plus_one_intervals_that_meet():
    edges = Edges("0,18,65")
    found = [edges.interval(at) for at in range(edges.domain.size)]
    assert found == [(None, 0), (0, 18), (18, 65), (65, None)]
    assert labels(Edges("5")) == ["below 5", "5 and above"]
    for outside in (-1, 4):
        with pytest.raises(ParameterError, match="between 0 and 3"):
            edges.interval(outside)


@pytest.mark.slow
@given(st.lists(st.decimals(allow_nan=False, allow_infinity=False, places=4), min_size=1, max_size=20, unique=True))
def test_the_text_of_edges_reads_back_and_labels_differ(numbers):
    edges = Edges(sorted(numbers))
    assert Edges(str(edges)) == edges
    assert len(set(labels(edges))) == len(numbers) + 1
    assert pickle.loads(pickle.dumps(edges)) == edges


def test_a_text_of_even_steps_is_short():
    assert str(Edges(range(0, 121, 5))) == "0:120:5"
    assert repr(Edges("0:1:0.25")) == "Edges('0:1:0.25')"
    assert repr(Edges([at**2 for at in range(100)])) == "Edges(<100 edges>)"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("", "must be numbers"),
        ("a,b", "must be numbers, got 'a,b'"),
        ("1,,2", "must be numbers"),
        ("0:120", "from, to, step"),
        ("0:120:5:1", "from, to, step"),
        ("0x10,20", "must be numbers"),
        ("nan,1", "must be numbers"),
        ("0,1_000", "must be numbers"),
        ([], "at least one"),
        ("0,0", "must increase"),
        ("5,1", "must increase"),
        ([0.1, "5"], "finite numbers"),
        ([True, 2], "finite numbers"),
        ([0, float("inf")], "finite numbers"),
        ([0, None], "finite numbers"),
        (np.zeros((2, 2)), "flat array"),
        ({1, 2}, "got set"),
        (5, "got int"),
        ("0:10:0", "above 0"),
        ("10:0:1", "go up"),
        ("0:120:7", "do not meet 120: end at 119 or 126"),
        ("0:1:0.3", "do not meet 1: end at 0.9 or 1.2"),
        ("0:1e9:1", "at most 1,000,000, got 1,000,000,001"),
        ("0,1e400", "at most 300 digits"),
        ("0,1e-400", "at most 300 digits"),
    ],
)
def test_wrong_edges_are_refused(wrong, said):
    with pytest.raises(ParameterError, match=said):
        Edges(wrong)


def test_more_than_a_million_edges_are_refused():
    with pytest.raises(ParameterError, match="at most 1,000,000, got 1,000,001"):
        Edges(range(1_000_001))


# periods ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("by", "first", "last"),
    [
        ("hour", ["before 2026-11-16 13:00", "2026-11-16 13:00"], ["2027-01-01 23:00", "2027-01-02 00:00 and later"]),
        ("day", ["before 2026-11-16", "2026-11-16"], ["2027-01-01", "2027-01-02 and later"]),
        ("week", ["before 2026-W47", "2026-W47"], ["2026-W53", "2027-W01 and later"]),
        ("month", ["before 2026-11", "2026-11"], ["2027-01", "2027-02 and later"]),
        ("year", ["before 2026", "2026"], ["2027", "2028 and later"]),
    ],
)
def test_periods_are_whole_and_have_their_usual_names(by, first, last):
    periods = Periods(by, start="2026-11-16 13:20", stop="2027-01-02")
    assert labels(periods)[:2] == first
    assert labels(periods)[-2:] == last
    assert periods.domain.size == len(periods.edges) + 1
    assert Periods(by, start=periods.start, stop=periods.stop) == periods
    assert pickle.loads(pickle.dumps(periods)) == periods


def test_a_stop_where_a_period_begins_is_its_end():
    periods = Periods("month", start="2026-01-01", stop="2027-01-01")
    assert labels(periods) == [
        "before 2026-01",
        *(f"2026-{month:02}" for month in range(1, 13)),
        "2027-01 and later",
    ]
    assert [periods.interval(at) for at in (0, 1, 13)] == [
        (None, datetime(2026, 1, 1)),
        (datetime(2026, 1, 1), datetime(2026, 2, 1)),
        (datetime(2027, 1, 1), None),
    ]
    with pytest.raises(ParameterError, match="between 0 and 13"):
        periods.interval(14)


@pytest.mark.parametrize(
    "start",
    [
        "2026",
        "2026-01",
        "2026-01-01",
        "2026-01-01T00:00",
        date(2026, 1, 1),
        datetime(2026, 1, 1),
        datetime(2026, 1, 1, tzinfo=UTC),
        np.datetime64("2026-01-01"),
        "2026-01-01T00:00Z",
        "2026-01-01T00:00+00:00",
    ],
)
def test_start_in_every_form(start):
    assert Periods("day", start=start, stop="2027").start == datetime(2026, 1, 1)


@given(
    st.sampled_from(["hour", "day", "week", "month", "year"]),
    st.datetimes(min_value=datetime(1, 1, 9), max_value=datetime(9990, 1, 1)),
    st.timedeltas(min_value=timedelta(seconds=1), max_value=timedelta(days=40)),
)
def test_periods_cover_start_and_end_at_stop_without_gaps(by, start, length):
    periods = Periods(by, start=start, stop=start + length)
    assert periods.edges[0] <= start < periods.edges[1]
    assert periods.edges[-2] < start + length <= periods.edges[-1]
    assert len(set(labels(periods))) == len(periods.edges) + 1


@pytest.mark.parametrize(
    ("by", "start", "stop", "said"),
    [
        ("months", "2026", "2027", "by must be one of .* did you mean month"),
        ("month", "2027-05", "2026", "stop must be after 2027-05-01, the .* first month, got 2026-01-01 00:00$"),
        ("month", "2026", "2026", "stop must be after"),
        ("day", "1.1.2026", "2027", "start must be a date or a time, such as .* got '1.1.2026'"),
        ("day", "2026-02-30", "2027", "start must be a date"),
        ("day", "2026", 2027, "stop must be a date or a time, .* got int"),
        ("day", "2026", None, "stop must be a date or a time, .* got NoneType"),
        ("day", np.datetime64("NaT"), "2027", "start must be a date"),
        ("day", NaT, "2027", "start must lie between the years 1 and 9999"),
        (
            "day",
            "2026-11-01T00:00+01:00",
            "2027",
            "start must be in UTC .* 2026-10-31 23:00",
        ),
        ("day", "2026", datetime(2027, 1, 1, tzinfo=timezone(timedelta(hours=-2))), "stop must be in UTC .* 02:00"),
        ("day", "0001-01-03T00:00+23:00", "2027", "start must be in UTC"),
        ("hour", "1000", "2000", "at most 1,000,000 periods"),
        ("year", "2026", "9999-06-01", "before the year 9999"),
    ],
)
def test_wrong_periods_are_refused(by, start, stop, said):
    with pytest.raises(ParameterError, match=said):
        Periods(by, start=start, stop=stop)


# products ---------------------------------------------------------------------------------------------------------


def test_a_product_numbers_tuples_row_by_row():
    product = Domain.product([Domain.of(["a", "b", None]), Domain.range(5, 7)])
    every = [("a", 5), ("a", 6), ("b", 5), ("b", 6), (None, 5), (None, 6)]
    assert product.size == 6
    assert product.decode(np.arange(6)).tolist() == every
    assert product.encode(every).tolist() == list(range(6))
    assert ("b", 6) in product
    for other in (("b", 7), ("c", 5), ("a",), ("a", 5, 5), "a", None):
        assert other not in product
    assert repr(product) == "Domain.product([Domain.of(<3 labels>), Domain.range(5, 7)])"


def test_a_large_product_makes_only_the_tuples_that_are_shown():
    product = Domain.product([Domain.range(4096), Domain.range(4096)])
    assert product.decode([2**24 - 1]).tolist() == [(4095, 4095)]
    with pytest.raises(ParameterError, match=r"at most 16,777,216 cells, and 4,096 x 4,097 = 16,781,312 are more"):
        Domain.product([Domain.range(4096), Domain.range(4097)])
    with pytest.raises(ParameterError, match="list their labels"):
        Domain.product([Domain.range(2), Domain.implicit(10)])

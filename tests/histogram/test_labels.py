"""Every value has one spelling, found from that value alone; equal numbers have the same, whatever their type."""

import ipaddress
import math
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from fractions import Fraction
from uuid import UUID

import numpy as np
import pandas as pd
import pytest
from hypothesis import given

from shuffledp import DataError, Domain, Tally, private_histogram
from shuffledp.histogram.labels import Places, duration, from_key, key, label, moment, symbol, time_of_day
from tests.oracles.hostile_rows import objects
from tests.oracles.readings import spelled


class Colour(Enum):
    RED = "red"
    FIRST = 1


class Level(IntEnum):
    LOW = 1


class Name(StrEnum):
    ZOE = "zoe"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *((missing, None) for missing in (None, math.nan, np.float32("nan"), Decimal("nan"), pd.NA, pd.NaT)),
        *((missing, None) for missing in (np.datetime64("NaT"), np.timedelta64("NaT", "s"), complex("nan"))),
        *((one, 1) for one in (1, 1.0, np.int8(1), np.float16(1), Decimal("1.00"), Fraction(2, 2), 1 + 0j, Level.LOW)),
        *((true, True) for true in (True, np.bool_(True))),
        *((zero, 0) for zero in (0.0, -0.0, np.float32(-0.0), Decimal("-0E+9"))),
        *((half, 1.5) for half in (1.5, np.float32(1.5), Decimal("1.500000"), Fraction(3, 2))),
        (np.float32(0.1), 0.1),
        (np.float16(0.1), 0.1),
        (0.1, 0.1),
        (Decimal("0.10"), Decimal("0.1")),
        (Fraction(1, 3), "1/3"),
        (1e22, 10**22),
        (2.0**70, 2**70),
        (math.inf, math.inf),
        (Decimal("-Infinity"), -math.inf),
        (Decimal("1E+99999"), "1E+99999"),
        (Decimal("1.23456789012345678901234567890123456789"), Decimal("1.23456789012345678901234567890123456789")),
        ("1", "1"),
        (np.str_("a\0b"), "a\0b"),
        ("\ud800", "\\ud800"),
        ("e\u0301", "e\u0301"),  # another normal form is another text
        (b"\xc3\xa1", "á"),
        (b"\xff", "\\xff"),
        (Colour.RED, "red"),
        (Name.ZOE, "zoe"),
        (pd.Interval(0, 1.5), "(0, 1.5]"),
        (pd.Period("2026-01"), "2026-01"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (ipaddress.ip_address("::1"), "::1"),
        (1 + 2j, "(1+2j)"),
    ],
)
def test_labels_of_values(value, expected):
    assert spelled(label(value)) == spelled(expected)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (date(2026, 1, 2), date(2026, 1, 2)),
        (np.datetime64("2026-01-02"), date(2026, 1, 2)),
        (np.datetime64("2026"), date(2026, 1, 1)),
        (np.datetime64("12026-01-02"), "12026-01-02"),
        (np.datetime64("-0001-01-02"), "-001-01-02"),
        (datetime(2026, 1, 2, 3), datetime(2026, 1, 2, 3)),
        (pd.Timestamp("2026-01-02 03:00"), datetime(2026, 1, 2, 3)),
        (np.datetime64("2026-01-02T03"), datetime(2026, 1, 2, 3)),
        (pd.Timestamp("2026-01-02 03:00:00.000000001"), "2026-01-02 03:00:00.000000001"),
        (np.datetime64("2026-01-02T03:00:00.000000001"), "2026-01-02 03:00:00.000000001"),
        (np.datetime64("12026-01-02T03:00:00.500"), "12026-01-02 03:00:00.5"),
        (datetime(2026, 1, 2, 3, tzinfo=timezone(timedelta(hours=1))), datetime(2026, 1, 2, 2, tzinfo=UTC)),
        (pd.Timestamp("2026-01-02 03:00", tz="Europe/Berlin"), datetime(2026, 1, 2, 2, tzinfo=UTC)),
        (datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1))), "0001-01-01 00:00:00 in its time zone"),
        (time(3, 4), time(3, 4)),
        (timedelta(days=1), timedelta(days=1)),
        (pd.Timedelta("1D"), timedelta(days=1)),
        (np.timedelta64(24, "h"), timedelta(days=1)),
        (np.timedelta64(1, "D"), timedelta(days=1)),
        (pd.Timedelta(1), "0.000000001 seconds"),
        (np.timedelta64(2, "M"), "2 months"),
    ],
)
def test_labels_of_dates_and_times(value, expected):
    assert spelled(label(value)) == spelled(expected)


def test_times_that_python_has_not():
    assert moment(np.datetime64(2**62, "s"), aware=True).endswith("+00:00")
    assert time_of_day(1, "ns") == "00:00:00.000000001"
    assert time_of_day(86400, "s") == "24:00:00"
    assert duration(2**62, "s") == f"{2**62} seconds"
    assert duration(-1, "us") == timedelta(microseconds=-1)


@pytest.mark.parametrize("value", [["secret"], ("secret",), {"secret": 1}, {"secret"}, np.array(["secret"]), object()])
def test_what_has_no_label_is_refused_without_showing_it(value):
    with pytest.raises(DataError, match="nested or cannot be written") as error:
        label(value)
    assert "secret" not in str(error.value)
    assert "object at" not in str(error.value)


def test_the_words_of_a_class_stay_out_of_errors():
    class Loud:
        def __str__(self):
            raise ValueError("secret")

    with pytest.raises(DataError, match="cannot be written") as error:
        label(Loud())
    assert "secret" not in str(error.value)


@pytest.mark.slow
@given(objects())
def test_a_key_keeps_the_whole_label_and_a_label_is_its_own(value):
    once = label(value)
    assert spelled(from_key(key(once))) == spelled(once)
    assert spelled(label(once)) == spelled(once)


@given(objects(), objects())
def test_keys_differ_where_labels_do(one, other):
    one, other = label(one), label(other)
    assert (key(one) == key(other)) == (spelled(one) == spelled(other))


def test_long_numbers_have_keys():
    assert from_key(key(2**50_000)) == 2**50_000


# counting ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("equal", "expected"),
    [
        ([True, 1, 1.0, np.int64(1), Decimal(1), Level.LOW], 1),
        ([False, 0.0, -0.0, 0], 0),
        ([(True, -0.0), (1, 0), (1.0, 0.0)], (1, 0)),
        ([0.5, Fraction(1, 2), Decimal("0.5")], 0.5),
        ([Name.ZOE, "zoe", np.str_("zoe")], "zoe"),
        ([datetime(2026, 1, 2, tzinfo=UTC), datetime(2026, 1, 2, 1, tzinfo=timezone(timedelta(hours=1)))],
         datetime(2026, 1, 2, tzinfo=UTC)),
        ([math.nan, float("nan"), None], None),
        ([frozenset([True]), frozenset([1])], frozenset([1])),
    ],
)  # fmt: skip
def test_a_bin_is_not_named_after_its_first_holder(equal, expected):
    """Equal values are one bin: who comes first must not choose its name."""
    domain = Domain.implicit(2**64)
    for values in (equal, equal[::-1], equal[:1], equal[-1:]):
        for counted in (Tally.of(values), Tally.of(domain.encode(values)), Tally.of(values) + Tally.of(values[:0])):
            (name,) = domain.decode(counted.symbols).tolist()
            assert spelled(name) == spelled(expected)
            assert counted.total == len(values)


def test_a_symbol_of_another_kind_is_kept():
    assert symbol(Colour.RED) is Colour.RED
    assert symbol(b"a") == b"a"


@pytest.mark.parametrize("order", [1, -1])
def test_arrays_of_numpy_are_spelled_alike(order):
    assert {spelled(name) for name in Tally.of(np.array([-0.0, 0.0])[::order]).symbols.tolist()} == {spelled(0)}
    assert Tally.of(np.array([1.0, 2.5])).symbols.tolist() == [1, 2.5]
    assert Tally.of(np.array([True, False])).as_dict() == {1: 1, 0: 1}
    assert Tally.of(np.array(["2026-01-02"], dtype="M8[ns]")).symbols.tolist() == [datetime(2026, 1, 2)]


def test_sums_of_tallies_keep_large_numbers_apart():
    """numpy would make floats of signed and unsigned integers together."""
    large = 2**53 + 1
    both = Tally.of(np.array([large], dtype=np.uint64)) + Tally.of(np.array([large - 1, -1], dtype=np.int64))
    assert both.as_dict() == {large: 1, large - 1: 1, -1: 1}
    assert {spelled(name) for name in (Tally.of([1.5]) + Tally.of(["1.5"])).symbols.tolist()} == {
        spelled(1.5),
        spelled("1.5"),
    }


def test_missing_values_are_one_label_of_a_listed_domain():
    domain = Domain.of(["a", None])
    assert domain.encode([None, math.nan, float("nan"), "a"]).tolist() == [1, 1, 1, 0]
    assert math.nan in domain
    assert Domain.of(np.array(["2026-01-02"], dtype="M8[ns]")).encode([datetime(2026, 1, 2)]).tolist() == [0]


def test_labels_are_found_by_any_value_that_has_them():
    places = Places([True, 1, "red", datetime(2026, 1, 2), ("a", 1), None])
    for at, values in enumerate(
        [[True], [1, 1.0, Level.LOW], ["red", Colour.RED], [pd.Timestamp("2026-01-02")], [("a", 1)], [None, math.nan]]
    ):
        assert [places.find(value) for value in values] == [at] * len(values)
    assert False not in places
    assert object() not in places
    assert Places([0, 1]).find(True) == 1


def test_tables_of_whole_and_other_numbers_have_a_column_of_numbers():
    """Whole numbers have no point as labels; in a column with others they have to."""
    release = private_histogram(np.repeat([1.0, 2.5], 800).tolist(), epsilon=1, delta=1e-6)
    assert {spelled(label) for label in release.estimate} == {spelled(1), spelled(2.5)}
    assert sorted(release.estimate.to_arrow()["label"].to_pylist()) == [1.0, 2.5]
    assert sorted(release.estimate.to_polars()["label"].to_list()) == [1.0, 2.5]

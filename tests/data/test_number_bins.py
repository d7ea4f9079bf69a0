"""The interval of a number depends on that number alone and is exact, for every type."""

import pickle
from bisect import bisect_right
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp import DataError, Edges, ParameterError
from shuffledp.data import ordered_bins as number_bins
from shuffledp.data.arrow import store
from shuffledp.data.labels import Kind
from shuffledp.data.ordered_bins import NumberBins
from tests.data.secrets import shows_nothing

WIDE = "-1e30,-9007199254740993,-5.5,-0.3,0,0.1,0.3,1,18,255,9007199254740993,18446744073709551615,1e30"


def bins(values, edges=WIDE, kind=None, missing=True):
    encode = pickle.loads(pickle.dumps(NumberBins(Edges(edges), kind=kind or Kind(values.type), missing=missing)))
    return encode(values).tolist()


def expected(values, edges=WIDE):
    """Return the number of edges that each number reaches; one more than all for a missing value."""
    known = [Fraction(edge) for edge in Edges(edges).edges]
    return [len(known) + 1 if one is None else bisect_right(known, one) for one in values]


def labels(values, edges, **how):
    encode = NumberBins(Edges(edges), kind=Kind(values.type), missing=True, **how)
    return encode.domain.decode(encode(values)).tolist()


def test_an_edge_belongs_to_the_interval_above_it_and_both_ends_are_open():
    found = labels(pa.array([-1, 0, 17, 18, 64, 65, 10**6, None]), "0,18,65")
    assert found == [
        "below 0",
        "0 to below 18",
        "0 to below 18",
        "18 to below 65",
        "18 to below 65",
        "65 and above",
        "65 and above",
        None,
    ]


@pytest.mark.parametrize("kind", [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint64()])
def test_whole_numbers_of_every_width(kind):
    width = np.iinfo(kind.to_pandas_dtype())
    values = [width.min, width.min + 1, 0, 1, 17, 18, width.max - 1, width.max, None]
    if width.max > 2**53:
        values += [2**53, 2**53 + 1, 2**53 + 2]
    assert bins(pa.array(values, kind)) == expected(values)


@pytest.mark.slow
@given(st.lists(st.integers(min_value=-(2**63), max_value=2**63 - 1) | st.none()))
def test_whole_numbers_are_compared_exactly(values):
    assert bins(pa.array(values, pa.int64())) == expected(values)


@pytest.mark.slow
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.none()))
def test_floats_are_the_decimal_number_that_they_are_written_as(values):
    assert bins(pa.array(values, pa.float64())) == expected(
        [None if one is None else Fraction(repr(one)) for one in values]
    )


@pytest.mark.parametrize("kind", [pa.float16(), pa.float32(), pa.float64()])
def test_a_float_reaches_an_edge_that_is_written_like_it(kind):
    narrow = kind.to_pandas_dtype()
    values = pa.array([narrow(one) for one in (0.1, 0.3, -0.3, -0.0, 18, 17.5)], kind)
    assert bins(values) == expected([Fraction(one) for one in ("0.1", "0.3", "-0.3", "0", "18", "17.5")])
    around = [np.nextafter(narrow(0.3), narrow(end)) for end in (0, 1)]
    assert bins(pa.array(around, kind)) == expected([Fraction("0.2999"), Fraction("0.3001")])
    assert bins(pa.array([float("inf"), float("-inf"), float("nan"), None], kind)) == [13, 0, 14, 14]


def test_floats_beside_a_whole_edge_that_is_no_float():
    assert bins(pa.array([2.0**53, 2.0**53 + 2, -(2.0**53), -(2.0**53) - 2])) == expected(
        [2**53, 2**53 + 2, -(2**53), -(2**53) - 2]
    )


@pytest.mark.parametrize(
    "kind", [pa.decimal128(9, 2), pa.decimal128(38, 4), pa.decimal256(60, 4), pa.decimal128(38, 0)]
)
def test_decimal_numbers_are_compared_exactly(kind):
    step = Decimal(1).scaleb(-kind.scale)
    values = [Decimal(one) for one in ("0", "18", "-6", "255")]
    if kind.precision > 30:
        values += [Decimal(2**53), Decimal(2**53 + 1), Decimal(2**64 - 1), Decimal("1e30"), Decimal("-1e30")]
    exact = [Fraction(one) + Fraction(step) * by for one in values for by in (-1, 0, 1)]
    with_step = [Decimal(f"{one.numerator * 10**kind.scale // one.denominator}e-{kind.scale}") for one in exact]
    assert bins(pa.array([*with_step, None], kind)) == expected([*exact, None])
    assert bins(pa.array([None, *with_step], kind)[1:]) == expected(exact)  # an array that begins within another


TEXTS = {
    "0": 0, "-0": 0, "-0.0": 0, "18": 18, "17.999999999999999999999": Fraction("17.999999999999999999999"),
    "+18": 18, " 18 ": 18, "18.": 18, ".3": Fraction("0.3"), "1e1": 10, "1E+1": 10, "180e-1": 18, "0018": 18,
    "0.29999999999999999999": Fraction("0.29999999999999999999"), "9007199254740992.9": Fraction("9007199254740992.9"),
    "9007199254740993": 2**53 + 1, "9007199254740992": 2**53, "1e400": 10**400, "-1e400": -(10**400),
    "1e-400": Fraction(1, 10**400), "-1e-400": -Fraction(1, 10**400), "1e9999": Fraction(10) ** 9999,
    "1e10000": None, "inf": None, "-inf": None, "Infinity": None, "nan": None, "NaN": None, "": None, " ": None,
    "1,000": None, "1 000": None, "1_000": None, "0x10": None, "1e": None, "e5": None, ".": None, "+": None,
    "--1": None, "\uff15": None, "٣": None, "1\n": None, "\t1": None, "1\x00": None, "\u00a01": None, "½": None,
    "true": None, "2026-01-01": None,
    "9" * 400: Fraction("9" * 400), "9" * 401: None, "abc": None,
}  # fmt: skip


@pytest.mark.parametrize("few", [0, 4096])
@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]
)
def test_text_is_read_strictly_and_exactly_few_or_many(monkeypatch, few, kind):
    monkeypatch.setattr(number_bins, "_FEW", few)
    values = pa.array([*TEXTS, None], pa.string())
    assert bins(values.cast(kind), kind=Kind(pa.string())) == expected([*TEXTS.values(), None])


@pytest.mark.slow
@given(st.lists(st.decimals(allow_nan=False, allow_infinity=False) | st.floats(allow_nan=False, allow_infinity=False)))
def test_numbers_written_in_any_way_are_compared_exactly_with_edges_among_them(numbers):
    texts = [str(one) for one in numbers]
    readable = [None if "E" in one and len(one.split("E")[1].lstrip("+-")) > 4 else Fraction(one) for one in texts]
    assert bins(pa.array(texts, pa.string())) == expected(readable)


@pytest.mark.slow
@given(st.lists(st.text(max_size=8) | st.none(), max_size=50))
def test_no_text_is_an_error(texts):
    assert len(bins(pa.array(texts, pa.string()))) == len(texts)


def test_many_texts_and_few_agree(monkeypatch):
    rng = np.random.default_rng(5)
    texts = [
        f"{one:.{places}f}" for one, places in zip(rng.normal(0, 20, 6000), rng.integers(0, 12, 6000), strict=True)
    ]
    many = bins(pa.array(texts), "-20:20:0.1")
    monkeypatch.setattr(number_bins, "_FEW", 10**6)
    assert many == bins(pa.array(texts), "-20:20:0.1") == expected([Fraction(one) for one in texts], "-20:20:0.1")


def test_data_without_a_type_is_read_value_by_value():
    values = [5, 0.3, Decimal("0.1"), "18", "x", None, True, 10**40, -(10**5000), float("inf"), float("nan"), 2**53 + 1]
    stored = store(values)
    assert stored.kind.type is None
    exact = [5, Fraction("0.3"), Fraction("0.1"), 18, None, None, None, 10**40, -(10**5000), 10**400, None, 2**53 + 1]
    assert bins(stored.entries, kind=stored.kind) == expected(exact)


@pytest.mark.parametrize("others", [[], ["x"], [None], [True], [2.5], [10**30]])
def test_one_person_does_not_change_the_intervals_of_others(others):
    values = [1, 17, 18, 300]
    stored = store([*values, *others])
    kind = stored.kind or Kind(stored.entries.type, declared=False)
    assert bins(stored.entries, kind=kind)[:4] == expected(values)


def test_truth_values_without_a_declared_type_are_no_numbers():
    stored = store([True, False])
    assert bins(stored.entries, kind=Kind(stored.entries.type, declared=False)) == [14, 14]


@pytest.mark.parametrize("kind", [pa.date32(), pa.timestamp("us"), pa.bool_(), pa.time64("us"), pa.binary()])
def test_a_column_that_holds_no_numbers_is_refused_by_its_type(kind):
    with pytest.raises(ParameterError, match=r"domain must not be Edges for a column of .*: use Periods"):
        NumberBins(Edges("0,1"), kind=Kind(kind), missing=True)
    NumberBins(Edges("0,1"), kind=Kind(kind, declared=False), missing=True)


@pytest.mark.parametrize("values", [pa.array([1, None]), pa.array(["1", "secret-4711"]), pa.array([1.0, float("nan")])])
def test_without_a_bin_for_missing_values_they_are_an_error_that_shows_none(values):
    assert NumberBins(Edges("0,1"), kind=Kind(values.type), missing=False).domain.size == 3
    with pytest.raises(DataError, match="missing or is no number") as caught:
        bins(values, "0,1", missing=False)
    assert shows_nothing(caught, "4711")


def test_the_bin_of_missing_values_always_exists():
    assert NumberBins(Edges("0,1"), kind=Kind(pa.int64()), missing=True).domain.size == 4


def test_pieces_and_nothing_at_all():
    assert bins(pa.chunked_array([[1, 2], [], [None]], pa.int64()), "2") == [0, 1, 2]
    for kind in (pa.int64(), pa.float64(), pa.string(), pa.decimal128(10, 2), pa.null()):
        assert bins(pa.array([], kind), "2") == []
    assert bins(pa.array([None, None]), "2") == [2, 2]

"""Rows of several columns: the tuple of labels gives the bin."""

import pickle

import numpy as np
import pyarrow as pa
import pytest

from shuffledp import DataError, Edges, ParameterError, Periods
from shuffledp.data.bins import OTHER, Codebook, CrossBins, encoders_of
from shuffledp.data.labels import Kind
from shuffledp.data.ordered_bins import DateBins, NumberBins

COUNTRIES = ["DE", "FR"]
ROWS = [("DE", 17), ("FR", 18), ("DE", None), (None, 70), (None, None), ("FR", -1)]


def cross(*possible, kinds, **how):
    options = {"missing": True, "other": False, "refuses": True, **how}
    return CrossBins(encoders_of(possible, list(map(Kind, kinds)), **options))


def structs(rows, kinds):
    columns = [pa.array([row[at] for row in rows], kind) for at, kind in enumerate(kinds)]
    return pa.StructArray.from_arrays(columns, [str(at) for at in range(len(kinds))])


def test_the_label_of_a_row_is_the_tuple_of_its_labels_in_the_order_of_the_columns():
    kinds = (pa.string(), pa.int64())
    encode = pickle.loads(pickle.dumps(cross(COUNTRIES, Edges("0,18,65"), kinds=kinds)))
    assert encode.domain.size == 3 * 5
    assert encode.domain.decode(encode(structs(ROWS, kinds))).tolist() == [
        ("DE", "0 to below 18"),
        ("FR", "18 to below 65"),
        ("DE", None),
        (None, "65 and above"),
        (None, None),
        ("FR", "below 0"),
    ]


def test_three_columns_pieces_and_rows_that_are_missing_as_a_whole():
    kinds = (pa.string(), pa.int64(), pa.string())
    encode = cross(COUNTRIES, Edges("18"), Periods("year", start="2026", stop="2027"), kinds=kinds)
    rows = structs([("DE", 5, "2026-05-05"), ("FR", 20, "2027-01-01")], kinds)
    pieces = pa.chunked_array([rows, rows.slice(1), pa.nulls(1, rows.type)])
    assert encode.domain.decode(encode(pieces)).tolist() == [
        ("DE", "below 18", "2026"),
        ("FR", "18 and above", "2027 and later"),
        ("FR", "18 and above", "2027 and later"),
        (None, None, None),
    ]


def test_every_bin_is_reached_by_its_own_row():
    kinds = (pa.int64(), pa.int64())
    encode = cross(range(3), range(4), kinds=kinds, missing=False)
    rows = [(a, b) for a in range(3) for b in range(4)]
    assert encode(structs(rows, kinds)).tolist() == list(range(12))
    assert encode.domain.decode(np.arange(12)).tolist() == rows


def test_one_column_is_no_cross_table():
    with pytest.raises(ParameterError, match="at least two columns"):
        cross(COUNTRIES, kinds=(pa.string(),))


def test_what_is_possible_decides_how_a_column_is_read():
    def one(possible, *, other=False):
        (encode,) = encoders_of([possible], [Kind(pa.string())], missing=True, other=other, refuses=True)
        return encode

    assert isinstance(one(COUNTRIES, other=True), Codebook)
    assert isinstance(one(Edges("5")), NumberBins)
    assert isinstance(one(Periods("day", start="2026-01-01", stop="2026-02-01")), DateBins)
    with pytest.raises(ParameterError, match="other must be left out"):
        one(Edges("5"), other=True)


def test_other_values_have_a_bin_where_there_is_a_list_of_values():
    kinds = (pa.string(), pa.int64())
    encode = cross(COUNTRIES, Edges("18"), kinds=kinds, other=True)
    assert encode.domain.size == 4 * 3
    assert encode.domain.decode(encode(structs([("ES", 20)], kinds))).tolist()[0][0] not in COUNTRIES
    with pytest.raises(ParameterError, match="other must be left out"):
        cross(Edges("5"), Edges("18"), kinds=(pa.int64(), pa.int64()), other=True)


@pytest.mark.parametrize("missing", [False, True])
def test_where_nothing_may_be_refused_every_row_of_every_column_has_a_bin(missing):
    """Under a condition a refusal would reveal what the one person holds who satisfies it."""
    kinds = (pa.string(), pa.string(), pa.string())
    possible = (COUNTRIES, Edges("0,18"), Periods("year", start="2026", stop="2027"))
    rows = [("DE", "7", "2026-01-01"), ("IT", "7", "2026-01-01"), ("DE", "old", "2026-01-01"), ("DE", "7", "soon")]
    encode = cross(*possible, kinds=kinds, missing=missing, refuses=False)
    found = encode.domain.decode(encode(structs(rows, kinds))).tolist()
    assert found == [
        ("DE", "0 to below 18", "2026"),
        (OTHER, "0 to below 18", "2026"),
        ("DE", None, "2026"),
        ("DE", "0 to below 18", None),
    ]
    for wrong in rows[1:2] if missing else rows[1:]:
        with pytest.raises(DataError):
            cross(*possible, kinds=kinds, missing=missing)(structs([wrong], kinds))

"""Results as plain values: the one rule for JSON."""

import json
import math
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from enum import Enum

import numpy as np
import pytest

from shuffledp.jsonable import plain, plain_label, to_json


class Model(Enum):
    LOCAL = "local"


@dataclass(frozen=True)
class Part:
    error: float
    counts: tuple = field(repr=False, default=(1, 2, 3))


@dataclass(frozen=True)
class Whole:
    parts: tuple
    bins: int


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        ("text", "text"),
        (3, 3),
        (2**64 - 1, 2**64 - 1),
        (2**64, "about 2^64"),
        (2**200 + 1, "about 2^200"),
        (0.1, 0.1),
        (math.inf, None),
        (-math.inf, None),
        (math.nan, None),
        (np.float64(2.5), 2.5),
        (np.float32("inf"), None),
        (np.int64(7), 7),
        (np.bool_(True), True),
        (np.array([[1.0, math.inf], [2.0, 3.0]]), [[1.0, None], [2.0, 3.0]]),
        (Model.LOCAL, "local"),
        (date(2020, 6, 1), "2020-06-01"),
        (datetime(2020, 6, 1, 12), "2020-06-01 12:00:00"),
        (Decimal("1.10"), "1.10"),
        ((1, [math.inf]), [1, [None]]),
        ({1: 2, "a": {np.int64(3): math.nan}}, {"1": 2, "a": {"3": None}}),
        (Part(math.inf), {"error": None}),
        (Whole((Part(1.0),), 2**70), {"parts": [{"error": 1.0}], "bins": "about 2^70"}),
    ],
)
def test_plain_values(value, expected):
    got = plain(value)
    assert got == expected
    assert type(got) is type(expected)
    assert json.loads(to_json(value)) == expected


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        (2**200 + 1, 2**200 + 1),
        (math.nan, "nan"),
        (math.inf, "inf"),
        (1.5, 1.5),
        (True, True),
        (None, None),
        ("a", "a"),
        (date(2020, 6, 1), "2020-06-01"),
    ],
)
def test_labels_are_kept_whole(label, expected):
    assert plain_label(label) == expected
    assert json.loads(json.dumps(plain_label(label), allow_nan=False)) == expected

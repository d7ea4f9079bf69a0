"""Conditions on Spark: the same results as the oracle, and so as DuckDB."""

from datetime import date, datetime
from decimal import Decimal

import pytest

from shuffledp.data.where import Condition
from tests.data.test_conditions import HOSTILE, NAMES, NEGATIVE_NAN, holds, written

pytestmark = pytest.mark.xdist_group("spark")

ON_SPARK = [
    ("=", "t", "it's"), ("!=", "t", "\\"), ("<", "t", "b"), ("=", "t", "\n"), ("=", "t", Decimal(7)),
    (">", "t", Decimal("17.5")),
    ("=", "t", Decimal("9007199254740993")), ("<", "t", date(2026, 2, 1)), ("=", "t", date(2026, 1, 31)),
    ("=", "t", True),
    (">=", "i", Decimal("9007199254740992.5")), ("=", "d", Decimal("0.1")), (">", "d", Decimal(10) ** 30),
    ("missing", "d"), ("in", "c", [Decimal("0.125"), Decimal(3)]), ("=", "b", False), ("=", "day", date(2026, 1, 31)),
    ("<=", "at", date(2026, 1, 31)), ("in", 'my "column"', ["DE", Decimal(5), date(2026, 1, 31)]),
    ("<", "i", Decimal("1e400")), (">", "i", Decimal("-1e400")), ("in", "i", [Decimal("1e38"), Decimal(-5)]),
    ("<", "t", Decimal("9" * 38 + ".5")), ("in", "t", ["'; DROP TABLE x; --", "it's"]),
    ("not", ("or", [("=", "t", "DE"), ("<", "i", Decimal(0))])),
    ("and", [("not", ("missing", "t")), ("in", "t", ["DE", "de", "日本"])]),
]  # fmt: skip


def test_spark_answers_as_the_oracle_whatever_the_data(spark):
    from pyspark.sql import types as of

    floats = [None, float("nan"), NEGATIVE_NAN, float("inf"), -0.0, 0.1, 1e300, 18.0]
    rows = [
        {
            "t": text,
            "i": [None, -5, 2**53, 2**53 + 1, 2**63 - 1][at % 5],
            "d": floats[at % 8],
            "c": [None, Decimal("0.125"), Decimal("3.000")][at % 3],
            "b": [None, True, False][at % 3],
            "day": [None, date(2026, 1, 31), date(2026, 2, 1)][at % 3],
            "at": [None, datetime(2026, 1, 31, 23, 59), datetime(2026, 2, 1)][at % 3],
            'my "column"': HOSTILE[-at],
        }
        for at, text in enumerate([*HOSTILE, None])
    ]
    kinds = [of.StringType(), of.LongType(), of.DoubleType(), of.DecimalType(18, 3), of.BooleanType(), of.DateType(),
             of.TimestampNTZType(), of.StringType()]  # fmt: skip
    schema = of.StructType([of.StructField(name, kind) for name, kind in zip(NAMES, kinds, strict=True)])
    frame = spark.createDataFrame([tuple(row[name] for name in NAMES) for row in rows], schema)
    conditions = [Condition.parse(written(tree)).to_spark() for tree in ON_SPARK]
    found = [list(row) for row in frame.selectExpr(*conditions).collect()]
    assert found == [[holds(tree, row) for tree in ON_SPARK] for row in rows]


def test_timestamps_with_a_zone_are_compared_in_utc_in_sessions_of_all_zones(spark):
    moments = "SELECT timestamp '2026-01-31 23:30:00Z' AS at UNION ALL SELECT timestamp '2026-02-01 00:30:00Z'"
    before = spark.conf.get("spark.sql.session.timeZone")
    try:
        for zone in ("UTC", "America/New_York", "Asia/Kathmandu"):
            spark.conf.set("spark.sql.session.timeZone", zone)
            answers = spark.sql(moments).selectExpr(Condition.parse("at = DATE '2026-01-31'").to_spark()).collect()
            assert sorted(map(list, answers)) == [[False], [True]]
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)

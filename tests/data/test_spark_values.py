"""On Spark, the labels of others do not depend on the value of one person."""

import pandas as pd
import polars as pl
import pytest

from shuffledp import Periods
from tests.data.test_spark import frame
from tests.oracles.readings import others_stay, published, spelled

pytestmark = pytest.mark.xdist_group("spark")


@pytest.mark.parametrize(
    ("others", "one", "another"),
    [
        ([1, 2, 2], 3, None),
        ([1, 2, 2], 3, 2.5),
        ([pd.Timestamp("2026-01-02"), pd.Timestamp("2026-01-03 04:05:06.000007")], pd.Timestamp("2026-01-04"), pd.NaT),
    ],
    ids=str,
)
def test_data_frames_made_of_pandas(spark, others, one, another):
    """pandas turns whole numbers into floats if one is missing: the labels stay the same."""
    listed = [*others[:2], one]
    first, second = (
        published(frame(spark, pd.DataFrame({"v": [*others, value]}), 1), domain=listed, other=True)
        for value in (one, another)
    )
    if isinstance(one, int):  # moments of pandas have no zone, and those of Spark have
        assert all(second[spelled(label)] for label in listed[:2])
    assert others_stay(first, second)


def test_dates_in_a_given_format_are_read_alike_on_every_engine(spark, tmp_path):
    """Files, data frames and Spark give every text the same period."""
    texts = ["10/16/17", "1/2/17", "2/29/17", "2/29/16", "10/16/2017", "2017-10-16", "oct 16 17", "", "12/31/68", None]
    table = pd.DataFrame({"n": range(len(texts)), "d": texts})
    table.to_csv(tmp_path / "d.csv", index=False)
    table.to_parquet(tmp_path / "d.parquet")
    periods = Periods("month", start="2016-01", stop="2018-01", date_format="%m/%d/%y")
    sources = [tmp_path / "d.csv", tmp_path / "d.parquet", table, pl.DataFrame(table), frame(spark, table, 2)]
    first, *others = [published(data, column="d", domain=periods) for data in sources]
    assert +first == {
        **{spelled(month): 1 for month in ("2017-10", "2017-01", "2016-02", "2018-01 and later")},
        spelled(None): 6,
    }
    assert all(other == first for other in others)

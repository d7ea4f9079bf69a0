"""On Spark, the labels of others do not depend on the value of one person."""

import pandas as pd
import pytest

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

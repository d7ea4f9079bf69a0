"""A search for texts on Apache Spark finds what it finds in one process."""

import warnings

import numpy as np
import pyarrow as pa
import pytest

from shuffledp.data.spark_files import SparkCounts
from shuffledp.histogram.text_code import TextCode
from shuffledp.protocols.free_text import FreeText, TallyCounts

pytestmark = pytest.mark.xdist_group("spark")


def test_counts_of_partitions_add_up_to_those_of_one_process(spark):
    code = TextCode(levels=2, longest=4, alphabet="abc")
    search = FreeText.for_target(code, users=400, epsilon=4, delta=1e-4)
    rows = np.array([code.values_of(text) for text in ["ab"] * 250 + ["c"] * 150])
    messages = search.protocol.randomize(rows, rng=np.random.default_rng(1))
    tally = search.protocol.tally(messages)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        frame = spark.createDataFrame(pa.table({"message": messages})).repartition(3)
    counted, here = SparkCounts(search.protocol, frame), TallyCounts(search.protocol, tally)
    parents = np.array([code.parent((3,)), code.parent((5,)), 0])
    assert (counted.supports(1, parents) == here.supports(1, parents)).all()
    assert (counted.count(0, np.array([3, 4, 5])) == here.count(0, np.array([3, 4, 5]))).all()
    one, other = (search.estimate(tally, reports=400, counts=counts) for counts in (here, counted))
    assert {"ab", "c"} <= set(one)
    assert one.to_csv() == other.to_csv()

"""Spark with two executors in separate processes.

The file name puts these tests after those that share the local session, which ends here.
"""

import os
import signal

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from shuffledp import SparseHistogram
from shuffledp.data import find_files
from shuffledp.data.bins import Codebook
from shuffledp.data.labels import Kind
from shuffledp.protocols import MessageCount
from tests.data import test_spark as on_one_machine
from tests.data.spark_sessions import CLUSTER, start
from tests.data.test_spark import BINS, PEOPLE_PER_BIN, USERS, engine
from tests.oracles.goodness import assert_distribution

pytestmark = pytest.mark.xdist_group("spark")


@pytest.fixture
def cluster():
    return start(CLUSTER)


def test_files_are_counted_as_in_process(cluster, tmp_path):
    on_one_machine.test_files_are_counted_as_in_process(cluster, tmp_path, "people.csv")


def test_a_data_frame_and_one_row_for_each_person(cluster):
    on_one_machine.test_a_data_frame_and_one_row_for_each_person(cluster)


def test_the_whole_release(cluster):
    on_one_machine.test_the_whole_release(cluster)


@pytest.mark.parametrize("user", [None, "user"])
def test_a_task_that_is_killed_and_tried_again_makes_the_same_messages(cluster, tmp_path, user, monkeypatch):
    """An executor dies in the middle of a partition; the tally equals that of a run without failure.

    With a user column, each person has two rows in different files, and Spark's shuffle returns the chosen rows in an
    order that differs between attempts.
    """
    monkeypatch.setattr("secrets.token_bytes", lambda size: b"one secret for both runs")
    bins = np.repeat(np.arange(BINS), PEOPLE_PER_BIN)
    table = pa.table({"value": bins, "user": np.arange(USERS) % (USERS // 2)})
    for part in range(4):
        pa.parquet.write_table(table.slice(part * USERS // 4, USERS // 4), tmp_path / f"part-{part}.parquet")
    data = find_files([tmp_path])
    inner = SparseHistogram.calibrate(users=USERS, bins=BINS, epsilon=1, delta=1e-6)
    died = tmp_path / "died"

    class Fragile:
        """Kills its process at the second batch of the first attempt of a task."""

        users, bins, padding_bins = USERS, BINS, 0
        numbered_messages = True
        messages_per_user = MessageCount(expected=15_000.0, maximum=np.inf)  # so that a task has several batches

        def __init__(self, deadly):
            self.deadly, self.calls = deadly, 0

        def randomize(self, values, *, rng):
            from pyspark import TaskContext

            self.calls += 1
            context = TaskContext.get()
            if self.deadly and self.calls == 2 and context.attemptNumber() == 0 and context.partitionId() == 0:
                died.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return inner.randomize(values, rng=rng)

        def tally(self, messages):
            return inner.tally(messages)

    book = Codebook(range(BINS), kind=Kind(pa.int64()), missing=False, other=False)
    tallies = []
    for deadly in (False, True):
        tallies.append(engine(data, user=user).tally(Fragile(deadly), book))
    assert died.exists()
    calm, troubled = tallies
    assert np.array_equal(calm.counts[:, 0], troubled.counts[:, 0])
    assert np.array_equal(calm.counts[:, 1], troubled.counts[:, 1])
    if user is None:
        pairs = troubled.counts[:, 0] - PEOPLE_PER_BIN
        assert_distribution(pairs, inner.pairs.window.first, inner.pairs.window.pmf)

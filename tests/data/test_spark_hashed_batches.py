"""Counting files of texts, numbers and choices on Spark: the same tally as in process, that of the reports."""

import pyarrow
import pytest

from shuffledp.collect.batch_files import spark as on_spark
from shuffledp.collect.batch_files.formats import find_batches
from shuffledp.collect.store.tallies import to_bytes
from shuffledp.histogram.tally import Tally
from shuffledp.progress import quiet
from tests.collect.batch_files.crowd import mixed_first, reports, small
from tests.collect.batch_files.test_sets import kept_of, mixed
from tests.data.spark_sessions import LOCAL, start

pytestmark = pytest.mark.xdist_group("spark")


@pytest.mark.slow
def test_messages_of_texts_are_counted_as_they_were_sent(tmp_path, monkeypatch):
    """Nearly all messages differ, so each bucket has one row."""
    start(LOCAL)
    monkeypatch.setattr(on_spark, "_OPENED", 100)
    kept, crowd = small(protocol="texts"), reports(40, protocol="texts")
    mixed_first(tmp_path, crowd.sealed, protocol="texts")
    batches = find_batches([tmp_path / "b"], kept.task, position=1).batches
    assert kept.task.alphabet > batches[0].number > 400
    (found,) = on_spark.Spark(master=None, progress=quiet).count_batches(batches, kept.task, kept.keys[1])
    assert (found.tally.as_dict(), found.refused) == (dict(crowd.tally()), {})


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["numbers", "choices", "padded choices"])
def test_messages_of_numbers_and_choices_are_counted_as_they_were_sent(tmp_path, kind):
    start(LOCAL)
    kept, sent = kept_of(kind), mixed(kind, tmp_path)
    batches = find_batches([tmp_path / "b"], kept.task, position=1).batches
    (found,) = on_spark.Spark(master=None, progress=quiet).count_batches(batches, kept.task, kept.keys[1])
    assert (found.tally.as_dict(), found.refused) == (sent.as_dict(), {})


def test_equal_messages_of_several_buckets_are_added():
    buckets = [Tally.of([5, 2**61, 5]), Tally.of([7, 2**61])]
    rows = [*({"tally": to_bytes(bucket)} for bucket in buckets), {"tally": None, "reason": "repeated"}]
    found = on_spark._unpacked(pyarrow.Table.from_pylist(rows))
    assert (found.as_dict(), found.messages) == ({5: 2, 7: 1, 2**61: 2}, 5)
    nothing = pyarrow.table({"tally": pyarrow.array([], pyarrow.binary())})
    assert on_spark._unpacked(nothing).messages == 0

"""Mixing and counting files of a collection on Spark, with an executor that is killed in the middle.

The file name puts this test after others of the same session, whose executors it kills.
"""

import base64
import os
import signal
from collections import Counter
from dataclasses import fields
from pathlib import Path

import pyarrow.parquet
import pytest

from shuffledp.collect.batch_files import count_files, mix_files, write_reports
from shuffledp.collect.batch_files import spark as on_spark
from shuffledp.collect.batch_files import steps as mixing
from shuffledp.collect.batch_files.batches import lot_key
from shuffledp.collect.batch_files.engine import OutputFolder
from shuffledp.collect.batch_files.seen import opened_seen
from shuffledp.collect.crypto.batch import Layer
from shuffledp.collect.reasons import Reason
from shuffledp.collect.task.report import seal_report
from tests.collect.batch_files.crowd import HOUR, NOW, messages_in, reports, small
from tests.data.spark_sessions import CLUSTER, DISK, start

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.slow]


def copied(kind, original):
    """Return a copy of an object as an instance of a class that kills its process."""
    return kind(**{field.name: getattr(original, field.name) for field in fields(original)})


@pytest.fixture
def deadly(tmp_path, monkeypatch):
    """Kill an executor while batches are written, and a worker while messages are opened; return what was killed.

    Buckets are small, so that there are many. Classes are defined locally, because Spark then sends them to the
    executors, which cannot import the tests.
    """
    monkeypatch.setattr(on_spark, "_WRITTEN", 64)
    monkeypatch.setattr(on_spark, "_OPENED", 64)
    flags = tmp_path / "killed"
    flags.mkdir()

    def kill(flag, *, executor):
        """Kill once: this worker, or the Java process of its executor."""
        from pyspark import TaskContext

        if TaskContext.get() is None or flag.exists():
            return
        flag.touch()
        if executor:
            java = int(Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[1])
            assert "java" in Path(f"/proc/{java}/comm").read_text()
            os.kill(java, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)

    class DeadlyTarget(OutputFolder):
        """Kills the executor when two parts are written."""

        def head(self, batch_id, *, part=0, parts=1):
            if self.position == 1 and len(list(self.folder.rglob("part-*.parquet"))) >= 2:
                kill(flags / "writing", executor=True)
            return super().head(batch_id, part=part, parts=parts)

    class DeadlyLayer(Layer):
        """Kills the worker that opens messages."""

        def open_block(self, block):
            if self.position == 2:
                kill(flags / "counting", executor=False)
            return Layer.open_block(self, block)

    target, layer = mixing._target, on_spark.layer_of
    monkeypatch.setattr(mixing, "_target", lambda *given: copied(DeadlyTarget, target(*given)))
    monkeypatch.setattr(on_spark, "layer_of", lambda *given: copied(DeadlyLayer, layer(*given)))
    return flags


def test_every_step_with_a_killed_executor_gives_exactly_what_was_sent(deadly, tmp_path, monkeypatch):
    """Two shufflers and the analyzer: the same batches, refusals and tally as in process."""
    kept, crowd = small(2), reports(100, shufflers=2)
    start(CLUSTER)
    drawn = []
    monkeypatch.setattr(on_spark.secrets, "token_bytes", lambda size: drawn.append(os.urandom(size)) or drawn[-1])
    other = seal_report(kept.task, crowd.messages[99], report_id=crowd.ids[99], time=HOUR)  # other onions
    write_reports(tmp_path / "a.parquet", (*crowd.sealed[:50], b"?"))
    write_reports(tmp_path / "b.parquet", (*crowd.sealed[40:], other))
    write_reports(tmp_path / "c.parquet", crowd.sealed[:20])
    names = [tmp_path / f"{name}.parquet" for name in "abc"]
    first = {"task": kept.task, "key": kept.keys[0], "now": NOW}
    calm = mix_files(names, seen=tmp_path / "calm.seen", out=tmp_path / "calm", processes=1, **first)
    one = mix_files(names, seen=tmp_path / "0.seen", out=tmp_path / "one", engine="spark", **first)
    assert [batch.batch_id for batch in one.batches] == [batch.batch_id for batch in calm.batches]
    assert [batch.number for batch in one.batches] == [batch.number for batch in calm.batches]
    assert (one.reports, one.known, one.rest) == (calm.reports, calm.known, calm.rest) == (132, 30, 20)
    assert one.refused == calm.refused == {Reason.CANNOT_BE_OPENED: 1, Reason.OTHER_BYTES: 1}
    left = [
        sorted(pyarrow.parquet.read_table(tmp_path / f"{run}.kept" / "rest.parquet")["report"].to_pylist())
        for run in ("one", "calm")
    ]
    assert left[0] == left[1]

    second = {"task": kept.task, "key": kept.keys[1], "seen": tmp_path / "1.seen"}
    two = mix_files([tmp_path / "one"], out=tmp_path / "two", engine="spark", **second)
    assert [batch.number for batch in two.batches] == [batch.number for batch in sorted(one.batches)]
    sent = crowd.tally(
        person for person in range(100) if not {crowd.sealed[person], *([other] * (person == 99))} & set(left[0])
    )
    parts = [tmp_path / "two" / batch.batch_id.hex() for batch in two.batches]
    found = sum((messages_in(*sorted(part.iterdir()), shufflers=2) for part in parts), Counter())
    assert found == sent

    counting = {"task": kept.task, "key": kept.keys[2], "seen": tmp_path / "2.seen"}
    again = count_files([tmp_path / "two"], engine="spark", **counting)
    quiet = count_files([tmp_path / "two"], processes=1, **counting)
    assert again.release.messages == quiet.release.messages == sum(found.values())
    assert again.release.estimate.to_dict() == quiet.release.estimate.to_dict()
    assert {flag.name for flag in deadly.iterdir()} == {"writing", "counting"}
    assert not [path for run in ("one", "two") for path in (tmp_path / run).rglob(".*")]

    log = b"".join(path.read_bytes() for path in (DISK / "events").rglob("*") if path.is_file())
    kept_files = b"".join(path.read_bytes() for path in (DISK / "local").rglob("*") if path.is_file())
    assert b"MapInArrow" in log
    assert b"SparkListenerTaskEnd" in log
    assert (DISK / "local").is_dir()  # Spark deletes what it no longer needs, at times of its own
    hidden = [*(key.private_bytes for key in kept.keys), lot_key(kept.keys[0].private_bytes, kept.task.id)]
    for position in (1, 2):
        with opened_seen(tmp_path / f"{position}.seen", kept.task, kept.keys[position]) as seen:
            hidden.append(seen.secret)
    secrets_of_runs = [secret for secret in drawn if len(secret) == 32]  # shorter ones are parts of names
    assert len(secrets_of_runs) == 3
    for secret in (*hidden, *secrets_of_runs):
        for spelled in (secret, secret.hex().encode(), base64.b64encode(secret)):
            assert spelled not in log
            assert spelled not in kept_files

"""The order of a batch is uniform with both engines, and outputs do not identify senders.

Each chi-square test has a false failure rate of at most FALSE_FAILURE_RATE.
"""

import itertools
import secrets

import numpy as np
import pyarrow.parquet
import pytest

from shuffledp.collect.batch_files import write_reports
from shuffledp.collect.batch_files.batches import Batch
from shuffledp.collect.batch_files.engine import InProcess, OutputFolder
from shuffledp.collect.batch_files.executors import buckets_for, by_bucket, in_order
from shuffledp.collect.batch_files.formats import PartHead, find_batches, write_part
from shuffledp.collect.task.report import open_report
from shuffledp.progress import quiet
from tests.collect.batch_files.crowd import NOW, mixed_first, onions_in, reports, small
from tests.oracles.goodness import FALSE_FAILURE_RATE, p_value

WIDTH, ONIONS, RUNS = 20, 6, 1_000


def blocks():
    """Six numbered onions in three blocks of two."""
    onions = [bytes([at]) * WIDTH for at in range(ONIONS)]
    return [b"".join(onions[at : at + 2]) for at in range(0, ONIONS, 2)]


def through_buckets(buckets):
    """Mix as Spark executors do: deal block by block, then sort each bucket."""
    secret = secrets.token_bytes(32)
    parts = dict.fromkeys(range(buckets), b"")
    for block in blocks():
        for bucket, onions in by_bucket(block, secret=secret, buckets=buckets, width=WIDTH):
            parts[bucket] += onions
    return b"".join(in_order(part, secret=secret, width=WIDTH)[0] for part in parts.values())


def not_in_order(buckets):
    """The negative control: buckets are not sorted."""
    secret = secrets.token_bytes(32)
    parts = dict.fromkeys(range(buckets), b"")
    for block in blocks():
        for bucket, onions in by_bucket(block, secret=secret, buckets=buckets, width=WIDTH):
            parts[bucket] += onions
    return b"".join(parts.values())


def in_process(tmp_path):
    """Mix as the engine in process does, without files."""
    from shuffledp.collect.crypto.batch import mix

    with mix(iter(blocks()), WIDTH) as mixed:
        return b"".join(mixed.blocks())


def pair_p_value(make):
    """P-value of the hypothesis that all pairs of positions of the first two onions are equally likely."""
    found = np.zeros((ONIONS, ONIONS), dtype=np.int64)
    for _ in range(RUNS):
        mixed = make()[::WIDTH]
        assert sorted(mixed) == list(range(ONIONS))
        found[mixed.index(0), mixed.index(1)] += 1
    different = ~np.eye(ONIONS, dtype=np.bool_)
    assert found[~different].sum() == 0
    return p_value(found[different], np.full(different.sum(), 1 / different.sum()))


@pytest.mark.slow
@pytest.mark.parametrize("buckets", [1, 4])
def test_every_pair_of_places_is_equally_likely_through_buckets(buckets):
    assert pair_p_value(lambda: through_buckets(buckets)) > FALSE_FAILURE_RATE


@pytest.mark.slow
def test_every_pair_of_places_is_equally_likely_in_process(tmp_path):
    assert pair_p_value(lambda: in_process(tmp_path)) > FALSE_FAILURE_RATE


def test_a_kept_order_is_detected():
    assert pair_p_value(lambda: not_in_order(4)) <= FALSE_FAILURE_RATE


def test_dealing_is_deterministic_and_copies_share_a_bucket():
    secret, block = secrets.token_bytes(32), secrets.token_bytes(WIDTH * 500)
    whole = dict(by_bucket(block, secret=secret, buckets=8, width=WIDTH))
    parts = [dict(by_bucket(part, secret=secret, buckets=8, width=WIDTH)) for part in (block[: WIDTH * 99], block)]
    assert len(whole) == 8
    for bucket, onions in whole.items():
        together, repeated = in_order(onions + parts[0].get(bucket, b""), secret=secret, width=WIDTH)
        assert in_order(parts[1][bucket], secret=secret, width=WIDTH) == (together, 0)
        assert repeated == len(parts[0].get(bucket, b"")) // WIDTH
    assert list(by_bucket(b"", secret=secret, buckets=8, width=WIDTH)) == []


@pytest.mark.parametrize(
    ("onions", "expected"), [(0, 1), (1, 1), (100, 1), (101, 2), (200, 2), (201, 4), (10**9, 1 << 12)]
)
def test_buckets_are_a_power_of_two_and_small_enough(onions, expected):
    assert buckets_for(onions, each=100) == expected


# content of outputs --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_outputs_hold_no_report_ids_and_no_order_of_people(tmp_path):
    kept, crowd = small(protocol="hist"), reports(100, protocol="hist")
    done = mixed_first(tmp_path, crowd.sealed, protocol="hist")
    written = {path.name: path.read_bytes() for folder in ("b", "b.kept") for path in (tmp_path / folder).iterdir()}
    assert len(written) == 4
    for name in crowd.ids:
        assert not any(name in content or name.hex().encode() in content for content in written.values())
    taken = pyarrow.parquet.read_table(tmp_path / "b.kept" / "taken.parquet").to_pylist()
    batches = {name: content for name, content in written.items() if name not in ("taken.parquet", "rest.parquet")}
    for row in taken:
        assert not any(row["lot"] in content or row["digest"] in content for content in batches.values())
    opened = [open_report(kept.task, report, kept.keys[0]).onions for report in crowd.sealed]
    width = kept.task.onion_length(0)
    neighbours = {part[at : at + 2 * width] for part in opened for at in range(0, len(part) - width, width)}
    together = 0
    for batch in done.batches:
        onions = onions_in(tmp_path / "b" / f"{batch.batch_id.hex()}.parquet")
        together += sum(one + other in neighbours for one, other in itertools.pairwise(onions))
    # two of 200 onions stay neighbours with probability below 1/100: more than 30 is impossible
    assert together <= 30
    assert len(neighbours) == 100 * (kept.task.most_messages - 1)


def test_batch_files_have_minimal_metadata(tmp_path):
    kept = small()
    mixed_first(tmp_path, reports(40).sealed)
    (path,) = (tmp_path / "b").glob("?" * 32 + ".parquet")
    schema = pyarrow.parquet.read_schema(path)
    assert schema.names == ["onion"]
    assert schema.field(0).type == pyarrow.binary(kept.task.onion_length(1))
    assert set(schema.metadata) == {b"shuffledp"}
    assert not pyarrow.parquet.read_metadata(path).row_group(0).column(0).is_stats_set


def test_parts_of_two_mixings_are_not_one_batch(tmp_path):
    kept = small()
    width = kept.task.onion_length(1)

    def write(name, mixing, part):
        head = PartHead(task=kept.task.name, batch="0" * 32, position=1, mixing=mixing * 32, part=part, parts=2)
        write_part(tmp_path / name, head, [bytes(width)], width=width)

    write("a.parquet", "a", 0)
    write("b.parquet", "b", 1)
    with pytest.raises(ValueError, match="is not complete: 1 of 2 parts"):
        find_batches([tmp_path], kept.task, position=1)
    write("c.parquet", "a", 1)
    found = find_batches([tmp_path], kept.task, position=1)
    assert [group.path.name for group in found.batches[0].groups] == ["a.parquet", "c.parquet"]
    assert found.copies == 1


def test_the_engine_in_process_keeps_its_onions_in_a_file_without_a_name(tmp_path, monkeypatch):
    """The file disappears with the process, however it ends."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    kept, crowd = small(), reports(40)
    write_reports(tmp_path / "a.parquet", crowd.sealed)
    from shuffledp.collect.batch_files.engine import ReportLayer
    from shuffledp.collect.batch_files.formats import find_reports

    engine = InProcess(processes=1, progress=quiet)
    found = engine.open_reports(
        find_reports([tmp_path / "a.parquet"]), ReportLayer.of(kept.task, kept.keys[0], now=NOW)
    )
    target = OutputFolder(
        folder=tmp_path, task=kept.task.name, position=1, mixing="0" * 32, width=kept.task.onion_length(1)
    )
    (mixed,) = engine.mix_reports([Batch(bytes(16), np.arange(len(found.entries)))], target)
    assert mixed.number == sum(crowd.tally().values())
    assert list((tmp_path / "temporary").iterdir()) == []
    engine.close()


def test_the_report_layer_does_not_show_its_key():
    from shuffledp.collect.batch_files.engine import ReportLayer

    kept = small()
    shown = repr(ReportLayer.of(kept.task, kept.keys[0]))
    assert kept.keys[0].private_bytes.hex() not in shown
    assert repr(kept.keys[0].private_bytes) not in shown
    assert "ReportLayer" in shown

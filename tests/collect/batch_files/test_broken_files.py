"""Damaged or foreign files give a clear error or a count by reason, never a partial result."""

import shutil

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shuffledp.collect.batch_files import TooFewReportsError, count_files, mix_files, write_reports
from shuffledp.collect.batch_files.formats import PartHead, find_batches
from shuffledp.errors import DataError, ParameterError, ShuffledpError
from tests.collect.batch_files.crowd import NOW, mixed_first, reports, small

changes = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """The bytes of a file of reports and of a file of a batch, and a folder."""
    folder = tmp_path_factory.mktemp("good")
    mixed_first(folder, reports(40).sealed, seen="0.seen")
    (path,) = (folder / "b").glob("?" * 32 + ".parquet")
    return (folder / "b.reports.parquet").read_bytes(), path.read_bytes(), folder


def changed(content, place, bit, cut):
    """Flip one bit, or truncate the content."""
    at = int(place * len(content)) % len(content)
    if cut:
        return content[:at]
    return content[:at] + bytes([content[at] ^ (1 << bit)]) + content[at + 1 :]


positions = {"place": st.floats(0, 1, exclude_max=True), "bit": st.integers(0, 7), "cut": st.booleans()}


@pytest.mark.slow
@changes
@given(**positions)
def test_a_damaged_file_of_reports_gives_an_error_or_the_intact_reports(good, place, bit, cut):
    content, _, folder = good
    kept, path = small(), folder / "damaged.parquet"
    path.write_bytes(changed(content, place, bit, cut))
    before = sorted(folder.iterdir())
    more = {"seen": folder / "seen", "out": folder / "out", "now": NOW, "processes": 1}
    try:
        done = mix_files([path], task=kept.task, key=kept.keys[0], **more)
    except ShuffledpError:
        assert sorted(folder.iterdir()) == before
        return
    for made in ("seen", "out", "out.kept"):
        shutil.rmtree(folder / made)
    assert len(done.batches) == 1
    assert done.refused == {}


def test_a_flipped_bit_is_damage_not_a_refusal(tmp_path):
    """Otherwise its sender would be dropped silently."""
    kept, crowd, path = small(), reports(60), tmp_path / "a.parquet"
    write_reports(path, crowd.sealed)
    content = path.read_bytes()
    at = content.index(crowd.sealed[7]) + 40
    path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
    with pytest.raises(DataError, match=r"a\.parquet cannot be read: it is damaged"):
        mix_files(
            [path], task=kept.task, key=kept.keys[0], seen=tmp_path / "seen", out=tmp_path / "b", now=NOW, processes=1
        )


@pytest.mark.slow
@changes
@given(**positions)
def test_a_damaged_batch_gives_an_error_or_the_same_release(good, place, bit, cut):
    _, content, folder = good
    kept, path = small(), folder / "damaged.parquet"
    path.write_bytes(changed(content, place, bit, cut))
    try:
        found = count_files([path], task=kept.task, key=kept.keys[1], seen=folder / "1.seen", processes=1)
    except ShuffledpError:
        return
    assert found.release.messages == sum(reports(40).tally().values())


heads = st.dictionaries(
    st.sampled_from([*PartHead.__struct_fields__, "more"]),
    st.one_of(st.integers(-1, 3), st.text("0af", max_size=3), st.just("0" * 32), st.none(), st.just("0" * 64)),
)


@pytest.mark.slow
@changes
@given(metadata=st.one_of(heads.map(str), st.text(max_size=20), heads.map(lambda head: str(head).replace("'", '"'))))
def test_arbitrary_metadata_is_refused(tmp_path, metadata):
    table = pyarrow.table({"onion": pyarrow.array([bytes(49)], pyarrow.binary(49))})
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(table.replace_schema_metadata({"shuffledp": metadata.encode()}), path)
    with pytest.raises(DataError):
        find_batches([path], small().task, position=1)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"value": [1]}, "has no column 'report'"),
        ({"report": ["text"]}, "must hold bytes, got"),
        ({"report": [1, 2]}, "must hold bytes, got int64"),
    ],
)
def test_other_tables_are_refused_as_reports(tmp_path, table, message):
    pyarrow.parquet.write_table(pyarrow.table(table), tmp_path / "a.parquet")
    kept = small()
    with pytest.raises(DataError, match=message):
        mix_files(
            [tmp_path / "a.parquet"], task=kept.task, key=kept.keys[0], seen=tmp_path / "seen", out=tmp_path / "b"
        )


@given(sealed=st.lists(st.binary(max_size=200), max_size=20))
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_arbitrary_bytes_are_refused_as_single_reports(tmp_path, sealed):
    kept = small()
    assert write_reports(tmp_path / "a.parquet", sealed, overwrite=True) == len(sealed)
    with pytest.raises(TooFewReportsError) as caught:
        mix_files(
            [tmp_path / "a.parquet"],
            task=kept.task,
            key=kept.keys[0],
            seen=tmp_path / "seen",
            out=tmp_path / "b",
            processes=1,
        )
    assert f"cannot-be-opened: {len(sealed)}" in str(caught.value) or not sealed


def test_reports_are_written_atomically(tmp_path):
    def failing():
        yield b"one"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_reports(tmp_path / "a.parquet", failing())
    with pytest.raises(ParameterError, match="must be bytes"):
        write_reports(tmp_path / "a.parquet", ["text"])
    with pytest.raises(ParameterError, match=r"must end in \.parquet"):
        write_reports(tmp_path / "a.csv", [])
    with pytest.raises(DataError, match="cannot write"):
        write_reports(tmp_path / "no" / "a.parquet", [])
    assert list(tmp_path.iterdir()) == []
    write_reports(tmp_path / "a.parquet", [b"one"])
    with pytest.raises(DataError, match="exists already"):
        write_reports(tmp_path / "a.parquet", [b"two"])
    assert pyarrow.parquet.read_table(tmp_path / "a.parquet")["report"].to_pylist() == [b"one"]


def test_leftovers_of_an_interrupted_run_are_skipped(tmp_path):
    """A killed run leaves a folder with a temporary name."""
    kept = small()
    write_reports(tmp_path / "a.parquet", reports(40).sealed)
    half = tmp_path / ".b.0123.partial"
    half.mkdir()
    (half / "broken.parquet").write_bytes(b"PAR1")
    done = mix_files(
        [tmp_path], task=kept.task, key=kept.keys[0], seen=tmp_path / "seen", out=tmp_path / "b", now=NOW, processes=1
    )
    assert (done.reports, len(done.batches)) == (40, 1)

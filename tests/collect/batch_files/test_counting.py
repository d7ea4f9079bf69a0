"""Counting files of batches in process: exactly the messages that were sent, each batch once."""

import json
import shutil
from pathlib import Path

import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from shuffledp import Ledger, Release
from shuffledp.cli.app import app
from shuffledp.collect.batch_files import count_files, executors, mix_files, write_reports
from shuffledp.collect.batch_files.steps import CountedFiles
from shuffledp.collect.crypto.keys import info, public_key, seal, write_key
from shuffledp.collect.task.report import seal_report
from shuffledp.errors import DataError, ParameterError
from shuffledp.histogram.tally import Tally
from shuffledp.protocols.free_text import FreeText
from tests.collect.batch_files.crowd import HOUR, NOW, onions_in, reports, small
from tests.collect.tasks import small_task


def mix(folder, *, out, seen="shuffler.seen", protocol="dummy-poisson"):
    """Mix the file of reports."""
    kept, source = small(protocol=protocol), [folder / "reports.parquet"]
    return mix_files(
        source, task=kept.task, key=kept.keys[0], seen=folder / seen, out=folder / out, now=NOW, processes=1
    )


def batches(folder, people=80, protocol="dummy-poisson"):
    """A folder with the batches of this number of people, and their reports."""
    crowd = reports(people, protocol=protocol)
    write_reports(folder / "reports.parquet", crowd.sealed)
    mix(folder, out="b", protocol=protocol)
    return folder / "b", crowd


def count(*given, protocol="dummy-poisson", **more):
    """Count in process, with a memory beside the first of the given files unless `seen` is another."""
    kept = small(protocol=protocol)
    more = {"seen": Path(given[0]).parent / "analyzer.seen", "processes": 1} | more
    return count_files(given, task=kept.task, key=kept.keys[1], **more)


def that_count(crowd, task):
    """The tally of the messages without padding."""
    return {symbol: number for symbol, number in crowd.tally().items() if symbol < task.alphabet}


def expected(crowd, protocol="dummy-poisson"):
    """The estimates from the messages as they were sent."""
    task = small(protocol=protocol).task
    tally = task.protocol.tally(Tally.from_mapping(that_count(crowd, task)))
    joined = task.protocol.joined(len(crowd.sealed) // task.users)
    if protocol == "texts":
        search = FreeText(code=task.answers.code, protocol=joined)
        return search.estimate(tally, beta=0.05, reports=joined.users, forged=True)
    return joined.estimate(tally, beta=0.05, reports=joined.users, domain=task.labels, forged=True)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["dummy-poisson", "hist", "hashed", pytest.param("texts", marks=pytest.mark.slow)])
def test_the_release_counts_the_messages_that_were_sent(tmp_path, protocol):
    folder, crowd = batches(tmp_path, protocol=protocol)
    found, task = count(folder, protocol=protocol), small(protocol=protocol).task
    assert isinstance(found, CountedFiles)
    assert found.release.estimate.to_dict() == expected(crowd, protocol).to_dict()
    assert found.release.messages == sum(that_count(crowd, task).values())
    assert (task.nothing in crowd.tally()) == task.padded
    assert "No message was refused." in found.release.notes
    assert found.release.protocol.users == 80
    assert (found.copies, found.refused_batches) == (0, ())
    assert sorted(path.stem for path in folder.glob("?" * 32 + ".parquet")) == [name.hex() for name in found.batches]


def test_a_repeated_batch_counts_once(tmp_path):
    """Given as a link, as a copy, and as another mixing of the same reports, on a machine that does not know of it."""
    folder, crowd = batches(tmp_path)
    first = min(folder.glob("?" * 32 + ".parquet"))
    shutil.copy(first, tmp_path / "copy.parquet")
    mix(tmp_path, out="again", seen="another.seen")
    found = count(folder, first, tmp_path / "copy.parquet", tmp_path / "again")
    assert found.copies == 3
    assert found.release.estimate.to_dict() == expected(crowd).to_dict()


def test_invalid_messages_are_refused_by_reason(tmp_path):
    folder, crowd = batches(tmp_path, 40)
    kept, (path,) = small(), folder.glob("?" * 32 + ".parquet")
    strange = seal(bytes([255]), public_key(kept.task.analyzer.public_bytes), info(kept.task.id, 1))
    table, onions = pyarrow.parquet.read_table(path), onions_in(path)
    onions += [onions[0], strange, bytes(len(strange)), strange[:-1] + bytes([strange[-1] ^ 1])]
    more = pyarrow.table([pyarrow.array(onions, table.schema.field(0).type)], schema=table.schema)
    pyarrow.parquet.write_table(more, path)
    found = count(folder)
    assert found.release.messages == sum(crowd.tally().values())
    notes = " ".join(found.release.notes)
    assert "No message was refused" not in notes


def test_a_batch_without_its_noise_is_left_out_and_not_released(tmp_path):
    folder, _ = batches(tmp_path)
    path = min(folder.glob("?" * 32 + ".parquet"))
    table = pyarrow.parquet.read_table(path)
    pyarrow.parquet.write_table(table.slice(0, 10), path)
    found = count(folder)
    assert [(batch.batch_id.hex(), batch.reason) for batch in found.refused_batches] == [
        (path.stem, "too-few-messages")
    ]
    assert found.release.protocol.users == 40
    assert any("whose noise is incomplete" in note for note in found.release.notes)
    with pytest.raises(DataError, match=r"nothing can be released: 1 batch .*too-few-messages"):
        count(path)


def test_a_batch_that_was_left_out_can_be_counted_when_it_is_complete(tmp_path):
    """Nobody in it was counted, so none of its messages is remembered."""
    folder, crowd = batches(tmp_path)
    path = min(folder.glob("?" * 32 + ".parquet"))
    complete = path.read_bytes()
    pyarrow.parquet.write_table(pyarrow.parquet.read_table(path).slice(0, 10), path)
    assert len(count(folder).batches) == 1
    path.write_bytes(complete)
    found = count(folder)
    assert (len(found.batches), found.refused_batches) == (2, ())
    assert found.release.estimate.to_dict() == expected(crowd).to_dict()


def test_the_ledger_has_one_entry_per_task_and_none_without_a_release(tmp_path):
    folder, _ = batches(tmp_path)
    book = Ledger.create(tmp_path / "book.json", population="people", epsilon=5, delta=1e-2)
    for path in folder.glob("?" * 32 + ".parquet"):
        pyarrow.parquet.write_table(pyarrow.parquet.read_table(path).slice(0, 10), tmp_path / path.name)
    with pytest.raises(DataError, match="nothing can be released"):
        count(*tmp_path.glob("?" * 32 + ".parquet"), ledger=tmp_path / "book.json")
    assert len(book.entries) == 0
    for _ in range(2):
        count(folder, ledger=tmp_path / "book.json")
        assert len(book.entries) == 1


def test_wrong_keys_and_files_are_refused_by_name(tmp_path):
    folder, _ = batches(tmp_path, 40)
    kept, (path,) = small(), folder.glob("?" * 32 + ".parquet")
    with pytest.raises(ParameterError, match="key of shuffler 1"):
        count_files([folder], task=kept.task, key=kept.keys[0], seen=tmp_path / "seen")
    other = small(users=50)
    with pytest.raises(DataError, match="is of another task"):
        count_files([folder], task=other.task, key=other.keys[1], seen=tmp_path / "seen")
    chain = small(2)
    with pytest.raises(DataError, match="is of another task"):
        count_files([folder], task=chain.task, key=chain.keys[2], seen=tmp_path / "seen")
    with pytest.raises(DataError, match="only files of reports"):
        count(tmp_path / "reports.parquet")
    with pytest.raises(DataError, match="no file"):
        count(tmp_path / "nothing.parquet")
    with pytest.raises(DataError, match="not on a file system of this machine"):
        count("hdfs://there/b")
    pyarrow.parquet.write_table(pyarrow.table({"onion": ["text"]}), path)
    with pytest.raises(DataError, match="is no batch"):
        count(folder)


def test_a_batch_cannot_skip_a_server(tmp_path):
    kept = small(2)
    write_reports(tmp_path / "reports.parquet", reports(40, shufflers=2).sealed)
    seen = tmp_path / "seen"
    source = [tmp_path / "reports.parquet"]
    mix_files(source, task=kept.task, key=kept.keys[0], seen=seen, out=tmp_path / "b", now=NOW, processes=1)
    with pytest.raises(DataError, match="is for shuffler 2 of 2, and the key belongs to the analyzer"):
        count_files([tmp_path / "b"], task=kept.task, key=kept.keys[2], seen=seen)


# commands -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a task, its keys and files of reports."""
    monkeypatch.chdir(tmp_path)
    kept, crowd = small(), reports(100)
    (tmp_path / "task.json").write_text(kept.task.to_json())
    for name, key in zip(("shuffler.key", "analyzer.key"), kept.keys, strict=True):
        write_key(key, tmp_path / name)
    write_reports(tmp_path / "many.parquet", crowd.sealed)
    write_reports(tmp_path / "few.parquet", crowd.sealed[:3])
    return tmp_path


def run(line):
    return CliRunner().invoke(app, line.split(), catch_exceptions=False)


def test_both_commands(place):
    result = run("mix many.parquet --task task.json --key shuffler.key --out b --json")
    assert result.exit_code == 0, result.output
    shown = json.loads(result.stdout)
    assert (shown["reports"], shown["rest"], len(shown["batches"])) == (100, 20, 2)
    result = run("count b --task task.json --key analyzer.key --out r.json --out r.html --out r.csv --out r.parquet")
    assert result.exit_code == 0, result.output
    release = Release.from_json(place / "r.json")
    assert release.protocol.users == 80
    assert "of 80 people" in result.stdout
    assert {path.name for path in place.glob("r.*")} == {"r.json", "r.html", "r.csv", "r.parquet"}


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("mix few.parquet --task task.json --key shuffler.key --out b", 5, "3 reports can be used"),
        ("mix many.parquet --task task.json --key analyzer.key --out b", 2, "key of the analyzer"),
        ("mix many.parquet --task nothing.json --key shuffler.key --out b", 3, "nothing.json cannot be read"),
        ("mix many.parquet --task task.json --key task.json --out b", 3, "task.json"),
        ("mix nothing.parquet --task task.json --key shuffler.key --out b", 3, "there is no file nothing.parquet"),
        ("mix task.json --task task.json --key shuffler.key --out b", 3, "must be Parquet"),
        ("mix many.parquet --task task.json --key shuffler.key --out no/b", 3, "there is no folder no"),
        ("mix many.parquet --task task.json --key shuffler.key --out few.parquet", 2, "already exists"),
        ("mix many.parquet --task task.json --key shuffler.key --out b --engine quick", 2, "local or spark"),
        ("mix many.parquet --task task.json --key shuffler.key --out b --master x", 2, "engine spark"),
        ("count many.parquet --task task.json --key analyzer.key --out r.json", 3, "only files of reports"),
        ("count many.parquet --task task.json --key analyzer.key --out r.txt", 2, "must end in"),
        ("count many.parquet --task task.json --key analyzer.key --out task.json", 2, "same file as an input"),
    ],
)
def test_errors_have_a_message_and_an_exit_code(place, line, code, message):
    before = {path.name: path.read_bytes() for path in place.iterdir()}
    result = run(line)
    assert result.exit_code == code, result.output
    assert message in result.stderr
    assert {path.name: path.read_bytes() for path in place.iterdir()} == before


def test_a_task_with_admission_states_who_checks_it(place):
    kept = small_task(users=40, epsilon=4.0, delta=1e-3, admission="tokens")
    (place / "tokens.json").write_text(kept.task.to_json())
    write_key(kept.keys[0], place / "tokens.key")
    sealed = [seal_report(kept.task, [0], report_id=bytes(15) + bytes([at]), time=HOUR) for at in range(40)]
    write_reports(place / "admitted.parquet", sealed)
    result = run("mix admitted.parquet --task tokens.json --key tokens.key --out b")
    assert result.exit_code == 0, result.output
    assert "check admission before writing reports to files" in result.stderr


def test_an_interrupted_count_leaves_no_file(place, monkeypatch):
    assert run("mix many.parquet --task task.json --key shuffler.key --out b").exit_code == 0
    from shuffledp.collect.batch_files import engine as in_process

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(in_process, "BatchCounter", interrupted)
    assert run("count b --task task.json --key analyzer.key --out r.json").exit_code == 130
    assert not (place / "r.json").exists()


def test_keys_are_in_no_output(place):
    assert run("mix many.parquet --task task.json --key shuffler.key --out b").exit_code == 0
    assert run("count b --task task.json --key analyzer.key --out r.json --out r.html").exit_code == 0
    written = [path.read_bytes() for path in (*place.glob("b/*"), *place.glob("b.kept/*"), *place.glob("r.*"))]
    assert len(written) >= 5
    for key in small().keys:
        for secret in (key.private_bytes, key.private_bytes.hex().encode()):
            assert not any(secret in content for content in written)


def test_executors_do_not_count_padding():
    """The function that Spark runs on a bucket, called directly."""
    kept = small(protocol="hist")
    task, public = kept.task, public_key(kept.task.analyzer.public_bytes)
    sent = [0, task.nothing, 1, 0, task.nothing, task.symbols]
    onions = b"".join(seal(symbol.to_bytes(task.symbol_bytes), public, info(task.id, 1)) for symbol in sent)
    bucket = pyarrow.RecordBatch.from_pydict({"batch": [bytes(16)], "bucket": [0], "onions": [onions], "refused": [0]})
    (counted,) = executors.count(
        iter([bucket]), secret=bytes(32), layer=kept.layer(1), alphabet=task.alphabet, symbols=task.symbols
    )
    rows = {(row["symbol"], row["reason"]): row["number"] for row in counted.to_pylist()}
    assert rows == {(0, None): 2, (1, None): 1, (None, "not-a-message"): 1}

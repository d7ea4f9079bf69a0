"""The memory of a server over files: found again, kept whole, keyed, and consistent when a run is killed."""

import os
import shutil
from hashlib import blake2b

import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from shuffledp.cli.app import app
from shuffledp.collect.batch_files import TooFewReportsError, count_files, formats, mix_files, write_reports
from shuffledp.collect.batch_files.seen import forget_all, opened_seen, seen_folder
from shuffledp.collect.crypto.keys import KeyPair, write_key
from shuffledp.collect.task import AnswerList
from shuffledp.collect.task.new_task import new_task
from shuffledp.errors import DataError, ParameterError
from tests.collect.batch_files.crowd import NOW, onions_in, reports, small
from tests.collect.tasks import CLOSES, OPENS


def mixed(folder, *, out="b", source="a.parquet", position=0, shufflers=1, seen="key.seen"):
    kept = small(shufflers)
    return mix_files(
        [folder / source],
        task=kept.task,
        key=kept.keys[position],
        seen=folder / seen,
        out=folder / out,
        now=NOW,
        processes=1,
    )


def counted(folder, *given, seen="analyzer.seen"):
    kept = small()
    return count_files(
        [folder / name for name in given], task=kept.task, key=kept.keys[1], seen=folder / seen, processes=1
    )


@pytest.fixture
def place(tmp_path):
    write_reports(tmp_path / "a.parquet", reports(40).sealed)
    return tmp_path


def names(folder):
    return {path.name for path in folder.iterdir()}


# killed and failed runs -----------------------------------------------------------------------------------------------


def killed(place, monkeypatch, *, before=None, after=None):
    """Mix in a child that is killed before or after the rename of a folder, or before the memory is written."""
    original = formats._replace

    def rename(partial, out):
        if out.name == before:
            os._exit(9)
        original(partial, out)
        if out.name == after:
            os._exit(9)

    child = os.fork()
    if child == 0:
        monkeypatch.setattr(formats, "_replace", rename)
        monkeypatch.setattr("secrets.token_hex", lambda size: "0" * 2 * size)  # also the name of the run
        mixed(place)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


RUN = "0" * 32


@pytest.mark.slow
@pytest.mark.parametrize(
    "moment", [{"before": RUN}, {"after": RUN}, {"before": "b.kept"}, {"after": "b.kept"}, {"before": "b"}]
)
def test_a_run_that_was_killed_before_its_output_is_complete_can_be_repeated(place, monkeypatch, moment):
    killed(place, monkeypatch, **moment)
    assert not (place / "b").exists()
    done = mixed(place)
    assert (len(done.batches), done.used) == (1, 0)
    assert names(place) - {".b.0000000000000000.partial", ".b.kept.0000000000000000.partial"} == {
        "a.parquet",
        "b",
        "b.kept",
        "key.seen",
    }
    with pytest.raises(TooFewReportsError, match="40 reports skipped"):
        mixed(place, out="c")


def test_a_run_that_was_killed_after_its_output_is_complete_is_not_repeated(place, monkeypatch):
    killed(place, monkeypatch, after="b")
    shutil.rmtree(place / "b")  # moved to the next server
    with pytest.raises(TooFewReportsError, match="40 reports skipped"):
        mixed(place, out="c")


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt])
@pytest.mark.parametrize("folder", ["b", "b.kept", RUN])
def test_a_failed_run_can_be_repeated(place, monkeypatch, error, folder):
    original = formats._replace

    def failing(partial, out):
        if out.name == folder:
            raise error
        original(partial, out)

    with monkeypatch.context() as patched:
        patched.setattr(formats, "_replace", failing)
        patched.setattr("shuffledp.collect.batch_files.steps.secrets.token_hex", lambda size: "0" * 2 * size)
        with pytest.raises((DataError, KeyboardInterrupt)):
            mixed(place)
    assert names(place) == {"a.parquet"}
    assert len(mixed(place).batches) == 1


def test_an_interrupt_just_after_the_output_is_complete_is_not_a_failure(place, monkeypatch):
    original = formats._replace

    def interrupted(partial, out):
        original(partial, out)
        if out.name == "b":
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(formats, "_replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            mixed(place)
    assert names(place) == {"a.parquet", "b", "b.kept", "key.seen"}
    with pytest.raises(TooFewReportsError, match="40 reports skipped"):
        mixed(place, out="c")


def test_nothing_is_released_if_it_cannot_be_remembered(place, monkeypatch):
    mixed(place)

    def failing(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("shuffledp.collect.batch_files.batches.write_seen", failing)
        with pytest.raises(DataError, match="No space left on device"):
            counted(place, "b")
    assert not (place / "analyzer.seen").exists()
    assert counted(place, "b").release.protocol.users == 40


# damaged, foreign and unwritable memories -----------------------------------------------------------------------------


def the_run(folder):
    (run,) = [path for path in folder.iterdir() if path.name != "lock"]
    return run


def shorter(path):
    path.write_bytes(path.read_bytes()[:-5])


def other_rows(path):
    table = pyarrow.parquet.read_table(path)
    pyarrow.parquet.write_table(table.slice(1), path)


DAMAGES = {
    "no-run": lambda run: (run / "run").unlink(),
    "no-json": lambda run: (run / "run").write_text("{"),
    "empty": lambda run: (run / "run").write_text(""),
    "list": lambda run: (run / "run").write_text("[]"),
    "changed": lambda run: (run / "run").write_text((run / "run").read_text().replace('"position":', '"position":1')),
    "forgotten": lambda run: (run / "run").write_text(
        (run / "run").read_text().replace('"unfinished":"', '"unfinished":"/tmp')
    ),
    "no-file": lambda run: next(run.glob("*.parquet")).unlink(),
    "shorter": lambda run: shorter(next(run.glob("*.parquet"))),
    "fewer-rows": lambda run: other_rows(next(run.glob("*.parquet"))),
    "renamed": lambda run: run.rename(run.with_name("1" * 32)),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_memory_stops_the_run(place, damage):
    """Both kinds of memory: of reports and of onions."""
    mixed(place)
    counted(place, "b")
    DAMAGES[damage](the_run(place / "key.seen"))
    DAMAGES[damage](the_run(place / "analyzer.seen"))
    with pytest.raises(DataError, match=r"key\.seen") as refused:
        mixed(place, out="c")
    assert not isinstance(refused.value, TooFewReportsError)  # which names the memory, too
    with pytest.raises(DataError, match=r"analyzer\.seen"):
        counted(place, "b")
    assert not (place / "c").exists()


def test_a_memory_must_be_a_folder_that_can_be_written(place):
    (place / "key.seen").write_text("a file")
    with pytest.raises(DataError, match=r"cannot write .*key\.seen: .*keep the key in a folder that you may write to"):
        mixed(place)
    with pytest.raises(DataError, match="cannot write"):
        mixed(place, seen="no/key.seen")
    (place / "key.seen").unlink()
    (place / "key.seen" / "lock").mkdir(parents=True)
    with pytest.raises(DataError, match="cannot write"):
        mixed(place)
    assert names(place) == {"a.parquet", "key.seen"}
    (place / "key.seen" / "lock").rmdir()
    (place / "key.seen" / "notes.txt").write_text("mine")
    with pytest.raises(ParameterError, match=r"seen must be a folder of its own, and .* holds other files: notes\.txt"):
        mixed(place)
    assert names(place / "key.seen") == {"notes.txt"}


def test_a_memory_is_of_one_key(place):
    mixed(place)
    with pytest.raises(DataError, match=r"key\.seen must be the folder of this key"):
        counted(place, "b", seen="key.seen")


def another_task():
    """A task with the same keys as `small()`."""
    kept = small()
    return new_task(
        question="Another question?",
        answers=AnswerList(["yes", "no"]),
        users=40,
        epsilon=4.0,
        delta=1e-3,
        shufflers=kept.task.shufflers,
        analyzer=kept.task.analyzer,
        opens=OPENS,
        closes=CLOSES,
    )


def test_a_key_of_two_tasks_has_a_memory_of_each(place):
    kept = small()
    mixed(place)
    with opened_seen(place / "key.seen", kept.task, kept.keys[0]) as seen:
        assert (len(seen.batches), len(seen.taken())) == (1, 40)
    with opened_seen(place / "key.seen", another_task(), kept.keys[0]) as seen:
        assert (len(seen.batches), len(seen.taken())) == (0, 0)


def test_a_memory_is_used_by_one_run_at_a_time(place):
    kept = small()
    with (
        opened_seen(place / "key.seen", kept.task, kept.keys[0]),
        pytest.raises(DataError, match=r"another run uses .*key\.seen: try again"),
    ):
        mixed(place)
    assert len(mixed(place).batches) == 1


# keys -----------------------------------------------------------------------------------------------------------------


def test_fingerprints_are_keyed_by_the_private_key_and_the_task(place):
    kept, found = small(), []
    for task, key in ((kept.task, kept.keys[0]), (kept.task, kept.keys[1]), (another_task(), kept.keys[0])):
        with opened_seen(place / "key.seen", task, key) as seen:
            found.append(seen.secret)
    assert len(set(found)) == 3
    assert all(len(secret) == 32 for secret in found)


def test_the_memory_reveals_nothing_without_the_key(place):
    """No onion, no report id, and no hash that an outsider can compute."""
    mixed(place)
    counted(place, "b")
    written = b"".join(path.read_bytes() for path in place.rglob("*.seen/**/*") if path.is_file())
    onions = onions_in(*(place / "b").iterdir())
    for onion in onions:
        assert onion not in written
        assert blake2b(onion, digest_size=16).digest() not in written
    assert not any(name in written for name in reports(40).ids)
    with opened_seen(place / "analyzer.seen", small().task, small().keys[1]) as seen:
        assert all(blake2b(onion, digest_size=16, key=seen.secret).digest() in written for onion in onions)
    for path in place.rglob("*.seen"):
        assert path.stat().st_mode & 0o777 == 0o700
    for key in small().keys:
        assert key.private_bytes not in written
        assert key.private_bytes.hex().encode() not in written


def test_a_memory_is_beside_the_key_file_whatever_link_leads_there(tmp_path):
    (tmp_path / "keys").mkdir()
    key = write_key(KeyPair.generate(), tmp_path / "keys" / "shuffler.key")
    (tmp_path / "link.key").symlink_to(key)
    assert seen_folder(key) == seen_folder(tmp_path / "link.key") == key.with_name("shuffler.key.seen")


def test_destroying_a_key_deletes_its_memory(place):
    kept = small()
    write_key(kept.keys[0], place / "key")
    (place / "task.json").write_text(kept.task.to_json())
    mixed(place)
    line = ["keys", "destroy", str(place / "key"), "--task", str(place / "task.json")]
    assert CliRunner().invoke(app, line).exit_code == 2
    assert (place / "key.seen").exists()
    done = CliRunner().invoke(app, [*line, "--yes"])
    assert done.exit_code == 0
    assert "key.seen was deleted." in " ".join(done.stdout.split())
    assert names(place) == {"a.parquet", "b", "b.kept", "task.json"}


def test_other_files_survive_the_deletion_of_a_memory(place):
    mixed(place)
    (place / "key.seen" / "notes.txt").write_text("mine")
    (place / "key.seen" / "more").mkdir()
    assert forget_all(place / "key.seen")
    assert names(place / "key.seen") == {"notes.txt", "more"}
    assert not forget_all(place / "nothing")


def test_private_lists_are_no_inputs(place):
    """The folder of the key may hold the reports or the batches too."""
    (place / "in").mkdir()
    shutil.move(place / "a.parquet", place / "in" / "a.parquet")
    mixed(place, source="in", seen="in/key.seen")
    with pytest.raises(TooFewReportsError, match="40 reports skipped"):
        mixed(place, source="in", seen="in/key.seen", out="c")
    for _ in range(2):
        assert len(counted(place, "b", seen="b/key.seen").batches) == 1

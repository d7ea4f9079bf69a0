"""Mixing files of reports in process: every batch has exactly `users` reports."""

import json
import shutil
from collections import Counter

import numpy as np
import pyarrow.parquet
import pytest

from shuffledp.cli.batch import _mixed_sentences
from shuffledp.collect.batch_files import TooFewReportsError, mix_files, write_reports
from shuffledp.collect.batch_files.batches import batch_id_of, lot_key, lot_of
from shuffledp.collect.batch_files.seen import TAKEN_FILE
from shuffledp.collect.batch_files.steps import REST_FILE
from shuffledp.collect.crypto.keys import KeyPair
from shuffledp.collect.reasons import Reason
from shuffledp.collect.task.report import open_report, seal_report
from shuffledp.errors import DataError, ParameterError
from tests.collect.batch_files.crowd import HOUR, NOW, messages_in, onions_in, reports, small
from tests.collect.tasks import small_task

USERS = 40


def mixed(folder, *files, out="batches", position=0, shufflers=1, **more):
    kept = small(shufflers)
    more = {"seen": folder / f"{position}.seen", "now": NOW, "processes": 1} | more
    return mix_files(files, task=kept.task, key=kept.keys[position], out=folder / out, **more)


def write(folder, name, sealed):
    write_reports(folder / name, sealed)
    return folder / name


def files_of(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def test_complete_batches_are_written_and_the_rest_is_kept(tmp_path):
    crowd = reports(100)
    done = mixed(
        tmp_path, write(tmp_path, "a.parquet", crowd.sealed[:50]), write(tmp_path, "b.parquet", crowd.sealed[50:])
    )
    names = [batch.batch_id.hex() for batch in done.batches]
    assert len(names) == 2
    assert files_of(tmp_path / "batches") == {f"{name}.parquet" for name in names}  # only batches
    assert files_of(tmp_path / "batches.kept") == {REST_FILE, TAKEN_FILE}
    left = pyarrow.parquet.read_table(tmp_path / "batches.kept" / REST_FILE).column("report").to_pylist()
    assert done.rest == len(left) == 20
    waiting = [crowd.sealed.index(report) for report in left]
    chosen = set(range(100)) - set(waiting)
    found = Counter()
    for batch in done.batches:
        messages = messages_in(tmp_path / "batches" / f"{batch.batch_id.hex()}.parquet")
        assert sum(messages.values()) == batch.number
        found += messages
    assert found == crowd.tally(chosen)
    assert done.refused == {}


def test_output_files_are_private(tmp_path):
    mixed(tmp_path, write(tmp_path, "a.parquet", reports(100).sealed))
    for folder in (tmp_path / "batches", tmp_path / "batches.kept"):
        assert folder.stat().st_mode & 0o777 == 0o700
        assert {path.stat().st_mode & 0o777 for path in folder.rglob("*.parquet")} == {0o600}


def test_every_batch_has_the_messages_of_exactly_users_reports(tmp_path):
    """Checked by ciphertext: the onions of a report are all in one batch."""
    crowd, kept = reports(100), small()
    done = mixed(tmp_path, write(tmp_path, "a.parquet", crowd.sealed))
    homes = {}
    for batch in done.batches:
        for onion in onions_in(tmp_path / "batches" / f"{batch.batch_id.hex()}.parquet"):
            homes[onion] = batch.batch_id
    people = Counter()
    for report in crowd.sealed:
        opened = open_report(kept.task, report, kept.keys[0])
        width = kept.task.onion_length(0)
        found = {homes.get(opened.onions[at : at + width]) for at in range(0, len(opened.onions), width)}
        assert len(found) == 1
        people += Counter(found)
    assert sorted(people.values()) == [20, USERS, USERS]
    assert people[None] == 20


def test_the_same_reports_form_the_same_batches_in_any_order(tmp_path):
    crowd = reports(100)
    order = np.random.default_rng(1).permutation(100)
    one = mixed(tmp_path, write(tmp_path, "a.parquet", crowd.sealed), out="one")
    parts = [
        write(tmp_path, "b.parquet", [crowd.sealed[at] for at in order[:7]]),
        write(tmp_path, "c.parquet", [crowd.sealed[at] for at in order[7:]]),
    ]
    other = mixed(tmp_path, *parts, out="other", seen=tmp_path / "other.seen")
    assert [batch.batch_id for batch in one.batches] == [batch.batch_id for batch in other.batches]
    for batch in one.batches:
        name = f"{batch.batch_id.hex()}.parquet"
        first, second = onions_in(tmp_path / "one" / name), onions_in(tmp_path / "other" / name)
        assert first != second
        assert sorted(first) == sorted(second)


def test_another_report_makes_other_batches(tmp_path):
    crowd, more = reports(41), reports(1, different=1)
    one = mixed(tmp_path, write(tmp_path, "a.parquet", crowd.sealed[:40]), out="one")
    other = mixed(
        tmp_path,
        write(tmp_path, "b.parquet", (*crowd.sealed[:39], *more.sealed)),
        out="other",
        seen=tmp_path / "other.seen",
    )
    assert one.batches[0].batch_id != other.batches[0].batch_id


def test_a_repeated_report_counts_once_and_a_different_one_is_refused(tmp_path):
    kept, crowd = small(), reports(100)
    other = seal_report(kept.task, [0], report_id=crowd.ids[3], time=HOUR)
    again = seal_report(kept.task, crowd.messages[5], report_id=crowd.ids[5], time=HOUR)  # sealed again: other onions
    path = write(tmp_path, "a.parquet", (*crowd.sealed, *crowd.sealed[10:30], other, again))
    done = mixed(tmp_path, path)
    assert (done.reports, done.known, done.rest, len(done.batches)) == (122, 20, 20, 2)
    assert done.refused == {Reason.OTHER_BYTES: 2}
    assert json.loads(json.dumps(done.to_plain()))["refused"] == {"other-bytes": 2}


def test_invalid_reports_are_refused_by_reason(tmp_path):
    kept, crowd = small(), reports(40)
    early = seal_report(kept.task, [0], report_id=bytes(16), time=0)
    late = seal_report(kept.task, [0], report_id=bytes(16), time=HOUR + 7200)
    changed = crowd.sealed[0][:-1] + bytes([crowd.sealed[0][-1] ^ 1])
    bad = [early, late, b"", b"short", changed, crowd.sealed[0][:-48], bytes(kept.task.longest_report + 1)]
    done = mixed(tmp_path, write(tmp_path, "a.parquet", (*bad, *crowd.sealed)))
    assert len(done.batches) == 1
    assert done.refused == {Reason.WRONG_TIME: 2, Reason.CANNOT_BE_OPENED: 4, Reason.TOO_LARGE: 1}


def test_null_reports_are_malformed_and_other_columns_are_ignored(tmp_path):
    crowd = reports(40)
    table = pyarrow.table(
        {"arrived": range(41), "report": pyarrow.array([None, *crowd.sealed], pyarrow.large_binary())}
    )
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    assert mixed(tmp_path, tmp_path / "a.parquet").refused == {Reason.MALFORMED: 1}


def test_a_repeated_onion_is_left_out(tmp_path):
    """As if a first shuffler copied an onion into a report of its own."""
    from shuffledp.collect.crypto.keys import info, public_key, seal

    kept, crowd = small(), reports(40)
    opened = open_report(kept.task, crowd.sealed[0], kept.keys[0])
    onion = opened.onions[: kept.task.onion_length(0)]
    inside = bytes(16) + HOUR.to_bytes(8) + onion
    forged = seal(inside, public_key(kept.task.shufflers[0].public_bytes), info(kept.task.id, 0))
    done = mixed(tmp_path, write(tmp_path, "a.parquet", (*crowd.sealed[:39], forged)))
    assert done.refused == {Reason.REPEATED: 1}
    assert done.batches[0].number == sum(crowd.tally(range(39)).values())


def test_too_few_reports_are_not_forwarded(tmp_path):
    path = write(tmp_path, "a.parquet", (*reports(39).sealed, b"?"))
    with pytest.raises(TooFewReportsError, match="39 reports can be used, and a batch of this task needs 40") as caught:
        mixed(tmp_path, path)
    assert "cannot-be-opened: 1" in str(caught.value)
    assert files_of(tmp_path) == {"a.parquet"}


def test_a_later_run_adds_the_waiting_reports_once(tmp_path):
    crowd = reports(100)
    first = mixed(tmp_path, write(tmp_path, "a.parquet", crowd.sealed[:70]), out="one")
    second = mixed(tmp_path, write(tmp_path, "b.parquet", crowd.sealed[60:]), out="two", before=[tmp_path / "one"])
    assert (first.rest, len(first.batches)) == (30, 1)
    assert (second.rest, len(second.batches)) == (20, 1)
    onions = [
        onion
        for run, done in (("one", first), ("two", second))
        for batch in done.batches
        for onion in onions_in(tmp_path / run / f"{batch.batch_id.hex()}.parquet")
    ]
    assert len(onions) == len(set(onions)) == first.batches[0].number + second.batches[0].number
    with pytest.raises(TooFewReportsError, match="20 reports"):
        mixed(tmp_path, tmp_path / "a.parquet", tmp_path / "b.parquet", out="three", before=[tmp_path / "two"])


def test_a_later_shuffler_opens_a_layer_and_mixes_again(tmp_path):
    crowd = reports(80, shufflers=2)
    one = mixed(tmp_path, write(tmp_path, "a.parquet", crowd.sealed), out="one", shufflers=2)
    two = mixed(tmp_path, tmp_path / "one", out="two", position=1, shufflers=2)
    assert sorted(batch.batch_id for batch in two.batches) == sorted(batch.batch_id for batch in one.batches)
    found = Counter()
    for batch in two.batches:
        found += messages_in(tmp_path / "two" / f"{batch.batch_id.hex()}.parquet", shufflers=2)
    assert found == crowd.tally()


def test_a_later_shuffler_counts_what_it_cannot_open(tmp_path):
    crowd = reports(40, shufflers=2)
    mixed(tmp_path, write(tmp_path, "a.parquet", crowd.sealed), out="one", shufflers=2)
    (path,) = (tmp_path / "one").glob("?" * 32 + ".parquet")
    table = pyarrow.parquet.read_table(path)
    onions = table.column(0).to_pylist()
    onions[0] = bytes(len(onions[0]))
    changed = pyarrow.table([pyarrow.array(onions, table.schema.field(0).type)], schema=table.schema)
    pyarrow.parquet.write_table(changed, path)
    two = mixed(tmp_path, tmp_path / "one", out="two", position=1, shufflers=2)
    assert two.refused == {Reason.CANNOT_BE_OPENED: 1}
    assert two.batches[0].number == len(onions) - 1


def test_wrong_keys_and_files_are_refused_by_name(tmp_path):
    kept, path = small(2), write(tmp_path, "a.parquet", reports(40, shufflers=2).sealed)
    mixed(tmp_path, path, out="one", shufflers=2)
    with pytest.raises(ParameterError, match="key of the analyzer"):
        mixed(tmp_path, path, out="two", position=2, shufflers=2)
    with pytest.raises(ParameterError, match="key must be of a server"):
        mix_files([path], task=kept.task, key=KeyPair.generate(), seen=tmp_path / "seen", out=tmp_path / "two")
    with pytest.raises(DataError, match=r"has no column 'report'"):
        mixed(tmp_path, tmp_path / "one", out="two", shufflers=2)
    with pytest.raises(DataError, match="only files of reports"):
        mixed(tmp_path, path, out="two", position=1, shufflers=2)
    with pytest.raises(ParameterError, match="before is for the first shuffler"):
        mixed(tmp_path, tmp_path / "one", out="two", position=1, shufflers=2, before=[tmp_path / "one"])
    other = small(1)
    with pytest.raises(DataError, match="is of another task"):
        mix_files(
            [path],
            task=other.task,
            key=other.keys[0],
            seen=tmp_path / "seen",
            out=tmp_path / "two",
            before=[tmp_path / "one"],
        )
    with pytest.raises(DataError, match="folder of batches of an earlier run"):
        mixed(tmp_path, path, out="two", shufflers=2, before=[tmp_path])
    assert not (tmp_path / "two").exists()


def test_existing_output_is_kept(tmp_path):
    path = write(tmp_path, "a.parquet", reports(40).sealed)
    mixed(tmp_path, path)
    before = {name.name: name.read_bytes() for name in (tmp_path / "batches").iterdir()}
    with pytest.raises(ParameterError, match="already exists"):
        mixed(tmp_path, path)
    assert {name.name: name.read_bytes() for name in (tmp_path / "batches").iterdir()} == before
    with pytest.raises(ParameterError, match="never mixes the same reports again"):
        mixed(tmp_path, path, force=True)
    assert {name.name: name.read_bytes() for name in (tmp_path / "batches").iterdir()} == before


def test_a_later_shuffler_replaces_its_output_on_request(tmp_path):
    path = write(tmp_path, "a.parquet", reports(40, shufflers=2).sealed)
    mixed(tmp_path, path, out="one", shufflers=2)
    second = {"position": 1, "shufflers": 2}
    mixed(tmp_path, tmp_path / "one", **second)
    before = {name.name: name.read_bytes() for name in (tmp_path / "batches").iterdir()}
    with pytest.raises(ParameterError, match="already exists"):
        mixed(tmp_path, tmp_path / "one", **second)
    assert {name.name: name.read_bytes() for name in (tmp_path / "batches").iterdir()} == before
    mixed(tmp_path, tmp_path / "one", force=True, **second)
    assert {name.name for name in (tmp_path / "batches").iterdir()} == set(before)
    assert {name.name: name.read_bytes() for name in (tmp_path / "batches").iterdir()} != before
    (tmp_path / "batches" / "diary.txt").write_text("mine")
    with pytest.raises(ParameterError, match="other files than batches"):
        mixed(tmp_path, tmp_path / "one", force=True, **second)
    with pytest.raises(ParameterError, match="other files than batches"):
        mixed(tmp_path, tmp_path / "one", out="a.parquet", force=True, **second)
    assert files_of(tmp_path / "batches") == {*before, "diary.txt"}


def test_the_next_run_needs_only_the_private_folder(tmp_path):
    """Without the batches themselves, and without replacing the list of used reports."""
    crowd = reports(70)
    path = write(tmp_path, "a.parquet", crowd.sealed[:50])
    mixed(tmp_path, path, out="one")
    shutil.rmtree(tmp_path / "one")
    with pytest.raises(ParameterError, match=r"one\.kept already exists"):
        mixed(tmp_path, path, out="one")
    with pytest.raises(TooFewReportsError, match="30 reports can be used"):
        mixed(tmp_path, write(tmp_path, "b.parquet", crowd.sealed), out="two", before=[tmp_path / "one"])


def test_the_output_states_what_to_forward_and_what_to_keep(tmp_path):
    one = mixed(tmp_path, write(tmp_path, "a.parquet", reports(40, shufflers=2).sealed), out="one", shufflers=2)
    *_, first, second, third = _mixed_sentences(one, USERS)
    assert first == f"For the next server: {tmp_path / 'one'}, and nothing else."
    assert second == f"Keep {tmp_path / 'one.kept'} private."
    assert third.startswith(f"{tmp_path / '0.seen'} remembers what was mixed: keep it with the key")
    two = mixed(tmp_path, tmp_path / "one", out="two", position=1, shufflers=2)
    assert not (tmp_path / "two.kept").exists()
    assert (two.to_plain()["kept"], two.to_plain()["seen"]) == (None, str(tmp_path / "1.seen"))
    *_, first, second = _mixed_sentences(two, USERS)
    assert first.startswith("For the next server")
    assert second.startswith(f"{tmp_path / '1.seen'} remembers")


def test_a_batch_has_all_users_though_fewer_are_assumed_honest(tmp_path):
    """A batch of only the honest number would have too little noise, since some of its people are not honest."""
    kept = small_task(users=40, honest_users=30, epsilon=4.0, delta=1e-3)
    sealed = [seal_report(kept.task, [0], report_id=bytes(15) + bytes([at]), time=HOUR) for at in range(75)]
    path = write(tmp_path, "a.parquet", sealed)
    done = mix_files([path], task=kept.task, key=kept.keys[0], seen=tmp_path / "seen", out=tmp_path / "b", now=NOW)
    assert ([batch.number for batch in done.batches], done.rest) == ([40], 35)


def test_the_id_of_a_batch_is_keyed(tmp_path):
    """Otherwise another server could link batches to report ids."""
    kept, crowd = small(), reports(40)
    done = mixed(tmp_path, write(tmp_path, "a.parquet", crowd.sealed))
    key = lot_key(kept.keys[0].private_bytes, kept.task.id)
    lots = np.frombuffer(b"".join(sorted(lot_of(name, key) for name in crowd.ids)), dtype=np.uint8).reshape(-1, 16)
    assert [batch.batch_id for batch in done.batches] == [batch_id_of(lots, key)]


def test_another_kind_of_file_is_refused_without_misleading_advice(tmp_path):
    for name in ("d.txt", "d", "d.csv", "d.parquet.gz"):
        (tmp_path / name).write_text("theme")
        with pytest.raises(DataError, match=r"must be Parquet, with a name that ends in \.parquet$"):
            mixed(tmp_path, tmp_path / name)


def test_an_input_folder_is_not_replaced(tmp_path):
    path = write(tmp_path, "a.parquet", reports(60, shufflers=2).sealed)
    mixed(tmp_path, path, shufflers=2)
    with pytest.raises(ParameterError, match="input files"):
        mixed(tmp_path, tmp_path / "batches", position=1, shufflers=2, force=True)


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device"), MemoryError])
def test_an_interrupt_leaves_no_partial_batch(tmp_path, monkeypatch, error):
    path = write(tmp_path, "a.parquet", reports(100).sealed)
    written = []

    def stop_at_the_second(*arguments, **more):
        written.append(arguments[0])
        if len(written) == 2:
            raise error
        return original(*arguments, **more)

    from shuffledp.collect.batch_files import engine as in_process

    original = in_process.write_part
    monkeypatch.setattr(in_process, "write_part", stop_at_the_second)
    with pytest.raises((KeyboardInterrupt, DataError, MemoryError)):
        mixed(tmp_path, path)
    assert len(written) == 2
    assert files_of(tmp_path) == {"a.parquet"}


def test_an_interrupt_while_replacing_restores_the_old_folder(tmp_path, monkeypatch):
    path = write(tmp_path, "a.parquet", reports(40, shufflers=2).sealed)
    mixed(tmp_path, path, out="one", shufflers=2)
    mixed(tmp_path, tmp_path / "one", position=1, shufflers=2)
    before = files_of(tmp_path)
    from pathlib import Path

    original = Path.rename

    def interrupted(source, target):
        if Path(target).name == "batches" and "partial" in Path(source).name and not done:
            done.append(source)
            raise KeyboardInterrupt
        return original(source, target)

    done = []
    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        mixed(tmp_path, tmp_path / "one", position=1, shufflers=2, force=True)
    assert files_of(tmp_path) == before


@pytest.mark.slow
def test_several_processes_open_the_same(tmp_path, monkeypatch):
    from shuffledp.collect.batch_files import engine as in_process

    crowd = reports(80, shufflers=2)
    parts = [write(tmp_path, f"{part}.parquet", crowd.sealed[part * 20 : part * 20 + 20]) for part in range(4)]
    one = mixed(tmp_path, *parts, out="one", shufflers=2)
    monkeypatch.setattr(in_process, "_FEW", 0)
    two = mixed(tmp_path, *parts, out="two", shufflers=2, seen=tmp_path / "seen", processes=2)
    assert [batch.batch_id for batch in one.batches] == [batch.batch_id for batch in two.batches]
    again = mixed(tmp_path, tmp_path / "two", out="again", position=1, shufflers=2, processes=2)
    found = Counter()
    for batch in again.batches:
        found += messages_in(tmp_path / "again" / f"{batch.batch_id.hex()}.parquet", shufflers=2)
    assert found == crowd.tally()

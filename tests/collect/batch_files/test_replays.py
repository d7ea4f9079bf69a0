"""No person is in two batches: attacks by mixing, forwarding or counting the same ciphertexts twice, in process.

Tests through the commands need no option: a user cannot forget one.
"""

import shutil

import pyarrow
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from shuffledp import Release
from shuffledp.cli.app import app
from shuffledp.collect.batch_files import count_files, mix_files, write_reports
from shuffledp.collect.crypto.keys import write_key
from shuffledp.collect.reasons import Reason
from shuffledp.errors import DataError
from tests.collect.batch_files.crowd import NOW, messages_in, mixed_first, onions_in, reports, small

USERS = 40


def run(line, folder):
    return CliRunner().invoke(app, [part.format(folder) for part in line.split()], catch_exceptions=False)


@pytest.fixture
def place(tmp_path):
    """A task, its keys, and reports: of the first 40 people, of the others and a newcomer instead of one of them."""
    kept, crowd = small(), reports(41)
    (tmp_path / "task.json").write_text(kept.task.to_json())
    for folder in (tmp_path, tmp_path / "copied"):
        folder.mkdir(exist_ok=True)
        write_key(kept.keys[0], folder / "shuffler.key")
    write_key(kept.keys[1], tmp_path / "analyzer.key")
    write_reports(tmp_path / "first.parquet", crowd.sealed[:40])
    write_reports(tmp_path / "second.parquet", crowd.sealed[1:])
    return tmp_path


MIX = "mix {0}/%s.parquet --task {0}/task.json --key {0}/%s --out {0}/%s"
COUNT = "count {0}/%s --task {0}/task.json --key {0}/analyzer.key --out {0}/%s.json --force"


def count(place, names, out="release"):
    return run(COUNT % (" {0}/".join(names), out), place)


def people(place, out="release"):
    return Release.from_json(place / f"{out}.json").protocol.users


def two_machines(place):
    """Two batches that differ by one person: the second machine has a copy of the key, and no memory of the first."""
    assert run(MIX % ("first", "shuffler.key", "one"), place).exit_code == 0
    assert run(MIX % ("second", "copied/shuffler.key", "two"), place).exit_code == 0
    return sorted(["one", "two"], key=lambda out: min(path.name for path in (place / out).iterdir()))


def test_a_report_is_mixed_once_without_any_option(place):
    assert run(MIX % ("first", "shuffler.key", "one"), place).exit_code == 0
    again = run(MIX % ("second", "shuffler.key", "two"), place)
    assert again.exit_code == 5, again.output
    assert "1 report can be used, and a batch of this task needs 40: nothing is forwarded" in again.stderr
    assert f"39 reports skipped, in a batch of an earlier run that {place / 'shuffler.key.seen'} remembers" in (
        again.stderr
    )
    assert not (place / "two").exists()
    assert not (place / "two.kept").exists()


def test_the_same_reports_are_not_mixed_again_by_force(place):
    assert run(MIX % ("first", "shuffler.key", "one"), place).exit_code == 0
    before = {path: path.read_bytes() for path in (place / "one").iterdir()}
    again = run(MIX % ("second", "shuffler.key", "one") + " --force", place)
    assert again.exit_code == 2
    assert "give another name" in again.stderr
    assert {path: path.read_bytes() for path in (place / "one").iterdir()} == before


def test_used_reports_are_skipped_and_new_ones_mixed(place):
    more = reports(60, different=1)
    write_reports(place / "third.parquet", more.sealed)
    assert run(MIX % ("first", "shuffler.key", "one"), place).exit_code == 0
    again = run(MIX % ("*", "shuffler.key", "two"), place)
    assert again.exit_code == 0, again.output
    assert "79 reports in a batch of an earlier run: skipped." in " ".join(again.stdout.split())
    shared = {*onions_in(*(place / "one").iterdir())} & {*onions_in(*(place / "two").iterdir())}
    assert not shared


def test_one_release_of_two_batches_counts_nobody_twice(place):
    two_machines(place)
    done = count(place, ["one", "two"])
    assert done.exit_code == 0, done.output
    assert people(place) == USERS
    notes = " ".join(done.stderr.split())
    assert "of another batch: nobody may be in two batches" in notes
    assert "is not released: it has too few messages, so its noise is incomplete" in notes


def test_the_difference_of_two_releases_does_not_isolate_a_person(place):
    """The batch that was released first stays as it was; what differs by one person is never released."""
    first, second = two_machines(place)[::-1]  # the second in the order of ids is released first
    assert count(place, [first], "one").exit_code == 0
    refused = count(place, [second], "two")
    assert refused.exit_code == 3, refused.output
    assert "nothing can be released: 1 batch with fewer messages" in " ".join(refused.stderr.split())
    assert not (place / "two.json").exists()
    assert count(place, [first, second], "both").exit_code == 0
    shown = [Release.from_json(place / f"{name}.json").estimate.to_dict() for name in ("one", "both")]
    assert shown[0] == shown[1]


@pytest.mark.slow
def test_the_same_batches_are_released_again_alone_and_with_others(place):
    write_reports(place / "third.parquet", reports(40, different=2).sealed)
    for source, out in (("first", "one"), ("third", "three")):
        assert run(MIX % (source, "shuffler.key", out), place).exit_code == 0
    for names, out, expected in ((["one"], "a", 40), (["one"], "b", 40), (["one", "three"], "c", 80)):
        done = count(place, names, out)
        assert done.exit_code == 0, done.output
        assert "dropped" not in done.stderr
        assert people(place, out) == expected
    shown = [Release.from_json(place / f"{out}.json").estimate.to_dict() for out in "ab"]
    assert shown[0] == shown[1]


# a dishonest first shuffler -------------------------------------------------------------------------------------------


def forwarded(folder, out, sealed):
    """A batch of a first shuffler that remembers nothing."""
    kept = small(2)
    write_reports(folder / f"{out}.parquet", sealed)
    source, seen = [folder / f"{out}.parquet"], folder / f"{out}.seen"
    done = mix_files(source, task=kept.task, key=kept.keys[0], seen=seen, out=folder / out, now=NOW, processes=1)
    (batch,) = done.batches
    return batch.batch_id


def relayed(folder, *given, out, seen="1.seen"):
    kept = small(2)
    sources = [folder / name for name in given]
    return mix_files(
        sources, task=kept.task, key=kept.keys[1], seen=folder / seen, out=folder / out, processes=1, force=True
    )


def onions_of(folder, *outs):
    return [set(onions_in(*(folder / out).rglob("*.parquet"))) for out in outs]


@pytest.mark.slow
@pytest.mark.parametrize("together", [False, True])
def test_a_replayed_person_is_in_one_of_two_relayed_batches(tmp_path, together):
    """Before, what two batches have in common was the person, each time."""
    crowd = reports(79, shufflers=2)
    for victim in range(3):
        folder = tmp_path / str(victim)
        folder.mkdir()
        forwarded(folder, "one", crowd.sealed[:40])
        forwarded(folder, "two", (crowd.sealed[victim], *crowd.sealed[40:]))
        if together:
            done = relayed(folder, "one", "two", out="both")
            first, second = (set(onions_in(path)) for path in (folder / "both").iterdir())
            counts = done.refused
        else:
            assert relayed(folder, "one", out="a").refused == {}
            counts = relayed(folder, "two", out="b").refused
            first, second = onions_of(folder, "a", "b")
        assert not first & second
        assert counts == {Reason.REPLAYED: len(crowd.messages[victim])}
        assert len(first) + len(second) == sum(crowd.tally().values())


def test_a_newcomer_among_replayed_people_is_not_relayed(tmp_path):
    crowd = reports(41, shufflers=2)
    forwarded(tmp_path, "one", crowd.sealed[:40])
    two = forwarded(tmp_path, "two", crowd.sealed[1:])
    relayed(tmp_path, "one", out="a")
    with pytest.raises(
        DataError, match=r"nothing is forwarded: 1 batch with fewer messages .*; \d+ messages of another"
    ):
        relayed(tmp_path, "two", out="b")
    assert not (tmp_path / "b").exists()
    done = relayed(tmp_path, "one", "two", out="c")
    assert [(batch.batch_id, batch.reason) for batch in done.refused_batches] == [(two, Reason.TOO_FEW_MESSAGES)]
    assert done.to_plain()["refused_batches"] == [{"id": two.hex(), "reason": "too-few-messages"}]
    assert onions_of(tmp_path, "a") == onions_of(tmp_path, "c")


def test_a_later_shuffler_forwards_no_batch_with_missing_messages(tmp_path):
    forwarded(tmp_path, "one", reports(40, shufflers=2).sealed)
    (path,) = (tmp_path / "one").iterdir()
    whole = pyarrow.parquet.read_table(path)
    pyarrow.parquet.write_table(whole.slice(0, 10), path)
    with pytest.raises(DataError, match="nothing is forwarded: 1 batch with fewer messages"):
        relayed(tmp_path, "one", out="a")
    pyarrow.parquet.write_table(whole, path)  # a refused batch is not remembered
    assert relayed(tmp_path, "one", out="a").refused == {}


def test_the_same_batch_is_mixed_again_in_another_order(tmp_path):
    forwarded(tmp_path, "one", reports(40, shufflers=2).sealed)
    for out in "ab":
        done = relayed(tmp_path, "one", out=out)
        assert (done.refused, done.refused_batches) == ({}, ())
    first, second = (onions_in(*(tmp_path / out).iterdir()) for out in "ab")
    assert first != second
    assert sorted(first) == sorted(second)


@pytest.mark.parametrize("change", ["more", "fewer"])
def test_a_batch_that_was_accepted_keeps_its_onions(tmp_path, change):
    """An attacker gives another batch the same id: a person more is left out, a person less stops the batch."""
    crowd, (first, last) = reports(41, shufflers=2), (40, 41) if change == "more" else (41, 40)
    forwarded(tmp_path, "more", crowd.sealed[:40])
    newcomer = len(crowd.messages[40])
    (path,) = (tmp_path / "more").iterdir()
    table = pyarrow.parquet.read_table(path)
    shutil.copytree(tmp_path / "more", tmp_path / "small")
    forwarded(tmp_path, "other", crowd.sealed[1:])
    extra = set(onions_in(*(tmp_path / "other").iterdir())) - set(onions_in(path))
    assert len(extra) == newcomer
    more = pyarrow.array([*onions_in(path), *sorted(extra)], table.schema.field(0).type)
    pyarrow.parquet.write_table(pyarrow.table([more], schema=table.schema), path)
    names = {40: "small", 41: "more"}
    relayed(tmp_path, names[first], out="a")
    if change == "more":
        done = relayed(tmp_path, names[last], out="b")
        assert done.refused == {Reason.OTHER_BYTES: newcomer}
        assert onions_of(tmp_path, "a") == onions_of(tmp_path, "b")
    else:
        with pytest.raises(DataError, match="1 batch accepted before with other messages: give the batch as it was"):
            relayed(tmp_path, names[last], out="b")


def test_copies_in_different_files_and_groups_of_rows_are_dropped(tmp_path, monkeypatch):
    """A copy within one batch counts once, however far from the original it is."""
    monkeypatch.setattr("shuffledp.collect.batch_files.formats._ONION_ROWS", 8)
    crowd, kept = reports(40, shufflers=2), small(2)
    batch_id = forwarded(tmp_path, "one", crowd.sealed)
    (path,) = (tmp_path / "one").iterdir()
    assert pyarrow.parquet.ParquetFile(path).num_row_groups > 3
    onions, kind = onions_in(path), pyarrow.parquet.read_schema(path).field(0).type
    folder = tmp_path / "parts"
    folder.mkdir()
    for part, content in enumerate(([*onions[:30], onions[-1]], [*onions[30:], onions[0], onions[0]])):
        head = (
            f'{{"kind": "shuffledp batch 1", "task": "{kept.task.name}", "batch": "{batch_id.hex()}", "position": 1, '
            f'"mixing": "{"0" * 32}", "part": {part}, "parts": 2}}'
        )
        table = pyarrow.table({"onion": pyarrow.array(content, kind)}).replace_schema_metadata({"shuffledp": head})
        pyarrow.parquet.write_table(table, folder / f"{part}.parquet", row_group_size=8)
    done = relayed(tmp_path, "parts", out="a")
    assert done.refused == {Reason.REPEATED: 3}
    assert messages_in(*(tmp_path / "a").iterdir(), shufflers=2) == crowd.tally()
    again = relayed(tmp_path, "one", out="b")  # the same onions, each once
    assert (again.refused, again.refused_batches) == ({}, ())


@pytest.mark.slow
def test_the_analyzer_counts_a_replayed_person_once(tmp_path):
    """The last shuffler is dishonest; the analyzer remembers on its own."""
    crowd, kept = reports(79), small()
    for out, people in (("one", range(40)), ("two", (0, *range(40, 79)))):
        sealed = [crowd.sealed[person] for person in people]
        mixed_first(tmp_path, sealed, name=out, seen=f"{out}.seen")
    counting = {"task": kept.task, "key": kept.keys[1], "seen": tmp_path / "seen", "processes": 1}
    assert count_files([tmp_path / "one"], **counting).refused == {}
    both = count_files([tmp_path / "one", tmp_path / "two"], **counting)
    assert both.refused == {Reason.REPLAYED: len(crowd.messages[0])}
    assert both.release.messages == sum(crowd.tally().values())
    assert (len(both.batches), both.refused_batches) == (2, ())

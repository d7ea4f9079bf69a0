"""Batches in files on Spark: repeated ciphertexts are found as in process, with one memory for both."""

import pytest

from shuffledp.collect.batch_files import mix_files
from shuffledp.collect.reasons import Reason
from tests.collect.batch_files.crowd import mixed_first, onions_in, reports, small
from tests.data.spark_sessions import LOCAL, start

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.slow]


def test_replayed_people_are_found_on_spark_and_in_process_alike(tmp_path, monkeypatch):
    """One memory for both engines. A person is in two batches, and a batch differs from another by one person."""
    monkeypatch.setattr("shuffledp.collect.batch_files.formats._ONION_ROWS", 40)  # several groups of rows
    start(LOCAL)
    kept, crowd = small(2), reports(79, shufflers=2)
    people = {"one": range(40), "two": (0, *range(40, 79)), "three": (*range(1, 40), 78)}
    for out, chosen in people.items():
        sealed = [crowd.sealed[person] for person in chosen]
        mixed_first(tmp_path, sealed, shufflers=2, name=out, seen=f"{out}.seen")
    first, relaying = len(crowd.messages[0]), {"task": kept.task, "key": kept.keys[1], "force": True}
    runs = ((("one",), "spark"), (("two",), "local"), (("one", "two", "three"), "spark"))
    done = [
        mix_files(
            [tmp_path / name for name in given],
            seen=tmp_path / "1.seen",
            out=tmp_path / f"out-{at}",
            engine=engine,
            **relaying,
        )
        for at, (given, engine) in enumerate(runs)
    ]
    assert done[0].refused == {}
    assert done[1].refused == {Reason.REPLAYED: first}
    everyone = sum(len(crowd.messages[person]) for person in people["three"])
    assert done[2].refused == {Reason.REPLAYED: first + everyone}
    assert [batch.reason for batch in done[2].refused_batches] == [Reason.TOO_FEW_MESSAGES]
    assert len(list((tmp_path / "1.seen").rglob("run"))) == 2  # the third run had no new batch
    found = [
        {name: set(onions_in(*files)) for name, files in batches_in(tmp_path / f"out-{at}").items()} for at in range(3)
    ]
    assert found[2] == {**found[0], **found[1]}
    (one,), (two,) = found[0].values(), found[1].values()
    assert not one & two
    assert len(one | two) == sum(crowd.tally().values())


def batches_in(folder):
    """The files of each batch in a folder of batches."""
    found = {}
    for path in sorted(folder.rglob("*.parquet")):
        found.setdefault(path.relative_to(folder).parts[0].removesuffix(".parquet"), []).append(path)
    return found

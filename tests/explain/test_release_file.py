"""A release in a file: writes are atomic."""

import json
from pathlib import Path

import pytest

from shuffledp import private_histogram
from shuffledp.atomic_file import refuse_same, write_whole
from shuffledp.errors import DataError, ParameterError
from shuffledp.explain.files import FORMATS, check_writable, save


def test_a_save_that_fails_leaves_what_was_there(tmp_path, monkeypatch):
    release = private_histogram(["a"] * 1000, epsilon=1, delta=1e-6)
    (tmp_path / "r.json").write_text("before")

    def interrupted(self, target):
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save(release, tmp_path / "r.json")
    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]
    assert (tmp_path / "r.json").read_text() == "before"


def test_every_format_is_written(tmp_path):
    release = private_histogram(["a"] * 1000, epsilon=1, delta=1e-6)
    for ending in FORMATS:
        assert save(release, tmp_path / f"result{ending}").stat().st_size > 100
    assert len(list(tmp_path.iterdir())) == len(FORMATS)  # and nothing else


def test_a_parquet_file_says_all_that_the_json_file_says(tmp_path):
    import pyarrow.parquet

    release = private_histogram(["a"] * 1000, epsilon=1, delta=1e-6)
    table = pyarrow.parquet.read_table(save(release, tmp_path / "r.parquet"))
    whole = json.loads(release.to_json())
    assert whole.pop("histogram") == table.to_pylist()
    assert json.loads(table.schema.metadata[b"shuffledp"]) == whole
    assert {"guarantee", "people", "beta", "estimator", "shuffledp_version", "parameters"} <= set(whole)


def test_what_cannot_be_written_is_refused_before_any_work(tmp_path):
    with pytest.raises(ParameterError, match="must end in"):
        check_writable(tmp_path / "result.pdf")
    with pytest.raises(DataError, match="it is a folder"):
        write_whole(tmp_path, b"")
    with pytest.raises(DataError, match="No such file"):
        check_writable(tmp_path / "nowhere" / "result.csv")
    (tmp_path / "link").symlink_to(tmp_path / "people.csv")
    (tmp_path / "people.csv").write_text("")
    with pytest.raises(ParameterError, match="same file as an input"):
        refuse_same(tmp_path / "link", [tmp_path / "people.csv"], "an output")

"""Temporary folders with personal data: private, and always removed, also after an early interrupt."""

import tempfile
from pathlib import Path

import pytest

from shuffledp.data.files import Scratch


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_folder_is_its_owners_alone_and_new(place):
    one, other = Scratch(), Scratch()
    assert sorted(place.iterdir()) == sorted([one.folder, other.folder])
    assert {each.folder.stat().st_mode & 0o777 for each in (one, other)} == {0o700}


def test_it_is_removed_with_its_content(place):
    scratch = Scratch()
    (scratch.folder / "deeper").mkdir()
    (scratch.folder / "deeper" / "people.csv").write_text("a\n")
    scratch.close()
    assert list(place.iterdir()) == []
    scratch.close()  # twice is once


def test_it_is_removed_with_its_object(place):
    scratch = Scratch()
    assert scratch.folder.exists()
    del scratch
    assert list(place.iterdir()) == []


def test_an_interrupt_during_creation_leaves_nothing(place, monkeypatch):
    make = Path.mkdir

    def interrupted(self, **how):
        make(self, **how)
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "mkdir", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Scratch()
    assert list(place.iterdir()) == []

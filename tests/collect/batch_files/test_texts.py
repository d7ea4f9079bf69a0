"""Batches of texts in files: counted, blocked words hidden, answers looked up."""

import json
import secrets

import pytest

from shuffledp import Ledger, Release
from shuffledp.collect.batch_files import mix_files, write_reports
from shuffledp.collect.client.making import messages_of
from shuffledp.collect.crypto.keys import write_key
from shuffledp.collect.task.report import seal_report
from tests.cli.commands import command
from tests.collect.analyzer.texts import SCRIPT, text_task
from tests.collect.batch_files.crowd import HOUR, NOW, mixed_first, reports, small

GIVEN = ("--task", "task.json", "--key", "analyzer.key")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a task, its keys and one batch: 60 people, of whom 40 share a text."""
    folder = tmp_path_factory.mktemp("texts")
    kept = text_task(users=60, epsilon=6.0, delta=1e-3)
    answers = ["news.test/sport"] * 40 + [SCRIPT] * 15 + [None] * 5
    sealed = [
        seal_report(kept.task, messages_of(kept.task, answer), report_id=secrets.token_bytes(16), time=HOUR)
        for answer in answers
    ]
    write_reports(folder / "reports.parquet", sealed)
    (folder / "task.json").write_text(kept.task.to_json())
    for name, key in zip(("shuffler.key", "analyzer.key"), kept.keys, strict=True):
        write_key(key, folder / name)
    file, seen = [folder / "reports.parquet"], folder / "seen"
    mix_files(file, task=kept.task, key=kept.keys[0], seen=seen, out=folder / "b", now=NOW, processes=1)
    return folder


@pytest.mark.slow
def test_texts_are_counted_and_looked_up(place):
    asked = ("--lookup", " NEWS.test/sport", "--lookup", "mail.test")
    result = command("count", "b", *GIVEN, "--out", "r.json", *asked, cwd=place)
    assert result.returncode == 0, result
    assert "news.test/sport" in result.stdout
    assert "news.test/sport: about " in result.stdout
    assert "mail.test: about " in result.stdout
    assert "95% confidence, all 2 answers looked up at once." in result.stdout
    assert "news.test/sport" in Release.from_json(place / "r.json")
    result = command("count", "b", *GIVEN, "--out", "r2.json", *asked, "--json", cwd=place)
    printed = json.loads(result.stdout)
    first, second = printed["looked_up"]
    assert (first["value"], second["value"]) == ("news.test/sport", "mail.test")
    assert first["low"] > 0
    assert printed["detection"]["longest"] == 256
    assert "looked_up" not in json.loads((place / "r2.json").read_text())


@pytest.mark.slow
def test_blocked_words_are_in_no_output(place):
    (place / "blocked.txt").write_text("SPORT\n")
    files = ("--out", "h.json", "--out", "h.html", "--out", "h.csv", "--out", "h.parquet")
    result = command("count", "b", *GIVEN, *files, "--block", "blocked.txt", "--explain", cwd=place)
    assert result.returncode == 0, result
    assert "(hidden)" in result.stdout
    for text in (
        result.stdout,
        result.stderr,
        *(path.read_bytes().decode(errors="replace") for path in place.glob("h.*")),
    ):
        assert "sport" not in text.lower()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--block", "none.txt"), "the blocklist none.txt cannot be read"),
        (("--lookup", "x" * 1001), "must have at most 1,000 characters"),
    ],
)
def test_nothing_is_spent_if_an_option_is_wrong(place, given, message):
    path = place / f"{secrets.token_hex(4)}.ledger"
    ledger = Ledger.create(path, epsilon=9.0, delta=0.1, population="people")
    result = command("count", "b", *GIVEN, "--out", "no.json", "--ledger", path, *given, cwd=place)
    assert result.returncode in (2, 3)
    assert message in " ".join(result.stderr.split())
    assert not ledger.entries
    assert not (place / "no.json").exists()


def test_answers_of_other_protocols_cannot_be_looked_up(tmp_path):
    kept = small()
    mixed_first(tmp_path, reports(40).sealed)
    (tmp_path / "task.json").write_text(kept.task.to_json())
    write_key(kept.keys[1], tmp_path / "analyzer.key")
    result = command("count", "b", *GIVEN, "--out", "r.json", "--lookup", "dark", cwd=tmp_path)
    assert result.returncode == 2
    assert "only in a task with the protocol hashed" in " ".join(result.stderr.split())

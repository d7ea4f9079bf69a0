"""Journals are private, durable before anything is sent, and never overwritten if broken."""

import base64
import hashlib
import json
import os
import re
import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from shuffledp.collect import Client, Reason
from shuffledp.collect.client.journal import Journal, default_folder
from shuffledp.collect.task.report import open_report
from shuffledp.errors import DataError, ParameterError
from tests.collect.client.servers import problem


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_the_journal_is_private(kept, tmp_path):
    folder = tmp_path / "new" / "journal"
    client = Client(kept.task, journal=folder)
    client.report("dark")
    assert mode(folder.parent) == mode(folder) == 0o700
    assert mode(client.journal.path(kept.task)) == 0o600


@pytest.mark.parametrize("lax", [0o755, 0o750, 0o701, 0o777])
def test_a_shared_folder_is_refused(kept, tmp_path, lax):
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(lax)
    with pytest.raises(DataError, match="chmod 700"):
        Client(kept.task, journal=folder).report("dark")
    assert list(folder.iterdir()) == []


def test_the_default_folder_follows_the_platform(kept, tmp_path, monkeypatch):
    assert default_folder() == tmp_path / "data" / "shuffledp" / "reports"
    Client(kept.task).report("dark")
    assert [path.stem for path in default_folder().iterdir()] == [kept.task.name]
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_folder() == tmp_path / ".local" / "share" / "shuffledp" / "reports"
    monkeypatch.setattr("sys.platform", "darwin")
    assert default_folder() == tmp_path / "Library" / "Application Support" / "shuffledp" / "reports"
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert default_folder() == tmp_path / "local" / "shuffledp" / "reports"


@pytest.mark.parametrize("folder", [5, b"journal", ["journal"]])
def test_other_files_are_refused_as_folders(kept, folder):
    with pytest.raises(ParameterError, match="journal must be"):
        Client(kept.task, journal=folder)


def test_a_report_is_durable_before_it_has_its_name_and_the_name_before_it_is_handed_out(kept, tmp_path, monkeypatch):
    done, sync, link = [], os.fsync, os.link
    monkeypatch.setattr(os, "fsync", lambda of: done.append(str(Path(f"/proc/self/fd/{of}").readlink())) or sync(of))
    monkeypatch.setattr(os, "link", lambda *names: done.append("named") or link(*names))
    Client(kept.task, journal=tmp_path).report("dark")
    at = done.index("named")
    assert kept.task.name in done[at - 1]  # the file itself
    assert done[at + 1 :] == [str(tmp_path)]


def test_after_the_acknowledgement_only_the_state_is_kept(kept, shuffler, tmp_path):
    client = Client(kept.task, journal=tmp_path)
    report = client.report("dark")
    left = tmp_path / f".{kept.task.name}.killed"
    left.write_bytes(report)  # left by a process that was killed while it wrote
    assert base64.b64encode(report) in client.journal.path(kept.task).read_bytes()
    client.send("dark")
    (path,) = tmp_path.iterdir()
    assert path.stat().st_size < 600
    assert base64.b64encode(report) not in path.read_bytes()
    assert client.journal.read(kept.task).state == "sent"
    assert mode(path) == 0o600


def test_a_sent_report_does_not_become_refused(kept, tmp_path):
    client, journal = Client(kept.task, journal=tmp_path), Journal(tmp_path)
    client.report("dark")
    journal.settle(kept.task, "sent")
    journal.settle(kept.task, "refused", "closed")
    assert journal.read(kept.task).state == "sent"


def changed(text):
    """Change one letter of the report."""
    at = text.index(b'"report":"') + 40
    return text[:at] + (b"A" if text[at : at + 1] != b"A" else b"B") + text[at + 1 :]


@pytest.mark.parametrize(
    "broken",
    [
        lambda text: b"",
        lambda text: text[:-20],
        lambda text: text.replace(b"ready", b"steady"),
        lambda text: text.replace(b"ready", b"sent"),
        lambda text: text.replace(b"shuffledp journal 3", b"shuffledp journal 4"),
        lambda text: text.replace(b"shuffledp journal 3", b"shuffledp journal 2"),
        lambda text: text.replace(b"shuffledp journal 3", b"shuffledp journal 1"),
        lambda text: text.replace(b'"fallback":"', b'"fallback":"AAAA'),
        lambda text: re.sub(rb'"fallback":"[^"]*"', b'"fallback":""', text),
        lambda text: text.replace(b'"honest_users":', b'"honest_user":'),
        lambda text: text.replace(b'{"kind"', b'{"more":1,"kind"'),
        lambda text: b"\xff\xfe" + text,
        lambda text: b"[" * 100_000,
        changed,
    ],
)
def test_a_broken_journal_is_an_error_and_not_changed(kept, shuffler, tmp_path, broken):
    client = Client(kept.task, journal=tmp_path)
    client.report("dark")
    path = client.journal.path(kept.task)
    content = broken(path.read_bytes())
    path.write_bytes(content)
    for attempt in (client.report, client.send):
        with pytest.raises(DataError, match="is broken"):
            attempt("dark")
    assert path.read_bytes() == content
    assert shuffler.bodies == []


def test_the_journal_of_another_task_is_refused(kept, tmp_path):
    client = Client(kept.task, journal=tmp_path)
    client.report("dark")
    path = client.journal.path(kept.task)
    path.write_bytes(path.read_bytes().replace(kept.task.name.encode(), b"0" * 64))
    with pytest.raises(DataError, match="is broken"):
        client.report("dark")


def test_nothing_is_sent_if_the_journal_cannot_be_written(kept, shuffler, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    client = Client(kept.task, journal=tmp_path)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataError, match="cannot be written: No space left"):
        client.send("dark")
    assert shuffler.bodies == []
    assert list(tmp_path.iterdir()) == []  # and no file is left


def test_a_full_disk_after_the_acknowledgement_reports_the_acceptance(kept, shuffler, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    client = Client(kept.task, journal=tmp_path)
    client.report("dark")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataError, match="No space left") as caught:
        client.send("dark")
    assert "was accepted" in caught.value.__notes__[0]
    monkeypatch.undo()
    assert client.send("dark").state == "sent"
    assert shuffler.bodies[0] == shuffler.bodies[1]


@pytest.mark.parametrize("answer", [None, problem(Reason.CLOSED, 410), problem(Reason.UNAVAILABLE, 503)])
def test_the_journal_does_not_contain_the_answer(kept, shuffler, tmp_path, caplog, capfd, answer):
    """Neither the answer, its number nor the messages, before and after sending, nor in errors or logs."""
    secret, text = "light", []
    caplog.set_level(0)
    if answer is not None:
        shuffler.script.append(answer)
    client = Client(kept.task, journal=tmp_path)
    report, fallback = client.report(secret), client.journal.read(kept.task).fallback
    assert open_report(kept.task, fallback, kept.keys[0]).onions == open_report(kept.task, report, kept.keys[0]).onions
    assert json.loads(client.journal.path(kept.task).read_bytes()) == {
        "kind": "shuffledp journal 3",
        "task": kept.task.name,
        "state": "ready",
        "report": base64.b64encode(report).decode(),
        "fallback": base64.b64encode(fallback).decode(),
        "sha256": hashlib.sha256(report).hexdigest(),
        "fallback_sha256": hashlib.sha256(fallback).hexdigest(),
        "reason": None,
        "spending": {
            "question": "Which theme do you use?",
            "day": datetime.now(UTC).date().isoformat(),
            "protocol": {
                "name": "dummy-poisson",
                "parameters": kept.task.protocol_used.parameters,
            },
            "guarantee": {"epsilon": "1", "delta": "1e-6"},
            "users": 200,
            "honest_users": kept.task.honest_users,
            "values": 5,
            "values_per_person": 1,
            "most_messages": kept.task.most_messages,
            "series": None,
        },
    }
    try:
        client.send(secret)
    except Exception as error:
        text.append(f"{error!r} {error} {vars(error)}")
    text += [repr(client), caplog.text, *capfd.readouterr(), *(path.read_text() for path in tmp_path.iterdir())]
    assert not [part for part in text if secret in part]

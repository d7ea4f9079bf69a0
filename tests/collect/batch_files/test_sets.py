"""Batches of numbers, of whole numbers in a range and of several choices in files: mixed and counted."""

import secrets

import numpy as np
import pytest

from shuffledp import Release
from shuffledp.collect.batch_files import count_files, mix_files, write_reports
from shuffledp.collect.client.making import messages_of
from shuffledp.collect.crypto.keys import write_key
from shuffledp.collect.task.report import seal_report
from shuffledp.histogram.ordered_estimate import SHARES
from tests.cli.commands import command
from tests.collect.batch_files.crowd import HOUR, NOW
from tests.collect.tasks import small_task

USERS = 60
KINDS = {
    "numbers": ({"protocol": "ranges", "edges": "0:20:5"}, [1, 7, "7.5", 12, 100, "x", None]),
    "a range": ({"numbers": (0, 20)}, [1, 7, "7", 12, 19, "x", None]),
    "choices": ({"most": 2}, [["dark"], ["light", "dark"], [], ["dark", "light", "system"]]),
    "padded choices": ({"most": 2, "protocol": "sparse"}, [["dark"], ["light", "dark"], [], "else"]),
}


def kept_of(kind):
    return small_task(users=USERS, epsilon=4.0, delta=1e-3, **KINDS[kind][0])


def mixed(kind, folder):
    """Mix one batch in a folder; return the tally of the messages of all people."""
    kept, asked = kept_of(kind), KINDS[kind][1]
    sent = [messages_of(kept.task, asked[at % len(asked)]) for at in range(USERS)]
    sealed = [seal_report(kept.task, one, report_id=secrets.token_bytes(16), time=HOUR) for one in sent]
    write_reports(folder / "reports.parquet", sealed)
    file = [folder / "reports.parquet"]
    mix_files(file, task=kept.task, key=kept.keys[0], seen=folder / "seen", out=folder / "b", now=NOW, processes=1)
    messages = np.array([message for one in sent for message in one if message < kept.task.alphabet])
    return kept.task.protocol.tally(messages)


def assert_released(kind, release, tally):
    """The estimate of the messages that were sent, whatever way they took."""
    protocol = kept_of(kind).task.released_by()
    expected = protocol.estimate(tally, reports=USERS, forged=True, domain=kept_of(kind).task.labels)
    assert release.estimate.counts.tolist() == expected.counts.tolist()
    assert release.estimate.labels.tolist() == expected.labels.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_files_are_counted(tmp_path, kind):
    kept, tally = kept_of(kind), mixed(kind, tmp_path)
    counted = count_files([tmp_path / "b"], task=kept.task, key=kept.keys[1], seen=tmp_path / "s", processes=1)
    assert counted.refused == {}
    assert_released(kind, counted.release, tally)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "shares"), [("numbers", (0.5, 0.9)), ("a range", SHARES)])
def test_the_command_prints_quantiles(tmp_path, kind, shares):
    folder, kept = tmp_path, kept_of(kind)
    mixed(kind, folder)
    (folder / "task.json").write_text(kept.task.to_json())
    write_key(kept.keys[1], folder / "analyzer.key")
    given = ("--task", "task.json", "--key", "analyzer.key", "--out", "r.json")
    result = command("count", "b", *given, cwd=folder)
    assert result.returncode == 0, result.stderr
    assert "share of people" in result.stdout
    assert [one.share for one in Release.from_json(folder / "r.json").estimate.quantiles()] == list(shares)

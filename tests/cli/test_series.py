"""`task series` and the keys of many rounds."""

import json

import pytest

from shuffledp.collect import read_key, read_series
from tests.cli.commands import command
from tests.collect.series import small_series

ASKED = ["--question", "Theme?", "--domain", "dark,light", "--users", "500", "--epsilon", "1", "--delta", "1e-6"]
TIMES = ["--rounds", "3", "--period", "7d", "--opens", "2027-01-04"]


@pytest.fixture
def folder(tmp_path):
    assert command("keys", "new", "--out", tmp_path / "shuffler.keys", "--number", "3").returncode == 0
    assert command("keys", "new", "--out", tmp_path / "analyzer.key").returncode == 0
    return tmp_path


def new(folder, *more, shuffler="shuffler.keys", times=TIMES):
    out = folder / "theme.series.json"
    servers = ["--shuffler", f"http://a=./{shuffler}", "--analyzer", "http://b=analyzer.key"]
    return command("task", "series", "new", *ASKED, *times, *servers, "--out", out, *more, cwd=folder)


def test_keys_for_all_rounds(folder):
    keys = folder / "shuffler.keys"
    files = sorted(path.name for path in keys.iterdir())
    assert files == ["0001.key", "0002.key", "0003.key", "public.txt"]
    public = [read_key(keys / name).public for name in files[:3]]
    assert (keys / "public.txt").read_text().split() == public
    assert keys.stat().st_mode & 0o077 == 0
    again = command("keys", "new", "--out", keys, "--number", "3")
    assert again.returncode == 2
    assert "must be a new folder" in again.stderr
    for wrong in ("0", "1", "5000"):
        assert command("keys", "new", "--out", folder / "more", "--number", wrong).returncode == 2
    shown = json.loads(command("keys", "new", "--out", folder / "other", "--number", "2", "--json").stdout)
    assert len(set(shown["public"])) == 2


@pytest.mark.slow
@pytest.mark.parametrize("shuffler", ["shuffler.keys", "shuffler.keys/public.txt"])
def test_new_show_and_check(folder, shuffler):
    made = new(folder, shuffler=shuffler)
    assert made.returncode == 0, made.stderr
    series = read_series(folder / "theme.series.json")
    public = (folder / "shuffler.keys" / "public.txt").read_text().split()
    assert [task.shufflers[0].key for task in series.tasks] == public
    assert len({task.analyzer.key for task in series.tasks}) == 1
    assert (series.rounds, series.period, series.opening) == (3, 7 * 86_400, "2027-01-04T00:00:00Z")
    file = folder / "theme.series.json"
    shown = command("task", "series", "show", file)
    assert shown.returncode == 0
    for words in (
        "strong protection (epsilon 1, delta 1e-6)",
        "3, once a week",
        "new keys in every round",
        series.name,
    ):
        assert words in shown.stdout
    assert series.task(3).name[:16] in shown.stdout
    assert "All rounds together: strong" in command("task", "series", "show", file, "--explain").stdout
    about = json.loads(command("task", "series", "show", file, "--json").stdout)
    assert [each["task"] for each in about["rounds"]] == [task.name for task in series.tasks]
    assert about["total"]["kept"] is True
    checked = command("task", "series", "check", file, "--at-most", "1,1e-6", "--pin", series.name)
    assert checked.returncode == 0
    assert "Kept: for all rounds together at epsilon 1" in checked.stdout
    assert json.loads(command("task", "series", "check", file, "--json").stdout)["total"]["kept"] is True


def test_exit_codes_of_check(folder):
    new(folder)
    file = folder / "theme.series.json"
    check = ["task", "series", "check", file]
    assert command(*check, "--at-most", "0.9,1e-6").returncode == 4
    assert command(*check, "--pin", "ab" * 32).returncode == 3
    assert command("task", "series", "check", folder / "analyzer.key").returncode == 3
    assert command("task", "check", file).returncode == 3
    plain = json.loads(file.read_text()) | {"total": {"epsilon": "0.5", "delta": "1e-6"}}
    file.write_text(json.dumps(plain))
    assert command(*check).returncode == 4
    assert json.loads(command(*check, "--json").stdout)["kept"] is False
    shown = command("task", "series", "show", file)
    assert shown.returncode == 4
    assert "NOT KEPT" in shown.stdout


@pytest.mark.parametrize(
    ("times", "reason"),
    [
        (["--rounds", "4", "--period", "7d"], "must have a key for each of 4 rounds, got 3 keys"),
        (["--rounds", "1", "--period", "7d"], "must have a key for each of 1 rounds"),
        (["--rounds", "0", "--period", "7d"], "must have a key for each of 0 rounds"),
        (["--rounds", "3", "--period", "7d", "--opens", "9999-12-31"], "must end before the year 10000"),
        (["--rounds", "3", "--period", "soon"], "period must be a length of time"),
        (["--rounds", "3", "--period", "20000d"], "period must be at most"),
        (["--rounds", "3", "--period", "60s", "--time-precision", "1h"], "at most the period"),
    ],
)
def test_wrong_rounds_and_periods(folder, times, reason):
    made = new(folder, times=times)
    assert made.returncode == 2
    assert reason in " ".join(made.stderr.split())
    assert not (folder / "theme.series.json").exists()


def test_destroy_the_key_of_a_round(folder):
    new(folder)
    key, series = folder / "shuffler.keys" / "0002.key", folder / "theme.series.json"
    refused = command("keys", "destroy", key, "--task", series)
    assert refused.returncode == 2
    assert "The key is used in 1 round of 3: 2." in refused.stdout
    assert command("keys", "destroy", key, "--task", series, "--yes").returncode == 0
    assert not key.exists()
    everywhere = command("keys", "destroy", folder / "analyzer.key", "--task", series)
    assert "The key is used in 3 rounds of 3: 1, 2, 3." in everywhere.stdout
    other = folder / "other.series.json"
    other.write_text(small_series().series.to_json())
    assert "belongs to no round" in command("keys", "destroy", folder / "analyzer.key", "--task", other).stderr

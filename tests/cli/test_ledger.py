"""`shuffledp ledger` and `run --ledger`: a budget on the command line."""

import errno
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from shuffledp import DataError, Histogram, Ledger
from shuffledp.accounting.bounds import StatedCurve
from shuffledp.accounting.composition import composed
from tests.cli.commands import GUARANTEE, REAL, command, real_command

LIMIT = ["--limit", "3,1e-5"]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "people.csv").write_text("theme\n" + "dark\n" * 700 + "light\n" * 300)
    return tmp_path


def budget(folder, *arguments):
    return command("ledger", "people.ledger", *arguments, cwd=folder)


def run(folder, *arguments):
    asked = ["people.csv", "--column", "theme", *(arguments or GUARANTEE), "--ledger", "people.ledger"]
    return command("run", *asked, cwd=folder)


@pytest.mark.slow
def test_a_ledger_is_created_filled_and_shown(folder):
    made = budget(folder, *LIMIT, "--population", "customers of 2026")
    assert made.returncode == 0
    assert made.stderr == "wrote people.ledger\n"
    assert made.stdout.startswith("customers of 2026: nothing is spent of the limit, epsilon 3 at delta 1e-5.\n")
    released = run(folder)
    assert released.returncode == 0
    assert "Entry 1 of the ledger of customers of 2026" in " ".join(released.stdout.split())
    run(folder, "--epsilon", "1.5", "--delta", "1e-7")
    shown = budget(folder, "--spent-elsewhere", "0.25,1e-8", "--what", "a model", "--explain").stdout
    assert shown.startswith("customers of 2026: 3 releases spent epsilon ")
    assert re.search(r"1 +\d{4}-\d\d-\d\d +theme +\w+Histogram +1 +1e-6 +1,000 +yes", shown)
    assert re.search(r"2 +\d{4}-\d\d-\d\d +theme +\w*Histogram +1\.5 +1e-7 +1,000 +yes", shown)
    assert re.search(r"3 +\d{4}-\d\d-\d\d +a model +spent elsewhere +0\.25 +1e-8 +yes", shown)
    assert "The sum of the epsilons would be 2.75, of the deltas 1.11e-6." in shown
    assert shown.splitlines()[1].startswith("Left: one more release of any kind up to epsilon ")


def test_printed_figures_hold_and_json_has_all_digits(folder):
    budget(folder, *LIMIT)
    ledger = Ledger(folder / "people.ledger")
    for epsilon in (0.7, 0.9, 0.7):
        ledger.spend(Histogram.calibrate(users=5000, bins=9, epsilon=epsilon, delta=1e-6), what="age")
    answer = json.loads(budget(folder, "--json").stdout)
    assert answer["population"] == "people"
    assert answer["limit"] == {"epsilon": 3.0, "delta": 1e-5, "by_results": False}
    assert answer["total"]["epsilon"] == ledger.total.epsilon(1e-5)
    assert answer["total"]["delta"] == answer["total"]["delta_against_limit"] == ledger.total.delta(3.0)
    assert answer["total"]["sum_of_epsilons"] == pytest.approx(2.3)
    assert [entry["published"] for entry in answer["entries"]] == [False] * 3
    assert answer["entries"][1]["parameters"]["missing_probability"] == ledger.entries[1].made().missing_probability
    shown = budget(folder, "--explain").stdout
    (epsilon, delta) = re.search(
        r"epsilon ([\d.e-]+) at the limit's delta, and delta ([\d.e-]+) at the limit's", shown
    ).groups()
    assert answer["total"]["epsilon"] <= float(epsilon) <= 1.01 * answer["total"]["epsilon"]
    assert answer["total"]["delta"] <= float(delta) <= 1.01 * answer["total"]["delta"]
    assert "published no: the release was stopped, and counts as spent" in shown
    ((any_kind, left),) = re.findall(
        r"of any kind up to epsilon ([\d.]+), or (?:up to )?epsilon ([\d.]+)(?: or more)? with protocol hist", shown
    )
    assert answer["left"] == {"epsilon": float(any_kind), "epsilon_of_hist": float(left), "delta": 1e-6}
    stated = StatedCurve(stated_epsilon=float(any_kind), stated_delta=1e-6)
    assert ledger.budget.allows(composed([ledger.total, stated]))
    ledger.spend(Histogram.calibrate(users=10**6, bins=2, epsilon=float(left), delta=1e-6), what="what is left")


@pytest.mark.slow
def test_a_release_over_the_limit_is_refused(folder):
    budget(folder, "--limit", "1.2,1e-6")
    assert run(folder).returncode == 0
    over = run(folder)
    assert over.returncode == 2
    assert over.stdout == ""
    assert over.stderr.startswith("shuffledp run: this release exceeds the limit of the ledger of people, epsilon 1.2")
    assert over.stderr.count("\n") == 1
    assert len(Ledger(folder / "people.ledger").entries) == 1


@pytest.mark.parametrize(
    ("error", "message", "code"),
    [(KeyboardInterrupt(), "interrupted: ", 130), (DataError("no more"), "shuffledp run: no more; ", 3)],
)
def test_an_interrupted_release_is_reported_as_spent(folder, monkeypatch, error, message, code):
    def fails(*_):
        raise error

    budget(folder, *LIMIT)
    monkeypatch.setattr(Histogram, "_draw", fails)
    stopped = run(folder, *GUARANTEE, "--protocol", "hist")
    assert stopped.stderr == f"{message}entry 1 of the ledger of people counts as spent\n"
    assert stopped.returncode == code
    assert len(Ledger(folder / "people.ledger").entries) == 1


@pytest.mark.parametrize(("given", "reported"), [(["--ledger", "people.ledger"], True), ([], False)])
def test_an_unwritable_output_is_reported_as_spent(folder, monkeypatch, given, reported):
    def fails(*_, **__):
        raise DataError("cannot write out.csv")

    budget(folder, *LIMIT)
    monkeypatch.setattr("shuffledp.cli.release_output.save", fails)
    stopped = command("run", "people.csv", "--column", "theme", *GUARANTEE, *given, "--out", "out.csv", cwd=folder)
    assert stopped.returncode == 3
    assert ("; the release was entered in the ledger and counts as spent" in stopped.stderr) is reported


def full_disk(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def interrupt(*_):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("stop", "code", "message"),
    [
        (full_disk, 3, "shuffledp run: cannot write out.csv: No space left on device; the result was printed instead"),
        (interrupt, 130, "interrupted: the result was printed instead"),
    ],
)
@pytest.mark.parametrize("as_json", [False, True])
def test_a_result_that_cannot_be_written_is_printed(folder, monkeypatch, stop, code, message, as_json):
    """The disk is full, or Ctrl-C comes, when the file is written: the budget is spent, and the result is not lost."""
    budget(folder, *LIMIT)
    monkeypatch.setattr("shuffledp.atomic_file.os.fsync", stop)
    stopped = run(folder, *GUARANTEE, "--out", "out.csv", *(["--json"] if as_json else []))
    assert stopped.returncode == code
    after = "; " if code == 3 else ": "
    assert stopped.stderr == f"{message}{after}the release was entered in the ledger and counts as spent\n"
    shown = json.loads(stopped.stdout)["histogram"] if as_json else stopped.stdout
    assert (shown[0]["label"] == "dark") if as_json else ("dark" in shown and "Guarantee: " in shown)
    assert sorted(path.name for path in folder.iterdir()) == ["people.csv", "people.ledger"]


def test_other_files_are_written_if_one_cannot_be(folder, monkeypatch):
    import shuffledp.cli.release_output as output

    save = output.save

    def fails_for_csv(release, path, **options):
        if path.suffix == ".csv":
            raise DataError(f"cannot write {path}: No space left on device")
        return save(release, path, **options)

    monkeypatch.setattr(output, "save", fails_for_csv)
    budget(folder, *LIMIT)
    stopped = run(folder, *GUARANTEE, "--out", "out.csv", "--out", "out.json")
    assert stopped.returncode == 3
    assert "wrote out.json" in stopped.stderr
    assert (folder / "out.json").exists()


@pytest.mark.slow
def test_a_result_whose_output_is_on_a_full_disk_goes_to_stderr(folder):
    """/dev/full refuses every byte, as a full disk does."""
    budget(folder, *LIMIT)
    asked = [*REAL, "run", "people.csv", "--column", "theme", *GUARANTEE, "--ledger", "people.ledger"]
    with Path("/dev/full").open("w") as full:
        stopped = subprocess.run(asked, cwd=folder, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert stopped.returncode == 3
    assert "dark" in stopped.stderr
    assert stopped.stderr.endswith(
        "shuffledp run: cannot write to stdout: No space left on device; the release was entered in the ledger and "
        "counts as spent\n"
    )


def test_an_interrupt_when_the_progress_bar_is_removed_is_reported_as_spent(folder, monkeypatch):
    """Ctrl-C between the release and the first file."""
    monkeypatch.setattr("shuffledp.cli.output.ProgressBar.__exit__", interrupt)
    budget(folder, *LIMIT)
    stopped = run(folder)
    assert stopped.stderr == "interrupted: the release was entered in the ledger and counts as spent\n"
    assert stopped.returncode == 130


def test_a_limit_cannot_be_changed(folder):
    budget(folder, *LIMIT)
    again = budget(folder, "--limit", "5,1e-5")
    assert again.returncode == 2
    assert "its limit cannot be changed" in again.stderr
    assert Ledger(folder / "people.ledger").budget.epsilon == 3.0


def test_a_missing_ledger_is_named_with_the_command_that_creates_it(folder):
    for result in (budget(folder), run(folder)):
        assert result.returncode == 3
        assert (
            "there is no ledger people.ledger: create it with `shuffledp ledger people.ledger --limit 3,1e-5`"
            in result.stderr
        )
    assert not (folder / "people.ledger").exists()


def test_a_total_above_the_limit_is_reported(folder):
    budget(folder, *LIMIT)
    shown = budget(folder, "--spent-elsewhere", "4,1e-4", "--what", "too much").stdout
    assert "More is spent than the limit allows." in shown
    assert "Left: nothing more fits." in shown
    assert json.loads(budget(folder, "--json").stdout)["total"]["over_limit"] is True


@pytest.mark.slow
def test_a_limit_for_decisions_by_results(folder):
    budget(folder, *LIMIT, "--by-results")
    run(folder)
    shown, answer = budget(folder, "--explain").stdout, json.loads(budget(folder, "--json").stdout)
    assert "Counted that way, delta is at most " in shown
    assert answer["limit"]["by_results"] is True
    assert answer["total"]["delta_against_limit"] > answer["total"]["delta"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--limit", "3"], "--limit must be an epsilon and a delta separated by a comma, such as 3,1e-5"),
        (["--limit", "3,1e-5,2"], "--limit must be"),
        (["--limit", "x,1e-5"], "--limit must be"),
        (["--limit", "0,1e-5"], "epsilon must be above 0"),
        (["--limit", "3,2"], "delta must lie"),
        ([*LIMIT, "--population", " "], "population must name"),
        (["--population", "x"], "need --limit"),
        (["--by-results"], "need --limit"),
        (["--spent-elsewhere", "1,1e-6"], "must be given together"),
        (["--what", "x"], "must be given together"),
        (
            [*LIMIT, "--spent-elsewhere", "-1,1e-7", "--what", "x"],
            "epsilon must not be negative, got -1",
        ),
        (
            [*LIMIT, "--spent-elsewhere", "1,2", "--what", "x"],
            "delta must be at least 0 and below 1, got 2",
        ),
        ([*LIMIT, "--figure", "b.txt"], "must end in .svg"),
        ([*LIMIT, "--figure", "people.csv"], "must end in .svg"),
    ],
)
def test_wrong_options_create_no_file(folder, arguments, reason):
    result = budget(folder, *arguments)
    assert result.returncode == 2
    assert reason in result.stderr
    assert not (folder / "people.ledger").exists()


def test_a_file_that_is_no_ledger(folder):
    for arguments in (
        ["ledger", "people.csv"],
        ["run", "people.csv", "--column", "theme", *GUARANTEE, "--ledger", "people.csv"],
    ):
        result = command(*arguments, cwd=folder)
        assert result.returncode == 3
        assert "people.csv is not a ledger" in result.stderr


def test_an_output_does_not_overwrite_the_ledger(folder):
    command("ledger", "out.json", *LIMIT, cwd=folder)
    asked = ["people.csv", "--column", "theme", *GUARANTEE, "--ledger", "out.json", "--out", "out.json", "--force"]
    result = command("run", *asked, cwd=folder)
    assert result.returncode == 2
    assert "may not be the same file" in result.stderr
    assert Ledger(folder / "out.json").entries == ()


@pytest.mark.slow
def test_a_figure_is_drawn_and_not_overwritten(folder):
    budget(folder, *LIMIT, "--population", "people & <others>")
    assert budget(folder, "--figure", "empty.svg").returncode == 0
    Ledger(folder / "people.ledger").spend_elsewhere(epsilon=0.5, delta=1e-7, what="a model")
    drawn = budget(folder, "--figure", "budget.svg")
    assert drawn.stderr == "wrote budget.svg\n"
    text = (folder / "budget.svg").read_text()
    assert text.startswith("<?xml")
    assert text.count("<path") > (folder / "empty.svg").read_text().count("<path")
    assert "exists" in budget(folder, "--figure", "budget.svg").stderr


@pytest.mark.slow
def test_the_real_command(folder):
    assert real_command("ledger", "people.ledger", *LIMIT, cwd=folder).returncode == 0
    assert real_command("ledger", "people.ledger", cwd=folder).stdout.startswith(
        "people: nothing is spent of the limit"
    )

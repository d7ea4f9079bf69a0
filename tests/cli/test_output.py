"""Output of all commands: it fits the terminal, is limited, and is complete in a pipe."""

import io
import os
import pickle
import re
import subprocess
import threading
from collections import Counter
from dataclasses import replace
from functools import wraps
from importlib import import_module

import numpy as np
import pytest
from rich.cells import cell_len

from shuffledp import private_histogram
from shuffledp.cli import output
from shuffledp.cli.release_output import publish
from tests.cli.commands import GUARANTEE, REAL, command

PEOPLE = ["people.csv", "--column", "page"]
COMMANDS = {
    "plan": ["plan", "--users", "1e6", "--bins", "1e5", *GUARANTEE],
    "plan any": ["plan", "--users", "2e5", "--bins", "any", *GUARANTEE],
    "run": ["run", *PEOPLE, *GUARANTEE, "--evaluate"],
    "simulate": ["simulate", *PEOPLE, *GUARANTEE, "--trials", "2"],
    "compare": ["compare", "--users", "2e4", "--bins", "10", *GUARANTEE, "--trials", "2", "--protocols",
                "hist,hist-published,laplace,dummy"],
    "separate": ["separate", "--problem", "support", "--h", "2,3", *GUARANTEE, "--no-local"],
    "amplify": ["amplify", "--epsilon0", "2", "--users", "1e5", "--delta", "1e-6"],
    "protocols": ["protocols"],
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("widths")
    words = ["a" * 39, "北京" * 15, "b", *(f"page {number}" for number in range(25))]
    (path / "people.csv").write_text("page\n" + "".join(f"{word}\n" * 300 for word in words), encoding="utf-8")
    (path / "one.csv").write_text("page\n" + "a\n" * 500)
    return path


JOBS = ("release.plan.plan", "release.private_histogram.private_histogram",
        "release.simulate.simulate", "release.compare.compare", "paper.separation.separate")  # fmt: skip


@pytest.fixture(scope="module")
def done():
    return {}


@pytest.fixture
def once(monkeypatch, done):
    """Cache the result of each job, which is shown in several widths."""

    def cached(place, job):
        @wraps(job)
        def asked(*arguments, progress, **options):
            question = pickle.dumps((place, arguments, options))
            if question not in done:
                done[question] = job(*arguments, progress=progress, **options)
            return done[question]

        return asked

    for place in JOBS:
        module, _, name = place.rpartition(".")
        job = getattr(import_module(f"shuffledp.{module}"), name)
        monkeypatch.setattr(f"shuffledp.{place}", cached(place, job))


@pytest.mark.slow
@pytest.mark.usefixtures("once")
@pytest.mark.parametrize("columns", [60, 80, 120])
@pytest.mark.parametrize("name", COMMANDS)
def test_lines_fit_the_terminal(name, columns, folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    result = command(*COMMANDS[name], cwd=folder)
    assert result.returncode == 0, result.stderr
    assert max(map(cell_len, result.stdout.splitlines())) <= columns


@pytest.mark.usefixtures("once")
def test_a_table_that_is_too_wide_comes_in_parts(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    shown = command(*COMMANDS["plan"]).stdout
    monkeypatch.setenv("COLUMNS", "80")
    assert shown.count("largest error ") == 2 * command(*COMMANDS["plan"]).stdout.count("largest error ")
    for name in ("hist", "hist-unbiased", "sparse", "sparse-best", "dummy"):
        assert name in shown.split()


@pytest.mark.slow
@pytest.mark.usefixtures("once")
def test_columns_without_room_are_named(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    assert "no room for: seconds, bits" in command(*COMMANDS["compare"]).stdout


@pytest.mark.usefixtures("once")
def test_a_pipe_gets_everything():
    shown = command(*COMMANDS["compare"]).stdout
    assert "no room" not in shown
    (head,) = (line for line in shown.splitlines() if "protocol" in line.split())
    assert head.split() == ["model", "protocol", "error", "bound", "messages", "bits", "seconds"]
    (row,) = (line for line in shown.splitlines() if "theorem's constants" in line and "shuffled" in line)
    assert row.count("±") == 1


def test_one_value_is_singular(folder):
    shown = command("run", "one.csv", "--column", "page", *GUARANTEE, "--evaluate", cwd=folder).stdout
    assert ": 1 value shown" in shown
    assert "1 of 1 value present is shown" in shown
    assert "1 values" not in shown


def test_an_estimate_just_below_zero_is_zero(capsys):
    release = private_histogram(["a"] * 1000, domain=["a", "b"], drop_missing=True, epsilon=1, delta=1e-6)
    below = replace(release, estimate=replace(release.estimate, counts=np.array([999.6, -0.3])))
    publish(below, out=[], top=5, as_json=False)
    assert "-0 " not in capsys.readouterr().out


def bars(text):
    """Return the lengths of the bars of a table, in order."""
    return [sum(map(line.count, "█▒#.")) for line in text.splitlines() if re.search(r"^│ v\d", line)]


@pytest.mark.slow
def test_bars_of_a_heavy_tail_are_linear_too(capsys):
    """A million people hold one value, hundreds the others."""
    counts = {"v0": 10**6, **{f"v{at}": 100 + 39 * at for at in range(1, 41)}}
    publish(private_histogram(Counter(counts), epsilon=1, delta=1e-6), out=[], top=15, as_json=False)
    shown = capsys.readouterr().out
    lengths = bars(shown)
    assert len(lengths) == 20
    assert lengths == sorted(lengths, reverse=True)
    assert (lengths[1], lengths[0]) == (1, 21)
    assert "logarithmic" not in shown


def test_bars_of_like_values_are_linear(capsys):
    counts = {f"v{at}": 10_000 - 100 * at for at in range(40)}
    publish(private_histogram(Counter(counts), epsilon=1, delta=1e-6), out=[], top=15, as_json=False)
    shown = capsys.readouterr().out
    assert "logarithmic" not in shown
    assert "smallest 5, bars x 10" in shown
    assert bars(shown)[14] == round(21 * 0.86)


@pytest.mark.slow
def test_an_ascii_terminal_works(folder):
    result = subprocess.run(
        [*REAL, *COMMANDS["run"]], capture_output=True, cwd=folder, check=False,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "TERM": "dumb"},
    )  # fmt: skip
    assert result.returncode == 0
    assert b"Traceback" not in result.stderr
    assert b"#" in result.stdout


@pytest.mark.usefixtures("once")
def test_explanations_are_short_titled_paragraphs(folder):
    shown = command(*COMMANDS["run"], "--explain", cwd=folder).stdout
    paragraphs = shown.split("\n\n")[1:]
    assert [text.split(":")[0] for text in paragraphs] == [
        "Result", "Error bounds", "Guarantee", "Trust", "Noise", "How people were counted", "Not protected",
    ]  # fmt: skip
    assert max(map(len, paragraphs)) < 800
    for ours in ("2^", " bin", "lone", "phantom", "safe side"):
        assert ours not in shown


class Screen(io.StringIO):
    """A terminal whose text can be read after it is closed."""

    text = ""

    def close(self):
        if not self.closed:
            self.text = self.getvalue()
        super().close()


def test_work_without_progress_gets_a_bar_after_a_moment(monkeypatch):
    screen, shown, begin = Screen(), threading.Event(), output.ProgressBar._begin

    def begun(self):
        begin(self)
        shown.set()

    monkeypatch.setattr(output, "_MOMENT", 0.0)
    monkeypatch.setattr(output, "_terminal", lambda: screen)
    monkeypatch.setattr(output.ProgressBar, "_begin", begun)
    with output.ProgressBar() as report:
        report("planning", 0.0)
        assert shown.wait(timeout=60)
    assert "planning" in screen.text


def test_short_work_shows_no_bar(monkeypatch):
    screen = Screen()
    monkeypatch.setattr(output, "_MOMENT", 3600.0)
    monkeypatch.setattr(output, "_terminal", lambda: screen)
    with output.ProgressBar() as report:
        report("planning", 0.0)
        report("planning", 1.0)
    assert screen.closed
    assert screen.text == ""


@pytest.mark.parametrize("name", ["plan", "amplify", "simulate"])
def test_every_slow_command_reports_progress(name, folder, monkeypatch):
    reported = []
    monkeypatch.setattr(output.ProgressBar, "__call__", lambda self, what, share: reported.append((what, share)))
    assert command(*COMMANDS[name], cwd=folder).returncode == 0
    assert reported
    assert all(0 <= share <= 1 for _, share in reported)


@pytest.mark.slow
def test_bins_that_are_not_values_are_never_among_the_smallest_values(capsys):
    """Most people have fewer values than the cap: the bins of these people are large."""
    rows = [{"person": person, "app": f"v{person % 24:02}"} for person in range(12_000)]
    release = private_histogram(rows, column="app", user="person", values_per_person=3, epsilon=2, delta=1e-6)
    publish(release, out=[], top=15, as_json=False)
    shown = capsys.readouterr().out
    assert "... 4 more ..." in shown
    below = shown[shown.index("smallest 5, bars x 10") :]
    assert len(re.findall(r"^│ v\d", below, flags=re.MULTILINE)) == 5
    assert re.search(r"^├.*\n│ \(at most (2 values|1 value)\)", below, flags=re.MULTILINE)  # equally many people


def test_one_hidden_value_is_counted(capsys):
    publish(private_histogram(Counter(a=3000, b=2000), epsilon=1, delta=1e-6), out=[], top=1, as_json=False)
    assert "... 1 more ..." in capsys.readouterr().out

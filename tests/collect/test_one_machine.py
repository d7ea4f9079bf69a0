"""`shuffledp up`: a whole collection in one command that leaves nothing behind."""

import contextlib
import json
import os
import re
import shlex
import signal
import stat
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from shuffledp import private_histogram
from shuffledp.cli.app import app
from shuffledp.cli.up import _show_machine
from shuffledp.collect.simulation import one_machine as whole
from shuffledp.collect.simulation import processes
from shuffledp.collect.simulation.one_machine import Command, Deployment, OneMachine, Outcome
from shuffledp.collect.simulation.processes import Processes, free_ports
from shuffledp.errors import DataError, ParameterError
from tests.collect.chaos import wait_until
from tests.collect.tasks import small_task

pytestmark = pytest.mark.xdist_group("servers")  # one worker waits for them while the others compute

README = Path(__file__).parents[2] / "README.md"
SHELL = re.compile(r"^```sh\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)


def up(*arguments, **more):
    """Run the command as a process with its own folder for temporary files."""
    return subprocess.Popen(
        [sys.executable, "-m", "shuffledp", "up", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        **more,
    )


def of_session(leader):
    """Processes of a session, and those that they started in other sessions."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "environ").read_bytes() if entry.name.isdigit() else b""
        except OSError:
            continue
        if leader.encode() in words:
            found.append(int(entry.name))
    return found


@pytest.mark.slow
def test_once_prints_the_release_and_leaves_nothing(tmp_path):
    """Two shufflers, two batches: all reports are acknowledged, and the release counts those in batches."""
    environment = os.environ | {"TMPDIR": str(tmp_path), "SHUFFLEDP_TEST": str(tmp_path)}
    process = up("--people", "250", "--users", "120", "--shufflers", "2", "--once", "--json", env=environment)
    printed, notes = process.communicate(timeout=240)
    assert process.returncode == 0, notes
    result = json.loads(printed)
    assert (result["people"], result["acknowledged"], result["refused"]) == (250, 250, {})
    assert (result["people_in_release"], result["batches"], result["waiting"]) == (240, 2, 10)
    assert (result["guarantee"]["epsilon"], result["guarantee"]["delta"]) == (1.0, 1e-6)
    counts = {row["label"]: row["count"] for row in result["estimate"]}
    assert counts["dark"] == pytest.approx(0.38 * 240, abs=80)  # the people are always the same, the noise is not
    assert result["seconds"] > 0
    assert notes.startswith("Results will be at http://127.0.0.1:")
    assert list(tmp_path.iterdir()) == []
    wait_until(lambda: of_session(f"SHUFFLEDP_TEST={tmp_path}") == [], seconds=20, what="every process to be gone")


@pytest.mark.slow
def test_rounds_are_announced_and_compared(tmp_path):
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    process = up("--people", "100", "--rounds", "2", "--period", "15s", "--once", "--json", env=environment)
    printed, notes = process.communicate(timeout=240)
    assert process.returncode == 0, notes
    result = json.loads(printed)
    assert [each["people_in_release"] for each in result["rounds"]] == [100, 100]
    assert re.search(rf"^Answer while a round is open: http://.*/ask/series/{result['series']}$", notes, re.MULTILINE)
    assert "Answer in a terminal: shuffledp send --task" in notes
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_commands_of_the_readme_work(tmp_path):
    """The two commands of the README with fewer people; no answer is in the folder afterwards."""
    (block,) = (text for text in SHELL.findall(README.read_text()) if "shuffledp up --people" in text)
    start, answer = (shlex.split(line, comments=True)[1:] for line in block.splitlines())
    assert start[:3] == ["up", "--people", "2000"]
    environment = os.environ | {"HOME": str(tmp_path / "home"), "XDG_STATE_HOME": "", "XDG_DATA_HOME": ""}
    process = up("--people", "200", *start[3:], cwd=tmp_path, env=environment)
    try:
        notes = [process.stderr.readline() for _ in range(7)]
        assert notes.pop(1).startswith("warning: only for tests: one operator ran all servers")
        assert notes[1].startswith("Answer in a browser:  http://127.0.0.1:")
        assert "The next batch needs 200 more reports" in notes[5]
        words = shlex.split(notes[4].removeprefix("Answer in a terminal: "))
        assert words[1:] == [*answer[:2], str(tmp_path / answer[2]), *answer[3:]]
        sent = subprocess.run(
            [sys.executable, "-m", "shuffledp", *answer], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert sent.returncode == 0, sent.stderr
        assert "Your report was accepted" in sent.stdout
        assert not list(tmp_path.rglob("people.csv"))
    finally:
        process.send_signal(signal.SIGINT)
        printed, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "the release counts 200 people in 1 batch" in " ".join(printed.split())


@pytest.mark.slow
def test_waiting_people_are_reported(capsys):
    outcome = Outcome(people=250, acknowledged=250, refused={}, batches=2, release=release_of(200), seconds=1.0)
    _show_machine(OneMachine(people=250, users=100), outcome, explain=True, as_json=False)
    printed = " ".join(capsys.readouterr().out.split())
    assert "250 of 250 simulated people reported; the release counts 200 people in 2 batches" in printed
    assert "50 wait for the next batch of 100." in printed
    assert "The servers only saw encrypted messages with noise." in printed


def release_of(people):
    return private_histogram(["dark"] * people, epsilon=1, delta=1e-6)


@pytest.mark.slow
def test_simulated_answers_are_private_and_removed(tmp_path, monkeypatch):
    """Also if sending reports fails."""
    seen = []

    def failing(machine, *_):
        seen.append(stat.S_IMODE((machine.folder / "people.csv").stat().st_mode))
        raise DataError("too busy")

    monkeypatch.setattr(processes.sys, "executable", "/bin/sleep")
    monkeypatch.setattr(processes, "_COMMAND", ("60",))
    monkeypatch.setattr(Deployment, "commands", lambda *_: [])
    monkeypatch.setattr(OneMachine, "_wait", failing)
    with OneMachine(people=200, folder=tmp_path / "kept") as machine, pytest.raises(DataError, match="too busy"):
        machine.run()
    assert seen == [0o600]
    assert not (tmp_path / "kept" / "people.csv").exists()


@pytest.mark.slow
def test_an_interrupt_ends_everything_and_leaves_nothing(tmp_path):
    environment = os.environ | {"TMPDIR": str(tmp_path), "SHUFFLEDP_TEST": str(tmp_path)}
    process = up("--people", "100000", env=environment)
    wait_until(lambda: len(of_session(f"SHUFFLEDP_TEST={tmp_path}")) >= 3, what="servers to start")
    assert list(tmp_path.iterdir()) != []
    process.send_signal(signal.SIGINT)
    _, notes = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in notes
    assert list(tmp_path.iterdir()) == []
    wait_until(lambda: of_session(f"SHUFFLEDP_TEST={tmp_path}") == [], seconds=20, what="every process to be gone")


MOMENTS = np.linspace(0.3, 3.0, 7).tolist()
"""Times of the interrupt after the start, in seconds: while loading, starting processes, and working."""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_an_interrupt_at_any_moment_has_an_exit_code_and_leaves_nothing(tmp_path):
    """Ctrl-C to the whole process group and SIGTERM in turn; a crowd without servers."""
    task = small_task(addresses=("http://127.0.0.1:9",) * 2).task
    (tmp_path / "t.json").write_text(task.to_json())
    (tmp_path / "people.csv").write_text("theme\n" + "dark\nlight\n" * 2_000)
    crowd = ["crowd", "--task", tmp_path / "t.json", "--data", tmp_path / "people.csv", "--column", "theme"]
    cases = [(crowd, moment) for moment in MOMENTS] + [(["up", "--people", "100000"], moment) for moment in MOMENTS]
    with ThreadPoolExecutor(4) as some:
        for at in range(len(cases)):
            (tmp_path / str(at)).mkdir()
        found = list(some.map(lambda at: _interrupted(*cases[at], tmp_path / str(at), at % 2), range(len(cases))))
    assert found == [(130, [])] * len(cases)


def _interrupted(command, moment, folder, from_terminal):
    """Interrupt a command after some seconds; return its exit code as a shell reports it, and the files it left."""
    marked = f"SHUFFLEDP_TEST={folder}/"
    environment = os.environ | {"TMPDIR": str(folder), "SHUFFLEDP_TEST": f"{folder}/"}
    words = [sys.executable, "-m", "shuffledp", *map(str, command)]
    process = subprocess.Popen(
        words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
    )
    try:
        wait_until(lambda: _hears(process.pid, signal.SIGTERM), seconds=60, what="the command to begin")
        time.sleep(moment)
        for _ in range(3):  # Python may ignore an interrupt while it imports a module: a user presses Ctrl-C again
            if from_terminal:
                os.killpg(process.pid, signal.SIGINT)
            else:
                process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=20)
                break
        wait_until(lambda: of_session(marked) == [], seconds=30, what="every process to be gone")
    finally:
        for left in of_session(marked):
            with contextlib.suppress(ProcessLookupError):
                os.kill(left, signal.SIGKILL)
    # temporary files are called shuffledp-x; Python briefly has a file of its own
    code = process.returncode
    return 128 - code if code < 0 else code, [path.name for path in folder.glob("*-*")]


def _hears(pid, kind):
    """Whether a process has a handler for a signal."""
    caught = re.search(r"^SigCgt:\s*(\w+)$", Path(f"/proc/{pid}/status").read_text(), flags=re.MULTILINE)
    return bool(int(caught[1], 16) >> kind - 1 & 1)


def test_work_gets_less_time_to_end_than_servers(tmp_path, monkeypatch):
    """Work has no accepted requests to finish."""
    monkeypatch.setattr(processes, "_TO_END", 600.0)
    monkeypatch.setattr(processes, "_WORK_TO_END", 0.1)
    monkeypatch.setattr(processes, "_COMMAND", ("-c", DEAF))
    with Processes(tmp_path) as started:
        work = started.start("crowd", [], ends=True)
        wait_until(lambda: work.result.read_bytes() == b"begun\n", what="the work to begin")
    assert work.process.returncode == -signal.SIGKILL


DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('begun', flush=True); time.sleep(600)"


@pytest.mark.slow
def test_a_slow_stop_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "_TO_END", 0.5)
    monkeypatch.setattr(whole, "_MOMENT", 0.1)
    monkeypatch.setattr(processes, "_COMMAND", ("-c", DEAF))
    monkeypatch.setattr(Deployment, "commands", lambda *_: [Command("a", "http://127.0.0.1:9", [])])
    reported = []
    with OneMachine(people=200, folder=tmp_path / "kept", takes_long=lambda: reported.append("ending")) as machine:
        (started,) = machine._processes.watched
        wait_until(lambda: started.result.read_bytes() == b"begun\n", what="the server to begin")
    assert reported == ["ending"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent is gone")
def test_servers_end_when_up_is_killed(tmp_path):
    """The folder remains, but no process uses its keys."""
    environment = os.environ | {"TMPDIR": str(tmp_path), "SHUFFLEDP_TEST": str(tmp_path)}
    process = up("--people", "100000", env=environment)
    wait_until(lambda: len(of_session(f"SHUFFLEDP_TEST={tmp_path}")) >= 3, what="servers to start")
    process.kill()
    process.communicate(timeout=60)
    try:
        wait_until(lambda: of_session(f"SHUFFLEDP_TEST={tmp_path}") == [], seconds=30, what="every process to be gone")
    finally:
        for left in of_session(f"SHUFFLEDP_TEST={tmp_path}"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(left, signal.SIGKILL)


@pytest.mark.slow
def test_a_dead_server_is_named_with_the_reason(tmp_path, monkeypatch):
    """Dummy servers that only wait."""
    monkeypatch.setattr(whole, "_PATIENCE", 10.0)
    monkeypatch.setattr(processes.sys, "executable", "/bin/sleep")
    monkeypatch.setattr(processes, "_COMMAND", ("60",))
    monkeypatch.setattr(
        Deployment, "commands", lambda *_: [Command(name, "http://127.0.0.1:9", []) for name in ("a", "b")]
    )
    with OneMachine(people=200, folder=tmp_path / "kept") as machine:
        machine._processes.watched[1].process.kill()
        with pytest.raises(DataError, match="b was ended by SIGKILL: it wrote no message"):
            machine.run()
    assert (tmp_path / "kept" / "theme.task.json").exists()  # a folder that was given stays


@pytest.mark.slow
def test_a_command_that_fails_says_why(tmp_path):
    with Processes(tmp_path) as started:
        started.start("shuffler 1", ["shuffler"]).process.wait(60)
        with pytest.raises(DataError, match=r"(?s)shuffler 1 ended with exit code 2: .*--key"):
            started.check()


@pytest.mark.slow
def test_a_process_that_ignores_sigterm_is_killed(tmp_path, monkeypatch):
    """With all its child processes."""
    monkeypatch.setattr(processes, "_TO_END", 0.2)
    monkeypatch.setattr(processes, "_COMMAND", ("-c", "pass"))
    stubborn = "import signal, subprocess, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    stubborn += "print(subprocess.Popen(['sleep', '300']).pid, flush=True); time.sleep(60)"
    with Processes(tmp_path) as started:
        watched = started.start("stubborn", [])
        watched.process.wait(60)
        process = subprocess.Popen([sys.executable, "-c", stubborn], stdout=subprocess.PIPE, start_new_session=True)
        child = int(process.stdout.readline())
        started.watched.append(processes.Watched("stubborn", process, watched.result, watched.log, False))
    process.stdout.close()
    assert process.returncode == -signal.SIGKILL
    try:
        wait_until(lambda: not _runs(child), seconds=10, what="the child to be gone")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)


def _runs(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


def test_ports_are_different_and_free():
    assert len(set(free_ports([0] * 8))) == 8
    with pytest.raises(ParameterError, match="port 70000 cannot be used"):
        free_ports([70_000])
    with pytest.raises(ParameterError, match="port 1 "):
        free_ports([1, 1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--people", "0"], "people"),
        (["--people", "-1"], "people must be at least 0, got -1"),
        (["--people", "500", "--pace", "abc"], "up: pace must be a number of people per second, got 'abc'\n"),
        (["--people", "500", "--pace", "3"], "leave out one of them"),
        (["--question", "Tea?", "--answers", ","], "answers must not be empty"),
        (["--question", "Tea?", "--answers", "a,,b"], "answers must not be empty"),
        (["--question", "", "--answers", "a,b"], "question must not be empty"),
        (["--question", "Tea?" * 300, "--answers", "a,b"], "1,000 characters"),
        (["--people", "1"], "users must be at least 2"),
        (["--people", "500", "--users", "501"], "only 500 people"),
        (["--people", "2e7"], "at most 1,000,000"),
        (["--people", "500", "--shufflers", "9"], "from 1 to 8"),
        (["--people", "500", "--shufflers", "0"], "from 1 to 8"),
        (["--people", "500", "--port", "70000"], "port 70000"),
        (["--people", "500", "--folder", "/proc"], "new or empty"),
        (["--people", "500", "--folder", "/dev/null/x"], "cannot be used"),
    ],
)
def test_invalid_options_of_up_are_refused_before_the_start(arguments, message, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    result = CliRunner().invoke(app, ["up", "--once", *arguments])
    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []

"""The Makefile on a machine where a program is missing."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.browser import NAMES

ROOT = Path(__file__).parent.parent


@pytest.fixture
def machine(tmp_path):
    """A machine with a few programs; `install(name, script)` adds one, `need()` requires the program `wanted`.

    `make(step)` makes a target there, in a folder that already has a Python environment.
    """
    for tool in ("sh", "env", "chmod", "cat", "dirname", "make", "touch"):
        (tmp_path / tool).symlink_to(shutil.which(tool))

    class Machine:
        def install(self, name, script):
            (tmp_path / name).write_text(f"#!{shutil.which('sh')}\n{script}\n")
            (tmp_path / name).chmod(0o755)

        def need(self, packages="the-package"):
            return subprocess.run(
                ["sh", ROOT / "scripts" / "need.sh", "wanted --version", packages, "the-formula", "tests need it"],
                env={**os.environ, "PATH": str(tmp_path)}, capture_output=True, text=True, check=False,
            )  # fmt: skip

        def make(self, step):
            folder = tmp_path / "project"
            shutil.copytree(ROOT / "scripts", folder / "scripts")
            shutil.copy(ROOT / "Makefile", folder)
            (folder / ".venv").mkdir()
            (folder / ".venv" / "python.stamp").touch()
            done = subprocess.run(
                ["make", f".venv/{step}.stamp"],
                cwd=folder,
                env={"PATH": str(tmp_path), "JAVA_HOME": "/nowhere"},
                capture_output=True,
                text=True,
                check=False,
            )
            assert (folder / ".venv" / f"{step}.stamp").exists() == (done.returncode == 0)
            return done

        @property
        def log(self):
            log = tmp_path / "log"
            return log.read_text() if log.exists() else ""

        brings_it = f'echo "$0 $@" >> {tmp_path}/log; cat > {tmp_path}/wanted < /dev/null; chmod +x {tmp_path}/wanted'

    return Machine()


def test_an_installed_program_is_not_installed_again(machine):
    machine.install("wanted", "exit 0")
    machine.install("apt-get", machine.brings_it)
    assert (machine.need().returncode, machine.log) == (0, "")


@pytest.mark.parametrize(("user", "sudo"), [("0", "exit 1"), ("1000", '[ "$1" = -n ] || "$@"')], ids=["root", "sudo"])
def test_debian_installs_as_root_or_with_a_silent_sudo(machine, user, sudo):
    machine.install("id", f"echo {user}")
    machine.install("sudo", sudo)
    machine.install("apt-get", f'[ "$1" = update ] || {{ {machine.brings_it}; }}')
    result = machine.need()
    assert result.returncode == 0, result.stderr
    assert "install" in machine.log
    assert "the-package" in machine.log


def test_where_there_is_no_such_package_the_next_one_is_installed(machine):
    machine.install("id", "echo 0")
    machine.install("apt-get", f'case "$*" in *small*) exit 100;; *install*) {machine.brings_it};; esac')
    assert machine.need("the-small-package the-package").returncode == 0
    assert machine.log.endswith("the-package\n")


def test_homebrew_installs(machine):
    machine.install("brew", machine.brings_it)
    assert machine.need().returncode == 0
    assert "install --quiet the-formula" in machine.log


@pytest.mark.parametrize("tools", [{}, {"apt-get": "exit 1", "id": "echo 1000", "sudo": "exit 1"}])
def test_otherwise_an_error_says_how_to_install(machine, tools):
    for name, script in tools.items():
        machine.install(name, script)
    result = machine.need()
    (line,) = result.stderr.splitlines()
    assert result.returncode == 1
    assert "apt-get install the-package" in line
    assert "brew install the-formula" in line


@pytest.mark.parametrize(
    ("step", "program", "reason"),
    [
        ("java", "java", "make test runs Spark, which needs Java 17 or 21"),
        ("promtool", "promtool", "make test evaluates alert rules, which needs promtool"),
        ("sqlite3", "sqlite3", "make test backs up SQLite stores, which needs sqlite3"),
        *(("chromium", name, "make test opens pages in a browser, which needs Chromium") for name in NAMES),
    ],
)
def test_make_test_ends_where_a_program_of_the_tests_is_missing(machine, step, program, reason):
    """Otherwise tests that need it would be skipped, or fail much later."""
    machine.install(program, "exit 1")
    missing = machine.make(step)
    assert missing.returncode != 0
    assert reason in missing.stderr


@pytest.mark.parametrize(
    ("step", "program"),
    [*((name, name) for name in ("java", "promtool", "sqlite3")), *(("chromium", name) for name in NAMES)],
)
def test_make_test_looks_for_the_programs_of_the_tests(machine, step, program):
    machine.install(program, "exit 0")
    assert machine.make(step).returncode == 0

"""Run commands: in this process, which is fast, or in a new process, as a user does."""

import contextlib
import subprocess
import sys
from typing import NamedTuple

from typer.testing import CliRunner

from shuffledp.cli.app import app

REAL = [sys.executable, "-m", "shuffledp"]
GUARANTEE = ["--epsilon", "1", "--delta", "1e-6"]


class Result(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def command(*arguments, cwd="."):
    """Run a command in this process; raise an exception that has no exit code."""
    with contextlib.chdir(cwd):
        result = CliRunner().invoke(app, [str(part) for part in arguments], catch_exceptions=False)
    return Result(result.exit_code, result.stdout, result.stderr)


def real_command(*arguments, cwd=None):
    """Run a command in a new process."""
    result = subprocess.run(
        [*REAL, *map(str, arguments)], capture_output=True, text=True, timeout=600, check=False, cwd=cwd
    )
    return Result(result.returncode, result.stdout, result.stderr)

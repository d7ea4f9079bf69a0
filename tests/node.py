"""Node for the tests of the client in JavaScript, from the environment that the tests run in."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_MOST_SECONDS = 300
"""A script that runs on and on is stopped."""


def node_path() -> str:
    """Where Node is: beside this Python, where the requirements of the tests put it."""
    path = Path(sys.executable).parent / "node"
    assert path.exists(), "there is no node beside this Python: make test installs it"
    return str(path)


def run_node(*arguments: str, given: bytes = b"") -> bytes:
    """What a script writes, to which `given` is the input; an AssertionError with what it says if it fails."""
    finished = subprocess.run(
        [node_path(), *arguments], input=given, capture_output=True, timeout=_MOST_SECONDS, check=False
    )
    assert finished.returncode == 0, finished.stderr.decode(errors="replace")[-4000:]
    return finished.stdout

"""Node for the tests of the JavaScript client, from the Python environment of the tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_MOST_SECONDS = 300
"""A script that runs on and on is stopped."""


def node_path() -> str:
    """Return the path of Node, which requirements/test.txt installs beside Python."""
    path = Path(sys.executable).parent / "node"
    assert path.exists(), "there is no node beside this Python: make test installs it"
    return str(path)


def run_node(*arguments: str, given: bytes = b"") -> bytes:
    """Run a script with the input `given`; return its output, or raise AssertionError with its errors."""
    finished = subprocess.run(
        [node_path(), *arguments], input=given, capture_output=True, timeout=_MOST_SECONDS, check=False
    )
    assert finished.returncode == 0, finished.stderr.decode(errors="replace")[-4000:]
    return finished.stdout

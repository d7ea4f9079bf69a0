"""The command line: thin commands over the library.

Results go to stdout, as a table or with --json; notes go to stderr. Exit codes: 0 done, 1 an optional library is
missing, 2 the command line or a parameter is wrong, 3 data cannot be read or written or does not fit, 4 verify finds a
statement false or a task gives less privacy than it claims or than is allowed, 5 a server cannot be reached or asks to
try again later, 130 interrupted, 141 whoever read stdout went away.
"""

from __future__ import annotations

import io
import signal
import sys
from typing import NoReturn


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def main() -> None:
    """Entry point of the `shuffledp` command."""
    for kind in (signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])):
        signal.signal(kind, _interrupt)  # leaves no temporary files behind
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a label that the terminal cannot write is no reason to stop
    try:
        from shuffledp.cli.app import app

        app(prog_name="shuffledp")
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
    except ImportError as error:
        if error.name not in ("typer", "rich"):
            raise
        print("the command line needs typer and rich: install them with  pip install 'shuffledp[cli]'", file=sys.stderr)
        sys.exit(1)

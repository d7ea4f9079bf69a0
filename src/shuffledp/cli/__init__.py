"""The command line: thin commands over the library.

Results go to stdout, as a table or as JSON with --json; notes and errors go to stderr. Exit codes:

0    success
1    an optional library is missing
2    wrong command line or parameter
3    data cannot be read, written or used
4    verify found a false statement, or a task gives less privacy than it claims or than is accepted
5    a server cannot be reached, or asks to try again later
6    an answer is over the person's own budget
130  interrupted
141  broken pipe
"""

from __future__ import annotations

import io
import signal
import sys
from types import FrameType


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Handle a signal like Ctrl-C, which asyncio handles by itself while it runs."""
    handler = signal.getsignal(signal.SIGINT)
    (handler if callable(handler) else signal.default_int_handler)(number, frame)


def main() -> None:
    """Run the `shuffledp` command."""
    for name in ("SIGTERM", "SIGHUP"):  # handled like Ctrl-C, so that temporary files and child processes are removed
        if (kind := getattr(signal, name, None)) and signal.getsignal(kind) is not signal.SIG_IGN:
            signal.signal(kind, _interrupt)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # labels that the terminal cannot encode
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

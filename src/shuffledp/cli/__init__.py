"""The command line: thin commands over the library.

Results go to stdout, as a table or as JSON with --json; notes and errors go to stderr. docs/reference/commands lists
the exit codes.
"""

from __future__ import annotations

import io
import os
import signal
import sys
from types import FrameType

_INTERRUPTS = frozenset(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))

_arrived: int | None = None
"""The end of a pipe in which every signal leaves a byte."""


def _record_signals() -> None:
    """Record every signal in a pipe, where no library can swallow it; event loops of servers use their own."""
    global _arrived
    if not hasattr(os, "set_blocking"):  # Windows with Python 3.11
        return
    _arrived, arriving = os.pipe()
    os.set_blocking(_arrived, False)
    os.set_blocking(arriving, False)
    signal.set_wakeup_fd(arriving, warn_on_full_buffer=False)


def was_interrupted() -> bool:
    """Whether a signal asked the command to end: an import in C turns KeyboardInterrupt into an ImportError."""
    try:
        return _arrived is not None and not _INTERRUPTS.isdisjoint(os.read(_arrived, 4096))
    except BlockingIOError:  # no signal arrived
        return False


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Handle a signal like Ctrl-C, which asyncio handles by itself while it runs."""
    handler = signal.getsignal(signal.SIGINT)
    (handler if callable(handler) else signal.default_int_handler)(number, frame)


def main() -> None:
    """Run the `shuffledp` command."""
    _record_signals()
    for kind in _INTERRUPTS - {signal.SIGINT}:  # handled like Ctrl-C, so that temporary files and processes are removed
        if signal.getsignal(kind) is not signal.SIG_IGN:
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
        if was_interrupted():
            print("interrupted", file=sys.stderr)
            sys.exit(130)
        if error.name not in ("typer", "rich"):
            raise
        print("the command line needs typer and rich: install them with  pip install 'shuffledp[cli]'", file=sys.stderr)
        sys.exit(1)

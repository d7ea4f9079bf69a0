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
from types import FrameType

_INTERRUPTED = 130

_AGAIN = 0.05
"""Seconds after which an interrupt comes again that came where it would have been lost."""


def _interrupt(number: int, frame: FrameType | None) -> None:
    """What Ctrl-C does, and other signals alike: the command ends, and leaves no temporary files behind."""
    handler = signal.getsignal(signal.SIGINT)
    if callable(handler) and handler is not _interrupt:  # that of asyncio, which ends its tasks in order
        handler(number, frame)
    elif _loading(frame):
        _come_again()
    else:
        raise KeyboardInterrupt


def _loading(frame: FrameType | None) -> bool:
    """Whether a module is being loaded: Python then ignores an exception or makes another of it, as libraries do."""
    while frame is not None and frame.f_code is not main.__code__:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


def _come_again() -> None:
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, _AGAIN)


def _unraisable(lost: sys.UnraisableHookArgs) -> None:
    """An interrupt that fell into the end of an object, from which nothing is raised, comes again."""
    if lost.exc_type is KeyboardInterrupt:
        _come_again()
    else:
        sys.__unraisablehook__(lost)


def main() -> None:
    """Entry point of the `shuffledp` command."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM"):
        kind = getattr(signal, name, None)  # Windows has only some
        if kind is not None and signal.getsignal(kind) is not signal.SIG_IGN:  # as for what runs in the background
            signal.signal(kind, _interrupt)
    sys.unraisablehook = _unraisable
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a label that the terminal cannot write is no reason to stop
    try:
        from shuffledp.cli.app import app

        app(prog_name="shuffledp")
        return
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
    except SystemExit as ended:
        if ended.code != _INTERRUPTED:
            raise
        if _of_typer(ended):
            print("interrupted", file=sys.stderr)
    except ImportError as error:
        if error.name not in ("typer", "rich"):
            raise
        print("the command line needs typer and rich: install them with  pip install 'shuffledp[cli]'", file=sys.stderr)
        sys.exit(1)
    # Python remembers an interrupt of code that was given as a string, as in dataclasses, until other code is: it would
    # end with the signal instead of our exit code
    exec("pass")
    # only here, where what was interrupted is let go of: libraries complain of what is held to the end
    sys.exit(_INTERRUPTED)


def _of_typer(ended: SystemExit) -> bool:
    """Whether the interrupt came outside of any command, where typer ends without a word."""
    return ended.__context__ is not None and isinstance(ended.__context__.__cause__, KeyboardInterrupt)

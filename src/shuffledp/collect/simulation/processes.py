"""Servers as processes of this machine, watched: one that ends by itself is an error with its name and its output.

Processes are started in a thread of their own. Ctrl-C reaches only the main thread, so no process is ever started
without being watched, and `close` ends all of them.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from shuffledp.errors import DataError, ParameterError

_COMMAND = ("-m", "shuffledp")

_PARENT_IS_GONE = 1
"""PR_SET_PDEATHSIG of prctl(2)."""

_LAST_CHARACTERS = 2_000
"""Characters of output in an error message: enough for the cause, little enough for a terminal."""

_HAS_RESULT = (0, 3, 5)
"""Exit codes of work whose result says what could not be done."""

_TO_END = 15.0
"""Seconds for a server to finish the requests that it accepted."""

_WORK_TO_END = 2.0
"""Seconds for work to remove its temporary files; it accepted no requests."""


@dataclass(frozen=True)
class Watched:
    """A process, its name, and the files for its result and its log.

    A server never ends by itself; work (`ends`) does, successfully or not.
    """

    name: str
    process: subprocess.Popen[bytes]
    result: Path
    log: Path
    ends: bool

    @property
    def done(self) -> bool:
        """Whether it has ended."""
        return self.process.poll() is not None

    def check(self) -> None:
        """Raise an error if it has ended and should not have."""
        code = self.process.poll()
        if code is not None and not (self.ends and code in _HAS_RESULT):
            how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
            raise DataError(f"{self.name} {how}: {self._end_of_log() or 'it wrote no message'}")

    def _end_of_log(self) -> str:
        try:
            return self.log.read_text(errors="replace")[-_LAST_CHARACTERS:].strip()
        except OSError:
            return ""


class Processes:
    """Processes that end together; after the `with` none of them and none of their children is left."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # lives until `close`: the kernel takes the thread that starts a process for its parent
        self._starter = ThreadPoolExecutor(1)
        self.watched: list[Watched] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self, name: str, arguments: Sequence[str], *, ends: bool = False) -> Watched:
        """Start a process of this package; the name is for messages, such as "shuffler 1"."""
        return self._starter.submit(self._start, name, arguments, ends).result()

    def _start(self, name: str, arguments: Sequence[str], ends: bool) -> Watched:
        result, log = (self._folder / f"{name.replace(' ', '-')}.{kind}" for kind in ("out", "log"))
        with result.open("wb") as output, log.open("ab") as notes:
            process = subprocess.Popen(
                [sys.executable, *_COMMAND, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=notes,
                start_new_session=True,  # Ctrl-C in the terminal reaches only this process, which ends the others
                preexec_fn=_end_with_parent() if sys.platform == "linux" else None,
            )
            started = Watched(name, process, result, log, ends)
            self.watched.append(started)
        return started

    def check(self) -> None:
        """Raise an error if any of them has ended."""
        for each in self.watched:
            each.check()

    def close(self) -> None:
        """End all processes: ask first, then kill."""
        try:
            self._ask_to_end()
            self._starter.shutdown(cancel_futures=True)  # waits for a process that is being started
        finally:  # also after a second interrupt
            for each in self.watched:
                # also kills the children, which are of its group
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(each.process.pid, signal.SIGKILL)
                each.process.wait()
            self.watched.clear()

    def _ask_to_end(self) -> None:
        for each in self.watched:
            with contextlib.suppress(ProcessLookupError):
                each.process.terminate()
        asked = time.monotonic()
        for each in self.watched:
            deadline = asked + (_WORK_TO_END if each.ends else _TO_END)
            with contextlib.suppress(subprocess.TimeoutExpired):
                each.process.wait(max(0.0, deadline - time.monotonic()))


def _end_with_parent() -> Callable[[], None]:
    """Return a function for a new process on Linux, which asks for SIGTERM when its parent is gone."""
    library, asked, parent = ctypes.CDLL(None), int(signal.SIGTERM), os.getpid()  # nothing may block after the fork

    def ask() -> None:
        library.prctl(_PARENT_IS_GONE, asked)
        if os.getppid() != parent:  # gone before this process could ask
            os._exit(1)

    return ask


def free_ports(wanted: Sequence[int]) -> list[int]:
    """Return different free ports of 127.0.0.1: each the wanted one, or any where that is 0."""
    with contextlib.ExitStack() as probes:
        return [_bound(probes.enter_context(socket.socket()), port) for port in wanted]


def _bound(probe: socket.socket, wanted: int) -> int:
    try:
        probe.bind(("127.0.0.1", wanted))
    except (OSError, OverflowError) as error:
        why = error.strerror if isinstance(error, OSError) else "ports go from 1 to 65535"
        raise ParameterError(f"port {wanted} cannot be used: {why}. Choose another") from None
    port: int = probe.getsockname()[1]
    return port

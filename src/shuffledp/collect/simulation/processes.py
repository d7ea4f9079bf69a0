"""Servers as processes of this machine, watched: one that ends by itself is an error that says which and why."""

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
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from shuffledp.collect.simulation.makers import interrupts_held
from shuffledp.errors import DataError, ParameterError

_COMMAND = ("-m", "shuffledp")

_PARENT_IS_GONE = 1
"""PR_SET_PDEATHSIG of prctl(2)."""

_LAST_WORDS = 2_000
"""Characters of what a process said last: enough for an error, little enough for a terminal."""

_HAS_RESULT = (0, 3, 5)
"""Exit codes of work that tells in its result what could not be done."""

_TO_END = 15.0
"""Seconds that a server has to finish what it accepted."""

_WORK_TO_END = 2.0
"""Seconds that work has to remove its temporary files; it accepted nothing from anybody."""


@dataclass(frozen=True)
class Watched:
    """A process, what it is called, and the files that it writes its result and its notes to.

    A server never ends by itself; work does, well or not.
    """

    name: str
    process: subprocess.Popen[bytes]
    result: Path
    said: Path
    ends: bool

    @property
    def done(self) -> bool:
        """Whether it has ended."""
        return self.process.poll() is not None

    def check(self) -> None:
        """Refuses to go on if it has ended and should not have."""
        code = self.process.poll()
        if code is not None and not (self.ends and code in _HAS_RESULT):
            how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
            raise DataError(f"{self.name} {how}: {self.last_words() or 'it said nothing'}")

    def last_words(self) -> str:
        """The end of what it wrote."""
        try:
            return self.said.read_text(errors="replace")[-_LAST_WORDS:].strip()
        except OSError:
            return ""


class Processes:
    """Processes that end together; after the `with` none of them, nor of those they started, is left."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.watched: list[Watched] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self, name: str, arguments: Sequence[str], *, ends: bool = False) -> Watched:
        """Starts a command of shuffledp; the name is for people, such as "shuffler 1"."""
        result, said = (self._folder / f"{name.replace(' ', '-')}.{kind}" for kind in ("out", "log"))
        with result.open("wb") as output, said.open("ab") as notes, interrupts_held():
            process = subprocess.Popen(
                [sys.executable, *_COMMAND, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=notes,
                # a Ctrl-C of the terminal is for whoever started all this, who then ends everything in order
                start_new_session=True,
                preexec_fn=_end_with_parent() if sys.platform == "linux" else None,
            )
            started = Watched(name, process, result, said, ends)
            self.watched.append(started)
        return started

    def check(self) -> None:
        """Refuses to go on if any of them has ended."""
        for each in self.watched:
            each.check()

    def close(self) -> None:
        """Ends all of them: asks first, and then does not."""
        try:
            self._ask_to_end()
        finally:  # also if whoever waits loses patience
            for each in self.watched:
                # whatever it started itself is of its group
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
    """What a new process does first on Linux: it asks to be ended when this one is gone, killed without a word."""
    library, asked = ctypes.CDLL(None), int(signal.SIGTERM)  # loaded here: after the fork nothing may be waited for
    return lambda: library.prctl(_PARENT_IS_GONE, asked)


def free_ports(wanted: Sequence[int]) -> list[int]:
    """Ports of 127.0.0.1 that nobody uses, all different: each the wanted one, or any where that is 0."""
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

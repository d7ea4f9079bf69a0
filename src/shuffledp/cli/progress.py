"""A progress bar on stderr, on a terminal and after one second only; and silence for the start of Spark."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

_MOMENT = 1.0


def _terminal() -> TextIO | None:
    """Return a copy of stderr, which stays open if the original is redirected; None if it is not a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        return None
    return os.fdopen(os.dup(sys.stderr.fileno()), "w")


class ProgressBar:
    """Shows one bar per kind of work; call it with a name and the share that is done."""

    def __init__(self) -> None:
        self._file = _terminal()
        self._shares: dict[str, float] = {}
        self._bars: Progress | None = None
        self._tasks: dict[str, TaskID] = {}
        self._lock = threading.Lock()
        self._timer = threading.Timer(_MOMENT, self._begin)  # work that reports no progress gets a bar too
        self._timer.daemon = True

    def __call__(self, what: str, share: float) -> None:
        """Move the bar of this kind of work."""
        with self._lock:
            self._shares[what] = share
            self._draw()

    def _begin(self) -> None:
        """Show the bars after the first second."""
        with self._lock:
            if self._file is None or self._file.closed:
                return
            self._bars = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.percentage:>3.0f} %"),
                TimeElapsedColumn(),
                console=Console(file=self._file, force_terminal=True),
                transient=True,
            )
            self._bars.start()
            self._draw()

    def _draw(self) -> None:
        if self._bars is None:
            return
        for what, share in self._shares.items():
            if what not in self._tasks:
                if share == 1.0:  # done before the bars were shown
                    continue
                self._tasks[what] = self._bars.add_task(what, total=1.0)
            # an indeterminate bar while the share is 0
            self._bars.update(self._tasks[what], completed=share, total=1.0 if share else None)

    def __enter__(self) -> Self:
        if self._file is not None:
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        with self._lock:
            if self._bars is not None:
                self._bars.stop()
            if self._file is not None:
                self._file.close()


@contextmanager
def quiet_start() -> Iterator[None]:
    """Silence stderr while the Java virtual machine starts, which would keep writing notes and data to it."""
    sys.stderr.flush()
    ours = os.dup(2)
    try:
        with open(os.devnull, "wb") as nowhere:  # noqa: PTH123  (/dev/null)
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(ours, 2)
        os.close(ours)

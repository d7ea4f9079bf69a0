"""A progress bar on stderr: only on a terminal, only for what takes longer than a moment."""

from __future__ import annotations

import os
import sys
import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

_MOMENT = 1.0


def _is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


class ProgressBar:
    """Told what is being done and which share of it is done, it shows one bar for each."""

    def __init__(self) -> None:
        # a copy of stderr, which stays the terminal whatever becomes of the original
        self._file = os.fdopen(os.dup(sys.stderr.fileno()), "w") if _is_terminal() else None
        self._bars: Progress | None = None
        self._tasks: dict[str, TaskID] = {}
        self._started = time.monotonic()

    def __call__(self, what: str, share: float) -> None:
        """Moves the bar of what is being done."""
        waits = share == 0 and what not in self._tasks  # something begins whose share may not be told for long
        if self._file is None or (time.monotonic() - self._started < _MOMENT and not waits):
            return
        if self._bars is None:
            self._bars = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.percentage:>3.0f} %"),
                TimeElapsedColumn(),
                console=Console(file=self._file, force_terminal=True),
                transient=True,
            )
            self._bars.start()
        if what not in self._tasks:
            self._tasks[what] = self._bars.add_task(what, total=1.0)
        # a bar that only moves to and fro while nothing is known about the share
        self._bars.update(self._tasks[what], completed=share, total=1.0 if share else None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bars is not None:
            self._bars.stop()
        if self._file is not None:
            self._file.close()

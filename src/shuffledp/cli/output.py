"""Print results on stdout, as tables, sentences or JSON; notes and progress on stderr.

Tables fit the terminal, or COLUMNS if it is set. Nothing is left out in a pipe or a file.
"""

from __future__ import annotations

import math
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO, TypeVar

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.measure import Measurement
from rich.padding import Padding
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Column, Table
from rich.text import Text

from shuffledp.errors import BrokenPromiseError, DataError, ParameterError, ShuffledpError, TaskError, UnreachableError
from shuffledp.jsonable import to_json

_READABLE_WIDTH = 100
"""Longer lines of text are hard to read."""

_UNLIMITED = 10_000

C = TypeVar("C")


class Screen(Console):
    """Standard output. A broken pipe raises as in print; rich alone would exit with its own code."""

    def on_broken_pipe(self) -> None:
        """Raise the error that rich caught."""
        raise BrokenPipeError


def has_edge() -> bool:
    """Return whether the width of lines is limited."""
    return Screen().is_terminal or "COLUMNS" in os.environ


def width() -> float:
    """Return the width of the terminal; infinite for a pipe."""
    return Screen().width if has_edge() else math.inf


def new_table(*columns: str | Column, **more: Any) -> Table:
    """Return an empty table with a line under its head."""
    return Table(*columns, box=SIMPLE_HEAD, **more)


def numbers(*names: str, **more: Any) -> list[Column]:
    """Return columns for numbers."""
    return [Column(name, justify="right", **more) for name in names]


def natural_width(table: Table) -> int:
    """Return the width of a table without wrapping."""
    return _measured(table).maximum


def least_width(table: Table) -> int:
    """Return the width of a table with all cells wrapped."""
    return _measured(table).minimum


def _measured(table: Table) -> Measurement:
    console = Screen(width=_UNLIMITED)
    return Measurement.get(console, console.options, table)


def print_table(table: Table) -> None:
    """Print a table; cells wrap if it is too wide."""
    Screen().print(table)


def print_whole(table: Table) -> None:
    """Print a table, without wrapping in a pipe."""
    console = Screen()
    if not has_edge():
        console.width = max(console.width, natural_width(table))
    console.print(table)


def print_in_parts(make: Callable[[Sequence[C]], Table], columns: Sequence[C]) -> None:
    """Print a table with many columns in parts that fit."""
    at_once = next(
        (
            number
            for number in range(len(columns), 1, -1)
            if all(natural_width(make(part)) <= width() for part in _parts(columns, number))
        ),
        1,
    )
    for part in _parts(columns, at_once):
        print_whole(make(part))


def _parts(columns: Sequence[C], number: int) -> list[Sequence[C]]:
    return [columns[start : start + number] for start in range(0, len(columns), number)]


def print_title(text: str) -> None:
    """Print a bold line."""
    print_sentence(Text(text, style="bold"))


def print_sentence(text: str | Text) -> None:
    """Print a sentence, wrapped between words on a terminal."""
    _for_reading().print(text, soft_wrap=not has_edge(), highlight=False, markup=False)


def _for_reading() -> Screen:
    console = Screen()
    if has_edge():
        console.width = min(console.width, _READABLE_WIDTH)
    return console


def print_sentences(texts: Iterable[str]) -> None:
    """Print sentences, each on a line of its own."""
    for text in texts:
        print_sentence(text)


def print_paragraphs(parts: Mapping[str, str]) -> None:
    """Print paragraphs by title, with an empty line before each."""
    for title, body in parts.items():
        print_sentence("")
        print_sentence(Text.assemble((f"{title}: ", "bold"), body))


def print_details(paragraphs: Callable[[], Mapping[str, str]], *, explain: bool) -> None:
    """Print the paragraphs of --explain, or a line that names this option."""
    if explain:
        print_paragraphs(paragraphs())
    else:
        print_sentence("Details: --explain")


def print_facts(facts: Mapping[str, str]) -> None:
    """Print facts by title, with the texts aligned."""
    room = max(map(len, facts)) + 2
    for title, text in facts.items():
        if has_edge():
            grid = Table.grid()
            grid.add_column(width=room, no_wrap=True)
            grid.add_column(overflow="fold")
            grid.add_row(Text(f"{title}:", style="bold"), Text(text))
            _for_reading().print(grid, highlight=False)
        else:
            print_sentence(f"{title + ':':<{room}}{text}")


def print_indented(text: str) -> None:
    """Print a sentence below a table, aligned with its first column."""
    if has_edge():
        _for_reading().print(Padding(Text(text), (0, 0, 0, 2)), highlight=False)
    else:
        print_sentence(f"  {text}")


def print_json(result: Any) -> None:
    """Print a result as JSON."""
    print(to_json(result))


def print_note(text: str) -> None:
    """Print a line on stderr."""
    print(text, file=sys.stderr)


def note_written(path: Path) -> None:
    """Note on stderr that a file was written."""
    print_note(f"wrote {path}")


_REASONS: dict[type[ShuffledpError], str] = {
    BrokenPromiseError: "broken-promise",
    TaskError: "wrong-task",
    UnreachableError: "unreachable",
    DataError: "wrong-data",
    ParameterError: "wrong-parameter",
}
"""Reason codes for JSON; the first class that matches an error counts. A refusal has a reason of its own."""


@contextmanager
def failures_in_json(asked: bool, **fields: Any) -> Iterator[None]:
    """Print an error as JSON, with these fields, if JSON was `asked` for; stderr and exit code stay the same."""
    try:
        yield
    except ShuffledpError as error:
        if asked:
            kind = next((reason for known, reason in _REASONS.items() if isinstance(error, known)), "error")
            detail = "; ".join([str(error), *getattr(error, "__notes__", [])])
            print_json({**fields, "reason": str(getattr(error, "reason", None) or kind), "detail": detail})
        raise


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

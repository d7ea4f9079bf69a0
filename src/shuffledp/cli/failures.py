"""What goes wrong, as JSON on stdout for whoever asked for JSON; the line on stderr and the exit code stay the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from shuffledp.cli.output import print_json
from shuffledp.errors import (
    BrokenPromiseError,
    DataError,
    ParameterError,
    ShuffledpError,
    TaskError,
    UnreachableError,
)

_REASONS: dict[type[ShuffledpError], str] = {
    BrokenPromiseError: "broken-promise",
    TaskError: "wrong-task",
    UnreachableError: "unreachable",
    DataError: "wrong-data",
    ParameterError: "wrong-parameter",
}
"""The reason for the first kind that an error is of, where it does not have one of collection/reasons.py."""


@contextmanager
def failures_in_json(asked: bool, **fields: Any) -> Iterator[None]:
    """Prints an error with some fields that say what became of the command, if JSON was asked for."""
    try:
        yield
    except ShuffledpError as error:
        if asked:
            kind = next((reason for known, reason in _REASONS.items() if isinstance(error, known)), "error")
            detail = "; ".join([str(error), *getattr(error, "__notes__", [])])
            print_json({**fields, "reason": str(getattr(error, "reason", None) or kind), "detail": detail})
        raise

"""What --help shows beyond what typer does.

What goes wrong, as whoever calls a command sees it: JSON where it was asked for, options instead of our names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from typer.core import TyperCommand, TyperGroup

from shuffledp.cli.options import with_names
from shuffledp.cli.output import print_json
from shuffledp.errors import BrokenPromiseError, DataError, ParameterError, ShuffledpError, TaskError, UnreachableError

NAME = "shuffledp.command"
"""Where the context of a call keeps the name of its command."""


class Command(TyperCommand):
    """A command whose help names the protocols, which takes a moment: only when it is asked for."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Looks up the names in the help of each option."""
        for option in self.params:
            if text := getattr(option, "help", None):
                option.help = with_names(text)  # type: ignore[attr-defined]
        super().format_help(ctx, formatter)

    def get_help_option(self, ctx: Any) -> Any:
        """The option --help."""
        return without_type(super().get_help_option(ctx))

    def invoke(self, ctx: Any) -> Any:
        """Runs the command; an error on the way says its whole name, such as task new."""
        ctx.meta[NAME] = _whole_name(ctx)
        return super().invoke(ctx)


class Group(TyperGroup):
    """Commands with a first name in common, such as task new and task show."""

    def get_help_option(self, ctx: Any) -> Any:
        """The option --help."""
        return without_type(super().get_help_option(ctx))


def _whole_name(ctx: Any) -> str:
    names: list[str] = []
    while ctx.parent is not None:
        names.insert(0, ctx.info_name)
        ctx = ctx.parent
    return " ".join(names)


def without_type(flag: Any) -> Any:
    """A flag of typer's own, shown like ours."""
    if flag is not None:
        flag.metavar = ""
    return flag


_REASONS: dict[type[ShuffledpError], str] = {
    BrokenPromiseError: "broken-promise",
    TaskError: "wrong-task",
    UnreachableError: "unreachable",
    DataError: "wrong-data",
    ParameterError: "wrong-parameter",
}
"""The reason for the first kind that an error is of, where it does not have one of collect/reasons.py."""


@contextmanager
def failures_in_json(asked: bool, **fields: Any) -> Iterator[None]:
    """Prints an error with some fields that say what became of the command, if JSON was asked for.

    The line on stderr and the exit code stay the same.
    """
    try:
        yield
    except ShuffledpError as error:
        if asked:
            kind = next((reason for known, reason in _REASONS.items() if isinstance(error, known)), "error")
            detail = "; ".join([str(error), *getattr(error, "__notes__", [])])
            print_json({**fields, "reason": str(getattr(error, "reason", None) or kind), "detail": detail})
        raise


@contextmanager
def options_named(*names: str) -> Iterator[None]:
    """An error about one of these parameters names the option that it was given with."""
    try:
        yield
    except ParameterError as error:
        for name in names:
            if re.match(rf"{name}\b", str(error)):
                error.args = (f"--{name.replace('_', '-')}{str(error).removeprefix(name)}", *error.args[1:])
        raise


@contextmanager
def tasks_from_options() -> Iterator[None]:
    """What no task can have was given as an option here, and is a wrong parameter rather than a wrong file."""
    try:
        yield
    except TaskError as error:
        raise ParameterError(str(error)) from None

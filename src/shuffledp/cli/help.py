"""What --help shows beyond what typer does."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperGroup

from shuffledp.cli.options import with_names

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

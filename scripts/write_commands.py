"""Writes the page with every command's --help, from the commands themselves.

Usage: python scripts/write_commands.py docs/reference/commands.md
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from shuffledp.cli.app import app

WIDTH = 100
"""Columns of the help: what a page shows without a scroll bar."""

HEAD = """# Commands

<!-- Written by `make docs` from the commands themselves; changes by hand are lost. -->

What each command says with `--help`. Results go to stdout, as a table or with `--json`; notes and progress to stderr.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | an optional library is missing |
| 2 | the command line or a parameter is wrong |
| 3 | data cannot be read or written, or does not fit |
| 4 | `verify` found a statement that is false, or a task gives less privacy than it claims or than is allowed |
| 5 | not now: a server cannot be reached or asks to come back, or there are too few reports for a batch |
| 130 | interrupted |
| 141 | whoever read stdout went away, as with `| head -1`; files are written all the same |
"""


def page() -> str:
    """The page as Markdown."""
    root = typer.main.get_command(app)
    return HEAD + "".join(
        f"\n## shuffledp {name}\n\n```text\n{help_of(name, command)}\n```\n" for name, command in commands_of(root)
    )


def commands_of(group: Any, first: str = "") -> Iterator[tuple[str, Any]]:
    """Every command with its whole name, in order: a group, then what it holds."""
    for name in sorted(group.commands):
        command = group.commands[name]
        yield f"{first}{name}", command
        if hasattr(command, "commands"):
            yield from commands_of(command, f"{first}{name} ")


def help_of(name: str, command: Any) -> str:
    """What the command prints with --help, as plain text without boxes and colours."""
    command.rich_markup_mode = None
    context = command.make_context(f"shuffledp {name}", [], resilient_parsing=True, terminal_width=WIDTH)
    return str(command.get_help(context)).strip()


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")

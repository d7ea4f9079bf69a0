"""Generates the page docs/reference/commands of the site: the --help text of every command.

mkdocs.yml lists this file under `hooks`, so the page is generated whenever the site is built and is not committed.
`python scripts/write_commands.py` prints the same page.
"""

from collections.abc import Iterator
from typing import Any

import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from shuffledp.cli.app import app

PATH = "reference/commands.md"
"""Path of the page below docs/."""

WIDTH = 100
"""Columns of the help text that fit on a page without a scroll bar."""

HEAD = """# Commands

The `--help` text of every command. Results go to stdout, as a table or with `--json`. Notes and progress go to stderr.

| exit code | meaning |
|---|---|
| 0 | success |
| 1 | an optional library is missing |
| 2 | invalid command line or parameter |
| 3 | data cannot be read or written, or does not fit |
| 4 | `verify` found a false statement, or a task gives less privacy than it claims or than is allowed |
| 5 | try again later: a server is unreachable or busy, or there are too few reports for a batch |
| 6 | an answer is over your own budget |
| 130 | interrupted |
| 141 | broken pipe, as with `| head -1`; files are written all the same |
"""


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the generated page to the site."""
    files.append(File.generated(config, PATH, content=page()))
    return files


def page() -> str:
    """Return the page as Markdown."""
    root = typer.main.get_command(app)
    return HEAD + "".join(
        f"\n## shuffledp {name}\n\n```text\n{help_of(name, command)}\n```\n" for name, command in commands_of(root)
    )


def commands_of(group: Any, first: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every command with its full name, in order: a group, then its subcommands."""
    for name in sorted(group.commands):
        command = group.commands[name]
        yield f"{first}{name}", command
        if hasattr(command, "commands"):
            yield from commands_of(command, f"{first}{name} ")


def help_of(name: str, command: Any) -> str:
    """Return what the command prints with --help, as plain text without boxes and colours."""
    command.rich_markup_mode = None
    context = command.make_context(f"shuffledp {name}", [], resilient_parsing=True, terminal_width=WIDTH)
    example = command.epilog
    try:
        # click joins the lines of a paragraph unless it begins with \b
        command.epilog = example and example.replace("\n\n", "\n\n\b\n")
        return str(command.get_help(context)).strip()
    finally:
        command.epilog = example


if __name__ == "__main__":
    print(page(), end="")

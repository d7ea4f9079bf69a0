"""The list of commands, their help, and the exit codes of errors."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from shuffledp import __version__
from shuffledp.cli import (
    administer,
    batch,
    data,
    deploy,
    keys,
    plan,
    releases,
    research,
    send,
    servers,
    tasks,
    up,
    was_interrupted,
)
from shuffledp.cli.options import CommandGroup, from_records, with_names
from shuffledp.cli.servers import in_file, note_file
from shuffledp.errors import (
    AnswerBudgetError,
    BrokenPromiseError,
    DataError,
    MissingExtraError,
    ParameterError,
    ShuffledpError,
    UnreachableError,
)

COMMANDS: dict[str, tuple[Callable[..., Any], str]] = {
    "run": (data.run, data.RUN_EXAMPLE),
    "lookup": (releases.lookup, releases.LOOKUP_EXAMPLE),
    "trend": (releases.trend, releases.TREND_EXAMPLE),
    "ledger": (releases.ledger, releases.LEDGER_EXAMPLE),
    "simulate": (data.simulate, data.SIMULATE_EXAMPLE),
    "demo": (data.demo, data.DEMO_EXAMPLE),
    "plan": (plan.plan, plan.PLAN_EXAMPLE),
    "protocols": (plan.protocols, plan.PROTOCOLS_EXAMPLE),
    "amplify": (research.amplify, research.AMPLIFY_EXAMPLE),
    "compare": (research.compare, research.COMPARE_EXAMPLE),
    "separate": (research.separate, research.SEPARATE_EXAMPLE),
    "verify": (research.verify, research.VERIFY_EXAMPLE),
}
"""Each command with an example, in the order in which help shows them."""

COLLECTION: dict[str, tuple[Callable[..., Any], str] | CommandGroup] = {
    "up": (up.up, up.UP_EXAMPLE),
    "task": CommandGroup(tasks.TASK.help, {**tasks.TASK.commands, **administer.COMMANDS, "series": tasks.SERIES}),
    "keys": keys.KEYS,
    "send": (send.send, send.SEND_EXAMPLE),
    "budget": (send.budget, send.BUDGET_EXAMPLE),
    "crowd": (up.crowd, up.CROWD_EXAMPLE),
    "shuffler": (servers.shuffler, servers.SHUFFLER_EXAMPLE),
    "analyzer": (servers.analyzer, servers.ANALYZER_EXAMPLE),
    "deploy": deploy.DEPLOY,
    "health": (servers.health, servers.HEALTH_EXAMPLE),
    "mix": (batch.mix, batch.MIX_EXAMPLE),
    "count": (batch.count, batch.COUNT_EXAMPLE),
}
"""The commands of a collection, with their examples."""

_HELP = {"help_option_names": ["-h", "--help"]}

_COLLECTING = frozenset(
    ("cryptography", "httptools", "httpx", "msgspec", "prometheus_client", "psycopg", "starlette", "uvicorn", "uvloop")
)
"""Libraries of the extra `collect`."""

_BROKEN_PIPE = 128 + 13
"""What a shell reports for a program that SIGPIPE ended."""

_CODES: dict[type[ShuffledpError], int] = {
    MissingExtraError: 1,
    BrokenPromiseError: 4,
    DataError: 3,
    UnreachableError: 5,
    AnswerBudgetError: 6,
    ShuffledpError: 2,
}
"""Exit codes; the first class that matches an error counts."""


_NAME = "shuffledp.command"
"""Where the context of a call keeps the full name of its command."""


class _WithHelp:
    """The option --help without the type of its value."""

    def get_help_option(self, ctx: Any) -> Any:
        option = super().get_help_option(ctx)  # type: ignore[misc]
        if option is not None:
            option.metavar = ""
        return option


class Command(_WithHelp, TyperCommand):
    """A command whose help lists protocols, which are looked up only for --help."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Fill in the names of protocols and write the help."""
        for option in self.params:
            if text := getattr(option, "help", None):
                option.help = with_names(text)  # type: ignore[attr-defined]
        super().format_help(ctx, formatter)

    def invoke(self, ctx: Any) -> Any:
        """Run the command and record its full name, such as `task new`, for errors."""
        names, at = list[str](), ctx
        while at.parent is not None:
            names.insert(0, at.info_name)
            at = at.parent
        ctx.meta[_NAME] = " ".join(names)
        try:
            return super().invoke(ctx)
        except ParameterError as error:
            note_file(ctx, error)
            raise

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse options; an error about one of a file of --config names the file."""
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            if (named := in_file(ctx, error)) is not None:
                raise named from None
            raise


class Group(_WithHelp, TyperGroup):
    """Commands with a first name in common, such as `task new` and `task show`."""


class Commands(Group):
    """All commands. An error of the package is one line on stderr and an exit code."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names in our order; typer would put groups last."""
        return [*COMMANDS, *COLLECTION]

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            result = super().invoke(ctx)
            if sys.stdout is not None:
                sys.stdout.flush()
            return result
        except KeyboardInterrupt as error:
            _end_interrupted(error)
        except (ShuffledpError, ImportError, OSError) as error:
            if was_interrupted():
                _end_interrupted(error)
            _end(ctx, error)


def _end_interrupted(error: BaseException) -> NoReturn:
    print("interrupted", *_notes(error), sep=": ", file=sys.stderr)
    raise typer.Exit(130) from None


def _end(ctx: Any, error: ShuffledpError | ImportError | OSError) -> NoReturn:
    """Print what is wrong and end the command."""
    match error:
        case ShuffledpError():
            code = next(code for kind, code in _CODES.items() if isinstance(error, kind))
            message = str(error)
        case ModuleNotFoundError(name=name) if name in _COLLECTING:
            code, message = 1, str(MissingExtraError(name, extra="collect"))
        case ImportError():
            raise error
        case BrokenPipeError():
            _discard_stdout()
            raise typer.Exit(_BROKEN_PIPE) from None
        case OSError():
            _discard_stdout()
            code, message = 3, f"cannot write to stdout: {error.strerror}"
    print(
        f"shuffledp {ctx.meta.get(_NAME, ctx.invoked_subcommand)}: {message}", *_notes(error), sep="; ", file=sys.stderr
    )
    raise typer.Exit(code) from None


def _notes(error: BaseException) -> list[str]:
    """Return the notes, such as that a ledger counts the release as spent."""
    return getattr(error, "__notes__", [])


app = typer.Typer(
    cls=Commands,
    context_settings=_HELP,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _add(
    to: typer.Typer, name: str, command: tuple[Callable[..., Any], str] | CommandGroup, *, panel: str | None = None
) -> None:
    if isinstance(command, CommandGroup):
        group = typer.Typer(cls=Group, help=command.help, no_args_is_help=True, context_settings=_HELP)
        for each, inside in command.commands.items():
            _add(group, each, inside)
        to.add_typer(group, name=name, rich_help_panel=panel)
    else:
        function, example = command
        text = _in_paragraphs(inspect.getdoc(function) or "")
        to.command(name, cls=Command, help=text, epilog=f"Example:\n\n{example}", rich_help_panel=panel)(
            from_records(function)
        )


def _in_paragraphs(text: str) -> str:
    """Join the lines of each paragraph: typer would keep the line breaks of all but the first."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


for name, command in COMMANDS.items():
    _add(app, name, command, panel="Commands")
for name, either in COLLECTION.items():
    _add(app, name, either, panel="Collections: no server sees an answer")


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, metavar="", help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Private histograms in the shuffled model of differential privacy."""


def _discard_stdout() -> None:
    """Discard buffered output, so that the exit does not fail as well."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

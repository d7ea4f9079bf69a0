"""The commands, and the exit codes of what goes wrong in them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from shuffledp import __version__
from shuffledp.cli import batch, collect, data, keys, plan, protocols, research, servers, task
from shuffledp.cli import ledger as budget
from shuffledp.cli.help import NAME, Command, Group, without_type
from shuffledp.errors import BrokenPromiseError, DataError, MissingExtraError, ShuffledpError, UnreachableError

COMMANDS: dict[str, tuple[Callable[..., Any], str]] = {
    "run": (data.run, data.RUN_EXAMPLE),
    "ledger": (budget.ledger, budget.EXAMPLE),
    "simulate": (data.simulate, data.SIMULATE_EXAMPLE),
    "demo": (data.demo, data.DEMO_EXAMPLE),
    "plan": (plan.plan, plan.EXAMPLE),
    "protocols": (protocols.protocols, protocols.PROTOCOLS_EXAMPLE),
    "amplify": (protocols.amplify, protocols.AMPLIFY_EXAMPLE),
    "compare": (research.compare, research.COMPARE_EXAMPLE),
    "separate": (research.separate, research.SEPARATE_EXAMPLE),
    "verify": (research.verify, research.VERIFY_EXAMPLE),
}
"""Each command with an example, in the order in which help shows them."""

COLLECTION: dict[str, tuple[Callable[..., Any], str] | ModuleType] = {
    "up": (collect.up, collect.UP_EXAMPLE),
    "task": task,
    "keys": keys,
    "send": (collect.send, collect.SEND_EXAMPLE),
    "crowd": (collect.crowd, collect.CROWD_EXAMPLE),
    "shuffler": (servers.shuffler, servers.SHUFFLER_EXAMPLE),
    "analyzer": (servers.analyzer, servers.ANALYZER_EXAMPLE),
    "mix": (batch.mix, batch.MIX_EXAMPLE),
    "count": (batch.count, batch.COUNT_EXAMPLE),
}
"""Commands of a collection; a module stands for a group of commands."""

_HELP = {"help_option_names": ["-h", "--help"]}

_COLLECTING = frozenset(
    ("cryptography", "httptools", "httpx", "msgspec", "prometheus_client", "psycopg", "starlette", "uvicorn", "uvloop")
)
"""Libraries that only the commands of a collection need."""

_BROKEN_PIPE = 128 + 13
"""What a shell reports for a program that the signal SIGPIPE ended, as it ends most others."""

_CODES: dict[type[ShuffledpError], int] = {
    MissingExtraError: 1,
    BrokenPromiseError: 4,
    DataError: 3,
    UnreachableError: 5,
    ShuffledpError: 2,
}
"""The exit code of the first kind that an error is of."""


class Commands(TyperGroup):
    """One line on stderr and an exit code for everything that is the caller's to mend."""

    def get_help_option(self, ctx: Any) -> Any:
        """The option --help."""
        return without_type(super().get_help_option(ctx))

    def list_commands(self, ctx: Any) -> list[str]:
        """In our order; typer would put groups last."""
        return [*COMMANDS, *COLLECTION]

    def invoke(self, ctx: Any) -> Any:
        """Runs a command."""
        try:
            result = super().invoke(ctx)
            if sys.stdout is not None:
                sys.stdout.flush()
            return result
        except BrokenPipeError:  # whoever read stdout has seen enough
            _forget_stdout()
            raise typer.Exit(_BROKEN_PIPE) from None
        except OSError as error:
            said = f"shuffledp {_name(ctx)}: cannot write to stdout: {error.strerror}"
            print(said, *_notes(error), sep="; ", file=sys.stderr)
            _forget_stdout()
            raise typer.Exit(3) from None
        except KeyboardInterrupt as error:
            print("interrupted", *_notes(error), sep=": ", file=sys.stderr)
            raise typer.Exit(130) from None
        except ShuffledpError as error:
            print(f"shuffledp {_name(ctx)}: {error}", *_notes(error), sep="; ", file=sys.stderr)
            raise typer.Exit(_code(error)) from None
        except ModuleNotFoundError as error:
            if error.name not in _COLLECTING:
                raise
            print(f"shuffledp {_name(ctx)}: {MissingExtraError(error.name, extra='collect')}", file=sys.stderr)
            raise typer.Exit(1) from None


def _name(ctx: Any) -> str:
    """Of the command that was called."""
    return str(ctx.meta.get(NAME, ctx.invoked_subcommand))


def _code(error: ShuffledpError) -> int:
    return next(code for kind, code in _CODES.items() if isinstance(error, kind))


def _notes(error: BaseException) -> list[str]:
    """What was noted of an error on its way, such as that a ledger counts the release all the same."""
    return getattr(error, "__notes__", [])


app = typer.Typer(
    cls=Commands,
    context_settings=_HELP,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _add(name: str, command: tuple[Callable[..., Any], str] | ModuleType, *, panel: str) -> None:
    """Add a command, or a group of the commands that a module lists."""
    if isinstance(command, tuple):
        function, example = command
        app.command(name, cls=Command, epilog=_example(example), rich_help_panel=panel)(function)
        return
    group = typer.Typer(cls=Group, help=command.__doc__, no_args_is_help=True, context_settings=_HELP)
    for each, (function, example) in command.COMMANDS.items():
        group.command(each, cls=Command, epilog=_example(example))(function)
    app.add_typer(group, name=name, rich_help_panel=panel)


def _example(text: str) -> str:
    return f"Example:\n\n{text}"


for name, command in COMMANDS.items():
    _add(name, command, panel="Commands")
for name, either in COLLECTION.items():
    _add(name, either, panel="Collections: nobody holds the data")


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


def _forget_stdout() -> None:
    """What is still to be written goes nowhere, so that leaving does not fail as well."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

"""The commands, and the exit codes of what goes wrong in them."""

from __future__ import annotations

import os
import sys
from types import ModuleType
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from shuffledp import __version__
from shuffledp.cli import (
    amplify,
    analyzer,
    compare,
    count,
    crowd,
    demo,
    keys,
    ledger,
    mix,
    plan,
    protocols,
    run,
    send,
    separate,
    shuffler,
    simulate,
    task,
    up,
    verify,
)
from shuffledp.cli.help import NAME, Command, Group, without_type
from shuffledp.errors import BrokenPromiseError, DataError, MissingExtraError, ShuffledpError, UnreachableError

COMMANDS = (
    run,
    ledger,
    simulate,
    demo,
    plan,
    protocols,
    amplify,
    compare,
    separate,
    verify,
)
"""In the order in which help shows them."""

COLLECTION = (up, task, keys, send, crowd, shuffler, analyzer, mix, count)
"""Commands of a collection, in a panel of their own: all of it at once, then from a task to a release."""

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
        return [_called(module) for module in (*COMMANDS, *COLLECTION)]

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


def _add(module: ModuleType, *, panel: str) -> None:
    """A command that is called like its module, or a group of those that the module lists."""
    name = _called(module)
    if not hasattr(module, "COMMANDS"):
        how = app.command(name, cls=Command, epilog=_example(module.EXAMPLE), rich_help_panel=panel)
        how(getattr(module, name))
        return
    group = typer.Typer(cls=Group, help=module.__doc__, no_args_is_help=True, context_settings=_HELP)
    for each, (function, example) in module.COMMANDS.items():
        group.command(each, cls=Command, epilog=_example(example))(function)
    app.add_typer(group, name=name, rich_help_panel=panel)


def _called(module: ModuleType) -> str:
    return module.__name__.rpartition(".")[2]


def _example(text: str) -> str:
    return f"Example:\n\n{text}"


for module in COMMANDS:
    _add(module, panel="Commands")
for module in COLLECTION:
    _add(module, panel="Collections: nobody holds the data")


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

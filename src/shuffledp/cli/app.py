"""The commands, and the exit codes of what goes wrong in them."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from shuffledp import __version__
from shuffledp.cli import amplify, compare, demo, ledger, plan, protocols, run, separate, simulate, verify
from shuffledp.cli.help import Command, without_type
from shuffledp.errors import DataError, MissingExtraError, ShuffledpError

_BROKEN_PIPE = 128 + 13
"""What a shell reports for a program that the signal SIGPIPE ended, as it ends most others."""


class Commands(TyperGroup):
    """One line on stderr and an exit code for everything that is the caller's to mend."""

    def get_help_option(self, ctx: Any) -> Any:
        """The option --help."""
        return without_type(super().get_help_option(ctx))

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
            said = f"shuffledp {ctx.invoked_subcommand}: cannot write to stdout: {error.strerror}"
            print(said, *_notes(error), sep="; ", file=sys.stderr)
            _forget_stdout()
            raise typer.Exit(3) from None
        except KeyboardInterrupt as error:
            print("interrupted", *_notes(error), sep=": ", file=sys.stderr)
            raise typer.Exit(130) from None
        except ShuffledpError as error:
            print(f"shuffledp {ctx.invoked_subcommand}: {error}", *_notes(error), sep="; ", file=sys.stderr)
            code = 1 if isinstance(error, MissingExtraError) else 3 if isinstance(error, DataError) else 2
            raise typer.Exit(code) from None


def _notes(error: BaseException) -> list[str]:
    """What was noted of an error on its way, such as that a ledger counts the release all the same."""
    return getattr(error, "__notes__", [])


app = typer.Typer(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for module in (run, ledger, simulate, demo, plan, protocols, amplify, compare, separate, verify):
    name = module.__name__.rpartition(".")[2]
    app.command(name, cls=Command, epilog=f"Example:\n\n{module.EXAMPLE}")(getattr(module, name))


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

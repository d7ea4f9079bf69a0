"""The list of commands, their help, and the exit codes of errors."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple, NoReturn

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
from shuffledp.cli.options import from_records, with_names
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

_AT = "--server http://127.0.0.1:8001 --token operator.token"


class CommandGroup(NamedTuple):
    """Commands with a first name in common: the help of the group, and each function with an example."""

    help: str
    commands: dict[str, tuple[Callable[..., Any], str] | CommandGroup]


COMMANDS: dict[str, tuple[Callable[..., Any], str]] = {
    "run": (data.run, "shuffledp run people.csv --column theme --epsilon 1 --delta 1e-6"),
    "lookup": (releases.lookup, "shuffledp lookup release.json dark light"),
    "trend": (releases.trend, "shuffledp trend january.json february.json march.json --rounds 12"),
    "ledger": (releases.ledger, "shuffledp ledger customers.ledger --limit 3,1e-5"),
    "simulate": (data.simulate, "shuffledp simulate people.csv --column theme --epsilon 1 --delta 1e-6"),
    "demo": (data.demo, "shuffledp demo --people 50000"),
    "plan": (plan.plan, "shuffledp plan --users 1e6 --bins 100000 --epsilon 1 --delta 1e-6"),
    "protocols": (plan.protocols, "shuffledp protocols --model shuffled"),
    "amplify": (research.amplify, "shuffledp amplify --epsilon0 2 --users 100000 --delta 1e-6"),
    "compare": (research.compare, "shuffledp compare --users 20000 --bins 1000 --epsilon 1 --delta 1e-6"),
    "separate": (research.separate, "shuffledp separate --problem support --epsilon 1 --delta 1e-6 --no-local"),
    "verify": (research.verify, "shuffledp verify --protocol hist"),
}
"""Each command with an example, in the order in which help shows them."""

COLLECTION: dict[str, tuple[Callable[..., Any], str] | CommandGroup] = {
    "up": (up.up, "shuffledp up --people 2000 --once"),
    "task": CommandGroup(
        "Create, show and check tasks: one question to many people.",
        {
            "new": (
                tasks.new_task,
                "shuffledp task new --question Theme? --domain themes.txt --users 10000 \\\n"
                "--epsilon 1 --delta 1e-6 --shuffler http://localhost:8001=shuffler.key \\\n"
                "--analyzer http://localhost:8002=analyzer.key --out theme.task.json",
            ),
            "show": (tasks.show_task, "shuffledp task show theme.task.json"),
            "check": (tasks.check_task, "shuffledp task check theme.task.json --at-most 1,1e-6"),
            "add": (administer.add, f"shuffledp task add theme.task.json \\\n{_AT}"),
            "list": (administer.listed, f"shuffledp task list {_AT}"),
            "close": (administer.close, f"shuffledp task close theme.task.json --yes \\\n{_AT}"),
            "remove": (administer.remove, f"shuffledp task remove theme.task.json \\\n{_AT}"),
            "tokens": (administer.tokens, f"shuffledp task tokens theme.task.json --hashes hashes.txt \\\n{_AT}"),
            "series": CommandGroup(
                "Create, show and check series: one question that is asked in several rounds.",
                {
                    "new": (
                        tasks.new_series,
                        "shuffledp task series new --question Theme? --domain dark,light --rounds 52 --period 7d \\\n"
                        "--users 10000 --epsilon 1 --delta 1e-6 --shuffler http://localhost:8001=shuffler.keys \\\n"
                        "--analyzer http://localhost:8002=analyzer.keys --out theme.series.json",
                    ),
                    "show": (tasks.show_series, "shuffledp task series show theme.series.json"),
                    "check": (tasks.check_series, "shuffledp task series check theme.series.json --at-most 1,1e-6"),
                },
            ),
        },
    ),
    "keys": CommandGroup(
        "Create keys and tokens for the servers of a task, and destroy them after it.",
        {
            "new": (keys.new_key, "shuffledp keys new --out shuffler.key"),
            "token": (keys.token, "shuffledp keys token --out analyzer.token"),
            "tokens": (keys.tokens, "shuffledp keys tokens --number 10000 --out tokens.txt --hashes hashes.txt"),
            "link": (
                keys.link,
                "shuffledp keys link --task theme.task.json --admission secret.token \\\n--out link.txt",
            ),
            "destroy": (keys.destroy, "shuffledp keys destroy shuffler.key --task theme.task.json --yes"),
        },
    ),
    "send": (send.send, "shuffledp send --task theme.task.json --value dark"),
    "budget": (send.budget, "shuffledp budget --limit 3,1e-5"),
    "crowd": (up.crowd, "shuffledp crowd --task theme.task.json --data people.csv --column theme"),
    "shuffler": (
        servers.shuffler,
        "shuffledp shuffler --task theme.task.json --key shuffler.key \\\n--store reports.db --port 8001 --next HASH",
    ),
    "analyzer": (
        servers.analyzer,
        "shuffledp analyzer --task theme.task.json --key analyzer.key \\\n"
        "--store tallies.db --port 8002 --token analyzer.token --ledger budget.ledger",
    ),
    "deploy": CommandGroup(
        "Create the folders of the organisations that run a collection: keys, tokens and configuration.",
        {
            "init": (
                deploy.init,
                "shuffledp deploy init collection --shufflers 2 \\\n"
                "--address https://mix1.example.org --address https://mix2.example.net \\\n"
                "--analyzer-address https://count.example.com",
            ),
            "join": (deploy.join, "shuffledp deploy join collection"),
        },
    ),
    "health": (servers.health, "shuffledp health http://127.0.0.1:8000"),
    "mix": (
        batch.mix,
        "shuffledp mix reports --task theme.task.json \\\n--key shuffler.key --out batches",
    ),
    "count": (
        batch.count,
        "shuffledp count batches --task theme.task.json \\\n--key analyzer.key --out release.json",
    ),
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

    def make_context(self, *arguments: Any, **more: Any) -> Any:
        """Parse the options before a command, for which typer imports libraries."""
        try:
            return super().make_context(*arguments, **more)
        except KeyboardInterrupt as error:
            _end_interrupted(error)

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
        case OSError(filename=None):
            _discard_stdout()
            code, message = 3, f"cannot write to stdout: {error.strerror}"
        case OSError():
            code, message = 3, f"cannot use {error.filename}: {error.strerror}"
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

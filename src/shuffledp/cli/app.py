"""The commands."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from shuffledp import __version__
from shuffledp.cli.demo import surname_demo
from shuffledp.cli.plan import show_plan
from shuffledp.errors import MissingExtraError, ShuffledpError

app = typer.Typer(
    help="Private histograms in the shuffled model of differential privacy.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Private histograms in the shuffled model of differential privacy."""


@app.command()
def demo(
    people: Annotated[int, typer.Option(help="How many people to sample.")] = 200_000,
    epsilon: Annotated[float, typer.Option(help="Privacy loss of the whole release.")] = 1.0,
    delta: Annotated[float, typer.Option(help="Chance that the privacy loss is larger.")] = 1e-6,
    top: Annotated[int, typer.Option(min=1, help="How many of the most frequent surnames to show.")] = 15,
    json: Annotated[bool, typer.Option("--json", help="Print the whole release as JSON.")] = False,
) -> None:
    """A private histogram of US surnames: people sampled from the 1990 census table, cryptographic noise."""
    with _clear_errors("demo"):
        surname_demo(people=people, epsilon=epsilon, delta=delta, top=top, as_json=json)


@app.command()
def plan(
    users: Annotated[int, typer.Option(help="How many people take part.")],
    bins: Annotated[str, typer.Option(help="How many values are possible: 100000, 1e6 or 2^64.")],
    epsilon: Annotated[float, typer.Option(help="Privacy loss of the whole release.")],
    delta: Annotated[float, typer.Option(help="Chance that the privacy loss is larger.")],
    beta: Annotated[float, typer.Option(help="Chance that an error bound may fail.")] = 0.05,
    honest_users: Annotated[
        int | None, typer.Option(help="How many surely follow the protocol; all unless given.")
    ] = None,
    target_error: Annotated[
        float | None, typer.Option(help="An error over all bins, in people: what would it take?")
    ] = None,
    max_messages: Annotated[
        float | None, typer.Option(help="Messages per person: for how many bins would they do?")
    ] = None,
    figure: Annotated[Path | None, typer.Option(help="Save the trade-offs as a picture: .svg, .png or .pdf.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the plan as JSON.")] = False,
) -> None:
    """Error, messages and feasibility of every protocol, before anybody is asked."""
    with _clear_errors("plan"):
        show_plan(
            users=users,
            bins=bins,
            epsilon=epsilon,
            delta=delta,
            beta=beta,
            honest_users=honest_users,
            target_error=target_error,
            max_messages=max_messages,
            figure=figure,
            as_json=json,
        )


@contextmanager
def _clear_errors(command: str) -> Iterator[None]:
    """One line on stderr and exit code 2 for everything that is the caller's to mend, 1 for a missing library."""
    try:
        yield
    except ShuffledpError as error:
        print(f"shuffledp {command}: {error}", file=sys.stderr)
        raise typer.Exit(1 if isinstance(error, MissingExtraError) else 2) from None

"""The commands."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from shuffledp import __version__
from shuffledp.cli.demo import surname_demo
from shuffledp.errors import ShuffledpError

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
    try:
        surname_demo(people=people, epsilon=epsilon, delta=delta, top=top, as_json=json)
    except ShuffledpError as error:
        print(f"shuffledp demo: {error}", file=sys.stderr)
        raise typer.Exit(2) from None

"""The commands."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from shuffledp import __version__
from shuffledp.errors import DataError, MissingExtraError, ShuffledpError

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


Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...", help="Parquet, CSV, TSV, JSON lines or Arrow; also .gz or .zst, folders, and 'logs/*.csv'."
    ),
]
Column = Annotated[str, typer.Option(help="The column whose values are counted.")]
Epsilon = Annotated[float, typer.Option(help="Privacy loss of the whole release.")]
Delta = Annotated[float, typer.Option(help="Chance that the privacy loss is larger; well below 1 / people.")]
Beta = Annotated[float, typer.Option(help="Chance that an interval or error bound may fail.")]
User = Annotated[
    str | None, typer.Option(help="The column that says whose row it is: each person counts with one, at random.")
]
DropMissing = Annotated[bool, typer.Option("--drop-missing", help="Leave out rows without a value.")]
DomainFile = Annotated[
    Path | None,
    typer.Option(help="Publicly known list of possible values: one per line, or a table with that column."),
]
Other = Annotated[bool, typer.Option("--other", help="Count values outside the domain together.")]
ProtocolName = Annotated[
    str | None,
    typer.Option(
        "--protocol",
        help="hist, sparse, sparse-best or dummy, the best unless given; or an earlier one of plan --earlier.",
    ),
]
EstimatorName = Annotated[
    str | None, typer.Option("--estimator", help="truncated (no phantom values), or unbiased (needs --domain).")
]
Delimiter = Annotated[str | None, typer.Option(help="Between the fields of CSV files, if not a comma.")]
Top = Annotated[int, typer.Option(min=1, help="How many of the largest values to show.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the whole result as JSON.")]
Out = Annotated[
    list[Path] | None, typer.Option(help="Write the result to a .html, .csv, .parquet or .json file; may be repeated.")
]


@app.command()
def run(
    files: Files,
    column: Column,
    epsilon: Epsilon,
    delta: Delta,
    out: Out = None,
    json: AsJson = False,
    user: User = None,
    drop_missing: DropMissing = False,
    domain: DomainFile = None,
    other: Other = False,
    protocol: ProtocolName = None,
    estimator: EstimatorName = None,
    messages: Annotated[
        bool, typer.Option("--messages", help="Really make, shuffle and count every message (needs --domain).")
    ] = False,
    beta: Beta = 0.05,
    top: Top = 15,
    evaluate: Annotated[
        bool, typer.Option("--evaluate", help="NOT PRIVATE: add the true error, for tests on data you own.")
    ] = False,
    engine: Annotated[str | None, typer.Option(help="local (the default) or spark.")] = None,
    master: Annotated[str | None, typer.Option(help="Where Spark runs, such as local[4] or spark://host:7077.")] = None,
    delimiter: Delimiter = None,
) -> None:
    """A private histogram of a column: how many people hold each value.

    One row is one person unless --user is given. Randomness is cryptographic and cannot be seeded. Exit codes: 0 done,
    1 a library is missing, 2 a wrong parameter, 3 data that cannot be read or written, 130 interrupted.
    """
    with _clear_errors("run"):
        from shuffledp.cli.run import run_files

        run_files(
            files=files,
            column=column,
            delimiter=delimiter,
            domain=domain,
            engine=engine,
            out=out or [],
            top=top,
            as_json=json,
            epsilon=epsilon,
            delta=delta,
            user=user,
            drop_missing=drop_missing,
            other=other,
            protocol=protocol,
            estimator=estimator,
            messages=messages,
            beta=beta,
            evaluate=evaluate,
            master=master,
        )


@app.command()
def simulate(
    files: Files,
    column: Column,
    epsilon: Epsilon,
    delta: Delta,
    trials: Annotated[int, typer.Option(help="How many releases to simulate.")] = 100,
    seed: Annotated[int, typer.Option(help="The same seed gives the same trials.")] = 0,
    user: User = None,
    drop_missing: DropMissing = False,
    domain: DomainFile = None,
    other: Other = False,
    protocol: ProtocolName = None,
    estimator: EstimatorName = None,
    beta: Beta = 0.05,
    delimiter: Delimiter = None,
    json: AsJson = False,
) -> None:
    """NOT PRIVATE: the errors that releases of this data would have, over many seeded trials."""
    with _clear_errors("simulate"):
        from shuffledp.cli.simulate import simulate_files

        simulate_files(
            files=files,
            column=column,
            delimiter=delimiter,
            domain=domain,
            as_json=json,
            epsilon=epsilon,
            delta=delta,
            trials=trials,
            seed=seed,
            user=user,
            drop_missing=drop_missing,
            other=other,
            protocol=protocol,
            estimator=estimator,
            beta=beta,
        )


@app.command()
def demo(
    people: Annotated[int, typer.Option(help="How many people to sample.")] = 200_000,
    epsilon: Epsilon = 1.0,
    delta: Delta = 1e-6,
    top: Top = 15,
    data: Annotated[Path, typer.Option(help="Where to write the sampled people, as Parquet.")] = Path(
        "surnames.parquet"
    ),
    out: Annotated[Path, typer.Option(help="Where to write the report.")] = Path("report.html"),
    json: AsJson = False,
) -> None:
    """A private histogram of US surnames: people sampled from the 1990 census table, through the whole path of run."""
    with _clear_errors("demo"):
        from shuffledp.cli.demo import surname_demo

        surname_demo(people=people, epsilon=epsilon, delta=delta, top=top, data=data, out=[out], as_json=json)


@app.command()
def plan(
    users: Annotated[int, typer.Option(help="How many people take part.")],
    bins: Annotated[str, typer.Option(help="How many values are possible: 100000, 1e6 or 2^64.")],
    epsilon: Epsilon,
    delta: Delta,
    beta: Beta = 0.05,
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
    earlier: Annotated[
        bool, typer.Option("--earlier", help="Earlier protocols of the shuffled model too; slower.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Error, messages and feasibility of every protocol, before anybody is asked."""
    with _clear_errors("plan"):
        from shuffledp.cli.plan import show_plan

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
            earlier=earlier,
            as_json=json,
        )


@app.command()
def amplify(
    epsilon0: Annotated[float, typer.Option(help="Privacy loss of every single message.")],
    users: Annotated[int, typer.Option(help="How many people send one message each.")],
    delta: Delta,
    json: AsJson = False,
) -> None:
    """What shuffling adds to the privacy of a local randomizer: every bound side by side."""
    with _clear_errors("amplify"):
        from shuffledp.cli.amplify import show_amplification

        show_amplification(local_epsilon=epsilon0, users=users, delta=delta, as_json=json)


@app.command()
def compare(
    bins: Annotated[str, typer.Option(help="How many values are possible; several with commas: 100,1000,1e6,2^64.")],
    epsilon: Epsilon,
    delta: Delta,
    users: Annotated[str | None, typer.Option(help="How many people take part; several with commas.")] = None,
    trials: Annotated[int, typer.Option(help="How many releases of each protocol to measure.")] = 20,
    data: Annotated[str, typer.Option(help="zipf, uniform, adversarial, or a file (with --column).")] = "zipf",
    column: Annotated[str | None, typer.Option(help="The column of the file whose values are counted.")] = None,
    protocols: Annotated[
        str | None,
        typer.Option(help="Only these, with commas: hist,sparse,csu,hadamard and so on; a wrong name lists all."),
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same trials.")] = 0,
    beta: Beta = 0.05,
    figure: Annotated[Path | None, typer.Option(help="Draw the errors: .svg, .png or .pdf.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the tables to a file, for a document.")] = None,
    json: AsJson = False,
) -> None:
    """NOT PRIVATE: the measured error and cost of every protocol, local, shuffled and central, on equal terms."""
    with _clear_errors("compare"):
        from shuffledp.cli.compare import show_comparison

        show_comparison(
            users=users,
            bins=bins,
            data=data,
            column=column,
            protocols=protocols,
            figure=figure,
            markdown=markdown,
            as_json=json,
            epsilon=epsilon,
            delta=delta,
            beta=beta,
            trials=trials,
            seed=seed,
        )


@app.command()
def separate(
    problem: Annotated[str, typer.Option(help="pointer-chasing, pointer-jumping, support or bernoulli.")],
    epsilon: Epsilon,
    delta: Delta,
    length: Annotated[str | None, typer.Option("--l", help="Lengths of the permutations: 10,100,1000.")] = None,
    height: Annotated[
        str | None, typer.Option("--h", help="Numbers of levels (pointer-jumping) or of items (support): 2,4,8.")
    ] = None,
    branching: Annotated[
        str | None, typer.Option("--s", help="Children of a node (pointer-jumping); h^4 unless given.")
    ] = None,
    bins: Annotated[str | None, typer.Option(help="How many values are possible (support); 1024 unless given.")] = None,
    alpha: Annotated[str | None, typer.Option(help="Errors of the mean (bernoulli): 0.1,0.03,0.01.")] = None,
    local: Annotated[
        bool, typer.Option("--local/--no-local", help="Simulate the local baseline, which takes nearly all the time.")
    ] = True,
    seed: Annotated[int, typer.Option(help="The same seed gives the same trials.")] = 0,
    figure: Annotated[Path | None, typer.Option(help="Save the curves as a picture: .svg, .png or .pdf.")] = None,
    json: AsJson = False,
) -> None:
    """How many people the local, the shuffled and the central model need for the same problem: the paper's Table 2."""
    with _clear_errors("separate"):
        from shuffledp.cli.separate import show_separation

        show_separation(
            problem=problem,
            options={"l": length, "h": height, "s": branching, "bins": bins, "alpha": alpha},
            epsilon=epsilon,
            delta=delta,
            seed=seed,
            local=local,
            figure=figure,
            as_json=json,
        )


@app.command()
def verify(
    protocol: Annotated[
        str | None,
        typer.Option(
            help="Only the statements about one: zsum, hist, smooth, support, single-message, r-infinity, r-gap, "
            "sparse, dummy, blanket, public-coin, private-coin, real-sum, amplified, local or central."
        ),
    ] = None,
    json: AsJson = False,
) -> None:
    """The paper's statements and every protocol's promise, each beside the truth and the basis on which it is known.

    Basis: enumerated (all outcomes, listed), own curve or own law (the protocol's exact accounting, evaluated again) or
    bound (the protocol's upper bound).

    Exit codes: 0 every statement holds, 2 a wrong parameter, 4 a statement fails.
    """
    with _clear_errors("verify"):
        from shuffledp.cli.verify import show_verdicts

        if not show_verdicts(protocol=protocol, as_json=json):
            raise typer.Exit(4)


@contextmanager
def _clear_errors(command: str) -> Iterator[None]:
    """One line on stderr and an exit code for everything that is the caller's to mend."""
    try:
        yield
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:  # whoever read stdout has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        print(f"shuffledp {command}: cannot write to stdout: {error.strerror}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(3) from None
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        raise typer.Exit(130) from None
    except ShuffledpError as error:
        print(f"shuffledp {command}: {error}", file=sys.stderr)
        codes = {MissingExtraError: 1, DataError: 3}
        raise typer.Exit(next((code for kind, code in codes.items() if isinstance(error, kind)), 2)) from None

"""`shuffledp simulate`: the errors of many seeded releases of the same files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

from shuffledp.cli import options as given
from shuffledp.cli.options import option, whole_number
from shuffledp.cli.output import new_table, print_indented, print_json, print_sentence, print_title, print_whole
from shuffledp.plain import plain
from shuffledp.words import at_most, counted, readable, surely

if TYPE_CHECKING:
    from shuffledp.jobs.simulate import Simulation
    from shuffledp.protocols.names import EstimatorName, ShuffledName

EXAMPLE = "shuffledp simulate people.csv --column theme --epsilon 1 --delta 1e-6"
_SHARES = {"smallest": 0.0, "median": 0.5, "90 %": 0.9, "95 %": 0.95, "99 %": 0.99, "largest": 1.0}


def simulate(
    files: given.Files,
    column: given.Column,
    epsilon: given.Epsilon,
    delta: given.Delta,
    trials: Annotated[int, option("NUMBER", "How many releases to simulate.", parser=whole_number)] = 100,
    seed: given.Seed = 0,
    user: given.User = None,
    drop_missing: given.DropMissing = False,
    domain: given.Domain = None,
    other: given.Other = False,
    protocol: given.ProtocolName = None,
    estimator: given.Estimator = None,
    beta: given.Beta = 0.05,
    delimiter: given.Delimiter = None,
    encoding: given.Encoding = None,
    format: given.Format = None,
    json: given.Json = False,
) -> None:
    """NOT PRIVATE: the errors that releases of this data would have, over many seeded trials.

    FILE is Parquet, CSV, TSV, JSON lines or Arrow, also .gz or .zst;
    a folder of such files; a pattern such as 'logs/*.csv';
    or - for standard input.
    """
    from shuffledp.cli.domain import read_domain
    from shuffledp.cli.progress import ProgressBar
    from shuffledp.engines import find_files
    from shuffledp.jobs.simulate import simulate as simulated

    data = find_files(files, delimiter=delimiter, encoding=encoding, format=format)
    inputs = [Path(path) for path in data.paths]
    labels = None if domain is None else read_domain(domain, column, data_files=inputs, delimiter=delimiter)
    with ProgressBar() as progress:
        result = simulated(
            data,
            column=column,
            epsilon=epsilon,
            delta=delta,
            trials=trials,
            seed=seed,
            user=user,
            drop_missing=drop_missing,
            domain=labels,
            other=other,
            protocol=cast("ShuffledName | None", protocol),
            estimator=cast("EstimatorName | None", estimator),
            beta=beta,
            progress=progress,
        )
    if json:
        quantiles = dict(zip(_SHARES, result.quantiles(list(_SHARES.values())), strict=True))
        print_json({**plain(result), "covered": result.covered, "error_quantiles": quantiles})
    else:
        _show(result)


def _show(result: Simulation) -> None:
    """How the largest error over all values is distributed."""
    trials, people = len(result.trials), counted(result.people, "person", things="people")
    print_title(
        f"{counted(trials, 'simulated release')}: {result.title}, {people}, epsilon {result.epsilon:g}, delta "
        f"{result.delta:g}"
    )
    table = new_table()
    for name in _SHARES:
        table.add_column(name, justify="right")
    table.add_row(*(f"{error:,.1f}" for error in result.quantiles(list(_SHARES.values()))))
    print_whole(table)
    print_indented("the largest error over all values of one release, in people: how it is distributed")
    held = sum(trial.covered for trial in result.trials)
    found = sum(trial.found for trial in result.trials) / trials
    present = counted(result.trials[0].occupied, "value")
    possible = f"; {readable(result.bins)} are possible" if result.bins.bit_length() <= _MOST_BITS else ""
    print_sentence(
        f"Predicted: an error of at most {at_most(result.predicted_error)} people, with probability at least "
        f"{surely(result.beta)}."
    )
    print_sentence(
        f"All intervals at once held the truth in {held:,} of {counted(trials, 'release')}; at least "
        f"{surely(result.beta)} of all are promised."
    )
    print_sentence(f"Of {present} that people hold, {found:,.1f} were reported on average{possible}.")
    print_sentence("Not private: this compares with the true counts.")


_MOST_BITS = 64  # a larger number of possible values says nothing

"""`shuffledp simulate`: the errors of many seeded releases of the same files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

from shuffledp.cli import options as given
from shuffledp.cli.options import option, whole_number
from shuffledp.cli.output import new_table, print_indented, print_json, print_sentence, print_title, print_whole
from shuffledp.plain import plain

if TYPE_CHECKING:
    from shuffledp.jobs.range_simulation import RangeSimulation
    from shuffledp.jobs.simulate import Simulation
    from shuffledp.protocols.names import EstimatorName, ReleaseName, TrustName

EXAMPLE = "shuffledp simulate people.csv --column theme --epsilon 1 --delta 1e-6"


def simulate(
    files: given.Files,
    column: given.Columns,
    epsilon: given.Epsilon,
    delta: given.Delta,
    trials: Annotated[int, option("NUMBER", "How many releases to simulate.", parser=whole_number)] = 100,
    seed: given.Seed = 0,
    user: given.User = None,
    values_per_person: given.ValuesPerPerson = 1,
    where: given.Where = None,
    drop_missing: given.DropMissing = False,
    domain: given.Domain = None,
    edges: given.Edges = None,
    by: given.By = None,
    start: given.From = None,
    stop: given.To = None,
    other: given.Other = False,
    trust: given.Trust = "shuffler",
    protocol: given.ProtocolName = None,
    estimator: given.Estimator = None,
    ranges: given.Ranges = False,
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
    from shuffledp.cli.domains import read_possible_values
    from shuffledp.cli.progress import ProgressBar
    from shuffledp.engines import find_files
    from shuffledp.jobs.simulate import simulate as simulated

    data = find_files(files, delimiter=delimiter, encoding=encoding, format=format)
    inputs = [Path(path) for path in data.paths]
    possible = read_possible_values(
        column,
        lists=domain or [],
        edges=edges or [],
        by=by or [],
        start=start or [],
        stop=stop or [],
        data_files=inputs,
        outputs=[],
        delimiter=delimiter,
    )
    with ProgressBar() as progress:
        result = simulated(
            data,
            column=column if len(column) > 1 else column[0],
            epsilon=epsilon,
            delta=delta,
            trials=trials,
            seed=seed,
            user=user,
            values_per_person=values_per_person,
            where=where,
            drop_missing=drop_missing,
            domain=possible,
            other=other,
            trust=cast("TrustName", trust),
            protocol=cast("ReleaseName | None", protocol),
            estimator=cast("EstimatorName | None", estimator),
            beta=beta,
            ranges=ranges,
            progress=progress,
        )
    if json:
        print_json({**plain(result), "covered": result.covered, "error_quantiles": result.error_quantiles()})
    else:
        _show(result)


def _show(result: Simulation | RangeSimulation) -> None:
    """How the largest error over all values, or of the distribution function, is distributed."""
    print_title(result.headline())
    table = new_table()
    errors = result.error_quantiles()
    for name in errors:
        table.add_column(name, justify="right")
    table.add_row(*(f"{error:,.1f}" for error in errors.values()))
    print_whole(table)
    print_indented(f"the largest error {result.over} of one release, in people: how it is distributed")
    for text in result.sentences():
        print_sentence(text)

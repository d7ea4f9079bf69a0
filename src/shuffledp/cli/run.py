"""`shuffledp run`: a private histogram of a column of some files, on the terminal and in files."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

from shuffledp.cli import options as given
from shuffledp.cli.options import PLACE, PROTOCOL, RESULT, flag, option
from shuffledp.cli.output import print_note
from shuffledp.words import counted

if TYPE_CHECKING:
    from shuffledp.protocols.names import EngineName, EstimatorName, ReleaseName, TrustName

EXAMPLE = "shuffledp run people.csv --column theme --epsilon 1 --delta 1e-6"


def run(
    files: given.Files,
    column: given.Columns,
    epsilon: given.Epsilon,
    delta: given.Delta,
    out: Annotated[
        list[Path] | None,
        option("FILE", "Write the result to a .html, .csv, .parquet or .json file; may be repeated.", panel=RESULT),
    ] = None,
    force: given.Force = False,
    json: given.Json = False,
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
    messages: Annotated[
        bool, flag("--messages", "Really make, shuffle and count every message (needs --domain).", panel=PROTOCOL)
    ] = False,
    consistent: given.Consistent = False,
    quantiles: given.Quantiles = None,
    ranges: given.Ranges = False,
    beta: given.Beta = 0.05,
    top: given.Top = 15,
    evaluate: Annotated[
        bool, flag("--evaluate", "NOT PRIVATE: add the true error, for tests on data you own.", panel=RESULT)
    ] = False,
    ledger: Annotated[
        Path | None,
        option("FILE", "Enter the release in this ledger, made by `shuffledp ledger`, which keeps a limit."),
    ] = None,
    engine: Annotated[str | None, option("local|spark", "local unless given.", panel=PLACE)] = None,
    master: Annotated[
        str | None, option("ADDRESS", "Where Spark runs, such as local[4] or spark://host:7077.", panel=PLACE)
    ] = None,
    delimiter: given.Delimiter = None,
    encoding: given.Encoding = None,
    format: given.Format = None,
) -> None:
    """A private histogram of a column: how many people hold each value.

    FILE is Parquet, CSV, TSV, JSON lines or Arrow, also .gz or .zst;
    a folder of such files; a pattern such as 'logs/*.csv';
    or - for standard input.
    One row is one person unless --user is given.
    Randomness is cryptographic and cannot be seeded.

    Exit codes: 0 done, 1 a library is missing, 2 a wrong parameter,
    3 data that cannot be read or written, 130 interrupted,
    141 whoever read the output went away.
    """
    from shuffledp.checks import whole
    from shuffledp.cli.domains import read_possible_values
    from shuffledp.cli.histogram import publish
    from shuffledp.cli.overwriting import keep_existing, refuse_repeated
    from shuffledp.cli.progress import ProgressBar
    from shuffledp.cli.quiet_start import quiet_start
    from shuffledp.cli.ranges import parse_shares
    from shuffledp.engines import find_files
    from shuffledp.jobs.private_histogram import private_histogram
    from shuffledp.report.release_file import check_writable
    from shuffledp.report.whole_file import refuse_same

    whole("top", top)
    shares = None if quantiles is None else parse_shares(quantiles)
    data = find_files(files, delimiter=delimiter, encoding=encoding, format=format)
    if data.passed_over:
        print_note(f"passed over {counted(len(data.passed_over), 'file')} of no known format")
    inputs = [Path(path) for path in data.paths]
    for path in out or []:
        check_writable(path)
        refuse_same(path, [*inputs, *([] if ledger is None else [ledger])], "an output")
    refuse_repeated(out or [])
    keep_existing(out or [], force=force)
    possible = read_possible_values(
        column,
        lists=domain or [],
        edges=edges or [],
        by=by or [],
        start=start or [],
        stop=stop or [],
        data_files=inputs,
        outputs=out or [],
        delimiter=delimiter,
    )
    with ProgressBar() as progress, quiet_start() if engine == "spark" else nullcontext():
        release = private_histogram(
            data,
            column=column if len(column) > 1 else column[0],
            epsilon=epsilon,
            delta=delta,
            user=user,
            values_per_person=values_per_person,
            where=where,
            drop_missing=drop_missing,
            domain=possible,
            other=other,
            trust=cast("TrustName", trust),
            protocol=cast("ReleaseName | None", protocol),
            estimator=cast("EstimatorName | None", estimator),
            messages=messages,
            consistent=consistent,
            quantiles=shares,
            ranges=ranges,
            beta=beta,
            evaluate=evaluate,
            ledger=ledger,
            engine=cast("EngineName | None", engine),
            master=master,
            progress=progress,
        )
    try:
        publish(release, out=out or [], top=top, as_json=json)
    except BaseException as error:
        if ledger is not None:
            error.add_note("the release was entered in the ledger before and counts as spent")
        raise

"""The commands on local data: `run` makes a release, `simulate` many seeded ones, `demo` one of sampled surnames."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from shuffledp.cli import options as given
from shuffledp.cli.options import PLACE, PROTOCOL, RESULT, flag, option, whole_number
from shuffledp.cli.output import (
    ProgressBar,
    new_table,
    print_indented,
    print_json,
    print_note,
    print_paragraphs,
    print_sentence,
    print_title,
    print_whole,
    quiet_start,
)
from shuffledp.errors import ParameterError
from shuffledp.formatting import counted, privacy_figure
from shuffledp.jsonable import plain

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shuffledp.protocols.protocol import EngineName, EstimatorName, ReleaseName, TrustName
    from shuffledp.release.simulate import RangeSimulation, Simulation


RUN_EXAMPLE = "shuffledp run people.csv --column theme --epsilon 1 --delta 1e-6"


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
    explain: given.Explain = False,
    user: given.User = None,
    values_per_person: given.ValuesPerPerson = 1,
    count_capped: given.CountCapped = False,
    where: given.Where = None,
    drop_missing: given.DropMissing = False,
    domain: given.Domain = None,
    edges: given.Edges = None,
    by: given.By = None,
    start: given.From = None,
    stop: given.To = None,
    date_format: given.DateFormat = None,
    other: given.Other = False,
    free_text: given.FreeText = None,
    alphabet: given.Alphabet = None,
    pieces: given.Pieces = None,
    normalise: given.Normalise = None,
    levels: given.Levels = None,
    width: given.Width = None,
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
    top: given.Top = None,
    block: given.Block = None,
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
    141 broken pipe.
    """
    from shuffledp.atomic_file import refuse_same
    from shuffledp.cli.domains import read_possible_values
    from shuffledp.cli.options import check_ledger, keep_existing, refuse_repeated
    from shuffledp.cli.release_output import parse_shares, publish
    from shuffledp.data import find_files
    from shuffledp.explain.files import check_writable
    from shuffledp.release.hidden import NOT_WITH_BLOCK, Blocklist, hide
    from shuffledp.release.private_histogram import private_histogram
    from shuffledp.validation import whole

    whole("top", 1 if top is None else top)
    check_ledger(ledger)
    blocked = None if block is None else Blocklist.read(block)
    if blocked is not None and (evaluate or values_per_person > 1):
        raise ParameterError(NOT_WITH_BLOCK)  # before a release is spent
    shares = None if quantiles is None else parse_shares(quantiles)
    data = find_files(files, delimiter=delimiter, encoding=encoding, format=format)
    if data.passed_over:
        print_note(f"skipped {counted(len(data.passed_over), 'file')} of unknown format")
    inputs = [Path(path) for path in data.paths]
    for path in out or []:
        check_writable(path)
        refuse_same(path, [*inputs, *([] if ledger is None else [ledger])], "an output")
    refuse_repeated(out or [])
    keep_existing(out or [], force=force)
    texts = given.text_choices(
        free_text, alphabet=alphabet, pieces=pieces, normalise=normalise, levels=levels, width=width
    )
    if texts is not None:
        from shuffledp.cli.texts import check_options, run_texts

        check_options(locals())
    possible = read_possible_values(
        column,
        lists=domain or [],
        edges=edges or [],
        by=by or [],
        start=start or [],
        stop=stop or [],
        date_format=date_format or [],
        data_files=inputs,
        outputs=out or [],
        delimiter=delimiter,
    )
    release = None
    try:
        with ProgressBar() as progress, quiet_start() if engine == "spark" else nullcontext():
            release = (
                run_texts(
                    data,
                    texts=texts,
                    column=column,
                    epsilon=epsilon,
                    delta=delta,
                    user=user,
                    drop_missing=drop_missing,
                    beta=beta,
                    evaluate=evaluate,
                    ledger=ledger,
                    engine=engine,
                    master=master,
                    progress=progress,
                )
                if texts is not None
                else private_histogram(
                    data,
                    column=column if len(column) > 1 else column[0],
                    epsilon=epsilon,
                    delta=delta,
                    user=user,
                    values_per_person=values_per_person,
                    count_capped=count_capped,
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
            )
        publish(hide(release, blocked), out=out or [], top=top, as_json=json, explain=explain)
    except BaseException as error:
        if ledger is not None and release is not None:
            error.add_note("the release was entered in the ledger and counts as spent")
        raise


SIMULATE_EXAMPLE = "shuffledp simulate people.csv --column theme --epsilon 1 --delta 1e-6"


def simulate(
    files: given.Files,
    column: given.Columns,
    epsilon: given.Epsilon,
    delta: given.Delta,
    trials: Annotated[int, option("NUMBER", "How many releases to simulate.", parser=whole_number)] = 100,
    seed: given.Seed = 0,
    user: given.User = None,
    values_per_person: given.ValuesPerPerson = 1,
    count_capped: given.CountCapped = False,
    where: given.Where = None,
    drop_missing: given.DropMissing = False,
    domain: given.Domain = None,
    edges: given.Edges = None,
    by: given.By = None,
    start: given.From = None,
    stop: given.To = None,
    date_format: given.DateFormat = None,
    other: given.Other = False,
    free_text: given.FreeText = None,
    alphabet: given.Alphabet = None,
    pieces: given.Pieces = None,
    normalise: given.Normalise = None,
    levels: given.Levels = None,
    width: given.Width = None,
    trust: given.Trust = "shuffler",
    protocol: given.ProtocolName = None,
    estimator: given.Estimator = None,
    ranges: given.Ranges = False,
    beta: given.Beta = 0.05,
    delimiter: given.Delimiter = None,
    encoding: given.Encoding = None,
    format: given.Format = None,
    json: given.Json = False,
    explain: given.Explain = False,
) -> None:
    """NOT PRIVATE: the errors that releases of this data would have, over many seeded trials.

    FILE is Parquet, CSV, TSV, JSON lines or Arrow, also .gz or .zst;
    a folder of such files; a pattern such as 'logs/*.csv';
    or - for standard input.
    """
    from shuffledp.cli.domains import read_possible_values
    from shuffledp.data import find_files
    from shuffledp.release.simulate import simulate as simulated

    data = find_files(files, delimiter=delimiter, encoding=encoding, format=format)
    inputs = [Path(path) for path in data.paths]
    texts = given.text_choices(
        free_text, alphabet=alphabet, pieces=pieces, normalise=normalise, levels=levels, width=width
    )
    if texts is not None:
        from shuffledp.cli.texts import check_options, show_texts, simulated_texts

        check_options(locals())
    possible = read_possible_values(
        column,
        lists=domain or [],
        edges=edges or [],
        by=by or [],
        start=start or [],
        stop=stop or [],
        date_format=date_format or [],
        data_files=inputs,
        outputs=[],
        delimiter=delimiter,
    )
    if texts is not None:
        with ProgressBar() as progress:
            found = simulated_texts(
                data,
                texts=texts,
                column=column,
                epsilon=epsilon,
                delta=delta,
                trials=trials,
                seed=seed,
                user=user,
                drop_missing=drop_missing,
                beta=beta,
                progress=progress,
            )
        show_texts(found, top=None, as_json=json, explain=explain)
        return
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
            count_capped=count_capped,
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
        print_json({**_stored(result), "covered": result.covered, "error_quantiles": result.error_quantiles()})
    else:
        _show(result, explain=explain)


def _stored(result: Simulation | RangeSimulation) -> dict[str, Any]:
    """A simulation as plain values, with the names that JSON has for them."""
    from shuffledp.release.serialize import evaluation_dict
    from shuffledp.release.simulate import Simulation

    trials = {"trials": [evaluation_dict(trial) for trial in result.trials]} if isinstance(result, Simulation) else {}
    return {**plain(result), **trials}


def _show(result: Simulation | RangeSimulation, *, explain: bool) -> None:
    """Print the distribution of the largest error over all values, or of the distribution function."""
    from shuffledp.explain.plan import simulation_errors, simulation_headline, simulation_sentences

    print_title(simulation_headline(result))
    table = new_table()
    errors = result.error_quantiles()
    for name in errors:
        table.add_column(name, justify="right")
    table.add_row(*(f"{error:,.1f}" for error in errors.values()))
    print_whole(table)
    print_indented(f"quantiles of {simulation_errors(result)}")
    for text in simulation_sentences(result):
        print_sentence(text)
    if explain:
        print_paragraphs(SIMULATED)
    else:
        print_sentence("Details: --explain")


SIMULATED = {
    "Simulation": (
        "Every release uses the same data with new noise from the seed. The noise is sampled from its exact "
        "distribution, so the errors have the distribution of real releases."
    ),
    "Table": (
        "Quantiles, over all releases, of the largest error of one release. The predicted error holds for any data, so "
        "the errors of this data are usually smaller."
    ),
    "Not private": "The result depends on the true counts without noise. Use it for data you own; do not publish it.",
}
"""The paragraphs of `simulate --explain`."""


DEMO_EXAMPLE = "shuffledp demo --people 50000"
_MOST_PEOPLE = 10_000_000  # about a gigabyte
_POPULATION_SEED = 1990  # the year of the census; the people of the demo are always the same


def demo(
    people: Annotated[int, option("NUMBER", "How many people to sample.", parser=whole_number)] = 200_000,
    epsilon: given.Epsilon = 1.0,
    delta: given.Delta = 1e-6,
    top: given.Top = None,
    data: Annotated[Path, option("FILE", "Where to write the sampled people, as Parquet.", panel=RESULT)] = Path(
        "surnames.parquet"
    ),
    out: Annotated[Path, option("FILE", "Where to write the report.", panel=RESULT)] = Path("report.html"),
    force: given.Force = False,
    json: given.Json = False,
    explain: given.Explain = False,
) -> None:
    """A private histogram of US surnames, through the whole path of run.

    People are sampled from the 1990 census table.
    """
    from shuffledp.atomic_file import check_folder, refuse_same
    from shuffledp.cli.options import keep_existing
    from shuffledp.cli.release_output import publish
    from shuffledp.explain.files import check_writable
    from shuffledp.formatting import readable
    from shuffledp.protocols.target import Target
    from shuffledp.release.private_histogram import private_histogram
    from shuffledp.validation import whole

    people = whole("people", people)
    if people > _MOST_PEOPLE:
        raise ParameterError(
            f"people must be at most {_MOST_PEOPLE:,}, since the demo makes them in memory; got {readable(people)}. "
            "For more, use run on files of your own"
        )
    whole("top", 1 if top is None else top)
    Target(users=people, bins=1, epsilon=epsilon, delta=delta)  # checked before anything is written
    if data.suffix != ".parquet":
        raise ParameterError(f"data must be a name that ends in .parquet, got {data}")
    check_folder(data)
    check_writable(out)
    refuse_same(out, [data], "the report")
    keep_existing([data, out], force=force)
    with ProgressBar() as progress:
        progress("sampling people", 0.0)
        _write_population(data, people)
        progress("sampling people", 1.0)
        release = private_histogram(
            data, column="surname", epsilon=epsilon, delta=delta, evaluate=True, progress=progress
        )
    publish(release, out=[out], top=top, as_json=json, explain=explain)
    if not json:
        print_note(
            f"run it on your own file: shuffledp run {data} --column surname --epsilon {privacy_figure(epsilon)} "
            f"--delta {privacy_figure(delta)} --out release{out.suffix}"
        )


def population(people: int) -> NDArray[Any]:
    """Sample the surnames of people, in a random order; the people are always the same."""
    import numpy as np

    from shuffledp.surnames import surnames

    names, shares = surnames()
    rng = np.random.default_rng(_POPULATION_SEED)
    held = np.repeat(names, rng.multinomial(people, shares))
    rng.shuffle(held)
    return held


def _write_population(path: Path, people: int) -> None:
    from shuffledp.atomic_file import write_whole
    from shuffledp.errors import MissingExtraError
    from shuffledp.explain.files import parquet_bytes

    try:
        import pyarrow
    except ImportError:
        raise MissingExtraError("pyarrow", extra="files") from None
    write_whole(path, parquet_bytes(pyarrow.table({"surname": population(people)})))

"""The commands on local data: `run` makes a release, `simulate` many seeded ones, `demo` one of sampled surnames."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.table import Column
from rich.text import Text

from shuffledp.atomic_file import check_folder, refuse_same, write_whole
from shuffledp.cli import options as given
from shuffledp.cli.options import (
    PLACE,
    PROTOCOL,
    RESULT,
    check_ledger,
    check_outputs,
    flag,
    integer,
    keep_existing,
    option,
)
from shuffledp.cli.output import (
    ProgressBar,
    new_table,
    numbers,
    print_details,
    print_indented,
    print_json,
    print_note,
    print_sentences,
    print_title,
    print_whole,
    quiet_start,
)
from shuffledp.errors import MissingExtraError, ParameterError
from shuffledp.formatting import confidence, counted, privacy_figure, readable, shown
from shuffledp.jsonable import plain
from shuffledp.validation import whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shuffledp.release.free_text import TextSimulation
    from shuffledp.release.simulate import RangeSimulation, Simulation


def run(
    files: given.Files,
    column: given.Columns,
    epsilon: given.Epsilon,
    delta: given.Delta,
    *,
    out: Annotated[
        list[Path] | None,
        option("FILE", "Write the result to a .html, .csv, .parquet or .json file; may be repeated.", panel=RESULT),
    ] = None,
    force: given.Force = False,
    json: given.Json = False,
    explain: given.Explain = False,
    rows: given.Rows,
    texts: given.Texts,
    mechanism: given.Mechanism,
    messages: Annotated[
        bool, flag("--messages", "Really make, shuffle and count every message (needs --domain).", panel=PROTOCOL)
    ] = False,
    consistent: Annotated[
        bool, flag("--consistent", "Adjust estimates: not negative, and the right total.", panel=RESULT)
    ] = False,
    quantiles: Annotated[
        str | None,
        option("SHARES", "Quantiles of ordered values: 0.25,0.5,0.75; needs --edges, --by or --domain.", panel=RESULT),
    ] = None,
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
    master: given.Master = None,
    reading: given.FileFormat,
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
    from shuffledp.cli.domains import read_possible_values
    from shuffledp.cli.release_output import parse_shares, publish
    from shuffledp.data import find_files
    from shuffledp.explain.files import check_writable
    from shuffledp.release.free_text import NOT_WITH_BLOCK, Blocklist, hide
    from shuffledp.release.private_histogram import private_histogram

    whole("top", 1 if top is None else top)
    check_ledger(ledger)
    blocked = None if block is None else Blocklist.read(block)
    if blocked is not None and (evaluate or rows.values_per_person > 1):
        raise ParameterError(NOT_WITH_BLOCK)  # before a release is spent
    shares = None if quantiles is None else parse_shares(quantiles)
    data = find_files(files, **vars(reading))
    if data.passed_over:
        print_note(f"skipped {counted(len(data.passed_over), 'file')} of unknown format")
    inputs, outputs = [Path(path) for path in data.paths], out or []
    check_outputs(outputs, [*inputs, *([] if ledger is None else [ledger])], check=check_writable, force=force)
    choices = texts.choices()
    results = {"consistent": consistent, "quantiles": quantiles, "ranges": ranges}
    if choices is not None:
        _check_for_texts(column, {**vars(rows), **vars(mechanism), **results})
    possible = read_possible_values(column, rows, data_files=inputs, outputs=outputs, delimiter=reading.delimiter)
    asked: dict[str, Any] = {
        "epsilon": epsilon,
        "delta": delta,
        "user": rows.user,
        "drop_missing": rows.drop_missing,
        "beta": beta,
        "evaluate": evaluate,
        "ledger": ledger,
        "engine": engine,
        "master": master,
    }
    release = None
    try:
        with ProgressBar() as progress, quiet_start() if engine == "spark" else nullcontext():
            if choices is not None:
                from shuffledp.release.free_text import private_texts

                release = private_texts(
                    data, texts=choices, column=column[0], processes=_cores(), progress=progress, **asked
                )
            else:
                release = private_histogram(
                    data,
                    **asked,
                    **_of_values(column, rows, mechanism, possible),
                    messages=messages,
                    consistent=consistent,
                    quantiles=shares,
                    ranges=ranges,
                    progress=progress,
                )
        publish(hide(release, blocked), out=outputs, top=top, as_json=json, explain=explain)
    except BaseException as error:
        if ledger is not None and release is not None:
            error.add_note("the release was entered in the ledger and counts as spent")
        raise


def _cores() -> int:
    return os.cpu_count() or 1


def _of_values(column: list[str], rows: given.Rows, mechanism: given.Mechanism, possible: Any) -> dict[str, Any]:
    """Return what the library asks about values, but not about texts."""
    return {
        "column": column if len(column) > 1 else column[0],
        "values_per_person": rows.values_per_person,
        "count_capped": rows.count_capped,
        "where": rows.where,
        "domain": possible,
        "other": rows.other,
        **vars(mechanism),
    }


_NOT_FOR_TEXTS = (
    "domain", "edges", "by", "start", "stop", "date_format", "other", "where", "count_capped",
    "estimator", "consistent", "quantiles", "ranges",
)  # fmt: skip


def _check_for_texts(column: Sequence[str], options: Mapping[str, Any]) -> None:
    """Refuse options that are not for free text; one that was left out is None or False."""
    wrong = {name: options[name] for name in _NOT_FOR_TEXTS if name in options}
    wrong["values_per_person"] = options["values_per_person"] > 1
    wrong["trust"] = options["trust"] != "shuffler"
    wrong["protocol"] = options["protocol"] not in (None, "hashed")
    for name, value in wrong.items():
        if value:
            raise ParameterError(f"{name} must be left out with --free-text")
    if len(column) > 1:
        raise ParameterError("column must be given once with --free-text")


def simulate(
    files: given.Files,
    column: given.Columns,
    epsilon: given.Epsilon,
    delta: given.Delta,
    *,
    trials: Annotated[int, integer("How many releases to simulate.")] = 100,
    seed: given.Seed = 0,
    rows: given.Rows,
    texts: given.Texts,
    mechanism: given.Mechanism,
    ranges: given.Ranges = False,
    beta: given.Beta = 0.05,
    reading: given.FileFormat,
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

    data = find_files(files, **vars(reading))
    choices = texts.choices()
    if choices is not None:
        _check_for_texts(column, {**vars(rows), **vars(mechanism), "ranges": ranges})
    inputs = [Path(path) for path in data.paths]
    possible = read_possible_values(column, rows, data_files=inputs, outputs=[], delimiter=reading.delimiter)
    asked: dict[str, Any] = {
        "epsilon": epsilon,
        "delta": delta,
        "trials": trials,
        "seed": seed,
        "user": rows.user,
        "drop_missing": rows.drop_missing,
        "beta": beta,
    }
    with ProgressBar() as progress:
        if choices is not None:
            from shuffledp.release.free_text import simulate_texts

            found = simulate_texts(
                data, texts=choices, column=column[0], processes=_cores(), progress=progress, **asked
            )
        else:
            values = _of_values(column, rows, mechanism, possible)
            result = simulated(data, **asked, **values, ranges=ranges, progress=progress)
    if choices is not None:
        _show_texts(found, as_json=json, explain=explain)
    elif json:
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
    from shuffledp.explain.plan import simulation_errors, simulation_headline, simulation_sentences

    print_title(simulation_headline(result))
    errors = result.error_quantiles()
    table = new_table(*numbers(*errors))
    table.add_row(*(f"{error:,.1f}" for error in errors.values()))
    print_whole(table)
    print_indented(f"quantiles of {simulation_errors(result)}")
    print_sentences(simulation_sentences(result))
    print_details(lambda: SIMULATED, explain=explain)


def _show_texts(found: TextSimulation, *, as_json: bool, explain: bool) -> None:
    from shuffledp.explain.bars import people
    from shuffledp.explain.plan import SIMULATION_EXPLAINED, text_simulation_headline, text_simulation_sentences

    if as_json:
        more = {"recall": found.recall, "precision": found.precision, "covered": found.covered}
        print_json({**plain(found), **more})
        return
    print_title(text_simulation_headline(found))
    table = new_table(
        Column("text", overflow="fold"),
        *numbers("true", "estimate", f"{confidence(found.beta)} interval"),
        caption="texts of the last release",
        caption_justify="left",
    )
    for row in found.rows[:_TEXTS_SHOWN]:
        table.add_row(Text(shown(row.text)), f"{row.true:,}", people(row.estimate), f"{row.low:,} to {row.high:,}")
    print_whole(table)
    print_sentences(text_simulation_sentences(found))
    print_details(lambda: SIMULATION_EXPLAINED, explain=explain)


_TEXTS_SHOWN = 15


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


_MOST_PEOPLE = 10_000_000  # about a gigabyte
_POPULATION_SEED = 1990  # the year of the census; the people of the demo are always the same


def demo(
    people: Annotated[int, integer("How many people to sample.")] = 200_000,
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
    from shuffledp.cli.release_output import publish
    from shuffledp.explain.files import check_writable
    from shuffledp.protocols.target import Target
    from shuffledp.release.private_histogram import private_histogram

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
    from shuffledp.explain.files import parquet_bytes

    try:
        import pyarrow
    except ImportError:
        raise MissingExtraError("pyarrow", extra="files") from None
    write_whole(path, parquet_bytes(pyarrow.table({"surname": population(people)})))

"""The public list of possible values, from a file.

What is possible in each column, from the options --domain, --edges, --by, --from and --to.

With one column, an option has a value alone; with several, COLUMN=VALUE says which one is meant. A column is described
in one way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from shuffledp.atomic_file import refuse_same
from shuffledp.data import Source, open_engine
from shuffledp.data.files import FORMATS
from shuffledp.errors import DataError, ParameterError
from shuffledp.formatting import shown
from shuffledp.histogram.edges import Edges
from shuffledp.histogram.periods import Periods


def read_domain(path: Path, column: str, *, data_files: list[Path], delimiter: str | None) -> list[Any]:
    """The labels in a file: a table with a column of that name, or any other file with one label per line.

    Values that come from the data are no public list, so the data files themselves are refused.
    """
    refuse_same(path, data_files, "a domain must be publicly known, it")
    if any(suffix.lower() in FORMATS for suffix in path.suffixes):
        source = Source.of(path, column=column, drop_missing=True, delimiter=delimiter)
        with closing(open_engine(source)) as table:
            labels = [label for batch, _ in table.counts() for label in batch.to_pylist()]
        labels.sort(key=lambda label: (str(type(label)), label))
    else:
        try:
            lines = path.read_text(encoding="utf-8-sig").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8"
            raise DataError(f"cannot read the domain {path}: {reason}") from None
        labels = list(_different(path, lines))
    if not labels:
        raise DataError(f"the domain {path} lists no value")
    return labels


def _different(path: Path, lines: list[str]) -> Iterator[str]:
    """The labels of lines that are not blank; the list is public, so that one that comes twice may be shown."""
    first: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        label = line.removesuffix("\r")
        if label in first:
            raise DataError(f"the domain {path} lists {shown(label)} twice, in lines {first[label]:,} and {number:,}")
        if label.strip():
            first[label] = number
            yield label


def read_possible_values(
    columns: Sequence[str],
    *,
    lists: Sequence[str],
    edges: Sequence[str],
    by: Sequence[str],
    start: Sequence[str],
    stop: Sequence[str],
    data_files: list[Path],
    outputs: Sequence[Path],
    delimiter: str | None,
) -> Any:
    """What is possible, as `private_histogram` takes it: of one column, or by name; None where anything is.

    A list must be in a file of its own, and no output may overwrite it.
    """

    def read_list(path: Path, column: str) -> Sequence[Any]:
        for output in outputs:
            refuse_same(output, [path], "an output")
        return read_domain(path, column, data_files=data_files, delimiter=delimiter)

    found = possible_values(columns, domain=lists, edges=edges, by=by, start=start, stop=stop, read_list=read_list)
    if not found:
        return None
    if open_columns := [column for column in columns if column not in found]:
        raise ParameterError(
            f"of several columns all or none have possible values: say with --domain, --edges or --by what "
            f"{' and '.join(open_columns)} can be"
        )
    return found if len(columns) > 1 else found[columns[0]]


def possible_values(
    columns: Sequence[str],
    *,
    domain: Sequence[str] = (),
    edges: Sequence[str] = (),
    by: Sequence[str] = (),
    start: Sequence[str] = (),
    stop: Sequence[str] = (),
    read_list: Callable[[Path, str], Sequence[Any]],
) -> dict[str, Any]:
    """What is said about each column: a list of labels (which `read_list` reads from a file), Edges or Periods.

    A column of which nothing is said is not among them.
    """
    lists, intervals, lengths, starts, stops = (
        _by_column(option, given, columns)
        for option, given in (
            ("--domain", domain), ("--edges", edges), ("--by", by), ("--from", start), ("--to", stop),
        )
    )  # fmt: skip
    found: dict[str, Any] = {}
    for column in columns:
        ways = {"--domain": lists, "--edges": intervals, "--by": lengths}
        said = [option for option, given in ways.items() if column in given]
        if len(said) > 1:
            raise ParameterError(f"{' and '.join(said)} describe column {column!r} twice: leave out all but one")
        if column in lists:
            found[column] = read_list(Path(lists[column]), column)
        elif column in intervals:
            found[column] = Edges(intervals[column])
        elif column in lengths:
            found[column] = _periods(column, lengths[column], starts, stops)
        if column not in lengths and (column in starts or column in stops):
            raise ParameterError("--from and --to say which dates are counted --by hour, day, week, month or year")
    return found


def _periods(column: str, by: str, starts: Mapping[str, str], stops: Mapping[str, str]) -> Periods:
    absent = [option for option, given in (("--from", starts), ("--to", stops)) if column not in given]
    if absent:
        raise ParameterError(
            f"--by {by} needs {' and '.join(absent)}: which dates are possible must be known without the data, such as "
            "--from 2026-01-01 --to 2027-01-01"
        )
    return Periods(by, start=starts[column], stop=stops[column])


def _by_column(option: str, given: Sequence[str], columns: Sequence[str]) -> dict[str, str]:
    """The value of an option for each column; the longest name counts where one begins like another."""
    found: dict[str, str] = {}
    for text in given:
        named = max((column for column in columns if text.startswith(f"{column}=")), key=len, default=None)
        if named is None and len(columns) > 1:
            raise ParameterError(
                f"{option} must say which column it is for, such as {option} {columns[0]}={text}: there are "
                f"{', '.join(columns)}"
            )
        column, value = (columns[0], text) if named is None else (named, text.removeprefix(f"{named}="))
        if column in found:
            raise ParameterError(f"{option} is given twice for column {column!r}")
        found[column] = value
    return found

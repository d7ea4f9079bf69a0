"""The possible values of each column, from --domain, --edges, --by, --from, --to and --date-format.

With one column, an option has just a value; with several, COLUMN=VALUE names the column. In --domain, text with a comma
and without a path separator is the list itself; anything else is the name of a file, whichever files exist.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from shuffledp.atomic_file import refuse_same
from shuffledp.cli.options import Rows
from shuffledp.data import Source, open_engine
from shuffledp.data.files import FORMATS
from shuffledp.errors import DataError, ParameterError
from shuffledp.formatting import shown
from shuffledp.histogram.edges import Edges
from shuffledp.histogram.periods import Periods


def read_domain(path: Path, column: str, *, data_files: list[Path], delimiter: str | None) -> list[Any]:
    """Read labels from a table with a column of that name, or from a text file with one label per line.

    The data files themselves are refused, because their values are not public.
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
            one_label = isinstance(error, FileNotFoundError) and str(path) == path.stem
            hint = f"; a list of one label ends in a comma: {path}," if one_label else ""
            raise DataError(f"cannot read the domain {path}: {reason}{hint}") from None
        labels = list(_different(path, lines))
    if not labels:
        raise DataError(f"the domain {path} is empty")
    return labels


def _different(path: Path, lines: list[str]) -> Iterator[str]:
    """Yield the labels of lines that are not blank, and refuse duplicates; the list is public, so errors show them."""
    first: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        label = line.removesuffix("\r")
        if label in first:
            raise DataError(f"the domain {path} lists {shown(label)} twice, in lines {first[label]:,} and {number:,}")
        if label.strip():
            first[label] = number
            yield label


def inline_list(text: str) -> list[str] | None:
    """Return the labels of a list such as Male,Female; None if the text is the name of a file."""
    if not text.strip():
        raise ParameterError("--domain must be a list such as a,b,c or the name of a file, got nothing")
    if "," not in text or any(sign in text for sign in _SEPARATORS):
        return None
    labels = text.removesuffix(",").split(",")
    wrong = next((label for label in labels if label != label.strip() or not label), None)
    if wrong is not None:
        what = "an empty label" if not wrong.strip() else f"the label {wrong!r}"
        raise ParameterError(
            f"--domain must have labels between its commas, without spaces around them, got {what}: correct it, or "
            "give a file with one label per line"
        )
    if repeated := next((label for label in labels if labels.count(label) > 1), None):
        raise ParameterError(f"--domain must have each label once, got {shown(repeated)} twice")
    return labels


def read_answers(text: str) -> list[str]:
    """Return the possible answers of a task, from a list or a file."""
    inline = inline_list(text)
    if inline is not None:
        return inline
    return [str(label) for label in read_domain(Path(text), "answer", data_files=[], delimiter=None)]


_SEPARATORS = ("/", "\\")
"""Of paths. A file whose name has a comma is written ./a,b.txt."""


def read_possible_values(
    columns: Sequence[str], rows: Rows, *, data_files: list[Path], outputs: Sequence[Path], delimiter: str | None
) -> Any:
    """Return the possible values as `private_histogram` takes them: of one column, or by column; None for any value.

    No output may overwrite the file of a list.
    """

    def read_list(path: Path, column: str) -> Sequence[Any]:
        for output in outputs:
            refuse_same(output, [path], "an output")
        return read_domain(path, column, data_files=data_files, delimiter=delimiter)

    found = possible_values(columns, rows, read_list=read_list)
    if not found:
        return None
    return found if len(columns) > 1 else found[columns[0]]


def possible_values(
    columns: Sequence[str], rows: Rows, *, read_list: Callable[[Path, str], Sequence[Any]]
) -> dict[str, Any]:
    """Return the given possible values by column: a list of labels (read by `read_list`), Edges or Periods."""
    lists, intervals, lengths, starts, stops, formats = (
        _by_column(option, given or (), columns)
        for option, given in (
            ("--domain", rows.domain),
            ("--edges", rows.edges),
            ("--by", rows.by),
            ("--from", rows.start),
            ("--to", rows.stop),
            ("--date-format", rows.date_format),
        )
    )
    found: dict[str, Any] = {}
    for column in columns:
        ways = {"--domain": lists, "--edges": intervals, "--by": lengths}
        options = [option for option, given in ways.items() if column in given]
        if len(options) > 1:
            raise ParameterError(f"{' and '.join(options)} are both given for column {column!r}: leave out all but one")
        if column in lists:
            inline = inline_list(lists[column])
            found[column] = read_list(Path(lists[column]), column) if inline is None else inline
        elif column in intervals:
            found[column] = Edges(intervals[column])
        elif column in lengths:
            found[column] = _periods(column, lengths[column], starts, stops, formats.get(column))
        if column not in lengths and (column in starts or column in stops or column in formats):
            raise ParameterError("--from, --to and --date-format need --by: hour, day, week, month or year")
    return found


def _periods(
    column: str, by: str, starts: Mapping[str, str], stops: Mapping[str, str], date_format: str | None
) -> Periods:
    absent = [option for option, given in (("--from", starts), ("--to", stops)) if column not in given]
    if absent:
        raise ParameterError(
            f"--by {by} needs {' and '.join(absent)}, such as --from 2026-01-01 --to 2027-01-01: the possible dates "
            "must not depend on the data"
        )
    return Periods(by, start=starts[column], stop=stops[column], date_format=date_format)


def _by_column(option: str, given: Sequence[str], columns: Sequence[str]) -> dict[str, str]:
    """Return the value of an option by column; the longest matching column name counts."""
    found: dict[str, str] = {}
    for text in given:
        named = max((column for column in columns if text.startswith(f"{column}=")), key=len, default=None)
        if named is None and len(columns) > 1:
            raise ParameterError(
                f"{option} must name its column, such as {option} {columns[0]}={text.rpartition('=')[2]}; the columns "
                f"are {', '.join(columns)}"
            )
        column, value = (columns[0], text) if named is None else (named, text.removeprefix(f"{named}="))
        if not value:
            raise ParameterError(f"{option} must have a value for column {column!r}, got none")
        if column in found:
            raise ParameterError(f"{option} is given twice for column {column!r}")
        found[column] = value
    return found

"""The public list of possible values, from a file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from shuffledp.engines import Column, find_files, open_engine
from shuffledp.engines.sources.files import FORMATS
from shuffledp.errors import DataError
from shuffledp.report.whole_file import refuse_same
from shuffledp.words import shown


def read_domain(path: Path, column: str, *, data_files: list[Path], delimiter: str | None) -> list[Any]:
    """The labels in a file: a table with a column of that name, or any other file with one label per line.

    Values that come from the data are no public list, so the data files themselves are refused.
    """
    refuse_same(path, data_files, "a domain must be publicly known, it")
    if any(suffix.lower() in FORMATS for suffix in path.suffixes):
        files = find_files([path], delimiter=delimiter)
        with closing(open_engine(Column(data=files, names=(column,), drop_missing=True))) as table:
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

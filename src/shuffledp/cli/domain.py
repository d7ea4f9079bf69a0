"""The public list of possible values, from a file."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

from shuffledp.engines import Column, find_files, open_engine
from shuffledp.engines.files import FORMATS
from shuffledp.errors import DataError
from shuffledp.report.whole_file import refuse_same


def read_domain(path: Path, column: str, *, data_files: list[Path], delimiter: str | None) -> list[Any]:
    """The labels in a file: a table with a column of that name, or any other file with one label per line.

    Values that come from the data are no public list, so the data files themselves are refused.
    """
    refuse_same(path, data_files, "a domain must be publicly known, it")
    if any(suffix.lower() in FORMATS for suffix in path.suffixes):
        files = find_files([path], delimiter=delimiter)
        with closing(open_engine(Column(data=files, name=column, drop_missing=True))) as table:
            labels = [label for batch, _ in table.counts() for label in batch.to_pylist()]
        labels.sort(key=lambda label: (str(type(label)), label))
    else:
        try:
            lines = path.read_text(encoding="utf-8-sig").split("\n")
            labels = [line.removesuffix("\r") for line in lines if line.strip()]
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not text"
            raise DataError(f"cannot read the domain {path}: {reason}") from None
    if not labels:
        raise DataError(f"the domain {path} lists no value")
    return labels

"""Files of reports: Parquet with one column of bytes, `report`, each as a person sent it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from shuffledp.collection.files.tables import find_tables, needs_arrow, new_table, opened_table, read_group
from shuffledp.errors import DataError, ParameterError
from shuffledp.report.whole_file import check_folder, refuse_existing

REPORT = "report"
KIND = "shuffledp reports 1"
AT_ONCE = 4096
"""Reports in a group of rows: half a second of opening, so that a machine with many cores has work for all."""


def write_reports(path: str | os.PathLike[str], reports: Iterable[bytes], *, overwrite: bool = False) -> int:
    """Writes sealed reports to a new Parquet file, whole or not at all; returns how many there were.

    For whoever takes people's reports and does not run a shuffler's server. The order does not matter, and nothing but
    the reports is written: no address, no time.
    """
    needs_arrow()
    import pyarrow

    target, number, waiting = Path(path), 0, iter(reports)
    if target.suffix != ".parquet":
        raise ParameterError(f"a file of reports must end in .parquet; got {target.name}")
    check_folder(target)
    if not overwrite:
        refuse_existing(target, how="choose another name, or set overwrite=True")
    schema = pyarrow.schema([pyarrow.field(REPORT, pyarrow.binary(), nullable=False)])
    with new_table(target, schema, said={"kind": KIND}) as write:
        while block := list(islice(waiting, AT_ONCE)):
            if not all(isinstance(report, bytes) for report in block):
                raise ParameterError("reports must be bytes, as a client makes them")
            write(pyarrow.table([pyarrow.array(block, pyarrow.binary())], schema=schema))
            number += len(block)
    return number


class ReportGroup(NamedTuple):
    """A group of rows of a file of reports."""

    path: Path
    group: int
    rows: int

    def read(self) -> list[bytes | None]:
        """The reports, in the order of the file; None where there is none."""
        found: list[bytes | None] = read_group(self.path, self.group, REPORT).to_pylist()
        return found


def find_reports(given: Sequence[str | os.PathLike[str]]) -> list[ReportGroup]:
    """The groups of rows of all files that are meant, in the order of their names."""
    return [group for path in find_tables(given) for group in _groups(path)]


def _groups(path: Path) -> Iterator[ReportGroup]:
    import pyarrow

    with opened_table(path) as file:
        schema, rows = file.schema_arrow, [_rows(file, group) for group in range(file.metadata.num_row_groups)]
    if REPORT not in schema.names:
        raise DataError(f"{path} has no column {REPORT!r}: the first shuffler takes files of reports")
    kind = schema.field(REPORT).type
    types = pyarrow.types
    if not (types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind)):
        raise DataError(f"the column {REPORT!r} of {path} must hold bytes, not {kind}")
    yield from (ReportGroup(path, group, number) for group, number in enumerate(rows))


def _rows(file: Any, group: int) -> int:
    return int(file.metadata.row_group(group).num_rows)

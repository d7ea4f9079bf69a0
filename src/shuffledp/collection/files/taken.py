"""What a first shuffler remembers of reports that are in a batch: enough to know them again, and nothing of theirs.

For each the lot of its id and the digest of its content (files/lots.py), in the order of the lots.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from shuffledp.collection.files.lots import LOT_BYTES, Entries
from shuffledp.collection.files.tables import about, bytes_of, fixed_width, needs_arrow, new_table, opened_table
from shuffledp.collection.task import Task
from shuffledp.errors import DataError

KIND = "shuffledp taken 1"
TAKEN_FILE = "taken.parquet"
_COLUMNS = ("lot", "digest")
_ROWS = 1 << 16


def write_taken(path: Path, task: Task, entries: Entries) -> None:
    """Writes what is remembered."""
    import pyarrow

    kind = pyarrow.binary(LOT_BYTES)
    schema = pyarrow.schema([pyarrow.field(name, kind, nullable=False) for name in _COLUMNS])
    with new_table(path, schema, said={"kind": KIND, "task": task.name}) as write:
        for start in range(0, len(entries), _ROWS):
            part = slice(start, start + _ROWS)
            columns = [fixed_width(rows[part].tobytes(), LOT_BYTES) for rows in (entries.lots, entries.digests)]
            write(pyarrow.table(columns, schema=schema))


def read_taken(folders: Iterable[Path], task: Task) -> Entries:
    """What the folders of earlier runs remember."""
    needs_arrow()
    import pyarrow

    found = [Entries.none()]
    for folder in folders:
        path = folder / TAKEN_FILE
        if not path.exists():
            raise DataError(
                f"there is no {path}, which a run of the first shuffler leaves beside its batches: before must be the "
                "folder of batches of an earlier run"
            )
        with opened_table(path) as file:
            said, table = about(file, path), file.read()
        if said != {"kind": KIND, "task": task.name}:
            raise DataError(f"{path} is of another task")
        if table.schema.names != list(_COLUMNS) or any(
            kind != pyarrow.binary(LOT_BYTES) for kind in table.schema.types
        ):
            raise DataError(f"{path} must have the columns {' and '.join(_COLUMNS)}, of {LOT_BYTES} bytes each")
        rows = [
            np.frombuffer(bytes_of(column.combine_chunks()), dtype=np.uint8).reshape(-1, LOT_BYTES)
            for column in table.columns
        ]
        found.append(Entries(*rows))
    return Entries.join(found)

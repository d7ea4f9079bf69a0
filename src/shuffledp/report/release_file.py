"""A release as a file, in the format of its ending."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from shuffledp.errors import ParameterError
from shuffledp.jobs.release import Release
from shuffledp.report.page import page
from shuffledp.report.whole_file import check_folder, write_whole


def parquet_bytes(table: Any) -> bytes:
    """An Arrow table as a Parquet file."""
    import pyarrow
    import pyarrow.parquet

    file = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(table, file)
    return bytes(file.getvalue())


FORMATS: dict[str, Callable[[Release], bytes]] = {
    ".html": lambda release: page(release).encode(),
    ".csv": lambda release: release.estimate.to_csv().encode(),
    ".json": lambda release: release.to_json().encode(),
    ".parquet": lambda release: parquet_bytes(release.estimate.to_arrow()),
}
"""The content of a file, by its ending."""


def check_writable(path: Path) -> None:
    """Refuses a path that `save` could not write, before any work is done."""
    if path.suffix.lower() not in FORMATS:
        raise ParameterError(f"an output must end in {', '.join(FORMATS)}; got {path.name}")
    check_folder(path)


def save(release: Release, path: Path) -> Path:
    """Writes the release in the format of the path's ending; an interrupt leaves what was there before."""
    check_writable(path)
    write_whole(path, FORMATS[path.suffix.lower()](release))
    return path

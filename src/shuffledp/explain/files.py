"""A release as a file, in the format of its ending."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from shuffledp.atomic_file import check_folder, refuse_existing, write_whole
from shuffledp.errors import ParameterError
from shuffledp.explain.page import page
from shuffledp.release.release import Release
from shuffledp.release.serialize import about


def parquet_bytes(table: Any) -> bytes:
    """An Arrow table as a Parquet file."""
    import pyarrow
    import pyarrow.parquet

    file = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(table, file)
    return bytes(file.getvalue())


def with_about(release: Release) -> Any:
    """The table of a release; the metadata of its schema say all that the JSON file says but the histogram."""
    table = release.estimate.to_arrow()
    return table.replace_schema_metadata({"shuffledp": json.dumps(about(release), allow_nan=False)})


FORMATS: dict[str, Callable[[Release], bytes]] = {
    ".html": lambda release: page(release).encode(),
    ".csv": lambda release: release.estimate.to_csv().encode(),
    ".json": lambda release: release.to_json().encode(),
    ".parquet": lambda release: parquet_bytes(with_about(release)),
}
"""The content of a file, by its ending."""


def check_writable(path: Path) -> None:
    """Refuses a path that `save` could not write, before any work is done."""
    if path.suffix.lower() not in FORMATS:
        raise ParameterError(f"an output must end in {', '.join(FORMATS)}; got {path.name}")
    check_folder(path)


def save(release: Release, path: Path, *, overwrite: bool = True) -> Path:
    """Writes the release in the format of the path's ending; an interrupt leaves what was there before."""
    check_writable(path)
    if not overwrite:
        refuse_existing(path, how="choose another name, or set overwrite=True")
    write_whole(path, FORMATS[path.suffix.lower()](release))
    return path

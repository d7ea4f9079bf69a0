"""A release as a file: the formats, their media types, and saving."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from shuffledp.atomic_file import check_folder, refuse_existing, write_whole
from shuffledp.errors import ParameterError
from shuffledp.explain.page import page
from shuffledp.release.release import Release
from shuffledp.release.serialize import about


class Format(NamedTuple):
    """A file format: its media type, and a function from a release to the content of the file."""

    media_type: str
    content: Callable[[Release], bytes]


def parquet_bytes(table: Any) -> bytes:
    """Return an Arrow table as a Parquet file."""
    import pyarrow
    import pyarrow.parquet

    file = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(table, file)
    return bytes(file.getvalue())


def arrow_bytes(table: Any) -> bytes:
    """Return an Arrow table as an Arrow file."""
    import pyarrow

    file = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    return bytes(file.getvalue())


def with_about(release: Release) -> Any:
    """Return the table of a release; its schema's metadata has everything else that the JSON file has."""
    table = release.estimate.to_arrow()
    return table.replace_schema_metadata({"shuffledp": json.dumps(about(release), allow_nan=False)})


FORMATS = {
    ".html": Format("text/html; charset=utf-8", lambda release: page(release).encode()),
    ".csv": Format("text/csv; charset=utf-8", lambda release: release.estimate.to_csv().encode()),
    ".json": Format("application/json", lambda release: release.to_json().encode()),
    ".parquet": Format("application/vnd.apache.parquet", lambda release: parquet_bytes(with_about(release))),
}
"""The formats of a saved release, by the ending of the file."""

ARROW = Format("application/vnd.apache.arrow.file", lambda release: arrow_bytes(with_about(release)))
"""What an analyzer offers to programs besides `FORMATS`."""


def check_writable(path: Path) -> None:
    """Refuse a path that `save` could not write, before any work is done."""
    if path.suffix.lower() not in FORMATS:
        raise ParameterError(f"an output must end in {', '.join(FORMATS)}; got {path.name}")
    check_folder(path)


def save(release: Release, path: Path, *, overwrite: bool = True, command: str | None = None) -> Path:
    """Write the release in the format of the path's ending; an interrupt leaves the previous file as it was.

    A report names `command`, the command line that makes such a release.
    """
    check_writable(path)
    if not overwrite:
        refuse_existing(path, how="choose another name, or set overwrite=True")
    ending = path.suffix.lower()
    content = page(release, command=command).encode() if ending == ".html" else FORMATS[ending].content(release)
    write_whole(path, content)
    return path

"""Results as files: the formats of a release, their media types, and saving."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
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


def _arrow_bytes(table: Any) -> bytes:
    import pyarrow

    file = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    return bytes(file.getvalue())


def _with_about(release: Release) -> Any:
    """The table of a release; its schema's metadata has everything else that the JSON file has."""
    table = release.estimate.to_arrow()
    return table.replace_schema_metadata({"shuffledp": json.dumps(about(release), allow_nan=False)})


FORMATS = {
    ".html": Format("text/html; charset=utf-8", lambda release: page(release).encode()),
    ".csv": Format("text/csv; charset=utf-8", lambda release: release.estimate.to_csv().encode()),
    ".json": Format("application/json", lambda release: release.to_json().encode()),
    ".parquet": Format("application/vnd.apache.parquet", lambda release: parquet_bytes(_with_about(release))),
}
"""The formats of a saved release, by the ending of the file."""

ARROW = Format("application/vnd.apache.arrow.file", lambda release: _arrow_bytes(_with_about(release)))
"""What an analyzer offers to programs besides `FORMATS`."""


def check_writable(path: Path, endings: Collection[str] = FORMATS) -> None:
    """Refuse a path that cannot be written in the format of its ending, before any work is done."""
    if path.suffix.lower() not in endings:
        raise ParameterError(f"an output must end in {', '.join(endings)}; got {path.name}")
    check_folder(path)


def write(path: Path, endings: Collection[str], content: Callable[[str], bytes], *, overwrite: bool) -> Path:
    """Write the content for the path's ending; an interrupt leaves the previous file as it was."""
    check_writable(path, endings)
    if not overwrite:
        refuse_existing(path, how="choose another name, or set overwrite=True")
    write_whole(path, content(path.suffix.lower()))
    return path


def save(release: Release, path: Path, *, overwrite: bool = True, command: str | None = None) -> Path:
    """Write the release in the format of the path's ending; an interrupt leaves the previous file as it was.

    A report names `command`, the command line that makes such a release.
    """

    def content(ending: str) -> bytes:
        return page(release, command=command).encode() if ending == ".html" else FORMATS[ending].content(release)

    return write(path, FORMATS, content, overwrite=overwrite)

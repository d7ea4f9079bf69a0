"""Writes a release to a file, whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from shuffledp.errors import DataError, ParameterError
from shuffledp.jobs.release import Release
from shuffledp.report.page import page


def parquet_bytes(table: Any) -> bytes:
    """An Arrow table as a Parquet file."""
    import pyarrow
    import pyarrow.parquet

    file = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(table, file)
    return bytes(file.getvalue())


WRITERS: dict[str, Callable[[Release], bytes]] = {
    ".html": lambda release: page(release).encode(),
    ".csv": lambda release: release.estimate.to_csv().encode(),
    ".json": lambda release: release.to_json().encode(),
    ".parquet": lambda release: parquet_bytes(release.estimate.to_arrow()),
}


def check_writable(path: Path) -> None:
    """Refuses a path that `save` could not write, before any work is done."""
    if path.suffix.lower() not in WRITERS:
        raise ParameterError(f"an output must end in {', '.join(WRITERS)}; got {path.name}")
    check_folder(path)


def check_folder(path: Path) -> None:
    """Refuses a path in a folder where nothing can be written."""
    if path.is_dir():
        raise DataError(f"cannot write {path}: it is a folder")
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror}") from None


def refuse_same(path: Path, others: Iterable[Path], what: str) -> None:
    """Refuses a path that is one of the given files."""
    for other in others:
        if path == other or (path.exists() and other.exists() and path.samefile(other)):
            raise ParameterError(f"{what} may not be the same file as an input: {path}")


def save(release: Release, path: Path) -> Path:
    """Writes the release in the format of the path's ending; an interrupt leaves what was there before."""
    check_writable(path)
    write_whole(path, WRITERS[path.suffix.lower()](release))
    return path


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file that is never seen half written."""
    handle, partial = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(handle, "wb") as file:  # noqa: PTH123  (a handle, not a path)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        Path(partial).chmod(0o666 & ~mask)
        Path(partial).replace(path)
    except OSError as error:
        Path(partial).unlink(missing_ok=True)
        raise DataError(f"cannot write {path}: {error.strerror}") from None
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise

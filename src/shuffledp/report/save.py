"""Writes a release to a file, whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from shuffledp.errors import DataError, ParameterError
from shuffledp.release import Release
from shuffledp.report.page import page


def _parquet(release: Release) -> bytes:
    table = release.estimate.to_arrow()
    import pyarrow
    import pyarrow.parquet

    file = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(table, file)
    return bytes(file.getvalue())


WRITERS: dict[str, Callable[[Release], bytes]] = {
    ".html": lambda release: page(release).encode(),
    ".csv": lambda release: release.estimate.to_csv().encode(),
    ".json": lambda release: release.to_json().encode(),
    ".parquet": _parquet,
}


def check_writable(path: Path) -> None:
    """Refuses a path that `save` could not write, before any work is done."""
    if path.suffix not in WRITERS:
        raise ParameterError(f"an output must end in {', '.join(WRITERS)}; got {path.name}")
    if path.is_dir():
        raise DataError(f"cannot write {path}: it is a folder")
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror}") from None


def save(release: Release, path: Path) -> None:
    """Writes the release in the format of the path's ending; an interrupt leaves what was there before."""
    check_writable(path)
    content = WRITERS[path.suffix](release)
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

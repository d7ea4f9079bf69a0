"""Atomic file writes, and checks of a path."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from shuffledp.errors import DataError, ParameterError


def check_folder(path: Path) -> None:
    """Refuse a path in a folder that is not writable."""
    if path.is_dir():
        raise DataError(f"cannot write {path}: it is a folder")
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror}") from None


def refuse_existing(path: Path, *, how: str) -> None:
    """Refuse to overwrite a file; `how` is a hint."""
    if path.exists():
        raise DataError(f"{path} exists already: {how}")


def refuse_same(path: Path, others: Iterable[Path], what: str) -> None:
    """Refuse a path that is one of the given files."""
    for other in others:
        if path == other or (path.exists() and other.exists() and path.samefile(other)):
            raise ParameterError(f"{what} may not be the same file as an input: {path}")


def sync_folder(folder: Path) -> None:
    """Make created and removed names in a folder durable, if the platform can."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file atomically."""
    check_folder(path)
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

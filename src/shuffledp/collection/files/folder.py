"""A folder of results that is there whole or not at all."""

from __future__ import annotations

import re
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from shuffledp.collection.files.tables import PARTIAL
from shuffledp.errors import DataError, ParameterError

_OURS = re.compile(r"[0-9a-f]{32}(\.parquet)?|(rest|taken)\.parquet")
"""Names of what we write in such a folder: with anything else in it, it is not ours to replace."""


def kept_folder(out: Path) -> Path:
    """The folder beside that of the batches, for what never travels: reports that wait, and which ones are taken."""
    return out.with_name(f"{out.name}.kept")


def check_free(out: Path, *, inputs: Iterable[Path], force: bool) -> None:
    """Refuses a folder that cannot be made, or that would take away what is read or what is somebody else's."""
    if not out.parent.is_dir():
        raise DataError(f"cannot write {out}: there is no folder {out.parent}")
    if not out.exists() and not out.is_symlink():
        return
    if not force:
        raise ParameterError(f"{out} already exists: give another name, or --force to replace what is there")
    if out.is_symlink() or not out.is_dir() or any(not _OURS.fullmatch(entry.name) for entry in out.iterdir()):
        raise ParameterError(f"{out} is no folder of batches alone, so it is not replaced: give another name")
    if any(path.resolve().is_relative_to(out.resolve()) for path in inputs):
        raise ParameterError(f"{out} holds files that are read: give another name")


@contextmanager
def whole_folder(out: Path) -> Iterator[Path]:
    """A new folder under another name, which it loses when all is well; it is gone when anything goes wrong."""
    partial = out.with_name(f".{out.name}.{secrets.token_hex(8)}{PARTIAL}")
    try:
        partial.mkdir(mode=0o700)  # for its owner: whoever sees files come and go learns more than the next hop
        yield partial
        _take_the_place(partial, out)
    except OSError as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise DataError(f"cannot write {out}: {error.strerror or 'the file system refused'}") from None
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def _take_the_place(partial: Path, out: Path) -> None:
    """One rename, or two where a folder is replaced, which comes back if the second fails."""
    if not out.exists():
        partial.rename(out)
        return
    old = out.with_name(f".{out.name}.{secrets.token_hex(8)}{PARTIAL}")
    out.rename(old)
    try:
        partial.rename(out)
    except BaseException:
        old.rename(out)
        raise
    shutil.rmtree(old)

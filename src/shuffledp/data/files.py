"""Files on disk: which files a name stands for, their format and encoding; and private temporary folders."""

from __future__ import annotations

import codecs
import os
import secrets
import shutil
import sys
import tempfile
import weakref
from collections.abc import Iterable
from dataclasses import dataclass, field
from glob import glob, has_magic
from pathlib import Path
from typing import Any, Literal

from shuffledp.errors import DataError, ParameterError

PREFIX = "shuffledp-"


class Scratch:
    """A temporary folder for copies of people's data, readable by its owner alone.

    It is removed by `close`, with this object or with the program. The removal is registered before the folder is
    created, because an interrupt can come in between.
    """

    def __init__(self) -> None:
        self.folder = Path(tempfile.gettempdir(), PREFIX + secrets.token_hex(8))
        self.close = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        self.folder.mkdir(mode=0o700)


FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
_COMPRESSED = (".gz", ".zst")
_KNOWN = "Parquet (.parquet), Arrow (.arrow), CSV (.csv), TSV (.tsv) or JSON lines (.jsonl); text also .gz or .zst"
_TEXT = ("csv", "tsv", "json")
FormatName = Literal["csv", "tsv", "jsonl", "parquet", "arrow"]
_NAMES: dict[str, str] = {"csv": "csv", "tsv": "tsv", "jsonl": "json", "parquet": "parquet", "arrow": "arrow"}
"""Names of formats as parameters, and in `Files`."""

_ACROSS_LINES = ("iso2022", "hz", "unicode-escape", "punycode", "idna")
"""Prefixes of encodings in which one line can change how later lines are read, or swallow a line break."""

STANDARD_INPUT = "-"


@dataclass(frozen=True, kw_only=True)
class Files:
    """Files of one format, read as one table. CSV and TSV have a header line; JSON has an object per line.

    `passed_over` are the files of unknown format in a folder. `spool` keeps a copy of standard input alive.
    """

    paths: tuple[str, ...]
    format: str
    delimiter: str = ","
    encoding: str = "utf-8"
    passed_over: tuple[str, ...] = ()
    spool: Spool | None = field(default=None, repr=False, compare=False)

    @property
    def shown(self) -> str:
        """A name for messages."""
        return named(self.paths[0]) if len(self.paths) == 1 else f"the {len(self.paths)} files"


def find_files(
    patterns: Iterable[str | os.PathLike[str]],
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    format: str | None = None,
) -> Files:
    """Find files by names, folders and patterns such as 'logs/*.csv.gz'; - is standard input.

    Endings give the format unless `format` does: csv, tsv, jsonl, parquet or arrow. Names with a scheme such as hdfs://
    are left to the engine.
    """
    if format is not None and format not in _NAMES:
        raise ParameterError(f"format must be one of {', '.join(_NAMES)}, got {format!r}")
    spool: Spool | None = None
    paths, passed_over = [], []
    for given in patterns:
        pattern = os.fspath(given)
        if pattern == STANDARD_INPUT:
            if spool is not None:
                raise DataError("standard input can be read only once, and it is given twice")
            format = format or "csv"
            spool = Spool()
            paths.append(spool.path)
            _check_readable(spool.path)
        else:
            found, skipped = _expand(pattern, format)
            paths += found
            passed_over += skipped
    if not paths:
        raise ParameterError("data must be at least one file, got none")
    _refuse_repeated(paths)
    formats = {_NAMES[format]} if format else {_format_of(path) for path in paths}
    if len(formats) > 1:
        raise DataError(f"the files are of different formats ({', '.join(sorted(formats))}): give files of one format")
    (kind,) = formats
    return Files(
        paths=tuple(paths),
        format=kind,
        delimiter=_checked_delimiter(delimiter) or ("\t" if kind == "tsv" else ","),
        encoding=_checked_encoding(encoding, kind) or "utf-8",
        passed_over=tuple(passed_over),
        spool=spool,
    )


def names_something(name: str) -> bool:
    """Whether a name stands for a file, a folder, a pattern, standard input or a remote file."""
    found = Path(name).exists() or (has_magic(name) and bool(glob(name, recursive=True)))  # noqa: PTH207
    return found or name == STANDARD_INPUT or is_remote(name)


def is_remote(path: str) -> bool:
    """Whether a path has a scheme, such as s3a://."""
    return "://" in path


def _checked_delimiter(delimiter: str | None) -> str | None:
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n' or not delimiter.isascii()):
        raise ParameterError(f"delimiter must be one ASCII character such as ';', got {delimiter!r}")
    return delimiter


def _checked_encoding(encoding: str | None, format: str) -> str | None:
    """Python's name of an encoding in which each line of a text file can be read by itself."""
    if encoding is None:
        return None
    if format not in _TEXT:
        raise ParameterError(f"encoding must be left out for {format} files, which declare how their text is encoded")
    try:
        found = codecs.lookup(encoding)
        "".encode(encoding)  # some codecs are not for text
    except (LookupError, ValueError):
        raise ParameterError(
            f"encoding must be one that Python knows, such as utf-8, latin-1, cp1252 or utf-16, got {encoding!r}"
        ) from None
    if found.name.startswith(_ACROSS_LINES):
        raise ParameterError(
            f"encoding must let every line be read by itself, got {found.name}, in which a line can change others: "
            "convert the files to UTF-8"
        )
    return "utf-8" if found.name == "utf-8-sig" else found.name


_SPOOLED = "standard-input"
_SIGNS = {b"\x1f\x8b": ".gz", b"\x28\xb5\x2f\xfd": ".zst"}
"""First bytes of compressed files, and the endings of their names; no UTF-8 text begins with them."""


class Spool:
    """A copy of standard input in a temporary file, named by its compression: data is read more than once."""

    def __init__(self) -> None:
        if sys.stdin is None:
            raise DataError("there is no standard input")
        self._scratch = Scratch()
        first = sys.stdin.buffer.read(max(map(len, _SIGNS)))
        ending = next((ending for sign, ending in _SIGNS.items() if first.startswith(sign)), "")
        self.path = str(self._scratch.folder / (_SPOOLED + ending))
        with Path(self.path).open("wb") as file:
            file.write(first)
            shutil.copyfileobj(sys.stdin.buffer, file)


def named(path: str) -> str:
    """Return the name of a file for messages."""
    copied = Path(path).parent.name.startswith(PREFIX) and Path(path).name.split(".")[0] == _SPOOLED
    return "standard input" if copied else path


def _expand(pattern: str, format: str | None) -> tuple[list[str], list[str]]:
    """The files that a pattern stands for, and the files of a folder that are passed over."""
    skipped: list[str] = []
    if is_remote(pattern):
        if pattern.lower().startswith(("http://", "https://", "ftp://")):
            raise DataError(f"{pattern} is not on this machine: download it first, such as with curl -O {pattern}")
        return [pattern], skipped
    if has_magic(pattern) and not Path(pattern).exists():
        found = _with_content(map(Path, glob(pattern, recursive=True)))  # noqa: PTH207
        if not found:
            raise DataError(f"no file with content matches {pattern}")
    elif Path(pattern).is_dir():
        every = _with_content(path for path in Path(pattern).rglob("*") if path.name[0] not in "._")
        if not every:
            raise DataError(f"the folder {pattern} has no files with content")
        found = [path for path in every if format or _known_format(path)]
        skipped = [path for path in every if path not in set(found)]
        if not found:
            raise DataError(f"the folder {pattern} has no file of a known format: {_KNOWN}")
    else:
        found = [pattern]
    for path in found:
        _check_readable(path)
    return found, skipped


def _refuse_repeated(paths: list[str]) -> None:
    seen: dict[Any, str] = {}
    for path in paths:
        status = None if is_remote(path) else Path(path).stat()
        key = path if status is None else (status.st_dev, status.st_ino)
        if key in seen:
            again = "twice" if seen[key] == path else f"twice, also as {seen[key]}"
            raise DataError(f"{path} is given {again}: its people would be counted twice")
        seen[key] = path


def _with_content(paths: Iterable[Path]) -> list[str]:
    return sorted(str(path) for path in paths if path.is_file() and path.stat().st_size)


def _check_readable(path: str) -> None:
    if not Path(path).exists():
        raise DataError(f"there is no file {path}")
    if not os.access(path, os.R_OK):
        raise DataError(f"{named(path)} may not be read: check its permissions")
    if Path(path).stat().st_size == 0:
        raise DataError(f"{named(path)} is empty")


def _format_of(path: str) -> str:
    known = _known_format(path)
    if known is None:
        raise DataError(f"{path} has no known format: use {_KNOWN}; or give format, such as csv")
    return known


def _known_format(path: str) -> str | None:
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    compressed = bool(suffixes) and suffixes[-1] in _COMPRESSED
    ending = suffixes[-2:-1] if compressed else suffixes[-1:]
    known = FORMATS.get("".join(ending))
    return None if compressed and known not in _TEXT else known

"""Files on disk: which of them are meant, and in which format."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path

from shuffledp.errors import DataError, ParameterError

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


@dataclass(frozen=True, kw_only=True)
class Files:
    """Files of one format that are read as one table. CSV and TSV have a header line; JSON has an object per line."""

    paths: tuple[str, ...]
    format: str
    delimiter: str = ","

    @property
    def shown(self) -> str:
        """A name for messages."""
        return self.paths[0] if len(self.paths) == 1 else f"the {len(self.paths)} files"


def find_files(patterns: Iterable[str | os.PathLike[str]], *, delimiter: str | None = None) -> Files:
    """The files that names, folders and patterns such as 'logs/*.csv.gz' stand for.

    Names with a scheme such as hdfs:// are left to the engine.
    """
    paths = [path for pattern in patterns for path in _expand(os.fspath(pattern))]
    if not paths:
        raise ParameterError("no file is given")
    formats = {_format_of(path) for path in paths}
    if len(formats) > 1:
        raise DataError(f"the files are of different formats ({', '.join(sorted(formats))}): give those of one format")
    (found,) = formats
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise ParameterError("delimiter must be one character such as ';'")
    return Files(paths=tuple(paths), format=found, delimiter=delimiter or ("\t" if found == "tsv" else ","))


def is_remote(path: str) -> bool:
    """Whether a path has a scheme, such as hdfs:// or s3a://."""
    return "://" in path


def _expand(pattern: str) -> list[str]:
    if is_remote(pattern):
        return [pattern]
    if has_magic(pattern) and not Path(pattern).exists():
        found = _with_content(map(Path, glob(pattern, recursive=True)))  # noqa: PTH207
        if not found:
            raise DataError(f"no file with content matches {pattern}")
    elif Path(pattern).is_dir():
        found = _with_content(path for path in Path(pattern).rglob("*") if path.name[0] not in "._")
        if not found:
            raise DataError(f"the folder {pattern} has no files with content")
    else:
        found = [pattern]
    for path in found:
        _check_readable(path)
    return found


def _with_content(paths: Iterable[Path]) -> list[str]:
    return sorted(str(path) for path in paths if path.is_file() and path.stat().st_size)


def _check_readable(path: str) -> None:
    if not Path(path).exists():
        raise DataError(f"there is no file {path}")
    if not os.access(path, os.R_OK):
        raise DataError(f"{path} may not be read: check its permissions")
    if Path(path).stat().st_size == 0:
        raise DataError(f"{path} is empty")


def _format_of(path: str) -> str:
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    compressed = bool(suffixes) and suffixes[-1] in _COMPRESSED
    ending = suffixes[-2:-1] if compressed else suffixes[-1:]
    known = FORMATS.get("".join(ending))
    if known is None or (compressed and known in ("parquet", "arrow")):
        raise DataError(f"{path} is of no known format: give {_KNOWN}")
    return known

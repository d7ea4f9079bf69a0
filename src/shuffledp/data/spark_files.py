"""Apache Spark: its session, its errors without data, and files: text is read line by line with the local grammar.

With Spark's own readers of CSV and JSON, one person's open quote, blank line or odd object changes how other lines are
read. A line that is a whole record cannot do that, and large files are read in parts.
"""

from __future__ import annotations

import codecs
import json
import os
import re
import shutil
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from shuffledp.data.arrow import check_alike, check_schemas
from shuffledp.data.csv import NEWLINE, NOT_UTF8, QUOTE, MalformedError, parse_records
from shuffledp.data.files import Files, is_remote
from shuffledp.data.text_files import NOT_AN_OBJECT, header_fields, nested
from shuffledp.errors import DataError, MissingExtraError, ParameterError
from shuffledp.progress import Progress
from shuffledp.protocols.shuffled.hashed import HashedHistogram


def needs_spark() -> None:
    """Refuse to go on without the packages that Spark needs."""
    try:
        import pandas  # noqa: F401  (pyspark needs it for mapInArrow)
        import pyarrow  # noqa: F401
        import pyspark  # noqa: F401
    except ImportError:
        raise MissingExtraError("pyspark, pandas and pyarrow", extra="spark") from None


def open_session(master: str | None, *, progress: Progress) -> tuple[Any, bool]:
    """Return the running session, or a new one at `master`, and whether it was started here."""
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None and master is None:
        return running, False
    if master is None or not master.startswith("sc://"):
        check_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings: dict[str, Any] = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",  # Spark's errors can quote the data
    }
    builder = SparkSession.builder.appName("shuffledp").config(map=settings)
    if master is not None and master.startswith("sc://"):
        builder = builder.remote(master)
    elif running is None:
        builder = builder.master(master or "local[*]")
    else:
        raise ParameterError("master must be left out: a Spark session is already running")
    progress("starting Spark", 0.0)
    try:
        session = builder.getOrCreate()
    except Exception:
        raise DataError(f"Spark did not start at {master or 'local[*]'}: check the address and Java") from None
    progress("starting Spark", 1.0)
    return session, True


@contextmanager
def clear_errors() -> Iterator[None]:
    """Replace Spark's own messages, which can quote the data."""
    from py4j.protocol import Py4JError
    from pyspark.errors import AnalysisException, PySparkException

    try:
        with warnings.catch_warnings():
            # mapInArrow imports pandas without using it
            warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
            yield
    except AnalysisException as error:
        raise DataError(f"Spark cannot read this data: {error.getCondition()}") from None
    except (PySparkException, Py4JError) as error:
        if ours := re.search(r"shuffledp\.errors\.DataError: (.+)", str(error)):  # our own error in an executor
            raise DataError(ours[1].strip()) from None
        raise DataError(
            "Spark failed: the data is damaged or of another format, or executors lack shuffledp or memory"
        ) from None


def check_java() -> None:
    """Refuse to start Spark without Java."""
    home = os.environ.get("JAVA_HOME")
    if not (home and os.access(Path(home, "bin", "java"), os.X_OK)) and shutil.which("java") is None:
        raise DataError(
            "Spark needs Java 17 or 21, which is missing: install it, such as the package openjdk-17-jre-headless, or "
            "set JAVA_HOME"
        )


_OPEN_QUOTE = "has a quote that is not closed in the same line; on Spark, text in CSV files has no line breaks"


def read_parquet(session: Any, files: Files, needed: Sequence[str]) -> Any:
    """Read Parquet files, which must all have the needed columns with the same types."""
    if not any(map(is_remote, files.paths)):
        check_schemas(files, needed)
    else:
        schemas = ((path, _reader(session).parquet(_escaped(path)).schema) for path in _listed(session, files))
        check_alike(
            ((path, [(one.name, one.dataType.simpleString()) for one in schema]) for path, schema in schemas), needed
        )
    return _reader(session).option("mergeSchema", len(files.paths) > 1).parquet(*_patterns(files))


def read_separated_text(session: Any, files: Files, needed: Sequence[str]) -> Any:
    """Read the needed columns of CSV and TSV files as text."""
    _check_encoding(files)
    alike = defaultdict(list)  # files whose headers have the needed columns at the same places
    remote = any(map(is_remote, files.paths))
    for path in _listed(session, files) if remote else files.paths:
        header = _first_line(session, path) if remote else None
        fields, wanted = header_fields(path, files, needed, header)
        alike[fields, tuple(wanted)].append(path)
    tables = [
        _mapped(
            _lines(session, [_escaped(path) for path in paths], "xxhash64(_metadata.file_path) AS file"),
            partial(_parse_csv, files=files, fields=fields, wanted=wanted, names=list(needed)),
            needed,
        )
        for (fields, wanted), paths in alike.items()
    ]
    whole = tables[0]
    for table in tables[1:]:
        whole = whole.union(table)
    return whole


def read_json_lines(session: Any, files: Files, needed: Sequence[str]) -> Any:
    """Read the needed columns of JSON lines as text."""
    _check_encoding(files)
    lines = _lines(session, _patterns(files), "_metadata.file_path AS file")
    keys = lines.mapInArrow(partial(_find_keys, files=files, names=list(needed)), "file string, key int").distinct()
    found = defaultdict(set)
    for file, key in keys.collect():
        found[file].add(key)
    for file, present in sorted(found.items()):
        for key, name in enumerate(needed):
            if key not in present:
                raise DataError(f"there is no column {name!r} in any line of {unquote(file).removeprefix('file://')}")
    return _mapped(lines, partial(_parse_json, files=files, names=list(needed)), needed)


# on the driver ----------------------------------------------------------------------------------------------------


def _reader(session: Any) -> Any:
    """Names of folders such as day=1 are no columns, since their types would be guessed."""
    return session.read.option("recursiveFileLookup", True)


def _escaped(path: str) -> str:
    """Spark takes characters such as * in a name for a pattern."""
    return re.sub(r"([][*?{}\\])", r"\\\1", path)


def _listed(session: Any, files: Files) -> list[str]:
    """The files of patterns on other file systems; their content is not read."""
    found = _reader(session).format("binaryFile").load(_patterns(files)).select("path")
    return sorted(row.path for row in found.collect())


def _patterns(files: Files) -> list[str]:
    return [path if is_remote(path) else _escaped(path) for path in files.paths]


def _lines(session: Any, paths: Sequence[str], file: str) -> Any:
    """[line: bytes, file, start: where the part of the file begins that the line is read with]."""
    table = _reader(session).text(list(paths), lineSep="\n")
    return table.selectExpr("CAST(value AS BINARY) AS line", file, "_metadata.file_block_start AS start")


def _first_line(session: Any, path: str) -> bytes:
    lines = _lines(session, [_escaped(path)], "0 AS file")
    first = lines.filter("start = 0").head()
    return b"" if first is None else bytes(first.line).removeprefix(codecs.BOM_UTF8) + NEWLINE


def _mapped(lines: Any, parse: Callable[[Iterator[Any]], Iterator[Any]], needed: Sequence[str]) -> Any:
    kinds = ", ".join(f"`{name.replace('`', '``')}` string" for name in needed)
    return lines.mapInArrow(parse, kinds)


def _check_encoding(files: Files) -> None:
    """Lines are split before they are decoded."""
    high = bytes(range(128, 256)).decode(files.encoding, "replace")
    if files.encoding != "utf-8" and (len(high) != len(range(128, 256)) or "\n".encode(files.encoding) != NEWLINE):
        raise DataError(
            f"Spark reads text in UTF-8 or in one byte per character, such as latin-1, not in {files.encoding}: use "
            "the local engine, or convert the files"
        )


# in the executors -------------------------------------------------------------------------------------------------


def _refuse(files: Files, reason: str) -> NoReturn:
    raise DataError(f"{files.shown} cannot be read as {files.format}: a line {reason}") from None


def _decoded(files: Files, lines: list[bytes]) -> bytes:
    text = b"".join(line + NEWLINE for line in lines)
    try:
        return text if files.encoding == "utf-8" else text.decode(files.encoding).encode()
    except UnicodeDecodeError:
        _refuse(files, f"is not in the encoding {files.encoding}")


def _parse_csv(
    batches: Iterator[Any], *, files: Files, fields: int, wanted: Sequence[int], names: list[str]
) -> Iterator[Any]:
    import pyarrow

    last = (None, None)
    for batch in batches:
        is_header, last = _headers(batch, last)
        lines = [line for line, header in zip(batch.column(0).to_pylist(), is_header, strict=True) if not header]
        if not lines:
            continue
        text = _decoded(files, lines)
        raw = np.frombuffer(text, dtype=np.uint8)
        if QUOTE in text and (np.cumsum(raw == QUOTE[0], dtype=np.uint8)[raw == NEWLINE[0]] & 1).any():
            _refuse(files, _OPEN_QUOTE)
        try:
            columns = parse_records(text, delimiter=files.delimiter.encode(), fields=fields, wanted=wanted)
        except MalformedError as error:
            more = ": give its encoding, such as latin-1" * (error.reason == NOT_UTF8)
            _refuse(files, error.reason + more)
        yield pyarrow.RecordBatch.from_arrays(columns, names)


def _headers(batch: Any, last: tuple[Any, Any]) -> tuple[NDArray[np.bool_], tuple[Any, Any]]:
    """Which lines are the first of their file; `last`, the file and part of the previous line, is updated."""
    file, start = batch.column(1).to_numpy(), batch.column(2).to_numpy()
    new = np.ones(file.size, dtype=np.bool_)
    new[1:] = (file[1:] != file[:-1]) | (start[1:] != start[:-1])
    if file.size:
        new[0] = (file[0], start[0]) != last
        last = (file[-1], start[-1])
    return new & (start == 0), last


def _parse_json(batches: Iterator[Any], *, files: Files, names: list[str]) -> Iterator[Any]:
    import pyarrow

    for batch in batches:
        columns: list[list[str | None]] = [[] for _ in names]
        for found in _objects(batch, files):
            for name, column in zip(names, columns, strict=True):
                value = found.get(name)
                if isinstance(value, dict | list):
                    _refuse(files, nested(name))
                column.append(json.dumps(value) if isinstance(value, bool) else value)
        try:
            yield pyarrow.RecordBatch.from_arrays(
                [pyarrow.array(column, pyarrow.string()) for column in columns], names
            )
        except UnicodeEncodeError:  # half of a pair of escapes
            _refuse(files, NOT_AN_OBJECT)


def _find_keys(batches: Iterator[Any], *, files: Files, names: list[str]) -> Iterator[Any]:
    """Which keys occur in which file, and -1 for the file itself."""
    import pyarrow

    seen: set[tuple[str, int]] = set()
    for batch in batches:
        for file, found in zip(batch.column(1).to_pylist(), _objects(batch, files), strict=True):
            seen.update((file, key) for key, name in enumerate(names) if name in found)
            seen.add((file, -1))
    file, key = zip(*seen, strict=True) if seen else ((), ())
    yield pyarrow.RecordBatch.from_arrays(
        [pyarrow.array(file, pyarrow.string()), pyarrow.array(key, pyarrow.int32())], ["file", "key"]
    )


def _objects(batch: Any, files: Files) -> Iterator[dict[str, Any]]:
    """The objects of lines, with the spelling of numbers; of a repeated key the first value."""
    for raw in batch.column(0).to_pylist():
        text = _decoded(files, [raw])
        try:
            found = _DECODER.decode(text.decode().removeprefix("\ufeff").strip(" \t\r\n"))
        except UnicodeDecodeError:
            _refuse(files, f"{NOT_UTF8}: give its encoding, such as latin-1")
        except (ValueError, RecursionError):
            _refuse(files, NOT_AN_OBJECT)
        if not isinstance(found, dict):
            _refuse(files, NOT_AN_OBJECT)
        yield found


_DECODER = json.JSONDecoder(
    parse_int=str, parse_float=str, parse_constant=str, object_pairs_hook=lambda pairs: dict(reversed(pairs))
)


_PARENTS_AT_ONCE = 512
"""Prefixes that are counted by one run: the counts of their pieces, some megabytes, come from every partition."""


class SparkCounts:
    """The counts of messages in a DataFrame with one column of whole numbers, `message`."""

    def __init__(self, protocol: HashedHistogram, messages: Any) -> None:
        needs_spark()
        self._protocol, self._messages = protocol, messages

    def supports(self, level: int, parents: NDArray[np.int64]) -> NDArray[np.int64]:
        """The counts of all values of some parents, as one row for each parent."""
        blocks = [parents[at : at + _PARENTS_AT_ONCE] for at in range(0, parents.size, _PARENTS_AT_ONCE)]
        found = [self._added(level, block, pieces=self._protocol.family.pieces) for block in blocks]
        return np.concatenate(found) if found else np.zeros((0, self._protocol.family.pieces), dtype=np.int64)

    def count(self, level: int, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """The counts of some values."""
        return self._added(level, values, pieces=None)

    def _added(self, level: int, wanted: NDArray[np.int64], *, pieces: int | None) -> NDArray[np.int64]:
        """The sum of the counts of all partitions."""
        family = self._protocol.family
        shape = (wanted.size,) if pieces is None else (wanted.size, pieces)
        first, stop = level * family.messages, (level + 1) * family.messages

        def count(batches: Iterator[Any]) -> Iterator[Any]:
            import pyarrow

            total = np.zeros(shape, dtype=np.int64)
            for batch in batches:
                messages = batch.column(0).to_numpy(zero_copy_only=False) - first
                total += (family.count if pieces is None else family.supports)(messages, wanted)
            yield pyarrow.RecordBatch.from_arrays([pyarrow.array([total.tobytes()])], names=["counts"])

        column = self._messages["message"]
        with clear_errors():
            # [message: those of this level]
            chosen = self._messages.filter((column >= first) & (column < stop)).select("message")
            # [counts: one row for each partition]
            parts = chosen.mapInArrow(count, "counts binary").toArrow().column(0).to_pylist()
        added = np.zeros(shape, dtype=np.int64)
        for part in parts:
            added += np.frombuffer(part, dtype=np.int64).reshape(shape)
        return added

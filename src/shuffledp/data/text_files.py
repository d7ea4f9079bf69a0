"""CSV, TSV and JSON lines as a stream of Arrow batches, parsed on all cores, in the order of the files.

Each line of JSON is an object by itself, and the label of a value depends on its own line alone. Numbers are counted as
DuckDB writes them: 1.50 as 1.5, 1e3 as 1000.0, -0 as 0 (Spark keeps the spelling of the file).
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from shuffledp.data.csv import (
    NEWLINE,
    Block,
    MalformedError,
    check_utf8,
    first_record,
    parse_header,
    parse_records,
    read_blocks,
    refusal,
    text_array,
)
from shuffledp.data.files import Files, named
from shuffledp.data.where_sql import quoted_name, quoted_text
from shuffledp.errors import DataError

_OTHER_DELIMITERS = (";", "\t", "|", ",")

LINE, NUMBER = "line", "number"
"""The columns of a scan of JSON lines."""


class TextScan:
    """A stream of the needed columns of separated text, or of the lines of JSON and their numbers.

    An error in a file is kept in `failure`, since DuckDB cannot pass on an exception of a stream. `done` is the share
    of the files that is read.
    """

    def __init__(self, files: Files, needed: Sequence[str]) -> None:
        self._files, self._needed = files, list(needed)
        self.failure: DataError | None = None
        self.done = 0.0
        self._fields = None if files.format == "json" else [header_fields(path, files, needed) for path in files.paths]

    def __call__(self) -> Any:
        """Return a stream of Arrow batches from the beginning of the files."""
        import pyarrow

        schema = pyarrow.schema([(name, pyarrow.string()) for name in self._needed])
        if self._fields is None:
            schema = pyarrow.schema([(LINE, pyarrow.string()), (NUMBER, pyarrow.int64())])
        self.failure, self.done = None, 0.0
        return pyarrow.RecordBatchReader.from_batches(schema, self._batches(schema))

    def _batches(self, schema: Any) -> Iterator[Any]:
        import pyarrow

        try:
            for columns in _in_order(self._tasks()):
                yield pyarrow.RecordBatch.from_arrays(columns, schema=schema)
        except DataError as error:
            self.failure = error
            raise

    def _tasks(self) -> Iterator[Callable[[], list[Any]]]:
        """Tasks that each parse a block."""
        files = self._files
        for at, path in enumerate(files.paths):
            try:
                for block in self._blocks(path):
                    self.done = (at + block.done) / len(files.paths)
                    if self._fields is None:
                        yield partial(_lines, path, files.format, block)
                    else:
                        yield partial(_records, path, files, block, *self._fields[at])
            except MalformedError as error:
                raise refusal(path, files.format, error) from None

    def _blocks(self, path: str) -> Iterator[Block]:
        separated = self._fields is not None
        blocks = read_blocks(path, encoding=self._files.encoding, quotes=separated)
        return _without_header(blocks) if separated else blocks


def header_fields(path: str, files: Files, needed: Sequence[str], header: bytes | None = None) -> tuple[int, list[int]]:
    """Return the number of fields in the header of a file, and the places of the needed ones."""
    try:
        if header is None:
            blocks = read_blocks(path, encoding=files.encoding, quotes=True)
            header = next((first_record(block.text) for block in blocks), b"")
        if not header:
            raise DataError(f"{named(path)} is empty")
        names = parse_header(header, delimiter=files.delimiter.encode())
    except MalformedError as error:
        raise refusal(path, files.format, error) from None
    for name in needed:
        if name not in names:
            raise DataError(f"there is no column {name!r} in {named(path)}: {_advice(names, header, files.delimiter)}")
        if names.count(name) > 1:
            raise DataError(f"{named(path)} has several columns {name!r}: rename all but one")
    return len(names), [names.index(name) for name in needed]


def _advice(names: list[str], header: bytes, delimiter: str) -> str:
    """A hint about the header. Its names are not shown: in a file without one they are a person's values."""
    if b"\0" in header:
        return "its first line has zero bytes, as UTF-16 has: give encoding, such as utf-16-le"
    for sign in _OTHER_DELIMITERS:
        if len(names) == 1 and sign != delimiter and sign.encode() in header:
            option = "format tsv" if sign == "\t" else f"delimiter {sign!r}"
            return f"its first line has no {delimiter!r} but {sign!r}: give {option}"
    return "compare it with the first line of the file"


def _without_header(blocks: Iterator[Block]) -> Iterator[Block]:
    for number, block in enumerate(blocks):
        if number:
            yield block
            continue
        header = first_record(block.text)
        if rest := block.text[len(header) :]:
            yield Block(rest, block.line_breaks + header.count(NEWLINE), block.done)


def _records(path: str, files: Files, block: Block, fields: int, wanted: list[int]) -> list[Any]:
    try:
        return parse_records(block.text, delimiter=files.delimiter.encode(), fields=fields, wanted=wanted)
    except MalformedError as error:
        raise refusal(path, files.format, error, block.line_breaks) from None


def _lines(path: str, format: str, block: Block) -> list[Any]:
    """The lines of a block, with their line breaks, which are spaces in JSON, and their numbers in the file."""
    import pyarrow

    raw = np.frombuffer(block.text, dtype=np.uint8)
    ends = np.flatnonzero(raw == NEWLINE[0]) + 1
    starts = np.concatenate([[0], ends[:-1]])
    try:
        lines = check_utf8(text_array(raw, ends - starts, None), block.text, starts)
    except MalformedError as error:
        raise refusal(path, format, error, block.line_breaks) from None
    return [lines, pyarrow.array(np.arange(block.line_breaks + 1, block.line_breaks + 1 + ends.size))]


def _in_order(tasks: Iterator[Callable[[], list[Any]]]) -> Iterator[list[Any]]:
    """Results of tasks that run on all cores, in their order; few are in flight at a time."""
    cores = os.cpu_count() or 1
    pool = ThreadPoolExecutor(cores)
    waiting: deque[Future[list[Any]]] = deque()
    try:
        for task in tasks:
            waiting.append(pool.submit(task))
            if len(waiting) > cores:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


_TRIMMED = f"ltrim({LINE}, ' ' || chr(9) || chr(10) || chr(13))"
_IS_OBJECT = f"(starts_with({LINE}, '{{') OR starts_with({_TRIMMED}, '{{'))"
"""For a line that is valid JSON: only an object begins with a brace."""

NOT_AN_OBJECT = "is not a JSON object: one object per line is needed"
ARRAY = "begins a JSON array: one object per line is needed, as jq -c '.[]' writes"


def nested(column: str) -> str:
    """Return the reason to refuse a line whose value is an object or an array."""
    return f"has a nested value in column {column!r}: only text, numbers and truth values are counted"


def values_of_lines(columns: Sequence[str]) -> str:
    """Return a query for the columns as text, which fails at a line that cannot be read."""
    texts = ", ".join(f"{LINE} ->> {_path(name)} AS text{at}" for at, name in enumerate(columns))
    values = ", ".join(
        f"CASE WHEN NOT {_IS_OBJECT} OR {_is_nested(f'text{at}', name)} THEN error('wrong line') ELSE text{at} END "
        f"AS {quoted_name(name)}"
        for at, name in enumerate(columns)
    )
    return f"SELECT {values} FROM (SELECT {LINE}, {texts} FROM scanned)"


def has_key(column: str) -> str:
    """Return a query with a row if a line has the key."""
    return f"SELECT 1 FROM scanned WHERE json_valid({LINE}) AND json_exists({LINE}, {_path(column)}) LIMIT 1"


def wrong_line(columns: Sequence[str]) -> str:
    """Return a query for the number of the first line that cannot be read, and the reason."""
    wrong = f"NOT json_valid({LINE}) OR NOT {_IS_OBJECT}"
    array = f"starts_with({_TRIMMED}, '[')"
    reasons = [f"WHEN {array} THEN {quoted_text(ARRAY)}", f"WHEN {wrong} THEN {quoted_text(NOT_AN_OBJECT)}"]
    for name in columns:
        text = f"({LINE} ->> {_path(name)})"
        reasons.append(f"WHEN {_is_nested(text, name)} THEN {quoted_text(nested(name))}")
    query = f"SELECT {NUMBER}, CASE {' '.join(reasons)} END AS reason FROM scanned"
    return f"SELECT {NUMBER}, reason FROM ({query}) WHERE reason IS NOT NULL ORDER BY {NUMBER} LIMIT 1"


def _path(name: str) -> str:
    return quoted_text('$."' + name.replace('"', '\\"') + '"')


def _is_nested(text: str, name: str) -> str:
    """Whether the value with this text is an object or an array; only text that looks like one is parsed again."""
    looks = f"(starts_with({text}, '{{') OR starts_with({text}, '['))"
    return f"coalesce({looks} AND json_type({LINE}, {_path(name)}) IN ('OBJECT', 'ARRAY'), false)"

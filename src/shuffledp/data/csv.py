r"""CSV and TSV in one fixed grammar that does not depend on the rows; text files in blocks of whole records.

A field is plain text without quotes, delimiters or line breaks, or any text in double quotes, with quotes inside it
doubled; spaces belong to it. A record ends with `\n` or `\r\n` and has as many fields as the header. Everything else is
refused (docs/reference/files-and-engines.md).

A byte is inside quotes if the number of quotes before it is odd. So if a line is replaced by another with an odd number
of quotes, the file ends inside quotes and is refused; if by one with an even number, every other record is read as
before. Looser grammars lack this property: pyarrow.csv reads `"b,2` and the lines after it, up to the next quote, as
one record, which removes the other people of these lines without an error.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shuffledp.data.files import named
from shuffledp.errors import DataError

QUOTE, NEWLINE, RETURN = b'"', b"\n", b"\r"
_QUOTE, _NEWLINE, _RETURN = QUOTE[0], NEWLINE[0], RETURN[0]

NOT_UTF8 = "is not UTF-8"
_BLANK = "is blank, so it is no record: delete blank lines, also at the end of the file, as sed '/^\\r*$/d' does"
_STRAY_QUOTE = "has a quote inside a field without quotes around it, or a quote before it is not closed"
_AFTER_QUOTE = "has text after a closing quote, or a quote before it is not closed"


class MalformedError(Exception):
    """A line does not follow the grammar: the number of line breaks before it, and the reason."""

    def __init__(self, line_breaks: int, reason: str) -> None:
        super().__init__(reason)
        self.line_breaks, self.reason = line_breaks, reason


def parse_records(text: bytes, *, delimiter: bytes, fields: int, wanted: Sequence[int]) -> list[Any]:
    """Return the wanted fields of all records of a text that ends with a line break, as Arrow arrays of text.

    A field without any text is missing (null); two quotes are empty text.
    """
    raw = np.frombuffer(text, dtype=np.uint8)
    ends, doubled = _separators(text, raw, delimiter)
    _check_records(text, raw, ends, fields)
    ends = ends.reshape(-1, fields)
    starts = np.empty_like(ends)
    starts[:, 1:] = ends[:, :-1] + 1
    starts[0, 0], starts[1:, 0] = 0, ends[:-1, -1] + 1
    if RETURN in text:  # it belongs to the line break
        last = ends[:, -1]
        ends[:, -1] -= (raw[last - 1] == _RETURN) & (last > starts[:, -1])
    columns = []
    for field in wanted:
        column = _column(raw, starts[:, field], ends[:, field], doubled)
        columns.append(check_utf8(column, text, starts[:, field]))
    return columns


def parse_header(text: bytes, *, delimiter: bytes) -> list[str]:
    """Return the names in a header, which is one record."""
    fields = _separators(text, np.frombuffer(text, dtype=np.uint8), delimiter)[0].size
    columns = parse_records(text, delimiter=delimiter, fields=fields, wanted=range(fields))
    return [column[0].as_py() or "" for column in columns]


def text_array(data: NDArray[np.uint8], lengths: NDArray[np.int64], present: NDArray[np.bool_] | None) -> Any:
    """Return an Arrow array of consecutive texts; those not `present` are missing."""
    import pyarrow

    offsets = np.zeros(lengths.size + 1, dtype=np.int32)  # a block of text is far below 2^31 bytes
    np.cumsum(lengths, out=offsets[1:])
    valid = None if present is None else pyarrow.py_buffer(np.packbits(present, bitorder="little"))
    return pyarrow.Array.from_buffers(
        pyarrow.string(), lengths.size, [valid, pyarrow.py_buffer(offsets), pyarrow.py_buffer(data)]
    )


def check_utf8(column: Any, text: bytes, starts: NDArray[np.int64]) -> Any:
    """Return the same column if all its texts are UTF-8, or refuse the first line that is not."""
    import pyarrow

    try:
        column.validate(full=True)
    except pyarrow.ArrowInvalid:
        for at, start in enumerate(starts.tolist()):
            try:
                column.slice(at, 1).validate(full=True)
            except pyarrow.ArrowInvalid:
                raise MalformedError(text.count(NEWLINE, 0, start), NOT_UTF8) from None
        raise
    return column


def _separators(text: bytes, raw: NDArray[np.uint8], delimiter: bytes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The places of delimiters and line breaks outside quotes, and of the second of two doubled quotes."""
    special = (raw == delimiter[0]) | (raw == _NEWLINE)
    if QUOTE not in text and RETURN not in text:
        return np.flatnonzero(special), np.empty(0, dtype=np.int64)
    marks = np.flatnonzero(special | (raw == _QUOTE) | (raw == _RETURN))
    kinds = raw[marks]
    is_quote, is_return = kinds == _QUOTE, kinds == _RETURN
    doubled = _check_quotes(text, raw, marks[is_quote], delimiter)
    outside = np.cumsum(is_quote, dtype=np.uint8) & 1 == 0
    returns = marks[outside & is_return]
    lonely = raw[returns + 1] != _NEWLINE
    if lonely.any():
        place = returns[lonely.argmax()]
        raise MalformedError(text.count(NEWLINE, 0, place), "has a carriage return that does not end the line")
    return marks[outside & ~is_quote & ~is_return], doubled


def _check_quotes(
    text: bytes, raw: NDArray[np.uint8], quotes: NDArray[np.int64], delimiter: bytes
) -> NDArray[np.int64]:
    """Return the places of the second of two doubled quotes.

    A doubled quote closes and opens again. So every quote that opens comes after a separator, the beginning or a quote,
    and every quote that closes comes before a separator, a carriage return or a quote.
    """
    opening, closing = quotes[0::2], quotes[1::2]
    before = raw[opening - 1]  # for a quote at the very beginning: the last line break
    doubled = before == _QUOTE
    wrong = ~(doubled | (before == delimiter[0]) | (before == _NEWLINE))
    if wrong.any():
        place = opening[wrong.argmax()]
        raise MalformedError(text.count(NEWLINE, 0, place), _STRAY_QUOTE)
    after = raw[closing + 1]
    wrong = (after != _QUOTE) & (after != delimiter[0]) & (after != _NEWLINE) & (after != _RETURN)
    if wrong.any():
        raise MalformedError(text.count(NEWLINE, 0, closing[wrong.argmax()]), _AFTER_QUOTE)
    if opening.size > closing.size:
        raise MalformedError(text.count(NEWLINE, 0, opening[-1]), "has a quote that is never closed")
    second: NDArray[np.int64] = opening[doubled]
    return second


def _check_records(text: bytes, raw: NDArray[np.uint8], ends: NDArray[np.int64], fields: int) -> None:
    """Refuse the first record whose number of fields differs from the header."""
    breaks = raw[ends] == _NEWLINE
    whole = ends.size // fields * fields
    if whole == ends.size and breaks[fields - 1 :: fields].all() and np.count_nonzero(breaks) * fields == ends.size:
        return
    places = np.flatnonzero(breaks)
    wrong = int((np.diff(places, prepend=-1) != fields).argmax())
    start = 0 if wrong == 0 else int(ends[places[wrong - 1]]) + 1
    found = int(places[wrong]) - (int(places[wrong - 1]) if wrong else -1)
    blank = found == 1 and text[start : int(ends[places[wrong]])] in (b"", RETURN)
    reason = _BLANK if blank else f"has {'fewer' if found < fields else 'more'} fields than the header"
    raise MalformedError(text.count(NEWLINE, 0, start), reason)


def _column(
    raw: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64], doubled: NDArray[np.int64]
) -> Any:
    quoted = (raw[starts] == _QUOTE) & (ends > starts)
    present = quoted | (ends > starts)
    if quoted.any():
        starts, ends = starts + quoted, ends - quoted
    lengths = ends - starts
    # where each byte of the result comes from; a block of text is far below 2^31 bytes
    firsts = np.cumsum(lengths) - lengths
    places = np.repeat((starts - firsts).astype(np.int32), lengths)
    places += np.arange(places.size, dtype=np.int32)
    if doubled.size:
        lengths = lengths - (np.searchsorted(doubled, ends) - np.searchsorted(doubled, starts))
        places = places[~np.isin(places, doubled, assume_unique=True)]
    return text_array(raw[places], lengths, None if present.all() else present)


_AT_ONCE = 1 << 21
"""Bytes read at a time: few enough to stay in a processor's cache while they are parsed."""

_LONGEST_RECORD = 1 << 24
"""Bytes. A longer record means that the file has another format, or a quote is never closed."""

_UTF8_MARK = codecs.BOM_UTF8


class Block(NamedTuple):
    """Whole records, the line breaks before them in the file, and the share of the file that is read."""

    text: bytes
    line_breaks: int
    done: float


def read_blocks(path: str, *, encoding: str, quotes: bool) -> Iterator[Block]:
    """Read a text file, decompressed and as UTF-8, in blocks of whole records that end with a line break.

    With `quotes`, line breaks inside quotes do not end a record. A byte-order mark is no part of the text.
    """
    kept, line_breaks, first = b"", 0, True
    for piece, done in _pieces(path, encoding):
        text = kept + piece
        if first and len(text) >= len(_UTF8_MARK):
            text, first = text.removeprefix(_UTF8_MARK), False
        end = _last_end(text, quotes=quotes)
        if len(text) - end > _LONGEST_RECORD:
            reason = (
                f"is longer than {_LONGEST_RECORD >> 20} megabytes{', or has a quote that is never closed' * quotes}"
            )
            raise MalformedError(line_breaks + text.count(NEWLINE, 0, end), reason)
        if end:
            yield Block(text[:end], line_breaks, done)
            line_breaks += _count(NEWLINE, text[:end])
        kept = text[end:]
    if kept := kept.removeprefix(_UTF8_MARK if first else b""):
        yield Block(kept + NEWLINE, line_breaks, 1.0)


def first_record(text: bytes) -> bytes:
    """Return the first record of separated text, which may have line breaks in quotes."""
    end = text.index(NEWLINE) + 1
    while text.count(QUOTE, 0, end) % 2 and end < len(text):
        end = text.index(NEWLINE, end) + 1
    return text[:end]


def refusal(path: str, format: str, error: MalformedError, line_breaks: int = 0) -> DataError:
    """Return the error for a line of a file whose block comes after this number of line breaks."""
    more = ""
    if error.reason == NOT_UTF8:
        more = ": give its encoding, such as latin-1 or utf-16"
    line = line_breaks + error.line_breaks + 1
    return DataError(f"{named(path)} cannot be read as {format}: line {line:,} {error.reason}{more}")


def _last_end(text: bytes, *, quotes: bool) -> int:
    """The end of the last whole record. A line break after an odd number of quotes is inside a record."""
    end = text.rfind(NEWLINE)
    if quotes and QUOTE in text:
        before = _count(QUOTE, text[: end + 1])
        while end >= 0 and before % 2:
            opening = text.rfind(QUOTE, 0, end)
            earlier = text.rfind(NEWLINE, 0, opening)
            before -= text.count(QUOTE, earlier + 1, end + 1)
            end = earlier
    return end + 1


def _pieces(path: str, encoding: str) -> Iterator[tuple[bytes, float]]:
    import pyarrow

    try:
        with pyarrow.OSFile(path) as file:
            size, kind = file.size(), _compression(path)
            stream: Any = file if kind is None else pyarrow.CompressedInputStream(file, kind)
            decoder = None if encoding == "utf-8" else codecs.getincrementaldecoder(encoding)()
            while raw := stream.read(_AT_ONCE):
                piece = raw if decoder is None else decoder.decode(raw).encode()
                yield piece, min(1.0, file.tell() / max(size, 1))
            if decoder is not None and (rest := decoder.decode(b"", final=True)):
                yield rest.encode(), 1.0
    except UnicodeError:
        raise DataError(f"{named(path)} cannot be read: it is not in the encoding {encoding}") from None
    except (OSError, pyarrow.ArrowException):
        compressed = ", or its compression is damaged" if _compression(path) else ""
        raise DataError(f"{named(path)} cannot be read: it is gone{compressed}") from None


def _compression(path: str) -> str | None:
    return {"gz": "gzip", "zst": "zstd"}.get(path.rpartition(".")[2].lower())


def _count(sign: bytes, text: bytes) -> int:
    """Count a byte: numpy counts frequent bytes faster than bytes.count."""
    return int(np.count_nonzero(np.frombuffer(text, dtype=np.uint8) == sign[0]))

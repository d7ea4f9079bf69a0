"""Text files in blocks of whole records: decompressed, in UTF-8, in bounded memory."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from shuffledp.engines.sources.files import named
from shuffledp.engines.sources.separated_text import NEWLINE, NOT_UTF8, QUOTE, MalformedError
from shuffledp.errors import DataError

_AT_ONCE = 1 << 21
"""Bytes read together: few enough to stay in a processor's cache while they are taken apart."""

_LONGEST_RECORD = 1 << 24
"""Bytes. A longer record is a file that is not what its name says, or a quote that is never closed."""

_UTF8_MARK = codecs.BOM_UTF8


class Block(NamedTuple):
    """Whole records, the number of line breaks before them in the file, and how much of the file is read, at most 1."""

    text: bytes
    line_breaks: int
    done: float


def read_blocks(path: str, *, encoding: str, quotes: bool) -> Iterator[Block]:
    """The records of a file, each with its line break at the end; with `quotes`, a record may hold line breaks in them.

    A byte-order mark at the beginning is no part of the text.
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
    """The first record of separated text, which may hold line breaks in quotes."""
    end = text.index(NEWLINE) + 1
    while text.count(QUOTE, 0, end) % 2 and end < len(text):
        end = text.index(NEWLINE, end) + 1
    return text[:end]


def refusal(path: str, format: str, error: MalformedError, line_breaks: int = 0) -> DataError:
    """What is wrong with a line of a file, after this number of line breaks before its block."""
    more = ""
    if error.reason == NOT_UTF8:
        more = (
            ": say in which encoding the file is, such as --encoding latin-1 or --encoding utf-16 (encoding= in Python)"
        )
    line = line_breaks + error.line_breaks + 1
    return DataError(f"{named(path)} cannot be read as {format}: line {line:,} {error.reason}{more}")


def _last_end(text: bytes, *, quotes: bool) -> int:
    """Where the last whole record ends. A line break after an odd number of quotes is inside a record."""
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
    """The bytes of a file in UTF-8, beside the share of the file that is read."""
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
    """How often a byte occurs; numpy counts frequent ones faster than bytes.count."""
    return int(np.count_nonzero(np.frombuffer(text, dtype=np.uint8) == sign[0]))

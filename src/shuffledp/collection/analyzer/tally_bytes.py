"""A tally as bytes and back, exactly and in few of them: symbols by their distances, all in as few bytes as they need.

After a head come the distances of the symbols (the first from 0), then the counts, compressed; the head has the width
of both, how many symbols there are, how many kinds of messages each has (0: one count and no row of them), and how many
messages were counted.
"""

from __future__ import annotations

import struct
import zlib

import numpy as np
from numpy.typing import NDArray

from shuffledp.errors import DataError
from shuffledp.pipeline.tally import Tally

_MAGIC = b"shuffledp tally 1\n"
_HEAD = struct.Struct(">BBQQQ")
_WIDTHS = (1, 2, 4, 8)


def to_bytes(tally: Tally) -> bytes:
    """The bytes of a complete tally of whole numbers in increasing order."""
    symbols = tally.symbols.astype(np.int64)
    if not tally.complete or (symbols[1:] <= symbols[:-1]).any() or (symbols < 0).any() or (tally.counts < 0).any():
        raise DataError("only a complete tally whose symbols are numbers in increasing order can be kept")
    messages = tally.total if tally.messages is None else tally.messages
    parts = [_narrow(np.diff(symbols, prepend=0)), _narrow(tally.counts.ravel())]
    kinds = 0 if tally.counts.ndim == 1 else tally.kinds
    head = _HEAD.pack(*(part.itemsize for part in parts), symbols.size, kinds, messages)
    return _MAGIC + head + zlib.compress(b"".join(part.tobytes() for part in parts))


def from_bytes(content: bytes) -> Tally:
    """The tally that `to_bytes` wrote."""
    try:
        if not content.startswith(_MAGIC):
            raise ValueError
        *widths, size, kinds, messages = _HEAD.unpack_from(content, len(_MAGIC))
        stream = zlib.decompressobj()
        plain = stream.decompress(content[len(_MAGIC) + _HEAD.size :])
        ends = size * widths[0], size * (widths[0] + max(1, kinds) * widths[1])
        if not set(widths) <= set(_WIDTHS) or len(plain) != ends[1] or not stream.eof or stream.unused_data:
            raise ValueError
        symbols = np.cumsum(_wide(plain[: ends[0]], widths[0]))
        counts = _wide(plain[ends[0] :], widths[1])
        return Tally(symbols, counts.reshape(size, kinds) if kinds else counts, messages=messages)
    except (ValueError, struct.error, zlib.error):
        raise DataError("a tally that was kept is damaged") from None


def _narrow(numbers: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The same numbers in as few bytes as the largest needs."""
    largest = int(numbers.max(initial=0))
    width = next(width for width in _WIDTHS if largest < 1 << 8 * width)
    return numbers.astype(f"<u{width}")


def _wide(content: bytes, width: int) -> NDArray[np.int64]:
    return np.frombuffer(content, dtype=f"<u{width}").astype(np.int64)

"""Long contents on their way, as blocks of bytes one after another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def in_blocks(chunks: Iterable[bytes], size: int) -> Iterator[bytes]:
    """The same bytes cut anew into blocks of this size, of which the last may be shorter."""
    rest = bytearray()
    for chunk in chunks:
        rest += chunk
        whole = len(rest) - len(rest) % size
        for at in range(0, whole, size):
            yield bytes(rest[at : at + size])
        del rest[:whole]
    if rest:
        yield bytes(rest)

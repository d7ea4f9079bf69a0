"""Mixing a batch in parts, wherever: each onion has a key, which alone says where it goes.

The key is a hash of the onion under a secret of the run. Its first bits are the onion's bucket, and a bucket has the
order of its keys. Onions that differ have independent uniform keys, so the order of a batch is a uniform permutation
of it; copies of one onion have one key, meet in one bucket, and are left out there. Where an onion goes does not depend
on which task deals it, or when, so that work that is done again gives the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_MOST_BUCKETS = 1 << 12
"""As many as the first 12 bits of a key tell apart."""


class Ordered(NamedTuple):
    """The onions of a bucket in the order of their keys, each once, and how many copies were left out."""

    onions: NDArray[np.uint8]
    repeated: int


def buckets_for(onions: int, *, each: int) -> int:
    """A power of two, so that a bucket has about `each` onions at most."""
    return min(_MOST_BUCKETS, 1 << max(0, -(-onions // each) - 1).bit_length())


def deal(block: bytes, *, secret: bytes, buckets: int, width: int) -> Iterator[tuple[int, bytes]]:
    """The onions of a block by their buckets, without those that get none."""
    onions = np.frombuffer(block, dtype=np.uint8).reshape(-1, width)
    bucket = (_keys(block, secret, width)[:, 0] >> np.uint64(52)).astype(np.int64) & (buckets - 1)
    order = np.argsort(bucket, kind="stable")
    numbers, starts = np.unique(bucket[order], return_index=True)
    for number, rows in zip(numbers.tolist(), np.split(order, starts[1:]), strict=True):
        yield number, onions[rows].tobytes()


def in_order(block: bytes, *, secret: bytes, width: int) -> Ordered:
    """The onions of a whole bucket."""
    keys = _keys(block, secret, width)
    order = np.lexsort((keys[:, 1], keys[:, 0]))
    new = np.ones(order.size, dtype=np.bool_)
    new[1:] = (keys[order[1:]] != keys[order[:-1]]).any(axis=1)
    onions = np.frombuffer(block, dtype=np.uint8).reshape(-1, width)
    return Ordered(onions[order[new]], int(order.size - new.sum()))


def _keys(block: bytes, secret: bytes, width: int) -> NDArray[np.uint64]:
    """Of each onion its key, as two numbers."""
    digests = (
        hashlib.blake2b(block[at : at + width], key=secret, digest_size=16).digest()
        for at in range(0, len(block), width)
    )
    return np.frombuffer(b"".join(digests), dtype=">u8").reshape(-1, 2).astype(np.uint64)

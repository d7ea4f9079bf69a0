"""The shuffler: a uniformly random permutation of everybody's messages.

A plain Fisher-Yates shuffle of an array larger than the cache waits for memory at every step. Here every message
first gets an independent uniform bucket, and each bucket, small enough for the cache, is then permuted uniformly. The
result is exactly uniform: it is the order of independent uniform keys whose leading digits are the buckets (Rao and
Sandelius).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.errors import DataError
from shuffledp.randomness import generator

_DIRECT = 1 << 20
"""Up to this many messages are permuted directly: 8 MB as 64-bit integers."""

_BUCKET = 1 << 18
"""Messages in a bucket, about; also how many are dealt into buckets at a time."""

_MOST_BUCKETS = 1 << 12


def shuffle(
    messages: ArrayLike | Sequence[ArrayLike], *, rng: np.random.Generator | None = None
) -> NDArray[np.generic]:
    """Concatenates the messages of all people and permutes them uniformly at random.

    Takes one array with everybody's messages, or a sequence of arrays, one per person; returns a new array.
    """
    source = generator(rng)
    messages = concatenate(messages)
    shuffled = np.empty_like(messages)
    _permute(messages, shuffled, source, direct=_DIRECT, bucket_size=_BUCKET)
    return shuffled


def concatenate(messages: ArrayLike | Sequence[ArrayLike]) -> NDArray[np.generic]:
    """The messages of all people in one flat array."""
    if isinstance(messages, np.ndarray):
        if messages.ndim != 1:
            raise DataError(f"messages must form one flat array, got {messages.ndim} dimensions")
        return messages
    people = [np.atleast_1d(np.asarray(m)) for m in messages]  # type: ignore[union-attr]
    return concatenate(np.concatenate(people)) if people else np.empty(0, dtype=np.int64)


def _permute(
    messages: NDArray[np.generic],
    into: NDArray[np.generic],
    rng: np.random.Generator,
    *,
    direct: int,
    bucket_size: int,
) -> None:
    """Writes a uniformly random permutation of the messages into an array of the same length."""
    if messages.size <= direct:
        # numpy permutes 64-bit integers about twice as fast as narrower ones
        wide = messages.astype(np.int64 if messages.dtype.kind in "iu" else messages.dtype)
        rng.shuffle(wide)
        into[:] = wide
        return
    buckets = min(_MOST_BUCKETS, 1 << (messages.size // bucket_size).bit_length())
    dealt = [_deal(messages[i : i + bucket_size], buckets, rng) for i in range(0, messages.size, bucket_size)]
    start = 0
    for pieces in zip(*dealt, strict=True):
        bucket = np.concatenate(pieces)
        _permute(bucket, into[start : start + bucket.size], rng, direct=direct, bucket_size=bucket_size)
        start += bucket.size


def _deal(messages: NDArray[np.generic], buckets: int, rng: np.random.Generator) -> list[NDArray[np.generic]]:
    """Gives each message an independent uniform bucket; their number is a power of two, at most 2^16."""
    labels = np.frombuffer(rng.bytes(2 * messages.size), dtype=np.uint16) & np.uint16(buckets - 1)
    by_bucket = messages[np.argsort(labels, kind="stable")]  # a radix sort, for 16-bit labels
    ends = np.cumsum(np.bincount(labels, minlength=buckets)).tolist()
    return [by_bucket[start:end] for start, end in zip([0, *ends], ends, strict=False)]

"""The shuffler, and the three models of the paper's section 2.

The shuffler applies a uniformly random permutation to all messages. A plain Fisher-Yates shuffle of an array larger
than the cache waits for memory at every step. Here every message first gets an independent uniform bucket, and each
bucket, small enough for the cache, is then permuted uniformly. The result is exactly uniform: it is the order of
independent uniform keys whose leading digits are the buckets (Rao and Sandelius).

local      A(R(x_1), ..., R(x_n))      every message is private by itself
shuffled   A(S(R(x_1), ..., R(x_n)))   the shuffler's output is private
central    A(x_1, ..., x_n)            only the result is private
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.errors import DataError
from shuffledp.histogram.domain import Domain
from shuffledp.histogram.estimate import Estimate
from shuffledp.randomness import child, generator

_DIRECT = 1 << 20
"""The most messages that are permuted directly: 8 MB as 64-bit integers."""

_BUCKET = 1 << 18
"""The approximate number of messages in a bucket."""

MOST_BUCKETS = 1 << 16
_FEWEST_PER_PIECE = 1 << 8
"""The approximate number of messages that one chunk puts into one bucket, so that moving pieces stays cheap."""


def shuffle(
    messages: ArrayLike | Sequence[ArrayLike], *, rng: np.random.Generator | None = None
) -> NDArray[np.generic]:
    """Concatenate the messages of all people and permute them uniformly at random, on all cores.

    Takes one array with all messages, or one array per person; returns a new array.
    """
    together, source = concatenate(messages), generator(rng)
    if together.size <= _DIRECT:
        return _permuted(together, source)
    return _permuted_in_buckets(together, source, bucket_size=_BUCKET)


def concatenate(messages: ArrayLike | Sequence[ArrayLike]) -> NDArray[np.generic]:
    """Concatenate the messages of all people."""
    if isinstance(messages, np.ndarray):
        if messages.ndim != 1:
            raise DataError(f"messages must form one flat array, got {messages.ndim} dimensions")
        return messages
    if not isinstance(messages, Iterable):
        raise DataError(f"messages must be an array, or one array per person; got {type(messages).__name__}")
    people = [np.atleast_1d(np.asarray(m)) for m in messages]
    return concatenate(np.concatenate(people)) if people else np.empty(0, dtype=np.int64)


def _permuted(messages: NDArray[np.generic], rng: np.random.Generator) -> NDArray[np.generic]:
    """Numpy moves 64-bit integers about twice as fast as narrower ones."""
    wide = messages.astype(np.int64 if messages.dtype.kind in "iu" else messages.dtype)
    rng.shuffle(wide)
    return wide.astype(messages.dtype, copy=False)


def _permuted_in_buckets(
    messages: NDArray[np.generic], rng: np.random.Generator, *, bucket_size: int
) -> NDArray[np.generic]:
    """Every task has its own generator, keyed in a fixed order."""
    buckets = min(MOST_BUCKETS, 1 << (messages.size // bucket_size).bit_length())
    chunk = max(bucket_size, buckets * _FEWEST_PER_PIECE)
    chunks = [messages[start : start + chunk] for start in range(0, messages.size, chunk)]
    deals = [child(rng) for _ in chunks]
    permutes = [child(rng) for _ in range(buckets)]
    shuffled = np.empty_like(messages)
    with ThreadPoolExecutor() as pool:
        dealt = list(pool.map(lambda part, own: deal(part, buckets, own), chunks, deals))
        pieces_of_buckets = list(zip(*dealt, strict=True))
        ends = list(accumulate(sum(piece.size for piece in pieces) for pieces in pieces_of_buckets))

        def fill(pieces: tuple[NDArray[np.generic], ...], start: int, end: int, own: np.random.Generator) -> None:
            shuffled[start:end] = _permuted(np.concatenate(pieces), own)

        list(pool.map(fill, pieces_of_buckets, [0, *ends], ends, permutes))
    return shuffled


def deal(messages: NDArray[np.generic], buckets: int, rng: np.random.Generator) -> list[NDArray[np.generic]]:
    """Put each message into an independent uniform bucket; their number is a power of two, at most MOST_BUCKETS.

    Parts can be put into buckets separately. If each whole bucket is then shuffled, the result is a uniform shuffle.
    """
    labels = np.frombuffer(rng.bytes(2 * messages.size), dtype=np.uint16) & np.uint16(buckets - 1)
    by_bucket = messages[np.argsort(labels, kind="stable")]  # a radix sort, for 16-bit labels
    ends = np.cumsum(np.bincount(labels, minlength=buckets)).tolist()
    return [by_bucket[start:end] for start, end in zip([0, *ends], ends, strict=False)]


Output = TypeVar("Output", covariant=True)


@runtime_checkable
class ShuffledProtocol(Protocol[Output]):
    """A randomizer R and an analyzer A that sees only the shuffled messages; A is `tally`, then `estimate`.

    The analyzer of a local protocol does not use the senders.
    """

    def randomize(self, values: ArrayLike, *, rng: np.random.Generator | None = None) -> Any:
        """The messages of one person or of many."""

    def tally(self, messages: Any) -> Any:
        """Count messages per symbol; the counts of parts of the messages add up."""

    def estimate(
        self, tally: Any, *, beta: float = 0.05, reports: int | None = None, domain: Domain | None = None
    ) -> Output:
        """Estimate from a tally."""


class CentralProtocol(Protocol):
    """A protocol with a curator who sees every value."""

    def release(self, values: ArrayLike, *, rng: np.random.Generator | None = None) -> Estimate:
        """Return the private result."""


def run(
    protocol: ShuffledProtocol[Output],
    values: ArrayLike,
    *,
    rng: np.random.Generator | None = None,
    beta: float = 0.05,
    reports: int | None = None,
    domain: Domain | None = None,
) -> Output:
    """Run P(x) = A(S(R(x_1), ..., R(x_n))), making every message.

    If there are fewer values than the protocol has users, the estimate has the weaker guarantee.
    """
    messages = protocol.randomize(values, rng=rng)
    shuffled = shuffle(messages, rng=rng)
    tally = protocol.tally(shuffled)
    people = np.size(values) if reports is None else reports
    return protocol.estimate(tally, beta=beta, reports=people, domain=domain)

"""The bins that a message of parities supports, decoded or sampled.

A message is T words y_1 .. y_T of b bits. It supports bin j if j + 1 shares an even number of one bits with each word:
the vector j + 1 then solves T linear equations over GF(2). The solutions form a space of about 2^(b - T) vectors.
Decoding finds and lists this space in O(T b) steps on whole words, for many messages at once; it does not try single
bins.

Sampling gives the supports of messages from their exact distribution, without any equations. The equations of a noise
message are a uniform T x b matrix over GF(2). The dimension of its space of solutions has a distribution in closed
form. Given the dimension, the space is uniform, since an invertible change of the b coordinates changes neither. A real
message of vector v is the same for the space modulo v, which has b - 1 dimensions.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from shuffledp.noise.distribution import InversionTable

MESSAGES_AT_ONCE = 1 << 14
"""The number of messages whose equations are solved together, so that their words stay in the cache."""

_VECTORS_AT_ONCE = 1 << 20

Words = NDArray[np.unsignedinteger]


def word_kind(bits: int) -> np.dtype[np.unsignedinteger]:
    """The narrowest unsigned integer type with this number of bits."""
    return np.dtype(np.min_scalar_type((1 << bits) - 1))


def solve(equations: Words, *, bits: int) -> Words:
    """Return a basis of every message's solutions, from an array with a row of words per message.

    The result has `bits` columns; the nonzero entries of a row are the basis. It starts as the basis of the whole
    space. For each equation, the largest vector that violates it is added to all vectors that violate it. This makes
    the others solutions, and the vector itself 0.
    """
    basis = np.repeat(np.left_shift(1, np.arange(bits)).astype(equations.dtype)[:, None], equations.shape[0], axis=1)
    work, violating = np.empty_like(basis), np.empty(basis.shape, dtype=np.uint8)
    for words in np.ascontiguousarray(equations.T):
        np.bitwise_count(np.bitwise_and(basis, words, out=work), out=violating)
        violating &= 1
        pivot = np.multiply(basis, violating, out=work).max(axis=0)
        basis ^= np.multiply(pivot, violating, out=work)
    return basis.T


def by_dimension(bases: Words) -> Iterator[tuple[int, NDArray[np.int64], Words]]:
    """Group spaces by dimension: the dimension, the rows, and their bases without zeros."""
    filled = bases != 0
    dimensions = filled.sum(axis=1)
    for dimension in np.unique(dimensions).tolist():
        which = np.flatnonzero(dimensions == dimension)
        yield dimension, which, bases[which][filled[which]].reshape(which.size, dimension)


def count_members(bases: Words, *, bins: int) -> NDArray[np.int64]:
    """For each of the vectors 1 .. bins, the number of spaces that contain it; each row is the basis of a space."""
    spaces, dimension = bases.shape
    counts = np.zeros(bins, dtype=np.int64)
    if dimension == 0:
        return counts
    at_once = max(1, _VECTORS_AT_ONCE >> dimension)
    for start in range(0, spaces, at_once):
        block = bases[start : start + at_once]
        members = np.zeros((1, block.shape[0]), dtype=bases.dtype)
        for column in block.T:
            members = np.concatenate([members, members ^ column])
        vectors = members[1:].ravel()  # the first vector is 0, which belongs to no bin
        counts += np.bincount(vectors[vectors <= bins], minlength=bins + 1)[1:]
    return counts


def supports(equations: Words, *, bits: int, bins: int) -> NDArray[np.int64]:
    """The number of messages that support each bin, from an array with a row of words per message, on all cores."""

    def count(start: int) -> NDArray[np.int64]:
        solved = solve(equations[start : start + MESSAGES_AT_ONCE], bits=bits)
        return sum_counts((count_members(bases, bins=bins) for _, _, bases in by_dimension(solved)), bins=bins)

    return on_all_cores(count, range(0, equations.shape[0], MESSAGES_AT_ONCE), bins=bins)


def on_all_cores(count: Callable[[int], NDArray[np.int64]], parts: range, *, bins: int) -> NDArray[np.int64]:
    """Sum the counts of all parts, each computed on one core."""
    cores = min(os.cpu_count() or 1, len(parts))
    if cores <= 1:
        return sum_counts(map(count, parts), bins=bins)
    with ThreadPoolExecutor(cores) as pool:
        shares = [parts[core::cores] for core in range(cores)]
        return sum_counts(pool.map(lambda share: sum_counts(map(count, share), bins=bins), shares), bins=bins)


def sum_counts(parts: Iterator[NDArray[np.int64]], *, bins: int) -> NDArray[np.int64]:
    """Sum many arrays without holding them all."""
    total = np.zeros(bins, dtype=np.int64)
    for part in parts:
        total += part
    return total


_SPACES_AT_ONCE = 1 << 16


def matrices(*, equations: int, bits: int, dimension: int) -> int:
    """The number of equations x bits matrices over GF(2) whose space of solutions has this dimension.

    With rank r = bits - dimension: product over i < r of (2^equations - 2^i) (2^bits - 2^i) / (2^r - 2^i).
    """
    rank, total, orders = bits - dimension, 1, 1
    for i in range(rank):
        total *= ((1 << equations) - (1 << i)) * ((1 << bits) - (1 << i))
        orders *= (1 << rank) - (1 << i)
    return total // orders


@lru_cache(maxsize=32)
def dimension_distribution(*, equations: int, bits: int) -> InversionTable:
    """The distribution of the dimension of the solutions of uniform equations."""
    weights = [matrices(equations=equations, bits=bits, dimension=k) for k in range(bits + 1)]
    return InversionTable(first=0, weights=weights)


def sample_supports(
    values: NDArray[np.int64], noise: int, *, equations: int, bits: int, bins: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Sample the number of messages that support each bin: one real message per value, and `noise` others."""
    counts = np.bincount(values, minlength=bins)
    for start in range(0, values.size, _SPACES_AT_ONCE):
        known = (values[start : start + _SPACES_AT_ONCE] + 1).astype(word_kind(bits))[:, None]
        counts += _other_members(known, equations=equations, bits=bits, bins=bins, rng=rng)
    for start in range(0, noise, _SPACES_AT_ONCE):
        nothing = np.empty((min(_SPACES_AT_ONCE, noise - start), 0), dtype=word_kind(bits))
        counts += _other_members(nothing, equations=equations, bits=bits, bins=bins, rng=rng)
    return counts


def _other_members(
    known: Words, *, equations: int, bits: int, bins: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """The number of messages that support each bin, beyond the vectors (none, or one per row) that they always do."""
    counts = np.zeros(bins, dtype=np.int64)
    dimensions = dimension_distribution(equations=equations, bits=bits - known.shape[1]).sample(known.shape[0], rng=rng)
    for dimension in np.unique(dimensions[dimensions > 0]).tolist():
        sure = known[dimensions == dimension]
        bases = _completed(sure, by=dimension, bits=bits, rng=rng)
        counts += count_members(bases, bins=bins) - count_members(sure, bins=bins)
    return counts


def _completed(known: Words, *, by: int, bits: int, rng: np.random.Generator) -> Words:
    """Extend each row of independent vectors by a few uniform ones that keep the row independent."""
    added = np.empty((known.shape[0], by), dtype=known.dtype)
    rows = np.hstack([known, added])
    missing = np.arange(rows.shape[0])
    while missing.size:
        rows[missing, known.shape[1] :] = rng.integers(0, 1 << bits, size=(missing.size, by), dtype=known.dtype)
        rank = bits - np.count_nonzero(solve(rows[missing], bits=bits), axis=1)
        missing = missing[rank < rows.shape[1]]
    return rows

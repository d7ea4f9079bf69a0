"""Which bins a message of parities supports.

A message is T words y_1 .. y_T of b bits. It supports bin j when j + 1 shares an even number of one bits with each of
them: when the vector j + 1 solves T linear equations over GF(2). The solutions form a space of about 2^(b - T)
vectors. It is found in O(T b) steps on whole words, for many messages at once, and listed; no bin is ever tried.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

MESSAGES_AT_ONCE = 1 << 14
"""Messages whose equations are solved together: their words stay in the cache."""

_VECTORS_AT_ONCE = 1 << 20

Words = NDArray[np.unsignedinteger]


def word_kind(bits: int) -> np.dtype[np.unsignedinteger]:
    """The narrowest unsigned integers of this many bits."""
    return np.dtype(np.min_scalar_type((1 << bits) - 1))


def solve(equations: Words, *, bits: int) -> Words:
    """A basis of every message's solutions, from an array with a row of words per message.

    The answer has `bits` columns; those of a row that are not 0 are the basis. It starts as the basis of the whole
    space. For each equation the largest of the vectors that violate it is added to all of them: that mends the others,
    and turns the vector itself into 0.
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
    """Spaces of equal dimension together: the dimension, whose they are, and their bases without the zeros."""
    filled = bases != 0
    dimensions = filled.sum(axis=1)
    for dimension in np.unique(dimensions).tolist():
        which = np.flatnonzero(dimensions == dimension)
        yield dimension, which, bases[which][filled[which]].reshape(which.size, dimension)


def count_members(bases: Words, *, bins: int) -> NDArray[np.int64]:
    """How many of the spaces, given by a basis per row, hold each of the vectors 1 .. bins."""
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
        vectors = members[1:].ravel()  # the first is 0, no bin's
        counts += np.bincount(vectors[vectors <= bins], minlength=bins + 1)[1:]
    return counts


def supports(equations: Words, *, bits: int, bins: int) -> NDArray[np.int64]:
    """How many messages support each bin; an array with a row of words per message, on all cores."""

    def count(start: int) -> NDArray[np.int64]:
        solved = solve(equations[start : start + MESSAGES_AT_ONCE], bits=bits)
        return sum_counts((count_members(bases, bins=bins) for _, _, bases in by_dimension(solved)), bins=bins)

    return on_all_cores(count, range(0, equations.shape[0], MESSAGES_AT_ONCE), bins=bins)


def on_all_cores(count: Callable[[int], NDArray[np.int64]], parts: range, *, bins: int) -> NDArray[np.int64]:
    """The sum of the counts of all parts; each core adds up its own."""
    cores = min(os.cpu_count() or 1, len(parts))
    if cores <= 1:
        return sum_counts(map(count, parts), bins=bins)
    with ThreadPoolExecutor(cores) as pool:
        shares = [parts[core::cores] for core in range(cores)]
        return sum_counts(pool.map(lambda share: sum_counts(map(count, share), bins=bins), shares), bins=bins)


def sum_counts(parts: Iterator[NDArray[np.int64]], *, bins: int) -> NDArray[np.int64]:
    """One array added up from many, without holding them all."""
    total = np.zeros(bins, dtype=np.int64)
    for part in parts:
        total += part
    return total

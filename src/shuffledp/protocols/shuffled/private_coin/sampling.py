"""Random spaces of solutions, without the equations: what a message of parities supports, drawn from its exact law.

The equations of a noise message are a uniform T x b matrix over GF(2). How large its space of solutions is has a law
in closed form, and given its dimension the space is uniform, since an invertible change of the b coordinates changes
neither. A real message of vector v is the same for the space modulo v, which has b - 1 dimensions.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from shuffledp.noise.inversion import InversionTable
from shuffledp.protocols.shuffled.private_coin.decoding import Words, count_members, solve, word_kind

_SPACES_AT_ONCE = 1 << 16


def matrices(*, equations: int, bits: int, dimension: int) -> int:
    """How many equations x bits matrices over GF(2) have a space of solutions of that dimension.

    With rank r = bits - dimension: product over i < r of (2^equations - 2^i) (2^bits - 2^i) / (2^r - 2^i).
    """
    rank, total, orders = bits - dimension, 1, 1
    for i in range(rank):
        total *= ((1 << equations) - (1 << i)) * ((1 << bits) - (1 << i))
        orders *= (1 << rank) - (1 << i)
    return total // orders


@lru_cache(maxsize=32)
def dimension_law(*, equations: int, bits: int) -> InversionTable:
    """The dimension of the solutions of uniform equations."""
    weights = [matrices(equations=equations, bits=bits, dimension=k) for k in range(bits + 1)]
    return InversionTable(first=0, weights=weights)


def sample_supports(
    values: NDArray[np.int64], noise: int, *, equations: int, bits: int, bins: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """How many messages support each bin: one real message per value, and `noise` others."""
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
    """How many of the messages support each bin, beyond the vectors (none, or one per row) that they surely support."""
    counts = np.zeros(bins, dtype=np.int64)
    dimensions = dimension_law(equations=equations, bits=bits - known.shape[1]).sample(known.shape[0], rng=rng)
    for dimension in np.unique(dimensions[dimensions > 0]).tolist():
        sure = known[dimensions == dimension]
        bases = _completed(sure, by=dimension, bits=bits, rng=rng)
        counts += count_members(bases, bins=bins) - count_members(sure, bins=bins)
    return counts


def _completed(known: Words, *, by: int, bits: int, rng: np.random.Generator) -> Words:
    """Every row of independent vectors with a few more, uniform among those that leave the row independent."""
    added = np.empty((known.shape[0], by), dtype=known.dtype)
    rows = np.hstack([known, added])
    missing = np.arange(rows.shape[0])
    while missing.size:
        rows[missing, known.shape[1] :] = rng.integers(0, 1 << bits, size=(missing.size, by), dtype=known.dtype)
        rank = bits - np.count_nonzero(solve(rows[missing], bits=bits), axis=1)
        missing = missing[rank < rows.shape[1]]
    return rows

"""Exact tosses of very many biased coins, at a cost proportional to the rare side.

A coin of probability p shows heads if a uniform number U, written in binary, is below p. The digits of all coins are
compared together, most significant first. About half of the undecided coins drop out at each digit. The number of heads
among N coins therefore takes about N/32 random 64-bit words, and is exact for every p on the dyadic grid.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from shuffledp.noise.binomial import GRID_BITS, Binomial
from shuffledp.randomness import random_words

_WORDS_AT_ONCE = 1 << 16
_FEW_WORDS = 64
"""The number of words up to which Python counts bits faster than numpy."""

_BYTES_AT_ONCE = 1 << 17
_DIGITS_AT_ONCE = 8
"""The numbers of digits sampled at once: for every byte of packed coins, then for bytes with an undecided coin, and so
on.
"""

_MANY = 1 << 22
"""The most coins tossed one by one; for more, the number of heads is sampled by inversion, exact except for 2^-100."""


def fair_heads(tosses: int, rng: np.random.Generator) -> int:
    """The number of heads among fair coins: one random bit each."""
    heads = 0
    for start in range(0, tosses, 64 * _WORDS_AT_ONCE):
        coins = min(64 * _WORDS_AT_ONCE, tosses - start)
        words = random_words(-(-coins // 64), rng)
        no_coins = int(words[-1]) & (1 << -coins % 64) - 1  # bits of the last word beyond the coins
        heads += _bits_set(words) - no_coins.bit_count()
    return heads


def _bits_set(words: NDArray[np.uint64]) -> int:
    if words.size <= _FEW_WORDS:
        return int.from_bytes(words.tobytes()).bit_count()
    return int(np.bitwise_count(words).sum())


def count_heads(tosses: int, probability: float, rng: np.random.Generator) -> int:
    """The number of heads among coins of a probability that is a multiple of 2^-53: an exact sample of a binomial."""
    digits = int(math.ldexp(probability, GRID_BITS))
    heads, undecided = 0, tosses
    for place in reversed(range(GRID_BITS)):
        if not undecided:
            break
        zeros = fair_heads(undecided, rng)
        if digits >> place & 1:
            heads += zeros
            undecided -= zeros
        else:
            undecided = zeros
    return heads


@lru_cache(maxsize=8)
def _distribution(tosses: int, probability: float) -> Binomial:
    return Binomial(trials=tosses, probability=probability)


def heads(tosses: int, probability: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """The indices of the coins that show heads, in no particular order: their number first, then a uniform subset."""
    if tosses > _MANY:
        number = int(_distribution(tosses, probability).sample(1, rng=rng)[0])
    else:
        number = count_heads(tosses, probability, rng)
    return rng.choice(tosses, size=number, replace=False, shuffle=False)


def packed_flips(size: int, probability: float, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Sample 8 * size independent coins with a probability on the grid, exactly, as the bits of bytes."""
    flips = np.zeros(size, dtype=np.uint8)
    for start in range(0, size, _BYTES_AT_ONCE):
        _flip(flips[start : start + _BYTES_AT_ONCE], int(math.ldexp(probability, GRID_BITS)), rng)
    return flips


def _flip(heads: NDArray[np.uint8], digits: int, rng: np.random.Generator) -> None:
    """Set the bits of the coins that show heads, in bytes that are 0.

    The digits of eight coins are sampled at once, a random byte per place. A coin is decided at the first place where
    its digit differs from the digit of the probability: heads if its digit is smaller.
    """
    undecided = _draw_digits(heads, np.full(heads.size, 255, dtype=np.uint8), digits, range(_DIGITS_AT_ONCE), rng)
    which = np.flatnonzero(undecided != 0)
    few, undecided = np.zeros(which.size, dtype=np.uint8), undecided[which]
    for place in range(_DIGITS_AT_ONCE, GRID_BITS, _DIGITS_AT_ONCE):
        if not undecided.any():
            break
        places = range(place, min(place + _DIGITS_AT_ONCE, GRID_BITS))
        undecided = _draw_digits(few, undecided, digits, places, rng)
    heads[which] |= few


def _draw_digits(
    heads: NDArray[np.uint8], undecided: NDArray[np.uint8], digits: int, places: range, rng: np.random.Generator
) -> NDArray[np.uint8]:
    """Sample more digits of every coin, and return which coins remain undecided."""
    words = random_words((len(places) * heads.size + 7) // 8, rng)
    drawn = words.view(np.uint8)[: len(places) * heads.size].reshape(len(places), heads.size)
    for place, bits in zip(places, drawn, strict=True):
        if digits >> (GRID_BITS - 1 - place) & 1:
            heads |= undecided & ~bits
            undecided = undecided & bits
        else:
            undecided = undecided & ~bits
    return undecided

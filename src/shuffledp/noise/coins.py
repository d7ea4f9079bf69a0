"""Tossing very many biased coins exactly, at a cost that follows the rare side.

A coin of probability p shows heads when a uniform number U, written in binary, lies below p. Reading the digits of all
coins together, most significant first, about half of the undecided coins drop out at each digit, so the number of
heads among N coins takes about N/32 random 64-bit words and is exact for every p on the dyadic grid.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from shuffledp.noise.binomial import GRID_BITS, Binomial
from shuffledp.randomness import random_words

_WORDS_AT_ONCE = 1 << 16
_MANY = 1 << 22
"""More coins than this are not tossed one by one: their number of heads is drawn by inversion, exact but for 2^-100."""


def fair_heads(tosses: int, rng: np.random.Generator) -> int:
    """Heads among fair coins: one random bit each."""
    words, rest = divmod(tosses, 64)
    heads = 0
    for start in range(0, words, _WORDS_AT_ONCE):
        block = random_words(min(_WORDS_AT_ONCE, words - start), rng)
        heads += int(np.bitwise_count(block).sum())
    if rest:
        heads += (int(random_words(1, rng)[0]) >> (64 - rest)).bit_count()
    return heads


def count_heads(tosses: int, probability: float, rng: np.random.Generator) -> int:
    """Heads among coins of the given probability, a multiple of 2^-53: one exact draw of Bin(tosses, probability)."""
    digits = int(Fraction(probability) * 2**GRID_BITS)
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
def _law(tosses: int, probability: float) -> Binomial:
    return Binomial(trials=tosses, probability=probability)


def heads(tosses: int, probability: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Which coins show heads, in no particular order: their number first, then a uniform choice of that many."""
    if tosses > _MANY:
        number = int(_law(tosses, probability).sample(1, rng=rng)[0])
    else:
        number = count_heads(tosses, probability, rng)
    return rng.choice(tosses, size=number, replace=False, shuffle=False)

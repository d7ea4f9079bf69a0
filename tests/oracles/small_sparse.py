"""A sparse histogram so small that its outcomes are enumerated in fractions."""

import math
from fractions import Fraction
from itertools import product

from shuffledp.noise import CompoundPoisson
from shuffledp.noise.compound_poisson import SIZE_GRID
from shuffledp.paper.finite_randomizer import exact_delta
from shuffledp.protocols import SparseHistogram

REACH = 14
PAIR_RATE, LONE_RATE = Fraction(3, 8), Fraction(1, 4)


def sparse_histogram():
    """One user, two bins, clusters of one or two."""
    half, quarter = SIZE_GRID // 2, SIZE_GRID // 4
    return SparseHistogram(
        users=1,
        bins=2,
        pairs=CompoundPoisson(rate=float(PAIR_RATE), size_weights=(half, half)),
        lone=CompoundPoisson(rate=float(LONE_RATE), size_weights=(3 * quarter, quarter)),
    )


def sparse_delta(*, ratio):
    """A lower bound on the delta of `sparse_histogram`: outcomes with fewer than 14 messages of a kind.

    The probabilities are fractions times a power of e that all outcomes share.
    """
    pairs = scaled_pmf(PAIR_RATE, {1: Fraction(1, 2), 2: Fraction(1, 2)})
    lone = scaled_pmf(LONE_RATE, {1: Fraction(3, 4), 2: Fraction(1, 4)})
    cells = [(x, y) for x in range(REACH) for y in range(max(0, x - 1), x + REACH - 1)]
    without = {(x, y): pairs[x] * lone[y - x] if y >= x else Fraction(0) for x, y in cells}
    held = {(x, y): pairs[x - 1] * lone[y - x + 1] if x >= 1 else Fraction(0) for x, y in cells}
    over = exact_delta(both(held, without), both(without, held), ratio=ratio)
    return float(over) * math.exp(-2 * float(PAIR_RATE + LONE_RATE))


def both(one, other):
    return {(x, y): p * q for (x, p), (y, q) in product(one.items(), other.items())}


def scaled_pmf(rate, sizes):
    """e^rate times the compound Poisson probabilities below REACH: a sum over the number of clusters."""
    total, power, factor = [Fraction(0)] * REACH, {0: Fraction(1)}, Fraction(1)
    for clusters in range(REACH):
        for k, chance in power.items():
            total[k] += factor * chance
        longer = {}
        for (k, chance), (size, weight) in product(power.items(), sizes.items()):
            if k + size < REACH:
                longer[k + size] = longer.get(k + size, Fraction(0)) + chance * weight
        power, factor = longer, factor * rate / (clusters + 1)
    return total

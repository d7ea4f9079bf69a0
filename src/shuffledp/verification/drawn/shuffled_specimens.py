"""Specimens of the protocols of the shuffled model whose noise is their own."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from itertools import product

import numpy as np

from shuffledp.noise import Binomial, CompoundPoisson
from shuffledp.noise.compound_poisson import SIZE_GRID
from shuffledp.protocols import (
    BlanketHistogram,
    DummyHistogram,
    Histogram,
    PrivateCoinHistogram,
    PublicCoinHistogram,
    SparseHistogram,
)
from shuffledp.verification.drawn.specimen import (
    FEW,
    NEGLIGIBLE,
    QUARTER,
    FloatLaw,
    Specimen,
    Vector,
    counts_of,
    of_bins,
    sorted_numbers,
)
from shuffledp.verification.exact.pairs import compound_poisson

_REACH = 24
"""Beyond it, noise of the small rates used here has less probability than what is negligible."""


def _with_noise(sent: Sequence[int], symbols: Sequence[int], chance: float) -> dict[Hashable, float]:
    """What is sent for sure and, for each symbol by itself, once more with this chance."""
    law: dict[Hashable, float] = {}
    for chosen in product((False, True), repeat=len(symbols)):
        noise = [symbol for symbol, yes in zip(symbols, chosen, strict=True) if yes]
        key = tuple(sorted([*sent, *noise]))
        weight = chance ** len(noise) * (1 - chance) ** (len(symbols) - len(noise))
        law[key] = law.get(key, 0.0) + weight
    return law


def histogram(*, truncated: bool = True) -> Specimen:
    """The value, and every bin but with chance 1/4."""
    return of_bins(
        Histogram(users=FEW, bins=2, missing_probability=QUARTER, truncated=truncated),
        values=(0, 1),
        dataset=(0, 0, 0, 1),
        messages=lambda value: _with_noise([value], (0, 1), 1 - QUARTER),
        spell=sorted_numbers,
        adds=counts_of(2),
    )


def blanket() -> Specimen:
    """The bins whose bits, a 1 for the value and a 0 for the other, are 1 after flips with chance 1/4."""

    def messages(value: int) -> FloatLaw:
        law = {}
        for flips in product((False, True), repeat=2):
            ones = tuple(j for j, flip in enumerate(flips) if (j == value) != flip)
            law[ones] = math.prod(QUARTER if flip else 1 - QUARTER for flip in flips)
        return law

    return of_bins(
        BlanketHistogram(users=FEW, bins=2, flip_probability=QUARTER),
        values=(0, 1),
        dataset=(0, 0, 0, 1),
        messages=messages,
        spell=sorted_numbers,
        adds=counts_of(2),
    )


def dummy() -> Specimen:
    """The value, and a dummy for every bin with chance 1/4."""
    return of_bins(
        DummyHistogram(users=FEW, bins=2, noise=Binomial(trials=FEW, probability=QUARTER)),
        values=(0, 1),
        dataset=(0, 0, 0, 1),
        messages=lambda value: _with_noise([value], (0, 1), QUARTER),
        spell=sorted_numbers,
        adds=counts_of(2),
    )


def public_coin() -> Specimen:
    """The cells of the value in two rows, and every cell with chance 1/4; a coin that keeps the values apart."""
    rows = 2
    for coin in range(1000):
        protocol = PublicCoinHistogram(
            users=FEW, bins=2, rows=rows, width=2, noise=Binomial(trials=FEW, probability=QUARTER), coin=coin
        )
        cells = [protocol.hashes.of(np.array([value])).ravel().tolist() for value in (0, 1)]
        if not {*cells[0]} & {*cells[1]}:
            break
    return of_bins(
        protocol,
        values=(0, 1),
        dataset=(0, 0, 0, 1),
        messages=lambda value: _with_noise(cells[value], range(2 * rows), QUARTER),
        spell=sorted_numbers,
        adds=counts_of(2 * rows),
    )


def private_coin() -> Specimen:
    """Two elements of the value's half of all elements, and a message of two of all of them."""
    protocol = PrivateCoinHistogram(users=FEW, bins=2, elements=2, noise_messages=1)
    pairs = list(product(range(1 << protocol.bits_per_element), repeat=2))

    def supports(message: tuple[int, ...], value: int) -> bool:
        return all(((value + 1) & element).bit_count() % 2 == 0 for element in message)

    def messages(value: int) -> FloatLaw:
        inside = [pair for pair in pairs if supports(pair, value)]
        law: dict[Hashable, float] = {}
        for real, noise in product(inside, pairs):
            key = tuple(sorted((real, noise)))
            law[key] = law.get(key, 0.0) + 1 / (len(inside) * len(pairs))
        return law

    return of_bins(
        protocol,
        values=(0, 1),
        dataset=(0, 0, 0, 1),
        messages=messages,
        spell=lambda sent: tuple(sorted(tuple(message.tobytes()) for message in sent)),
        adds=lambda sent: tuple(sum(supports(y, value) for y in sent) for value in (0, 1)),
    )


def _bins_apart(laws: Sequence[FloatLaw]) -> FloatLaw:
    """The law of independent bins, each a row of counts, without what hardly ever happens."""
    joint: dict[Vector, float] = {(): 1.0}
    for law in laws:
        joint = {(*x, *y): p * q for (x, p), (y, q) in product(joint.items(), law.items()) if p * q > NEGLIGIBLE}
    return joint


def dummy_poisson() -> Specimen:
    """The value, and dummies of a Poisson law that is divided among two people."""
    users, rate = 2, 1.5

    def law(values: Sequence[int]) -> FloatLaw:
        dummies = compound_poisson(rate * len(values) / users, np.ones(1), most=_REACH)
        return _bins_apart(
            [{(values.count(j) + k,): p for k, p in enumerate(dummies.tolist()) if p > NEGLIGIBLE} for j in (0, 1)]
        )

    return of_bins(
        DummyHistogram(users=users, bins=2, noise=CompoundPoisson(rate=rate, size_weights=(SIZE_GRID,))),
        values=(0, 1),
        dataset=(0, 1),
        messages=lambda value: law((value,)),
        spell=lambda sent: tuple(int(np.count_nonzero(sent == j)) for j in (0, 1)),
        adds=lambda counts: tuple(counts),
        complete=False,
        law_of_tally=law,
    )


def sparse() -> Specimen:
    """The value, and clusters of pairs and of lone messages, of one or two, divided among two people."""
    users, half, quarter = 2, SIZE_GRID // 2, SIZE_GRID // 4
    pairs = CompoundPoisson(rate=0.75, size_weights=(half, half))
    lone = CompoundPoisson(rate=0.5, size_weights=(3 * quarter, quarter))

    def law(values: Sequence[int]) -> FloatLaw:
        share = len(values) / users
        paired = compound_poisson(0.75 * share, np.array([0.5, 0.5]), most=_REACH).tolist()
        alone = compound_poisson(0.5 * share, np.array([0.75, 0.25]), most=_REACH).tolist()
        noise = [(i, j, p * q) for (i, p), (j, q) in product(enumerate(paired), enumerate(alone)) if p * q > NEGLIGIBLE]
        return _bins_apart([{(values.count(b) + i, i + j): p for i, j, p in noise} for b in (0, 1)])

    return of_bins(
        SparseHistogram(users=users, bins=2, pairs=pairs, lone=lone),
        kinds=2,
        values=(0, 1),
        dataset=(0, 1),
        messages=lambda value: law((value,)),
        spell=lambda sent: tuple(int(np.count_nonzero(sent == kind)) for kind in range(4)),
        adds=lambda counts: tuple(counts),
        complete=False,
        law_of_tally=law,
    )

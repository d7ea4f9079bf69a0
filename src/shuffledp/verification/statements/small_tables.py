"""Protocols so small that one person's messages can be listed, straight from the definition of each randomizer."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import product

import numpy as np

from shuffledp.noise import Binomial
from shuffledp.protocols import DummyHistogram, PrivateCoinHistogram
from shuffledp.protocols.shuffled.public_coin import PublicCoinHistogram
from shuffledp.verification.exact.finite import FiniteRandomizer

_QUARTER = Fraction(1, 4)


def dummy_histogram(*, users: int, bins: int) -> tuple[DummyHistogram, FiniteRandomizer]:
    """Everybody sends the value and, with chance 1/4 for each bin, a dummy."""
    protocol = DummyHistogram(users=users, bins=bins, noise=Binomial(trials=users, probability=float(_QUARTER)))
    return protocol, FiniteRandomizer({value: _with_dummies([value], range(bins)) for value in range(bins)})


def public_coin(*, users: int, rows: int) -> tuple[PublicCoinHistogram, FiniteRandomizer]:
    """Two bins in different cells of every row, two cells a row: the cells of the value, and dummies in any cell."""
    noise = Binomial(trials=users, probability=float(_QUARTER))
    coin = 0
    while True:
        protocol = PublicCoinHistogram(users=users, bins=2, rows=rows, width=2, noise=noise, coin=coin)
        first, second = (protocol.hashes.of(np.array([bin])).ravel().tolist() for bin in range(2))
        if not set(first) & set(second):
            break
        coin += 1
    return protocol, FiniteRandomizer(
        {bin: _with_dummies(cells, range(2 * rows)) for bin, cells in enumerate((first, second))}
    )


def private_coin(*, users: int) -> tuple[PrivateCoinHistogram, FiniteRandomizer]:
    """Two bins, one element of the value's half of all elements, and one element of all of them."""
    protocol = PrivateCoinHistogram(users=users, bins=2, elements=1, noise_messages=1)
    elements = range(1 << protocol.bits_per_element)
    inside = {bin: [y for y in elements if ((bin + 1) & y).bit_count() % 2 == 0] for bin in range(2)}
    each = Fraction(2, len(elements) ** 2)
    return protocol, FiniteRandomizer(
        {bin: {(real, noise): each for real in inside[bin] for noise in elements} for bin in range(2)}
    )


def _with_dummies(sent: list[int], symbols: Iterable[int]) -> dict[tuple[int, ...], Fraction]:
    """The law of what is sent for sure and, for each symbol by itself, once more with chance 1/4."""
    law: dict[tuple[int, ...], Fraction] = {}
    kinds = list(symbols)
    for chosen in product((False, True), repeat=len(kinds)):
        dummies = [symbol for symbol, yes in zip(kinds, chosen, strict=True) if yes]
        chance = _QUARTER ** len(dummies) * (1 - _QUARTER) ** (len(kinds) - len(dummies))
        messages = tuple(sorted(sent + dummies))
        law[messages] = law.get(messages, Fraction(0)) + chance
    return law

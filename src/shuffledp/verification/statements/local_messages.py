"""The local protocols: the likelihood ratio of everything that one message says, in fractions.

What is hashed or projected with public words says which of two given bins a report supports, and nothing else about
them, so the law of that is all that matters.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

from shuffledp.protocols.catalogue import CATALOGUE
from shuffledp.protocols.local import BassilySmith, LocalHashing
from shuffledp.protocols.protocol import HistogramProtocol
from shuffledp.protocols.target import Target
from shuffledp.verification.exact.finite import FiniteRandomizer
from shuffledp.verification.exact.laws import EnumerableProtocol
from shuffledp.verification.exact.pairs import exponential_above
from shuffledp.verification.statements.verdict import ENUMERATED, Verdict

EPSILON = 1.0
_BINS = 4


def of_entry(name: str) -> Iterator[Verdict]:
    """The ratio of one message of a protocol made for a target, whatever other people do."""
    target = Target(users=10, bins=_BINS, epsilon=EPSILON, delta=0.01, honest_users=1)
    entry = CATALOGUE[name]
    exact = table(entry.make(target)).privacy()
    yield Verdict(
        statement=f"{entry.title}, promise",
        claim="epsilon of a message",
        claimed=EPSILON,
        exact=exact.epsilon,
        basis=ENUMERATED,
        holds=exact.ratio is not None and exact.ratio <= exponential_above(EPSILON),  # not by the rounded logarithm
        oracle="the law of one message, in fractions",
    )


def table(protocol: HistogramProtocol) -> FiniteRandomizer:
    """The law of one message, or of which of two bins it supports."""
    if isinstance(protocol, LocalHashing):
        cells = protocol.cells or 2
        # the shipped chances of the cell itself and of any other one
        response = FiniteRandomizer.of(protocol._response, range(cells)).table[0]
        return supporting(response[0,], Fraction(1, cells), each_other=response[1,], cells=cells)
    if isinstance(protocol, BassilySmith):
        own = Fraction(protocol.true_support)
        return supporting(own, Fraction(1, 2), each_other=1 - own, cells=2)
    if not isinstance(protocol, EnumerableProtocol):
        raise TypeError(f"{type(protocol).__name__} does not list the law of its messages")
    return FiniteRandomizer.of(protocol, range(protocol.bins))


def supporting(own: Fraction, chance: Fraction, *, each_other: Fraction, cells: int) -> FiniteRandomizer:
    """Of two bins with independent uniform cells: which one a report supports.

    The report names the value's cell with probability `own`, every other with `each_other`.
    """
    rows: dict[int, dict[Any, Fraction]] = {0: {}, 1: {}}
    for first, second, named in product(range(cells), repeat=3):
        supported = (first == named, second == named)
        for value, cell in ((0, first), (1, second)):
            p = chance**2 * (own if cell == named else each_other)
            rows[value][supported] = rows[value].get(supported, Fraction(0)) + p
    return FiniteRandomizer.single(rows)

"""Specimens of local protocols, whose messages are private by themselves, and of those that shuffle them."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np

from shuffledp.protocols import (
    AmplifiedOracle,
    BassilySmith,
    HadamardResponse,
    LocalHashing,
    RandomizedResponse,
    UnaryEncoding,
)
from shuffledp.protocols.local.frequency_oracle import FrequencyOracle
from shuffledp.protocols.protocol import MessageProtocol
from shuffledp.verification.drawn.specimen import (
    EPSILON,
    FEW,
    FloatLaw,
    Specimen,
    Vector,
    counts_of,
    of_bins,
    sorted_numbers,
)


def _local(kind: type[FrequencyOracle], *, shuffled: bool, bins: int, **choices: Any) -> MessageProtocol:
    """A local protocol for a few people, or the protocol that shuffles its messages."""
    oracle = kind(users=FEW, bins=bins, epsilon=EPSILON, **choices)
    return AmplifiedOracle(users=FEW, bins=bins, oracle=oracle) if shuffled else oracle


def response(*, shuffled: bool = False) -> Specimen:
    """The value e^epsilon times as often as any other bin."""
    bins, odds = 3, math.exp(EPSILON)
    return of_bins(
        _local(RandomizedResponse, shuffled=shuffled, bins=bins),
        values=(0, 2),
        dataset=(0, 0, 1, 2),
        messages=lambda value: {(j,): (odds if j == value else 1.0) / (odds + bins - 1) for j in range(bins)},
        spell=sorted_numbers,
        adds=counts_of(bins),
    )


def unary(*, optimised: bool = True, shuffled: bool = False) -> Specimen:
    """A bit for every bin: the own one with chance 1/2, others with 1 / (1 + e^epsilon); or all flipped alike."""
    bins = 3
    own, other = 0.5, 1 / (1 + math.exp(EPSILON))
    if not optimised:
        other = 1 / (1 + math.exp(EPSILON / 2))
        own = 1 - other

    def messages(value: int) -> FloatLaw:
        law = {}
        for bits in product((0, 1), repeat=bins):
            chances = (own if j == value else other for j in range(bins))
            law[(bits,)] = math.prod(p if bit else 1 - p for p, bit in zip(chances, bits, strict=True))
        return law

    return of_bins(
        _local(UnaryEncoding, shuffled=shuffled, bins=bins, optimised=optimised),
        values=(0, 2),
        dataset=(0, 0, 1, 2),
        messages=messages,
        spell=lambda sent: tuple(
            tuple(np.unpackbits(np.frombuffer(report.tobytes(), np.uint8), count=bins).tolist()) for report in sent
        ),
        adds=lambda sent: tuple(sum(column) for column in zip(*sent, strict=True)),
    )


def hadamard(*, shuffled: bool = False) -> Specimen:
    """A symbol that shares an even number of ones with the value plus one, e^epsilon times as often as any other."""
    bins, symbols, odds = 3, 4, math.exp(EPSILON)

    def inside(symbol: int, value: int) -> bool:
        return ((value + 1) & symbol).bit_count() % 2 == 0

    return of_bins(
        _local(HadamardResponse, shuffled=shuffled, bins=bins),
        values=(0, 2),
        dataset=(0, 0, 1, 2),
        messages=lambda value: {(y,): (odds if inside(y, value) else 1.0) / (2 * (1 + odds)) for y in range(symbols)},
        spell=sorted_numbers,
        adds=lambda sent: tuple(sum(inside(y, value) for y in sent) for value in range(bins)),
    )


def hashing(*, shuffled: bool = False) -> Specimen:
    """Which of two bins a report supports: its cell is the value's e^epsilon times as often as any other of four."""
    cells, odds = 4, math.exp(EPSILON)
    own = odds / (odds + cells - 1)

    def supports(report: Any) -> Vector:
        multiplier, offset, cell = (int(report[name]) for name in ("multiplier", "offset", "cell"))
        hashed = ((((multiplier * j + offset) % 2**64) >> 32) * cells >> 32 for j in (0, 1))
        return tuple(int(h == cell) for h in hashed)

    def messages(value: int) -> FloatLaw:
        # the other bin is hashed to the report's cell by chance, whatever the cell
        both = {(mine, yours): (own if mine else 1 - own) * (1 / cells if yours else 1 - 1 / cells)
                for mine, yours in product((0, 1), repeat=2)}  # fmt: skip
        return {(pair if value == 0 else pair[::-1],): p for pair, p in both.items()}

    return of_bins(
        _local(LocalHashing, shuffled=shuffled, bins=2, cells=cells),
        values=(0, 1),
        dataset=(0, 0, 0, 1),
        messages=messages,
        spell=lambda sent: tuple(supports(report) for report in sent),
        adds=lambda sent: tuple(sum(column) for column in zip(*sent, strict=True)),
    )


def bassily_smith() -> Specimen:
    """Which of two bins a bit supports: the value with chance e^epsilon / (1 + e^epsilon), the other with 1/2."""
    own = 1 / (1 + math.exp(-EPSILON))

    def supports(report: Any) -> Vector:
        multiplier, offset, bit = (int(report[name]) for name in ("multiplier", "offset", "bit"))
        return tuple(int(((multiplier * j + offset) % 2**64) >> 63 == bit) for j in (0, 1))

    def messages(value: int) -> FloatLaw:
        both = {(mine, yours): (own if mine else 1 - own) / 2 for mine, yours in product((0, 1), repeat=2)}
        return {(pair if value == 0 else pair[::-1],): p for pair, p in both.items()}

    return of_bins(
        _local(BassilySmith, shuffled=False, bins=2),
        values=(0, 1),
        dataset=(0, 0, 0, 1),
        messages=messages,
        spell=lambda sent: tuple(supports(report) for report in sent),
        adds=lambda sent: tuple(sum(column) for column in zip(*sent, strict=True)),
    )

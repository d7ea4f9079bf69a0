"""Specimens of sums: of bits, and of numbers that people split into shares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.protocols import BinarySum, BlanketSum, RealSum
from shuffledp.verification.drawn.specimen import (
    EPSILON,
    FEW,
    NEGLIGIBLE,
    QUARTER,
    FloatLaw,
    Specimen,
    Vector,
    sorted_numbers,
)
from shuffledp.verification.exact.pairs import binomial

_THE_ONES = (1,)
SHARERS = 40
"""People of a RealSum, which needs 19 honest ones: half of these make the noise that is promised."""
_NOISE_REACH = 60
"""Where the noise of a RealSum is left off: beyond it lies less than 1e-25."""


def binary_sum() -> Specimen:
    """As many ones as the bit, and one more but with chance 1/4."""
    protocol = BinarySum(users=FEW, missing_probability=QUARTER)
    return Specimen(
        protocol=protocol,
        labels=_THE_ONES,
        reading=protocol.reading,
        count=sum,
        values=(0, 1),
        dataset=(0, 0, 0, 1),
        messages=lambda bit: {(1,) * bit: QUARTER, (1,) * (bit + 1): 1 - QUARTER},
        spell=sorted_numbers,
        adds=lambda messages: (len(messages),),
    )


def blanket_sum() -> Specimen:
    """The bit, or with chance 1/4 the other one."""
    protocol = BlanketSum(users=FEW, flip_probability=QUARTER)
    return Specimen(
        protocol=protocol,
        labels=_THE_ONES,
        reading=protocol.reading,
        count=sum,
        values=(0, 1),
        dataset=(0, 0, 0, 1),
        messages=lambda bit: {(bit,): 1 - QUARTER, (1 - bit,): QUARTER},
        spell=sorted_numbers,
        adds=lambda messages: (sum(messages),),
    )


def real_sum(*, honest_users: int | None = None) -> Specimen:
    """Numbers 0 and 1/2, which is rounded at random, and noise whose sum over the honest people is discrete Laplace.

    Each person's part is a difference of two negative binomial numbers of order 1 / honest.
    """
    honest = SHARERS if honest_users is None else honest_users
    protocol = RealSum.calibrate(users=SHARERS, epsilon=EPSILON, delta=0.01, scale=1, honest_users=honest_users)
    decay = math.exp(-EPSILON)

    def law(values: Sequence[float]) -> FloatLaw:
        order, k = len(values) / honest, np.arange(_NOISE_REACH + 1)
        steps = np.append(1.0, (order + k[:-1]) / k[1:] * decay)
        positive = (1 - decay) ** order * np.cumprod(steps)
        difference = np.convolve(positive, positive[::-1])
        sums = np.convolve(difference, binomial(sum(value > 0 for value in values), 0.5))
        return {(i - _NOISE_REACH,): p for i, p in enumerate(sums.tolist()) if p > NEGLIGIBLE}

    def total(shares: NDArray[Any]) -> Vector:
        q = 1 << protocol.modulus_bits
        value = sum(shares.tolist()) % q
        return (value if value < q // 2 else value - q,)

    return Specimen(
        protocol=protocol,
        labels=_THE_ONES,
        reading=None,
        count=tuple,
        shares=protocol.shares,
        modulus=1 << protocol.modulus_bits,
        values=(0.0, 0.5),
        dataset=(0.5,) * 4 + (0.0,) * (SHARERS - 4),
        messages=lambda value: law((value,)),
        spell=total,
        adds=lambda counts: tuple(counts),
        complete=False,
        law_of_tally=law,
    )

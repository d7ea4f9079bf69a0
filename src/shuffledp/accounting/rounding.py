"""The margins by which numbers are moved to the safe side because of floating-point rounding.

The library never states a delta below the truth, nor a bound that does not hold. Floating-point numbers have 53 bits,
so each operation has a relative error of at most 2^-53 = 1.1e-16, and a sum of many terms a larger one. The description
of a margin says what it covers and the measured error of that computation, against fractions or mpmath with 40 digits.
tests/accounting/test_rounding.py repeats most measurements and fails if a margin is less than twice the error.

A margin is relative, to be used as `x * (1 + MARGIN)` or `x * (1 - MARGIN)`, unless its description says otherwise. The
mass outside of a window of probabilities is not rounding: it is bounded and counted as `noise.distribution.TAIL`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shuffledp.noise.binomial import FEW_OPERATIONS

__all__ = [
    "CLOPPER_PEARSON_TAIL",
    "COUNT_AGAINST_MEAN",
    "ESTIMATE_AT_AN_EDGE",
    "FEW_OPERATIONS",
    "HALF_BINOMIAL",
    "HALF_BINOMIAL_GROWTH",
    "LARGE_LOGARITHMS",
    "LOG_RATIO",
    "PRIVACY_LOSS",
    "PROMISED_DELTA",
    "PURE_DELTA",
    "SCALED_DISTRIBUTIONS",
    "SEVERAL_OPERATIONS",
    "SHARE_OF_A_RATE",
    "SUPPORTS_AGAINST_MEAN",
    "WINDOW_SUM",
    "half_binomial",
]

SEVERAL_OPERATIONS = 1e-12
"""A probability or a rate from up to a dozen operations and one exponential, such as e^-epsilon0, the probability of a
telling message, or its complement. Measured: 3e-16. Also used eight times over, and as an absolute margin of
probabilities.
"""

PRIVACY_LOSS = 2.0**-40
"""A delta that is summed over a distribution of losses, relative to the probability of the losses that count; the mass
at infinity; a mass that is moved to a grid or convolved. 2^-40 = 9.1e-13. Measured: 2e-14 of delta itself."""

HALF_BINOMIAL = 1e-10
"""A tail of Bin(n, 1/2) times a few numbers, for n up to 10^8. Measured: 2.5e-11 at 10^8, less for smaller n; a
probability 5e-13 for every n."""

HALF_BINOMIAL_GROWTH = 1e-14
"""The same beyond 10^8, to be multiplied by sqrt(n): a tail's logarithm is a difference of terms of that size.
Measured: 4.4e-15."""


def half_binomial(trials: NDArray[np.int64]) -> NDArray[np.float64]:
    """The margin for tails of Bin(n, 1/2), for every n of an array."""
    return np.maximum(HALF_BINOMIAL, HALF_BINOMIAL_GROWTH * np.sqrt(trials))


WINDOW_SUM = 1e-10
"""A sum over a window of probabilities, relative to the probability of the event that it is over. A window's own
probabilities are off by less than 1e-11."""

PROMISED_DELTA = 1e-9
"""A delta that was computed when noise was chosen, and again with the same noise scaled to other people and back, which
moves it by a few 1e-16."""

PURE_DELTA = 4 * PRIVACY_LOSS
"""Absolute: what a computed curve gives where the true delta is 0: it is raised by PRIVACY_LOSS for each shift."""

LOG_RATIO = 1e-12
"""Absolute: the logarithm of a ratio of neighbouring probabilities that is compared with a threshold. An outcome this
close to it counts as beyond."""

COUNT_AGAINST_MEAN = 1e-9
"""Absolute: a whole count that is compared with the mean of the noise plus or minus an error, both floats. Where they
are equal but for rounding, the count falls on the side that makes the error larger. Covers two operands of up to 4e6,
each off by 2.4e-10 at most; larger ones that are equal may fall on either side."""

SUPPORTS_AGAINST_MEAN = 1e-7
"""Absolute: the same for messages that support a bin, whose number can be far larger. Covers two operands of up to 5e8,
each off by 3e-8 at most."""

SHARE_OF_A_RATE = 1e-12
"""The rate of Poisson noise that is scaled up from the honest people to all, then back down for their share."""

SCALED_DISTRIBUTIONS = 1e-5
"""The growth of the rates of two distributions if scaling them up to all people and back down lost the guarantee. It
exceeds the lost 1e-16, so one step suffices, and adds a negligible number of messages.
"""

LARGE_LOGARITHMS = 2.0**-30
"""A difference of the logarithms of two integers too large for a float, relative to the difference."""

ESTIMATE_AT_AN_EDGE = 1e-6
"""Absolute, in people: an estimate on the edge of an interval is inside or outside as requested, regardless of
rounding. Not measured: it must stay far below the distance of two estimates.
"""

CLOPPER_PEARSON_TAIL = 5e-7
"""The margin of the failure probability of a confidence bound: scipy's inverse of the beta function is off by 8e-10
below 10^5 trials, by 5e-8 below 10^7 and by 1.5e-7 at 3 * 10^7 (15,000 random settings).
"""

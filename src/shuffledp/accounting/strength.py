"""The strength of a privacy guarantee in one word: strong, moderate or weak.

The rule depends on epsilon and delta only, so everybody who knows a guarantee finds the same word. It reads a claim as
it is stated: the privacy curve may allow a better word, never a worse one. `clients/javascript/src/strength.js` has the
same rule, and `vectors/strengths.json` compares both.
"""

from __future__ import annotations

import math
from enum import StrEnum

from shuffledp.errors import ParameterError
from shuffledp.validation import real

STRONG = (1.0, 1e-5)
"""Largest epsilon and delta called strong. No outcome becomes three times as likely because of one person: an observer
who thought an answer as likely as not is at most 73.2% sure of it afterwards. The exception, delta, has a chance of at
most 1 in 100,000."""

MODERATE = (3.0, 1e-3)
"""Largest epsilon and delta called moderate. An outcome can become 20.1 times as likely, and the same observer 95.3%
sure: beyond that, the noise leaves hardly any doubt. The exception has a chance of at most 1 in 1,000."""


class Strength(StrEnum):
    """How well a guarantee protects one person, from its epsilon and its delta.

    strong    epsilon at most 1 and delta at most 1e-5
    moderate  epsilon at most 3 and delta at most 1e-3
    weak      everything else, also if no epsilon holds
    """

    STRONG = "strong"
    MODERATE = "moderate"
    WEAK = "weak"

    @classmethod
    def of(cls, epsilon: float, delta: float) -> Strength:
        """Return the strength of a guarantee that was verified; a false one has none."""
        if not (epsilon == math.inf or real("epsilon", epsilon) >= 0):
            raise ParameterError(f"epsilon must not be negative, got {epsilon:g}")
        if not 0 <= real("delta", delta) < 1:
            raise ParameterError(f"delta must be at least 0 and below 1, got {delta:g}")
        for strength, (largest_epsilon, largest_delta) in ((cls.STRONG, STRONG), (cls.MODERATE, MODERATE)):
            if epsilon <= largest_epsilon and delta <= largest_delta:
                return strength
        return cls.WEAK

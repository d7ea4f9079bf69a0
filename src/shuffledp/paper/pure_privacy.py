"""Pure privacy in the shuffled model (section 4 of the paper): limits of a single message, and examples with several.

Generating polynomials. Give every symbol s a weight z_s > 0 and let P_x(z) be the sum over multisets of messages m of
P[R(x) sends m] * (product of z_s over m). Weights multiply when multisets are joined. With any fixed others, the
shuffled outputs for x and x' therefore have weighted totals P_x(z) Q(z) and P_x'(z) Q(z), so some outcome is at least
P_x(z) / P_x'(z) times as likely under x. Hence, for every n and every z,

    e^epsilon(n people) >= P_x(z) / P_x'(z).

For a single message, z concentrated on one symbol gives Claim 4.2.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations

from shuffledp.errors import ParameterError
from shuffledp.paper.divergence import ExactPrivacy, allowed_delta, exact_fraction, exact_ratio
from shuffledp.paper.finite_randomizer import FiniteRandomizer
from shuffledp.protocols.local import RandomizedResponse
from shuffledp.validation import whole


def opposite_bits() -> FiniteRandomizer:
    """R^infinity: x, then 1 - x. Shuffled it reveals nothing; unshuffled, the first message is the value."""
    return FiniteRandomizer({bit: {(bit, 1 - bit): Fraction(1)} for bit in (0, 1)})


def response(*, epsilon: float) -> FiniteRandomizer:
    """Randomized response on two bins, as a table."""
    return FiniteRandomizer.of(RandomizedResponse(users=1, bins=2, epsilon=epsilon), range(2))


def generating_ratio(randomizer: FiniteRandomizer, weights: Mapping[Hashable, Fraction]) -> Fraction:
    """The largest P_x(z) / P_x'(z) for positive symbol weights z: a lower bound on e^epsilon for every n."""
    exact = {symbol: exact_fraction("weight", weight) for symbol, weight in weights.items()}
    if not all(symbol in exact and exact[symbol] > 0 for symbol in randomizer.symbols):
        raise ParameterError("every message of the randomizer needs a weight above 0")
    if len(randomizer.values) < 2:
        raise ParameterError("privacy needs a randomizer with at least two values, got one")
    totals = [
        sum(
            (p * math.prod((exact[m] for m in messages), start=Fraction(1)) for messages, p in distribution.items()),
            Fraction(),
        )
        for distribution in randomizer.table.values()
    ]
    return max(x / y for x, y in permutations(totals, 2))


@dataclass(frozen=True, kw_only=True)
class ShufflerRemoval:
    """The lemma of Cheu et al. 2019 at one epsilon = ln(ratio), exact on both sides.

    If the shuffled messages of a single-message randomizer are (epsilon, delta)-private, each message is (epsilon + ln
    n, delta)-private by itself.
    """

    users: int
    ratio: Fraction
    shuffled_delta: Fraction
    local_delta: Fraction

    @property
    def holds(self) -> bool:
        """Whether the local delta at epsilon + ln n is at most the shuffled one at epsilon."""
        return self.local_delta <= self.shuffled_delta


def shuffler_removal(randomizer: FiniteRandomizer, *, users: int, ratio: Fraction) -> ShufflerRemoval:
    """The lemma for one randomizer, one n and one e^epsilon = ratio."""
    _check_single(randomizer)
    users, ratio = whole("users", users), exact_ratio(ratio)
    return ShufflerRemoval(
        users=users,
        ratio=ratio,
        shuffled_delta=randomizer.shuffled_delta(users=users, ratio=ratio).delta,
        local_delta=randomizer.delta(ratio=ratio * users).delta,
    )


@dataclass(frozen=True, kw_only=True)
class RemovalCost:
    """The epsilon of the local randomizer according to the lemma and its exact value, at one delta."""

    users: int
    shuffled: ExactPrivacy
    local: ExactPrivacy

    @property
    def promised(self) -> float:
        """The shuffled epsilon plus ln n."""
        return self.shuffled.epsilon + math.log(self.users)

    @property
    def gap(self) -> float:
        """The difference of the promised and the exact local epsilon."""
        return self.promised - self.local.epsilon


def removal_cost(randomizer: FiniteRandomizer, *, users: int, delta: Fraction) -> RemovalCost:
    """The exact shuffled and local epsilon at one delta, for a single-message randomizer."""
    _check_single(randomizer)
    users, delta = whole("users", users), allowed_delta(delta)
    return RemovalCost(
        users=users,
        shuffled=randomizer.shuffled_privacy(users=users, delta=delta),
        local=randomizer.privacy(delta=delta),
    )


def _check_single(randomizer: FiniteRandomizer) -> None:
    if not randomizer.single_message:
        raise ParameterError("the randomizer must be single-message: each person must send one message")

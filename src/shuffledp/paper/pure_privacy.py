"""Pure privacy in the shuffled model (section 4 of the paper): limits of a single message, and examples with several.

Give every symbol s a weight z_s > 0 and let P_x(z) be the sum over multisets of messages m of P[R(x) sends m] *
(product of z_s over m). With any fixed others, the shuffled outputs for x and x' have weighted totals P_x(z) Q(z) and
P_x'(z) Q(z), so some outcome is at least P_x(z) / P_x'(z) times as likely under x: e^epsilon >= P_x(z) / P_x'(z) for
every n and every z. For a single message, z concentrated on one symbol gives Claim 4.2.

Theorem 4.1: the local protocol P_L = (R, A_L), where A_L permutes the messages uniformly and runs A, has the same
distribution as P = (R, A) for every input, and by Claim 4.2 its randomizer has P's epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations, product
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.accounting.curve import Guarantee
from shuffledp.accounting.rounding import FEW_OPERATIONS
from shuffledp.errors import ParameterError
from shuffledp.histogram.domain import Domain
from shuffledp.histogram.shuffle import ShuffledProtocol, shuffle
from shuffledp.paper.divergence import (
    Distribution,
    EnumerableProtocol,
    ExactPrivacy,
    Messages,
    allowed_delta,
    exact_fraction,
    exact_ratio,
)
from shuffledp.paper.finite_randomizer import FiniteRandomizer
from shuffledp.protocols.local import RandomizedResponse
from shuffledp.protocols.protocol import MessageCount
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
    """The epsilon of the local randomizer by the lemma and its exact value, at one delta."""

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


@runtime_checkable
class SingleMessageProtocol(ShuffledProtocol[Any], Protocol):
    """A shuffled protocol with its number of messages per person and its guarantee."""

    @property
    def users(self) -> int:
        """The number of people."""

    @property
    def honest_users(self) -> int | None:
        """The number of people whose noise counts for the guarantee; None for all."""

    @property
    def guarantee(self) -> Guarantee | None:
        """The guarantee of the shuffled messages."""

    @property
    def messages_per_user(self) -> MessageCount:
        """The number of messages of a person."""


@dataclass(frozen=True, kw_only=True)
class LocalSimulation:
    """The local protocol P_L. Every message is `guarantee`-private by itself."""

    protocol: SingleMessageProtocol
    guarantee: Guarantee

    @property
    def users(self) -> int:
        """The number of people."""
        return self.protocol.users

    def randomize(self, values: ArrayLike, *, rng: np.random.Generator | None = None) -> Any:
        """One message for each person, in their order."""
        return self.protocol.randomize(values, rng=rng)

    def tally(self, messages: Any, *, rng: np.random.Generator | None = None) -> Any:
        """Permute the messages, then tally them as the shuffled protocol does."""
        return self.protocol.tally(shuffle(messages, rng=rng))

    def estimate(
        self, tally: Any, *, beta: float = 0.05, reports: int | None = None, domain: Domain | None = None
    ) -> Any:
        """Estimate as the shuffled protocol does."""
        return self.protocol.estimate(tally, beta=beta, reports=reports, domain=domain)

    def output_distribution(self, dataset: Sequence[Any]) -> dict[Hashable, Fraction]:
        """The exact distribution of the output, for a few people.

        It enumerates every person's message, in order, then every one of the n! permutations, then the analyzer's
        outputs.
        """
        distribution: dict[Hashable, Fraction] = {}
        protocol = self.protocol
        if not isinstance(protocol, EnumerableProtocol):
            raise ParameterError(f"{type(protocol).__name__} does not give the distribution of a person's messages")
        rows = [protocol.randomizer_distribution(value) for value in dataset]
        for sent in product(*(row.items() for row in rows)):
            weight = math.prod((p for _, p in sent), start=Fraction(1, math.factorial(len(dataset))))
            for order in permutations(messages for ((messages,), _) in sent):
                output = protocol.estimate(protocol.tally(order))
                distribution[output] = distribution.get(output, Fraction(0)) + weight
        return {output: p for output, p in distribution.items() if p}


def to_local(protocol: SingleMessageProtocol) -> LocalSimulation:
    """Return the local protocol of Theorem 4.1 for a single-message protocol.

    With pure privacy it keeps epsilon. With delta > 0 its messages are (epsilon + ln n, delta)-private by the lemma of
    Cheu et al. 2019, where n is the number of people that the shuffled guarantee counts.
    """
    if not isinstance(protocol, SingleMessageProtocol):
        raise ParameterError(f"to_local needs a shuffled protocol, got {type(protocol).__name__}")
    if (protocol.messages_per_user.expected, protocol.messages_per_user.maximum) != (1, 1):
        raise ParameterError(
            "to_local needs a single-message protocol: with several messages per person, shuffled privacy says nothing "
            "about a person's messages (R^infinity and R^gap, docs/explanation/pure-privacy.md)"
        )
    shuffled = protocol.guarantee
    if shuffled is None:
        raise ParameterError("to_local needs a protocol with a guarantee: calibrate it")
    if shuffled.delta == 0:
        guarantee = Guarantee(epsilon=shuffled.epsilon, delta=0.0, basis="Theorem 4.1")
    else:
        people = protocol.users if protocol.honest_users is None else protocol.honest_users
        epsilon = (shuffled.epsilon + math.log(people)) * (1 + FEW_OPERATIONS)
        guarantee = Guarantee(epsilon=epsilon, delta=shuffled.delta, basis="epsilon + ln n, Cheu et al. 2019")
    return LocalSimulation(protocol=protocol, guarantee=guarantee)


@dataclass(frozen=True, kw_only=True)
class FiniteProtocol:
    """A finite single-message randomizer and any function of the messages in the order received."""

    users: int
    randomizer: FiniteRandomizer
    analyzer: Callable[[Messages], Hashable]

    @property
    def honest_users(self) -> int:
        """All people count."""
        return self.users

    @property
    def guarantee(self) -> Guarantee:
        """The exact pure epsilon of the shuffled messages."""
        epsilon = self.randomizer.shuffled_privacy(users=self.users).epsilon
        return Guarantee(epsilon=epsilon, delta=0.0, basis="enumeration of messages")

    @property
    def messages_per_user(self) -> MessageCount:
        """The largest number of messages over all values."""
        distributions = self.randomizer.table.values()
        expected = max(sum(p * len(messages) for messages, p in distribution.items()) for distribution in distributions)
        longest = max(len(messages) for distribution in distributions for messages, p in distribution.items() if p)
        # a randomizer that may send nothing is not single-message either
        most = longest if self.randomizer.single_message else max(2, longest)
        return MessageCount(expected=float(expected), maximum=most)

    def randomizer_distribution(self, value: Any) -> Distribution:
        """The exact distribution of one person's messages."""
        return self.randomizer.table[value]

    def randomize(self, values: ArrayLike, *, rng: np.random.Generator | None = None) -> NDArray[np.object_]:
        """The messages of all people, person after person."""
        sent = self.randomizer.randomize(values, rng=rng)
        return np.fromiter(sent, dtype=object, count=len(sent))

    def tally(self, messages: Any) -> Messages:
        """Return the messages unchanged: this analyzer may use their order."""
        return tuple(messages)

    def estimate(
        self, tally: Messages, *, beta: float = 0.05, reports: int | None = None, domain: Domain | None = None
    ) -> Hashable:
        """Return the analyzer's output; there are no intervals and no labels."""
        return self.analyzer(tally)

    def output_distribution(self, dataset: Sequence[Any]) -> dict[Hashable, Fraction]:
        """The exact distribution of A(S(R(x_1), ..., R(x_n))): all orders of a multiset are equally likely."""
        distribution: dict[Hashable, Fraction] = {}
        for multiset, p in self.randomizer.shuffled_distribution(dataset).items():
            orders = set(permutations(multiset))
            for order in orders:
                output = self.analyzer(order)
                distribution[output] = distribution.get(output, Fraction(0)) + p / len(orders)
        return distribution

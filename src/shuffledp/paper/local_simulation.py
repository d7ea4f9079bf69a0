"""Theorem 4.1: a single-message shuffled protocol with pure privacy is equivalent to a local protocol.

Given P = (R, A), the local protocol is P_L = (R, A_L), where A_L permutes the messages uniformly and runs A. Its output
has the same distribution as the output of P for every input, and by Claim 4.2 its randomizer has P's epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
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
from shuffledp.paper.divergence import Distribution, EnumerableProtocol, Messages
from shuffledp.paper.finite_randomizer import FiniteRandomizer
from shuffledp.protocols.protocol import MessageCount


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
        """The number of messages of a person; `to_local` checks that it is one."""


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
        """The exact distribution of the output, if the protocol gives the distribution of its messages; for a few
        people.

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
    """A protocol P = (R, A) of a finite single-message randomizer and any function of the messages in the order
    received.
    """

    users: int
    randomizer: FiniteRandomizer
    analyzer: Callable[[Messages], Hashable]

    @property
    def honest_users(self) -> int:
        """None: all people count."""
        return self.users

    @property
    def guarantee(self) -> Guarantee:
        """The exact pure epsilon of the shuffled messages."""
        epsilon = self.randomizer.shuffled_privacy(users=self.users).epsilon
        return Guarantee(epsilon=epsilon, delta=0.0, basis="enumeration of messages")

    @property
    def messages_per_user(self) -> MessageCount:
        """The largest number of messages over all values, from the table."""
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
        """Return the analyzer's output; there are no intervals, and no labels other than the messages."""
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

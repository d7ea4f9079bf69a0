"""The names that one can ask for, as types: an editor completes them, and mypy finds a wrong one.

A test keeps them equal to those of the catalogue.

What a protocol costs each person: how many messages, and of how many bits.

What a histogram protocol is: a randomizer, a privacy curve and a reading of its tally.

This is all that runs, plans, comparisons, verification, simulations and engines ask of one, and nothing else. Protocols
of the central model have no messages and so only the first interface.
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.estimators.base import ErrorBound, Estimator
from shuffledp.histogram.domain import Domain
from shuffledp.histogram.estimate import Estimate
from shuffledp.histogram.facts import ProtocolFacts
from shuffledp.histogram.inputs import Counts
from shuffledp.histogram.tally import Tally
from shuffledp.protocols.guarantee import Promising
from shuffledp.protocols.target import Target

ShuffledName = Literal[
    "shuffled-response",
    "shuffled-hadamard",
    "shuffled-unary",
    "shuffled-hashing",
    "blanket-published",
    "blanket",
    "public-coin-published",
    "public-coin",
    "private-coin-published",
    "private-coin",
    "amplified",
    "hist-published",
    "hist",
    "hist-unbiased",
    "sparse",
    "sparse-best",
    "dummy",
    "dummy-poisson",
]
"""Protocols of the shuffled model, with which a release can be made."""

CentralName = Literal["stability", "laplace"]
"""Protocols of the central model, with which a trusted curator makes a release."""

LocalName = Literal["response", "unary-symmetric", "unary", "hashing", "hadamard", "bassily-smith"]
"""Protocols of the local model, which comparisons measure too."""

ReleaseName = ShuffledName | CentralName
ProtocolName = ReleaseName | LocalName
EstimatorName = Literal["truncated", "unbiased", "smallest"]
EngineName = Literal["local", "spark"]
TrustName = Literal["shuffler", "curator"]
"""Whom a release trusts: a shuffler, as if people had sent messages, or a curator, who is given everybody's values."""


class MessageCount(NamedTuple):
    """How many messages one person sends."""

    expected: float
    maximum: float

    @property
    def fixed(self) -> bool:
        """Whether everybody always sends the same number."""
        return self.expected == self.maximum < math.inf


def expected_messages(*, bins: int, noise_per_bin: float, values: int = 1) -> float:
    """One message for each value, and a person's noise in every bin; infinite where no float can hold it."""
    try:
        return values + bins * noise_per_bin
    except OverflowError:
        return math.inf


def bits_to_name(bins: int) -> int:
    """Bits that tell this number of bins apart."""
    return max(1, (bins - 1).bit_length())


class HistogramProtocol(Promising, Protocol):
    """A protocol of any model, for given people, bins and noise; with a guarantee and a privacy curve."""

    @classmethod
    def for_target(cls, target: Target) -> Self:
        """The protocol with the least noise for the guarantee of the whole release."""

    @classmethod
    def published_for(cls, target: Target) -> Self:
        """The protocol with its published parameters for the guarantee of the whole release."""

    @classmethod
    def minimum_users(cls, *, epsilon: float, delta: float, values_per_person: int = 1) -> int:
        """The fewest honest people with whom the guarantee is possible."""

    @property
    def bins(self) -> int:
        """How many values are possible, and fillers."""

    @property
    def values_per_person(self) -> int:
        """How many bins everybody holds."""

    @property
    def padding_bins(self) -> int:
        """How many of the bins, the last ones, are no values: who holds fewer fills up with them."""

    @property
    def estimator(self) -> Estimator:
        """How a tally is read."""

    @property
    def messages_per_user(self) -> MessageCount:
        """How many messages one person sends."""

    @property
    def bits_per_message(self) -> int:
        """Bits of one message."""

    @property
    def samples_exactly(self) -> bool:
        """Whether `sample_tally` draws from the law of the tally, and makes no messages."""

    @property
    def drawing_cost(self) -> float:
        """About how many elementary steps a draw of `sample_tally` takes, beyond a few for each bin."""

    def sample_tally(self, counts: Counts, *, rng: np.random.Generator | None = None, part: bool = False) -> Tally:
        """A tally drawn from its law given the true counts."""

    def error(self, beta: float, *, occupied_bins: int | None = None) -> ErrorBound:
        """Errors in people that are exceeded with probability at most beta, before any release."""

    def estimate(
        self, tally: Tally, *, beta: float = 0.05, reports: int | None = None, domain: Domain | None = None
    ) -> Estimate:
        """The histogram with intervals that hold with probability 1 - beta."""

    def fresh(self, rng: np.random.Generator) -> Self:
        """The protocol with new public coins; itself where it has none."""

    def facts(self, *, drawn: bool = False) -> ProtocolFacts:
        """The facts that a reader of a release must know; `drawn` if the party with the data sampled the tally."""

    def describe(self, *, beta: float = 0.05, drawn: bool = False) -> str:
        """Describe the guarantee, its conditions and the expected error in paragraphs of English."""


@runtime_checkable
class MessageProtocol(HistogramProtocol, Protocol):
    """A protocol of the shuffled or the local model, where people send messages."""

    @property
    def numbered_messages(self) -> bool:
        """Whether messages are single whole numbers, which some engines need."""

    def randomize(self, values: ArrayLike, *, rng: np.random.Generator | None = None) -> Any:
        """The messages of one person (a bin) or of many (an array of bins).

        Where people hold several values, or can hold none, an array with a row for each person: bins, or -1 for none.
        """

    def tally(self, messages: Any) -> Tally:
        """Counts per symbol, which add up over parts of the messages."""

"""The interface of a histogram protocol: a randomizer, a privacy curve and an estimator of its tally.

All other code uses nothing else. Protocols of the central model have no messages and so only the first interface. The
names of the catalogue are types, for editors and mypy; a test keeps them equal to the catalogue.
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
from shuffledp.protocols.target import HasGuarantee, Target

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
    "hashed",
]
"""Protocols of the shuffled model, which can make releases."""

CentralName = Literal["stability", "laplace"]
"""Protocols of the central model, which make the releases of a trusted curator."""

LocalName = Literal["response", "unary-symmetric", "unary", "hashing", "hadamard", "bassily-smith"]
"""Protocols of the local model, for comparisons."""

ReleaseName = ShuffledName | CentralName
ProtocolName = ReleaseName | LocalName
EstimatorName = Literal["truncated", "unbiased", "smallest"]
EngineName = Literal["local", "spark"]
TrustName = Literal["shuffler", "curator"]
"""The trusted party of a release: a shuffler, as if people had sent messages, or a curator, who is given all values."""


class MessageCount(NamedTuple):
    """The number of messages of one person."""

    expected: float
    maximum: float

    @property
    def fixed(self) -> bool:
        """Whether everyone always sends the same number."""
        return self.expected == self.maximum < math.inf


def expected_messages(*, bins: int, noise_per_bin: float, values: int = 1) -> float:
    """One message for each value, and the noise of one person in every bin; infinite if it exceeds a float."""
    try:
        return values + bins * noise_per_bin
    except OverflowError:
        return math.inf


def bits_to_name(bins: int) -> int:
    """The number of bits that distinguish this number of bins."""
    return max(1, (bins - 1).bit_length())


class HistogramProtocol(HasGuarantee, Protocol):
    """A protocol of any model, for given people, bins and noise; with a guarantee and a privacy curve."""

    @classmethod
    def for_target(cls, target: Target) -> Self:
        """Return the protocol with the least noise for the guarantee of the whole release."""

    @classmethod
    def published_for(cls, target: Target) -> Self:
        """Return the protocol with its published parameters for the guarantee of the whole release."""

    @classmethod
    def minimum_users(cls, *, epsilon: float, delta: float, values_per_person: int = 1) -> int:
        """The fewest honest people with whom the guarantee is possible."""

    @property
    def bins(self) -> int:
        """The number of possible values and padding bins."""

    @property
    def values_per_person(self) -> int:
        """The number of bins that each person holds."""

    @property
    def padding_bins(self) -> int:
        """The number of last bins that are not values, but pad people who hold fewer values."""

    @property
    def estimator(self) -> Estimator:
        """The estimator of a tally."""

    @property
    def messages_per_user(self) -> MessageCount:
        """The number of messages of one person."""

    @property
    def bits_per_message(self) -> int:
        """Bits of one message."""

    @property
    def samples_exactly(self) -> bool:
        """Whether `sample_tally` samples from the exact distribution of the tally, without messages."""

    @property
    def drawing_cost(self) -> float:
        """The approximate number of elementary steps of `sample_tally`, beyond a few for each bin."""

    def sample_tally(self, counts: Counts, *, rng: np.random.Generator | None = None, part: bool = False) -> Tally:
        """Sample a tally from its exact distribution, given the true counts."""

    def error(self, beta: float, *, occupied_bins: int | None = None) -> ErrorBound:
        """Error bounds in people before any release, which fail with probability at most beta."""

    def estimate(
        self, tally: Tally, *, beta: float = 0.05, reports: int | None = None, domain: Domain | None = None
    ) -> Estimate:
        """Estimate the histogram, with intervals that hold with probability 1 - beta."""

    def fresh(self, rng: np.random.Generator) -> Self:
        """The protocol with new public coins; itself without public coins."""

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
        """Count the messages per symbol; counts of parts of the messages add up."""


@runtime_checkable
class Decodes(Protocol):
    """A protocol whose messages of many people take more memory than the counts that its estimator makes of them."""

    def decode(self, tally: Tally) -> Tally:
        """Return the counts of the estimator in place of the messages; counts of parts of the messages add up."""


def decoded(protocol: object, tally: Tally) -> Tally:
    """Return the tally of some messages in its smallest form."""
    return protocol.decode(tally) if isinstance(protocol, Decodes) else tally

"""Facts about the protocol behind an estimate: numbers and enums, which `explain` turns into sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from shuffledp.accounting.curve import Guarantee
from shuffledp.formatting import ShortRepr


class Trusted(StrEnum):
    """The party on which the guarantee relies, besides the honest people."""

    NOBODY = "nobody"
    """Each message is private by itself (local model)."""
    SHUFFLER = "shuffler"
    """A shuffler mixes all messages, and the noise comes from honest people (shuffled model)."""
    CURATOR = "curator"
    """A curator sees every value and adds the noise (central model)."""
    DATA_HOLDER = "data holder"
    """The party with the data sampled the tally of a shuffled protocol and saw every value."""


@dataclass(frozen=True, kw_only=True)
class Cap(ShortRepr):
    """The contribution cap: `values` different values of each person count, chosen at random if there are more.

    Estimates and intervals are then of the capped counts. If `counted`, one more bin counts the people who have more.
    Whether anybody has more is private.
    """

    values: int
    counted: bool = False


RISK = 1e-3
"""The default probability that any selected value is held by nobody."""


@dataclass(frozen=True, kw_only=True)
class Detection(ShortRepr):
    """How the reported values were selected among far more possible ones, by a threshold on noisy counts.

    A value that at least `limit` people hold is reported with probability 1 - beta. With probability at most `risk`,
    any reported value is held by nobody, if everyone follows the protocol. `longest` is the most bytes of a text where
    nobody listed the values. `candidates` is the number of values compared with the threshold on each level.
    """

    limit: int
    risk: float
    longest: int | None = None
    candidates: tuple[int, ...] = ()


class NoiseKind(StrEnum):
    """How a protocol makes its noise. The comment names the numbers of each kind."""

    OTHER = "other"  # none: a protocol that is not described
    OMITTED_MESSAGES = "omitted messages"  # probability, mean
    OMITTED_MESSAGE = "omitted message"  # probability, mean: the sum of bits
    FLIPPED_BITS = "flipped bits"  # probability
    FLIPPED_BIT = "flipped bit"  # probability: the sum of bits
    DUMMIES = "dummies"  # mean
    CANCELLING_PAIRS = "cancelling pairs"  # messages, pairs, lone
    HASHED_CELLS = "hashed cells"  # cells, rows, mean
    HASHED_VALUES = "hashed values"  # mean, buckets, messages, levels
    RANDOM_MESSAGES = "random messages"  # messages
    AMPLIFIED = "amplified"  # epsilon of one message
    LOCAL = "local"  # epsilon of one message
    CENTRAL = "central"  # deviation
    TREE = "tree"  # levels, nodes, deviation
    SECRET_SHARES = "secret shares"  # shares, leak


@dataclass(frozen=True)
class NoiseFacts(ShortRepr):
    """The kind of a protocol's noise and its numbers."""

    kind: NoiseKind
    numbers: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ProtocolFacts(ShortRepr):
    """The facts about a protocol that a reader of a release must know.

    `guarantee` is the one that the parameters give. `users` is the number of people in one of the `batches`, and
    `honest_users` of those who follow the protocol; None stands for all. Neighbouring datasets differ in all
    `values_per_person` values of one person, who may have fewer if `optional`. `false_positives` says whether values
    that nobody holds can be shown.
    """

    guarantee: Guarantee
    trusted: Trusted
    users: int
    honest_users: int | None
    false_positives: bool
    noise: NoiseFacts
    batches: int = 1
    values_per_person: int = 1
    optional: bool = False

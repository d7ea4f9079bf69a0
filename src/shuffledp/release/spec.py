"""`PrivacySpec` and `Presentation`: how a release is protected, and what it shows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from shuffledp.data.people import People
from shuffledp.errors import ParameterError
from shuffledp.protocols.protocol import EstimatorName, ReleaseName, TrustName
from shuffledp.protocols.target import Target
from shuffledp.release.choose import check_trust
from shuffledp.release.plan_rows import PRACTICAL_MESSAGES
from shuffledp.release.ranges import checked_shares
from shuffledp.validation import failure_probability, target_delta, target_epsilon

MOST_DELTA = 0.01
"""The largest delta of a release of local data, and by default of a task that a client accepts."""


def check_delta(asked: PrivacySpec) -> None:
    """Refuse a delta above the limit for local data; tasks above it are refused by clients."""
    if asked.delta > MOST_DELTA:
        raise ParameterError(
            f"delta must be at most {MOST_DELTA:g}, got {asked.delta:g}: with this probability a person may have no "
            "protection at all. Choose it well below 1 / people, such as 1e-6"
        )


@dataclass(frozen=True, kw_only=True)
class PrivacySpec:
    """The guarantee of a release, the trusted party, and the protocol if it is not left to the planner.

    With `messages`, all messages are made, shuffled and counted instead of sampling their counts.
    """

    epsilon: float
    delta: float
    trust: TrustName = "shuffler"
    protocol: ReleaseName | None = None
    estimator: EstimatorName | None = None
    messages: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", target_epsilon(self.epsilon))
        object.__setattr__(self, "delta", target_delta(self.delta))
        check_trust(self.trust, messages=self.messages)

    @property
    def most_messages(self) -> float:
        """The most messages per person of a practical protocol; infinite if no messages are made."""
        return PRACTICAL_MESSAGES if self.messages else math.inf

    def target(self, people: People, *, users: int) -> Target:
        """Return the target of a protocol for these people."""
        return Target(
            users=users,
            bins=people.domain.size,
            epsilon=self.epsilon,
            delta=self.delta,
            values_per_person=people.source.bins_per_person,
            padding_bins=people.padding_bins,
        )


@dataclass(frozen=True, kw_only=True)
class Presentation:
    """What a release shows.

    Estimates have intervals at confidence 1 - `beta`, and are adjusted to possible numbers if `consistent`. `ranges` or
    `quantiles` add the distribution function, and `evaluate` the true errors.
    """

    beta: float = 0.05
    consistent: bool = False
    ranges: bool = False
    quantiles: Sequence[float] | None = None
    evaluate: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", failure_probability(self.beta))
        if self.quantiles is not None:
            object.__setattr__(self, "quantiles", checked_shares(self.quantiles))
            object.__setattr__(self, "ranges", True)

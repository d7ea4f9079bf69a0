"""The base class of the local protocols, in which each report supports some bins.

A report of a person with value x supports bin x with probability `true_support` (p), and every other bin with
probability `false_support` (q). The tally counts the reports that support each bin (estimators/supports.py).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.amplification import Amplification
from shuffledp.accounting.bounds import PureCurve
from shuffledp.accounting.curve import Guarantee
from shuffledp.estimators.supports import Supports
from shuffledp.histogram.facts import NoiseFacts, NoiseKind, Trusted
from shuffledp.histogram.inputs import few_enough_bins
from shuffledp.histogram.shuffle import concatenate
from shuffledp.histogram.tally import Tally
from shuffledp.noise.binomial import safely_up
from shuffledp.protocols.protocol import MessageCount
from shuffledp.protocols.shuffled_histogram import ShuffledHistogram
from shuffledp.protocols.target import Target
from shuffledp.validation import real, target_epsilon, whole


@dataclass(frozen=True, kw_only=True)
class FrequencyOracle(ShuffledHistogram):
    """A randomizer that is `epsilon`-private by itself, for `users` people and `bins` values."""

    epsilon: float

    numbered_messages = False
    trusted = Trusted.NOBODY

    def __post_init__(self) -> None:
        super().__post_init__()
        few_enough_bins(whole("bins", self.bins, minimum=2))
        object.__setattr__(self, "epsilon", target_epsilon(real("epsilon", self.epsilon)))
        alone = Guarantee(epsilon=self.epsilon, delta=0.0, basis="every message by itself")
        object.__setattr__(self, "guarantee", alone)

    @classmethod
    def for_target(cls, target: Target, **choices: Any) -> Self:
        """Return the protocol with pure epsilon; delta and the honesty of other people do not matter."""
        target.needs_one_value(cls)
        return cls(users=target.users, bins=target.bins, epsilon=target.epsilon, **choices)

    @classmethod
    def published_for(cls, target: Target) -> Self:
        """Return the same protocol: the published parameters are the best ones."""
        return cls.for_target(target)

    @property
    @abstractmethod
    def true_support(self) -> float:
        """p, the probability that a report supports its person's own bin."""

    @property
    @abstractmethod
    def false_support(self) -> float:
        """q, the probability that a report supports another given bin."""

    @property
    @abstractmethod
    def telling(self) -> float:
        """The largest probability that a report is more likely under one of two given values than under the other."""

    @property
    def covered(self) -> float:
        """A lower bound on the probability of any other report under a third value, relative to those two; 0 if
        unknown.
        """
        return 0.0

    @cached_property
    def privacy(self) -> PureCurve:
        """An upper bound on the privacy curve of each message alone, whatever other people do."""
        return PureCurve(pure_epsilon=self.epsilon)

    def amplified(self, users: int) -> Amplification:
        """The privacy curve of the reports of several people after shuffling."""
        return Amplification(local_epsilon=self.epsilon, users=users, telling=self.telling, covered=self.covered)

    @cached_property
    def estimator(self) -> Supports:
        """The estimator of counts from supports."""
        return Supports(
            people=self.users, bins=self.bins, true_support=self.true_support, false_support=self.false_support
        )

    @abstractmethod
    def supports(self, messages: Any) -> NDArray[np.int64]:
        """The number of reports that support each bin."""

    @property
    def messages_per_user(self) -> MessageCount:
        """One report each."""
        return MessageCount(expected=1.0, maximum=1.0)

    def tally(self, messages: Any) -> Tally:
        """Count the reports that support each bin."""
        return Tally(np.arange(self.bins), self.supports(messages), messages=len(np.atleast_1d(concatenate(messages))))

    @property
    def noise_facts(self) -> NoiseFacts:
        """The kind of noise and its numbers."""
        return NoiseFacts(NoiseKind.LOCAL, {"epsilon": self.epsilon})


@dataclass(frozen=True, kw_only=True)
class HalfSupports(FrequencyOracle):
    """An oracle whose report supports every bin but the person's own with probability 1/2, any two independently."""

    false_support = 0.5
    telling = 0.5

    @property
    def true_support(self) -> float:
        """e^epsilon / (e^epsilon + 1); its complement is rounded up, which is the private side."""
        return 1 - safely_up(1 / (1 + math.exp(self.epsilon)))

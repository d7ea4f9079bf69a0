"""The three models of the paper's section 2, and the evaluation of a protocol.

local      A(R(x_1), ..., R(x_n))      every message is private by itself
shuffled   A(S(R(x_1), ..., R(x_n)))   what the shuffler hands out is private
central    A(x_1, ..., x_n)            only the result is private
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from shuffledp.pipeline.estimate import Estimate
from shuffledp.pipeline.shuffler import shuffle
from shuffledp.pipeline.tally import Tally


class LocalProtocol(Protocol):
    """A randomizer and an analyzer, who may see who sent what."""

    def randomize(self, values: Any, *, rng: np.random.Generator | None = None) -> Any:
        """One message for each person."""

    def tally(self, messages: Any) -> Tally:
        """The part of the analyzer that scales: how many messages support each bin."""

    def estimate(self, tally: Tally, **options: Any) -> Estimate:
        """The rest of the analyzer."""


class ShuffledProtocol(Protocol):
    """A randomizer and an analyzer that sees only the shuffled messages, so only how often each occurs."""

    def randomize(self, values: Any, *, rng: np.random.Generator | None = None) -> Any:
        """Any number of messages for each person."""

    def tally(self, messages: Any) -> Tally:
        """The part of the analyzer that scales: counts per symbol, which add up over parts of the messages."""

    def estimate(self, tally: Tally, **options: Any) -> Estimate:
        """The rest of the analyzer."""


class CentralProtocol(Protocol):
    """A curator who sees every value."""

    def release(self, values: Any, *, rng: np.random.Generator | None = None) -> Estimate:
        """The private result."""


def drawn_or_run(protocol: Any, truth: Tally, *, rng: np.random.Generator, **options: Any) -> Estimate:
    """A simulated estimate: from the exact law of the tally where there is one, else with every message made."""
    if hasattr(protocol, "sample_tally"):
        estimate: Estimate = protocol.estimate(protocol.sample_tally(truth, rng=rng), **options)
        return estimate
    return run(protocol, np.repeat(truth.symbols, truth.counts), rng=rng, **options)


def run(protocol: ShuffledProtocol, values: Any, *, rng: np.random.Generator | None = None, **options: Any) -> Estimate:
    """P(x) = A(S(R(x_1), ..., R(x_n))), with every message really made; further options go to `estimate`.

    If there are fewer values than the protocol has users, the estimate says what that does to the guarantee.
    """
    messages = protocol.randomize(values, rng=rng)
    shuffled = shuffle(messages, rng=rng)
    tally = protocol.tally(shuffled)
    return protocol.estimate(tally, **{"reports": np.size(values), **options})

"""The three models of the paper's section 2, and the evaluation of a protocol.

local      A(R(x_1), ..., R(x_n))      every message is private by itself
shuffled   A(S(R(x_1), ..., R(x_n)))   what the shuffler hands out is private
central    A(x_1, ..., x_n)            only the result is private
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.pipeline.domain import Domain
from shuffledp.pipeline.estimate import Estimate
from shuffledp.pipeline.shuffler import shuffle

Output = TypeVar("Output", covariant=True)


@runtime_checkable
class ShuffledProtocol(Protocol[Output]):
    """A randomizer R and an analyzer A that sees only the shuffled messages; A is `tally`, then `estimate`.

    A local protocol has the same verbs: its analyzer may see who sent what, and makes no use of it.
    """

    def randomize(self, values: ArrayLike, *, rng: np.random.Generator | None = None) -> Any:
        """The messages of one person or of many."""

    def tally(self, messages: Any) -> Any:
        """The part of the analyzer that scales: counts per symbol, which add up over parts of the messages."""

    def estimate(
        self, tally: Any, *, beta: float = 0.05, reports: int | None = None, domain: Domain | None = None
    ) -> Output:
        """The rest of the analyzer."""


class CentralProtocol(Protocol):
    """A curator who sees every value."""

    def release(self, values: ArrayLike, *, rng: np.random.Generator | None = None) -> Estimate:
        """The private result."""


def run(
    protocol: ShuffledProtocol[Output],
    values: ArrayLike,
    *,
    rng: np.random.Generator | None = None,
    beta: float = 0.05,
    reports: int | None = None,
    domain: Domain | None = None,
) -> Output:
    """P(x) = A(S(R(x_1), ..., R(x_n))), with every message really made.

    If there are fewer values than the protocol has users, the estimate says what that does to the guarantee.
    """
    messages = protocol.randomize(values, rng=rng)
    shuffled = shuffle(messages, rng=rng)
    tally = protocol.tally(shuffled)
    people = np.size(values) if reports is None else reports
    return protocol.estimate(tally, beta=beta, reports=people, domain=domain)

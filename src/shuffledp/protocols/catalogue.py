"""Every histogram protocol by name: what run, plan, compare, verify and simulate offer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from shuffledp.checks import one_of
from shuffledp.errors import ParameterError
from shuffledp.protocols.central import LaplaceHistogram, StabilityHistogram
from shuffledp.protocols.local import BassilySmith, HadamardResponse, LocalHashing, RandomizedResponse, UnaryEncoding
from shuffledp.protocols.names import EstimatorName
from shuffledp.protocols.protocol import HistogramProtocol
from shuffledp.protocols.shuffled.amplified import AmplifiedOracle
from shuffledp.protocols.shuffled.blanket import BlanketHistogram
from shuffledp.protocols.shuffled.dummy import DummyHistogram
from shuffledp.protocols.shuffled.histogram import Histogram
from shuffledp.protocols.shuffled.private_coin import PrivateCoinHistogram
from shuffledp.protocols.shuffled.public_coin import PublicCoinHistogram
from shuffledp.protocols.shuffled.sparse import SparseHistogram
from shuffledp.protocols.target import Target

Model = Literal["central", "local", "shuffled"]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A protocol that one can ask for by name.

    `choices` are further arguments of its `for_target`; with `published` it has its published parameters instead. The
    planner recommends those that are `advised`, and shows `earlier` ones on demand.
    """

    title: str
    kind: type[HistogramProtocol]
    model: Model = "shuffled"
    reading: EstimatorName = "unbiased"
    choices: Mapping[str, Any] = field(default_factory=dict)
    published: bool = False
    advised: bool = False
    earlier: bool = False

    @property
    def phantoms(self) -> bool:
        """Whether values that nobody holds can look occupied."""
        return self.reading != "truncated"

    def make(self, target: Target) -> HistogramProtocol:
        """The protocol for a target."""
        if self.published and target.honest != target.users:
            raise ParameterError("published parameters count on all users: leave honest_users out, or calibrate")
        if self.published:
            return self.kind.published_for(target)
        return self.kind.for_target(target, **self.choices)


CATALOGUE: dict[str, Entry] = {
    "stability": Entry(title="stability-based [BNS16]", kind=StabilityHistogram, model="central", reading="truncated"),
    "laplace": Entry(title="discrete Laplace [DMNS06]", kind=LaplaceHistogram, model="central"),
    "response": Entry(title="d-ary randomized response", kind=RandomizedResponse, model="local"),
    "unary-symmetric": Entry(
        title="symmetric unary encoding", kind=UnaryEncoding, model="local", choices={"optimised": False}
    ),
    "unary": Entry(title="optimised unary encoding", kind=UnaryEncoding, model="local"),
    "hashing": Entry(title="optimised local hashing", kind=LocalHashing, model="local"),
    "hadamard": Entry(title="Hadamard response", kind=HadamardResponse, model="local"),
    "bassily-smith": Entry(title="Bassily-Smith [BS15]", kind=BassilySmith, model="local"),
    "shuffled-response": Entry(
        title="shuffled d-ary response [BBGN19]", kind=AmplifiedOracle, choices={"kind": RandomizedResponse}
    ),
    "shuffled-hadamard": Entry(
        title="shuffled Hadamard response", kind=AmplifiedOracle, choices={"kind": HadamardResponse}
    ),
    "shuffled-unary": Entry(title="shuffled unary encoding", kind=AmplifiedOracle, choices={"kind": UnaryEncoding}),
    "shuffled-hashing": Entry(
        title="shuffled local hashing [WXD+19]", kind=AmplifiedOracle, choices={"kind": LocalHashing}
    ),
    "blanket-published": Entry(title="CSU+19, published", kind=BlanketHistogram, published=True),
    "blanket": Entry(title="CSU+19, calibrated", kind=BlanketHistogram, earlier=True),
    "public-coin-published": Entry(
        title="GGK+19 public coin, published", kind=PublicCoinHistogram, reading="smallest", published=True
    ),
    "public-coin": Entry(
        title="GGK+19 public coin, calibrated", kind=PublicCoinHistogram, reading="smallest", earlier=True
    ),
    "private-coin-published": Entry(title="GGK+19 private coin, published", kind=PrivateCoinHistogram, published=True),
    "private-coin": Entry(title="GGK+19 private coin, calibrated", kind=PrivateCoinHistogram, earlier=True),
    "amplified": Entry(title="best local protocol, shuffled", kind=AmplifiedOracle, earlier=True),
    "hist-published": Entry(
        title="Histogram (P^hist), theorem's constants", kind=Histogram, reading="truncated", published=True
    ),
    "hist": Entry(title="Histogram (P^hist)", kind=Histogram, reading="truncated", advised=True),
    "hist-unbiased": Entry(
        title="Histogram (P^hist), unbiased", kind=Histogram, choices={"truncated": False}, advised=True
    ),
    "sparse": Entry(title="SparseHistogram (ours)", kind=SparseHistogram, reading="truncated", advised=True),
    "sparse-best": Entry(
        title="SparseHistogram (ours), best error",
        kind=SparseHistogram,
        reading="truncated",
        choices={"messages": math.inf},
        advised=True,
    ),
    "dummy": Entry(title="DummyHistogram", kind=DummyHistogram, advised=True),
    "dummy-poisson": Entry(title="DummyHistogram, Poisson", kind=DummyHistogram, choices={"dummies": "poisson"}),
}


def named(name: str, *, what: str = "protocol") -> Entry:
    """The entry of that name."""
    return CATALOGUE[one_of(what, name, CATALOGUE)]

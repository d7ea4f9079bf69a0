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
    planner recommends those that are `advised`, and shows `earlier` ones on demand. `summary` says in half a line what
    it does.
    """

    title: str
    kind: type[HistogramProtocol]
    model: Model = "shuffled"
    reading: EstimatorName = "unbiased"
    choices: Mapping[str, Any] = field(default_factory=dict)
    published: bool = False
    advised: bool = False
    earlier: bool = False
    summary: str = ""

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
    "stability": Entry(
        title="stability-based [BNS16]",
        kind=StabilityHistogram,
        model="central",
        reading="truncated",
        summary="noise on the values that somebody holds, and small counts are left out",
    ),
    "laplace": Entry(
        title="discrete Laplace [DMNS06]",
        kind=LaplaceHistogram,
        model="central",
        summary="noise of both signs on every value",
    ),
    "response": Entry(
        title="d-ary randomized response",
        kind=RandomizedResponse,
        model="local",
        summary="the value, or with some probability another one",
    ),
    "unary-symmetric": Entry(
        title="symmetric unary encoding",
        kind=UnaryEncoding,
        model="local",
        choices={"optimised": False},
        summary="a yes or no for every value, flipped alike",
    ),
    "unary": Entry(
        title="optimised unary encoding",
        kind=UnaryEncoding,
        model="local",
        summary="a yes or no for every value, flipped as is best",
    ),
    "hashing": Entry(
        title="optimised local hashing",
        kind=LocalHashing,
        model="local",
        summary="the value's place in a random smaller list, randomized",
    ),
    "hadamard": Entry(
        title="Hadamard response",
        kind=HadamardResponse,
        model="local",
        summary="one sign of a random row of a Hadamard matrix",
    ),
    "bassily-smith": Entry(
        title="Bassily-Smith [BS15]",
        kind=BassilySmith,
        model="local",
        summary="one sign of a random projection",
    ),
    "shuffled-response": Entry(
        title="shuffled d-ary response [BBGN19]",
        kind=AmplifiedOracle,
        choices={"kind": RandomizedResponse},
        summary="one message each, mixed",
    ),
    "shuffled-hadamard": Entry(
        title="shuffled Hadamard response",
        kind=AmplifiedOracle,
        choices={"kind": HadamardResponse},
        summary="one message each, mixed",
    ),
    "shuffled-unary": Entry(
        title="shuffled unary encoding",
        kind=AmplifiedOracle,
        choices={"kind": UnaryEncoding},
        summary="a yes or no for every value, mixed",
    ),
    "shuffled-hashing": Entry(
        title="shuffled local hashing [WXD+19]",
        kind=AmplifiedOracle,
        choices={"kind": LocalHashing},
        summary="one message each, mixed",
    ),
    "blanket-published": Entry(
        title="CSU+19, published",
        kind=BlanketHistogram,
        published=True,
        summary="a yes or no for every value, with the parameters of its paper",
    ),
    "blanket": Entry(
        title="CSU+19, calibrated",
        kind=BlanketHistogram,
        earlier=True,
        summary="a yes or no for every value, with the least noise",
    ),
    "public-coin-published": Entry(
        title="GGK+19 public coin, published",
        kind=PublicCoinHistogram,
        reading="smallest",
        published=True,
        summary="values share cells of a public random table, with the parameters of its paper",
    ),
    "public-coin": Entry(
        title="GGK+19 public coin, calibrated",
        kind=PublicCoinHistogram,
        reading="smallest",
        earlier=True,
        summary="values share cells of a public random table, with the least noise",
    ),
    "private-coin-published": Entry(
        title="GGK+19 private coin, published",
        kind=PrivateCoinHistogram,
        published=True,
        summary="each message is a random set of values, with the parameters of its paper",
    ),
    "private-coin": Entry(
        title="GGK+19 private coin, calibrated",
        kind=PrivateCoinHistogram,
        earlier=True,
        summary="each message is a random set of values, with the least noise",
    ),
    "amplified": Entry(
        title="best local protocol, shuffled",
        kind=AmplifiedOracle,
        earlier=True,
        summary="whichever local protocol has the smallest error once it is mixed",
    ),
    "hist-published": Entry(
        title="Histogram (P^hist), theorem's constants",
        kind=Histogram,
        reading="truncated",
        published=True,
        summary="the paper's protocol with the constants of its theorem",
    ),
    "hist": Entry(
        title="Histogram (P^hist)",
        kind=Histogram,
        reading="truncated",
        advised=True,
        summary="the paper's protocol; never shows a value that nobody holds",
    ),
    "hist-unbiased": Entry(
        title="Histogram (P^hist), unbiased",
        kind=Histogram,
        choices={"truncated": False},
        advised=True,
        summary="the same messages; shows every value with noise of both signs",
    ),
    "sparse": Entry(
        title="SparseHistogram (ours)",
        kind=SparseHistogram,
        reading="truncated",
        advised=True,
        summary="few messages; never shows a value that nobody holds",
    ),
    "sparse-best": Entry(
        title="SparseHistogram (ours), best error",
        kind=SparseHistogram,
        reading="truncated",
        choices={"messages": math.inf},
        advised=True,
        summary="more messages, smaller error; never shows a value that nobody holds",
    ),
    "dummy": Entry(
        title="DummyHistogram",
        kind=DummyHistogram,
        advised=True,
        summary="made-up messages for every value; shows every value with noise of both signs",
    ),
    "dummy-poisson": Entry(
        title="DummyHistogram, Poisson",
        kind=DummyHistogram,
        choices={"dummies": "poisson"},
        summary="the same with another law of the noise",
    ),
}


def named(name: str, *, what: str = "protocol") -> Entry:
    """The entry of that name."""
    return CATALOGUE[one_of(what, name, CATALOGUE)]

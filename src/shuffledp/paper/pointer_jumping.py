"""Multi-party pointer jumping, MPJ(s, h) (Balcer and Cheu, section 3.3, after Joseph, Mao, Neel and Roth 2019).

In a complete s-ary tree every node of the levels 1 .. h has a label in 0 .. s - 1, the child at which the path from the
root continues. A person holds the labels of one whole level, a uniformly random one of the h. The task is to find the
path. Level i has s^(i - 1) nodes, far too many to list, so labels are computed on demand from a key of the level.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from shuffledp.errors import DataError
from shuffledp.histogram.domain import Domain
from shuffledp.histogram.estimate import Estimate
from shuffledp.histogram.tally import Tally
from shuffledp.paper.support_identification import SupportIdentification
from shuffledp.protocols.protocol import HistogramProtocol
from shuffledp.randomness import generator
from shuffledp.validation import whole

_MOST_LISTED = 4096
"""The most labels that are listed; a level with more nodes is represented by its key."""
_MOST_SIZE_BITS = 4096
"""The most bits of a number of values that is computed exactly; larger ones count as 2^4096."""
_FROM_LEVELS: Any = None
"""The default of `branching`, which stands for h^4 and depends on `levels`."""


@dataclass(frozen=True)
class Level:
    """The labels of one level, each a hash of its node under the level's key."""

    depth: int
    branching: int
    key: bytes

    @property
    def nodes(self) -> int:
        """s^(i - 1)."""
        return int(self.branching ** (self.depth - 1))

    def label(self, node: int) -> int:
        """The label of a node, numbered from 0 within the level; uniform but for less than 2^-256 s."""
        if not 0 <= node < self.nodes:
            raise DataError(f"level {self.depth} has no such node")
        name = node.to_bytes(max(1, math.ceil(node.bit_length() / 8)), "little")
        digest = hashlib.blake2b(name, key=self.key, digest_size=32).digest()
        return int.from_bytes(digest, "little") % self.branching

    @property
    def item(self) -> tuple[int, Any]:
        """The value of a person with this level: all labels if they can be listed, else the key that determines
        them.
        """
        listed = self.nodes <= _MOST_LISTED
        return self.depth, tuple(map(self.label, range(self.nodes))) if listed else self.key


@dataclass(frozen=True, kw_only=True)
class PointerJumping:
    """The problem MPJ(s, h): `levels` is h and `branching` is s, by default h^4 as in the lower bound for the local
    model.
    """

    levels: int
    branching: int = _FROM_LEVELS

    def __post_init__(self) -> None:
        levels = whole("levels", self.levels)
        given = self.branching is not _FROM_LEVELS
        object.__setattr__(self, "branching", whole("branching", self.branching) if given else levels**4)

    @property
    def bins(self) -> int:
        """The number of possible values, s^(s^0) + ... + s^(s^(h - 1)); 2^4096 stands for anything larger.

        The exact size does not matter: a protocol's behaviour in occupied bins does not depend on the number of empty
        ones.
        """
        if self.branching == 1:
            return self.levels
        bits = math.log2(self.branching)  # s^(s^(h - 1)) has s^(h - 1) times as many
        if (self.levels - 1) * bits + math.log2(bits) >= math.log2(_MOST_SIZE_BITS):
            return int(2**_MOST_SIZE_BITS)
        return sum(self.branching**self.branching**depth for depth in range(self.levels))

    @property
    def domain(self) -> Domain:
        """The domain of all values, never listed."""
        return Domain.implicit(self.bins)

    @property
    def support_problem(self) -> SupportIdentification:
        """The support identification problem to which this one is reduced."""
        return SupportIdentification(items_in_support=self.levels, bins=self.bins)

    def draw(self, *, rng: np.random.Generator | None = None) -> tuple[Level, ...]:
        """Sample an instance: random labels on every level."""
        source = generator(rng)
        return tuple(Level(depth, self.branching, source.bytes(16)) for depth in range(1, self.levels + 1))

    def sample(self, instance: tuple[Level, ...], *, users: int, rng: np.random.Generator | None = None) -> Tally:
        """Sample the number of people who hold each level."""
        self._own(instance)
        return self.support_problem.sample(tuple(level.item for level in instance), users=users, rng=rng)

    def path(self, items: Iterable[tuple[int, Any]]) -> tuple[int, ...] | None:
        """The labels along the path from the root to a leaf; None if a level was not found."""
        known, node, labels = dict(items), 0, []
        for depth in range(1, self.levels + 1):
            if depth not in known:
                return None
            content = known[depth]
            listed = isinstance(content, tuple)
            label = content[node] if listed else Level(depth, self.branching, content).label(node)
            labels.append(label)
            node = node * self.branching + label
        return tuple(labels)

    def answer(self, instance: tuple[Level, ...]) -> tuple[int, ...]:
        """The correct path."""
        self._own(instance)
        found = self.path(level.item for level in instance)
        assert found is not None
        return found

    def _own(self, instance: tuple[Level, ...]) -> None:
        if [(level.depth, level.branching) for level in instance] != [
            (depth, self.branching) for depth in range(1, self.levels + 1)
        ]:
            raise DataError(f"the instance is not one of {self.levels} levels with branching {self.branching}")

    def solve(self, estimate: Estimate) -> tuple[int, ...] | None:
        """The path from a private histogram."""
        return self.path(self.support_problem.identify(estimate))

    def solved(self, instance: tuple[Level, ...], estimate: Estimate) -> bool:
        """Whether the path from a private histogram is correct."""
        return self.solve(estimate) == self.answer(instance)

    def success(self, protocol: HistogramProtocol) -> float:
        """The exact probability that every level is found."""
        return self.support_problem.success(protocol)

"""Pointer chasing and pointer jumping (Balcer and Cheu, section 3.3): people hold few of very many possible values.

A protocol that finds their values solves both problems for any size.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.errors import DataError, ParameterError
from shuffledp.histogram.domain import Domain
from shuffledp.histogram.estimate import Estimate
from shuffledp.histogram.tally import Tally
from shuffledp.paper.support_identification import SupportIdentification, chance_all_found, report_chance
from shuffledp.protocols.protocol import HistogramProtocol
from shuffledp.randomness import generator
from shuffledp.validation import whole

Permutation = tuple[int, ...]
Label = tuple[int, Permutation]
"""The value of one person: 1 or 2, and the permutation."""

LONGEST_IN_MESSAGES = 4
"""It has few enough values (48) that people can send a noise message for each."""


@dataclass(frozen=True)
class PointerInstance:
    """The two permutations, with numbers from 1."""

    first: Permutation
    second: Permutation

    def __post_init__(self) -> None:
        for permutation in (self.first, self.second):
            if sorted(permutation) != list(range(1, len(self.first) + 1)):
                raise DataError("both must be permutations of 1 .. l, of equal length")

    @property
    def support(self) -> tuple[Label, Label]:
        """The two values that people hold."""
        return (1, self.first), (2, self.second)


@dataclass(frozen=True, kw_only=True)
class PointerChasing:
    """PC(k, l), after Joseph, Mao and Roth 2019: `steps` is k, `length` is l.

    Each person holds (1, a) or (2, b), each with probability 1/2, where a and b are permutations of 1 .. l. The task is
    to find the k-th number of the sequence a_1, b_(a_1), a_(b_(a_1)), ... Only two of 2 l! possible values occur.
    """

    steps: int
    length: int

    def __post_init__(self) -> None:
        whole("steps", self.steps)
        whole("length", self.length)

    @cached_property
    def bins(self) -> int:
        """2 l!, the number of possible values."""
        return 2 * math.factorial(self.length)

    @property
    def domain(self) -> Domain:
        """The domain of all values, never listed."""
        return Domain.implicit(self.bins)

    @property
    def support_problem(self) -> SupportIdentification:
        """The support identification problem to which this one is reduced."""
        return SupportIdentification(items_in_support=2, bins=self.bins)

    def draw(self, *, rng: np.random.Generator | None = None) -> PointerInstance:
        """Sample two uniformly random permutations."""
        source = generator(rng)
        first, second = (tuple((source.permutation(self.length) + 1).tolist()) for _ in range(2))
        return PointerInstance(first, second)

    def sample(self, instance: PointerInstance, *, users: int, rng: np.random.Generator | None = None) -> Tally:
        """Sample the number of people who hold each of the two values."""
        self._own(instance)
        return self.support_problem.sample(instance.support, users=users, rng=rng)

    def answer(self, instance: PointerInstance) -> int:
        """The correct answer."""
        self._own(instance)
        found = self.chase(instance.support)
        assert found is not None
        return found

    def chase(self, labels: Iterable[Label]) -> int | None:
        """The k-th pointer, from the values that were found; None if a needed value is missing."""
        known: dict[int, Permutation] = dict(labels)
        at = 1
        for step in range(self.steps):
            permutation = known.get(1 + step % 2)
            if permutation is None:
                return None
            at = permutation[at - 1]
        return at

    def solve(self, estimate: Estimate) -> int | None:
        """The answer from a private histogram, whose labels are bins of `encode` or values."""
        found = self.support_problem.identify(estimate)
        return self.chase(self.decode(item) if isinstance(item, int) else item for item in found)

    def solved(self, instance: PointerInstance, estimate: Estimate) -> bool:
        """Whether the answer from a private histogram is correct."""
        return self.solve(estimate) == self.answer(instance)

    def success(self, protocol: HistogramProtocol) -> float:
        """The exact probability that all needed permutations are found: one if k = 1, else both."""
        wanted = min(self.steps, 2)
        return chance_all_found(users=protocol.users, items=2, wanted=wanted, chance=report_chance(protocol))

    def encode(self, labels: Iterable[Label]) -> NDArray[Any]:
        """Number the values 0 .. 2 l! - 1, for messages: the rank of the permutation, first those of part 1."""
        self._short_enough()
        checked = [self._label(label) for label in labels]
        numbers = [(part - 1) * (self.bins // 2) + rank(permutation) for part, permutation in checked]
        return np.array(numbers, dtype=np.int64)

    def decode(self, number: int) -> Label:
        """The value with this number."""
        self._short_enough()
        if not isinstance(number, int | np.integer) or not 0 <= number < self.bins:
            raise DataError(f"values are numbered 0 .. {self.bins - 1}")
        part, place = divmod(int(number), self.bins // 2)
        return part + 1, unrank(place, self.length)

    def _own(self, instance: PointerInstance) -> None:
        if len(instance.first) != self.length:
            raise DataError(f"the instance has permutations of 1 .. {len(instance.first)}, not of 1 .. {self.length}")

    def _label(self, label: Any) -> Label:
        try:
            part, permutation = label
            if part in (1, 2) and sorted(permutation) == list(range(1, self.length + 1)):
                return int(part), tuple(permutation)
        except (TypeError, ValueError):
            pass
        raise DataError(f"a value is 1 or 2 and a permutation of 1 .. {self.length}")

    def _short_enough(self) -> None:
        if self.length > LONGEST_IN_MESSAGES:
            raise ParameterError(
                f"length={self.length} is too long for messages (at most {LONGEST_IN_MESSAGES}): sample the tally of "
                "the two values with sample_tally"
            )


def rank(permutation: Permutation) -> int:
    """The rank of a permutation of 1 .. l in lexicographic order, from 0."""
    place, left = 0, sorted(permutation)
    for number in permutation:
        place = place * len(left) + left.index(number)
        left.remove(number)
    return place


def unrank(place: int, length: int) -> Permutation:
    """The permutation of 1 .. length with this rank."""
    digits = []
    for base in range(1, length + 1):
        place, digit = divmod(place, base)
        digits.append(digit)
    left = list(range(1, length + 1))
    return tuple(left.pop(digit) for digit in reversed(digits))


_MOST_LISTED = 4096
"""A level with more nodes is represented by its key."""
_MOST_SIZE_BITS = 4096
_FROM_LEVELS: Any = None
"""The default of `branching` stands for h^4, as in the lower bound for the local model."""


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
        """The value of a person with this level: all labels if they can be listed, else the key."""
        listed = self.nodes <= _MOST_LISTED
        return self.depth, tuple(map(self.label, range(self.nodes))) if listed else self.key


@dataclass(frozen=True, kw_only=True)
class PointerJumping:
    """MPJ(s, h), after Joseph, Mao, Neel and Roth 2019: `levels` is h, `branching` is s, by default h^4.

    In a complete s-ary tree every node of the levels 1 .. h has a label in 0 .. s - 1, the child at which the path from
    the root continues. A person holds the labels of one whole level, a uniformly random one of the h. The task is to
    find the path. Level i has s^(i - 1) nodes, far too many to list, so labels are computed on demand from a key.
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

        A protocol's behaviour in occupied bins does not depend on the number of empty ones.
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
        """Sample random labels on every level."""
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

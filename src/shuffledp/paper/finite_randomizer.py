"""A randomizer as an exact table, and its exact privacy: alone, pre-shuffled, and shuffled among n users.

Adding another user's messages is post-processing, so epsilon(n users) <= ... <= epsilon(2 users) <=
epsilon(pre-shuffled) <= epsilon(alone) for every delta. For a single message and delta = 0 all are equal (Claim 4.2 of
the paper). No closed form of `accounting` is used; `ratio` = e^epsilon keeps everything rational.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from numbers import Rational
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.errors import DataError, ParameterError
from shuffledp.paper.divergence import (
    Distribution,
    EnumerableProtocol,
    ExactPrivacy,
    Messages,
    Weights,
    WorstCase,
    allowed_delta,
    delta_of_ratio,
    exact_ratio,
    excess,
    needed_ratio,
)
from shuffledp.randomness import generator
from shuffledp.validation import whole


class Neighbours(NamedTuple):
    """Two values of one person with the same others, and the distributions of the shuffler's output."""

    mine: int
    instead: int
    others: tuple[int, ...]
    distribution: Weights
    other_distribution: Weights


class Multisets:
    """The distributions of the joined messages of `users` people; row v of `rows` is the distribution given value v.

    A multiset is a vector of counts, written as the digits of one whole number, so that joining two multisets adds the
    numbers. Weights are whole numbers over one common denominator per user. The other users' values form a multiset
    too, walked as a tree.
    """

    def __init__(self, rows: Sequence[Mapping[tuple[Any, ...], Fraction]], symbols: Sequence[Hashable], users: int):
        self.users = users
        self._symbols = symbols
        self._base = 1 + users * max((len(messages) for row in rows for messages in row), default=0)
        self._denominator = math.lcm(*(p.denominator for row in rows for p in row.values()))
        place = {symbol: self._base**at for at, symbol in enumerate(symbols)}
        self._rows: list[dict[int, int]] = []
        for row in rows:
            coded: dict[int, int] = {}
            for messages, probability in row.items():
                if probability:
                    code = sum(place[message] for message in messages)
                    coded[code] = coded.get(code, 0) + int(probability * self._denominator)
            self._rows.append(coded)

    @property
    def total(self) -> int:
        """The sum of the weights of all users' distribution."""
        return int(self._denominator**self.users)

    def messages(self, code: int) -> tuple[Any, ...]:
        """The multiset of a number, in the order of the symbols."""
        listed: list[Any] = []
        for symbol in self._symbols:
            code, count = divmod(code, self._base)
            listed.extend([symbol] * count)
        return tuple(listed)

    def distribution(self, people: Sequence[int]) -> dict[int, int]:
        """The distribution of the messages of people with the given rows, in weights."""
        together = {0: 1}
        for row in people:
            together = self._with(together, row)
        return together

    def neighbours(self) -> Iterator[Neighbours]:
        """Every pair of values of one person with every multiset of values of the others."""
        values = range(len(self._rows))
        for others, distribution in self._walk((), {0: 1}):
            outputs = [self._with(distribution, row) for row in values]
            for mine in values:
                for instead in values:
                    if mine != instead:
                        yield Neighbours(mine, instead, others, outputs[mine], outputs[instead])

    def _walk(
        self, others: tuple[int, ...], distribution: dict[int, int]
    ) -> Iterator[tuple[tuple[int, ...], dict[int, int]]]:
        if len(others) == self.users - 1:
            yield others, distribution
            return
        for row in range(others[-1] if others else 0, len(self._rows)):
            yield from self._walk((*others, row), self._with(distribution, row))

    def _with(self, distribution: Mapping[int, int], row: int) -> dict[int, int]:
        joined: dict[int, int] = {}
        for messages, chance in self._rows[row].items():
            for code, weight in distribution.items():
                joined[code + messages] = joined.get(code + messages, 0) + weight * chance
        return joined


_UNKNOWN = "a value is not in the randomizer's table"


@dataclass(frozen=True)
class FiniteRandomizer:
    """A table {value: {tuple of messages in the order sent: Fraction}}."""

    table: Mapping[Any, Distribution]

    def __post_init__(self) -> None:
        if not self.table:
            raise ParameterError("a randomizer needs at least one value")
        for distribution in self.table.values():
            if not all(isinstance(messages, tuple) for messages in distribution):
                raise ParameterError("messages must be tuples, also for a single message: use FiniteRandomizer.single")
            if not all(isinstance(p, Rational) and p >= 0 for p in distribution.values()):
                raise ParameterError("probabilities must be fractions that are not negative: pass fractions.Fraction")
            if sum(distribution.values()) != 1:
                raise ParameterError(
                    f"the probabilities of each value must sum to 1, got {float(sum(distribution.values())):g}"
                )

    @classmethod
    def of(cls, protocol: EnumerableProtocol, values: Iterable[Any]) -> Self:
        """Return the table of a protocol."""
        return cls({value: protocol.randomizer_distribution(value) for value in values})

    @classmethod
    def single(cls, table: Mapping[Any, Mapping[Any, Fraction]]) -> Self:
        """Return a single-message randomizer from {value: {message: Fraction}}."""
        return cls(
            {value: {(message,): p for message, p in distribution.items()} for value, distribution in table.items()}
        )

    @property
    def values(self) -> tuple[Any, ...]:
        """The possible inputs."""
        return tuple(self.table)

    @cached_property
    def symbols(self) -> tuple[Hashable, ...]:
        """The different messages."""
        found = {message for distribution in self.table.values() for messages in distribution for message in messages}
        try:
            return tuple(sorted(found))
        except TypeError:
            return tuple(sorted(found, key=lambda message: (type(message).__name__, repr(message))))

    @property
    def single_message(self) -> bool:
        """Whether everyone always sends exactly one message."""
        return all(
            len(messages) == 1 for distribution in self.table.values() for messages, p in distribution.items() if p
        )

    def pre_shuffled(self) -> FiniteRandomizer:
        """Put each person's messages in a canonical order, which keeps only their multiset."""
        place = {symbol: at for at, symbol in enumerate(self.symbols)}
        rows: dict[Any, dict[Messages, Fraction]] = {}
        for value, distribution in self.table.items():
            row = rows.setdefault(value, {})
            for messages, p in distribution.items():
                key = tuple(sorted(messages, key=place.__getitem__))
                row[key] = row.get(key, Fraction(0)) + p
        return FiniteRandomizer(rows)

    def privacy(self, *, delta: Fraction = Fraction(0)) -> ExactPrivacy:
        """The exact privacy of one person's messages in the order sent."""
        return self._as_one_message().shuffled_privacy(users=1, delta=delta)

    def delta(self, *, ratio: Fraction) -> WorstCase:
        """The exact local delta for e^epsilon = ratio."""
        return self._as_one_message().shuffled_delta(users=1, ratio=ratio)

    def shuffled_privacy(self, *, users: int, delta: Fraction = Fraction(0)) -> ExactPrivacy:
        """The exact privacy of n people's shuffled messages; users=1 is the pre-shuffled randomizer.

        The ratio of a pair of datasets is computed only if the largest ratio so far does not suffice for it.
        """
        delta = allowed_delta(delta)
        multisets, worst = self._multisets(users), None
        ratio = Fraction(1)
        for pair in multisets.neighbours():
            allowed = delta * ratio.denominator * multisets.total
            if worst is None or excess(pair.distribution, pair.other_distribution, ratio=ratio) > allowed:
                worst, found = (
                    pair,
                    needed_ratio(pair.distribution, pair.other_distribution, delta=delta, total=multisets.total),
                )
                if found.ratio is None:
                    break
                ratio = found.ratio
        if worst is None:
            raise ParameterError("privacy needs a randomizer with at least two values, got one")
        return ExactPrivacy(
            ratio=found.ratio,
            delta=delta,
            dataset=self._people(worst.mine, worst.others),
            neighbour=self._people(worst.instead, worst.others),
            outcome=multisets.messages(found.outcome),
        )

    def shuffled_delta(self, *, users: int, ratio: Fraction) -> WorstCase:
        """The exact delta of n people's shuffled messages for e^epsilon = ratio."""
        ratio = exact_ratio(ratio)
        multisets = self._multisets(users)
        cases = (
            (delta_of_ratio(pair.distribution, pair.other_distribution, ratio=ratio, total=multisets.total), pair)
            for pair in multisets.neighbours()
        )
        try:
            delta, pair = max(cases, key=lambda case: case[0])
        except ValueError:
            raise ParameterError("privacy needs a randomizer with at least two values, got one") from None
        return WorstCase(
            delta=delta,
            dataset=self._people(pair.mine, pair.others),
            neighbour=self._people(pair.instead, pair.others),
        )

    def shuffled_distribution(self, dataset: Sequence[Any]) -> dict[Messages, Fraction]:
        """The distribution of the shuffler's output as a multiset, in the order of the symbols."""
        multisets = self._multisets(max(1, len(dataset)))
        rows = {value: at for at, value in enumerate(self.values)}
        if any(value not in rows for value in dataset):
            raise DataError(_UNKNOWN)
        distribution = multisets.distribution([rows[value] for value in dataset])
        total = sum(distribution.values())
        return {multisets.messages(code): Fraction(weight, total) for code, weight in distribution.items()}

    def randomize(self, values: ArrayLike, *, rng: np.random.Generator | None = None) -> list[Any]:
        """Sample the messages of all people, person by person, exactly."""
        source = generator(rng)
        sent: list[Any] = []
        for value in np.atleast_1d(np.asarray(values)).tolist():
            if value not in self.table:
                raise DataError(_UNKNOWN)
            sent.extend(_draw(self.table[value], source))
        return sent

    def _as_one_message(self) -> FiniteRandomizer:
        return FiniteRandomizer.single(self.table)

    def _multisets(self, users: int) -> Multisets:
        return Multisets(list(self.table.values()), self.symbols, whole("users", users))

    def _people(self, first: int, others: tuple[int, ...]) -> tuple[Any, ...]:
        return tuple(self.values[row] for row in (first, *others))


def _draw(distribution: Distribution, rng: np.random.Generator) -> Messages:
    """Sample exactly: a uniform whole number below the common denominator."""
    denominator = math.lcm(*(p.denominator for p in distribution.values()))
    left = _below(denominator, rng)
    ends = accumulate(int(p * denominator) for p in distribution.values())
    return next(tuple(messages) for messages, end in zip(distribution, ends, strict=True) if left < end)


def _below(limit: int, rng: np.random.Generator) -> int:
    """Sample uniformly from 0 .. limit - 1, for limits of any size, by rejection."""
    size = limit.bit_length()
    while True:
        number = int.from_bytes(rng.bytes((size + 7) // 8), "little") >> (-size % 8)
        if number < limit:
            return number


def exact_delta(distribution: Distribution, other: Distribution, *, ratio: Fraction) -> Fraction:
    """Sum over outcomes of [P(o) - ratio * Q(o)]_+."""
    zero = Fraction(0)
    return sum((max(zero, p - ratio * other.get(outcome, zero)) for outcome, p in distribution.items()), zero)

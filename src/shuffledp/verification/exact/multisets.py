"""All neighbouring datasets of a shuffled protocol, with the exact laws of what the shuffler puts out.

The shuffler's output is a multiset of messages, which is a vector of counts, which is written here as the digits of
one whole number: joining two multisets adds the numbers. Weights are whole numbers over one common denominator per
person. The other people's values are a multiset too; they are walked as a tree, one person more at each step.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from shuffledp.verification.exact.divergence import Weights


class Neighbours(NamedTuple):
    """Two values of one person beside the same others, with the laws of the shuffler's output."""

    mine: int
    instead: int
    others: tuple[int, ...]
    law: Weights
    other_law: Weights


class Multisets:
    """The laws of joined messages of `users` people, where row v of `rows` is the law of messages given value v."""

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
        """What the weights of a law of all users add up to."""
        return int(self._denominator**self.users)

    def messages(self, code: int) -> tuple[Any, ...]:
        """The multiset that a number stands for, in the order of the symbols."""
        listed: list[Any] = []
        for symbol in self._symbols:
            code, count = divmod(code, self._base)
            listed.extend([symbol] * count)
        return tuple(listed)

    def law(self, people: Sequence[int]) -> dict[int, int]:
        """The law of the messages of people with the given rows, in weights."""
        together = {0: 1}
        for row in people:
            together = self._with(together, row)
        return together

    def neighbours(self) -> Iterator[Neighbours]:
        """Every pair of values of one person beside every multiset of values of the others."""
        values = range(len(self._rows))
        for others, law in self._walk((), {0: 1}):
            outputs = [self._with(law, row) for row in values]
            for mine in values:
                for instead in values:
                    if mine != instead:
                        yield Neighbours(mine, instead, others, outputs[mine], outputs[instead])

    def _walk(self, others: tuple[int, ...], law: dict[int, int]) -> Iterator[tuple[tuple[int, ...], dict[int, int]]]:
        if len(others) == self.users - 1:
            yield others, law
            return
        for row in range(others[-1] if others else 0, len(self._rows)):
            yield from self._walk((*others, row), self._with(law, row))

    def _with(self, law: Mapping[int, int], row: int) -> dict[int, int]:
        """The law with the messages of one person more."""
        joined: dict[int, int] = {}
        for messages, chance in self._rows[row].items():
            for code, weight in law.items():
                joined[code + messages] = joined.get(code + messages, 0) + weight * chance
        return joined

"""A randomizer as an exact table, and its exact privacy: as it is, pre-shuffled, and shuffled among n people.

Adding a further person's messages is post-processing, so for every randomizer and every delta

    epsilon(n people) <= ... <= epsilon(2 people) <= epsilon(pre-shuffled) <= epsilon(as it is).

For a single message and delta = 0 all are equal (Claim 4.2 of the paper); `pure.generating_ratio` bounds the left end.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from numbers import Rational
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.checks import whole
from shuffledp.errors import DataError, ParameterError
from shuffledp.randomness import generator
from shuffledp.verification.exact.divergence import ExactPrivacy, WorstCase, delta_of_ratio, excess, needed_ratio
from shuffledp.verification.exact.exact_numbers import allowed_delta, exact_ratio
from shuffledp.verification.exact.laws import EnumerableProtocol, Law, Messages
from shuffledp.verification.exact.multisets import Multisets

_UNKNOWN = "a value is not in the randomizer's table"


@dataclass(frozen=True)
class FiniteRandomizer:
    """From each possible value to the law of its messages: {tuple of messages in the order sent: Fraction}."""

    table: Mapping[Any, Law]

    def __post_init__(self) -> None:
        if not self.table:
            raise ParameterError("a randomizer needs at least one value")
        for law in self.table.values():
            if not all(isinstance(messages, tuple) for messages in law):
                raise ParameterError("messages must be tuples, also for a single message: use FiniteRandomizer.single")
            if not all(isinstance(p, Rational) and p >= 0 for p in law.values()):
                raise ParameterError("probabilities must be fractions that are not negative: pass fractions.Fraction")
            if sum(law.values()) != 1:
                raise ParameterError(f"the probabilities of each value must sum to 1, got {float(sum(law.values())):g}")

    @classmethod
    def of(cls, protocol: EnumerableProtocol, values: Iterable[Any]) -> Self:
        """The table of a protocol that can list the law of its messages."""
        return cls({value: protocol.randomizer_law(value) for value in values})

    @classmethod
    def single(cls, table: Mapping[Any, Mapping[Any, Fraction]]) -> Self:
        """A single-message randomizer: from values to {message: Fraction}."""
        return cls({value: {(message,): p for message, p in law.items()} for value, law in table.items()})

    @property
    def values(self) -> tuple[Any, ...]:
        """The possible inputs."""
        return tuple(self.table)

    @cached_property
    def symbols(self) -> tuple[Hashable, ...]:
        """The different messages."""
        found = {message for law in self.table.values() for messages in law for message in messages}
        try:
            return tuple(sorted(found))
        except TypeError:
            return tuple(sorted(found, key=lambda message: (type(message).__name__, repr(message))))

    @property
    def single_message(self) -> bool:
        """Whether everybody always sends exactly one message."""
        return all(len(messages) == 1 for law in self.table.values() for messages, p in law.items() if p)

    def pre_shuffled(self) -> FiniteRandomizer:
        """The same with each person's messages in a canonical order: what a multiset of them says, and no more."""
        place = {symbol: at for at, symbol in enumerate(self.symbols)}
        rows: dict[Any, dict[Messages, Fraction]] = {}
        for value, law in self.table.items():
            row = rows.setdefault(value, {})
            for messages, p in law.items():
                key = tuple(sorted(messages, key=place.__getitem__))
                row[key] = row.get(key, Fraction(0)) + p
        return FiniteRandomizer(rows)

    def privacy(self, *, delta: Fraction = Fraction(0)) -> ExactPrivacy:
        """The exact local privacy: of one person's messages in the order sent."""
        return self._as_one_message().shuffled_privacy(users=1, delta=delta)

    def delta(self, *, ratio: Fraction) -> WorstCase:
        """The exact local delta for e^epsilon = ratio."""
        return self._as_one_message().shuffled_delta(users=1, ratio=ratio)

    def shuffled_privacy(self, *, users: int, delta: Fraction = Fraction(0)) -> ExactPrivacy:
        """The exact privacy of n people's shuffled messages; users=1 is the pre-shuffled randomizer.

        A pair of datasets is solved for its ratio only if the largest ratio so far is not enough for it.
        """
        delta = allowed_delta(delta)
        multisets, worst = self._multisets(users), None
        ratio = Fraction(1)
        for pair in multisets.neighbours():
            allowed = delta * ratio.denominator * multisets.total
            if worst is None or excess(pair.law, pair.other_law, ratio=ratio) > allowed:
                worst, found = pair, needed_ratio(pair.law, pair.other_law, delta=delta, total=multisets.total)
                if found.ratio is None:
                    break
                ratio = found.ratio
        if worst is None:
            raise ParameterError("privacy is about two values at least: this randomizer has only one")
        return ExactPrivacy(
            ratio=found.ratio,
            delta=delta,
            dataset=self._people(worst.mine, worst.others),
            neighbour=self._people(worst.instead, worst.others),
            outcome=multisets.messages(found.outcome),
        )

    def shuffled_delta(self, *, users: int, ratio: Fraction) -> WorstCase:
        """The exact delta of n people's shuffled messages for e^epsilon = ratio, over all neighbouring datasets."""
        ratio = exact_ratio(ratio)
        multisets = self._multisets(users)
        cases = (
            (delta_of_ratio(pair.law, pair.other_law, ratio=ratio, total=multisets.total), pair)
            for pair in multisets.neighbours()
        )
        try:
            delta, pair = max(cases, key=lambda case: case[0])
        except ValueError:
            raise ParameterError("privacy is about two values at least: this randomizer has only one") from None
        return WorstCase(
            delta=delta,
            dataset=self._people(pair.mine, pair.others),
            neighbour=self._people(pair.instead, pair.others),
        )

    def shuffled_law(self, dataset: Sequence[Any]) -> dict[Messages, Fraction]:
        """The law of the shuffler's output as a multiset, in the order of the symbols."""
        multisets = self._multisets(max(1, len(dataset)))
        rows = {value: at for at, value in enumerate(self.values)}
        if any(value not in rows for value in dataset):
            raise DataError(_UNKNOWN)
        law = multisets.law([rows[value] for value in dataset])
        total = sum(law.values())
        return {multisets.messages(code): Fraction(weight, total) for code, weight in law.items()}

    def randomize(self, values: ArrayLike, *, rng: np.random.Generator | None = None) -> list[Any]:
        """The messages of all people, person after person, exactly distributed."""
        source = generator(rng)
        sent: list[Any] = []
        for value in np.atleast_1d(np.asarray(values)).tolist():
            if value not in self.table:
                raise DataError(_UNKNOWN)
            sent.extend(_draw(self.table[value], source))
        return sent

    def _as_one_message(self) -> FiniteRandomizer:
        """Everything a person sends, with its order, as one message."""
        return FiniteRandomizer.single(self.table)

    def _multisets(self, users: int) -> Multisets:
        return Multisets(list(self.table.values()), self.symbols, whole("users", users))

    def _people(self, first: int, others: tuple[int, ...]) -> tuple[Any, ...]:
        return tuple(self.values[row] for row in (first, *others))


def _draw(law: Law, rng: np.random.Generator) -> Messages:
    """One exact draw: a uniform whole number below the common denominator."""
    denominator = math.lcm(*(p.denominator for p in law.values()))
    left = _below(denominator, rng)
    ends = accumulate(int(p * denominator) for p in law.values())
    return next(tuple(messages) for messages, end in zip(law, ends, strict=True) if left < end)


def _below(limit: int, rng: np.random.Generator) -> int:
    """Uniform in 0 .. limit - 1, for limits of any size: words are drawn again if they fall outside."""
    size = limit.bit_length()
    while True:
        number = int.from_bytes(rng.bytes((size + 7) // 8), "little") >> (-size % 8)
        if number < limit:
            return number

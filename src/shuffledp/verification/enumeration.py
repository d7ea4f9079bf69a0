"""The oracle: privacy by enumeration of messages, in exact fractions, for a few people and a few bins.

Nothing here uses the closed forms of `accounting`. A randomizer is a table from messages to probabilities; the
shuffler's output is a multiset of messages; delta is summed over all multisets and maximised over all neighbouring
datasets. Instead of epsilon one gives `ratio` = e^epsilon, so that everything stays rational.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement
from typing import Any, Protocol

Messages = tuple[Any, ...]
"""A multiset of messages, as a sorted tuple."""

Law = Mapping[Any, Fraction]
"""From outcomes to probabilities."""


class EnumerableProtocol(Protocol):
    """A protocol that can list the exact law of one person's messages."""

    def randomizer_law(self, value: int) -> Law:
        """From sorted messages to probabilities."""


@dataclass(frozen=True, kw_only=True)
class WorstCase:
    """The largest delta over all neighbouring datasets, and a pair that attains it."""

    delta: Fraction
    dataset: tuple[int, ...]
    neighbour: tuple[int, ...]


def shuffled_law(randomizer_laws: Iterable[Law]) -> dict[Messages, Fraction]:
    """The law of the shuffler's output, one randomizer law per person: the multiset union of all messages."""
    together: dict[Messages, Fraction] = {(): Fraction(1)}
    for law in randomizer_laws:
        extended: dict[Messages, Fraction] = {}
        for sent_before, probability in together.items():
            for messages, chance in law.items():
                key = tuple(sorted(sent_before + messages))
                extended[key] = extended.get(key, Fraction(0)) + probability * chance
        together = extended
    return together


def exact_delta(law: Law, other: Law, *, ratio: Fraction) -> Fraction:
    """Sum over outcomes of [P(o) - ratio * Q(o)]_+."""
    zero = Fraction(0)
    return sum((max(zero, p - ratio * other.get(outcome, zero)) for outcome, p in law.items()), zero)


def worst_delta(protocol: EnumerableProtocol, *, users: int, values: Sequence[int], ratio: Fraction) -> WorstCase:
    """delta(ln ratio) of the n-person shuffled protocol: the maximum over all neighbouring datasets, both directions.

    Shuffling makes the order of people irrelevant, so the other people's values are a multiset.
    """

    @cache
    def output(dataset: tuple[int, ...]) -> dict[Messages, Fraction]:
        return shuffled_law(protocol.randomizer_law(value) for value in dataset)

    pairs = (
        (tuple(sorted((mine, *others))), tuple(sorted((instead, *others))))
        for others in combinations_with_replacement(values, users - 1)
        for mine in values
        for instead in values
        if mine != instead
    )
    cases = (WorstCase(delta=exact_delta(output(x), output(y), ratio=ratio), dataset=x, neighbour=y) for x, y in pairs)
    return max(cases, key=lambda case: case.delta)


def shifted_delta(laws: Sequence[Law], shifts: Sequence[int], *, ratio: Fraction) -> Fraction:
    """delta(ln ratio) of independent integer laws against the same laws shifted, outcome by outcome."""
    joint: dict[tuple[int, ...], Fraction] = {(): Fraction(1)}
    moved: dict[tuple[int, ...], Fraction] = {(): Fraction(1)}
    for law, shift in zip(laws, shifts, strict=True):
        joint = {(*k, j): p * q for k, p in joint.items() for j, q in law.items()}
        moved = {(*k, j + shift): p * q for k, p in moved.items() for j, q in law.items()}
    return exact_delta(joint, moved, ratio=ratio)

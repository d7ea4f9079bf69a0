"""The definitions of section 2 in exact fractions, for a few people: laws are tables from outcomes to probabilities.

Nothing here uses the closed forms of `accounting`. The shuffler's output is a multiset of messages; instead of epsilon
one gives `ratio` = e^epsilon, so that everything stays rational. `finite` does the same faster and over all datasets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from shuffledp.verification.exact.divergence import WorstCase
from shuffledp.verification.exact.finite import FiniteRandomizer
from shuffledp.verification.exact.laws import EnumerableProtocol, Law, Messages


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


def worst_delta(protocol: EnumerableProtocol, *, users: int, values: Iterable[int], ratio: Fraction) -> WorstCase:
    """delta(ln ratio) of a protocol's shuffled messages: the maximum over all neighbouring datasets."""
    return FiniteRandomizer.of(protocol, values).shuffled_delta(users=users, ratio=ratio)


def shifted_delta(laws: Sequence[Law], shifts: Sequence[int], *, ratio: Fraction) -> Fraction:
    """delta(ln ratio) of independent integer laws against the same laws shifted, outcome by outcome."""
    joint: dict[tuple[int, ...], Fraction] = {(): Fraction(1)}
    moved: dict[tuple[int, ...], Fraction] = {(): Fraction(1)}
    for law, shift in zip(laws, shifts, strict=True):
        joint = {(*k, j): p * q for k, p in joint.items() for j, q in law.items()}
        moved = {(*k, j + shift): p * q for k, p in moved.items() for j, q in law.items()}
    return exact_delta(joint, moved, ratio=ratio)

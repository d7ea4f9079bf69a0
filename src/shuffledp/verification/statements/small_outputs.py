"""Mechanisms whose outputs are numbers without end, so small that all outputs that differ in what they tell are listed.

Beyond the counts, discrete Laplace noise makes one dataset more likely than another by a factor that stays the same, so
a whole tail is one outcome and nothing is lost. A compound Poisson law ends where its rest has next to no probability.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product
from typing import Any

from shuffledp.noise import CompoundPoisson
from shuffledp.noise.compound_poisson import SIZE_GRID
from shuffledp.protocols import SparseHistogram
from shuffledp.protocols.central import LaplaceHistogram, StabilityHistogram
from shuffledp.protocols.central.curator import Curator
from shuffledp.protocols.target import Target
from shuffledp.verification.exact.enumeration import exact_delta
from shuffledp.verification.exact.laws import Law

_REACH = 14
_PAIR_RATE, _LONE_RATE = Fraction(3, 8), Fraction(1, 4)


TARGETS = {
    "laplace": Target(users=4, bins=2, epsilon=0.5, delta=0.05),
    "stability": Target(users=18, bins=2, epsilon=0.5, delta=0.05),
}
"""Four people; and as many as it takes for both bins to be large."""

SETS = Target(users=3, bins=2, epsilon=1.0, delta=0.1, values_per_person=2)
"""Three people who hold none, one or both of two values, and fill up with two bins more."""


def laplace_histogram() -> LaplaceHistogram:
    """Calibrated for its target."""
    return LaplaceHistogram.for_target(TARGETS["laplace"])


def stability_histogram() -> StabilityHistogram:
    """Calibrated for its target."""
    return StabilityHistogram.for_target(TARGETS["stability"])


def laplace_delta(protocol: LaplaceHistogram, *, ratio: Fraction) -> Fraction:
    """Over all neighbouring datasets of two values, with the protocol's people and decay."""
    decay, most = Fraction(protocol.noise.decay), protocol.users + 1
    laws = [_noisy(count, decay, first=-1, last=most) for count in range(protocol.users + 1)]
    return _worst(laws, protocol, ratio=ratio)


def stability_delta(protocol: StabilityHistogram, *, ratio: Fraction) -> Fraction:
    """The same, where a bin is left out if it is empty or its noisy count is below the threshold."""
    decay, threshold = Fraction(protocol.noise.decay), protocol.threshold
    most = max(threshold, protocol.users) + 1
    laws: list[dict[Any, Fraction]] = [{None: Fraction(1)}]
    for count in range(1, protocol.users + 1):
        noisy = _noisy(count, decay, first=min(count, threshold) - 1, last=most)
        law: dict[Any, Fraction] = {None: sum((p for k, p in noisy.items() if k < threshold), Fraction(0))}
        laws.append(law | {k: p for k, p in noisy.items() if k >= threshold})
    return _worst(laws, protocol, ratio=ratio)


def sparse_histogram() -> SparseHistogram:
    """One person, two bins, clusters of one or two."""
    half, quarter = SIZE_GRID // 2, SIZE_GRID // 4
    return SparseHistogram(
        users=1,
        bins=2,
        pairs=CompoundPoisson(rate=float(_PAIR_RATE), size_weights=(half, half)),
        lone=CompoundPoisson(rate=float(_LONE_RATE), size_weights=(3 * quarter, quarter)),
    )


def sparse_delta(*, ratio: Fraction) -> float:
    """What the outcomes of up to 14 messages of a kind give, of `sparse_histogram`: never more than its delta.

    The probabilities are fractions times a power of e, common to all outcomes.
    """
    pairs = _unscaled(_PAIR_RATE, {1: Fraction(1, 2), 2: Fraction(1, 2)})
    lone = _unscaled(_LONE_RATE, {1: Fraction(3, 4), 2: Fraction(1, 4)})
    # (messages of the first kind, of the second), where the lists say all about both values of the person
    cells = [(x, y) for x in range(_REACH) for y in range(max(0, x - 1), x + _REACH - 1)]
    without = {(x, y): pairs[x] * lone[y - x] if y >= x else Fraction(0) for x, y in cells}
    held = {(x, y): pairs[x - 1] * lone[y - x + 1] if x >= 1 else Fraction(0) for x, y in cells}
    over = exact_delta(_both(held, without), _both(without, held), ratio=ratio)
    return float(over) * math.exp(-2 * float(_PAIR_RATE + _LONE_RATE))


def _noisy(count: int, decay: Fraction, *, first: int, last: int) -> dict[int, Fraction]:
    """The law of a count with discrete Laplace noise; first <= count <= last stand for all that is beyond them."""
    law = {k: (1 - decay) / (1 + decay) * decay ** abs(k - count) for k in range(first + 1, last)}
    for end in (first, last):
        law[end] = decay ** abs(end - count) / (1 + decay)
    return law


def _worst(laws: list[Any], protocol: Curator, *, ratio: Fraction) -> Fraction:
    """One person is replaced, both orders: from one of two bins to the other, or from one set of them to another."""
    users = protocol.users
    if protocol.values_per_person == 2:
        return max(
            exact_delta(_all(laws[count] for count in one), _all(laws[count] for count in other), ratio=ratio)
            for one, other in _moved_counts(users)
        )
    outputs = [_both(laws[count], laws[users - count]) for count in range(users + 1)]
    return max(exact_delta(outputs[x], outputs[y], ratio=ratio) for x, y in _neighbours(users))


_HELD = ((0, 0, 1, 1), (1, 0, 1, 0), (0, 1, 1, 0), (1, 1, 0, 0))
"""What a person adds to the counts of two values and two fillers: who holds none, the first, the second, both."""


def _moved_counts(users: int) -> set[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The counts of all neighbouring datasets in which people hold up to two values, of the bins that differ."""
    found = set()
    for others in combinations_with_replacement(_HELD, users - 1):
        for one, other in permutations(_HELD, 2):
            differ = [
                (sum(person[bin] for person in others), one[bin], other[bin])
                for bin in range(len(one))
                if one[bin] != other[bin]
            ]
            pairs = sorted((rest + mine, rest + theirs) for rest, mine, theirs in differ)
            found.add((tuple(before for before, _ in pairs), tuple(after for _, after in pairs)))
    return found


def _all(laws: Iterable[Mapping[Any, Fraction]]) -> Law:
    """Independent bins together."""
    together: Law = {(): Fraction(1)}
    for law in laws:
        together = {(*x, y): p * q for (x, p), (y, q) in product(together.items(), law.items())}
    return together


def _neighbours(users: int) -> Iterator[tuple[int, int]]:
    for count in range(users):
        yield count, count + 1
        yield count + 1, count


def _both(one: Mapping[Any, Fraction], other: Mapping[Any, Fraction]) -> Law:
    return {(x, y): p * q for (x, p), (y, q) in product(one.items(), other.items())}


def _unscaled(rate: Fraction, sizes: Mapping[int, Fraction]) -> list[Fraction]:
    """e^rate times the probabilities of a compound Poisson law below _REACH: a sum over the number of clusters."""
    total, power, factor = [Fraction(0)] * _REACH, {0: Fraction(1)}, Fraction(1)
    for clusters in range(_REACH):
        for k, chance in power.items():
            total[k] += factor * chance
        longer: dict[int, Fraction] = {}
        for (k, chance), (size, weight) in product(power.items(), sizes.items()):
            if k + size < _REACH:
                longer[k + size] = longer.get(k + size, Fraction(0)) + chance * weight
        power, factor = longer, factor * rate / (clusters + 1)
    return total

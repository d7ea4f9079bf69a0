"""Distributions and deltas in exact fractions, or with 40 digits: the oracle for privacy curves."""

from collections.abc import Iterable, Sequence
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from shuffledp.paper.divergence import Distribution, EnumerableProtocol, Messages, WorstCase
from shuffledp.paper.finite_randomizer import FiniteRandomizer, exact_delta


def exact_exp(x):
    """e^x as a fraction, to 60 digits."""
    with mpmath.workdps(60):
        return Fraction(str(mpmath.exp(mpmath.mpf(x))))


def distribution_table(distribution):
    """A binomial distribution as a table of fractions."""
    return {k: distribution.pmf_fraction(k) for k in range(distribution.trials + 1)}


def assert_tight_upper_bound(value, exact):
    """Never below the exact value, and within 1e-9 of it."""
    assert Fraction(value) >= exact
    assert value == pytest.approx(float(exact), rel=1e-9, abs=1e-29)


def high_precision_delta(window, ratio_at, epsilon):
    """The histogram's delta with 40 digits: E over k of the other bin's delta(epsilon - loss)."""
    with mpmath.workdps(40):
        occupied = np.flatnonzero(window.pmf > 1e-60)
        size, first = int(occupied[-1] - occupied[0]) + 1, window.first + int(occupied[0])
        weights = [mpmath.mpf(1)]
        for k in range(first + 1, first + size):
            weights.append(weights[-1] * ratio_at(k))
        total = mpmath.fsum(weights)
        f = [w / total for w in weights]
        # one bin compares f(k) with f(k - 1), the other f(l) with f(l + 1): its ratio grows with l
        ratio = [f[k] / f[k - 1] for k in range(1, size)]
        tail_f, tail_next = [mpmath.mpf(0)] * (size + 1), [mpmath.mpf(0)] * (size + 1)
        for at in range(size - 2, -1, -1):
            tail_f[at] = tail_f[at + 1] + f[at]
            tail_next[at] = tail_next[at + 1] + f[at + 1]
        bound, delta, other = mpmath.exp(epsilon), f[0], size - 2
        for k in range(size - 1, 0, -1):
            needed = bound / ratio[k - 1]
            while other + 1 < size - 1 and 1 / ratio[other] <= needed:
                other += 1
            while other >= 0 and 1 / ratio[other] > needed:
                other -= 1
            delta += f[k] * (tail_f[other + 1] - needed * tail_next[other + 1])
        return delta


def fair_coins(trials, k):
    """P(K = k) of fair coins, with 40 digits."""
    with mpmath.workdps(40 + len(str(trials))):
        return +mpmath.exp(
            mpmath.loggamma(trials + 1)
            - mpmath.loggamma(k + 1)
            - mpmath.loggamma(trials - k + 1)
            - trials * mpmath.log(2)
        )


def fair_coins_tail(trials, k):
    """P(K >= k) of fair coins, with about 25 digits: the integral of the beta density up to 1/2.

    For k above the mean the integrand grows up to 1/2, and y = sqrt(trials) (1 - 2 x) is the scale on which it falls.
    """
    if 2 * k <= trials:
        return 1 - fair_coins_tail(trials, trials - k + 1)
    with mpmath.workdps(30 + len(str(trials))):
        root = mpmath.sqrt(trials)

        def relative(y):
            """x^(k - 1) (1 - x)^(trials - k) over its value at 1/2."""
            return mpmath.exp((k - 1) * mpmath.log1p(-y / root) + (trials - k) * mpmath.log1p(y / root))

        slope = 2 * (k - trials / mpmath.mpf(2)) / root
        reach = min(root, 80 / max(slope, 1) if slope > 8 else mpmath.mpf(14))
        integral = mpmath.quad(relative, mpmath.linspace(0, reach, 6))
        return +(fair_coins(trials, k) * k * integral / root)


def shuffled_distribution(randomizer_distributions: Iterable[Distribution]) -> dict[Messages, Fraction]:
    """The distribution of the shuffler's output, the multiset union of all messages, from one distribution per
    person.
    """
    together: dict[Messages, Fraction] = {(): Fraction(1)}
    for distribution in randomizer_distributions:
        extended: dict[Messages, Fraction] = {}
        for sent_before, probability in together.items():
            for messages, chance in distribution.items():
                key = tuple(sorted(sent_before + messages))
                extended[key] = extended.get(key, Fraction(0)) + probability * chance
        together = extended
    return together


def worst_delta(protocol: EnumerableProtocol, *, users: int, values: Iterable[int], ratio: Fraction) -> WorstCase:
    """delta(ln ratio) of a protocol's shuffled messages: the maximum over all neighbouring datasets."""
    return FiniteRandomizer.of(protocol, values).shuffled_delta(users=users, ratio=ratio)


def shifted_delta(distributions: Sequence[Distribution], shifts: Sequence[int], *, ratio: Fraction) -> Fraction:
    """The delta(ln ratio) of independent integer distributions against the same distributions shifted, by outcome."""
    joint: dict[tuple[int, ...], Fraction] = {(): Fraction(1)}
    moved: dict[tuple[int, ...], Fraction] = {(): Fraction(1)}
    for distribution, shift in zip(distributions, shifts, strict=True):
        joint = {(*k, j): p * q for k, p in joint.items() for j, q in distribution.items()}
        moved = {(*k, j + shift): p * q for k, p in moved.items() for j, q in distribution.items()}
    return exact_delta(joint, moved, ratio=ratio)

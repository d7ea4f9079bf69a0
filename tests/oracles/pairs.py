"""Adaptive releases with several pairs of neighbouring distributions each, in fractions."""

from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product
from math import prod


def best_tree(releases, *, ratio):
    """The largest delta(ln ratio) where the pair of each release is chosen by the results of the earlier ones.

    A release is a list of pairs (P, Q), each a list of (p, q) over the outcomes.
    """

    @cache
    def best(at, allowed):
        if at == len(releases):
            return max(Fraction(0), 1 - allowed)
        return max(sum(p * best(at + 1, allowed * q / p) for p, q in pair if p) for pair in releases[at])

    return best(0, Fraction(ratio))


def numbers(pairs, ratio):
    """The largest delta(ln ratio) of one release."""
    return max(sum(max(Fraction(0), p - ratio * q) for p, q in pair) for pair in pairs)


def shifted_pairs(distribution):
    """Return the release of a count with this noise distribution that moves by one, in either direction."""
    values = range(min(distribution) - 1, max(distribution) + 2)
    return [
        [(distribution.get(k, Fraction(0)), distribution.get(k - by, Fraction(0))) for k in values] for by in (1, -1)
    ]


def threshold_pairs(decay, threshold, *, values=1):
    """Neighbours of counts with discrete Laplace noise, published where they are occupied and reach a threshold.

    Noise that moves by one tells by its sign only: it is randomized response with ratio 1 / decay. Of the bins that a
    person leaves any number may become empty, and of those they enter any number may have been.
    """
    likely, unlikely = 1 / (1 + decay), decay / (1 + decay)
    occupied = [(likely, unlikely), (unlikely, likely)]
    seen = decay ** (threshold - 1) / (1 + decay)
    left, entered = [(seen, Fraction(0)), (1 - seen, Fraction(1))], [(Fraction(0), seen), (Fraction(1), 1 - seen)]
    return [
        together([*leaving, *entering])
        for leaving in combinations_with_replacement((occupied, left), values)
        for entering in combinations_with_replacement((occupied, entered), values)
    ]


def together(pairs):
    """Independent pairs as one."""
    return [
        (prod((p for p, _ in outcome), start=Fraction(1)), prod((q for _, q in outcome), start=Fraction(1)))
        for outcome in product(*pairs)
    ]

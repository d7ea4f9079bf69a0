"""Releases whose neighbours are told apart by any of several pairs of laws, chosen result by result, in fractions."""

from fractions import Fraction
from functools import cache


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


def shifted_pairs(law):
    """One count whose noise has this law and which moves by one, either way: a table of fractions to a release."""
    values = range(min(law) - 1, max(law) + 2)
    return [[(law.get(k, Fraction(0)), law.get(k - by, Fraction(0))) for k in values] for by in (1, -1)]


def threshold_pairs(law, threshold):
    """The four kinds of neighbours of counts that are published where they are occupied and reach a threshold."""
    occupied = {by: shifted_pairs(law)[by < 0] for by in (1, -1)}
    seen = sum((p for noise, p in law.items() if 1 + noise >= threshold), start=Fraction(0))
    left, entered = [(seen, Fraction(0)), (1 - seen, Fraction(1))], [(Fraction(0), seen), (Fraction(1), 1 - seen)]
    return [
        [(p * r, q * s) for p, q in one for r, s in other]
        for one in (occupied[-1], left)
        for other in (occupied[1], entered)
    ]

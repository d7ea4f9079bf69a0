"""Adaptive composition: each release depends on the earlier results; every decision tree, in fractions."""

from fractions import Fraction
from functools import cache


def adaptive_delta(tables, *, ratio):
    """The largest delta(ln ratio) over all ways to choose the direction of each release by the earlier results.

    `tables` are the distributions of the noise, release by release; a direction moves the noise by one, up or down.
    Given the results so far, one dataset is r times as likely as the other, and the rest of the tree adds best(r). An
    optimal choice depends on nothing else, so every tree is covered.
    """

    @cache
    def best(at, allowed):
        if at == len(tables):
            return max(Fraction(0), 1 - allowed)
        distribution = tables[at]
        return max(
            sum(
                p * best(at + 1, allowed * distribution.get(noise - by, Fraction(0)) / p)
                for noise, p in distribution.items()
                if p
            )
            for by in (1, -1)
        )

    return best(0, Fraction(ratio))


def every_tree(distribution, *, ratio):
    """The same for two releases with one distribution, by listing each tree: a direction, then one per result."""
    results, largest = sorted(distribution), Fraction(0)
    # per first direction, outcome by outcome, the better second direction: trees differ outcome by outcome
    for by in (1, -1):
        for code in range(2 ** len(results)):
            total = Fraction(0)
            for at, first in enumerate(results):
                then = 1 if code >> at & 1 else -1
                for second in results:
                    likely = distribution[first] * distribution[second]
                    other = distribution.get(first - by, Fraction(0)) * distribution.get(second - then, Fraction(0))
                    total += max(Fraction(0), likely - ratio * other)
            largest = max(largest, total)
    return largest

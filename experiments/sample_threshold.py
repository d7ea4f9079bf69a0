"""Exact privacy of sample-and-threshold, for the comparison in docs/explanation/unknown-strings-compared.md.

Every person takes part with probability `rate`. A string with s participants is published with s, if s >= threshold. A
string of c people therefore has s ~ Bin(c, rate), independently of other strings.

Add or remove one person: a string has c or c - 1 people. Replace one person: one string has a instead of a - 1 people,
and another one b - 1 instead of b. The pair of results is independent, so delta is the sum over both results of

    (P_a(s) P_{b-1}(t) - e^epsilon P_{a-1}(s) P_b(t))_+ ,

where all s below the threshold are one result. Exchanging both datasets exchanges both strings, so this is the only
direction. The supremum over a and b is taken up to `most` people; it is reached far below.

The closed form is that of Bharadwaj and Cormode (2022) for one added or removed person: with rate = alpha (1 -
e^-epsilon), delta = e^(-C threshold) for C = ln(1 / alpha) - 1 / (1 + alpha). Replacing a person removes one and adds
one, each with half of epsilon and delta.
"""

from __future__ import annotations

import math
import sys
from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from experiments.documents import ROOT, rewrite

PATH = ROOT / "docs" / "explanation" / "unknown-strings-compared.md"
EPSILON, DELTA, BETA = 1.0, 1e-6, 0.05
RATES = (0.1, 0.2, 0.316, 0.4)
MOST = 160
HEAD = """| accounting | sampling rate | threshold | delta, add or remove | delta, replace | people for 95% |
|---|---|---|---|---|---|
"""


class Mechanism(NamedTuple):
    """A sampling rate and a threshold."""

    rate: float
    threshold: int

    def results(self, people: int, *, most: int) -> NDArray[np.float64]:
        """The probability of no publication, then of every number of participants up to `most`."""
        published = binom.pmf(np.arange(self.threshold, most + 1), people, self.rate)
        return np.concatenate([[binom.cdf(self.threshold - 1, people, self.rate)], published])

    def delta_added(self, epsilon: float, *, most: int = MOST) -> float:
        """The delta of one person who is added or removed."""
        rows = [self.results(people, most=most) for people in range(most + 1)]
        pairs = [pair for one, other in pairwise(rows) for pair in ((one, other), (other, one))]
        return max(excess(one, other, epsilon) for one, other in pairs)

    def delta_replaced(self, epsilon: float, *, most: int = MOST) -> float:
        """The delta of one person who is replaced."""
        return self.worst_replaced(epsilon, most=most)[0]

    def worst_replaced(self, epsilon: float, *, most: int = MOST) -> tuple[float, int, int]:
        """The delta of one person who is replaced, and the people a and b of both strings."""
        rows = np.array([self.results(people, most=most) for people in range(most + 1)])
        losing = [(rows[people], rows[people - 1]) for people in range(1, most + 1)]
        found = (0.0, 0, 0)
        for a, (more, fewer) in enumerate(losing, start=1):
            total = np.zeros(most)  # for every number of people b
            for s in np.flatnonzero(more):
                gap = more[s] * rows[:-1] - math.exp(epsilon) * fewer[s] * rows[1:]
                total += np.maximum(gap, 0).sum(axis=1)
            b = int(np.argmax(total)) + 1
            found = max(found, (float(total[b - 1]), a, b))
        return found

    def detection_limit(self, beta: float) -> int:
        """The fewest people whose string is published with probability 1 - beta."""
        enough = range(self.threshold, math.ceil(10 * self.threshold / self.rate) + 100)
        return enough[bisect_left(enough, 1 - beta, key=lambda people: binom.sf(self.threshold - 1, people, self.rate))]


def excess(one: NDArray[np.float64], other: NDArray[np.float64], epsilon: float) -> float:
    """The hockey-stick divergence of two distributions."""
    return float(np.maximum(one - math.exp(epsilon) * other, 0).sum())


def least_threshold(rate: float, epsilon: float, delta: float, *, most: int = MOST) -> Mechanism:
    """The mechanism with the lowest threshold for one person who is replaced."""
    threshold = 2
    while Mechanism(rate, threshold).delta_added(epsilon, most=most) > delta:
        threshold += 1  # replacing a person is no better than adding one: the other string may be that of nobody
    while Mechanism(rate, threshold).delta_replaced(epsilon, most=most) > delta:
        threshold += 1
    return Mechanism(rate, threshold)


def closed_form(epsilon: float, delta: float, *, beta: float = BETA) -> Mechanism:
    """The mechanism of the closed form with the lowest detection limit."""
    made = []
    for alpha in np.linspace(0.02, 0.5, 481):
        exponent = math.log(1 / alpha) - 1 / (1 + alpha)
        if exponent > 0:
            threshold = math.ceil(math.log(1 / delta) / exponent)
            made.append(Mechanism(float(alpha) * -math.expm1(-epsilon), threshold))
    return min(made, key=lambda each: each.detection_limit(beta))


def rows(epsilon: float = EPSILON, delta: float = DELTA, *, rates: tuple[float, ...] = RATES) -> Iterator[str]:
    """Yield the rows of the table."""
    for rate in rates:
        yield _row("exact", least_threshold(rate, epsilon, delta))
    yield _row("closed form, add or remove", closed_form(epsilon, delta))
    yield _row("closed form, replace", closed_form(epsilon / 2, delta / 2))


def _row(name: str, made: Mechanism) -> str:
    added, replaced = made.delta_added(EPSILON), made.delta_replaced(EPSILON)
    limit = made.detection_limit(BETA)
    return f"| {name} | {made.rate:.3f} | {made.threshold} | {added:.1e} | {replaced:.1e} | {limit} |"


def main(path: Path = PATH, *, rates: tuple[float, ...] = RATES) -> None:
    """Compute the table and write it into the page."""
    rewrite(path, "sample-and-threshold", HEAD + "\n".join(rows(rates=rates)))
    print(f"wrote {path}", file=sys.stderr)


if __name__ == "__main__":
    main()

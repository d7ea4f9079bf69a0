"""The privacy curve of hashed messages that hide among uniform ones.

A person's message is uniform on the graph of their value, the pairs (seed, bucket of the value). Dummies fall on all
pairs uniformly, a Poisson number with mean `rate` on every graph. If N_x is the number of all messages on the graph of
x, the likelihood of a person with x is N_x / rate times that of the dummies alone, so

    delta(epsilon) = E (N_x - e^epsilon N_x')_+ / rate    under dummies alone.

Messages on both graphs are counted in both numbers. The function (a - e^epsilon b)_+ is submodular, and a common part
of two numbers with given distributions can only lower its mean. Graphs that do not meet are therefore the worst case:
independent numbers, as in a bin that loses and a bin that gains one person. This holds for every family of functions.

With K values in one domain, graphs of one person's values may meet too, which is not covered. Let every two graphs
share a part `shared` of their pairs. Of the 2 K graphs of both neighbours, each has Poisson(clean) messages of its own,
clean = rate (1 - (2 K - 1) shared); all others are counted as shared. Let W_i be the number of shared messages on the
graph of the person's value i, and W their sum. The number of ways in which K messages can be the person's is at most
prod (A_i + W_i), and at least prod B_j for the neighbour, with independent A_i and B_j ~ Poisson(clean). So

    delta(epsilon) <= E (prod (A_i + W_i) - e^epsilon prod B_j)_+ / clean^K.

For W = 0 this is the K-fold composition at the rate `clean`. Unless some A_i < a, the product is at most F prod A_i
with F = (1 + W / (K a))^K, which gives h(W) = F delta_K(epsilon - ln F). The other case has at most K P(A < a) E e^(2 W
/ clean).

A message on m graphs, r of them the person's, is one of C(m, 2) pairs. It adds r to W, and r (m - 2) single messages
make up for the pairs that were subtracted several times. With g(r) = e^(t r) - 1 and G the largest of (g(r) + r (m - 2)
g(1)) / C(m, 2), the moments are E e^(t W) <= exp(C(2 K, 2) rate shared G), and Markov's inequality bounds P(W >= w) in
E h(W) = h(0) + sum (h(w) - h(w - 1)) P(W >= w).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from shuffledp.accounting.curve import Curve, PrivacyCurve, moved_bins
from shuffledp.accounting.group_curve import REPLACE_ONE, bound_for_rows
from shuffledp.accounting.rounding import WINDOW_SUM
from shuffledp.accounting.search import smallest_epsilon
from shuffledp.errors import ParameterError
from shuffledp.noise import CompoundPoisson
from shuffledp.noise.compound_poisson import SIZE_GRID

_FEWEST_SHARES = (0.2, 0.3, 0.4, 0.5, 0.6)
"""The numbers `a` to try, as shares of `clean`; each gives a valid bound."""

_TILTS = (0.05, 0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)
"""The tilts t of Markov's inequality to try; each gives a valid bound."""

_NEGLIGIBLE = 1e-20
"""A part of delta that ends the sum over the number of shared messages; the rest is added."""

_LARGEST_EXPONENT = 600.0
"""The largest exponent in Markov's inequality, far from overflow."""

_MOST_SHARED = 400
"""The most shared messages in that sum."""


def poisson(rate: float) -> CompoundPoisson:
    """Dummies that come one at a time."""
    return CompoundPoisson(rate=rate, size_weights=(SIZE_GRID,))


@dataclass(frozen=True, kw_only=True)
class HashedCurve:
    """An upper bound on the curve: `rate` dummies on every graph, `values` of one person, of which two share `shared`.

    With `shared=0` the values are on levels of their own, whose graphs never meet.
    """

    rate: float
    values: int = 1
    shared: float = 0.0

    neighbours = REPLACE_ONE
    exact = False

    def __post_init__(self) -> None:
        if self.values > 1 and self._clean <= self.rate / 2:
            raise ParameterError("shared must be far below 1 / values: use more buckets")

    def delta(self, epsilon: float) -> float:
        """The delta of independent counts, and the part of shared messages."""
        if self.values == 1 or not self.shared:
            return self._separate.delta(epsilon)
        return min(1.0, min(self._bound(epsilon, share) for share in _FEWEST_SHARES) * (1 + WINDOW_SUM))

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon for which the curve gives this delta; inf if there is none."""
        return smallest_epsilon(self.delta, delta)

    def for_rows(self, rows: int) -> Curve:
        """The upper bound that holds for every curve: graphs of different rows may meet."""
        return bound_for_rows(self, rows)

    @property
    def _clean(self) -> float:
        """The mean number of dummies on one graph alone."""
        return self.rate * (1 - (2 * self.values - 1) * self.shared) if self.values > 1 else self.rate

    @cached_property
    def _separate(self) -> PrivacyCurve:
        return moved_bins(poisson(self._clean), values=self.values)

    def _bound(self, epsilon: float, share: float) -> float:
        """The bound of the module's docstring, with a = share * clean."""
        fewest = math.ceil(share * self._clean)
        few = poisson(self._clean).window.below(fewest)
        total = self.values * few * self._moment(2 / self._clean)
        total += (before := self._likelihoods(epsilon, 0, fewest))
        for shared in range(1, _MOST_SHARED):
            risk = self._risk(shared)
            now = self._likelihoods(epsilon, shared, fewest)
            total += (now - before) * risk
            before = now
            rest = math.exp(shared / fewest) * risk  # an upper bound on h(w) P(W >= w)
            if rest < _NEGLIGIBLE:
                break
        # both factors of every further part change by at least e^(1/a - 1), with the tilt 1 or a larger one
        return total + math.exp(shared / fewest) * self._risk(shared, least=1.0) / (1 - math.exp(1 / fewest - 1.0))

    def _likelihoods(self, epsilon: float, shared: int, fewest: int) -> float:
        """The function h(W); at most F, since likelihoods have the mean 1."""
        factor = (1 + shared / (self.values * fewest)) ** self.values
        left = epsilon - math.log(factor)
        return factor if left < 0 else factor * self._separate.delta(left)

    def _risk(self, shared: int, *, least: float = 0.0) -> float:
        """An upper bound on P(W >= shared)."""
        risks = (
            (moment - 1) / math.expm1(min(tilt * shared, _LARGEST_EXPONENT))
            for tilt, moment in self._moments
            if tilt >= least
        )
        return min(1.0, *risks)

    @cached_property
    def _moments(self) -> list[tuple[float, float]]:
        return [(tilt, self._moment(tilt)) for tilt in _TILTS]

    def _moment(self, tilt: float) -> float:
        """An upper bound on E e^(t W)."""
        most, single = 0.0, math.expm1(tilt)
        for graphs in range(2, 2 * self.values + 1):
            own = min(graphs, self.values)
            added = math.expm1(tilt * own) + own * (graphs - 2) * single
            most = max(most, added / math.comb(graphs, 2))
        exponent = math.comb(2 * self.values, 2) * self.rate * self.shared * most
        return math.exp(exponent) if exponent < _LARGEST_EXPONENT else math.inf

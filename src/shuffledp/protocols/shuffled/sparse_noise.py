"""Which noise a `SparseHistogram` uses: two compound Poisson distributions, chosen for a guarantee and a place on one
curve.

The distribution of the lone messages decides the error (a bin of at most M people is hidden), so its clusters have
nearly equal sizes around 1.3 / epsilon, which keeps the tail of M short for the privacy it buys. The distribution of
the pairs decides the messages; of the shapes tried, larger and more varied clusters, around 3 / epsilon, cost least
where messages are few. That leaves two rates. The rate of the pairs is the knob between messages and error; the rate of
the lone ones follows from the guarantee.

Where on the curve between messages and error a `SparseHistogram` stands.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache

from shuffledp.accounting import calibration
from shuffledp.accounting.curve import Guarantee, PrivacyCurve, moved_bins
from shuffledp.accounting.search import first_safe
from shuffledp.errors import ParameterError
from shuffledp.estimators.pairs import PairedCounts
from shuffledp.noise import CompoundPoisson
from shuffledp.noise.compound_poisson import gamma_sizes
from shuffledp.protocols.target import Target
from shuffledp.validation import real

PAIR_RATES = tuple(1.1 * (4 / 1.1) ** (step / 40) for step in range(41))
"""Rates of the pairs that are worth trying, in units of log(1 / delta): below them the lone messages explode, above
them only the pairs grow."""

KNEE = 5
"""Where the default stands among them: more pairs buy little error, fewer cost much."""

_MOST_LONE = 400.0
"""Rates of lone clusters that are worth trying: three times what the useful rates of pairs ever need."""

_PAIR_SHARES = (0.05, 0.98)
"""Shares of the messages that pairs may take in the search: with all or nothing there is no guarantee."""

_LEAST_REST = 0.01
"""So few lone messages never give the guarantee."""

_TOLERANCE = 1e-4
"""How far below the largest possible share of pairs the search may stop."""

_RESOLUTION = 1e-3
"""Share of delta that composition may give up to stay fast."""


@dataclass(frozen=True, kw_only=True)
class SparseNoise:
    """The distributions of P and M, summed over the people whose noise counts."""

    pairs: CompoundPoisson
    lone: CompoundPoisson

    @property
    def messages(self) -> float:
        """Expected noise messages per bin: two for every pair, one for every lone one."""
        return 2 * self.pairs.mean + self.lone.mean

    def scaled(self, factor: float) -> SparseNoise:
        """The distributions of a share, or a multiple, of these people."""
        return SparseNoise(
            pairs=self.pairs.with_rate(self.pairs.rate * factor), lone=self.lone.with_rate(self.lone.rate * factor)
        )

    def curve(self, *, values: int = 1, resolution: float) -> PrivacyCurve:
        """A replaced value moves c + P and c - M of two bins by one, one bin up and one down: four shifts."""
        return moved_bins(self.pairs, self.lone, values=values, resolution=resolution)


@dataclass(frozen=True, kw_only=True)
class NoiseSearch:
    """The trade-off between messages and error for one guarantee, where a person holds some number of values.

    The losses of K values spread as that of one at epsilon / sqrt(K), for which clusters are then made.
    """

    epsilon: float
    delta: float
    values: int = 1

    @classmethod
    def resolving(cls, promised: Guarantee | None) -> NoiseSearch:
        """The search whose resolution suits a guarantee, or a very small delta where none was asked for."""
        return cls(epsilon=promised.epsilon, delta=promised.delta) if promised else cls(epsilon=1.0, delta=1e-12)

    @property
    def resolution(self) -> float:
        """Mass that composition may give up; at epsilon it counts e^epsilon times."""
        return _RESOLUTION * self.delta * math.exp(-self.epsilon)

    def distributions(self, pair_rate: float, lone_rate: float) -> SparseNoise:
        """The family: two cluster shapes that depend on epsilon only."""
        pairs, lone = _clusters(self.epsilon / math.sqrt(self.values))
        return SparseNoise(
            pairs=_distribution(pair_rate, pairs),
            lone=_distribution(lone_rate, lone),
        )

    def excess(self, distributions: SparseNoise) -> float:
        """Not positive exactly if the distributions give the guarantee."""
        return math.log(
            distributions.curve(values=self.values, resolution=self.resolution).delta(self.epsilon) / self.delta
        )

    @lru_cache(maxsize=256)  # noqa: B019 - searches are small values, equal ones share their results
    def at(self, pairs: float) -> SparseNoise | None:
        """The distributions with this rate of pairs (in units of log 1/delta) and the fewest lone messages; None if
        none do.
        """
        pair_rate = pairs * math.log(1 / self.delta)
        rate = calibration.first_rate(
            lambda rate: self.excess(self.distributions(pair_rate, rate)),
            start=2 * math.log(1 / self.delta),
            largest=_MOST_LONE,
        )
        return None if rate is None else self.distributions(pair_rate, rate)

    def within(self, messages: float) -> SparseNoise | None:
        """The smallest error for at most this many noise messages per bin; None if the guarantee needs more.

        Pairs (two messages each) make the error smaller and lone messages larger, so pairs take the largest share of
        the messages with which the lone ones, which get the rest, still give the guarantee.
        """
        best = self.at(PAIR_RATES[-1])
        if math.isinf(messages) or (best and best.messages <= messages):
            return best
        single = self.distributions(1.0, 1.0)
        most_pairs = messages / (2 * single.pairs.mean)

        def divided(share: float) -> SparseNoise:
            pair_rate = share * most_pairs
            return self.distributions(pair_rate, (messages - 2 * single.pairs.mean * pair_rate) / single.lone.mean)

        @cache
        def excess(share: float) -> float:
            return self.excess(divided(share))

        possible = _lowest(excess, *_PAIR_SHARES)
        if excess(possible) > 0:
            return None
        # the guarantee holds from `possible` up to the share that is sought: first_safe wants it the other way round
        rest = first_safe(lambda rest: excess(1 - rest), _LEAST_REST, 1 - possible, tolerance=_TOLERANCE)
        return divided(1 - rest)

    def cheapest(self, *, start: int = 0) -> SparseNoise | None:
        """The fewest messages from a place among `PAIR_RATES` on: where they stop falling."""
        best = None
        for pairs in PAIR_RATES[start:]:
            distributions = self.at(pairs)
            if best and distributions and distributions.messages >= best.messages:
                break
            best = distributions or best
        return best


def _lowest(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a function with one valley is lowest, roughly, by golden section; stops early where it is not positive."""
    ratio = (math.sqrt(5) - 1) / 2
    while high - low > 0.01:
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        if min(function(left), function(right)) <= 0:
            return min(left, right, key=function)
        low, high = (low, right) if function(left) < function(right) else (left, high)
    return (low + high) / 2


@lru_cache(maxsize=64)
def _distribution(rate: float, sizes: tuple[int, ...]) -> CompoundPoisson:
    """One object for equal distributions, so that its probabilities are computed once."""
    return CompoundPoisson(rate=rate, size_weights=sizes)


@cache
def _clusters(epsilon: float) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Cluster sizes of the pairs and of the lone messages.

    Means in units of 1 / epsilon and shapes are the best of a coarse grid at four epsilons (delta 1e-6); where clusters
    are smaller than 2, whole sizes matter and a narrower distribution is better.
    """
    lone = max(1.0, 1.3 / epsilon, min(1.6, 1.6 / epsilon))
    return gamma_sizes(mean=max(1.0, 3 / epsilon), shape=4.0), gamma_sizes(mean=lone, shape=20.0 if lone > 2 else 40.0)


_BETA = 0.05
"""The failure probability of the error that one can ask for."""


def distributions_for(target: Target, *, messages: float | None, error: float | None) -> SparseNoise:
    """The distributions of the honest people's noise within a number of messages or an error, or at the knee of the
    curve.
    """
    search = NoiseSearch(epsilon=target.epsilon, delta=target.delta, values=target.values_per_person)
    if messages is not None and error is not None:
        raise ParameterError("give messages or error, not both: each decides the other")
    if messages is not None:
        return _within_messages(search, messages, bins_per_person=Fraction(target.cells, target.honest))
    if error is not None:
        return _within_error(search, error, target)
    distributions = search.cheapest(start=KNEE)
    if distributions is None:
        raise _no_noise(search)
    return distributions


def _no_noise(search: NoiseSearch) -> ParameterError:
    values = "" if search.values == 1 else f" and values_per_person={search.values}"
    return ParameterError(
        f"no noise was found for epsilon={search.epsilon:g}, delta={search.delta:g}{values}; try a smaller delta"
    )


def _within_messages(search: NoiseSearch, messages: float, *, bins_per_person: Fraction) -> SparseNoise:
    """The distributions with the smallest error for at most this number of messages per person."""
    budget = math.inf if messages == math.inf else (real("messages", messages) - search.values) / float(bins_per_person)
    distributions = search.within(budget) if budget > 0 else None
    if distributions is None and math.isinf(budget):
        raise _no_noise(search)
    if distributions is None:
        cheapest = search.cheapest()
        fewest = search.values + float(bins_per_person) * cheapest.messages if cheapest else math.inf
        raise ParameterError(
            f"messages={messages:g} per person is too few for epsilon={search.epsilon:g}, delta={search.delta:g}: "
            f"needs about {fewest:.4g}"
        )
    return distributions


def _within_error(search: NoiseSearch, error: float, target: Target) -> SparseNoise:
    """The distributions with the fewest messages whose simultaneous error is at most the given one."""
    limit = real("error", error)

    def simultaneous(distributions: SparseNoise | None) -> float:
        if distributions is None:
            return math.inf
        total = distributions.scaled(target.users / target.honest)
        values = target.values_per_person
        estimator = PairedCounts(pairs=total.pairs, lone=total.lone, people=target.users, values_per_person=values)
        return estimator.error(beta=_BETA, bins=target.cells, occupied=min(values * target.users, target.cells))

    # along the curve the error falls as pairs are added
    at = bisect_left(PAIR_RATES, True, key=lambda pairs: simultaneous(search.at(pairs)) <= limit)
    distributions = search.cheapest(start=at)
    if distributions is None:
        smallest = simultaneous(search.at(PAIR_RATES[-1]))
        raise ParameterError(
            f"error={limit:g} people is too small for epsilon={search.epsilon:g}, delta={search.delta:g}: "
            f"the smallest possible is {smallest:.0f}"
        )
    return distributions

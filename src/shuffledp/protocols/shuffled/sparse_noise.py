"""The noise of a `SparseHistogram`: two compound Poisson distributions, and the trade-off of messages and error.

The distribution of the lone messages decides the error, since a bin of at most M people is hidden. Its clusters have
nearly equal sizes around 1.3 / epsilon, which keeps the tail of M short for the privacy it gives. The distribution of
the pairs decides the number of messages. Of the shapes tried, larger and more varied clusters, around 3 / epsilon, cost
least where messages are few. Two rates remain. The rate of the pairs selects the trade-off between messages and error;
the rate of the lone messages follows from the guarantee.

Where lone clusters are small, narrower sizes can be better or far worse: clusters of two messages only would show
whether a count is odd. Both shapes are calibrated and the smaller error wins, so that a larger epsilon or delta never
has a larger error.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, lru_cache

from shuffledp.accounting.curve import Guarantee, PrivacyCurve, moved_bins
from shuffledp.accounting.search import first_safe, first_safe_from
from shuffledp.errors import ParameterError
from shuffledp.estimators.pairs import PairedCounts
from shuffledp.noise import CompoundPoisson
from shuffledp.noise.compound_poisson import gamma_sizes
from shuffledp.protocols.target import Target
from shuffledp.validation import real

PAIR_RATES = tuple(1.1 * (4 / 1.1) ** (step / 40) for step in range(41))
"""The useful rates of pairs, in units of log(1 / delta). Below them there are far more lone messages; above them only
the pairs grow.
"""

KNEE = 5
"""The default position in this range: more pairs hardly decrease the error, fewer increase it much."""

_MOST_LONE = 400.0
"""The largest rate of lone clusters: three times what the useful rates of pairs need."""

_PAIR_SHARES = (0.05, 0.98)
"""The range of shares of the messages that are pairs; without pairs or without lone messages there is no guarantee."""

_LEAST_REST = 0.01
"""The fewest lone messages; fewer never give the guarantee."""

_TOLERANCE = 1e-4
"""The tolerance of the search for the largest possible share of pairs."""

_RATE_STEP = 2e-4
"""The step of the logarithm of a lone rate. The smallest sufficient step grows only with the noise that is needed; the
result of a search with a tolerance also depends on its path."""

_RATE_STRIDE = 0.1
"""The first step of the search for a lone rate, in its logarithm."""

_SMALL_CLUSTERS = 3.25
"""The mean size of lone clusters from which on narrower ones are not tried: they were never better at delta 1e-6."""

_RESOLUTION = 1e-3
"""The share of delta that composition may give up to stay fast."""


@dataclass(frozen=True, kw_only=True)
class SparseNoise:
    """The distributions of P and M, summed over the people whose noise counts."""

    pairs: CompoundPoisson
    lone: CompoundPoisson

    @property
    def messages(self) -> float:
        """The expected noise messages per bin: two for every pair, one for every lone message."""
        return 2 * self.pairs.mean + self.lone.mean

    def scaled(self, factor: float) -> SparseNoise:
        """Return the distributions of a share, or a multiple, of these people."""
        return SparseNoise(
            pairs=self.pairs.with_rate(self.pairs.rate * factor), lone=self.lone.with_rate(self.lone.rate * factor)
        )

    def curve(self, *, values: int = 1, resolution: float) -> PrivacyCurve:
        """The curve of four shifts: a replaced value moves c + P and c - M of one bin up and of one bin down."""
        return moved_bins(self.pairs, self.lone, values=values, resolution=resolution)


@dataclass(frozen=True, kw_only=True)
class NoiseSearch:
    """The trade-off between messages and error for one guarantee and number of values per person.

    The losses of K values spread like the loss of one value at epsilon / sqrt(K), for which the clusters are made.
    `narrow` selects the shape of the lone clusters.
    """

    epsilon: float
    delta: float
    values: int = 1
    narrow: bool = False

    @classmethod
    def resolving(cls, guarantee: Guarantee | None) -> NoiseSearch:
        """Return the search with a resolution for a guarantee, or for a very small delta without one."""
        return cls(epsilon=guarantee.epsilon, delta=guarantee.delta) if guarantee else cls(epsilon=1.0, delta=1e-12)

    @property
    def shapes(self) -> list[NoiseSearch]:
        """The searches to compare: one for each shape of the lone clusters that can be the best."""
        small = _lone_mean(self._one_value) <= _SMALL_CLUSTERS
        return [replace(self, narrow=narrow) for narrow in ((False, True) if small else (False,))]

    @property
    def _one_value(self) -> float:
        """The epsilon of one value with the same spread of losses."""
        return self.epsilon / math.sqrt(self.values)

    @property
    def resolution(self) -> float:
        """The mass that composition may give up; at epsilon it counts e^epsilon times."""
        return _RESOLUTION * self.delta * math.exp(-self.epsilon)

    def distributions(self, pair_rate: float, lone_rate: float) -> SparseNoise:
        """Return the noise of two rates, with the two cluster shapes that depend on epsilon only."""
        pairs, lone = _clusters(self._one_value, self.narrow)
        return SparseNoise(
            pairs=_distribution(pair_rate, pairs),
            lone=_distribution(lone_rate, lone),
        )

    def excess(self, distributions: SparseNoise) -> float:
        """The excess over delta, which is positive exactly if the distributions do not give the guarantee."""
        return math.log(
            distributions.curve(values=self.values, resolution=self.resolution).delta(self.epsilon) / self.delta
        )

    @lru_cache(maxsize=256)  # noqa: B019 - searches are small values, equal ones share their results
    def at(self, pairs: float) -> SparseNoise | None:
        """The noise with this rate of pairs (in units of log 1/delta) and the fewest lone messages, if there is one."""
        pair_rate = pairs * math.log(1 / self.delta)

        def at_step(step: int) -> SparseNoise:
            return self.distributions(pair_rate, math.exp(step * _RATE_STEP))

        excess = cache(lambda step: self.excess(at_step(step)))
        found = first_safe_from(
            lambda logarithm: excess(math.ceil(logarithm / _RATE_STEP)),
            math.log(2 * math.log(1 / self.delta)),
            stride=_RATE_STRIDE,
            most=math.log(_MOST_LONE),
            tolerance=_RATE_STEP / 2,
        )
        return None if found is None else at_step(math.ceil(found / _RATE_STEP))

    def within(self, messages: float) -> SparseNoise | None:
        """The smallest error for at most this number of noise messages per bin; None if the guarantee needs more.

        Pairs (two messages each) decrease the error and lone messages increase it. So the search finds the largest
        share of pairs with which the remaining lone messages still give the guarantee.
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
        # the guarantee holds from `possible` up to the sought share, and first_safe needs the opposite order
        rest = first_safe(lambda rest: excess(1 - rest), _LEAST_REST, 1 - possible, tolerance=_TOLERANCE)
        return divided(1 - rest)

    def cheapest(self, *, start: int = 0) -> SparseNoise | None:
        """The fewest messages from a position in `PAIR_RATES` on, where they stop decreasing."""
        best = None
        for pairs in PAIR_RATES[start:]:
            distributions = self.at(pairs)
            if best and distributions and distributions.messages >= best.messages:
                break
            best = distributions or best
        return best


def _lowest(function: Callable[[float], float], low: float, high: float) -> float:
    """The approximate minimum of a function with one valley, by golden section; stops where it is not positive."""
    ratio = (math.sqrt(5) - 1) / 2
    while high - low > 0.01:
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        if min(function(left), function(right)) <= 0:
            return min(left, right, key=function)
        low, high = (low, right) if function(left) < function(right) else (left, high)
    return (low + high) / 2


@lru_cache(maxsize=64)
def _distribution(rate: float, sizes: tuple[int, ...]) -> CompoundPoisson:
    """Return one object for equal distributions, so that its probabilities are computed once."""
    return CompoundPoisson(rate=rate, size_weights=sizes)


@cache
def _clusters(epsilon: float, narrow: bool) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The cluster sizes of the pairs and of the lone messages.

    Means in units of 1 / epsilon and shapes are the best of a coarse grid at four epsilons (delta 1e-6). The narrow
    clusters are for means below 2, where whole sizes matter.
    """
    mean, shape = _lone_mean(epsilon), 20.0
    if narrow:
        mean, shape = max(mean, min(1.6, 1.6 / epsilon)), 40.0
    return gamma_sizes(mean=max(1.0, 3 / epsilon), shape=4.0), gamma_sizes(mean=mean, shape=shape)


def _lone_mean(epsilon: float) -> float:
    return max(1.0, 1.3 / epsilon)


_BETA = 0.05
"""The failure probability of the error that is requested or compared."""


def distributions_for(target: Target, *, messages: float | None, error: float | None) -> SparseNoise:
    """The honest people's noise within a number of messages or an error, or by default a compromise."""
    search = NoiseSearch(epsilon=target.epsilon, delta=target.delta, values=target.values_per_person)
    if messages is not None and error is not None:
        raise ParameterError("give messages or error, not both: each decides the other")
    if error is not None:
        return _within_error(search, error, target)
    if messages is not None:
        options = _within_messages(search, messages, bins_per_person=Fraction(target.cells, target.honest))
    else:
        options = [shape.cheapest(start=KNEE) for shape in search.shapes]
    found = [option for option in options if option]
    if not found:
        raise _no_noise(search)
    return min(found, key=lambda option: (_error(option, target), option.messages))


def of_everyone(distributions: SparseNoise, target: Target) -> SparseNoise:
    """Return the noise of all people together, given the noise of the honest ones."""
    try:
        return distributions.scaled(target.users / target.honest)
    except ParameterError:
        raise ParameterError(
            f"with only {target.honest:,} honest people among {target.users:,}, all together must make more "
            "noise than can be computed: more of them must be honest"
        ) from None


def _error(distributions: SparseNoise, target: Target) -> float:
    total, values = of_everyone(distributions, target), target.values_per_person
    estimator = PairedCounts(pairs=total.pairs, lone=total.lone, people=target.users, values_per_person=values)
    return estimator.error(beta=_BETA, bins=target.cells, occupied=min(values * target.users, target.cells))


def _no_noise(search: NoiseSearch) -> ParameterError:
    values = "" if search.values == 1 else f" and values_per_person={search.values}"
    return ParameterError(
        f"no noise was found for epsilon={search.epsilon:g}, delta={search.delta:g}{values}; try a smaller delta"
    )


def _within_messages(search: NoiseSearch, messages: float, *, bins_per_person: Fraction) -> list[SparseNoise | None]:
    if messages == math.inf:
        return [shape.within(math.inf) for shape in search.shapes]
    budget = (real("messages", messages) - search.values) / float(bins_per_person)
    options = [shape.within(budget) for shape in search.shapes] if budget > 0 else []
    if not any(options):
        cheapest = [found.messages for shape in search.shapes if (found := shape.cheapest())]
        fewest = search.values + float(bins_per_person) * min(cheapest, default=math.inf)
        raise ParameterError(
            f"messages={messages:g} per person is too few for epsilon={search.epsilon:g}, delta={search.delta:g}: "
            f"needs about {fewest:.4g}"
        )
    return options


def _within_error(search: NoiseSearch, error: float, target: Target) -> SparseNoise:
    """The noise with the fewest messages whose simultaneous error is at most the given one."""
    limit = real("error", error)

    def error_of(distributions: SparseNoise | None) -> float:
        return math.inf if distributions is None else _error(distributions, target)

    def fewest(shape: NoiseSearch) -> SparseNoise | None:
        # the error decreases as pairs are added
        return shape.cheapest(start=bisect_left(PAIR_RATES, True, key=lambda pairs: error_of(shape.at(pairs)) <= limit))

    found = [option for shape in search.shapes if (option := fewest(shape))]
    if not found:
        smallest = min(error_of(shape.at(PAIR_RATES[-1])) for shape in search.shapes)
        raise ParameterError(
            f"error={limit:g} people is too small for epsilon={search.epsilon:g}, delta={search.delta:g}: "
            f"the smallest possible is {smallest:.0f}"
        )
    return min(found, key=lambda option: option.messages)

"""The privacy budget of a population: its limit, whether a release fits, and the remaining budget.

`Budget` is the limit, `largest_that_fits` the largest epsilon of one more release, and `Standing` the state of a
ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property

from shuffledp.accounting.bounds import StatedCurve
from shuffledp.accounting.composition import Composition, MomentBound, composed
from shuffledp.accounting.curve import Curve
from shuffledp.accounting.search import last_safe_from, log_excess
from shuffledp.errors import ParameterError
from shuffledp.formatting import ShortRepr, share_at_least
from shuffledp.ledger.entry import LedgerEntry
from shuffledp.protocols.shuffled.histogram import Histogram
from shuffledp.validation import LEAST_EPSILON, target_delta, target_epsilon


@dataclass(frozen=True, kw_only=True)
class Budget(ShortRepr):
    """The limit of a population: all releases of its data together are (`epsilon`, `delta`)-private.

    With `by_results`, the limit also holds if the epsilon of a release is chosen after seeing earlier results, and
    fewer releases fit. Without it, only the question may depend on earlier results (docs/proofs/exact-privacy.md).
    """

    population: str
    epsilon: float
    delta: float
    by_results: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.population, str) or not self.population.strip():
            raise ParameterError("population must name whose data it is, such as 'customers of 2026', got no text")
        object.__setattr__(self, "epsilon", target_epsilon(self.epsilon))
        object.__setattr__(self, "delta", target_delta(self.delta))

    @cached_property
    def _moments(self) -> MomentBound:
        return MomentBound(epsilon=self.epsilon, delta=self.delta)

    def reached(self, total: Composition) -> float:
        """Return the delta of all releases together at the limit's epsilon, which counts against the limit."""
        return self._moments.reached(total) if self.by_results else total.delta(self.epsilon)

    def allows(self, total: Composition) -> bool:
        """Return whether these releases together are within the limit."""
        return self.reached(total) <= self.delta

    def roughly_reached(self, total: Composition, curve: Curve) -> float:
        """Approximate `reached` with one more release, without composing all the others again."""
        if self.by_results or not total.parts:
            return self.reached(composed([total, curve]))
        return composed([curve]).pair.delta_with(total.pair, self.epsilon)


Make = Callable[[float], Curve]
"""From an epsilon to the privacy curve of a release with it."""

_DIGITS = 3
_TOLERANCE = 1e-3
"""The relative precision of an epsilon that is printed with three digits."""

_LESS = 0.99
_TRIES = 5
"""The number of slightly smaller epsilons to try if the approximate total was too small (by a few per mille)."""

_MANY_PEOPLE = 10**6
"""A large number of people; the noise of this number hardly depends on it any more."""


def smallest_epsilon(budget: Budget) -> float:
    """Return the smallest epsilon that is searched, a hundredth of the limit: less is useless and slow to calibrate."""
    return max(LEAST_EPSILON, budget.epsilon / 100)


def largest_that_fits(budget: Budget, total: Composition, make: Make) -> float | None:
    """Return the largest epsilon, rounded down to three digits, with which one more release fits; None if none does.

    It is at most the epsilon of the limit. A small epsilon may not fit either, if it needs more people than there are.
    """

    @cache
    def excess(epsilon: float) -> float:
        try:
            return log_excess(budget.roughly_reached(total, make(epsilon)), budget.delta)
        except ParameterError:  # too few people for this epsilon: search among larger ones
            return -1.0

    found = last_safe_from(
        excess,
        budget.epsilon,
        stride=budget.epsilon / 4,
        least=smallest_epsilon(budget),
        most=budget.epsilon,
        tolerance=_TOLERANCE * budget.epsilon,
    )
    for less in [] if found is None else [found * _LESS**tried for tried in range(_TRIES)]:
        epsilon = float(share_at_least(less, digits=_DIGITS))
        if _fits(budget, total, make, epsilon):
            return epsilon
    return None


def largest_histogram(budget: Budget, total: Composition, *, delta: float) -> float | None:
    """Return the largest epsilon for the paper's histogram with one value per person and many people."""
    return largest_that_fits(
        budget,
        total,
        lambda epsilon: Histogram.calibrate(users=_MANY_PEOPLE, bins=2, epsilon=epsilon, delta=delta).privacy,
    )


def largest_guarantee(budget: Budget, total: Composition, *, delta: float) -> float | None:
    """Return the largest epsilon for a release of which only the guarantee is known, assuming the worst curve."""
    return largest_that_fits(budget, total, lambda epsilon: StatedCurve(stated_epsilon=epsilon, stated_delta=delta))


def _fits(budget: Budget, total: Composition, make: Make, epsilon: float) -> bool:
    try:
        return budget.allows(composed([total, make(epsilon)]))
    except ParameterError:
        return False


_USUAL_SHARE = 10
"""The remaining budget is computed for a release with this share of the limit's delta."""


@dataclass(frozen=True, kw_only=True)
class Standing(ShortRepr):
    """The state of a ledger: all entries together against the limit.

    epsilon               of all entries, at the limit's delta
    delta                 of all entries, at the limit's epsilon
    reached               the delta that counts against the limit; larger than `delta` with `by_results`
    sum_of_epsilons       of the stated guarantees, as basic composition would add them; `sum_of_deltas` likewise
    left_delta            the delta for which the next two are computed
    left_epsilon          one more release of any kind fits up to this epsilon; None if none does. With `by_results` it
                          is for a release of which only the guarantee is known
    left_epsilon_of_hist  the same for the paper's histogram with one value per person
    """

    budget: Budget
    entries: tuple[LedgerEntry, ...]
    epsilon: float
    delta: float
    reached: float
    sum_of_epsilons: float
    sum_of_deltas: float
    left_epsilon: float | None
    left_epsilon_of_hist: float | None
    left_delta: float
    total: Composition = field(repr=False)

    @property
    def over(self) -> bool:
        """Whether more is spent than the limit allows; only releases made elsewhere can cause that."""
        return self.reached > self.budget.delta


def stand(budget: Budget, entries: Sequence[LedgerEntry]) -> Standing:
    """Return the state of a budget after these entries."""
    total, left_delta = composed([entry.curve for entry in entries]), float(f"{budget.delta / _USUAL_SHARE:.6g}")
    return Standing(
        budget=budget,
        entries=tuple(entries),
        epsilon=total.epsilon(budget.delta),
        delta=total.delta(budget.epsilon),
        reached=budget.reached(total),
        sum_of_epsilons=sum(entry.epsilon for entry in entries),
        sum_of_deltas=sum(entry.delta for entry in entries),
        left_epsilon=largest_guarantee(budget, total, delta=left_delta),
        left_epsilon_of_hist=largest_histogram(budget, total, delta=left_delta),
        left_delta=left_delta,
        total=total,
    )

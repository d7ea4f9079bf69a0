"""The limit of all releases of one population's data together, and when one more is within it.

The largest epsilon of one more release that still fits a budget.

Where a ledger stands: its limit, its history, what all releases come to, and what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property

from shuffledp.accounting.closed_form_curves import StatedCurve
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
    """Whose data it is, `population`, and that all releases together are (`epsilon`, `delta`)-private.

    With `by_results` that also holds if how much a release spends is decided after seeing earlier ones, at the price of
    fewer releases; without it only what is asked may depend on them (docs/proofs/exact-privacy.md).
    """

    population: str
    epsilon: float
    delta: float
    by_results: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.population, str) or not self.population.strip():
            raise ParameterError("population must say in a few words whose data it is, such as 'customers of 2026'")
        object.__setattr__(self, "epsilon", target_epsilon(self.epsilon))
        object.__setattr__(self, "delta", target_delta(self.delta))

    @cached_property
    def _moments(self) -> MomentBound:
        return MomentBound(epsilon=self.epsilon, delta=self.delta)

    def reached(self, total: Composition) -> float:
        """The delta that counts against the limit: that of all releases together at its epsilon."""
        return self._moments.reached(total) if self.by_results else total.delta(self.epsilon)

    def allows(self, total: Composition) -> bool:
        """Whether these releases together are within the limit."""
        return self.reached(total) <= self.delta

    def roughly_reached(self, total: Composition, curve: Curve) -> float:
        """About what one more release would reach, without composing all the others anew."""
        if self.by_results or not total.parts:
            return self.reached(composed([total, curve]))
        return composed([curve]).pair.delta_with(total.pair, self.epsilon)


Make = Callable[[float], Curve]
"""From an epsilon to the curve of the release that would be made with it."""

_DIGITS = 3
_TOLERANCE = 1e-3
"""Of an epsilon that is printed with three digits."""

_LESS = 0.99
_TRIES = 5
"""How often a little less is tried where the rough total was too small: it is off by a few parts in a thousand."""

_MANY_PEOPLE = 10**6
"""Noise that is a sum over so many hardly depends on how many they are."""


def smallest_looked_for(budget: Budget) -> float:
    """A hundredth of the limit: with less nobody would release anything, and it takes long to calibrate."""
    return max(LEAST_EPSILON, budget.epsilon / 100)


def largest_that_fits(budget: Budget, total: Composition, make: Make) -> float | None:
    """The largest epsilon, rounded down to three digits, with which one more release fits; None if none does.

    It is at most the limit's own. More epsilon is less noise of the kind that `make` makes, so beyond some epsilon none
    fits. Where people are too few for a small epsilon, that does not fit either.
    """

    @cache
    def excess(epsilon: float) -> float:
        try:
            return log_excess(budget.roughly_reached(total, make(epsilon)), budget.delta)
        except ParameterError:  # people are too few for so small an epsilon: look among larger ones
            return -1.0

    found = last_safe_from(
        excess,
        budget.epsilon,
        stride=budget.epsilon / 4,
        least=smallest_looked_for(budget),
        most=budget.epsilon,
        tolerance=_TOLERANCE * budget.epsilon,
    )
    for less in [] if found is None else [found * _LESS**tried for tried in range(_TRIES)]:
        epsilon = float(share_at_least(less, digits=_DIGITS))
        if _fits(budget, total, make, epsilon):
            return epsilon
    return None


def largest_histogram(budget: Budget, total: Composition, *, delta: float) -> float | None:
    """The same for the paper's histogram of one value each, with many people."""
    return largest_that_fits(
        budget,
        total,
        lambda epsilon: Histogram.calibrate(users=_MANY_PEOPLE, bins=2, epsilon=epsilon, delta=delta).privacy,
    )


def largest_guarantee(budget: Budget, total: Composition, *, delta: float) -> float | None:
    """The same for a release of which nothing but its guarantee is known: the worst of all that have it."""
    return largest_that_fits(budget, total, lambda epsilon: StatedCurve(stated_epsilon=epsilon, stated_delta=delta))


def _fits(budget: Budget, total: Composition, make: Make, epsilon: float) -> bool:
    try:
        return budget.allows(composed([total, make(epsilon)]))
    except ParameterError:
        return False


_USUAL_SHARE = 10
"""What is left is told for a release with a tenth of the limit's delta: `left_in_words` says so."""


@dataclass(frozen=True, kw_only=True)
class Standing(ShortRepr):
    """All entries together against the limit.

    `epsilon` is theirs at the limit's delta, `delta` theirs at the limit's epsilon; `reached` is the delta that counts
    against the limit, which is larger where amounts may be chosen by results. `sum_of_epsilons` and `sum_of_deltas`, of
    what was promised for each, is what one would have to say without composing curves.

    At `left_delta` one more release fits up to `left_epsilon` if nothing but its guarantee is known, and up to
    `left_epsilon_of_hist` if it is the paper's histogram of one value each; None where no epsilon does. The first is
    the worst that a guarantee allows, so that it holds for every kind of release; but where amounts may be chosen by
    results, each kind has bounds of its own, and it does not.
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
        """Whether more is spent than the limit allows, which only what was spent elsewhere can bring about."""
        return self.reached > self.budget.delta

    @property
    def left_in_words(self) -> str:
        """What still fits, for which kind of release, as the end of a sentence."""
        any_kind, hist = self.left_epsilon, self.left_epsilon_of_hist
        if any_kind is None and hist is None:
            return "nothing more fits"
        known = "as a stated guarantee" if self.budget.by_results else "whatever its kind"
        least = f"no epsilon from {smallest_looked_for(self.budget):g} on"
        fits = [f"{least if any_kind is None else f'epsilon up to {any_kind:g}'} {known}"]
        if hist is not None and hist != any_kind:
            fits += [f"epsilon up to {hist:g} with protocol hist and one value per person"]
        return f"one more release at delta {self.left_delta:g}, a tenth of the limit's, fits with {', and '.join(fits)}"


def stand(budget: Budget, entries: Sequence[LedgerEntry]) -> Standing:
    """Where a budget stands after these entries."""
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

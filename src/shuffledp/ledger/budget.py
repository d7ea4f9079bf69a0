"""The privacy budget of a population: its limit, the entries that count, whether one more fits, and what remains."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cache, cached_property, lru_cache
from typing import Any

from shuffledp.accounting.bounds import StatedCurve
from shuffledp.accounting.composition import Composition, MomentBound, composed
from shuffledp.accounting.curve import Curve
from shuffledp.accounting.search import last_safe_from, log_excess
from shuffledp.errors import DataError, ParameterError
from shuffledp.formatting import ShortRepr, share_at_least
from shuffledp.protocols.catalogue import from_record, to_record
from shuffledp.protocols.protocol import HistogramProtocol
from shuffledp.protocols.shuffled.histogram import Histogram
from shuffledp.protocols.target import guarantee_or_usual
from shuffledp.validation import LEAST_EPSILON, target_delta, target_epsilon

ELSEWHERE = "spent elsewhere"
_LONGEST = 200
"""Characters of a description, which is shown in a table."""


@dataclass(frozen=True, kw_only=True)
class LedgerEntry(ShortRepr):
    """A release with the exact parameters of its protocol, or a guarantee that was spent elsewhere.

    what            what was released, such as the name of a column
    epsilon, delta  the stated guarantee; the `curve`, computed from `parameters`, is what counts
    people          the number of people in the release
    version         of the package that wrote the entry
    published       whether the result came out; the entry counts either way
    parameters      of the protocol, as JSON; None for a guarantee that was spent elsewhere
    """

    number: int
    day: date
    what: str
    protocol: str
    epsilon: float
    delta: float
    people: int | None
    version: str
    published: bool
    parameters: str | None = field(repr=False)

    @property
    def curve(self) -> Curve:
        """The privacy curve, computed from the parameters."""
        if self.parameters is None:
            return StatedCurve(stated_epsilon=self.epsilon, stated_delta=self.delta)
        return self.made().privacy

    def made(self) -> HistogramProtocol:
        """Return the protocol of the release."""
        try:
            return remade(self.parameters or "")
        except DataError as reason:
            raise DataError(
                f"entry {self.number} of the ledger has no readable parameters, so nothing can be spent: {reason}; "
                f"version {self.version[:20]} of shuffledp wrote it"
            ) from None


def described(what: Any) -> str:
    """Return a description as one printable line."""
    if not isinstance(what, str) or not what.strip():
        raise ParameterError(f"what must describe the release, got {type(what).__name__} without text")
    line = " ".join("".join(mark if mark.isprintable() else " " for mark in what).split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def stated_guarantee(protocol: HistogramProtocol) -> tuple[float, float]:
    """Return the epsilon and the delta that a protocol was calibrated for."""
    guarantee = guarantee_or_usual(protocol)
    return guarantee.epsilon, guarantee.delta


def parameters_of(protocol: HistogramProtocol) -> str:
    """Return a protocol as JSON from which it can be restored exactly; raise if it cannot."""
    text = json.dumps(to_record(protocol), allow_nan=False, sort_keys=True)
    try:
        same = remade(text).privacy == protocol.privacy
    except DataError:
        same = False
    if not same:
        raise ParameterError(
            f"protocol must be one of the catalogue to be entered with its parameters, got {type(protocol).__name__}: "
            "enter its guarantee with spend_elsewhere before you release anything"
        )
    return text


@lru_cache(maxsize=512)
def remade(parameters: str) -> HistogramProtocol:
    """Return the protocol with these parameters."""
    try:
        record = json.loads(parameters)
    except ValueError:
        raise DataError("its parameters are not JSON") from None
    return from_record(record)


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
"""Relative, for an epsilon that is printed with three digits."""

_LESS = 0.99
_TRIES = 5
"""Slightly smaller epsilons to try if the approximate total was too small (by a few per mille)."""

_MANY_PEOPLE = 10**6
"""The noise of so many people hardly depends on their number any more."""


def smallest_epsilon(budget: Budget) -> float:
    """Return the smallest epsilon that is searched; less is useless and slow to calibrate."""
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

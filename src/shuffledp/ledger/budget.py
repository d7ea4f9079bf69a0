"""The limit of all releases of one population's data together, and when one more is within it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from shuffledp.accounting.composition import Composition, composed
from shuffledp.accounting.curve import Curve
from shuffledp.accounting.moments import MomentBound
from shuffledp.brief import Brief
from shuffledp.checks import target_delta, target_epsilon
from shuffledp.errors import ParameterError


@dataclass(frozen=True, kw_only=True)
class Budget(Brief):
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

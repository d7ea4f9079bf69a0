"""Where a ledger stands: its limit, its history, what all releases come to, and what is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from shuffledp.accounting.composition import Composition, composed
from shuffledp.brief import Brief
from shuffledp.ledger.budget import Budget
from shuffledp.ledger.entry import LedgerEntry
from shuffledp.ledger.fitting import largest_histogram

_USUAL_SHARE = 10
"""What is left is told for a release with a tenth of the limit's delta."""


@dataclass(frozen=True, kw_only=True)
class Standing(Brief):
    """All entries together against the limit.

    `epsilon` is theirs at the limit's delta, `delta` theirs at the limit's epsilon; `reached` is the delta that counts
    against the limit, which is larger where amounts may be chosen by results. `sum_of_epsilons` and `sum_of_deltas`, of
    what was promised for each, is what one would have to say without composing curves. One more histogram fits with up
    to `left_epsilon` at `left_delta`; None if no epsilon does.
    """

    budget: Budget
    entries: tuple[LedgerEntry, ...]
    epsilon: float
    delta: float
    reached: float
    sum_of_epsilons: float
    sum_of_deltas: float
    left_epsilon: float | None
    left_delta: float
    total: Composition = field(repr=False)

    @property
    def over(self) -> bool:
        """Whether more is spent than the limit allows, which only what was spent elsewhere can bring about."""
        return self.reached > self.budget.delta


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
        left_epsilon=largest_histogram(budget, total, delta=left_delta),
        left_delta=left_delta,
        total=total,
    )

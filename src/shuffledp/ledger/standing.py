"""Where a ledger stands: its limit, its history, what all releases come to, and what is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from shuffledp.accounting.composition import Composition, composed
from shuffledp.brief import Brief
from shuffledp.ledger.budget import Budget
from shuffledp.ledger.entry import LedgerEntry
from shuffledp.ledger.fitting import largest_guarantee, largest_histogram, smallest_looked_for

_USUAL_SHARE = 10
"""What is left is told for a release with a tenth of the limit's delta: `left_in_words` says so."""


@dataclass(frozen=True, kw_only=True)
class Standing(Brief):
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

"""The state of a ledger, and of the budget of a person who answers, as text: what is spent, and what is left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from shuffledp.formatting import counted, privacy_figure, share_at_least, share_at_most, shown
from shuffledp.ledger import Spent, Standing
from shuffledp.ledger.budget import Budget, smallest_epsilon

if TYPE_CHECKING:
    from shuffledp.collect.task.spending import Spending


def summary(standing: Standing) -> list[str]:
    """Return the total against the limit, and what is left, in one line each."""
    budget = standing.budget
    population, limit = (
        shown(budget.population, width=80),
        f"epsilon {privacy_figure(budget.epsilon)} at delta {privacy_figure(budget.delta)}",
    )
    if standing.entries:
        number = counted(len(standing.entries), "release")
        spent = f"{number} spent epsilon {share_at_most(standing.epsilon, digits=3)} of the limit, {limit}"
    else:
        spent = f"nothing is spent of the limit, {limit}"
    over = ["More is spent than the limit allows."] if standing.over else []
    return [f"{population}: {spent}.", *over, f"Left: {left(standing)}."]


def left(standing: Standing) -> str:
    """Return which release still fits, as the end of a sentence."""
    any_kind, hist, delta = standing.left_epsilon, standing.left_epsilon_of_hist, standing.left_delta
    if any_kind is None and hist is None:
        return "nothing more fits"
    kind = "known only by its guarantee" if standing.budget.by_results else "of any kind"
    if any_kind is None:
        fits = f"no release {kind} from epsilon {smallest_epsilon(standing.budget):g} on"
    else:
        fits = f"one more release {kind} up to epsilon {any_kind:g}"
    if hist is not None and hist != any_kind:
        # the search for it ends at the epsilon of the limit
        most = f"epsilon {hist:g} or more" if hist == standing.budget.epsilon else f"up to epsilon {hist:g}"
        fits += f", or {most} with protocol hist and one value per person"
    return f"{fits}, at delta {privacy_figure(delta)}"


def details(standing: Standing) -> dict[str, str]:
    """Return paragraphs by title: how the total is computed, and what counts."""
    parts = {}
    if standing.entries:
        parts["Total"] = (
            f"Exact composition gives epsilon {share_at_most(standing.epsilon, digits=3)} at the limit's delta, and "
            f"delta {share_at_most(standing.delta, digits=3)} at the limit's epsilon. The sum of the epsilons would be "
            f"{share_at_most(standing.sum_of_epsilons, digits=3)}, of the deltas "
            f"{share_at_most(standing.sum_of_deltas, digits=3)}."
        )
    if standing.budget.by_results:
        parts["Choices after seeing results"] = (
            "The limit also holds if the epsilon of a release depends on earlier results. Counted that way, delta is "
            f"at most {share_at_most(standing.reached, digits=3)} at the limit's epsilon."
        )
    parts["Left"] = (
        f"What is left is computed for one more release with delta {privacy_figure(standing.left_delta)}, a tenth of "
        "the limit's. A "
        "release of which only the guarantee is known counts as the worst one with it, so other releases may fit with "
        "a larger epsilon."
    )
    if not all(entry.published for entry in standing.entries):
        parts["Not published"] = "The release was stopped before its result was complete. It counts as spent."
    return parts


def spent_note(spent: Spent) -> str:
    """Return the note for the readers of a release that was entered in a ledger."""
    entry = f"Entry {spent.number} of the ledger of {spent.population}"
    if spent.standing is None:
        return f"{entry}, which could not be read afterwards."
    budget, used = spent.standing.budget, share_at_most(spent.standing.epsilon, digits=3)
    return (
        f"{entry}: all releases together have epsilon {used} of {privacy_figure(budget.epsilon)} at delta "
        f"{privacy_figure(budget.delta)}. Left: "
        f"{left(spent.standing)}."
    )


class BudgetUse(Protocol):
    """What an answer uses of a limit (collect/client/budget.py)."""

    @property
    def before(self) -> float:
        """The epsilon of all earlier answers, at the limit's delta."""

    @property
    def after(self) -> float:
        """The epsilon with this answer."""

    @property
    def limit(self) -> Budget:
        """The limit."""


class AnsweredTask(Protocol):
    """One task in a journal."""

    @property
    def state(self) -> str:
        """Whether the report is ready, sent, refused, or only claimed."""

    @property
    def spending(self) -> Spending | None:
        """What its privacy follows from; None if that is unknown."""


class History(Protocol):
    """All tasks in a journal, with their total."""

    @property
    def spent(self) -> Sequence[AnsweredTask]:
        """The tasks."""

    @property
    def limit(self) -> Budget | None:
        """The stored limit."""

    @property
    def epsilon(self) -> float | None:
        """The epsilon of the total; None if it is unknown."""

    @property
    def delta(self) -> float:
        """The delta of the total."""

    @property
    def over(self) -> bool:
        """Whether the total is over the limit."""

    @property
    def fits(self) -> float | None:
        """The largest epsilon of one more task with one value per person."""

    @property
    def fits_delta(self) -> float:
        """The delta of that task."""


def use_line(use: BudgetUse) -> str:
    """Return what an answer uses of the limit, and what the answers before it have used, rounded up."""
    limit, before = privacy_figure(use.limit.epsilon), _figure(use.before)
    if use.before == use.after:
        return f"Budget: this task is answered already and uses nothing more ({before} of your {limit} used)"
    return f"Budget: this answer uses {_figure(use.after - use.before)} of your {limit} ({before} used so far)"


def _figure(epsilon: float) -> str:
    return share_at_most(epsilon, digits=3)


def total_lines(history: History) -> list[str]:
    """Return the total against the limit, and what fits, in one line each."""
    number, limit = counted(len(history.spent), "answer"), history.limit
    at = f"at delta {privacy_figure(history.delta)}"
    bound = "" if limit is None else f" of your {privacy_figure(limit.epsilon)}"
    if not history.spent:
        first = f"Nothing is used{bound}{'' if limit is None else f', {at}'}."
    elif history.epsilon is None:
        first = f"{number}; the total is unknown, because parameters are missing."
    else:
        first = (
            f"{number} {'uses' if len(history.spent) == 1 else 'use'} epsilon {_figure(history.epsilon)}{bound}, {at}."
        )
    if limit is None:
        return [first, "No limit is stored, so clients check none."]
    if history.epsilon is None:
        return [first]
    over = ["More is used than the limit allows."] if history.over else []
    return [first, *over, f"Left: {_fits(history, limit)}."]


def _fits(history: History, limit: Budget) -> str:
    at = f"at delta {privacy_figure(history.fits_delta)} and one value per person"
    if history.fits is None:
        return f"no task with epsilon {smallest_epsilon(limit):g} or more fits, {at}"
    return f"one more task with epsilon up to {share_at_least(history.fits, digits=3)} fits, {at}"


STATES = {
    "ready": "not sent yet",
    "sent": "sent",
    "refused": "refused by the server",
    "claimed": "begun, not finished",
}
"""The states of a task in a journal; all count as spent."""


def row(answered: AnsweredTask) -> list[str]:
    """Return the day, the question, the guarantee, the round and the state of one task."""
    spending, state = answered.spending, STATES[answered.state]
    if spending is None:
        return ["", "(parameters are missing)", "", "", state]
    guarantee = f"{spending.guarantee.epsilon}, {spending.guarantee.delta}"
    series = "" if spending.series is None else f"{spending.series.round} of {spending.series.id[:8]}"
    return [spending.day, shown(spending.question, width=60), guarantee, series, state]

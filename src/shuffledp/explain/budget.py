"""The budget of a person who answers, as text: what an answer uses, what is used together, and what is left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from shuffledp.formatting import counted, privacy_figure, share_at_least, share_at_most, shown
from shuffledp.ledger.budget import smallest_epsilon

if TYPE_CHECKING:
    from shuffledp.collect.task.spending import Spending
    from shuffledp.ledger.budget import Budget


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

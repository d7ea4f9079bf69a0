"""A person's own privacy budget: all their answers together against the limit that they set.

The total is the exact composition of the privacy curves of everything in the journal, with the cost of sampling again.
The question of a task may depend on earlier results. A limit with `by_results` also holds if the noise of a task is
chosen after earlier results (docs/proofs/exact-privacy.md, "Noise chosen by results"). The term of sampling again
(protocols/message_limit.py) then has a share of the limit's delta of its own.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shuffledp.accounting import search
from shuffledp.accounting.composition import Composition, MomentBound, composed
from shuffledp.accounting.rounding import PROMISED_DELTA
from shuffledp.collect.client.journal import OWNER, AnsweredTask, Journal
from shuffledp.collect.task import Task
from shuffledp.collect.task.spending import Spending
from shuffledp.errors import AnswerBudgetError, DataError, ParameterError
from shuffledp.formatting import ShortRepr, counted, privacy_figure, share_at_most
from shuffledp.ledger.budget import Budget, largest_histogram, smallest_epsilon
from shuffledp.protocols.message_limit import LimitCost
from shuffledp.validation import LEAST_DELTA

_TRIES = 6
"""Attempts of a client that is over the limit only because of clients that have not finished."""

_PAUSE = 0.05
"""Seconds, the least range of the random pause before another attempt; checking takes about as long."""


class Total:
    """The privacy of several answers together, each with fresh noise; never below the truth."""

    def __init__(self, spendings: Iterable[Spending]) -> None:
        records = list(spendings)
        self.composition: Composition = composed([record.curve for record in records])
        self.limits = LimitCost.of_all(record.limit_cost for record in records)

    def delta(self, epsilon: float) -> float:
        """A delta such that all answers together are (epsilon, delta)-private."""
        return self.limits.delta(self.composition.delta, epsilon)

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon for which all answers together are (epsilon, delta)-private; inf if none is known."""
        return search.smallest_epsilon(self.delta, delta) if self.composition.parts else 0.0

    def reached(self, limit: Budget) -> float:
        """The delta at the limit's epsilon that counts against the limit."""
        if not limit.by_results:
            return self.delta(limit.epsilon)
        bound = MomentBound(epsilon=limit.epsilon, delta=limit.delta)
        return bound.reached(self.composition, self.limits.added(limit.epsilon)) / self.limits.kept

    def within(self, limit: Budget) -> bool:
        """Whether these answers together are within the limit."""
        return self.reached(limit) <= limit.delta * (1 + PROMISED_DELTA)


@dataclass(frozen=True, kw_only=True)
class BudgetUse(ShortRepr):
    """What one answer uses of a limit: the epsilons of all answers `before` and `after` it, at the limit's delta.

    `reached` is the delta of all answers at the limit's epsilon, counted as the limit requires. Both epsilons are equal
    for a task that has a report already (`made`). A report that was sent or refused is always `within`; one that was
    not sent is so only if all answers together are. `unfinished` other tasks, which a client began to answer and did
    not finish, count as spent.
    """

    before: float
    after: float
    limit: Budget
    reached: float
    within: bool
    unfinished: int = 0
    made: bool = False

    @property
    def uses(self) -> float:
        """The epsilon that this answer adds."""
        return self.after - self.before

    @property
    def left(self) -> float:
        """The difference between the limit's epsilon and the epsilon after this answer."""
        return max(0.0, self.limit.epsilon - self.after)


def limit_of(journal: Journal, budget: Any, *, by_results: bool = False) -> Budget | None:
    """Return the limit that applies: the given (epsilon, delta), else the stored one, else None.

    A stored `by_results` holds for a given limit as well.
    """
    chosen = None if budget is None else new_limit(budget, by_results=by_results)
    stored = journal.limit
    if stored is None:
        if chosen is None and by_results:
            raise ParameterError("by_results needs a budget, given or stored")
        return chosen
    return replace(chosen or stored, by_results=stored.by_results or by_results)


def new_limit(budget: Any, *, by_results: bool = False) -> Budget:
    """Return a given (epsilon, delta) as a limit."""
    try:
        epsilon, delta = budget
        return Budget(population=OWNER, epsilon=float(epsilon), delta=float(delta), by_results=by_results)
    except ParameterError as error:
        raise ParameterError(f"budget cannot be a limit: {error}") from None
    except (TypeError, ValueError):
        raise ParameterError("budget must be an epsilon and a delta, such as (3, 1e-5)") from None


def spendings_by_task(spent: Iterable[AnsweredTask]) -> dict[str, Spending]:
    """Return the spendings by task; refuse entries whose privacy is unknown."""
    found: dict[str, Spending] = {}
    missing = []
    for one in spent:
        if one.spending is None:
            missing.append(one.task)
            continue
        try:
            one.spending.check()
        except DataError as error:
            raise DataError(f"the journal's entry of task {one.task} cannot be counted: {error}") from None
        found[one.task] = one.spending
    if missing:
        raise DataError(
            f"the journal has {counted(len(missing), 'answer')} of an earlier version of shuffledp, without the "
            "parameters that their privacy follows from, so the budget is unknown: add them from the task files of "
            f"{', '.join(missing[:3])}{' ...' if len(missing) > 3 else ''}"
        )
    return found


def use_of(journal: Journal, task: Task, limit: Budget) -> BudgetUse:
    """Return what an answer to this task would use of the limit, after everything else in the journal."""
    return _use(journal.spendings(), task, limit)[0]


def _use(spent: list[AnsweredTask], task: Task, limit: Budget) -> tuple[BudgetUse, Total]:
    found = spendings_by_task(spent)
    states = {one.task: one.state for one in spent}
    state = states.get(task.name)
    made = state not in (None, "claimed")
    past = state in ("sent", "refused")
    others = Total(found[name] for name in found if name != task.name)
    total = Total([found.get(task.name) or Spending.of(task), *(found[name] for name in found if name != task.name)])
    after = total.epsilon(limit.delta)
    use = BudgetUse(
        before=after if made else others.epsilon(limit.delta),
        after=after,
        limit=limit,
        reached=total.reached(limit),
        within=past or total.within(limit),
        unfinished=sum(state == "claimed" for name, state in states.items() if name != task.name),
        made=made,
    )
    return use, others


@contextmanager
def claimed(journal: Journal, task: Task, current: Callable[[], Budget | None]) -> Iterator[None]:
    """Reserve the privacy of an answer in the journal while its report is made; refuse an answer over the limit.

    `current` returns the limit that holds now. The claim is written before the total is read. So of two clients that
    begin at once at least one sees both.
    """
    limit = current()
    if limit is None:
        yield
        return
    claim = _claim_within(journal, task, limit)
    try:
        yield
    finally:
        journal.withdraw(claim)  # without a report nothing was spent, and with one its entry counts


def _claim_within(journal: Journal, task: Task, limit: Budget) -> Path:
    for tried in range(1, _TRIES + 1):
        started = time.monotonic()
        claim = journal.claim(task)
        try:
            use, others = _use(journal.spendings(), task, limit)
        except BaseException:
            journal.withdraw(claim)
            raise
        if use.within:
            return claim
        journal.withdraw(claim)
        if not use.unfinished:
            break
        if tried < _TRIES:  # another client may withdraw its claim, as this one does
            longest = _PAUSE + 2 * (time.monotonic() - started)
            time.sleep(longest * secrets.randbelow(1000) / 1000)
    raise _refusal(use, others, task)


def _refusal(use: BudgetUse, others: Total, task: Task) -> AnswerBudgetError:
    """Return the error for an answer that does not fit, with the epsilon of a task that would."""
    limit, delta, fits = use.limit, task.guarantee.delta, None
    over = f"over your limit of epsilon {privacy_figure(limit.epsilon)} at delta {privacy_figure(limit.delta)}"
    begun = f"with {counted(use.unfinished, 'answer')} that a client began and did not finish"
    before, after = share_at_most(use.before, digits=3), share_at_most(use.after, digits=3)
    if use.made:
        used = f"{after} is used, {begun}" if use.unfinished else f"{after} is used"
        text = (
            f"a report for this task was made before and not sent, and all your answers together are {over}: {used}. "
            "Nothing was sent; the report is kept, and a higher limit allows it"
        )
    else:
        fits = fitting(limit, others, delta=delta)
        at = f"at delta {privacy_figure(delta)} and one value per person"
        would = (
            f"no task with epsilon {smallest_epsilon(limit):g} or more fits {at}"
            if fits is None
            else f"one more task with epsilon up to {fits:g} {at} would fit"
        )
        total = f"and with it the total would be {after}"
        if limit.by_results:
            total += (
                "; for a limit that holds whatever noise is chosen by results, delta would be "
                f"{share_at_most(use.reached)}"
            )
        used = f"{before} is used ({begun})" if use.unfinished else f"{before} is used"
        text = f"this answer is {over}: {used}, {total}. Nothing was sent; {would}"
    return AnswerBudgetError(text, fits=fits, before=use.before, after=use.after)


def fitting(limit: Budget, total: Total, *, delta: float) -> float | None:
    """Return the largest epsilon of one more task with one value per person and many people; None if none fits."""
    if not total.within(limit):
        return None
    left = limit.delta * total.limits.kept - total.limits.added(limit.epsilon)
    if left < LEAST_DELTA:
        return None
    return largest_histogram(replace(limit, delta=left), total.composition, delta=delta)


_USUAL_DELTA = 1e-5
"""The delta of a total without a limit."""

_USUAL_SHARE = 10
"""What still fits is computed for a task with this share of the limit's delta."""


@dataclass(frozen=True, kw_only=True)
class History(ShortRepr):
    """Everything in a journal, against the stored limit if there is one.

    epsilon    of all answers together, at `delta`: the limit's, or 1e-5; None if it is unknown
    reached    the delta that counts against the limit, at its epsilon; None without a limit, or if it is unknown
    fits       the largest epsilon of one more task with `fits_delta` and one value per person; None if none fits or it
               is unknown
    described  whether the parameters of all answers are known, and so the total is
    """

    spent: list[AnsweredTask]
    limit: Budget | None
    epsilon: float | None
    delta: float
    reached: float | None
    fits: float | None
    fits_delta: float
    described: bool

    @property
    def over(self) -> bool:
        """Whether more is spent than the limit allows, which answers without a limit can cause."""
        limit = self.limit
        return limit is not None and self.reached is not None and self.reached > limit.delta * (1 + PROMISED_DELTA)


def history(journal: Journal) -> History:
    """Return all answers in a journal with their total."""
    spent, limit = journal.spendings(), journal.limit
    delta = _USUAL_DELTA if limit is None else limit.delta
    described = all(one.spending is not None for one in spent)
    total = Total(spendings_by_task(spent).values()) if described else None
    fits_delta = float(f"{delta / _USUAL_SHARE:.6g}")
    return History(
        spent=spent,
        limit=limit,
        epsilon=None if total is None else total.epsilon(delta),
        delta=delta,
        reached=None if total is None or limit is None else total.reached(limit),
        fits=None if total is None or limit is None else fitting(limit, total, delta=fits_delta),
        fits_delta=fits_delta,
        described=described,
    )

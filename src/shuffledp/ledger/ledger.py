"""A ledger enforces a privacy budget: every release is entered before its noise is sampled."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Self

from shuffledp.accounting.bounds import StatedCurve, check_guarantee
from shuffledp.accounting.composition import Composition, composed
from shuffledp.accounting.curve import REPLACE_ONE, Curve, privacy_figure
from shuffledp.errors import BudgetError, DataError, ParameterError
from shuffledp.formatting import ShortRepr, epsilon_delta, share_at_most
from shuffledp.ledger import store
from shuffledp.ledger.budget import (
    ELSEWHERE,
    Budget,
    LedgerEntry,
    Standing,
    described,
    largest_that_fits,
    parameters_of,
    remade,
    smallest_epsilon,
    stand,
    stated_guarantee,
)
from shuffledp.protocols.catalogue import Entry
from shuffledp.protocols.protocol import HistogramProtocol
from shuffledp.protocols.target import Target
from shuffledp.validation import positive, whole

_PATIENCE = 60.0
"""Seconds to wait for another process that is entering a release, which takes about one second."""


class Ledger:
    """A file with a population, its limit and all releases of its data.

    A release is refused if all releases together would exceed the limit. The total is the exact composition of their
    privacy curves, not a sum of epsilons. Entries are permanent, whether or not a result was published. Processes that
    use the same file wait for each other, for up to `patience` seconds.
    """

    def __init__(self, path: str | Path, *, patience: float = _PATIENCE) -> None:
        self._path, self._patience = _as_path(path), positive("patience", patience)
        self._budget, _ = store.read(self._path, patience=self._patience)

    @classmethod
    def create(
        cls, path: str | Path, *, epsilon: float, delta: float, population: str, by_results: bool = False
    ) -> Ledger:
        """Create the file of a new ledger. Its limit (epsilon, delta) cannot be changed later.

        With `by_results`, the limit also holds if the epsilon of a release is chosen after seeing earlier results.
        """
        budget = Budget(population=population, epsilon=epsilon, delta=delta, by_results=by_results)
        store.create(_as_path(path), replace(budget, population=described(population)))
        return cls(path)

    @classmethod
    def of(cls, ledger: Ledger | str | Path) -> Ledger:
        """Return a ledger as it is, or open the one in a file."""
        return ledger if isinstance(ledger, Ledger) else cls(ledger)

    def __repr__(self) -> str:
        return f"<Ledger of {self.population}: limit {epsilon_delta(self._budget.epsilon, self._budget.delta)}>"

    @property
    def population(self) -> str:
        """The people whose data is released."""
        return self._budget.population

    @property
    def budget(self) -> Budget:
        """The limit."""
        return self._budget

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """All entries, in order."""
        return tuple(store.read(self._path, patience=self._patience)[1])

    @property
    def total(self) -> Composition:
        """The privacy curve of all entries together."""
        return _composed(self.entries)

    @property
    def standing(self) -> Standing:
        """The state of all entries together against the limit, with the remaining budget."""
        return stand(self._budget, self.entries)

    def spend(self, protocol: HistogramProtocol, *, what: str, entry: Entry | None = None, once: bool = False) -> int:
        """Enter a release of this protocol before its noise is sampled, and return its number.

        Raises BudgetError if all entries together would exceed the limit; the error names an epsilon that would fit for
        the same people and the same protocol, or the same catalogue `entry` if it is given. With `once`, the call is
        idempotent: an entry with the same `what` and the same curve is returned instead of entering it again.
        """
        parameters, (epsilon, delta) = parameters_of(protocol), stated_guarantee(protocol)
        curve, what = _curve_of(protocol), described(what)
        with store.changing(self._path, patience=self._patience) as change:
            if change.budget != self._budget:
                raise DataError(f"the ledger {self._path} was replaced after it was opened: open it again")
            if once and (known := _entered(change.entries, what, curve)) is not None:
                return known
            before = _composed(change.entries)
            if self._budget.allows(composed([before, curve])):
                return change.add(
                    what=what,
                    protocol=type(protocol).__name__,
                    epsilon=epsilon,
                    delta=delta,
                    people=protocol.users,
                    parameters=parameters,
                )
        raise self._refusal(before, protocol, entry, outcome="; nothing was released")

    def check_fits(self, protocols: Mapping[str, HistogramProtocol], *, entries: Mapping[str, Entry]) -> None:
        """Raise BudgetError if these releases do not fit together. Enter nothing.

        The keys are the `what` of each entry; releases that are already entered fit.
        """
        known = self.entries
        before = _composed(known)
        curves = {what: _curve_of(protocol) for what, protocol in protocols.items()}
        new = {what: curve for what, curve in curves.items() if _entered(known, described(what), curve) is None}
        if self._budget.allows(composed([before, *new.values()])):
            return
        if len(new) > 1:
            raise self._refusal_of_several(before, list(new.values()))
        for what in new:
            raise self._refusal(before, protocols[what], entries.get(what))

    def spend_elsewhere(self, *, epsilon: float, delta: float, what: str) -> int:
        """Enter a release of another program; it counts as the worst release with this guarantee.

        It is entered even if it exceeds the limit, because it was spent; nothing fits afterwards.
        """
        check_guarantee(epsilon, delta)
        curve = StatedCurve(stated_epsilon=epsilon, stated_delta=delta)
        with store.changing(self._path, patience=self._patience) as change:
            return change.add(
                what=described(what),
                protocol=ELSEWHERE,
                epsilon=float(curve.stated_epsilon),
                delta=float(curve.stated_delta),
                people=None,
                parameters=None,
                published=True,
            )

    def finish(self, number: int) -> None:
        """Mark an entry as published; it counts either way."""
        with store.changing(self._path, patience=self._patience) as change:
            if not change.publish(whole("number", number)):
                raise ParameterError(f"number must be the number of an entry of this ledger, got {number}")

    def _refusal_of_several(self, before: Composition, curves: Sequence[Curve]) -> BudgetError:
        limit = self._budget
        reached = share_at_most(limit.reached(composed([before, *curves])))
        spent = share_at_most(limit.reached(before)) if before.parts else "nothing"
        fitting = bisect_left(
            range(1, len(curves) + 1), True, key=lambda number: not limit.allows(composed([before, *curves[:number]]))
        )
        return BudgetError(
            f"{len(curves):,} releases that are planned exceed the limit of the ledger of {limit.population} together, "
            f"epsilon {privacy_figure(limit.epsilon)} with delta {privacy_figure(limit.delta)}: the total delta would "
            f"be {reached}, and {spent} of it is spent. {_FINAL}. {_first_that_fit(fitting)}",
            fits=None,
        )

    def _refusal(
        self, before: Composition, protocol: HistogramProtocol, entry: Entry | None, *, outcome: str = ""
    ) -> BudgetError:
        """Return the error for a release that does not fit, with the epsilon that would."""
        limit, (_, delta) = self._budget, stated_guarantee(protocol)
        fits = largest_that_fits(limit, before, lambda epsilon: _same_kind(protocol, entry, epsilon).privacy)
        reached = share_at_most(limit.reached(composed([before, _curve_of(protocol)])))
        spent = share_at_most(limit.reached(before)) if before.parts else "nothing"
        at = f"at delta {privacy_figure(delta)}"
        none = f"No epsilon of at least {smallest_epsilon(limit):g} fits {at}"
        would = none if fits is None else f"The same release fits with epsilon={fits:g} {at}"
        return BudgetError(
            f"this release exceeds the limit of the ledger of {limit.population}, epsilon "
            f"{privacy_figure(limit.epsilon)} with delta "
            f"{privacy_figure(limit.delta)}: the total delta would be {reached}, and {spent} of it is "
            f"spent{outcome}. {_FINAL}. {would}",
            fits=fits,
        )


_FINAL = "The limit is final: use a smaller epsilon or delta, or a new ledger if other people are asked"


def _curve_of(protocol: HistogramProtocol) -> Curve:
    """Return the curve of the parameters that are stored."""
    curve = remade(parameters_of(protocol)).privacy
    if curve.neighbours != REPLACE_ONE:
        raise ParameterError(
            f"protocol must protect {REPLACE_ONE} to be entered in a ledger, got one that protects {curve.neighbours}"
        )
    return curve


def _entered(entries: Iterable[LedgerEntry], what: str, curve: Curve) -> int | None:
    """Return the number of an entry with the same description and curve; None if there is none."""
    same = (entry.number for entry in entries if entry.what == what and entry.curve == curve)
    return next(same, None)


def _composed(entries: Any) -> Composition:
    return composed([entry.curve for entry in entries])


def _same_kind(protocol: HistogramProtocol, entry: Entry | None, epsilon: float) -> HistogramProtocol:
    """Return the same protocol for the same people with another epsilon."""
    _, delta = stated_guarantee(protocol)
    target = Target(
        users=protocol.users,
        bins=protocol.bins - protocol.padding_bins,
        epsilon=epsilon,
        delta=delta,
        honest_users=protocol.honest_users,
        values_per_person=protocol.values_per_person,
        padding_bins=protocol.padding_bins,
    )
    return type(protocol).for_target(target) if entry is None else entry.make(target)


def _as_path(path: Any) -> Path:
    if not isinstance(path, str | Path) or not str(path):
        raise ParameterError(f"ledger must be the name of a file or a Ledger, got {type(path).__name__}")
    return Path(path)


@dataclass(frozen=True, kw_only=True)
class Spent(ShortRepr):
    """The entry of a published release, and its ledger's state; None if the ledger could not be read."""

    population: str
    number: int
    standing: Standing | None


class Spending:
    """Enters one release in a ledger, or in none.

    The ledger is opened at once, so that an unusable one fails before any data is read. An exception in the `with`
    block after the release was entered carries a note that it counts as spent.
    """

    def __init__(self, ledger: Ledger | str | Path | None) -> None:
        self._ledger = None if ledger is None else Ledger.of(ledger)
        self._number = 0
        self._entering: tuple[str, int] | None = None  # the description, and the number of entries before

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None or self._ledger is None:
            return
        if not self._number and not isinstance(error, Exception):
            self._number = self._entered_before_the_interrupt(self._ledger)
        if self._number:
            error.add_note(f"entry {self._number} of the ledger of {self._ledger.population} counts as spent")

    def _entered_before_the_interrupt(self, ledger: Ledger) -> int:
        """The entry that was written by a call that did not return its number; 0 if there is none."""
        if self._entering is None:
            return 0
        what, before = self._entering
        new = ledger.entries[before:]
        return next((entry.number for entry in new if entry.what == what and not entry.published), 0)

    def entering(self, protocol: HistogramProtocol, *, what: str, entry: Entry) -> Callable[[], None]:
        """Return the function to call immediately before noise is sampled; without a ledger it does nothing."""
        return partial(self._enter, protocol, what, entry)

    def _enter(self, protocol: HistogramProtocol, what: str, entry: Entry) -> None:
        if self._ledger is not None:
            self._entering = described(what), len(self._ledger.entries)
            self._number = self._ledger.spend(protocol, what=what, entry=entry)

    def finish(self) -> Spent | None:
        """Mark the release as published and return its entry; None without a ledger.

        Never fails, because the release exists and cannot be repeated.
        """
        if self._ledger is None:
            return None
        standing = None
        with suppress(DataError):
            self._ledger.finish(self._number)
            standing = self._ledger.standing
        return Spent(population=self._ledger.population, number=self._number, standing=standing)


def _first_that_fit(number: int) -> str:
    if number == 0:
        return "None of them fits"
    return "Only the first fits" if number == 1 else f"Only the first {number:,} fit"

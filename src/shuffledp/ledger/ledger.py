"""A budget that is kept: every release of a population's data is entered before its noise is drawn.

One release against a ledger, or against none: what a job does before its noise is drawn, and after.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Self

from shuffledp.accounting.closed_form_curves import StatedCurve, check_guarantee
from shuffledp.accounting.composition import Composition, composed
from shuffledp.accounting.curve import REPLACE_ONE, Curve, privacy_figure
from shuffledp.errors import BudgetError, DataError, ParameterError
from shuffledp.formatting import share_at_most
from shuffledp.ledger import store
from shuffledp.ledger.budget import Budget, Make, Standing, largest_that_fits, smallest_looked_for, stand
from shuffledp.ledger.entry import ELSEWHERE, LedgerEntry, described, parameters_of, promised, remade
from shuffledp.protocols.catalogue import Entry
from shuffledp.protocols.protocol import HistogramProtocol
from shuffledp.protocols.target import Target
from shuffledp.validation import positive, whole

_PATIENCE = 60.0
"""Seconds to wait for another process that is entering a release, which takes about one."""


class Ledger:
    """A file that knows a population, its limit and all releases of its data.

    A release that would bring all of them together over the limit is refused; what counts is the exact composition of
    their curves, not a sum of epsilons. Whatever has been entered stays, whether or not a result was seen. Processes
    that use the same file wait for each other, for up to `patience` seconds.
    """

    def __init__(self, path: str | Path, *, patience: float = _PATIENCE) -> None:
        self._path, self._patience = _as_path(path), positive("patience", patience)
        self._budget, _ = store.read(self._path, patience=self._patience)

    @classmethod
    def create(
        cls, path: str | Path, *, epsilon: float, delta: float, population: str, by_results: bool = False
    ) -> Ledger:
        """Makes the file of a new ledger, whose limit (epsilon, delta) cannot be changed any more.

        With `by_results` the limit also holds if how much a release spends is decided after seeing earlier ones.
        """
        budget = Budget(population=population, epsilon=epsilon, delta=delta, by_results=by_results)
        store.create(_as_path(path), replace(budget, population=described(population)))
        return cls(path)

    @classmethod
    def of(cls, ledger: Ledger | str | Path) -> Ledger:
        """A ledger itself, or the one in a file."""
        return ledger if isinstance(ledger, Ledger) else cls(ledger)

    def __repr__(self) -> str:
        return f"<Ledger of {self.population}: limit epsilon {self._budget.epsilon:g}, delta {self._budget.delta:g}>"

    @property
    def population(self) -> str:
        """Whose data it is."""
        return self._budget.population

    @property
    def budget(self) -> Budget:
        """The limit."""
        return self._budget

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """Everything that was spent, in order."""
        return tuple(store.read(self._path, patience=self._patience)[1])

    @property
    def total(self) -> Composition:
        """The privacy curve of all entries together."""
        return _composed(self.entries)

    @property
    def standing(self) -> Standing:
        """All that `shuffledp ledger` shows."""
        return stand(self._budget, self.entries)

    def spend(self, protocol: HistogramProtocol, *, what: str, entry: Entry | None = None, once: bool = False) -> int:
        """Enters a release of this protocol, before its noise is drawn; its number.

        Refused if all entries and this one together would be over the limit: the error says what would fit, of the
        same kind for the same people, as the `entry` of the catalogue makes it if it is given. With `once`, an entry of
        the same words and the same curve is this one, which was entered before: `what` must name it beyond doubt.
        """
        parameters, (epsilon, delta) = parameters_of(protocol), promised(protocol)
        curve, what = _curve_of(protocol), described(what)
        with store.changing(self._path, patience=self._patience) as change:
            if change.budget != self._budget:
                raise DataError(f"the ledger {self._path} is another file than when it was opened: open it anew")
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
        raise self._refusal(before, curve, partial(_same_curve, protocol, entry), delta=delta)

    def check_fits(self, protocols: Mapping[str, HistogramProtocol], *, entries: Mapping[str, Entry]) -> None:
        """Refuses, as `spend` would with `once`, releases that do not fit beside each other, and enters nothing.

        Each is under the words of its entry; those that are entered already fit.
        """
        known = self.entries
        before = _composed(known)
        for what, protocol in protocols.items():
            curve = _curve_of(protocol)
            if _entered(known, described(what), curve) is not None:
                continue
            together = composed([before, curve])
            if not self._budget.allows(together):
                _, delta = promised(protocol)
                raise self._refusal(before, curve, partial(_same_curve, protocol, entries.get(what)), delta=delta)
            before = together

    def spend_elsewhere(self, *, epsilon: float, delta: float, what: str) -> int:
        """Enters what another program has released or is about to: it counts as the worst release of this guarantee.

        That it was spent is a fact, so it is entered even if it is over the limit; nothing fits then any more.
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
        """Marks an entry as published; for information only, it counts either way."""
        with store.changing(self._path, patience=self._patience) as change:
            if not change.publish(whole("number", number)):
                raise ParameterError(f"there is no entry {number} in this ledger")

    def _refusal(self, before: Composition, curve: Curve, make: Make, *, delta: float) -> BudgetError:
        """Why a release does not fit, what is left, and what would fit."""
        limit, fits = self._budget, largest_that_fits(self._budget, before, make)
        reached = share_at_most(limit.reached(composed([before, curve])))
        spent = share_at_most(limit.reached(before)) if before.parts else "nothing"
        at = f"at delta {privacy_figure(delta)}"
        none = f"No epsilon from {smallest_looked_for(limit):g} on fits any more {at}"
        would = none if fits is None else f"The same release fits with epsilon={fits:g} {at}"
        return BudgetError(
            f"this release is over the limit of the ledger of {limit.population}, epsilon {limit.epsilon:g} with delta "
            f"{limit.delta:g}: delta would be {reached} there, and {spent} of it is spent; nothing was released. "
            f"{would}",
            fits=fits,
        )


def _curve_of(protocol: HistogramProtocol) -> Curve:
    """The curve that is added up, from the parameters that are kept."""
    curve = remade(parameters_of(protocol)).privacy
    if curve.neighbours != REPLACE_ONE:
        raise ParameterError(
            f"a ledger is for {REPLACE_ONE}, and this protocol protects {curve.neighbours}: the two do not add up"
        )
    return curve


def _entered(entries: Iterable[LedgerEntry], what: str, curve: Curve) -> int | None:
    """The number of an entry of the same words and the same curve."""
    same = (entry.number for entry in entries if entry.what == what and entry.curve == curve)
    return next(same, None)


def _composed(entries: Any) -> Composition:
    return composed([entry.curve for entry in entries])


def _same_curve(protocol: HistogramProtocol, entry: Entry | None, epsilon: float) -> Curve:
    """The curve of a protocol of the same kind with another epsilon."""
    return _same_kind(protocol, entry, epsilon).privacy


def _same_kind(protocol: HistogramProtocol, entry: Entry | None, epsilon: float) -> HistogramProtocol:
    """A protocol of the same kind for the same people, with another epsilon."""
    _, delta = promised(protocol)
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
        raise ParameterError(f"a ledger is the name of a file, or a Ledger, got {type(path).__name__}")
    return Path(path)


class Spending:
    """A ledger is opened at once, so that one that cannot be used is noticed before anything is read.

    Whatever stops a release within its `with` after it was entered carries a note that it counts all the same.
    """

    def __init__(self, ledger: Ledger | str | Path | None) -> None:
        self._ledger = None if ledger is None else Ledger.of(ledger)
        self._number = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None and self._ledger is not None and self._number:
            error.add_note(
                f"entry {self._number} of the ledger of {self._ledger.population} was made before and counts as spent"
            )

    def entering(self, protocol: HistogramProtocol, *, what: str, entry: Entry) -> Callable[[], None]:
        """What is to be called as the last thing before noise is drawn; without a ledger it does nothing."""
        return partial(self._enter, protocol, what, entry)

    def _enter(self, protocol: HistogramProtocol, what: str, entry: Entry) -> None:
        if self._ledger is not None:
            self._number = self._ledger.spend(protocol, what=what, entry=entry)

    def notes(self) -> Iterator[str]:
        """Marks the release as published, and says where the budget stands: for those who read the release.

        Never fails, since the release is there and cannot be made again.
        """
        if self._ledger is None:
            return
        budget, entry = self._ledger.budget, f"It is entry {self._number} of the ledger of {self._ledger.population}"
        try:
            with self:
                self._ledger.finish(self._number)
                standing = self._ledger.standing
        except DataError:
            yield f"{entry}, which could not be read afterwards."
            return
        used = share_at_most(standing.epsilon, digits=3)
        yield (
            f"{entry}: all its releases together have epsilon {used} of {budget.epsilon:g} at delta {budget.delta:g}, "
            f"and {standing.left_in_words}."
        )

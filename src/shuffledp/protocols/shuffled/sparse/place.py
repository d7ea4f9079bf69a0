"""Where on the curve between messages and error a `SparseHistogram` stands."""

from __future__ import annotations

import math
from bisect import bisect_left
from fractions import Fraction

from shuffledp.checks import real
from shuffledp.errors import ParameterError
from shuffledp.protocols.shuffled.sparse.laws import KNEE, PAIR_RATES, LawSearch, SparseLaws
from shuffledp.protocols.target import Target
from shuffledp.reading.paired_counts import PairedCounts

_BETA = 0.05
"""The failure probability of the error that one can ask for."""


def laws_for(target: Target, *, messages: float | None, error: float | None) -> SparseLaws:
    """The laws of the honest people's noise within a number of messages or an error, or at the knee of the curve."""
    search = LawSearch(epsilon=target.epsilon, delta=target.delta, values=target.values_per_person)
    if messages is not None and error is not None:
        raise ParameterError("give messages or error, not both: each decides the other")
    if messages is not None:
        return _within_messages(search, messages, bins_per_person=Fraction(target.cells, target.honest))
    if error is not None:
        return _within_error(search, error, target)
    laws = search.cheapest(start=KNEE)
    if laws is None:
        raise _no_noise(search)
    return laws


def _no_noise(search: LawSearch) -> ParameterError:
    values = "" if search.values == 1 else f" and values_per_person={search.values}"
    return ParameterError(
        f"no noise was found for epsilon={search.epsilon:g}, delta={search.delta:g}{values}; try a smaller delta"
    )


def _within_messages(search: LawSearch, messages: float, *, bins_per_person: Fraction) -> SparseLaws:
    """The laws with the smallest error for at most this number of messages per person."""
    budget = math.inf if messages == math.inf else (real("messages", messages) - search.values) / float(bins_per_person)
    laws = search.within(budget) if budget > 0 else None
    if laws is None and math.isinf(budget):
        raise _no_noise(search)
    if laws is None:
        cheapest = search.cheapest()
        fewest = search.values + float(bins_per_person) * cheapest.messages if cheapest else math.inf
        raise ParameterError(
            f"messages={messages:g} per person is too few for epsilon={search.epsilon:g}, delta={search.delta:g}: "
            f"needs about {fewest:.4g}"
        )
    return laws


def _within_error(search: LawSearch, error: float, target: Target) -> SparseLaws:
    """The laws with the fewest messages whose simultaneous error is at most the given one."""
    limit = real("error", error)

    def simultaneous(laws: SparseLaws | None) -> float:
        if laws is None:
            return math.inf
        total = laws.scaled(target.users / target.honest)
        values = target.values_per_person
        reading = PairedCounts(pairs=total.pairs, lone=total.lone, people=target.users, values_per_person=values)
        return reading.error(beta=_BETA, bins=target.cells, occupied=min(values * target.users, target.cells))

    # along the curve the error falls as pairs are added
    at = bisect_left(PAIR_RATES, True, key=lambda pairs: simultaneous(search.at(pairs)) <= limit)
    laws = search.cheapest(start=at)
    if laws is None:
        smallest = simultaneous(search.at(PAIR_RATES[-1]))
        raise ParameterError(
            f"error={limit:g} people is too small for epsilon={search.epsilon:g}, delta={search.delta:g}: "
            f"the smallest possible is {smallest:.0f}"
        )
    return laws

"""Whether outcomes that were drawn agree with a law, with a stated chance of a false alarm.

Every event that is counted has a binomial number of occurrences, whose two tails are exact. Events are the outcomes
that are likely enough to be counted alone, all others together, and "at most k" of every number that is looked at. The
smallest tail, times twice the number of events, is at most `failure` with probability at most `failure` (Bonferroni):
no approximation, however few the draws.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

TOTAL_FAILURE = 1e-6
"""How likely all of `verify` fails by bad luck, at most."""

_MOST_ROWS = 1000
"""More rows than are ever drawn."""

FAILURE = TOTAL_FAILURE / _MOST_ROWS
"""How likely one row fails by bad luck, at most."""

_LEAST_EXPECTED = 1.0
"""Outcomes that are expected less often are counted together with the others of this kind."""

Number = Callable[[Any], float]
"""Something to look at in an outcome: how many messages there are, how many of one kind."""


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """The event whose number of occurrences is least likely: its probability, its share, and the chance of all."""

    draws: int
    expected: float
    seen: float
    chance: float

    @property
    def holds(self) -> bool:
        """False by bad luck with probability FAILURE at most."""
        return self.chance > FAILURE


def agreement(
    outcomes: Sequence[Hashable], law: Mapping[Any, Any], *, numbers: Iterable[Number] = (), complete: bool = True
) -> Agreement:
    """Counts the outcomes, and what `numbers` look at in them, against a law from outcomes to probabilities.

    A law that is not `complete` leaves a little out, which is one more event.
    """
    chances = {outcome: float(p) for outcome, p in law.items() if p}
    seen = Counter(outcomes)
    draws = len(outcomes)
    if complete and not seen.keys() <= chances.keys():
        strange = sum(times for outcome, times in seen.items() if outcome not in chances)
        return Agreement(draws=draws, expected=0.0, seen=strange / draws, chance=0.0)
    alone = [outcome for outcome, p in chances.items() if p * draws >= _LEAST_EXPECTED]
    events = [(chances[outcome], seen[outcome]) for outcome in alone]
    others = sum(p for p in chances.values() if p * draws < _LEAST_EXPECTED)
    left_out = 0.0 if complete else max(0.0, 1 - sum(chances.values()))
    events.append((others + left_out, draws - sum(times for _, times in events)))
    for number in numbers:
        events.extend(_cumulative(number, chances, seen))
    return _least_likely(events, draws)


def counted(events: Sequence[tuple[float, int]], *, draws: int) -> Agreement:
    """The same for events with given probabilities, each of which was counted in all draws."""
    return _least_likely(list(events), draws)


def _cumulative(
    number: Number, chances: Mapping[Any, float], seen: Mapping[Hashable, int]
) -> Iterable[tuple[float, int]]:
    """Of "at most k", for every k but the last: its probability and how often it happened."""
    probability: dict[float, float] = {}
    times: dict[float, int] = {}
    for outcome, p in chances.items():
        probability[number(outcome)] = probability.get(number(outcome), 0.0) + p
    for outcome, count in seen.items():
        times[number(outcome)] = times.get(number(outcome), 0) + count
    total, so_far = 0.0, 0
    for value in sorted({*probability, *times})[:-1]:
        total, so_far = total + probability.get(value, 0.0), so_far + times.get(value, 0)
        yield min(1.0, total), so_far


def _least_likely(events: list[tuple[float, int]], draws: int) -> Agreement:
    from scipy.special import betainc

    p, times = np.array([p for p, _ in events]), np.array([times for _, times in events])
    with np.errstate(invalid="ignore"):
        at_least = np.where(times == 0, 1.0, betainc(np.maximum(times, 1), draws - times + 1, p))
        at_most = np.where(times == draws, 1.0, betainc(np.maximum(draws - times, 1), times + 1, 1 - p))
    tails = np.minimum(at_least, at_most)
    worst = int(np.argmin(tails))
    chance = min(1.0, 2 * len(events) * float(tails[worst]))
    return Agreement(draws=draws, expected=float(p[worst]), seen=float(times[worst]) / draws, chance=chance)


def sum_agreement(total: float, *, draws: int, mean: float, variance: float, largest: float) -> Agreement:
    """The sum of `draws` independent numbers between 0 and `largest` against its mean, by Bernstein's inequality."""
    off = abs(total - draws * mean)
    spread = draws * variance + largest * off / 3
    chance = 2 * math.exp(-(off**2) / (2 * spread)) if off else 1.0
    return Agreement(draws=draws, expected=mean, seen=total / draws, chance=min(1.0, chance))


def worst_of(agreements: Sequence[Agreement]) -> Agreement:
    """The one that is least likely, with its chance multiplied by their number."""
    worst = min(agreements, key=lambda agreement: agreement.chance)
    return Agreement(
        draws=worst.draws,
        expected=worst.expected,
        seen=worst.seen,
        chance=min(1.0, worst.chance * len(agreements)),
    )

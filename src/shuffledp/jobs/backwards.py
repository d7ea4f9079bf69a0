"""A plan asked backwards: how many people, which epsilon, how many possible values."""

from __future__ import annotations

import math
from bisect import bisect_left

from shuffledp.accounting.search import first_safe_from
from shuffledp.checks import MOST_USERS, one_of, open_probability, real
from shuffledp.errors import ParameterError
from shuffledp.protocols.catalogue import CATALOGUE, Entry
from shuffledp.protocols.target import Target
from shuffledp.words import at_most

_LEAST_EPSILON, _MOST_EPSILON = 0.01, 10.0
"""Where an epsilon for an error is looked for: below, calibration is slow; above, it protects nobody."""

_EPSILON_STRIDE, _EPSILON_TOLERANCE = 0.5, 1e-2
"""First step of that search and its precision, in the logarithm of epsilon."""

_MANY_BINS = 10**6
"""Bins with which the messages per bin are measured: they outweigh the message for the value."""


def users_needed(
    name: str,
    *,
    share: float,
    bins: int,
    epsilon: float,
    delta: float,
    beta: float = 0.05,
    honest_share: float = 1.0,
    values_per_person: int = 1,
) -> int:
    """How many people make the simultaneous error at most this share of them.

    Errors are whole numbers, so a few people less can happen to be enough too.
    """
    entry, share = _advised(name), open_probability("share", share)
    honest_share = real("honest_share", honest_share)
    if not 0 < honest_share <= 1:
        raise ParameterError(f"honest_share must lie in (0, 1], got {honest_share:g}")

    def enough(users: int) -> bool:
        honest = max(1, int(honest_share * users))
        target = Target(
            users=users,
            bins=bins,
            epsilon=epsilon,
            delta=delta,
            honest_users=honest,
            values_per_person=values_per_person,
        )
        return _simultaneous(entry, target, beta) <= share * users

    at = bisect_left(range(1, MOST_USERS + 1), True, key=enough)
    if at == MOST_USERS:
        raise ParameterError(f"share={share:g} needs more than {MOST_USERS:g} people")
    return at + 1


def epsilon_needed(
    name: str,
    *,
    error: float,
    users: int,
    bins: int,
    delta: float,
    beta: float = 0.05,
    honest_users: int | None = None,
    values_per_person: int = 1,
) -> float:
    """The smallest epsilon from 0.01 to 10 with at most this simultaneous error in people, to one per cent."""
    entry, allowed = _advised(name), real("error", error)

    def error_at(log_epsilon: float) -> float:
        target = Target(
            users=users,
            bins=bins,
            epsilon=math.exp(log_epsilon),
            delta=delta,
            honest_users=honest_users,
            values_per_person=values_per_person,
        )
        return min(_simultaneous(entry, target, beta), 2.0 * users)

    most = math.log(_MOST_EPSILON)
    found = first_safe_from(
        lambda log_epsilon: error_at(log_epsilon) - allowed,
        0.0,
        stride=_EPSILON_STRIDE,
        growth=1.0,
        tolerance=_EPSILON_TOLERANCE,
        least=math.log(_LEAST_EPSILON),
        most=most,
    )
    if found is None:
        raise ParameterError(
            f"error={allowed:g} people is not possible with {entry.title}: even epsilon={_MOST_EPSILON:g} gives "
            f"{at_most(error_at(most))}"
        )
    return math.exp(found)


def most_bins(
    name: str,
    *,
    messages: float,
    users: int,
    epsilon: float,
    delta: float,
    honest_users: int | None = None,
    values_per_person: int = 1,
) -> int:
    """The most bins for which a person sends at most this number of messages on average."""
    entry, budget = _advised(name), real("messages", messages)
    target = Target(
        users=users,
        bins=_MANY_BINS,
        epsilon=epsilon,
        delta=delta,
        honest_users=honest_users,
        values_per_person=values_per_person,
    )
    own, fillers = target.values_per_person, target.cells - target.bins
    per_bin = (entry.make(target).messages_per_user.expected - own) / target.cells
    least = own + per_bin * (1 + fillers)
    if budget < least:
        raise ParameterError(f"messages={budget:g} is too few for any bin: one costs {least:.3g}")
    return int((budget - own) / per_bin) - fillers


def _advised(name: str) -> Entry:
    """An entry that the planner speaks about."""
    one_of("protocol", name, [known for known, entry in CATALOGUE.items() if entry.advised])
    return CATALOGUE[name]


def _simultaneous(entry: Entry, target: Target, beta: float) -> float:
    """The simultaneous error; infinite where there are too few people."""
    try:
        protocol = entry.make(target)
    except ParameterError:
        return math.inf
    return float(protocol.error(beta).simultaneous)

"""What to expect before anybody is asked: one row per protocol, and a recommendation for each who may be trusted.

A plan asked backwards: how many people, which epsilon, how many possible values.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field

from shuffledp.accounting.search import first_safe_from
from shuffledp.data.people import EVERYTHING
from shuffledp.errors import ParameterError
from shuffledp.formatting import ShortRepr, at_most
from shuffledp.progress import Progress, quiet
from shuffledp.protocols.catalogue import CATALOGUE, Entry
from shuffledp.protocols.protocol import HistogramProtocol
from shuffledp.protocols.target import Target
from shuffledp.release.choose import shuffled_may_be_better
from shuffledp.release.plan_rows import (
    FEWER,
    PRACTICAL_MESSAGES,
    PlanRow,
    Rows,
    matters_how_many,
    or_fewer,
    recommend,
    warnings,
)
from shuffledp.validation import MOST_USERS, failure_probability, one_of, open_probability, positive, real


@dataclass(frozen=True, kw_only=True)
class Plan(ShortRepr):
    """The rows for one question, which of them to choose, and the calibrated protocols behind them.

    `recommended` is for people who send messages, `recommended_for_held_data` for whoever holds the data already and
    draws the counts, as `private_histogram` does: messages then cost nothing. `curator` are the rows of the central
    model, for whoever holds the data and is trusted with it; `recommended_for_curator` is what
    `private_histogram(..., trust="curator")` uses, for several values of a person possibly a shuffled protocol.
    `listed` says whether there is a list of the possible values. `warnings` say what is amiss.
    """

    users: int
    bins: int
    listed: bool
    values_per_person: int
    epsilon: float
    delta: float
    beta: float
    honest_users: int
    rows: tuple[PlanRow, ...]
    recommended: str | None
    reason: str
    recommended_for_held_data: str | None
    reason_for_held_data: str
    curator: tuple[PlanRow, ...] = field(repr=False)
    recommended_for_curator: str | None
    reason_for_curator: str = field(repr=False)
    warnings: tuple[str, ...]
    protocols: Mapping[str, HistogramProtocol] = field(repr=False, compare=False)

    def row(self, name: str) -> PlanRow:
        """The row of a protocol, by its short name."""
        return next(row for row in (*self.rows, *self.curator) if row.name == name)


def plan(
    *,
    users: int,
    bins: int | None,
    epsilon: float,
    delta: float,
    beta: float = 0.05,
    honest_users: int | None = None,
    values_per_person: int = 1,
    practical_messages: float = PRACTICAL_MESSAGES,
    earlier: bool = False,
    progress: Progress = quiet,
) -> Plan:
    """Error, cost and feasibility of the histogram protocols for this many people and values, with `earlier` ones too.

    `bins` is how many values are possible; None if anything is and there is no list, as in a release without a domain.
    Protocols with more than `practical_messages` per person are not recommended to people who send them.
    """
    target = Target(
        users=users,
        bins=EVERYTHING if bins is None else bins,
        epsilon=epsilon,
        delta=delta,
        honest_users=honest_users,
        values_per_person=values_per_person,
    )
    return plan_for(
        target,
        beta=beta,
        practical_messages=practical_messages,
        earlier=earlier,
        listed=bins is not None,
        progress=progress,
    )


def plan_for(
    target: Target,
    *,
    beta: float,
    practical_messages: float,
    earlier: bool = False,
    listed: bool = True,
    progress: Progress = quiet,
) -> Plan:
    """The plan for a target."""
    beta, most = failure_probability(beta), positive("practical_messages", practical_messages)
    advised = [name for name, entry in CATALOGUE.items() if entry.advised]
    central = [name for name, entry in CATALOGUE.items() if entry.model == "central"]
    further = [name for name, entry in CATALOGUE.items() if earlier and entry.earlier and not entry.advised]
    found = Rows.of([*advised, *further, *central], target, beta=beta, listed=listed, progress=progress)
    offered, curator = ([found.row(name) for name in names] for names in (advised, central))
    rows, protocols = [*offered, *map(found.row, further)], dict(found.protocols)
    sent, held = (recommend(offered, target, most=limit) for limit in (most, math.inf))
    if listed and math.isfinite(most) and matters_how_many(sent, offered):
        fewer = Rows.of([FEWER], target, beta=beta)
        sent = or_fewer(sent, offered, fewer.row(FEWER), target, most=most)
        if sent.name == FEWER and FEWER not in further:
            rows, protocols = [*rows, *fewer.rows], protocols | dict(fewer.protocols)
    trusted = recommend([*curator, *(offered if shuffled_may_be_better(target) else [])], target, most=math.inf)
    return Plan(
        users=target.users,
        bins=target.bins,
        listed=listed,
        values_per_person=target.values_per_person,
        epsilon=target.epsilon,
        delta=target.delta,
        beta=beta,
        honest_users=target.honest,
        rows=tuple(rows),
        recommended=sent.name,
        reason=sent.reason,
        recommended_for_held_data=held.name,
        reason_for_held_data=held.reason,
        curator=tuple(curator),
        recommended_for_curator=trusted.name,
        reason_for_curator=trusted.reason,
        warnings=tuple(warnings(users=target.users, delta=target.delta)),
        protocols=protocols,
    )


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
    own, padding_bins = target.values_per_person, target.cells - target.bins
    per_bin = (entry.make(target).messages_per_user.expected - own) / target.cells
    least = own + per_bin * (1 + padding_bins)
    if budget < least:
        raise ParameterError(f"messages={budget:g} is too few for any bin: one costs {least:.3g}")
    return int((budget - own) / per_bin) - padding_bins


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

"""What to expect before anybody is asked: one row per protocol, and a recommendation for each who may be trusted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from shuffledp.brief import Brief
from shuffledp.checks import failure_probability, positive
from shuffledp.engines.universe import EVERYTHING
from shuffledp.jobs.advice import FEWER, PRACTICAL_MESSAGES, matters_how_many, or_fewer, recommend, warnings
from shuffledp.jobs.choose import shuffled_may_be_better
from shuffledp.jobs.rows import PlanRow, Rows
from shuffledp.progress import Progress, quiet
from shuffledp.protocols.catalogue import CATALOGUE
from shuffledp.protocols.protocol import HistogramProtocol
from shuffledp.protocols.target import Target


@dataclass(frozen=True, kw_only=True)
class Plan(Brief):
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

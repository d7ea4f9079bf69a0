"""Predict error and cost before any data is collected: `plan`, and the inverse questions."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field

from shuffledp.accounting.calibration import rounds_of
from shuffledp.accounting.search import first_safe_from
from shuffledp.data.people import EVERYTHING
from shuffledp.errors import ParameterError
from shuffledp.formatting import ShortRepr, at_most
from shuffledp.progress import Progress, quiet
from shuffledp.protocols.catalogue import CATALOGUE, Entry
from shuffledp.protocols.protocol import HistogramProtocol
from shuffledp.protocols.target import Target
from shuffledp.release.choose import is_smaller, shuffled_may_be_better
from shuffledp.release.notes import Caution, cautions
from shuffledp.release.plan_rows import (
    FEWER,
    PRACTICAL_MESSAGES,
    PlanRow,
    Reason,
    Rows,
    consider_fewer,
    fewer_rows,
    or_fewer,
    recommend,
)
from shuffledp.validation import MOST_USERS, failure_probability, one_of, open_probability, positive, real


@dataclass(frozen=True, kw_only=True)
class Plan(ShortRepr):
    """One row per protocol, the recommended ones, and the calibrated protocols.

    recommended                if people send messages
    recommended_for_held_data  for local data, as `private_histogram` uses it: nothing is sent, so messages are free
    recommended_for_curator    for a trusted curator, as `private_histogram(..., trust="curator")` uses it
    reason, reason_for_...     why each of them was recommended
    curator                    rows of the central model
    listed                     whether there is a list of the possible values
    practical_messages         the most messages per person of a recommended protocol
    rounds                     rounds with new noise; epsilon and delta are of all together, the rows of one of them
    warnings                   what makes the question itself doubtful
    """

    users: int
    bins: int
    listed: bool
    values_per_person: int
    epsilon: float
    delta: float
    beta: float
    honest_users: int
    practical_messages: float
    rows: tuple[PlanRow, ...]
    recommended: str | None
    reason: Reason
    recommended_for_held_data: str | None
    reason_for_held_data: Reason
    curator: tuple[PlanRow, ...] = field(repr=False)
    recommended_for_curator: str | None
    reason_for_curator: Reason = field(repr=False)
    warnings: tuple[Caution, ...]
    protocols: Mapping[str, HistogramProtocol] = field(repr=False, compare=False)
    rounds: int = 1

    def row(self, name: str) -> PlanRow:
        """Return the row of a protocol by its name."""
        return next(row for row in (*self.rows, *self.curator) if row.name == name)

    @property
    def held_error(self) -> float:
        """The error of the protocol that is recommended for local data."""
        name = self.recommended_for_held_data
        return math.inf if name is None else self.row(name).simultaneous

    @property
    def curator_error(self) -> float | None:
        """The error of a trusted curator; None if it is not smaller than `held_error`."""
        name = self.recommended_for_curator
        error = math.inf if name is None else self.row(name).simultaneous
        return error if is_smaller(error, self.held_error) else None

    def __str__(self) -> str:
        """Return a table with a line for each protocol, in people, and the recommendation."""
        from shuffledp.explain.plan import plan_text

        return plan_text(self)


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
    rounds: int = 1,
    progress: Progress = quiet,
) -> Plan:
    """Return error, cost and feasibility of the histogram protocols for this number of people and values.

    `bins` is None if any value is possible, as in a release without a domain. Protocols that send more than
    `practical_messages` per person are not recommended where messages are sent. `earlier` adds the earlier protocols of
    the shuffled model. With several `rounds` of the same question, epsilon and delta are the guarantee of all rounds
    together for a person who answers all of them; each row is one round, with its own guarantee and fresh noise. There
    are then no rows of the central model: rounds are for people who send messages.
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
        rounds=1 if rounds == 1 and not isinstance(rounds, bool) else rounds_of(rounds),
        progress=progress,
    )


def plan_for(
    target: Target,
    *,
    beta: float,
    practical_messages: float,
    earlier: bool = False,
    listed: bool = True,
    rounds: int = 1,
    progress: Progress = quiet,
) -> Plan:
    """Return the plan for a target."""
    beta, most = failure_probability(beta), positive("practical_messages", practical_messages)
    advised = [name for name, entry in CATALOGUE.items() if entry.advised]
    central = [name for name, entry in CATALOGUE.items() if entry.model == "central" and rounds == 1]
    further = [name for name, entry in CATALOGUE.items() if earlier and entry.earlier and not entry.advised]
    found = Rows.of([*advised, *further, *central], target, beta=beta, listed=listed, rounds=rounds, progress=progress)
    offered, curator = ([found.row(name) for name in names] for names in (advised, central))
    fewer = fewer_rows(target, beta=beta, most=most, listed=listed, rounds=rounds)
    rows, protocols = [*offered, *fewer.rows, *map(found.row, further)], {**found.protocols, **fewer.protocols}
    sent, held = (recommend(offered, target, most=limit) for limit in (most, math.inf))
    if math.isfinite(most) and consider_fewer(sent, offered):
        sent = or_fewer(sent, offered, fewer.row(FEWER), most=most)
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
        practical_messages=most,
        rows=tuple(rows),
        recommended=sent.name,
        reason=sent.reason,
        recommended_for_held_data=held.name,
        reason_for_held_data=held.reason,
        curator=tuple(curator),
        recommended_for_curator=trusted.name,
        reason_for_curator=trusted.reason,
        warnings=cautions(users=target.users, delta=target.delta),
        protocols=protocols,
        rounds=rounds,
    )


_LEAST_EPSILON, _MOST_EPSILON = 0.01, 10.0
"""Calibration is slow below, and protection is negligible above."""

_EPSILON_STRIDE, _EPSILON_TOLERANCE = 0.5, 1e-2
"""First step and precision of the search, in the logarithm of epsilon."""

_MANY_BINS = 10**6
"""Bins for which the messages outweigh the message for the value."""


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
    """Return the number of people for which the simultaneous error is at most this share of them.

    Errors are whole numbers, so a slightly smaller number may suffice as well.
    """
    entry, share = _advised(name), open_probability("share", share)
    honest_share = real("honest_share", honest_share)
    if not 0 < honest_share <= 1:
        raise ParameterError(f"honest_share must be above 0 and at most 1, got {honest_share:g}")

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
    """Return the smallest epsilon from 0.01 to 10, to one per cent, with at most this simultaneous error in people."""
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
    """Return the largest number of bins for which a person sends at most this number of messages on average."""
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
    one_of("protocol", name, [known for known, entry in CATALOGUE.items() if entry.advised])
    return CATALOGUE[name]


def _simultaneous(entry: Entry, target: Target, beta: float) -> float:
    """Infinite if there are too few people."""
    try:
        protocol = entry.make(target)
    except ParameterError:
        return math.inf
    return float(protocol.error(beta).simultaneous)

"""What to expect before anybody is asked: one row per protocol, a recommendation, and the questions backwards."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from shuffledp.accounting.guarantee import privacy_figure
from shuffledp.accounting.search import first_safe_from
from shuffledp.brief import Brief
from shuffledp.checks import MOST_USERS, failure_probability, one_of, open_probability, positive, real
from shuffledp.errors import ParameterError, TooFewUsersError
from shuffledp.progress import Progress, quiet
from shuffledp.protocols.catalogue import CATALOGUE, Entry
from shuffledp.protocols.protocol import HistogramProtocol
from shuffledp.protocols.target import Target
from shuffledp.words import at_most, counted, magnitude, percent_at_most, readable

PRACTICAL_MESSAGES = 1000.0
"""More messages per person than this are not recommended."""

_USELESS_SHARE = 0.1
"""An error of this share of all people says little."""

_LEAST_EPSILON, _MOST_EPSILON = 0.01, 10.0
"""Where an epsilon for an error is looked for: below, calibration is slow; above, it protects nobody."""

_EPSILON_STRIDE, _EPSILON_TOLERANCE = 0.5, 1e-2
"""First step of that search and its precision, in the logarithm of epsilon."""

_MANY_BINS = 10**6
"""Bins with which the messages per bin are measured: they outweigh the message for the value."""


@dataclass(frozen=True, kw_only=True)
class PlanRow:
    """What one protocol gives. Errors are in people; `problem` says why a protocol is not possible."""

    name: str
    title: str
    phantom_bins: bool
    fewest_users: int
    per_bin: float = math.inf
    simultaneous: float = math.inf
    per_bin_share: float = math.inf
    simultaneous_share: float = math.inf
    surely_seen: float = math.inf
    messages: float = math.inf
    most_messages: float = math.inf
    bytes_per_person: float = math.inf
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class Plan(Brief):
    """The rows for one question, which of them to choose, and the calibrated protocols behind them.

    `recommended` is for people who send messages, `recommended_for_held_data` for whoever holds the data already and
    draws the counts, as `private_histogram` does: messages then cost nothing. `warnings` say what is amiss.
    """

    users: int
    bins: int
    epsilon: float
    delta: float
    beta: float
    honest_users: int
    rows: tuple[PlanRow, ...]
    recommended: str | None
    reason: str
    recommended_for_held_data: str | None
    reason_for_held_data: str
    warnings: tuple[str, ...]
    protocols: Mapping[str, HistogramProtocol] = field(repr=False, compare=False)

    def row(self, name: str) -> PlanRow:
        """The row of a protocol, by its short name."""
        return next(row for row in self.rows if row.name == name)


def plan(
    *,
    users: int,
    bins: int,
    epsilon: float,
    delta: float,
    beta: float = 0.05,
    honest_users: int | None = None,
    practical_messages: float = PRACTICAL_MESSAGES,
    earlier: bool = False,
    progress: Progress = quiet,
) -> Plan:
    """Error, cost and feasibility of the histogram protocols for this many people and bins, with `earlier` ones too.

    Protocols with more than `practical_messages` per person are not recommended to people who send them.
    """
    target = Target(users=users, bins=bins, epsilon=epsilon, delta=delta, honest_users=honest_users)
    return plan_for(target, beta=beta, practical_messages=practical_messages, earlier=earlier, progress=progress)


def plan_for(
    target: Target, *, beta: float, practical_messages: float, earlier: bool = False, progress: Progress = quiet
) -> Plan:
    """The plan for a target."""
    beta, most = failure_probability(beta), positive("practical_messages", practical_messages)
    entries = {name: entry for name, entry in CATALOGUE.items() if entry.advised or (earlier and entry.earlier)}
    entries = dict(sorted(entries.items(), key=lambda item: not item[1].advised))
    protocols, rows = dict[str, HistogramProtocol](), list[PlanRow]()
    for done, (name, entry) in enumerate(entries.items()):
        progress("planning", done / len(entries))
        rows.append(_row(name, entry, target, beta, protocols))
    progress("planning", 1.0)
    advised = [row for row in rows if CATALOGUE[row.name].advised]
    sent, held = (recommend(advised, target, most=limit) for limit in (most, math.inf))
    return Plan(
        users=target.users,
        bins=target.bins,
        epsilon=target.epsilon,
        delta=target.delta,
        beta=beta,
        honest_users=target.honest,
        rows=tuple(rows),
        recommended=sent.name,
        reason=sent.reason,
        recommended_for_held_data=held.name,
        reason_for_held_data=held.reason,
        warnings=tuple(warnings(users=target.users, delta=target.delta)),
        protocols=protocols,
    )


class Advice(NamedTuple):
    """Which protocol to use, None if there is none, and why."""

    name: str | None
    reason: str


def recommend(rows: Sequence[PlanRow], target: Target, *, most: float) -> Advice:
    """The smallest error with at most that many messages per person, if these are sent at all.

    Where there are more values than people, most of them are held by nobody: only protocols that never show such a
    value are taken. This is the one decision that plans and releases share.
    """
    possible = [row for row in rows if not row.problem]
    practical = [row for row in possible if row.messages <= most]
    free = math.isinf(most)
    if not practical:
        return Advice(None, _nothing_practical(rows, possible, most))
    if target.bins <= target.users:
        best = min(practical, key=lambda row: (round(row.simultaneous), row.messages))
        limit = "" if free else f", of those with at most {counted_messages(most)} per person,"
        noisy = "shows every value with noise" if best.phantom_bins else "never shows a value that nobody holds"
        return _worth_it(best, f"the protocol with the smallest error{limit} is {best.title}; it {noisy}")
    quiet_ones = [row for row in practical if not row.phantom_bins]
    if not quiet_ones:
        best = min(practical, key=lambda row: (row.simultaneous, row.messages))
        return _worth_it(
            best,
            f"of those that can be used, the one with the smallest error is {best.title}, but most of the "
            f"{readable(target.bins)} possible values are held by nobody and will look as if they were held",
        )
    best = min(quiet_ones, key=lambda row: row.simultaneous if free else row.messages)
    return _worth_it(
        best,
        "more values are possible than there are people, and of the protocols that never show a value that nobody "
        f"holds the one with the {'smallest error' if free else 'fewest messages'} is {best.title}",
    )


def _worth_it(best: PlanRow, reason: str) -> Advice:
    """Advice that says so where the result will be of little use."""
    if best.simultaneous_share > _USELESS_SHARE:
        share = percent_at_most(best.simultaneous_share, 1)
        reason += f"; but an error of {share} of all people says little: more people are needed"
    return Advice(best.name, reason)


def _nothing_practical(rows: Sequence[PlanRow], possible: Sequence[PlanRow], most: float) -> str:
    """Why nothing is recommended, and what would help."""
    if not possible:
        return (
            "no protocol is possible with so few honest people: more of them, a larger epsilon or a larger delta help; "
            + "; ".join(f"{row.title} {row.problem}" for row in rows)
        )
    cheapest = min(possible, key=lambda row: row.messages)
    fewest = "" if math.isinf(cheapest.messages) else f" ({cheapest.title} the fewest, {magnitude(cheapest.messages)})"
    return (
        f"every protocol sends more than {counted_messages(most)} per person{fewest}: more people, fewer possible "
        "values or a larger epsilon help"
    )


def warnings(*, users: int, delta: float, error: float = 0.0) -> Iterator[str]:
    """What is amiss with a question, or with a release whose error is known."""
    if delta > 1 / users:
        yield (
            f"delta={privacy_figure(delta)} is larger than 1 / people: publishing the value of one person in "
            f"{users:,} would satisfy it; choose it well below"
        )
    if error > _USELESS_SHARE * users:
        yield (
            f"an error of up to {at_most(error)} of {counted(users, 'person', things='people')} says little: more "
            "people are needed"
        )


def counted_messages(number: float) -> str:
    """A number of messages per person, which need not be whole."""
    return f"{magnitude(number)} message{'' if number == 1 else 's'}"


def users_needed(
    name: str,
    *,
    share: float,
    bins: int,
    epsilon: float,
    delta: float,
    beta: float = 0.05,
    honest_share: float = 1.0,
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
        target = Target(users=users, bins=bins, epsilon=epsilon, delta=delta, honest_users=honest)
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
) -> float:
    """The smallest epsilon from 0.01 to 10 with at most this simultaneous error in people, to one per cent."""
    entry, allowed = _advised(name), real("error", error)

    def error_at(log_epsilon: float) -> float:
        target = Target(users=users, bins=bins, epsilon=math.exp(log_epsilon), delta=delta, honest_users=honest_users)
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
    name: str, *, messages: float, users: int, epsilon: float, delta: float, honest_users: int | None = None
) -> int:
    """The most bins for which a person sends at most this number of messages on average."""
    entry, budget = _advised(name), real("messages", messages)
    target = Target(users=users, bins=_MANY_BINS, epsilon=epsilon, delta=delta, honest_users=honest_users)
    per_bin = (entry.make(target).messages_per_user.expected - 1) / _MANY_BINS
    if budget < 1 + per_bin:
        raise ParameterError(f"messages={budget:g} is too few for any bin: one costs {1 + per_bin:.3g}")
    return int((budget - 1) / per_bin)


def surely_seen(error: float, *, phantoms: bool) -> int:
    """The smallest count that stands out from empty bins, given the simultaneous error.

    A hidden bin is off by its whole count; where empty bins are noisy, both errors must be overcome.
    """
    return math.floor(error * (2 if phantoms else 1)) + 1


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


def _row(name: str, entry: Entry, target: Target, beta: float, made: dict[str, HistogramProtocol]) -> PlanRow:
    """The row of one protocol, which is kept among those that were made."""
    row = PlanRow(
        name=name,
        title=entry.title,
        phantom_bins=entry.phantoms,
        fewest_users=entry.kind.minimum_users(epsilon=target.epsilon, delta=target.delta),
    )
    try:
        protocol = made[name] = entry.make(target)
    except TooFewUsersError as too_few:
        needed = counted(too_few.minimum_users, "honest person", things="honest people")
        return replace(row, problem=f"needs at least {needed}")
    except ParameterError as reason:
        return replace(row, problem=f"is not possible: {reason}")
    error, messages = protocol.error(beta), protocol.messages_per_user
    return replace(
        row,
        per_bin=error.per_bin,
        simultaneous=error.simultaneous,
        per_bin_share=error.per_bin / target.users,
        simultaneous_share=error.simultaneous / target.users,
        surely_seen=surely_seen(error.simultaneous, phantoms=entry.phantoms),
        messages=messages.expected,
        most_messages=messages.maximum,
        bytes_per_person=messages.expected * protocol.bits_per_message / 8,
    )

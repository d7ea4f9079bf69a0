"""What to expect before anybody is asked: one row per protocol, a recommendation, and the questions backwards."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Protocol

from shuffledp.accounting.search import first_safe
from shuffledp.checks import (
    MOST_USERS,
    failure_probability,
    head_count,
    honest_among,
    open_probability,
    real,
    target_delta,
    target_epsilon,
    whole,
)
from shuffledp.errors import ParameterError, TooFewUsersError
from shuffledp.protocols import BlanketHistogram, DummyHistogram, Histogram, SparseHistogram
from shuffledp.protocols.shuffled.amplified import AmplifiedOracle
from shuffledp.protocols.shuffled.private_coin.histogram import PrivateCoinHistogram
from shuffledp.protocols.shuffled.public_coin import PublicCoinHistogram
from shuffledp.words import readable

PRACTICAL_MESSAGES = 1000.0
"""More messages per person than this are not recommended."""

_USELESS_SHARE = 0.1
_LEAST_EPSILON, _MOST_EPSILON = 0.01, 10.0


class HistogramProtocol(Protocol):
    """What the planner asks of a protocol."""

    @classmethod
    def calibrate(cls, *, users: int, bins: int, epsilon: float, delta: float, honest_users: int | None) -> Any:
        """The protocol for a guarantee."""

    @classmethod
    def minimum_users(cls, *, epsilon: float, delta: float) -> int:
        """The fewest people with whom the guarantee is possible."""


@dataclass(frozen=True, kw_only=True)
class Option:
    """A protocol and an estimator that one can choose; `wish` are further arguments of `calibrate`."""

    title: str
    kind: type[HistogramProtocol]
    estimator: str
    wish: Mapping[str, Any] = field(default_factory=dict)

    @property
    def phantom_bins(self) -> bool:
        """Whether bins that nobody holds can look occupied."""
        return self.estimator != "truncated"

    def surely_seen(self, error: float) -> int:
        """The smallest count that stands out from empty bins, given the simultaneous error.

        A hidden bin is off by its whole count; where empty bins are noisy, both errors must be overcome.
        """
        return math.floor(error * (2 if self.phantom_bins else 1)) + 1

    def calibrate(self, **parameters: Any) -> Any:
        """The protocol for given users, bins and guarantee."""
        return self.kind.calibrate(**parameters, **self.wish)


OPTIONS: dict[str, Option] = {
    "hist": Option(title="Histogram, truncated", kind=Histogram, estimator="truncated"),
    "hist-unbiased": Option(title="Histogram, unbiased", kind=Histogram, estimator="unbiased"),
    "sparse": Option(title="SparseHistogram", kind=SparseHistogram, estimator="truncated"),
    "sparse-best": Option(
        title="SparseHistogram, best error",
        kind=SparseHistogram,
        estimator="truncated",
        wish={"messages": math.inf},
    ),
    "dummy": Option(title="DummyHistogram", kind=DummyHistogram, estimator="unbiased"),
}

EARLIER: dict[str, Option] = {
    "blanket": Option(title="BlanketHistogram (CSU+19)", kind=BlanketHistogram, estimator="unbiased"),
    "public-coin": Option(title="PublicCoinHistogram (GGK+19)", kind=PublicCoinHistogram, estimator="smallest"),
    "private-coin": Option(title="PrivateCoinHistogram (GGK+19)", kind=PrivateCoinHistogram, estimator="unbiased"),
    "amplified": Option(title="AmplifiedOracle", kind=AmplifiedOracle, estimator="unbiased"),
}
"""Earlier protocols of the shuffled model: for comparison, and never recommended."""


@dataclass(frozen=True, kw_only=True)
class Row:
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
class Plan:
    """The rows for one question, and which of them to choose."""

    users: int
    bins: int
    epsilon: float
    delta: float
    beta: float
    honest_users: int
    rows: tuple[Row, ...]
    recommended: str | None
    reason: str

    def row(self, name: str) -> Row:
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
) -> Plan:
    """Error, cost and feasibility of the histogram protocols for this many people and bins, with `earlier` ones too.

    Protocols with more than `practical_messages` per person are not recommended; with math.inf, as when the tally is
    drawn from its law, messages cost nothing.
    """
    wish = _wish(users=users, bins=bins, epsilon=epsilon, delta=delta, honest_users=honest_users)
    beta = failure_probability(beta)
    rows = tuple(_row(name, option, wish, beta) for name, option in OPTIONS.items())
    name, reason = _recommend(rows, users=wish["users"], bins=wish["bins"], most=practical_messages)
    if earlier:
        rows += tuple(_row(name, option, wish, beta) for name, option in EARLIER.items())
    if name and (share := next(row for row in rows if row.name == name).simultaneous_share) > _USELESS_SHARE:
        reason += f"; but an error of {share:.0%} of all people says little: more people are needed"
    return Plan(
        users=wish["users"],
        bins=wish["bins"],
        epsilon=wish["epsilon"],
        delta=wish["delta"],
        beta=beta,
        honest_users=wish["honest_users"],
        rows=rows,
        recommended=name,
        reason=reason,
    )


def choose(
    *,
    users: int,
    bins: int,
    epsilon: float,
    delta: float,
    beta: float,
    protocol: str | None,
    estimator: str | None,
    phantoms: bool,
    practical_messages: float,
) -> tuple[Option, str]:
    """The option that is asked for, or the best of those that fit, and why.

    `protocol` may leave the estimator open and the other way round. Without `phantoms` only options that never report
    an empty bin fit.
    """
    if protocol in EARLIER:
        if not phantoms:
            raise ParameterError("this protocol reports every possible value: give the domain that lists them")
        if estimator not in (None, EARLIER[protocol].estimator):
            raise ParameterError(f"estimator must be {EARLIER[protocol].estimator} for {protocol}, got {estimator!r}")
        return EARLIER[protocol], "as asked"
    fitting = {
        name: option
        for name, option in OPTIONS.items()
        if protocol in (None, name, name.split("-")[0]) and estimator in (None, option.estimator)
    }
    if not fitting:
        raise ParameterError(
            f"protocol must be hist, sparse, sparse-best, dummy, {', '.join(EARLIER)}, and estimator truncated "
            "(not for dummy) or unbiased (not for sparse); "
            f"got {protocol or 'no protocol'} and {estimator or 'no estimator'}"
        )
    if not phantoms:
        fitting = {name: option for name, option in fitting.items() if not option.phantom_bins}
        if not fitting:
            raise ParameterError(
                "this protocol and estimator report every possible value: give the domain that lists them, or use the "
                "truncated estimator of hist or sparse"
            )
    if protocol in fitting:
        return fitting[protocol], "as asked"
    advice = plan(
        users=users, bins=bins, epsilon=epsilon, delta=delta, beta=beta, practical_messages=practical_messages
    )
    if advice.recommended in fitting:
        return fitting[advice.recommended], advice.reason
    if advice.recommended is None and protocol is None:
        raise ParameterError(advice.reason)
    rows = [advice.row(name) for name in fitting]
    best = min(rows, key=lambda row: row.simultaneous)
    if best.problem:
        raise TooFewUsersError(f"{best.title} {best.problem}, not {users:,}", minimum_users=best.fewest_users)
    return fitting[best.name], f"{best.title} has the smallest error of those that fit"


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
    option, share = _option(name), open_probability("share", share)
    honest_share = real("honest_share", honest_share)
    if not 0 < honest_share <= 1:
        raise ParameterError(f"honest_share must lie in (0, 1], got {honest_share:g}")

    def enough(users: int) -> bool:
        honest = max(1, int(honest_share * users))
        wish = _wish(users=users, bins=bins, epsilon=epsilon, delta=delta, honest_users=honest)
        return _simultaneous(option, wish, beta) <= share * users

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
    """The smallest epsilon from 0.01 to 10 with a simultaneous error of at most so many people, to one per cent."""
    option, target = _option(name), real("error", error)

    @cache
    def excess(log_epsilon: float) -> float:
        wish = _wish(users=users, bins=bins, epsilon=math.exp(log_epsilon), delta=delta, honest_users=honest_users)
        return min(_simultaneous(option, wish, beta), 2.0 * users) - target

    least, most = math.log(_LEAST_EPSILON), math.log(_MOST_EPSILON)
    low = high = 0.0
    while excess(high) > 0:
        if high == most:
            raise ParameterError(
                f"error={target:g} people is not possible with {option.title}: even epsilon={_MOST_EPSILON:g} gives "
                f"{excess(high) + target:.0f}"
            )
        low, high = high, min(most, high + 0.5)
    while excess(low) <= 0:
        if low == least:
            return _LEAST_EPSILON
        low, high = max(least, low - 0.5), low
    return math.exp(first_safe(excess, low, high, tolerance=1e-2))


def most_bins(
    name: str, *, messages: float, users: int, epsilon: float, delta: float, honest_users: int | None = None
) -> int:
    """The most bins for which a person sends at most so many messages on average."""
    option, budget, trial = _option(name), real("messages", messages), 10**6
    wish = _wish(users=users, bins=trial, epsilon=epsilon, delta=delta, honest_users=honest_users)
    per_bin = (option.calibrate(**wish).messages_per_user.expected - 1) / trial
    if budget < 1 + per_bin:
        raise ParameterError(f"messages={budget:g} is too few for any bin: one costs {1 + per_bin:.3g}")
    return int((budget - 1) / per_bin)


def _wish(*, users: Any, bins: Any, epsilon: Any, delta: Any, honest_users: Any) -> dict[str, Any]:
    """The parameters of a calibration, checked."""
    users = head_count("users", users)
    return {
        "users": users,
        "bins": whole("bins", bins),
        "epsilon": target_epsilon(epsilon),
        "delta": target_delta(delta),
        "honest_users": honest_among(honest_users, users=users),
    }


def _option(name: str) -> Option:
    if name not in OPTIONS:
        raise ParameterError(f"protocol must be one of {', '.join(OPTIONS)}; got {name!r}")
    return OPTIONS[name]


def _simultaneous(option: Option, wish: dict[str, Any], beta: float) -> float:
    """The simultaneous error; infinite where there are too few people."""
    try:
        protocol = option.calibrate(**wish)
    except ParameterError:
        return math.inf
    return float(protocol.error(beta, estimator=option.estimator).simultaneous)


def _row(name: str, option: Option, wish: dict[str, Any], beta: float) -> Row:
    row = Row(
        name=name,
        title=option.title,
        phantom_bins=option.phantom_bins,
        fewest_users=option.kind.minimum_users(epsilon=wish["epsilon"], delta=wish["delta"]),
    )
    try:
        protocol = option.calibrate(**wish)
    except TooFewUsersError as too_few:
        return replace(row, problem=f"needs at least {too_few.minimum_users:,} honest people")
    except ParameterError as reason:
        return replace(row, problem=f"is not possible: {reason}")
    error, messages = protocol.error(beta, estimator=option.estimator), protocol.messages_per_user
    return replace(
        row,
        per_bin=error.per_bin,
        simultaneous=error.simultaneous,
        per_bin_share=error.per_bin / wish["users"],
        simultaneous_share=error.simultaneous / wish["users"],
        surely_seen=option.surely_seen(error.simultaneous),
        messages=messages.expected,
        most_messages=messages.maximum,
        bytes_per_person=messages.expected * protocol.bits_per_message / 8,
    )


def _recommend(rows: tuple[Row, ...], *, users: int, bins: int, most: float) -> tuple[str | None, str]:
    """The smallest error that is practical; where most bins are empty, only protocols without phantom bins."""
    possible = [row for row in rows if not row.problem]
    practical = [row for row in possible if row.messages <= most]
    limit = "" if math.isinf(most) else f" of those with at most {most:,.0f} messages per person"
    if not practical:
        cheapest = min(possible, key=lambda row: row.messages, default=None)
        if cheapest is None:
            return None, "no protocol is possible with so few people; see what each needs"
        return None, (
            f"every protocol sends more than {most:,.0f} messages per person ({cheapest.title} the "
            f"fewest, {cheapest.messages:,.0f}): use more people, fewer bins, or draw the tally where the data is"
        )
    if bins <= users:
        best = min(practical, key=lambda row: (round(row.simultaneous), row.messages))
        return best.name, (
            f"{best.title} has the smallest error{limit}"
            + ("; every bin is noisy, also empty ones" if best.phantom_bins else "; it never reports an empty bin")
        )
    quiet = [row for row in practical if not row.phantom_bins]
    if not quiet:
        best = min(practical, key=lambda row: row.messages)
        return best.name, (
            f"{best.title} is the only one with a practical number of messages, but most of {readable(bins)} bins are "
            "empty and will look occupied"
        )
    free = math.isinf(most)
    best = min(quiet, key=lambda row: row.simultaneous if free else row.messages)
    return best.name, (
        f"with {readable(bins)} bins for {users:,} people many bins are empty: {best.title} never reports an empty "
        f"one, with the {'smallest error' if free else 'fewest messages'}"
    )

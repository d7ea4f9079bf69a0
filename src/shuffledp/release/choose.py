"""Choose the protocol of a release: the one that is requested, or the best of those that fit.

The choice follows from public numbers alone, and so does the error that a trusted curator would have instead.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from shuffledp.data.bins import OTHER, Possible
from shuffledp.data.people import People
from shuffledp.errors import ParameterError, TooFewUsersError
from shuffledp.estimators.supports import MOST_VALUES
from shuffledp.formatting import ShortRepr
from shuffledp.histogram.domain import Domain
from shuffledp.histogram.edges import Edges
from shuffledp.histogram.estimate import Estimate
from shuffledp.histogram.ordered_estimate import OrderedEstimate
from shuffledp.histogram.periods import Periods
from shuffledp.progress import Progress, quiet
from shuffledp.protocols.catalogue import CATALOGUE, Entry, Model
from shuffledp.protocols.protocol import EstimatorName, HistogramProtocol, ReleaseName, TrustName
from shuffledp.protocols.ranges import Ranges
from shuffledp.protocols.target import Target
from shuffledp.release.plan_rows import (
    FEWER,
    PRACTICAL_MESSAGES,
    RANGES,
    PlanRow,
    Problem,
    Reason,
    Rows,
    consider_fewer,
    fewer_rows,
    or_fewer,
    recommend,
)
from shuffledp.validation import failure_probability, one_of, open_probability, target_delta, target_epsilon

_MOST_CELLS, _LEAST_EPSILON = 4096, 0.5
"""Beyond these, the error of a curator's ranges takes seconds to compute: with more values because of the tree, with a
smaller epsilon because of the noise. From a thousand values on it is seldom smaller."""


def check_trust(trust: TrustName, *, messages: bool = False) -> None:
    """Refuse an unknown name, and messages to a curator, before anything is read."""
    one_of("trust", trust, MODEL_OF)
    if messages and trust == "curator":
        raise ParameterError(
            "messages must be False with trust='curator', since the curator is given the values and there are no "
            "messages: leave out trust or messages"
        )


MOST_DELTA = 0.01
"""Of a release of local data, and by default of a task that a client accepts."""


def check_delta(asked: PrivacySpec) -> None:
    """Refuse a delta above the limit for local data."""
    if asked.delta > MOST_DELTA:
        raise ParameterError(
            f"delta must be at most {MOST_DELTA:g}, got {asked.delta:g}: with this probability a person may have no "
            "protection at all. Choose it well below 1 / people, such as 1e-6"
        )


@dataclass(frozen=True, kw_only=True)
class PrivacySpec:
    """The guarantee of a release, the trusted party, and the protocol if it is not left to the planner.

    With `messages`, all messages are made, shuffled and counted instead of sampling their counts.
    """

    epsilon: float
    delta: float
    trust: TrustName = "shuffler"
    protocol: ReleaseName | None = None
    estimator: EstimatorName | None = None
    messages: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", target_epsilon(self.epsilon))
        object.__setattr__(self, "delta", target_delta(self.delta))
        check_trust(self.trust, messages=self.messages)

    @property
    def most_messages(self) -> float:
        """The most messages per person of a practical protocol."""
        return PRACTICAL_MESSAGES if self.messages else math.inf

    def target(self, people: People, *, users: int) -> Target:
        """Return the target of a protocol for these people."""
        return Target(
            users=users,
            bins=people.domain.size,
            epsilon=self.epsilon,
            delta=self.delta,
            values_per_person=people.source.bins_per_person,
            padding_bins=people.padding_bins,
        )


def checked_shares(shares: Iterable[float]) -> tuple[float, ...]:
    """Return the requested shares of quantiles."""
    if isinstance(shares, str | bytes) or not isinstance(shares, Iterable):
        raise ParameterError(
            f"quantiles must be a list of shares, such as [0.5] for the median, got {type(shares).__name__}"
        )
    found = tuple(open_probability("quantiles", share, hint="; 0.5 is the median") for share in shares)
    if not found:
        raise ParameterError("quantiles must be at least one share, such as 0.5 for the median")
    return found


def check_alone(column: Any, asked: PrivacySpec, *, values_per_person: int, count_capped: bool) -> None:
    """Refuse several columns and parameters that do not apply to ranges, before anything is read."""
    if isinstance(column, list | tuple) and len(column) > 1:
        raise ParameterError(f"column must be one column for ranges and quantiles, got {len(column)}: leave out others")
    useless = {
        "protocol": asked.protocol is not None,
        "estimator": asked.estimator is not None,
        "values_per_person": values_per_person != 1,
        "count_capped": count_capped,
    }
    if given := [name for name, is_given in useless.items() if is_given]:
        raise ParameterError(
            "ranges and quantiles count one value per person with a protocol of their own: leave out "
            f"{' and '.join(given)}"
        )


def curator_error(target: Target, asked: PrivacySpec, *, beta: float, listed: bool) -> float | None:
    """Return the error of `trust="curator"` for the same question, in people; None if no protocol of a curator fits."""
    known = {entry.estimator for entry in offered("curator").values()}
    estimator = asked.estimator if asked.estimator in known else None
    asked = replace(asked, trust="curator", protocol=None, estimator=estimator, messages=False)
    try:
        choice = choose(target, asked, beta=beta, listed=listed)
    except ParameterError:
        return None
    return float(choice.protocol.error(beta).simultaneous)


def curator_range_error(target: Target, shuffled: Ranges, *, beta: float) -> float | None:
    """Return the same for the distribution function, if public numbers say that it takes about a second.

    `shuffled` is the protocol of the release.
    """
    if target.cells > _MOST_CELLS or target.epsilon < _LEAST_EPSILON:
        return None
    return shuffled.with_curator(target).range_error(beta)


class CuratorError(NamedTuple):
    """The error of a trusted curator's release if it is smaller than the error of this one, both in people.

    With `ranges` both are errors of the number of people up to any value.
    """

    curator: float
    release: float
    ranges: bool


def is_smaller(error: float, other: float) -> bool:
    """Whether an error is smaller than another as both are shown, rounded up to whole people."""
    return math.isfinite(error) and math.ceil(error) < other


MODEL_OF: Mapping[TrustName, Model] = {"shuffler": "shuffled", "curator": "central"}


@dataclass(frozen=True, kw_only=True)
class Choice(ShortRepr):
    """A calibrated protocol of the catalogue, and why it was chosen.

    `limited` says whether a protocol or an estimator was requested, so that only some protocols were considered.
    """

    name: str
    entry: Entry
    protocol: HistogramProtocol
    reason: Reason = Reason.AS_ASKED
    limited: bool = False


def choose(target: Target, asked: PrivacySpec, *, beta: float, listed: bool, progress: Progress = quiet) -> Choice:
    """Choose the requested protocol, or the planner's advice among those that fit.

    The protocol may leave the estimator open and the other way round. If the possible values are not `listed`, only
    protocols without false positives fit.
    """
    protocol, estimator = asked.protocol, asked.estimator
    fitting = _fitting(protocol, estimator, listed=listed, trust=asked.trust)
    if protocol is None and asked.trust == "curator" and shuffled_may_be_better(target):
        fitting += _fitting(None, estimator, listed=listed, trust="shuffler")
    if protocol is not None and (protocol in fitting or len(fitting) == 1):
        name = protocol if protocol in fitting else fitting[0]
        progress("calibrating", 0.0)
        made = CATALOGUE[name].make(target)
        return Choice(name=name, entry=CATALOGUE[name], protocol=made)
    found = Rows.of(fitting, target, beta=failure_probability(beta), listed=listed, progress=progress)
    advice, protocols = recommend(found.rows, target, most=asked.most_messages), dict(found.protocols)
    if _may_be_fewer(target, asked, listed=listed) and consider_fewer(advice, found.rows):
        fewer = fewer_rows(target, beta=failure_probability(beta), most=asked.most_messages, listed=listed)
        advice = or_fewer(advice, found.rows, fewer.row(FEWER), most=asked.most_messages)
        protocols |= fewer.protocols
    any_asked = protocol is not None or estimator is not None
    if advice.name is None and any_asked:  # a request is met with any number of messages
        advice = recommend(found.rows, target, most=math.inf)
    if advice.name is None:
        possible = {row.fewest_users: row for row in found.rows if row.fewest_users is not None}
        if any_asked and possible:
            fewest = min(possible)
            nearest = possible[fewest]
            raise TooFewUsersError(
                f"users must be at least {nearest.needed_users or fewest:,} for {nearest.title}, got {target.users:,}",
                minimum_users=fewest,
            )
        raise _nothing_fits(found.rows, target, most=asked.most_messages)
    return Choice(
        name=advice.name,
        entry=CATALOGUE[advice.name],
        protocol=protocols[advice.name],
        reason=advice.reason,
        limited=any_asked,
    )


def _may_be_fewer(target: Target, asked: PrivacySpec, *, listed: bool) -> bool:
    """Whether messages are made and FEWER, which estimates every value of a list, is not ruled out."""
    if target.cells > MOST_VALUES:  # the messages could be made, but not counted
        return False
    fits = asked.protocol is None and asked.estimator in (None, CATALOGUE[FEWER].estimator)
    return listed and fits and math.isfinite(asked.most_messages)


def _nothing_fits(rows: Sequence[PlanRow], target: Target, *, most: float) -> ParameterError:
    possible = [row for row in rows if not row.problem]
    if possible:
        fewest = min(row.messages for row in possible)
        return ParameterError(
            f"every protocol sends more than {most:,.4g} messages per person (at least {fewest:,.3g}): use more "
            "people, fewer possible values or a larger epsilon"
        )
    needed = [row.needed_users for row in rows if row.problem is Problem.TOO_FEW_USERS and row.needed_users is not None]
    least = f" (at least {min(needed):,})" if needed else ""
    return ParameterError(
        f"users={target.users:,} is too few for every protocol: use more honest people{least}, a larger epsilon or a "
        "larger delta"
    )


def shuffled_may_be_better(target: Target) -> bool:
    """Return whether a curator should also consider the noise of shuffled protocols.

    Laplace noise grows in proportion to the number of values per person while it is small. The noise of many people is
    nearly Gaussian and grows with its square root, so it can be smaller from about three values on.
    """
    return target.values_per_person > 1


def offered(trust: TrustName) -> dict[str, Entry]:
    """Return the protocols of the catalogue for releases with this trust."""
    one_of("trust", trust, MODEL_OF)
    return {name: entry for name, entry in CATALOGUE.items() if entry.model == MODEL_OF[trust]}


def _fitting(protocol: str | None, estimator: str | None, *, listed: bool, trust: TrustName) -> list[str]:
    """Names of the catalogue that fit the request; without a protocol, those that the planner advises."""
    known = offered(trust)
    if protocol in CATALOGUE and protocol not in known:
        raise ParameterError(_of_another_model(protocol, known, trust))
    if protocol is not None:
        one_of("protocol", protocol, known)
    kinds = [entry.kind for name, entry in known.items() if name == protocol and not entry.published]
    named = {
        name: entry
        for name, entry in known.items()
        if name == protocol or (_advised(entry) and (protocol is None or entry.kind in kinds))
    }
    read = {name: entry for name, entry in named.items() if estimator in (None, entry.estimator)}
    if not read:
        possible = sorted({entry.estimator for entry in named.values()})
        raise ParameterError(
            f"estimator must be {' or '.join(possible)}{f' for {protocol}' if protocol else ''}, got {estimator!r}"
        )
    usable = [name for name, entry in read.items() if listed or not entry.false_positives]
    if not usable:
        raise ParameterError(
            "this protocol and estimator report every possible value: give the domain that lists them, or use the "
            "truncated estimator of hist or sparse"
        )
    return usable


def _advised(entry: Entry) -> bool:
    """A curator has two protocols, and both are advised."""
    return entry.advised or entry.model == "central"


def _of_another_model(protocol: str, known: Mapping[str, Entry], trust: TrustName) -> str:
    model, names = CATALOGUE[protocol].model, [name for name, entry in known.items() if _advised(entry)]
    if trust == "curator":
        return f"protocol {protocol} is of the {model} model; with trust=curator there are {' and '.join(names)}"
    instead = ", or by a curator who is trusted with all data (trust=curator)" if model == "central" else ""
    return (
        f"protocol {protocol} is of the {model} model, which compare measures; a release is made with one of the "
        f"shuffled model: {', '.join(names)} and others{instead}"
    )


CURATED_RANGES = replace(RANGES, title="Ranges (ours), by a curator", model="central")


def needs_order() -> ParameterError:
    """Return the error for ranges without an ordered domain."""
    return ParameterError("ranges and quantiles need an ordered domain: edges of numbers, periods of time, or a list")


def choose_ranges(target: Target, *, listed: bool, trust: str = "shuffler", progress: Progress = quiet) -> Choice:
    """Choose the protocol of a release with ranges."""
    if not listed:
        raise needs_order()
    progress("calibrating", 0.0)
    protocol = Ranges.for_target(target, trust=trust)
    entry = RANGES if trust == "shuffler" else CURATED_RANGES
    return Choice(name="ranges", entry=entry, protocol=protocol)


def in_units(estimate: Estimate, possible: Possible, *, shares: Sequence[float] | None = None) -> Estimate:
    """Return an ordered estimate in the units of its domain: edges, periods, or a list.

    Missing and other values come last and belong to no range.
    """
    if not isinstance(estimate, OrderedEstimate):
        return estimate
    if shares is not None:
        estimate = replace(estimate, shares=tuple(shares))
    if isinstance(possible, Edges | Periods):
        return replace(estimate, edges=tuple(possible.edges), ordered=len(possible.edges) + 1)
    return replace(estimate, ordered=_in_order(estimate))


def _in_order(estimate: OrderedEstimate) -> int:
    """The number of labels before those without a place in the order."""
    domain: Domain | None = estimate.domain
    ordered = estimate.ordered
    if domain is None:
        return ordered
    last = domain.decode(np.arange(max(0, ordered - 2), ordered)).tolist()
    while ordered > 1 and last and (last[-1] is None or last[-1] == OTHER):
        ordered, last = ordered - 1, last[:-1]
    return ordered

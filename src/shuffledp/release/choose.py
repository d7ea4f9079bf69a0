"""Choose the protocol of a release: the one that is requested, or the best of those that fit.

The choice follows from public numbers alone, and so does the error that a trusted curator would have instead.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from shuffledp.errors import ParameterError, TooFewUsersError
from shuffledp.estimators.supports import MOST_VALUES
from shuffledp.formatting import ShortRepr
from shuffledp.progress import Progress, quiet
from shuffledp.protocols.catalogue import CATALOGUE, Entry, Model
from shuffledp.protocols.protocol import HistogramProtocol, TrustName
from shuffledp.protocols.ranges import Ranges
from shuffledp.protocols.target import Target
from shuffledp.release.plan_rows import (
    FEWER,
    PlanRow,
    Problem,
    Reason,
    Rows,
    consider_fewer,
    fewer_rows,
    or_fewer,
    recommend,
)
from shuffledp.validation import failure_probability, one_of

if TYPE_CHECKING:
    from shuffledp.release.spec import PrivacySpec

_MOST_CELLS, _LEAST_EPSILON = 4096, 0.5
"""Beyond these, the error of a curator's ranges takes seconds to compute: with more values because of the tree, with a
smaller epsilon because of the noise. From a thousand values on it is seldom smaller, since each value is then counted
in many groups."""


def check_trust(trust: TrustName, *, messages: bool = False) -> None:
    """Refuse an unknown name, and messages to a curator, before anything is read."""
    one_of("trust", trust, MODEL_OF)
    if messages and trust == "curator":
        raise ParameterError(
            "messages must be False with trust='curator', since the curator is given the values and there are no "
            "messages: leave out trust or messages"
        )


def curator_error(target: Target, asked: PrivacySpec, *, beta: float, listed: bool) -> float | None:
    """The error of `trust="curator"` for the same question, in people; None if no protocol of a curator fits.

    It follows from public numbers alone and is known before the release.
    """
    known = {entry.estimator for entry in offered("curator").values()}
    estimator = asked.estimator if asked.estimator in known else None
    asked = replace(asked, trust="curator", protocol=None, estimator=estimator, messages=False)
    try:
        choice = choose(target, asked, beta=beta, listed=listed)
    except ParameterError:
        return None
    return float(choice.protocol.error(beta).simultaneous)


def curator_range_error(target: Target, shuffled: Ranges, *, beta: float) -> float | None:
    """The same for ranges: the error of the distribution function, if it can be computed in about a second.

    `shuffled` is the protocol of the release. Public numbers alone decide whether it is computed.
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
"""The model of the protocols for each trusted party."""


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
    """Choose the requested protocol, or the planner's advice among those that fit; each is calibrated once.

    The protocol may leave the estimator open and the other way round. If the possible values are not `listed`, only
    protocols without false positives fit. The choice depends on public numbers only, not on the data.
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
    """Return the error for a release for which no protocol can be recommended."""
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
    """Whether a curator should also consider shuffled protocols and sample the tally of their messages.

    Laplace noise grows in proportion to the number of values per person while it is small. The noise of many people is
    nearly Gaussian and grows with its square root, so it can be smaller from about three values on.
    """
    return target.values_per_person > 1


def offered(trust: TrustName) -> dict[str, Entry]:
    """The protocols of the catalogue for releases with this trust."""
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
    """Whether the planner may choose it; a curator has two protocols, and both are advised."""
    return entry.advised or entry.model == "central"


def _of_another_model(protocol: str, known: Mapping[str, Entry], trust: TrustName) -> str:
    """Explain why a protocol of another model does not fit, and what to use instead."""
    model, names = CATALOGUE[protocol].model, [name for name, entry in known.items() if _advised(entry)]
    if trust == "curator":
        return f"protocol {protocol} is of the {model} model; with trust=curator there are {' and '.join(names)}"
    instead = ", or by a curator who is trusted with all data (trust=curator)" if model == "central" else ""
    return (
        f"protocol {protocol} is of the {model} model, which compare measures; a release is made with one of the "
        f"shuffled model: {', '.join(names)} and others{instead}"
    )

"""Choose the protocol of a release: the requested one, or the best of those that fit.

Also computes the error that a trusted curator would have.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shuffledp.errors import ParameterError, TooFewUsersError
from shuffledp.formatting import ShortRepr, at_most, people_at_most
from shuffledp.progress import Progress, quiet
from shuffledp.protocols.catalogue import CATALOGUE, Entry, Model
from shuffledp.protocols.protocol import HistogramProtocol, MessageProtocol, TrustName
from shuffledp.protocols.ranges import Ranges
from shuffledp.protocols.target import Target
from shuffledp.release.plan_rows import PlanRow, Problem, Reason, Rows, recommend
from shuffledp.validation import failure_probability, one_of

_MOST_CELLS, _LEAST_EPSILON = 4096, 0.5
"""With more values the error of a curator's ranges takes seconds, and with a smaller epsilon their noise does; from a
thousand values on it is seldom smaller anyway, since a person's value is then counted in many groups."""


def check_trust(trust: TrustName, *, messages: bool = False) -> None:
    """Refuses an unknown name, and messages to a curator, before anything is read."""
    one_of("trust", trust, MODEL_OF)
    if messages and trust == "curator":
        raise ParameterError(
            "trust=curator has no messages, since the curator is given the values: leave out one of --trust curator "
            "and --messages (trust= and messages=)"
        )


def curator_error(target: Target, *, beta: float, estimator: str | None, listed: bool) -> float | None:
    """The error that `trust="curator"` would have for the same question, in people; None where there is no answer.

    It follows from public numbers alone and is known before anything is released.
    """
    asked = estimator if estimator in {entry.estimator for entry in offered("curator").values()} else None
    try:
        choice = choose(
            target,
            beta=beta,
            protocol=None,
            estimator=asked,
            listed=listed,
            practical_messages=math.inf,
            trust="curator",
        )
    except ParameterError:
        return None
    return float(choice.protocol.error(beta).simultaneous)


def curator_range_error(target: Target, shuffled: Ranges, *, beta: float) -> float | None:
    """The same of ranges: the error of the distribution function, where it can be computed in about a second.

    `shuffled` is the protocol of the release. Whether it is computed follows from public numbers, too.
    """
    if target.cells > _MOST_CELLS or target.epsilon < _LEAST_EPSILON:
        return None
    return shuffled.with_curator(target).range_error(beta)


def is_smaller(error: float, other: float) -> bool:
    """Whether an error is smaller than another one as both are shown, rounded up to whole people."""
    return math.isfinite(error) and math.ceil(error) < other


def curator_in_words(curator: float | None, *, error: float, gives: str = "has") -> dict[str, str]:
    """What a curator's release would be off by, with a title; nothing where that is not less."""
    if curator is None or not is_smaller(curator, error):
        return {}
    return {
        "If you are trusted with the data": (
            "Whoever trusts you with the data anyway: --trust curator "
            f"{gives} an error of at most {people_at_most(curator)} instead of {at_most(error)}, with the same promise "
            "about what is published."
        )
    }


def why_no_messages(protocol: HistogramProtocol) -> str:
    """Of a release that was made without them."""
    counting = protocol.nodes if isinstance(protocol, Ranges) else protocol
    if isinstance(counting, MessageProtocol):
        return "none: their counts were drawn from their exact law"
    return "none: a curator is given the values"


MODEL_OF: Mapping[TrustName, Model] = {"shuffler": "shuffled", "curator": "central"}
"""The model of the protocols for each of those who can be trusted."""


@dataclass(frozen=True, kw_only=True)
class Choice(ShortRepr):
    """A calibrated protocol of the catalogue, and why it was chosen.

    `limited` says whether a protocol or an estimator was requested, so that only some protocols were considered.
    """

    name: str
    entry: Entry
    protocol: HistogramProtocol
    reason: Reason
    limited: bool = False

    @property
    def asked(self) -> bool:
        """Whether nothing was left to choose."""
        return self.reason is Reason.AS_ASKED


def choose(
    target: Target,
    *,
    beta: float,
    protocol: str | None,
    estimator: str | None,
    listed: bool,
    practical_messages: float,
    trust: TrustName = "shuffler",
    progress: Progress = quiet,
) -> Choice:
    """The protocol that is asked for, or the planner's advice among those that fit; calibrated once.

    `protocol` may leave the estimator open and the other way round. Where the possible values are not `listed`, only
    protocols that never report an empty bin fit. Nothing here depends on anybody's data, only on public numbers.
    """
    fitting = _fitting(protocol, estimator, listed=listed, trust=trust)
    if protocol is None and trust == "curator" and shuffled_may_be_better(target):
        fitting += _fitting(None, estimator, listed=listed, trust="shuffler")
    if protocol is not None and (protocol in fitting or len(fitting) == 1):
        name = protocol if protocol in fitting else fitting[0]
        progress("calibrating", 0.0)
        made = CATALOGUE[name].make(target)
        return Choice(name=name, entry=CATALOGUE[name], protocol=made, reason=Reason.AS_ASKED)
    found = Rows.of(fitting, target, beta=failure_probability(beta), listed=listed, progress=progress)
    advice = recommend(found.rows, target, most=practical_messages)
    asked = protocol is not None or estimator is not None
    if advice.name is None and asked:  # what is asked for is made at any price
        advice = recommend(found.rows, target, most=math.inf)
    if advice.name is None:
        possible = {row.fewest_users: row for row in found.rows if row.fewest_users is not None}
        if asked and possible:
            fewest = min(possible)
            nearest = possible[fewest]
            raise TooFewUsersError(
                f"users must be at least {nearest.needed_users or fewest:,} for {nearest.title}, got {target.users:,}",
                minimum_users=fewest,
            )
        raise _nothing_fits(found.rows, target, most=practical_messages)
    return Choice(
        name=advice.name,
        entry=CATALOGUE[advice.name],
        protocol=found.protocols[advice.name],
        reason=advice.reason,
        limited=asked,
    )


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
    """Whether a curator should look at shuffled protocols too, and draw what their messages would have given.

    Laplace noise grows in proportion to the values that a person holds, as long as they are few; that of many people,
    which is nearly Gaussian, only with the square root, and so can be smaller from about three values on.
    """
    return target.values_per_person > 1


def offered(trust: TrustName) -> dict[str, Entry]:
    """What a release can be made with."""
    one_of("trust", trust, MODEL_OF)
    return {name: entry for name, entry in CATALOGUE.items() if entry.model == MODEL_OF[trust]}


def _fitting(protocol: str | None, estimator: str | None, *, listed: bool, trust: TrustName) -> list[str]:
    """Names of the catalogue that fit what is asked; without a protocol, those that the planner advises."""
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
    """Whether it may be taken without being asked for: a curator has two, and both are."""
    return entry.advised or entry.model == "central"


def _of_another_model(protocol: str, known: Mapping[str, Entry], trust: TrustName) -> str:
    """Why a protocol that exists is not used, and what to do instead."""
    model, names = CATALOGUE[protocol].model, [name for name, entry in known.items() if _advised(entry)]
    if trust == "curator":
        return f"protocol {protocol} is of the {model} model; with trust=curator there are {' and '.join(names)}"
    instead = ", or by a curator who is trusted with all data (trust=curator)" if model == "central" else ""
    return (
        f"protocol {protocol} is of the {model} model, which compare measures; a release is made with one of the "
        f"shuffled model: {', '.join(names)} and others{instead}"
    )

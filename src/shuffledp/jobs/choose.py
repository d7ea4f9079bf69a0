"""Which protocol a release uses: the one that is asked for, or the best of those that fit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from shuffledp.brief import Brief
from shuffledp.checks import failure_probability, one_of
from shuffledp.errors import ParameterError, TooFewUsersError
from shuffledp.jobs.advice import recommend
from shuffledp.jobs.rows import Rows
from shuffledp.progress import Progress, quiet
from shuffledp.protocols.catalogue import CATALOGUE, Entry, Model
from shuffledp.protocols.names import TrustName
from shuffledp.protocols.protocol import HistogramProtocol
from shuffledp.protocols.target import Target

_AS_ASKED = "as asked"

MODEL_OF: Mapping[TrustName, Model] = {"shuffler": "shuffled", "curator": "central"}
"""The model of the protocols for each of those who can be trusted."""


@dataclass(frozen=True, kw_only=True)
class Choice(Brief):
    """A calibrated protocol of the catalogue, and why it was chosen."""

    name: str
    entry: Entry
    protocol: HistogramProtocol
    reason: str

    @property
    def asked(self) -> bool:
        """Whether nothing was left to choose."""
        return self.reason == _AS_ASKED


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
        return Choice(name=name, entry=CATALOGUE[name], protocol=made, reason=_AS_ASKED)
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
            raise TooFewUsersError(f"{nearest.title} {nearest.problem}, not {target.users:,}", minimum_users=fewest)
        raise ParameterError(advice.reason)
    return Choice(
        name=advice.name,
        entry=CATALOGUE[advice.name],
        protocol=found.protocols[advice.name],
        reason=advice.reason + (", of those that fit" if asked else ""),
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
    read = {name: entry for name, entry in named.items() if estimator in (None, entry.reading)}
    if not read:
        possible = sorted({entry.reading for entry in named.values()})
        raise ParameterError(
            f"estimator must be {' or '.join(possible)}{f' for {protocol}' if protocol else ''}, got {estimator!r}"
        )
    usable = [name for name, entry in read.items() if listed or not entry.phantoms]
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

"""Which protocol a release uses: the one that is asked for, or the best of those that fit."""

from __future__ import annotations

import math
from dataclasses import dataclass

from shuffledp.brief import Brief
from shuffledp.checks import one_of
from shuffledp.errors import ParameterError, TooFewUsersError
from shuffledp.jobs.plan import plan_for, recommend
from shuffledp.progress import Progress, quiet
from shuffledp.protocols.catalogue import CATALOGUE, Entry
from shuffledp.protocols.protocol import HistogramProtocol
from shuffledp.protocols.target import Target

_AS_ASKED = "as asked"


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
    progress: Progress = quiet,
) -> Choice:
    """The protocol that is asked for, or the planner's advice among those that fit; calibrated once.

    `protocol` may leave the estimator open and the other way round. Where the possible values are not `listed`, only
    protocols that never report an empty bin fit.
    """
    fitting = _fitting(protocol, estimator, listed=listed)
    if protocol is not None and (protocol in fitting or len(fitting) == 1):
        name = protocol if protocol in fitting else fitting[0]
        progress("calibrating", 0.0)
        made = CATALOGUE[name].make(target)
        return Choice(name=name, entry=CATALOGUE[name], protocol=made, reason=_AS_ASKED)
    plan = plan_for(target, beta=beta, practical_messages=practical_messages, progress=progress)
    rows = [plan.row(name) for name in fitting]
    advice = recommend(rows, target, most=practical_messages)
    asked = protocol is not None or estimator is not None
    if advice.name is None and asked:  # what is asked for is made at any price
        advice = recommend(rows, target, most=math.inf)
    if advice.name is None:
        if asked:
            nearest = min(rows, key=lambda row: row.fewest_users)
            raise TooFewUsersError(
                f"{nearest.title} {nearest.problem}, not {target.users:,}", minimum_users=nearest.fewest_users
            )
        raise ParameterError(advice.reason)
    return Choice(
        name=advice.name,
        entry=CATALOGUE[advice.name],
        protocol=plan.protocols[advice.name],
        reason=advice.reason + (", of those that fit" if asked else ""),
    )


def _fitting(protocol: str | None, estimator: str | None, *, listed: bool) -> list[str]:
    """Names of the catalogue that fit what is asked; without a protocol, those that the planner advises."""
    offered = {name: entry for name, entry in CATALOGUE.items() if entry.model == "shuffled"}
    if protocol in CATALOGUE and protocol not in offered:
        model = CATALOGUE[protocol].model
        raise ParameterError(
            f"protocol {protocol} is of the {model} model, which compare measures; a release is made with one of the "
            f"shuffled model: {', '.join(name for name, entry in offered.items() if entry.advised)} and others"
        )
    if protocol is not None:
        one_of("protocol", protocol, offered)
    kinds = [entry.kind for name, entry in offered.items() if name == protocol and not entry.published]
    named = {
        name: entry
        for name, entry in offered.items()
        if name == protocol or (entry.advised and (protocol is None or entry.kind in kinds))
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

"""Which protocol a release uses: the one that is asked for, or the best of those that fit."""

from __future__ import annotations

from dataclasses import dataclass

from shuffledp.errors import ParameterError, TooFewUsersError
from shuffledp.jobs.plan import plan_for
from shuffledp.protocols.catalogue import CATALOGUE, Entry
from shuffledp.protocols.protocol import HistogramProtocol
from shuffledp.protocols.target import Target


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A calibrated protocol of the catalogue, and why it was chosen."""

    name: str
    entry: Entry
    protocol: HistogramProtocol
    reason: str


def choose(
    target: Target,
    *,
    beta: float,
    protocol: str | None,
    estimator: str | None,
    listed: bool,
    practical_messages: float,
) -> Choice:
    """The protocol that is asked for, or the planner's advice among those that fit; calibrated once.

    `protocol` may leave the estimator open and the other way round. Where the possible values are not `listed`, only
    protocols that never report an empty bin fit.
    """
    fitting = _fitting(protocol, estimator, listed=listed)
    if protocol is not None and (protocol in fitting or len(fitting) == 1):
        name = protocol if protocol in fitting else fitting[0]
        made = CATALOGUE[name].make(target)
        return Choice(name=name, entry=CATALOGUE[name], protocol=made, reason="as asked")
    advice = plan_for(target, beta=beta, practical_messages=practical_messages)
    if advice.recommended is None and protocol is None:
        raise ParameterError(advice.reason)
    if advice.recommended in fitting:
        name, reason = advice.recommended, advice.reason
    else:
        rows = [advice.row(fit) for fit in fitting]
        practical = [row for row in rows if row.messages <= practical_messages] or rows
        best = min(practical, key=lambda row: (row.simultaneous, row.messages))
        name, reason = best.name, f"{best.title} has the smallest error of those that fit"
        if best.problem:
            raise TooFewUsersError(
                f"{best.title} {best.problem}, not {target.users:,}", minimum_users=best.fewest_users
            )
    return Choice(name=name, entry=CATALOGUE[name], protocol=advice.protocols[name], reason=reason)


def _fitting(protocol: str | None, estimator: str | None, *, listed: bool) -> list[str]:
    """Names of the catalogue that fit what is asked; without a protocol, those that the planner advises."""
    offered = {name: entry for name, entry in CATALOGUE.items() if entry.model == "shuffled"}
    if protocol is not None and protocol not in offered:
        raise ParameterError(f"protocol must be among {', '.join(offered)}; got {protocol!r}")
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
    quiet = [name for name, entry in read.items() if listed or not entry.phantoms]
    if not quiet:
        raise ParameterError(
            "this protocol and estimator report every possible value: give the domain that lists them, or use the "
            "truncated estimator of hist or sparse"
        )
    return quiet

"""What one protocol gives for some people and values: a row of a plan."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from shuffledp.errors import ParameterError, TooFewUsersError
from shuffledp.progress import Progress, quiet
from shuffledp.protocols.catalogue import CATALOGUE, Entry, Model
from shuffledp.protocols.protocol import HistogramProtocol
from shuffledp.protocols.target import Target
from shuffledp.words import counted


@dataclass(frozen=True, kw_only=True)
class PlanRow:
    """What one protocol gives. Errors are in people; `problem` says why a protocol is not possible.

    `fewest_users` is None where nobody could use it.
    """

    name: str
    title: str
    model: Model
    phantom_bins: bool
    fewest_users: int | None = None
    per_bin: float = math.inf
    simultaneous: float = math.inf
    per_bin_share: float = math.inf
    simultaneous_share: float = math.inf
    surely_seen: float = math.inf
    messages: float = math.inf
    most_messages: float = math.inf
    bytes_per_person: float = math.inf
    problem: str = ""


@dataclass(frozen=True)
class Rows:
    """Rows in the order of their names, and the calibrated protocols of those that are possible."""

    rows: tuple[PlanRow, ...]
    protocols: Mapping[str, HistogramProtocol]

    @classmethod
    def of(
        cls, names: Sequence[str], target: Target, *, beta: float, listed: bool = True, progress: Progress = quiet
    ) -> Rows:
        """The rows of these names of the catalogue; `listed` says whether there is a list of the possible values."""
        rows, protocols = list[PlanRow](), dict[str, HistogramProtocol]()
        for done, name in enumerate(names):
            progress("planning", done / len(names))
            rows.append(_row(name, CATALOGUE[name], target, beta, protocols, listed=listed))
        progress("planning", 1.0)
        return cls(tuple(rows), protocols)

    def row(self, name: str) -> PlanRow:
        """The row of a protocol, by its short name."""
        return next(row for row in self.rows if row.name == name)


def _row(
    name: str, entry: Entry, target: Target, beta: float, made: dict[str, HistogramProtocol], *, listed: bool
) -> PlanRow:
    """The row of one protocol, which is kept among those that were made."""
    row = PlanRow(name=name, title=entry.title, model=entry.model, phantom_bins=entry.phantoms)
    if entry.phantoms and not listed:
        return replace(row, problem="shows every possible value, and so needs a list of them")
    try:
        fewest = entry.kind.minimum_users(
            epsilon=target.epsilon, delta=target.delta, values_per_person=target.values_per_person
        )
        row = replace(row, fewest_users=fewest)
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
        surely_seen=surely_seen(error.simultaneous, phantoms=entry.phantoms)
        if math.isfinite(error.simultaneous)
        else math.inf,
        messages=messages.expected,
        most_messages=messages.maximum,
        bytes_per_person=messages.expected * protocol.bits_per_message / 8,
    )


def surely_seen(error: float, *, phantoms: bool) -> int:
    """The smallest count that stands out from empty bins, given the simultaneous error.

    A hidden bin is off by its whole count; where empty bins are noisy, both errors must be overcome.
    """
    return math.floor(error * (2 if phantoms else 1)) + 1

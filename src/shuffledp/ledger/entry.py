"""One entry of a ledger: a release and its privacy curve."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from typing import Any

from shuffledp.accounting.bounds import StatedCurve
from shuffledp.accounting.curve import Curve
from shuffledp.errors import DataError, ParameterError
from shuffledp.formatting import ShortRepr
from shuffledp.protocols.catalogue import from_record, to_record
from shuffledp.protocols.protocol import HistogramProtocol
from shuffledp.protocols.target import guarantee_or_usual

ELSEWHERE = "spent elsewhere"
_LONGEST = 200
"""Characters of a description, which is shown in a table."""


@dataclass(frozen=True, kw_only=True)
class LedgerEntry(ShortRepr):
    """A release with the exact parameters of its protocol, or a guarantee that was spent elsewhere.

    what            what was released, such as the name of a column
    epsilon, delta  the stated guarantee; the `curve`, computed from `parameters`, is what counts
    people          the number of people in the release
    version         of the package that wrote the entry
    published       whether the result came out; the entry counts either way
    parameters      of the protocol, as JSON; None for a guarantee that was spent elsewhere
    """

    number: int
    day: date
    what: str
    protocol: str
    epsilon: float
    delta: float
    people: int | None
    version: str
    published: bool
    parameters: str | None = field(repr=False)

    @property
    def curve(self) -> Curve:
        """The privacy curve, computed from the parameters."""
        if self.parameters is None:
            return StatedCurve(stated_epsilon=self.epsilon, stated_delta=self.delta)
        return self.made().privacy

    def made(self) -> HistogramProtocol:
        """Return the protocol of the release."""
        try:
            return remade(self.parameters or "")
        except DataError as reason:
            raise DataError(
                f"entry {self.number} of the ledger has no readable parameters, so nothing can be spent: {reason}; "
                f"version {self.version[:20]} of shuffledp wrote it"
            ) from None


def described(what: Any) -> str:
    """Return a description as one printable line."""
    if not isinstance(what, str) or not what.strip():
        raise ParameterError(f"what must describe the release, got {type(what).__name__} without text")
    line = " ".join("".join(mark if mark.isprintable() else " " for mark in what).split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def stated_guarantee(protocol: HistogramProtocol) -> tuple[float, float]:
    """Return the epsilon and the delta that a protocol was calibrated for."""
    guarantee = guarantee_or_usual(protocol)
    return guarantee.epsilon, guarantee.delta


def parameters_of(protocol: HistogramProtocol) -> str:
    """Return a protocol as JSON from which it can be restored exactly; raise if it cannot."""
    text = json.dumps(to_record(protocol), allow_nan=False, sort_keys=True)
    try:
        same = remade(text).privacy == protocol.privacy
    except DataError:
        same = False
    if not same:
        raise ParameterError(
            f"protocol must be one of the catalogue to be entered with its parameters, got {type(protocol).__name__}: "
            "enter its guarantee with spend_elsewhere before you release anything"
        )
    return text


@lru_cache(maxsize=512)
def remade(parameters: str) -> HistogramProtocol:
    """Return the protocol with these parameters."""
    try:
        record = json.loads(parameters)
    except ValueError:
        raise DataError("its parameters are not JSON") from None
    return from_record(record)

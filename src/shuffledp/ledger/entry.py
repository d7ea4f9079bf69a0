"""One line of a ledger: what was released, and the curve that it spent."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from typing import Any

from shuffledp.accounting.closed_form_curves import StatedCurve
from shuffledp.accounting.curve import Curve
from shuffledp.errors import DataError, ParameterError
from shuffledp.formatting import ShortRepr
from shuffledp.protocols.catalogue import from_record, to_record
from shuffledp.protocols.guarantee import promised_or_usual
from shuffledp.protocols.protocol import HistogramProtocol

ELSEWHERE = "spent elsewhere"
_LONGEST = 200
"""Characters of a description: it is a title, and stands in a table."""


@dataclass(frozen=True, kw_only=True)
class LedgerEntry(ShortRepr):
    """A release, with the exact parameters of its protocol, or a guarantee that was given elsewhere.

    `what` says what was asked, such as the name of a column. `epsilon` and `delta` are what was promised; what counts
    is `curve`, made anew from the `parameters`, which are None for what was spent elsewhere. `people` took part,
    `version` is that of the package. `published` is for information: a release counts whether or not it came out.
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
        """What was spent, from the parameters and not from the figures."""
        if self.parameters is None:
            return StatedCurve(stated_epsilon=self.epsilon, stated_delta=self.delta)
        return self.made().privacy

    def made(self) -> HistogramProtocol:
        """The protocol of the release."""
        try:
            return remade(self.parameters or "")
        except DataError as reason:
            raise DataError(
                f"entry {self.number} of the ledger cannot be accounted for, so nothing can be spent: {reason}; it was "
                f"made by version {self.version[:20]} of shuffledp"
            ) from None


def described(what: Any) -> str:
    """A description that fits a table: text of one line."""
    if not isinstance(what, str) or not what.strip():
        raise ParameterError(f"what must say in a few words what is released, got {type(what).__name__} without text")
    line = " ".join("".join(mark if mark.isprintable() else " " for mark in what).split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def promised(protocol: HistogramProtocol) -> tuple[float, float]:
    """The epsilon and the delta that a protocol was made for."""
    promise = promised_or_usual(protocol)
    return promise.epsilon, promise.delta


def parameters_of(protocol: HistogramProtocol) -> str:
    """A protocol as text from which exactly it can be made again; refused if that is not so."""
    text = json.dumps(to_record(protocol), allow_nan=False, sort_keys=True)
    try:
        same = remade(text).privacy == protocol.privacy
    except DataError:
        same = False
    if not same:
        raise ParameterError(
            f"{type(protocol).__name__} cannot be entered with its parameters, only protocols of the catalogue can: "
            "enter its guarantee with spend_elsewhere before you release anything"
        )
    return text


@lru_cache(maxsize=512)
def remade(parameters: str) -> HistogramProtocol:
    """The protocol of some parameters."""
    try:
        record = json.loads(parameters)
    except ValueError:
        raise DataError("its parameters are damaged") from None
    return from_record(record)

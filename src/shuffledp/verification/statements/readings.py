"""How tallies are read: estimates and intervals for every tally that a few people can make, with its probability.

Nothing is drawn: the law of the tally is that of the protocol's definition, and the shipped reading is asked about each
of its outcomes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from shuffledp.errors import DataError
from shuffledp.pipeline.tally import Tally
from shuffledp.reading.reading import Reading
from shuffledp.verification.drawn.specimen import FloatLaw, Specimen, Vector
from shuffledp.verification.drawn.specimens import SPECIMENS
from shuffledp.verification.statements.verdict import ENUMERATED, Verdict

BETA = 0.1
_ORACLE = "every tally of a few people, with its probability"
_RARE = 1e-7
"""Tallies less likely than this hardly move an expected estimate, and are left out of it."""
_OFF = 1e-3
"""People: what is left out moves it by less."""
_ENOUGH, _UNLIKELY = 0.96, 1e-4
"""The most likely tallies, up to this share of all, are asked about, and all that are not unlikely; the others count as
failures."""


def of_specimen(name: str) -> Iterator[Verdict]:
    """Estimates that are right on average, or never too large for an empty bin; intervals that hold."""
    specimen = SPECIMENS[name]()
    title, reading = type(specimen.protocol).__name__, specimen.reading
    yield Verdict.at_most(
        statement=f"{title}, intervals",
        claim=f"chance that one fails at most, beta {BETA:g}",
        claimed=BETA,
        exact=_failing(specimen),
        basis=ENUMERATED,
        oracle=_ORACLE,
    )
    if reading is None:  # a sum of shares, whose estimate is the sum itself
        return
    if reading.name == "unbiased":
        yield Verdict.at_most(
            statement=f"{title}, estimates",
            claim="people, expected estimate off by",
            claimed=_OFF,
            exact=_bias(specimen, reading),
            basis=ENUMERATED,
            oracle=_ORACLE,
        )
    elif reading.name == "truncated":
        yield Verdict.at_most(
            statement=f"{title}, an empty bin",
            claim="chance that it is reported",
            claimed=0.0,
            exact=_phantoms(specimen),
            basis=ENUMERATED,
            oracle=_ORACLE,
        )


def _likely(law: FloatLaw) -> Iterator[tuple[Vector, float]]:
    """The most likely tallies."""
    seen = 0.0
    for row, p in sorted(law.items(), key=lambda entry: -entry[1]):
        if seen > _ENOUGH and p < _UNLIKELY:
            return
        seen += p
        yield row, p


def _tally(specimen: Specimen, row: Vector) -> Tally:
    """Counts as the protocol's tally has them."""
    counts = np.array(row) if specimen.modulus is None else np.array(row) % specimen.modulus
    if counts.size == 1:
        return Tally(np.array(specimen.labels), counts, drawn=True)
    rows = counts if specimen.kinds == 1 else counts.reshape(-1, specimen.kinds)
    return Tally(np.arange(len(rows)), rows, drawn=True)


def _failing(specimen: Specimen) -> float:
    """How likely some interval does not hold its true count, over all tallies; what is refused is not published."""
    held = 0.0
    for row, p in _likely(specimen.tally_law):
        try:
            estimate = specimen.protocol.estimate(_tally(specimen, row), beta=BETA)
        except DataError:
            held += p
            continue
        intervals = (estimate.interval(label) for label in specimen.labels)
        if all(low <= true <= high for true, (low, high) in zip(specimen.truth, intervals, strict=True)):
            held += p
    return 1 - held


def _bias(specimen: Specimen, reading: Reading) -> float:
    """How far the expected estimate of a bin is from its true count, at most."""
    expected: Any = 0.0
    for row, p in specimen.tally_law.items():
        if p < _RARE:
            continue
        expected = expected + p * reading.point(reading.evidence(_tally(specimen, row)))
    return float(np.abs(expected - np.array(specimen.truth)).max())


def _phantoms(specimen: Specimen) -> float:
    """How likely the last bin is reported where nobody holds it."""
    empty = specimen.with_dataset((specimen.values[0],) * len(specimen.dataset))
    reported = 0.0
    for row, p in _likely(empty.tally_law):
        estimate = specimen.protocol.estimate(_tally(specimen, row), beta=BETA)
        reported += p * (estimate[specimen.labels[-1]] != 0)
    return reported

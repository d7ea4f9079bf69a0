"""From the possible values of a column, or of several, to what makes bins of them."""

from __future__ import annotations

from collections.abc import Sequence

from shuffledp.engines.bins import Encoder
from shuffledp.engines.bins.codebook import Codebook
from shuffledp.engines.bins.cross_bins import CrossBins
from shuffledp.engines.bins.date_bins import DateBins
from shuffledp.engines.bins.number_bins import NumberBins
from shuffledp.engines.bins.possible_values import Possible
from shuffledp.engines.cross_kinds import CrossKind
from shuffledp.engines.kinds import Kind
from shuffledp.errors import ParameterError
from shuffledp.pipeline.edges import Edges
from shuffledp.pipeline.periods import Periods


def encoder_of(
    possible: Sequence[Possible], kind: Kind | CrossKind, *, missing: bool, other: bool, refuses: bool = True
) -> Encoder:
    """What makes bins of one column or of several; `other` is for those with a list.

    Unless it `refuses` what has no bin, everything has one: what is outside a list is counted together, and what is no
    number or date as missing.
    """
    listed = [not isinstance(part, Edges | Periods) for part in possible]
    if other and not any(listed):
        raise ParameterError("other is for lists of values: intervals and periods leave no value out")
    kinds = kind.kinds if isinstance(kind, CrossKind) else (kind,)
    encoders = [
        _encoder(part, one, missing=missing or not (refuses or is_list), other=(other or not refuses) and is_list)
        for part, one, is_list in zip(possible, kinds, listed, strict=True)
    ]
    return CrossBins(encoders) if isinstance(kind, CrossKind) else encoders[0]


def _encoder(possible: Possible, kind: Kind, *, missing: bool, other: bool) -> Encoder:
    """The bins of one column, from a list of labels, edges of numbers or periods of time."""
    if isinstance(possible, Edges):
        return NumberBins(possible, label_type=kind, missing=missing)
    if isinstance(possible, Periods):
        return DateBins(possible, label_type=kind, missing=missing)
    return Codebook(possible, label_type=kind, missing=missing, other=other)

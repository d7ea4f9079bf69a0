"""From what people say about possible values to what makes bins of a column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shuffledp.engines.codebook import Codebook
from shuffledp.engines.cross_bins import Encoder
from shuffledp.engines.date_bins import DateBins
from shuffledp.engines.number_bins import NumberBins
from shuffledp.errors import ParameterError
from shuffledp.pipeline.edges import Edges
from shuffledp.pipeline.periods import Periods


def encoder(possible: Sequence[Any] | Edges | Periods, *, label_type: Any, missing: bool, other: bool) -> Encoder:
    """The bins of one column, from a list of labels, edges of numbers or periods of time."""
    if not isinstance(possible, Edges | Periods):
        return Codebook(possible, label_type=label_type, missing=missing, other=other)
    if other:
        raise ParameterError("other is for lists of values: intervals and periods leave no value out")
    if isinstance(possible, Edges):
        return NumberBins(possible, label_type=label_type, missing=missing)
    return DateBins(possible, label_type=label_type, missing=missing)

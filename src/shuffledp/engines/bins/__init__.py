"""From the possible values of a column to the bins of its entries, for whole Arrow arrays at once."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from shuffledp.pipeline.domain import Domain


class Encoder(Protocol):
    """What makes bins of an Arrow array: a list of values, intervals of numbers, periods, or all of them crossed."""

    @property
    def domain(self) -> Domain:
        """The labels of the bins."""

    def __call__(self, values: Any) -> NDArray[np.int64]:
        """The bin of every value."""

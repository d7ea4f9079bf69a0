"""The bins of pairs, or of longer rows, of values: one encoder for each column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.engines.bins import Encoder
from shuffledp.errors import ParameterError
from shuffledp.pipeline.domain import Domain


class CrossBins:
    """Rows of several columns, as an Arrow array of structs whose fields are the columns in their order.

    The bin of a row follows from those of its values, the last of which changes fastest; its label is their tuple.
    """

    def __init__(self, encoders: Sequence[Encoder]) -> None:
        if len(encoders) < 2:
            raise ParameterError("a cross table needs at least two columns")
        self._encoders = tuple(encoders)
        self.domain = Domain.product([encode.domain for encode in self._encoders])

    def __call__(self, values: Any) -> NDArray[np.int64]:
        """The bin of every row of an Arrow array of structs."""
        import pyarrow

        whole = values.combine_chunks() if isinstance(values, pyarrow.ChunkedArray) else values
        found = np.zeros(len(whole), dtype=np.int64)
        for encode, column in zip(self._encoders, whole.flatten(), strict=True):
            found = found * encode.domain.size + encode(column)
        return found

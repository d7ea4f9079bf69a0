"""How many of some increasing thresholds each whole number reaches, for whole arrays at once and exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.errors import DataError

MISSING = -1
"""In the place of the number of a value that is missing."""


def reached(numbers: NDArray[Any], thresholds: Sequence[int]) -> NDArray[np.int64]:
    """How many thresholds are at most each number of an integer array, whatever its width.

    Thresholds that no number of that width can lie below or reach are not converted to it.
    """
    width = np.iinfo(numbers.dtype)
    always = sum(threshold <= width.min for threshold in thresholds)
    within = [threshold for threshold in thresholds if width.min < threshold <= width.max]
    return always + np.searchsorted(np.array(within, dtype=numbers.dtype), numbers, side="right").astype(np.int64)


def filled(values: Any) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """The numbers of an Arrow array, 0 where one is missing, and which are missing; None if none is."""
    import pyarrow
    import pyarrow.compute as compute

    if not values.null_count:
        return values.to_numpy(zero_copy_only=False), None
    zero = pyarrow.scalar(0).cast(values.type)
    numbers = compute.fill_null(values, zero).to_numpy(zero_copy_only=False)
    return numbers, compute.is_null(values).to_numpy(zero_copy_only=False)


def with_missing(found: NDArray[np.int64], missing: NDArray[np.bool_] | None) -> NDArray[np.int64]:
    """Numbers of intervals, with `MISSING` where there is no value."""
    if missing is not None:
        found[missing] = MISSING
    return found


def with_their_bin(found: NDArray[np.int64], *, missing: int | None, refusal: str) -> NDArray[np.int64]:
    """Numbers of intervals, with the bin of missing values in the place of `MISSING`; refused where there is none."""
    absent = found == MISSING
    if absent.any():
        if missing is None:
            raise DataError(refusal)
        found[absent] = missing
    return found


def one_array(values: Any) -> Any:
    """An Arrow array in one piece, its entries themselves and not codes of them."""
    import pyarrow

    if isinstance(values, pyarrow.ChunkedArray):
        values = values.combine_chunks()
    if pyarrow.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    return values


def is_text(kind: Any) -> bool:
    """Whether a type of Arrow is text."""
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))

"""The bins of values in a listed domain, for whole Arrow arrays at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.errors import DataError, ParameterError
from shuffledp.pipeline.domain import Domain

OTHER = "(other)"
"""The label of all values outside the domain together."""


class Codebook:
    """A listed domain for a column: its labels, then missing (unless dropped), then all other values (if wanted).

    The extra bins are there whether or not anybody needs them, so that they say nothing about the data.
    """

    def __init__(self, labels: Sequence[Any], *, label_type: Any, missing: bool, other: bool) -> None:
        listed = _of_type(list(labels), label_type)
        if missing and not listed.null_count:
            listed = _joined(listed, [None])
        if other and OTHER in (known := listed.to_pylist()):
            raise ParameterError(f"the domain has a label {OTHER!r} of its own: rename it, or leave out other")
        self._listed, self._other = listed, other
        self.domain = Domain.of([*known, OTHER] if other else listed.to_pylist())

    def __call__(self, values: Any) -> NDArray[np.int64]:
        """The bin of every value of an Arrow array."""
        import pyarrow.compute as compute

        found = compute.index_in(values, value_set=self._listed)
        if found.null_count and not self._other:
            raise DataError(
                "a value is not in the domain (it is not shown, since it may be personal): list every possible value, "
                "or count all others together: --other, in Python other=True"
            )
        return np.asarray(compute.fill_null(found, len(self._listed)), dtype=np.int64)


def _of_type(labels: list[Any], label_type: Any) -> Any:
    """Labels as an Arrow array of the column's type; text is read as numbers or dates where the column has those."""
    import pyarrow

    try:
        if labels and all(isinstance(label, str) for label in labels):
            listed = pyarrow.array(labels, pyarrow.string()).cast(label_type)
        else:
            listed = pyarrow.array(labels, label_type)
        if pyarrow.types.is_floating(label_type):
            listed = pyarrow.array([None if x is None else x + 0.0 for x in listed.to_pylist()], label_type)
        return listed
    except (
        pyarrow.ArrowInvalid,
        pyarrow.ArrowTypeError,
        pyarrow.ArrowNotImplementedError,
        OverflowError,
        UnicodeError,
    ):
        raise ParameterError(f"a label of the domain does not fit the column, whose values are {label_type}") from None


def _joined(listed: Any, more: list[Any]) -> Any:
    import pyarrow

    return pyarrow.concat_arrays([listed, pyarrow.array(more, listed.type)])

"""What people hold who hold several values: at most a known number of different bins, filled up to exactly that number.

Who holds fewer takes the first fillers, each once. So every bin, also a filler, counts a person at most once, and a
replaced person moves at most that number of bins down and as many up, each by one. One filler for all that is missing
would move by more.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.errors import DataError
from shuffledp.words import readable

NONE = -1
"""Stands where a person holds no further value."""


def filled_up(values: ArrayLike, *, bins: int, each: int, fillers: int) -> NDArray[np.int64]:
    """Rows of exactly `each` different bins, one row for each person; a flat array where everybody holds one.

    `values` has a row for each person, of at most `each` bins, and NONE where there is none. The last `fillers` of all
    `bins` fill up what is missing.
    """
    rows = _rows(values, real=bins - fillers, each=each)
    held = rows != NONE
    missing = each - held.sum(axis=1)
    if not fillers and missing.any():
        raise DataError(f"everybody holds exactly {each} values here: a person has fewer")
    whole = np.full((rows.shape[0], each), NONE, dtype=np.int64)
    whole[:, : rows.shape[1]] = rows
    empty = whole == NONE
    # the first empty place takes the first filler, and so on
    whole[empty] = (bins - fillers + np.cumsum(empty, axis=1) - 1)[empty]
    _refuse_repeated(whole)
    return whole[:, 0] if each == 1 else whole


def holders_of_fillers(holdings: ArrayLike) -> NDArray[np.int64]:
    """How many people hold each filler, from how many hold 0, 1, ... up to all values: the i-th those who lack i."""
    by_number = np.asarray(holdings, dtype=np.int64)
    return np.cumsum(by_number)[-2::-1]


def _rows(values: ArrayLike, *, real: int, each: int) -> NDArray[np.int64]:
    rows = np.asarray(values)
    if not rows.size:
        rows = rows.reshape(rows.shape[0] if rows.ndim == 2 else 0, 0).astype(np.int64)
    if rows.ndim == 1 and each == 1:
        rows = rows[:, np.newaxis]
    if rows.ndim != 2 or rows.shape[1] > each:
        raise DataError(f"a row of at most {each} bins for each person is needed, with -1 where there is none")
    if rows.size and (rows.dtype.kind not in "iu" or rows.min() < NONE or rows.max() >= real):
        raise DataError(
            f"a value is not a bin between 0 and {readable(real - 1)}, or -1 for none (it is not shown, since it may "
            "be personal); encode labels with Domain.encode first"
        )
    return rows.astype(np.int64)


def _refuse_repeated(whole: NDArray[Any]) -> None:
    """A bin that a person held twice would move by two, and break the promise."""
    ordered = np.sort(whole, axis=1)
    if (ordered[:, 1:] == ordered[:, :-1]).any():
        raise DataError("a person holds a bin twice: each of their values counts once")

"""Remainders of many sums modulo a number, as fixed-point fractions whose overflow is the modulo.

A remainder r of q is held as the machine word r 2^b / q, rounded, of b = 32 or 64 bits. Products with small whole
numbers and sums of such words wrap around at 2^b, which stands for q, so no division is needed. Each of D digits below
q adds an error of at most q / 2, and one half of 2^b / q is added beforehand: with D q^2 + 2 q < 2^b every word stays
inside the interval of its remainder, and the result is exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

_ROWS_AT_ONCE, _COLUMNS_AT_ONCE = 64, 4096
"""Sums that are made together, so that they stay in the cache: a megabyte of 32-bit words."""

_SPARSE = 4
"""Below one in this number of remainders, the small ones are selected before they are counted."""


class Remainders:
    """The remainders (row . column + shift) mod `modulus` for columns of coefficients, and any rows of digits.

    `coefficients` has one row of D numbers below the modulus for each column, `shift` one number.
    """

    def __init__(self, coefficients: NDArray[np.int64], shift: NDArray[np.int64], *, modulus: int) -> None:
        digits, self._modulus = coefficients.shape[1], modulus
        self._bits = 32 if digits * modulus**2 + 2 * modulus < 1 << 32 else 64
        self._type: Any = np.uint32 if self._bits == 32 else np.uint64
        self._columns = np.ascontiguousarray(self._words(coefficients).T)
        self._shift = self._words(shift) + self._type((1 << self._bits) // (2 * modulus))

    def _words(self, numbers: NDArray[np.int64]) -> NDArray[Any]:
        """The nearest words to numbers * 2^b / q."""
        whole, rest = divmod(1 << self._bits, self._modulus)
        small = (numbers * rest + self._modulus // 2) // self._modulus
        return (numbers.astype(np.uint64) * np.uint64(whole) + small.astype(np.uint64)).astype(self._type)

    def count_below(self, rows: NDArray[np.int64], limit: int) -> NDArray[np.int64]:
        """How often each remainder below a limit occurs among all columns, as one row for each row of digits."""
        found = np.zeros((rows.shape[0], limit), dtype=np.int64)
        for first in range(0, rows.shape[0], _ROWS_AT_ONCE):
            block = rows[first : first + _ROWS_AT_ONCE]
            counts = np.zeros(block.shape[0] * limit, dtype=np.int64)
            for places in _joined((self._places(words, limit) for words in self._sums(block)), counts.size):
                counts += np.bincount(places, minlength=counts.size)
            found[first : first + _ROWS_AT_ONCE] = counts.reshape(block.shape[0], limit)
        return found

    def count_zeros(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The number of remainders that are 0, for each row of digits."""
        found = np.zeros(rows.shape[0], dtype=np.int64)
        for first in range(0, rows.shape[0], _ROWS_AT_ONCE):
            block = rows[first : first + _ROWS_AT_ONCE]
            for words in self._sums(block):
                found[first : first + _ROWS_AT_ONCE] += np.count_nonzero(words < self._above(1), axis=1)
        return found

    def _above(self, limit: int) -> Any:
        """A word above all remainders below a limit, and below all others."""
        return self._type((limit << self._bits) // self._modulus)

    def _places(self, words: NDArray[Any], limit: int) -> NDArray[np.int64]:
        """The remainder below a limit of each such word, added to limit * its row."""
        scale, width = self._modulus / 2.0**self._bits, words.shape[1]
        if limit * _SPARSE <= self._modulus:
            at = np.flatnonzero(words < self._above(limit))
            return np.asarray((words.ravel()[at] * scale).astype(np.int64) + at // width * limit)
        remainders = (words * scale).astype(np.int64)
        remainders += np.arange(words.shape[0])[:, np.newaxis] * limit
        if limit == self._modulus:
            return remainders.ravel()
        return np.asarray(remainders[words < self._above(limit)])

    def _sums(self, rows: NDArray[np.int64]) -> Iterator[NDArray[Any]]:
        """The words of all columns part by part, with one row for each row of digits; each part is overwritten."""
        digits, size = rows.astype(self._type)[:, :, np.newaxis], self._shift.size
        width = min(size, _COLUMNS_AT_ONCE)
        whole, product = (np.empty((rows.shape[0], width), dtype=self._type) for _ in range(2))
        for start in range(0, size, _COLUMNS_AT_ONCE):
            part = slice(start, min(start + _COLUMNS_AT_ONCE, size))
            if part.stop - start < whole.shape[1]:
                whole, product = whole[:, : part.stop - start].copy(), product[:, : part.stop - start].copy()
            whole[:] = self._shift[part]
            for at, column in enumerate(self._columns):
                np.multiply(digits[:, at], column[part], out=product)
                np.add(whole, product, out=whole)
            yield whole


def _joined(parts: Iterator[NDArray[np.int64]], least: int) -> Iterator[NDArray[np.int64]]:
    """The same numbers in arrays of at least this size, except for the last one."""
    waiting, size = list[NDArray[np.int64]](), 0
    for part in parts:
        waiting.append(part)
        size += part.size
        if size >= least:
            yield np.concatenate(waiting)
            waiting, size = [], 0
    if waiting:
        yield np.concatenate(waiting)

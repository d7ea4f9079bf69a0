"""Linear hash functions modulo a prime, and the number of messages that are consistent with each value.

A value is written as digits: its place among the `pieces` of its parent, then the digits of the parent to the base of
the modulus q. A seed stands for one coefficient for each digit, and the bucket of a value is (sum of coefficient *
digit) mod q. For a parent and a message with a first coefficient other than 0 exactly one piece, of q possible ones, is
consistent with the message:

    piece = (bucket - sum over the parent's digits) / first coefficient mod q.

docs/proofs/hashed-histogram.md has the proofs.

`Remainders` hold a remainder r of q as the machine word r 2^b / q, rounded, of b = 32 or 64 bits. Products with small
whole numbers and sums of such words wrap around at 2^b, which stands for q, so no division is needed. Each of D digits
below q adds an error of at most q / 2, and one half of 2^b / q is added beforehand: with D q^2 + 2 q < 2^b every word
stays inside the interval of its remainder, and the result is exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.errors import ParameterError
from shuffledp.formatting import readable

_ROWS_AT_ONCE, _COLUMNS_AT_ONCE = 64, 4096
"""Sums that are made together, so that they stay in the cache: a megabyte of 32-bit words."""

_SPARSE = 4
"""Below one in this number of remainders, the small ones are selected before they are counted."""


class Remainders:
    """The remainders (row . column + shift) mod `modulus` for columns of coefficients, and any rows of digits.

    `coefficients` has a row of D numbers below the modulus for each column, `shift` one number.
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
        """How often each remainder below a limit occurs among all columns, one row for each row of digits."""
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
        """The words of all columns part by part, one row for each row of digits; each part is overwritten."""
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


MOST_MODULUS = 1 << 24
"""The most buckets: sums of products of two digits are then exact in a machine word."""

EXPANDED_SEEDS = 1 << 36
"""The number of seeds that are expanded. With all people holding one value, the expected number of them in a bucket is
then off by at most a few parts in 10^4."""

MOST_MESSAGES = 1 << 62
"""The most different messages of a protocol; each is one machine integer."""

MOST_HASHED = 1 << 62
"""The most values that are hashed; each is one machine integer."""

MOST_LEVELS = 64
"""The most levels of a protocol, each with its own messages: with more, every level has too much noise."""

_MESSAGES_AT_ONCE = 1 << 20
"""Messages that are decoded together, so that the memory does not grow with their number."""

_FEWEST_MESSAGES = 1 << 14
"""The fewest messages for which a thread is worthwhile."""

_STRIDE, _STEP = 64, 0x9E3779B97F4A7C15
"""Coefficient i of a seed is expanded from 64 seed + i + _STEP; no value has 64 digits."""


@dataclass(frozen=True, kw_only=True)
class HashFamily:
    """Hash functions of `values` into `modulus` buckets, one for each of `seeds`; a parent has `pieces` values."""

    modulus: int
    values: int
    pieces: int
    seeds: int

    def __post_init__(self) -> None:
        if not 2 <= self.modulus <= MOST_MODULUS or not is_prime(self.modulus):
            raise ParameterError(f"modulus must be a prime up to {MOST_MODULUS}, got {readable(self.modulus)}")
        if not 1 <= self.values <= MOST_HASHED:
            raise ParameterError(f"values must be 1 to {MOST_HASHED} to be hashed, got {readable(self.values)}")
        if not 1 <= self.pieces <= self.modulus:
            raise ParameterError(f"pieces must be 1 to the number of buckets {self.modulus}, got {self.pieces}")
        if self.seeds not in (self.modulus**self.digits, EXPANDED_SEEDS):
            raise ParameterError(f"seeds must be modulus^{self.digits} or {EXPANDED_SEEDS}, got {readable(self.seeds)}")

    @classmethod
    def of(cls, *, modulus: int, values: int, pieces: int | None = None, levels: int = 1) -> HashFamily:
        """Return the family with all coefficients as seeds, if messages of all levels fit a machine integer."""
        pieces = modulus if pieces is None else pieces
        every = modulus ** (1 + _length(_parents(values, pieces) - 1, modulus))
        fits = levels * every * modulus <= MOST_MESSAGES
        return cls(modulus=modulus, values=values, pieces=pieces, seeds=every if fits else EXPANDED_SEEDS)

    @property
    def messages(self) -> int:
        """The number of different messages, seed * modulus + bucket."""
        return self.seeds * self.modulus

    @property
    def parents(self) -> int:
        """The number of parents; the last one may have fewer pieces."""
        return _parents(self.values, self.pieces)

    @cached_property
    def digits(self) -> int:
        """The number of digits of a value, and of coefficients of a seed."""
        return 1 + _length(self.parents - 1, self.modulus)

    @property
    def expanded(self) -> bool:
        """Whether coefficients are expanded from a shorter seed."""
        return bool(self.seeds != self.modulus**self.digits)

    def coefficients(self, seeds: NDArray[np.int64]) -> NDArray[np.int64]:
        """The coefficients of every seed, one row for each seed."""
        if not self.expanded:
            return _digits(seeds, self.modulus, self.digits)
        start = seeds.astype(np.uint64) * np.uint64(_STRIDE)
        each = (start[:, np.newaxis] + np.arange(self.digits, dtype=np.uint64)).astype(np.uint64)
        return (mix(each) % np.uint64(self.modulus)).astype(np.int64)

    def digits_of(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """The digits of every value, one row for each value."""
        parents, piece = np.divmod(values, self.pieces)
        return np.column_stack([piece, self._parent_digits(parents)])

    def buckets(self, seeds: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[np.int64]:
        """The bucket of every value under the seed beside it."""
        sums = np.sum(self.coefficients(seeds) * self.digits_of(values), axis=1, dtype=np.int64)
        return np.asarray(sums % self.modulus)

    def supports(
        self, messages: NDArray[np.int64], parents: NDArray[np.int64], *, threads: int = 1
    ) -> NDArray[np.int64]:
        """The number of messages consistent with every piece of every parent, one row for each parent."""
        digits = self._parent_digits(parents)
        return _added(lambda part: self._supports(part, digits), messages, threads)

    def count(self, messages: NDArray[np.int64], values: NDArray[np.int64], *, threads: int = 1) -> NDArray[np.int64]:
        """The number of messages consistent with each of a few values."""
        digits = self.digits_of(values)
        return _added(lambda part: self._count(part, digits), messages, threads)

    def _supports(self, messages: NDArray[np.int64], parents: NDArray[np.int64]) -> NDArray[np.int64]:
        modulus = self.modulus
        seeds, buckets = np.divmod(messages, modulus)
        coefficients = self.coefficients(seeds)
        first, rest = coefficients[:, 0], coefficients[:, 1:]
        usable = first != 0
        inverse = self._inverses(first[usable])
        slopes = (-rest[usable] * inverse[:, np.newaxis]) % modulus
        pieces = Remainders(slopes, buckets[usable] * inverse % modulus, modulus=modulus)
        found = pieces.count_below(parents, self.pieces)
        # without a first coefficient, a message is consistent with all pieces of a parent or with none
        whole = Remainders(rest[~usable], -buckets[~usable] % modulus, modulus=modulus)
        found += whole.count_zeros(parents)[:, np.newaxis]
        return found

    def _count(self, messages: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[np.int64]:
        seeds, buckets = np.divmod(messages, self.modulus)
        return Remainders(self.coefficients(seeds), -buckets % self.modulus, modulus=self.modulus).count_zeros(values)

    def _parent_digits(self, parents: NDArray[np.int64]) -> NDArray[np.int64]:
        return _digits(parents, self.modulus, self.digits - 1)

    def _inverses(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        if numbers.size > self.modulus:
            return self._inverse_table[numbers]
        return _power(numbers, self.modulus - 2, self.modulus)

    @cached_property
    def _inverse_table(self) -> NDArray[np.int64]:
        return _power(np.arange(self.modulus), self.modulus - 2, self.modulus)


def mix(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scramble 64-bit words: the output function of the SplitMix64 generator."""
    z = words + np.uint64(_STEP)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)), dtype=np.uint64)


def is_prime(number: int) -> bool:
    """Whether a number is prime, by trial division."""
    if number < 4:
        return number > 1
    return number % 2 == 1 and all(number % divisor for divisor in range(3, int(number**0.5) + 1, 2))


def next_prime(number: int) -> int:
    """The smallest prime that is not below a number."""
    while not is_prime(number):
        number += 1
    return number


def _added(
    count: Callable[[NDArray[np.int64]], NDArray[np.int64]], messages: NDArray[np.int64], threads: int
) -> NDArray[np.int64]:
    """Counts of parts of the messages are made in threads: numpy releases the interpreter's lock."""
    number = max(1, math.ceil(messages.size / _MESSAGES_AT_ONCE), min(threads, messages.size // _FEWEST_MESSAGES))
    parts = np.array_split(messages, number)
    if threads == 1:
        return _sum(map(count, parts))
    with ThreadPoolExecutor(threads) as pool:
        return _sum(pool.map(count, parts))


def _sum(parts: Iterator[NDArray[np.int64]]) -> NDArray[np.int64]:
    """In place, since counts of a large domain take half a gigabyte."""
    total = next(parts)
    for part in parts:
        total += part
    return total


def _parents(values: int, pieces: int) -> int:
    return -(-values // pieces)


def _length(number: int, base: int) -> int:
    """The number of digits to a base; 0 for 0."""
    length = 0
    while number:
        number, length = number // base, length + 1
    return length


def _digits(numbers: NDArray[np.int64], base: int, length: int) -> NDArray[np.int64]:
    """The lowest digit first, one row for each number."""
    found, rest = np.empty((numbers.size, length), dtype=np.int64), numbers
    for at in range(length):
        rest, found[:, at] = np.divmod(rest, base)
    return found


def _power(numbers: NDArray[np.int64], exponent: int, modulus: int) -> NDArray[np.int64]:
    """Powers modulo a number below 2^31."""
    found, square = np.ones_like(numbers), numbers % modulus
    while exponent:
        if exponent & 1:
            found = found * square % modulus
        square, exponent = square * square % modulus, exponent >> 1
    return found

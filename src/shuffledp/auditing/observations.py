"""The statistics that an audit computes from outputs of a mechanism: one number per output and per question.

Of messages, it asks for the number of each kind and in total; for the message at some places, which detects a shuffler
that keeps the order; and for the number of a kind in a stretch of places (the first few, the last few, around the
person who differs), which detects a shuffler that shuffles inside groups.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shuffledp.errors import DataError

Score = Callable[[NDArray[np.float64]], NDArray[np.float64]]

SCORES = (
    "a weighted sum of all numbers, whole and by places",
    "the likelihood ratio of all numbers",
    "the fitted likelihood ratio of the numbers, whole and by places, that tell most",
    "the fitted likelihood ratio of the totals that tell most",
)

_MOST_CELLS = 30
"""So that 250 examples leave about eight in each cell of a number with many values."""
_SMOOTHING = 2.0
"""Added to every cell's count, so that a cell that does not occur in one sample has a finite ratio."""
_RIDGE = 1e-6
"""Added to every variance, so that a constant number has a finite weight. Counts vary by far more."""
_FITTED = 6
"""Numbers in a fitted ratio: with squares and products these are 28 weights, for about a hundred examples."""
_FITTED_RIDGE = 1.0
"""The regularization of fitted weights, in examples; it matters only if there are few."""
_STEPS = 25
"""Of Newton's method, which converges in far fewer."""


def learn(
    one: NDArray[np.float64], other: NDArray[np.float64], *, totals: int, numbers: int
) -> tuple[Score, Score, Score, Score]:
    """Learn Fisher's discriminant, the likelihood ratio of independent numbers, and two fitted ratios.

    The first `totals` columns are about whole outputs and the first `numbers` are numbers.
    """
    weights = _discriminant(one[:, :numbers], other[:, :numbers])
    # the last total is nearly the sum of the others, and would be counted twice
    single = max(1, totals - 1)
    ratios = [_log_ratio(one[:, column], other[:, column]) for column in range(single)]
    return (
        lambda seen: seen[:, :numbers] @ weights,
        lambda seen: np.sum([ratio(seen[:, column]) for column, ratio in enumerate(ratios)], axis=0),
        _fitted(one, other, numbers),
        _fitted(one, other, totals),
    )


def _discriminant(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """The weights of the sum that separates both samples best if the numbers are nearly normal."""
    difference = one.mean(axis=0) - other.mean(axis=0)
    within = np.atleast_2d(np.cov(one, rowvar=False) + np.cov(other, rowvar=False))
    weights: NDArray[np.float64] = np.linalg.lstsq(within + _RIDGE * np.eye(difference.size), difference, rcond=None)[0]
    return weights


def _log_ratio(one: NDArray[np.float64], other: NDArray[np.float64]) -> Score:
    """The logarithm of the ratio of frequencies of a number, by cells of neighbouring numbers."""
    values = np.unique(np.concatenate([one, other]))
    if values.size > _MOST_CELLS:
        values = np.unique(np.quantile(np.concatenate([one, other]), np.arange(_MOST_CELLS) / _MOST_CELLS))

    def cell(numbers: NDArray[np.float64]) -> NDArray[np.int64]:
        return np.clip(np.searchsorted(values, numbers, side="right") - 1, 0, values.size - 1)

    counts = [np.bincount(cell(sample), minlength=values.size) + _SMOOTHING for sample in (one, other)]
    table = np.log(counts[0] / counts[1])
    return lambda numbers: table[cell(numbers)]


def _fitted(one: NDArray[np.float64], other: NDArray[np.float64], numbers: int) -> Score:
    """Logistic regression on the most informative numbers, their squares and products.

    For a shifted binomial count the logarithm of the likelihood ratio is nearly a parabola where the count is likely,
    so a few weights replace a table of cells, which needs many examples.
    """
    first, second = one[:, :numbers], other[:, :numbers]
    spread = np.sqrt(first.var(axis=0) + second.var(axis=0)) + _RIDGE
    columns = np.argsort(-np.abs(first.mean(axis=0) - second.mean(axis=0)) / spread, kind="stable")[:_FITTED]
    middle, scale = (first.mean(axis=0) + second.mean(axis=0))[columns] / 2, spread[columns]
    pairs = np.triu_indices(columns.size)

    def features(seen: NDArray[np.float64]) -> NDArray[np.float64]:
        # an output far from all examples is clipped to the farthest of them
        x = np.clip((seen[:, columns] - middle) / scale, -10, 10)
        return np.column_stack([np.ones(len(seen)), x, x[:, pairs[0]] * x[:, pairs[1]]])

    known = np.vstack([features(one), features(other)])
    held = np.append(np.ones(len(one)), np.zeros(len(other)))
    weights = np.zeros(known.shape[1])
    for _ in range(_STEPS):
        likely = 1 / (1 + np.exp(-np.clip(known @ weights, -30, 30)))
        slope = known.T @ (held - likely) - _FITTED_RIDGE * weights
        curvature = (known * (likely * (1 - likely))[:, None]).T @ known + _FITTED_RIDGE * np.eye(weights.size)
        step = np.linalg.solve(curvature, slope)
        weights = weights + step
        if np.abs(step).max() < _RIDGE:
            break
    return lambda seen: features(seen) @ weights


_MOST_SYMBOLS = 64
"""The most frequent symbols are counted separately; rare ones show nothing."""
_SYMBOLS_IN_PLACES = 8
"""Of these, also counted in stretches of places."""
_ENDS = 16
"""Places at either end, where the first and last messages are if the order is kept."""
_GROWTH = 2**0.25
"""The ratio of the lengths of successive stretches: a group of any size is matched to a tenth."""
_PARTS = 12
"""Every run of these equal parts of all places is a stretch."""
_MOST_STRETCHES = 24
"""Those that separate the examples best; others make the choice harder."""
_WRONG = "an output must be a flat array of messages, or a mapping from names to numbers"


class Stretch(NamedTuple):
    """The messages of one kind at the places from `start` up to, not including, `stop`."""

    symbol: int
    start: int
    stop: int


class _Messages(NamedTuple):
    """The codes of all messages, one output after the other, and the size of every output."""

    codes: NDArray[np.int64]
    sizes: NDArray[np.int64]

    def counts(self, stretches: Sequence[Stretch]) -> list[NDArray[np.int64]]:
        """For every stretch, the number of its messages in each output."""
        starts = np.cumsum(self.sizes) - self.sizes
        totals = {
            symbol: np.append(0, np.cumsum(self.codes == symbol))
            for symbol in {stretch.symbol for stretch in stretches}
        }
        return [
            totals[symbol][starts + np.minimum(stop, self.sizes)]
            - totals[symbol][starts + np.minimum(start, self.sizes)]
            for symbol, start, stop in stretches
        ]


@dataclass(frozen=True)
class Observer:
    """The fixed questions: symbols, places and stretches of places."""

    symbols: tuple[Any, ...]
    places: tuple[int, ...]
    stretches: tuple[Stretch, ...] = ()

    @classmethod
    def of(cls, outputs: Sequence[Any], others: Sequence[Any], *, row: int, people: int | None = None) -> Observer:
        """Return the questions: frequent symbols, and places at the ends and near the person who differs.

        If messages are in the order of `people`, that person's are at about row / people of all places.
        """
        together = [*outputs, *others]
        if _are_mappings(together):
            names = Counter(name for output in together for name in output)
            return cls(tuple(name for name, _ in names.most_common(_MOST_SYMBOLS)), ())
        flat, sizes = _joined(together)
        longest = int(sizes.max(initial=0))
        ends = [*range(min(_ENDS, longest)), *range(-min(_ENDS, longest), 0)]
        if row < longest:
            ends.append(row)
        found = cls(_most_common(flat), tuple(dict.fromkeys(ends)))
        centre = row if people is None else round(float(sizes.mean()) * row / people)
        tried = [
            Stretch(symbol, start, stop)
            for symbol in range(min(_SYMBOLS_IN_PLACES, len(found.symbols)))
            for start, stop in _stretches(longest, centre)
        ]
        codes = found._codes(flat)
        split = int(sizes[: len(outputs)].sum())
        one = _Messages(codes[:split], sizes[: len(outputs)]).counts(tried)
        other = _Messages(codes[split:], sizes[len(outputs) :]).counts(tried)
        apart = [_apart(first, second) for first, second in zip(one, other, strict=True)]
        best = sorted(range(len(tried)), key=lambda at: -apart[at])[:_MOST_STRETCHES]
        return cls(found.symbols, found.places, tuple(tried[at] for at in best))

    @property
    def questions(self) -> tuple[str, ...]:
        """The questions as text, without the symbols themselves, which may be people's values."""
        counts = [f"the number at symbol {at}" for at in range(len(self.symbols))]
        stretches = [f"the number at symbol {s} in places {start} to {stop - 1}" for s, start, stop in self.stretches]
        places = [f"the symbol at place {place}" for place in self.places]
        return (*counts, "how many there are", *stretches, *places)

    @property
    def totals(self) -> int:
        """The number of first questions that are about whole outputs."""
        return len(self.symbols) + 1

    @property
    def numbers(self) -> int:
        """The number of first questions whose answers are numbers."""
        return self.totals + len(self.stretches)

    def answers(self, outputs: Sequence[Any]) -> NDArray[np.float64]:
        """The answers: one row per output, one column per question."""
        if _are_mappings(outputs):
            rows = [[*(output.get(symbol, 0) for symbol in self.symbols), len(output)] for output in outputs]
            return _numbers(rows)
        flat, sizes = _joined(outputs)
        codes, kinds = self._codes(flat), len(self.symbols) + 1
        trial = np.repeat(np.arange(sizes.size), sizes)
        counts = np.bincount(trial * kinds + codes, minlength=sizes.size * kinds).reshape(sizes.size, kinds)
        columns = [*counts[:, :-1].T, sizes, *_Messages(codes, sizes).counts(self.stretches)]
        ends = np.cumsum(sizes)
        for place in self.places:
            there = np.where(place >= 0, ends - sizes + place, ends + place)
            inside = (place < sizes) & (-place <= sizes)
            columns.append(np.where(inside, np.append(codes, -1)[np.where(inside, there, -1)], -1))
        return np.column_stack(columns).astype(np.float64)

    def _codes(self, flat: Any) -> NDArray[np.int64]:
        """The number of every message's symbol; all unlisted symbols have one more than the last."""
        if isinstance(flat, np.ndarray):
            symbols = np.array(self.symbols, dtype=flat.dtype)
            order = np.argsort(symbols)
            if not order.size:
                return np.zeros(flat.size, dtype=np.int64)
            at = order[np.minimum(np.searchsorted(symbols[order], flat), order.size - 1)]
            return np.where(symbols[at] == flat, at, order.size)
        index = {symbol: at for at, symbol in enumerate(self.symbols)}
        return np.array([index.get(message, len(index)) for message in flat], dtype=np.int64)


def _stretches(longest: int, centre: int) -> list[tuple[int, int]]:
    """Stretches from the start, to the end, around the centre, and every run of equal parts."""
    lengths, length = [], 1.0
    while length < longest:
        lengths.append(round(length))
        length *= _GROWTH
    lengths = list(dict.fromkeys(lengths))
    edges = [round(part * longest / _PARTS) for part in range(_PARTS + 1)]
    found = [(0, length) for length in lengths]
    found += [(longest - length, longest) for length in lengths]
    for length in lengths:
        found += [(centre - length, centre + length), (centre - length, centre), (centre, centre + length)]
    found += [(start, stop) for at, start in enumerate(edges) for stop in edges[at + 1 :]]
    inside = ((max(start, 0), min(stop, longest)) for start, stop in found)
    return list(dict.fromkeys((start, stop) for start, stop in inside if start < stop))


def _apart(one: NDArray[np.int64], other: NDArray[np.int64]) -> float:
    """The distance of two samples, in standard deviations of one output."""
    spread = float(one.var() + other.var())
    return abs(float(one.mean() - other.mean())) / math.sqrt(spread + 1e-9)


def _most_common(flat: Any) -> tuple[Any, ...]:
    if isinstance(flat, np.ndarray):
        symbols, counts = np.unique(flat, return_counts=True)
        return tuple(symbols[np.argsort(-counts, kind="stable")[:_MOST_SYMBOLS]].tolist())
    try:
        return tuple(symbol for symbol, _ in Counter(flat).most_common(_MOST_SYMBOLS))
    except TypeError:
        raise DataError(_WRONG) from None


def _joined(outputs: Sequence[Any]) -> tuple[Any, NDArray[np.int64]]:
    """All messages, as an array of numbers or a list of hashable objects, and the size of each output."""
    try:
        arrays = [np.asarray(output) for output in outputs]
    except ValueError:  # ragged
        raise DataError(_WRONG) from None
    if any(array.ndim != 1 for array in arrays):
        raise DataError(_WRONG)
    sizes = np.array([array.size for array in arrays], dtype=np.int64)
    flat = np.concatenate(arrays)
    if flat.dtype.kind == "f" and np.isnan(flat).any():
        raise DataError("a message is not a number (NaN), which equals no other message")
    if flat.dtype.kind in "biuf":
        return flat, sizes
    return [message.tobytes() for message in flat] if flat.dtype.kind == "V" else flat.tolist(), sizes


def _are_mappings(outputs: Sequence[Any]) -> bool:
    kinds = {isinstance(output, Mapping) for output in outputs}
    if len(kinds) != 1:
        raise DataError("outputs must be all mappings, or all arrays of messages")
    return kinds.pop()


def _numbers(rows: list[list[Any]]) -> NDArray[np.float64]:
    try:
        numbers = np.array(rows, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("the values of a mapping must be numbers") from None
    if not np.isfinite(numbers).all():
        raise DataError("the values of a mapping must be finite numbers")
    return numbers

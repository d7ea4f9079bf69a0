"""Ways to sum up many numbers in one that tells two samples apart, learnt from examples."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Score = Callable[[NDArray[np.float64]], NDArray[np.float64]]

SCORES = (
    "a weighted sum of all numbers, whole and by places",
    "the likelihood ratio of all numbers",
    "the fitted likelihood ratio of the numbers, whole and by places, that tell most",
    "the fitted likelihood ratio of the totals that tell most",
)

_MOST_CELLS = 30
"""Of a number with many values, so that 250 examples still leave about eight in each cell."""
_SMOOTHING = 2.0
"""Added to every cell's count, so that a cell which one sample never met has a finite ratio."""
_RIDGE = 1e-6
"""Added to every variance, so that a number that never varies has a finite weight. Counts vary by far more."""
_FITTED = 6
"""Numbers in a fitted ratio: with their squares and products 28 weights, which a hundred examples begin to settle."""
_FITTED_RIDGE = 1.0
"""How strongly fitted weights are held near 0, in examples: it matters only where there are few."""
_STEPS = 25
"""Of Newton's method, which has converged long before."""


def learn(
    one: NDArray[np.float64], other: NDArray[np.float64], *, totals: int, numbers: int
) -> tuple[Score, Score, Score, Score]:
    """Fisher's discriminant, the likelihood ratio as if the numbers were independent, and two fitted ones.

    The first `totals` columns are about whole outputs and the first `numbers` are numbers.
    """
    weights = _discriminant(one[:, :numbers], other[:, :numbers])
    # the last total is the sum of the others or nearly so, and would be counted twice
    single = max(1, totals - 1)
    ratios = [_log_ratio(one[:, column], other[:, column]) for column in range(single)]
    return (
        lambda seen: seen[:, :numbers] @ weights,
        lambda seen: np.sum([ratio(seen[:, column]) for column, ratio in enumerate(ratios)], axis=0),
        _fitted(one, other, numbers),
        _fitted(one, other, totals),
    )


def _discriminant(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights of the sum that tells both apart best if the numbers are nearly normal."""
    difference = one.mean(axis=0) - other.mean(axis=0)
    within = np.atleast_2d(np.cov(one, rowvar=False) + np.cov(other, rowvar=False))
    weights: NDArray[np.float64] = np.linalg.lstsq(within + _RIDGE * np.eye(difference.size), difference, rcond=None)[0]
    return weights


def _log_ratio(one: NDArray[np.float64], other: NDArray[np.float64]) -> Score:
    """The logarithm of how much more often a number occurs in one sample, by cells of neighbouring numbers."""
    values = np.unique(np.concatenate([one, other]))
    if values.size > _MOST_CELLS:
        values = np.unique(np.quantile(np.concatenate([one, other]), np.arange(_MOST_CELLS) / _MOST_CELLS))

    def cell(numbers: NDArray[np.float64]) -> NDArray[np.int64]:
        return np.clip(np.searchsorted(values, numbers, side="right") - 1, 0, values.size - 1)

    counts = [np.bincount(cell(sample), minlength=values.size) + _SMOOTHING for sample in (one, other)]
    table = np.log(counts[0] / counts[1])
    return lambda numbers: table[cell(numbers)]


def _fitted(one: NDArray[np.float64], other: NDArray[np.float64], numbers: int) -> Score:
    """Logistic regression on the numbers that tell most, their squares and products.

    It fits the logarithm of the likelihood ratio itself. That of a shifted binomial count is nearly a parabola where
    the count is likely, so a few weights say what a table of cells needs many examples for.
    """
    first, second = one[:, :numbers], other[:, :numbers]
    spread = np.sqrt(first.var(axis=0) + second.var(axis=0)) + _RIDGE
    columns = np.argsort(-np.abs(first.mean(axis=0) - second.mean(axis=0)) / spread, kind="stable")[:_FITTED]
    middle, scale = (first.mean(axis=0) + second.mean(axis=0))[columns] / 2, spread[columns]
    pairs = np.triu_indices(columns.size)

    def features(seen: NDArray[np.float64]) -> NDArray[np.float64]:
        # an output far from all examples is no more telling than the farthest of them
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

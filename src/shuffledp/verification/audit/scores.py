"""Two ways to sum up many numbers in one that tells two samples apart, learnt from examples."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Score = Callable[[NDArray[np.float64]], NDArray[np.float64]]

SCORES = ("a weighted sum of all numbers", "the likelihood ratio of all numbers")

_MOST_CELLS = 30
"""Of a number with many values, so that 250 examples still leave about eight in each cell."""
_SMOOTHING = 2.0
"""Added to every cell's count, so that a cell which one sample never met has a finite ratio."""
_RIDGE = 1e-6
"""Added to every variance, so that a number that never varies has a finite weight. Counts vary by far more."""


def learn(one: NDArray[np.float64], other: NDArray[np.float64], *, numbers: int) -> tuple[Score, Score]:
    """Fisher's discriminant, and the likelihood ratio as if the numbers were independent; `numbers` columns count."""
    weights = _discriminant(one[:, :numbers], other[:, :numbers])
    # the last number is the sum of the others or nearly so, and would be counted twice
    single = max(1, numbers - 1)
    ratios = [_log_ratio(one[:, column], other[:, column]) for column in range(single)]
    return (
        lambda seen: seen[:, :numbers] @ weights,
        lambda seen: np.sum([ratio(seen[:, column]) for column, ratio in enumerate(ratios)], axis=0),
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

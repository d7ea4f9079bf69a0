"""Chi-square tests of samplers against their distributions, with a stated false-failure rate.

A sampler with a fixed seed is rejected at a p-value of FALSE_FAILURE_RATE, and its outcome never changes. Where draws
cannot be seeded, as in JavaScript, REJECTED_UNSEEDED keeps the probability that a correct sampler fails at
FALSE_FAILURE_RATE for each test.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

FALSE_FAILURE_RATE = 1e-6
REJECTED_UNSEEDED = 3e-9
"""The chi-square p-value below which draws without a seed are rejected.

Far in the tail the approximation is too small: with an expected count of 12 in one cell, p-values below 1e-6 are 23
times as frequent as that. At this value no cell is rejected by chance more often than FALSE_FAILURE_RATE.
"""

_FEWEST_EXPECTED = 10.0


def p_value(observed: NDArray[np.int64], probabilities: NDArray[np.float64]) -> float:
    """Chi-square p-value of cell counts against cell probabilities (which sum to 1)."""
    expected = probabilities * observed.sum()
    order = np.argsort(-expected)
    cells_observed, cells_expected = [0.0], [0.0]
    for o, e in zip(observed[order], expected[order], strict=True):
        if cells_expected[-1] >= _FEWEST_EXPECTED:
            cells_observed.append(0.0)
            cells_expected.append(0.0)
        cells_observed[-1] += o
        cells_expected[-1] += e
    if len(cells_expected) > 1 and cells_expected[-1] < _FEWEST_EXPECTED:
        cells_observed[-2] += cells_observed.pop()
        cells_expected[-2] += cells_expected.pop()
    o, e = np.array(cells_observed), np.array(cells_expected)
    assert o.size > 1, "too few draws for a test that could fail"
    return float(chi2.sf(((o - e) ** 2 / e).sum(), o.size - 1))


def distribution_p_value(draws: NDArray[np.int64], first: int, pmf: NDArray[np.float64]) -> float:
    """p-value of integer draws against a pmf that starts at `first`; draws outside count as impossible."""
    index = np.asarray(draws) - first
    if index.min() < 0 or index.max() >= pmf.size:
        return 0.0
    return p_value(np.bincount(index, minlength=pmf.size), pmf / pmf.sum())


def assert_distribution(draws: NDArray[np.int64], first: int, pmf: NDArray[np.float64]) -> None:
    """Fails if the p-value is at most FALSE_FAILURE_RATE; for draws with a fixed seed."""
    assert distribution_p_value(draws, first, pmf) > FALSE_FAILURE_RATE


def assert_not_distribution(draws: NDArray[np.int64], first: int, pmf: NDArray[np.float64]) -> None:
    """The negative control: these draws must be rejected."""
    assert distribution_p_value(draws, first, pmf) <= FALSE_FAILURE_RATE


def same_distribution_p_value(one: NDArray[np.int64], other: NDArray[np.int64]) -> float:
    """p-value of the hypothesis that two samples of integers have the same distribution, by a chi-square test.

    Neighbouring values are merged until each cell is expected to have at least `_FEWEST_EXPECTED` of the smaller
    sample; with fewer, a single rare value fails the test far too often.
    """
    fewest = _FEWEST_EXPECTED * (one.size + other.size) / max(1, min(one.size, other.size))
    values = np.unique(np.concatenate([one, other]))
    table = np.array([np.bincount(np.searchsorted(values, sample), minlength=values.size) for sample in (one, other)])
    cells: list[NDArray[np.int64]] = [np.zeros(2, dtype=np.int64)]
    for column in table.T:
        if cells[-1].sum() >= fewest:
            cells.append(np.zeros(2, dtype=np.int64))
        cells[-1] = cells[-1] + column
    if len(cells) > 1 and cells[-1].sum() < fewest:
        cells[-2] = cells[-2] + cells.pop()
    if len(cells) == 1:
        return 1.0  # hardly anything varies
    merged = np.array(cells).T
    expected = np.outer(merged.sum(axis=1), merged.sum(axis=0)) / merged.sum()
    return float(chi2.sf(((merged - expected) ** 2 / expected).sum(), merged.shape[1] - 1))

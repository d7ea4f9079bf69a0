"""Fair coins: log-probabilities and tails of Bin(trials, 1/2), for arrays of any numbers of trials.

Far tails keep their relative precision: a tail is the probability of its first value times a continued fraction.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

_SMALL = 16
_STIRLING_SMALL = np.array([0.0] + [math.lgamma(n + 1) - (n + 0.5) * math.log(n) + n - 0.5 * math.log(2 * math.pi)
                                    for n in range(1, _SMALL)])  # fmt: skip
_MOST_TERMS = 20_000
_UNIT = 1e-15


def log_pmf(trials: NDArray[np.int64], k: NDArray[np.int64]) -> NDArray[np.float64]:
    """The logarithm of P(K = k) for 0 < k < trials, in Loader's form: Stirling corrections and deviances."""
    n, half = trials.astype(np.float64), trials / 2
    corrections = _stirling(trials) - _stirling(k) - _stirling(trials - k)
    deviances = half * (_deviance((k - half) / half) + _deviance((half - k) / half))
    return corrections - deviances + 0.5 * np.log(n / (2 * math.pi * k * (n - k)))


def pmf(trials: NDArray[np.int64], k: NDArray[np.int64]) -> NDArray[np.float64]:
    """P(K = k)."""
    inside, end = (k > 0) & (k < trials), (k == 0) | (k == trials)
    result = np.where(end, np.exp2(-trials.astype(np.float64)), 0.0)
    result[inside] = np.exp(log_pmf(trials[inside], k[inside]))
    return result


def tail(trials: NDArray[np.int64], k: NDArray[np.int64]) -> NDArray[np.float64]:
    """P(K >= k), with a relative error below 1e-10."""
    trials, k = np.broadcast_arrays(np.asarray(trials, dtype=np.int64), np.asarray(k, dtype=np.int64))
    result = np.where(k <= 0, 1.0, 0.0)
    inside = (k > 0) & (k <= trials)
    lower = inside & (2 * k <= trials)  # by symmetry, through the other tail
    upper = inside & ~lower
    result[upper] = _far_tail(trials[upper], k[upper])
    result[lower] = 1.0 - _far_tail(trials[lower], (trials - k + 1)[lower])
    return result


def _far_tail(trials: NDArray[np.int64], k: NDArray[np.int64]) -> NDArray[np.float64]:
    """P(K >= k) for k above the mean: the incomplete beta function I_1/2(k, trials - k + 1)."""
    if not k.size:
        return np.empty(0)
    return pmf(trials, k) / 2 * _fraction(k.astype(np.float64), (trials - k + 1).astype(np.float64))


def _fraction(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """The continued fraction of I_1/2(a, b), by Lentz's method; it converges fast above the mean."""
    enough = 1e-12 + _UNIT * math.sqrt(float((a + b).max()))  # what rounding leaves of a difference near the mean
    d = 1 / (1 - (a + b) / (a + 1) / 2)
    c, value = np.ones_like(a), d.copy()
    for m in range(1, _MOST_TERMS):
        even = m * (b - m) / ((a + 2 * m - 1) * (a + 2 * m)) / 2
        d, c = 1 / (1 + even * d), 1 + even / c
        value *= c * d
        odd = -(a + m) * (a + b + m) / ((a + 2 * m) * (a + 2 * m + 1)) / 2
        d, c = 1 / (1 + odd * d), 1 + odd / c
        step = c * d
        value *= step
        if np.abs(step - 1).max() < enough:
            break
    return value


def _stirling(n: NDArray[np.int64]) -> NDArray[np.float64]:
    """The logarithm of n! minus Stirling's formula."""
    x = np.maximum(n, 1).astype(np.float64)
    series = (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - 1 / 1188 / x**2) / x**2) / x**2) / x**2) / x
    return np.where(n < _SMALL, _STIRLING_SMALL[np.minimum(n, _SMALL - 1)], series)


def _deviance(u: NDArray[np.float64]) -> NDArray[np.float64]:
    """(1 + u) log(1 + u) - u."""
    return (1 + u) * np.log1p(u) - u

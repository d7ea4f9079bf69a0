"""Collecting coupons when a collected one may still be overlooked.

Each of n people holds one of h items, uniformly at random, and an item that c people hold is found with a known
probability q(c), independently of the others. All items are found with probability

    E[q(C_1) ... q(C_h)] = f^(*h)(n) / P(N = n),        f(c) = q(c) P(C = c),   C ~ Poisson(n / h),   N ~ Poisson(n),

because multinomial counts are independent Poisson counts given their sum. With q(c) = 1 for c >= k this is the
classical question whether everybody has at least k.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shuffledp.checks import head_count, whole

_LOG_TAIL = 60 * math.log(2)
"""Each tail of a Poisson law is cut off where Bernstein's bound is 2^-60: counts outside are taken as not found."""


def chance_all_found(*, users: int, items: int, chance: Callable[[int], float], wanted: int | None = None) -> float:
    """The probability that all items, or the `wanted` first of them, are found; off by less than 1e-9."""
    users, items = head_count("users", users), whole("items", items)
    wanted = items if wanted is None else min(items, whole("wanted", wanted))
    first, weights = _poisson(users / items)
    found = weights * [min(1.0, chance(first + step)) for step in range(weights.size)]
    rest_first, rest = _poisson(users / items * (items - wanted)) if wanted < items else (0, np.ones(1))
    at = users - wanted * first - rest_first
    size = 1 << (wanted * (weights.size - 1) + rest.size).bit_length()
    product = np.fft.rfft(found, size) ** wanted * np.fft.rfft(rest, size)
    if not 0 <= at < size:
        return 0.0
    joint = float(np.fft.irfft(product, size)[at])
    return min(1.0, max(0.0, joint * math.exp(-_log_poisson_at_its_mean(users))))


def everybody_has(*, users: int, items: int, copies: int) -> float:
    """The probability that each item is held by at least `copies` of the people."""
    return chance_all_found(users=users, items=items, chance=lambda count: float(count >= copies))


def _poisson(mean: float) -> tuple[int, NDArray[np.float64]]:
    """The Poisson law on a window around its mean, from ratios of neighbours outwards from the mode.

    Its closed form is a difference of terms as large as the mean, which leaves few digits for many people.
    """
    reach = _LOG_TAIL / 3 + math.sqrt(_LOG_TAIL**2 / 9 + 2 * _LOG_TAIL * mean)
    first, last, mode = max(0, math.floor(mean - reach)), math.ceil(mean + reach), math.floor(mean)
    steps = np.log(mean / np.arange(first + 1, last + 1))
    logs = np.concatenate([[0.0], np.cumsum(steps)])
    weights = np.exp(logs - logs[mode - first])
    return first, weights / weights.sum()


def _log_poisson_at_its_mean(n: int) -> float:
    """The logarithm of e^-n n^n / n!, by Stirling's series where the terms would cancel."""
    if n < 100:  # from there on the next term of the series is below 1e-13
        return n * math.log(n) - n - math.lgamma(n + 1)
    return -math.log(2 * math.pi * n) / 2 - 1 / (12 * n) + 1 / (360 * n**3)

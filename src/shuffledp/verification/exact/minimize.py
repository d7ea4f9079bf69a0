"""Minima of functions that need not be smooth: one number by golden sections, several by Nelder and Mead's simplex."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Loss = Callable[[NDArray[np.float64]], float]

_STARTS, _SECTIONS = 24, 30


def smallest_between_0_and_1(loss: Callable[[float], float]) -> tuple[float, float]:
    """Where in (0, 1) a function is smallest, and its value: a grid, then golden sections."""
    grid = np.arange(1, _STARTS) / _STARTS
    at = float(min(grid, key=lambda x: loss(float(x))))
    low, high = at - 1 / _STARTS, at + 1 / _STARTS
    golden = (math.sqrt(5) - 1) / 2
    left, right = high - golden * (high - low), low + golden * (high - low)
    below, above = loss(left), loss(right)
    for _ in range(_SECTIONS):
        if below < above:
            high, right, above = right, left, below
            left = high - golden * (high - low)
            below = loss(left)
        else:
            low, left, below = left, right, above
            right = low + golden * (high - low)
            above = loss(right)
    return (left, below) if below < above else (right, above)


def simplex_search(loss: Loss, start: NDArray[np.float64], *, size: float, steps: int) -> NDArray[np.float64]:
    """The best point found by so many steps of Nelder and Mead's simplex, never worse than the start."""
    points = np.vstack([start, start + size * np.eye(start.size)])
    losses = np.array([loss(point) for point in points])
    for _ in range(steps):
        order = np.argsort(losses, kind="stable")
        points, losses = points[order], losses[order]
        centre = points[:-1].mean(axis=0)
        away = centre - points[-1]
        to, value = _better(loss, centre + away, centre + 2 * away, if_below=losses[0])
        if value >= losses[-2]:
            inside = centre + (0.5 if value < losses[-1] else -0.5) * away
            to, value = inside, loss(inside)
            if value >= losses[-1]:
                points[1:] = (points[1:] + points[0]) / 2
                losses[1:] = [loss(point) for point in points[1:]]
                continue
        points[-1], losses[-1] = to, value
    best: NDArray[np.float64] = points[np.argmin(losses)]
    return best


def _better(
    loss: Loss, near: NDArray[np.float64], far: NDArray[np.float64], *, if_below: float
) -> tuple[NDArray[np.float64], float]:
    """The near point, or the far one if the near one is already a new best and the far one better still."""
    value = loss(near)
    if value >= if_below:
        return near, value
    further = loss(far)
    return (far, further) if further < value else (near, value)

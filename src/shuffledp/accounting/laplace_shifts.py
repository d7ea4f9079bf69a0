"""Counts with discrete Laplace noise that move by one: their privacy loss takes so few values that it is listed."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from shuffledp.accounting.curve import Shift
from shuffledp.accounting.loss import GridLoss, PrivacyLoss
from shuffledp.noise.discrete_laplace import DiscreteLaplace

_CUT = 1e-25
"""Mass that may be given up at either end, on the safe side: far below the deltas of interest."""


@lru_cache(maxsize=1024)
def loss_of_shifts(noise: DiscreteLaplace, number: int) -> PrivacyLoss:
    """The loss of this number of independent counts, each of which moves by one, up or down.

    P(k) / P(k - 1) is 1 / decay for k <= 0 and decay from 1 on, so the loss of one is plus or minus ln(1 / decay), and
    that of several a multiple of it: nothing is rounded to a grid. The law is symmetric, so that k -> -k turns a move
    up into a move down, with the same loss.
    """
    if not number:
        return PrivacyLoss(np.zeros(1), np.ones(1), 0.0)
    return _one(noise).times(number).loss


def _one(noise: DiscreteLaplace) -> GridLoss:
    """One moved count, on the grid of its own two losses."""
    loss = Shift(law=noise, by=1).loss
    less, more = (float(loss.masses[side].sum()) for side in (loss.losses < 0, loss.losses > 0))
    return GridLoss(-math.log(noise.decay), -1, np.array([less, 0.0, more]), loss.infinity, _CUT)

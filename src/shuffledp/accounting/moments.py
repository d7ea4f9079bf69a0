"""A bound on several releases that holds even if how much each one spends is decided by the results of the others.

Fix an order a > 1. Of a release with loss l, let r be what it reveals outright and M = E_P[e^((a - 1) l)] over what is
left. If on every way that the results can lead the sum of the r is at most R and the product of the M at most B, then

    delta(epsilon) <= R + c e^(-(a - 1) epsilon) B,   c = (1 - 1/a)^(a - 1) / a,

since (1 - e^-t)_+ <= c e^((a - 1) t) for every t, and moments multiply from the last release back to the first whatever
is chosen in between (docs/proofs/exact-privacy.md, "Noise chosen by results"). With the order, R and B fixed in advance
this is a privacy filter (Rogers, Roth, Ullman and Vadhan 2016; Feldman and Zrnic 2021 for Renyi differential privacy).
R and B must not be traded for each other by results: whoever reveals where losses are small, and adds to the loss where
it is large, has both in full.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from shuffledp.accounting.composition import RESOLUTION, Composition
from shuffledp.accounting.curve import Curve, PrivacyCurve
from shuffledp.accounting.dots import connected
from shuffledp.accounting.loss import PrivacyLoss
from shuffledp.accounting.rounding import PRIVACY_LOSS
from shuffledp.checks import target_delta, target_epsilon

_ORDERS = 1 + np.geomspace(1e-2, 1e4, 2000)
"""Among which the order is chosen: what a limit allows is flat around the best one."""

_REVEALED = 0.5
"""The share of a delta that is for what is revealed outright, R; the rest is for moments. Half of it costs the moments
little: ln 2 / (a - 1) of epsilon."""

_STEPS = 1 << 11
"""Of the losses of one release on a grid: moments of the order in use move by less than one part in a thousand."""


@dataclass(frozen=True, kw_only=True)
class MomentBound:
    """The bound at a limit (`epsilon`, `delta`), whose order depends on nothing else."""

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", target_epsilon(self.epsilon))
        object.__setattr__(self, "delta", target_delta(self.delta))

    @cached_property
    def order(self) -> float:
        """The one with which most releases of Gaussian losses fit: with variance v, M = e^(a (a - 1) v / 2)."""
        a = _ORDERS
        log_c = (a - 1) * np.log1p(-1 / a) - np.log(a)
        variance = 2 * (math.log((1 - _REVEALED) * self.delta) - log_c + (a - 1) * self.epsilon) / (a * (a - 1))
        return float(a[np.argmax(variance)])

    def reached(self, total: Composition) -> float:
        """What all releases use up of a delta at the limit's epsilon, whatever made somebody choose them.

        Where it is at most some delta on every way that the results can lead, all is private with that delta: R is at
        most one share of it, and the term with B the other.
        """
        a, revealed, log_moment = self.order, 0.0, 0.0
        for curve, times in total.parts:
            share, moment = _moment(curve, a)
            revealed += times * share
            log_moment += times * moment
        if not total.parts:
            return 0.0
        log_c = (a - 1) * math.log1p(-1 / a) - math.log(a)
        exponent = log_c - (a - 1) * self.epsilon + log_moment
        tail = math.exp(min(exponent, 0.0)) * (1 + _MARGIN * (1 + log_moment))
        return min(1.0, max(revealed / _REVEALED, tail / (1 - _REVEALED)))


_MARGIN = 1e-9
"""Relative: of the exponential of a sum of logarithms, each off by a few roundings of losses up to 700."""


@lru_cache(maxsize=512)
def _moment(curve: Curve, order: float) -> tuple[float, float]:
    """What one release reveals outright, and the logarithm of its moment; both rounded up."""
    loss = _pair(curve)
    moment = float(np.log(np.sum(loss.masses * np.exp((order - 1) * (loss.losses - loss.losses[-1])))))
    return loss.infinity, max(0.0, moment + (order - 1) * float(loss.losses[-1]) + PRIVACY_LOSS)


def _pair(curve: Curve) -> PrivacyLoss:
    """One pair of laws that is as bad as the release in either direction."""
    if not isinstance(curve, PrivacyCurve):
        return connected(curve, RESOLUTION)
    span = max(release.span(RESOLUTION) for release, _ in curve.releases)
    grids = [release.on_grid(span / _STEPS or 1.0, cut=RESOLUTION).times(times) for release, times in curve.releases]
    return sum(grids[1:], start=grids[0]).loss

"""Bounds on sums of independent noises with known coefficients: T = a_1 M_1 + ... + a_k M_k, each M less its mean.

With C(t) = ln E e^(t T) = sum_i c(a_i t), c that of one noise, weights e^(t T) give a law with mean x = C'(t) and
variance v = C''(t), and

    P(T >= x) = e^(C(t) - t x) E_t[e^(-t (T - x)); T >= x]
             <= e^(C(t) - t x) min(1, E[e^(-t sqrt(v) N); N >= 0] + 2 D),        N normal,

where D is the distance of the weighted law from the normal one. By the theorem of Berry and Esseen, D is at most 0.56
(Shevtsova 2010) times the third absolute moments over v^(3/2). The first factor alone is Chernoff's bound; the second
is what that loses, about 1 / (t sqrt(2 pi v)). Every t > 0 gives a bound that holds: t is only searched for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shuffledp.noise.law import Tilted, TiltedLaw

Numbers = NDArray[np.float64]

_BERRY_ESSEEN = 0.56
"""For independent summands of any laws: Shevtsova 2010 has 0.5600."""

_NEWTON_STEPS = 4
"""After these, tilts are within a thousandth of the best for nearly all sums."""

_STEP_UP = 1.002
"""A tilt is taken a little larger than the one that seems best, so that its bound holds; so is the width."""

_MOST_TO_SPARE = 0.1
"""A tilt whose risk is by more than this below the one asked for, in its logarithm, is improved: that is half a per
cent of a width."""

_ROUNDING = 1e-9
"""Of the logarithm of a risk, and relative of a width. Measured: 1e-12."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LinearErrors:
    """Many sums of independent noises of one law: a column of coefficients for each, and how many noises have each."""

    coefficients: Numbers
    numbers: Numbers

    def __post_init__(self) -> None:
        # what does not occur must not limit the tilts
        object.__setattr__(self, "coefficients", np.where(self.numbers > 0, self.coefficients, 0.0))

    @classmethod
    def single(cls, coefficients: Numbers) -> LinearErrors:
        """One sum."""
        values, numbers = np.unique(coefficients, return_counts=True)
        return cls(coefficients=values[:, None], numbers=numbers[:, None].astype(float))

    @property
    def reversed(self) -> LinearErrors:
        """The sums with the other sign."""
        return LinearErrors(coefficients=-self.coefficients, numbers=self.numbers)

    @cached_property
    def variances(self) -> Numbers:
        """Of each sum, where one noise has variance 1."""
        return np.asarray(np.einsum("ij,ij,ij->j", self.numbers, self.coefficients, self.coefficients))

    def above(self, law: TiltedLaw, risks: float | Numbers) -> Numbers:
        """For each sum a number that it reaches with probability at most this risk, or that of its own."""
        found = np.zeros(self.variances.size)
        noisy = np.flatnonzero(self.variances > 0)
        if noisy.size:
            some = self if noisy.size == found.size else self._pick(noisy)
            found[noisy] = some._above(law, np.log(np.broadcast_to(risks, found.shape)[noisy]) - _ROUNDING)
        return found

    def _above(self, law: TiltedLaw, log_risks: Numbers) -> Numbers:
        # at its largest tilt a sum has no moments
        limit = np.asarray(law.largest_tilt / np.abs(self.coefficients).max(axis=0))
        tilts = self._first_tilts(law, log_risks, limit)
        sums = self._tilted(law, tilts)
        means, spare = sums.mean, log_risks - _log_risk(tilts, sums)
        poor = np.flatnonzero((spare < 0) | (spare > _MOST_TO_SPARE))
        if poor.size:
            means[poor] = self._pick(poor)._searched(law, log_risks[poor], tilts[poor], limit[poor])
        return np.asarray(means * (1 + _ROUNDING))

    def _first_tilts(self, law: TiltedLaw, log_risks: Numbers, limit: Numbers) -> Numbers:
        """Tilts that would do if the first cumulants of the noise were all: nearly the best ones where it is large."""
        from scipy.special import ndtri_exp

        orders = range(2, 2 + len(law.cumulants))
        sums = [np.einsum("ij,ij->j", self.numbers, self.coefficients**order) for order in orders]
        scaled = [cumulant * total for cumulant, total in zip(law.cumulants, sums, strict=True)]
        third = law.tilted(np.zeros(1)).third * np.einsum("ij,ij->j", self.numbers, np.abs(self.coefficients) ** 3)

        def series(tilts: Numbers, derivative: int) -> Numbers:
            parts = (
                k * tilts ** (n - derivative) / math.factorial(n - derivative)
                for n, k in zip(orders, scaled, strict=True)
            )
            return np.asarray(sum(parts))

        tilts = np.minimum(np.maximum(1.0, -ndtri_exp(np.minimum(log_risks, -1.0))) / np.sqrt(scaled[0]), limit / 2)
        for _ in range(_NEWTON_STEPS):
            variance = np.maximum(series(tilts, 2), scaled[0] / 2)
            guess = Tilted(cumulant=series(tilts, 0), mean=series(tilts, 1), variance=variance, third=third)
            tilts = _next(tilts, guess, log_risks, limit)
        return np.asarray(np.minimum(_STEP_UP * tilts, (tilts + limit) / 2))

    def _searched(self, law: TiltedLaw, log_risks: Numbers, tilts: Numbers, limit: Numbers) -> Numbers:
        """By Newton's steps, then by small ones upwards."""
        for _ in range(_NEWTON_STEPS):
            tilts = _next(tilts, self._tilted(law, tilts), log_risks, limit)
        while True:
            sums = self._tilted(law, tilts)
            short = _log_risk(tilts, sums) > log_risks
            if not short.any():
                return np.asarray(sums.mean)
            tilts = np.where(short, np.minimum(_STEP_UP * tilts, (tilts + limit) / 2), tilts)

    def _pick(self, at: NDArray[np.int64]) -> LinearErrors:
        return LinearErrors(coefficients=self.coefficients[:, at], numbers=self.numbers[:, at])

    def _tilted(self, law: TiltedLaw, tilts: Numbers) -> Tilted:
        """All sums under weights, each with its own tilt."""
        a, k = self.coefficients, self.numbers
        each = law.tilted(a * tilts)
        return Tilted(
            cumulant=(k * each.cumulant).sum(axis=0),
            mean=(k * a * each.mean).sum(axis=0),
            variance=(k * a**2 * each.variance).sum(axis=0),
            third=(k * np.abs(a) ** 3 * each.third).sum(axis=0),
        )


def _next(tilts: Numbers, sums: Tilted, log_risks: Numbers, limit: Numbers) -> Numbers:
    """Newton's next tilts, kept from jumping."""
    step = (_log_risk(tilts, sums) - log_risks) / (tilts * sums.variance + 1 / tilts)
    return np.clip(tilts + step, tilts / 2, np.minimum(2 * tilts, (tilts + limit) / 2))


def _log_risk(tilts: Numbers, sums: Tilted) -> Numbers:
    """The logarithm of the bound on P(T >= mean under weights)."""
    from scipy.special import erfcx

    normal = erfcx(tilts * np.sqrt(sums.variance / 2)) / 2
    distance = _BERRY_ESSEEN * sums.third / sums.variance**1.5
    return np.asarray(sums.cumulant - tilts * sums.mean + np.log(np.minimum(1.0, normal + 2 * distance)))

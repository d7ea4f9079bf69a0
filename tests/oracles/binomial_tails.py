"""Tails of binomial distributions: in fractions for few trials, and to twelve digits for millions."""

from fractions import Fraction
from math import comb, sqrt

import mpmath
import numpy as np


def exact_tail(successes, trials, probability):
    """P[Bin(trials, probability) >= successes] as a fraction; a float probability is used exactly."""
    p = Fraction(probability)
    return sum(comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(successes, trials + 1))


def precise_tail(successes, trials, probability):
    """The same to twelve digits, for a tail above the mean: one term with 40 digits, the others relative to it."""
    with mpmath.workdps(40):
        p = mpmath.mpf(probability)
        log_ways = (
            mpmath.loggamma(trials + 1) - mpmath.loggamma(successes + 1) - mpmath.loggamma(trials - successes + 1)
        )
        first = mpmath.exp(log_ways + successes * mpmath.log(p) + (trials - successes) * mpmath.log1p(-p))
    # beyond 50 standard deviations nothing is left that could matter
    terms = min(trials - successes, int(50 * sqrt(trials * probability * (1 - probability))) + 100)
    k = np.arange(successes, successes + terms)
    ratios = (trials - k) / (k + 1) * (probability / (1 - probability))
    return float(first * (1 + float(np.cumprod(ratios).sum())))

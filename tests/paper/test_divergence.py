"""Logarithms that are rounded up."""

from fractions import Fraction

import mpmath

from shuffledp.paper.divergence import logarithm_above


def test_logarithms_are_never_too_small():
    for ratio in (
        Fraction(1),
        1 + Fraction(1, 10**30),
        Fraction(3, 2),
        Fraction(10**400, 7),
        Fraction(10**5000, 3**900),
    ):
        with mpmath.workdps(60):
            exact = mpmath.log(mpmath.mpf(ratio.numerator) / ratio.denominator)
            assert exact <= logarithm_above(ratio) <= exact * (1 + mpmath.mpf("1e-8"))

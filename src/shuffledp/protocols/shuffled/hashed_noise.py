"""Calibrate hashed values: the least dummies that give a guarantee, and the number of buckets.

More buckets mean more dummies from each person and less noise by chance from the messages of others.
"""

from __future__ import annotations

import math

from shuffledp.accounting import calibration
from shuffledp.accounting.rounding import SHARE_OF_A_RATE
from shuffledp.accounting.support_curves import HashedCurve
from shuffledp.errors import ParameterError
from shuffledp.formatting import counted, readable
from shuffledp.histogram.hash_family import (
    EXPANDED_SEEDS,
    MOST_MESSAGES,
    MOST_MODULUS,
    HashFamily,
    is_prime,
    next_prime,
)
from shuffledp.noise.compound_poisson import LARGEST_RATE, CompoundPoisson, poisson
from shuffledp.protocols.target import Target
from shuffledp.validation import real

DUMMIES = 4.0
"""The default number of dummies for each value of a person: the standard deviation is then 1.12 times the least."""

LEAST_DUMMIES, MOST_DUMMIES = 0.01, 1000.0
"""With fewer dummies, the messages of other people are nearly all of the noise; more of them gain nothing."""

_ROUNDS = 2
"""The number of times that noise and buckets of several values are adjusted to each other; the noise comes last."""

_BUCKETS_PER_SQUARE = 4
"""The fewest buckets for K values of a person, relative to K^2: with fewer, shared messages cost too many dummies."""


def calibrate_values(target: Target, *, dummies: float) -> tuple[float, int]:
    """Return the mean number of honest people's dummies on each value, and the number of buckets."""
    dummies, values = _checked(dummies), target.values_per_person
    rate = _rate(target, values=values, shared=0.0)
    for _ in range(_ROUNDS):
        modulus = _buckets(dummies * values * target.honest / rate, target.cells, each=values)
        if values == 1:
            break
        rate = _rate(target, values=values, shared=1 / modulus)
    return rate, modulus


def calibrate_levels(target: Target, *, levels: int, pieces: int, dummies: float) -> tuple[float, int]:
    """Return the same for one value on each of several levels."""
    dummies = _checked(dummies)
    rate = _rate(target, values=levels, shared=0.0)
    most = min(MOST_MODULUS, MOST_MESSAGES // (EXPANDED_SEEDS * levels)) // 2  # the next prime is below twice as much
    return rate, next_prime(max(pieces, 2, min(most, math.ceil(dummies * target.honest / rate))))


def dummies_of_all(rate: float, target: Target) -> CompoundPoisson:
    """The dummies of all people together, given the mean number of the honest ones."""
    mean = rate * (1 + SHARE_OF_A_RATE) * target.users / target.honest
    if mean > LARGEST_RATE:
        raise ParameterError(
            f"with only {target.honest:,} honest people among {target.users:,}, all together must make more noise than "
            "can be computed: more of them must be honest"
        )
    return poisson(mean)


def _checked(dummies: float) -> float:
    """Return the number of dummies for each value of a person."""
    number = real("dummies", dummies)
    if not LEAST_DUMMIES <= number <= MOST_DUMMIES:
        raise ParameterError(f"dummies must be {LEAST_DUMMIES:g} to {MOST_DUMMIES:g} for each value, got {number:g}")
    return number


def _rate(target: Target, *, values: int, shared: float) -> float:
    """The smallest mean number of honest people's dummies that gives the guarantee."""

    def excess(rate: float) -> float:
        delta = HashedCurve(rate=rate, values=values, shared=shared).delta(target.epsilon)
        return math.log(max(delta, 1e-300) / target.delta)

    start = calibration.rate_to_start(epsilon=target.epsilon, delta=target.delta, shifts=2 * values)
    rate = calibration.first_rate(excess, start=start, largest=calibration.LARGEST_CALIBRATED)
    if rate is None:
        each = counted(values, "hashed value")
        raise ParameterError(f"epsilon={target.epsilon:g} is too small for {each} of each person")
    return rate


def _buckets(wanted: float, values: int, *, each: int) -> int:
    """The number of buckets: about the wanted one, however few values there are, so that other people add little."""
    fewest = next_prime(_BUCKETS_PER_SQUARE * each**2 if each > 1 else 2)
    modulus = next_prime(max(fewest, min(math.ceil(wanted), MOST_MODULUS // 2)))
    while each > 1 and HashFamily.of(modulus=modulus, values=values).expanded:
        if modulus == fewest:
            raise ParameterError(f"bins must be fewer for {each} hashed values of each person, got {readable(values)}")
        modulus = max(fewest, _last_prime(int(modulus * 0.9)))
    return modulus


def _last_prime(number: int) -> int:
    """The largest prime that is not above a number."""
    while not is_prime(number):
        number -= 1
    return number

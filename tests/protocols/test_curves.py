"""The privacy curve of every class of the catalogue against an oracle that shares nothing with it, on a tiny case.

Never below the truth, hardly above it, and a curve that counts 30 % more noise than there is would be below.
"""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import poisson

from shuffledp.histogram.hash_family import HashFamily
from shuffledp.noise import Binomial, CompoundPoisson
from shuffledp.noise.binomial import round_up_to_grid
from shuffledp.noise.compound_poisson import poisson as poisson_dummies
from shuffledp.noise.discrete_laplace import DiscreteLaplace
from shuffledp.paper.finite_randomizer import FiniteRandomizer
from shuffledp.paper.protocol_checks import CENTRAL_TARGETS, central_delta
from shuffledp.protocols import (
    CATALOGUE,
    DummyHistogram,
    HashedHistogram,
    Histogram,
    PrivateCoinHistogram,
    SparseHistogram,
)
from shuffledp.protocols.central import LaplaceHistogram, StabilityHistogram
from shuffledp.protocols.local import BassilySmith, HadamardResponse, LocalHashing, RandomizedResponse, UnaryEncoding
from shuffledp.protocols.shuffled.amplified import AmplifiedOracle
from shuffledp.protocols.shuffled.blanket import BlanketHistogram
from shuffledp.protocols.shuffled.public_coin import PublicCoinHistogram
from tests.accounting.test_amplification import exact_tight_delta
from tests.oracles.exact import distribution_table, shifted_delta
from tests.oracles.small_sparse import sparse_delta, sparse_histogram

RATIO = Fraction(3, 2)
EPSILON = math.log(RATIO)
PEOPLE, GAMMA = 10, 0.25
MORE = 13
"""30 % more people who make noise."""


def moved(shifts):
    """Independent coordinates with binomial noise, of which a neighbour moves each by one."""
    return shifted_delta(
        [distribution_table(Binomial(trials=PEOPLE, probability=GAMMA))] * len(shifts), shifts, ratio=RATIO
    )


def binomial_noise(kind, shifts, **fields):
    """A protocol whose bins or cells have the noise of all people, and the same with more of them."""
    truth = moved(shifts)
    return [
        (kind(users=n, bins=2, noise=Binomial(trials=n, probability=GAMMA), **fields), truth) for n in (PEOPLE, MORE)
    ]


def paper():
    return [(Histogram(users=n, bins=2, missing_probability=GAMMA), moved((1, -1))) for n in (PEOPLE, MORE)]


def sparse():
    one = sparse_histogram()
    distributions = {name: getattr(one, name) for name in ("pairs", "lone")}
    more = {
        name: CompoundPoisson(rate=1.3 * distribution.rate, size_weights=distribution.size_weights)
        for name, distribution in distributions.items()
    }
    truth = sparse_delta(ratio=RATIO)
    return [(one, truth), (SparseHistogram(users=1, bins=2, **more), truth)]


def central(protocol):
    wider = DiscreteLaplace(decay=round_up_to_grid(protocol.noise.decay ** (1 / 1.3)))
    # with the same threshold more noise would show more of what is small
    fields = {"threshold": math.ceil(1.3 * protocol.threshold)} if isinstance(protocol, StabilityHistogram) else {}
    more = type(protocol)(users=protocol.users, bins=2, noise=wider, **fields)
    truth = central_delta(protocol, ratio=RATIO)
    return [(protocol, truth), (more, truth)]


def blanket():
    """Its definition: coins of the others revealed, two moved bits with independent numbers of coins."""
    users, flip, pairs = 5, Fraction(1, 8), {}
    for b in range(users):
        weight = math.comb(users - 1, b) * (2 * flip) ** b * (1 - 2 * flip) ** (users - 1 - b)
        for a in range(b + 2):
            coin = [Fraction(math.comb(b, k), 2**b) if 0 <= k <= b else Fraction(0) for k in (a - 1, a)]
            pairs[b, a] = tuple(weight * (p * coin[0] + (1 - p) * coin[1]) for p in (1 - flip, flip))
    truth = sum(max(p1 * q2 - RATIO * q1 * p2, Fraction(0)) for p1, q1 in pairs.values() for p2, q2 in pairs.values())
    flips = (float(flip), round_up_to_grid(1.3 * float(flip)))
    return [(BlanketHistogram(users=users, bins=2, flip_probability=f), truth) for f in flips]


def private_coin():
    """One person: nobody else's messages hide anything, and the curve is exact. A message more is a third more."""
    inside = {bin: [y for y in range(4) if ((bin + 1) & y).bit_count() % 2 == 0] for bin in range(2)}
    each = Fraction(1, 2 * 4**3)
    table = FiniteRandomizer({bin: dict.fromkeys(product(inside[bin], *([range(4)] * 3)), each) for bin in range(2)})
    truth = table.shuffled_delta(users=1, ratio=RATIO).delta
    return [(PrivateCoinHistogram(users=1, bins=2, elements=1, noise_messages=noise), truth) for noise in (3, 4)]


def hashed():
    """Two values whose graphs meet under one of q seeds: messages there are counted for both."""
    rate, q, numbers = 6.0, 211, np.arange(60)
    alone, both = poisson.pmf(numbers, rate * (1 - 1 / q)), poisson.pmf(numbers, rate / q)
    own, other = numbers[:, None], numbers[None, :]
    gains = [alone @ np.maximum(own + c - float(RATIO) * (other + c), 0) @ alone for c in numbers]
    family = HashFamily.of(modulus=q, values=2)
    return [
        (HashedHistogram(users=1, bins=2, family=family, dummies=poisson_dummies(more * rate)), both @ gains / rate)
        for more in (1, 1.3)
    ]


def amplified():
    """Its definition, for messages that are always telling."""
    truth = exact_tight_delta(EPSILON, 2.0, PEOPLE)
    return [
        (AmplifiedOracle(users=n, bins=2, oracle=RandomizedResponse(users=n, bins=2, epsilon=2.0)), truth)
        for n in (PEOPLE, MORE)
    ]


def local(kind):
    """Every message by itself: at most binary randomized response, whose distribution is two fractions."""

    def pair():
        p = Fraction(math.e)
        truth = (p - RATIO) / (p + 1)
        return [(kind(users=9, bins=2, epsilon=epsilon), truth) for epsilon in (1.0, 1 / 1.3)]

    return pair


ORACLES = {
    Histogram: paper,
    DummyHistogram: lambda: binomial_noise(DummyHistogram, (1, -1)),
    PublicCoinHistogram: lambda: binomial_noise(PublicCoinHistogram, (1, -1), rows=1, width=2, coin=1),
    SparseHistogram: sparse,
    LaplaceHistogram: lambda: central(LaplaceHistogram.for_target(CENTRAL_TARGETS["laplace"])),
    StabilityHistogram: lambda: central(StabilityHistogram.for_target(CENTRAL_TARGETS["stability"])),
    BlanketHistogram: blanket,
    PrivateCoinHistogram: private_coin,
    HashedHistogram: hashed,
    AmplifiedOracle: amplified,
    **{kind: local(kind) for kind in (BassilySmith, HadamardResponse, LocalHashing, RandomizedResponse, UnaryEncoding)},
}


def test_every_class_of_the_catalogue_has_an_oracle():
    assert {entry.kind for entry in CATALOGUE.values()} == set(ORACLES)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ORACLES, ids=lambda kind: kind.__name__)
def test_a_curve_is_its_oracle_and_more_noise_would_be_below(kind):
    (protocol, truth), (noisier, _) = ORACLES[kind]()
    assert float(truth) * (1 - 1e-12) <= protocol.privacy.delta(EPSILON) <= float(truth) * 1.01
    assert noisier.privacy.delta(EPSILON) < 0.97 * float(truth)

"""A row for every calibration: the noise that comes out of it, against the laws that its theorem compares.

A target with fewer honest people than people is handed to the shipped calibration. Of the protocol that comes back only
the numbers that people draw with are used (a probability, a rate, a decay, a local epsilon, a number of shares); the
laws of the honest people's noise are written down from them and summed outcome by outcome (exact/pairs.py). No privacy
curve is asked, so a curve or a search that errs is noticed, and so is a guarantee that counts on everybody.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.noise import Binomial, CompoundPoisson
from shuffledp.protocols import (
    AmplifiedOracle,
    BinarySum,
    BlanketHistogram,
    BlanketSum,
    DummyHistogram,
    Histogram,
    LaplaceHistogram,
    PrivateCoinHistogram,
    PublicCoinHistogram,
    RealSum,
    SparseHistogram,
    StabilityHistogram,
)
from shuffledp.protocols.catalogue import CATALOGUE
from shuffledp.protocols.local import HadamardResponse, LocalHashing, RandomizedResponse, UnaryEncoding
from shuffledp.protocols.local.frequency_oracle import FrequencyOracle
from shuffledp.protocols.promise import Promising
from shuffledp.protocols.target import Target
from shuffledp.verification.exact import pairs
from shuffledp.verification.exact.pairs import NEVER, Pair, near_the_mean, worse_way
from shuffledp.verification.statements import local_messages, small_outputs
from shuffledp.verification.statements.verdict import BOUND, ENUMERATED, RECOMPUTED, Verdict

EPSILON, DELTA = 1.0, 0.01
HONEST, USERS = 60, 80
"""So few that whole laws are summed in a moment, in whole numbers where noise is binomial."""
TARGET = Target(users=USERS, bins=4, epsilon=EPSILON, delta=DELTA, honest_users=HONEST)
PUBLISHED = Target(users=30_000, bins=4, epsilon=2.0, delta=DELTA)
"""Published parameters need more people, and count on all of them."""

_FARTHEST = 700
"""Noise of a curator or of clusters is listed up to here, beyond which lies less than 1e-25 of what is used here."""


@dataclass(frozen=True, kw_only=True)
class Truth:
    """A delta, how it is known, and what was compared."""

    delta: float | Fraction
    basis: str = RECOMPUTED
    oracle: str

    @property
    def rounded(self) -> float:
        """Fractions are not rounded."""
        return 0.0 if isinstance(self.delta, Fraction) else pairs.ROUNDED


Oracle = Callable[[Any, Target], Truth]


def of_entry(name: str) -> Iterator[Verdict]:
    """The calibration of an entry of the catalogue."""
    entry = CATALOGUE[name]
    if entry.model == "local":
        yield from local_messages.of_entry(name)
        return
    target = PUBLISHED if entry.published else TARGET
    if entry.model == "central":
        target = small_outputs.TARGETS[name]
        yield from promise(f"{entry.title}, two values each", entry.make(small_outputs.SETS), small_outputs.SETS)
    yield from promise(entry.title, entry.make(target), target)


def binary_sum() -> Iterator[Verdict]:
    """The calibration of P^zsum."""
    target = Target(users=USERS, bins=1, epsilon=EPSILON, delta=DELTA, honest_users=HONEST)
    yield from promise("BinarySum", BinarySum.for_target(target), target)


def blanket_sum() -> Iterator[Verdict]:
    """The calibration of CSU+19's sum, and its published parameters."""
    target = Target(users=USERS, bins=1, epsilon=EPSILON, delta=DELTA, honest_users=HONEST)
    yield from promise("BlanketSum", BlanketSum.for_target(target), target)
    target = Target(users=2000, bins=1, epsilon=2.0, delta=DELTA)
    yield from promise("BlanketSum, published", BlanketSum.published_for(target), target)


def real_sum() -> Iterator[Verdict]:
    """The calibration of the sum of numbers."""
    target = Target(users=USERS, bins=1, epsilon=EPSILON, delta=DELTA, honest_users=HONEST)
    protocol = RealSum.calibrate(users=USERS, epsilon=EPSILON, delta=DELTA, honest_users=HONEST)
    yield from promise("RealSum", protocol, target)
    told = (1 + math.exp(EPSILON)) * 2.0**-protocol.security_bits
    yield Verdict.at_most(
        statement="RealSum, bound",
        claim=f"delta at epsilon {EPSILON:g}, sigma = {protocol.security_bits}",
        claimed=protocol.privacy.delta(EPSILON),
        exact=told,
        basis=RECOMPUTED,
        oracle="(1 + e^epsilon) 2^-sigma",
        rounded=pairs.ROUNDED,
    )
    mixing = math.log2(HONEST) - math.log2(math.e)
    yield Verdict.at_most(
        statement="RealSum, shares",
        claim=f"of a person, {HONEST} of {USERS} honest",
        claimed=float(protocol.shares),
        exact=2 + (2 * protocol.security_bits + protocol.modulus_bits) / mixing,
        basis=RECOMPUTED,
        oracle="the theorem on shares",
    )


def promise(title: str, protocol: Promising, target: Target) -> Iterator[Verdict]:
    """The delta that was asked for, and that of the protocol's curve, beside that of the noise that was chosen."""
    oracle = ORACLES.get(type(protocol))
    if oracle is None:
        yield Verdict.without_oracle(title)
        return
    truth = oracle(protocol, target)
    claims = [("promise", target.delta)]
    if truth.basis != BOUND:  # a bound that is computed anew may be above another one
        claims.append(("curve of what was chosen", protocol.privacy.delta(target.epsilon)))
    for words, claimed in claims:
        yield Verdict.at_most(
            statement=f"{title}, {words}",
            claim=f"delta at epsilon {target.epsilon:g}, {target.honest:,} of {target.users:,} honest",
            claimed=claimed,
            exact=truth.delta,
            basis=truth.basis,
            oracle=truth.oracle,
            rounded=truth.rounded,
        )


def _ratio(target: Target) -> Fraction:
    """Just above e^epsilon: what is summed with it is never more than the true delta."""
    return pairs.exponential_above(target.epsilon)


def _binomial_noise(probability: float, target: Target, *, moved: int) -> Truth:
    if target.honest <= HONEST:
        exact = pairs.binomial_shift_delta(
            people=target.honest, probability=probability, moved=moved, ratio=_ratio(target)
        )
        return Truth(delta=exact, oracle=f"{moved} moved binomial counts, in whole numbers")
    law = near_the_mean(target.honest, probability)
    each = [Pair.shifted(law, by) for by in ((1,) if moved == 1 else (1, -1))]
    return Truth(delta=worse_way(each, float(_ratio(target))), oracle=f"{moved} moved binomial counts, listed")


def _histogram(protocol: Histogram, target: Target) -> Truth:
    return _binomial_noise(protocol.missing_probability, target, moved=2)


def _binary_sum(protocol: BinarySum, target: Target) -> Truth:
    return _binomial_noise(protocol.missing_probability, target, moved=1)


def _dummy(protocol: DummyHistogram, target: Target) -> Truth:
    if isinstance(protocol.noise, Binomial):
        return _binomial_noise(protocol.noise.probability, target, moved=2)
    law = _clusters(protocol.noise, target)
    each = [Pair.shifted(law, by) for by in (1, -1)]
    return Truth(delta=worse_way(each, float(_ratio(target))), oracle="2 moved Poisson counts, listed")


def _sparse(protocol: SparseHistogram, target: Target) -> Truth:
    pairs_law, lone = (_clusters(law, target) for law in (protocol.pairs, protocol.lone))
    each = [Pair.shifted(law, by) for by in (1, -1) for law in (pairs_law, lone)]
    return Truth(delta=worse_way(each, float(_ratio(target))), oracle="4 moved compound Poisson counts, listed")


def _clusters(law: CompoundPoisson, target: Target) -> NDArray[np.float64]:
    """The honest people's part of compound Poisson noise, as far as it matters."""
    share = law.rate * target.honest / target.users
    listed = pairs.compound_poisson(share, np.array(law.size_weights) / sum(law.size_weights), most=_FARTHEST)
    return listed[: int(np.flatnonzero(listed > 1e-25)[-1]) + 1]


def _public_coin(protocol: PublicCoinHistogram, target: Target) -> Truth:
    law = near_the_mean(target.honest, protocol.noise.probability)
    if 2 * protocol.rows <= 4 and law.size <= 2 * HONEST:
        each = [Pair.shifted(law, by) for by in (1, -1) for _ in range(protocol.rows)]
        delta = worse_way(each, float(_ratio(target)))
        return Truth(delta=delta, oracle=f"{2 * protocol.rows} moved binomial counts, listed")
    return _by_moments([Pair.shifted(law, by) for by in (1, -1) for _ in range(protocol.rows)], target)


def _by_moments(each: list[Pair], target: Target) -> Truth:
    """An upper bound by Chernoff: P[loss > epsilon] <= E[e^(a loss)] e^(-a epsilon), and moments of a sum multiply."""
    bounds = []
    for way in (each, [pair.reversed for pair in each]):
        for power in np.linspace(0.5, 60, 120).tolist():
            logarithm, hidden = 0.0, 0.0
            for pair in way:
                shared = (pair.one > 0) & (pair.other > 0)
                first, second = np.log(pair.one[shared]), np.log(pair.other[shared])
                logarithm += float(np.logaddexp.reduce((1 + power) * first - power * second))
                hidden += float(pair.one[~shared].sum())
            bounds.append((way is each, math.exp(min(0.0, logarithm - power * target.epsilon)) + hidden))
    worst = max(min(bound for side, bound in bounds if side is way) for way in (True, False))
    return Truth(delta=worst, basis=BOUND, oracle=f"moments of {len(each)} moved binomial counts")


def _private_coin(protocol: PrivateCoinHistogram, target: Target) -> Truth:
    """E[(1 - e^epsilon N' / N)_+] with N = 1 + Bin(m, t), N' = Bin(m + 1, t) and m noise messages of honest people."""
    noise, chance = target.honest * protocol.noise_messages, 2.0**-protocol.elements
    own, other = (_listed(noise + more, chance) for more in (0, 1))
    supports = np.arange(1, own.size + 1)[:, None]
    gain = np.maximum(1 - float(_ratio(target)) * np.arange(other.size)[None, :] / supports, 0.0)
    return Truth(delta=float(own @ gain @ other), oracle="the supports of one message among uniform ones, listed")


def _listed(trials: int, probability: float) -> NDArray[np.float64]:
    """The binomial law from 0 on, as far as it matters."""
    law = pairs.binomial(trials, probability)
    return law[: int(np.flatnonzero(law > NEVER)[-1]) + 1]


def _blanket(moved: int) -> Oracle:
    def truth(protocol: BlanketHistogram | BlanketSum, target: Target) -> Truth:
        pair = coins_pair(target.honest, protocol.flip_probability)
        ratio = float(_ratio(target))
        delta = pair.delta(ratio) if moved == 1 else pair.delta_beside(pair, ratio)
        return Truth(delta=delta, oracle=f"coins of the others and {moved} own bits, listed")

    return truth


def coins_pair(users: int, flip: float) -> Pair:
    """(B, Bin(B, 1/2) + own bit) for a bit of 1 and of 0, where B ~ Bin(users - 1, 2 flip) others toss a fair coin."""
    tossed = pairs.binomial(users - 1, 2 * flip)
    one, zero = [], []
    for coins in np.flatnonzero(tossed > NEVER).tolist():
        heads = tossed[coins] * pairs.binomial(coins, 0.5)
        low, high = np.append(heads, 0.0), np.append(0.0, heads)
        one.append(flip * low + (1 - flip) * high)
        zero.append((1 - flip) * low + flip * high)
    return Pair(np.concatenate(one), np.concatenate(zero))


def _amplified(protocol: AmplifiedOracle, target: Target) -> Truth:
    """The better of the bound for every randomizer and that for this one."""
    ratio, oracle = float(_ratio(target)), protocol.oracle
    telling = telling_share(oracle)
    bounds = [
        copies_pair(target.honest, oracle.epsilon, telling=share, covered=covered).delta(ratio)
        for share, covered in ((1.0, 0.0), (telling, covered_share(oracle)))
    ]
    return Truth(delta=min(bounds), oracle="copies that others send of either value's messages, listed")


def telling_share(oracle: FrequencyOracle) -> float:
    """How often a message is more likely under one of two given values, from the definition of each randomizer."""
    odds, bins = math.exp(oracle.epsilon), oracle.bins
    if isinstance(oracle, RandomizedResponse):
        return (odds + 1) / (odds + bins - 1)
    if isinstance(oracle, LocalHashing):
        cells = oracle.cells or 2
        return (odds + 1) / (odds + cells - 1) * (1 - 1 / cells)
    if isinstance(oracle, UnaryEncoding):  # one of two bits is set: 1/2 and 1 / (1 + e^epsilon), or flipped alike
        other = 1 / (1 + (odds if oracle.optimised else math.sqrt(odds)))
        own = 0.5 if oracle.optimised else 1 - other
        return own * (1 - other) + (1 - own) * other
    assert isinstance(oracle, HadamardResponse)
    return 0.5


def covered_share(oracle: FrequencyOracle) -> float:
    """How likely a message that tells nothing is under a third value, at least, relative to those two."""
    return 1.0 if isinstance(oracle, RandomizedResponse) else math.exp(-oracle.epsilon)


def copies_pair(users: int, local_epsilon: float, *, telling: float, covered: float) -> Pair:
    """How many of the others send copies, how many of all copies and the own message tell, how many for the first.

    With probability 2 t / (e^epsilon0 + 1) another person sends a copy of a telling message, a fair coin between both
    kinds; with (1 - t) h a copy of one that tells nothing. The own one is telling with probability t, then of the first
    kind with probability e^epsilon0 / (e^epsilon0 + 1).
    """
    likely = 1 / (1 + math.exp(-local_epsilon))
    tell, plain = 2 * telling * (1 - likely), (1 - telling) * covered
    copies = pairs.binomial(users - 1, tell + plain)
    one, zero = [], []
    for number in np.flatnonzero(copies > NEVER).tolist():
        tells = pairs.binomial(number, tell / (tell + plain)) * copies[number]
        # telling messages, the own one included if it is telling
        with_owns, withouts = telling * np.append(0.0, tells), (1 - telling) * np.append(tells, 0.0)
        for total in np.flatnonzero(with_owns + withouts > NEVER).tolist():
            with_own, without = with_owns[total], withouts[total]
            coins = pairs.binomial(max(total - 1, 0), 0.5)
            low, high = (np.append(coins, 0.0), np.append(0.0, coins)) if total else (np.ones(1), np.zeros(1))
            others = pairs.binomial(total, 0.5)
            one.append(with_own * (likely * high + (1 - likely) * low) + without * others)
            zero.append(with_own * (likely * low + (1 - likely) * high) + without * others)
    return Pair(np.concatenate(one), np.concatenate(zero))


def _laplace(protocol: LaplaceHistogram, target: Target) -> Truth:
    delta = small_outputs.laplace_delta(protocol, ratio=_ratio(target))
    return Truth(delta=delta, basis=ENUMERATED, oracle="all outputs for all neighbours")


def _stability(protocol: StabilityHistogram, target: Target) -> Truth:
    delta = small_outputs.stability_delta(protocol, ratio=_ratio(target))
    return Truth(delta=delta, basis=ENUMERATED, oracle="all outputs for all neighbours")


def _real_sum(protocol: RealSum, target: Target) -> Truth:
    """Laplace noise on a sum that moves by `scale`, and what the shares of the honest people tell beyond it.

    Their theorem: a distance of 2^-sigma, sigma = ((shares - 2) (log2 n - log2 e) - log2 q) / 2.
    """
    ratio, decay = float(_ratio(target)), Fraction(protocol.noise.decay)
    mixing = math.log2(target.honest) - math.log2(math.e)
    sigma = ((protocol.shares - 2) * mixing - protocol.modulus_bits) / 2
    # P(k) / P(k - scale) <= decay^-scale, so the noise is epsilon-private by itself if that is at most e^epsilon
    noise = 0.0 if decay**-protocol.scale <= _ratio(target) else 1.0
    return Truth(delta=noise + (1 + ratio) * 2.0**-sigma, basis=BOUND, oracle="discrete Laplace noise, shares mixed")


ORACLES: dict[type, Oracle] = {
    Histogram: _histogram,
    BinarySum: _binary_sum,
    DummyHistogram: _dummy,
    SparseHistogram: _sparse,
    PublicCoinHistogram: _public_coin,
    PrivateCoinHistogram: _private_coin,
    BlanketHistogram: _blanket(2),
    BlanketSum: _blanket(1),
    AmplifiedOracle: _amplified,
    LaplaceHistogram: _laplace,
    StabilityHistogram: _stability,
    RealSum: _real_sum,
}
"""From the class of a protocol to the delta of what its people draw."""

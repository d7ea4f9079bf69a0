"""One privacy check per protocol: the calibrated noise against distributions that no privacy curve computed.

The target has fewer honest users than users. Only the parameters of the randomizer are taken from the protocol. The
distributions of the honest users' noise are listed from these and compared by outcome, so that an error in a curve, in
the search for the noise or in the number of honest users makes the check fail.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.noise import Binomial, CompoundPoisson
from shuffledp.paper.divergence import (
    NEVER,
    ROUNDED,
    Distribution,
    EnumerableProtocol,
    Pair,
    binomial,
    binomial_shift_delta,
    compound_poisson,
    exponential_above,
    near_the_mean,
    worse_way,
)
from shuffledp.paper.finite_randomizer import FiniteRandomizer, exact_delta
from shuffledp.paper.statements import PAPER, Basis, Quantity, Statement, at_most
from shuffledp.progress import Progress, quiet
from shuffledp.protocols import (
    AmplifiedOracle,
    BinarySum,
    BlanketHistogram,
    BlanketSum,
    DummyHistogram,
    HashedHistogram,
    Histogram,
    LaplaceHistogram,
    PrivateCoinHistogram,
    PublicCoinHistogram,
    RealSum,
    SparseHistogram,
    StabilityHistogram,
)
from shuffledp.protocols.catalogue import CATALOGUE
from shuffledp.protocols.local import BassilySmith, HadamardResponse, LocalHashing, RandomizedResponse, UnaryEncoding
from shuffledp.protocols.local.frequency_oracle import FrequencyOracle
from shuffledp.protocols.protocol import HistogramProtocol
from shuffledp.protocols.target import HasGuarantee, Target
from shuffledp.validation import one_of

TARGET = Target(users=80, bins=4, epsilon=1.0, delta=0.01, honest_users=60)
"""Few enough users to sum whole distributions, in integers where the noise is binomial."""
SUM_TARGET = Target(users=80, bins=1, epsilon=1.0, delta=0.01, honest_users=60)
LOCAL_TARGET = Target(users=10, bins=4, epsilon=1.0, delta=0.01, honest_users=1)
CENTRAL_TARGETS = {
    "laplace": Target(users=4, bins=2, epsilon=0.5, delta=0.05),
    "stability": Target(users=18, bins=2, epsilon=0.5, delta=0.05),
}
"""Two bins, whose outputs are enumerated for all neighbouring datasets."""

_FARTHEST = 700
"""Compound Poisson noise is listed up to here; less than 1e-25 lies beyond."""

SUMS: dict[str, Callable[[], HasGuarantee]] = {
    "zsum": lambda: BinarySum.for_target(SUM_TARGET),
    "blanket-sum": lambda: BlanketSum.for_target(SUM_TARGET),
    "real-sum": lambda: RealSum.calibrate(users=80, epsilon=1.0, delta=0.01, honest_users=60),
}

PROTOCOLS = tuple(name for name, entry in CATALOGUE.items() if not entry.published)
"""Published parameters use the same randomizers."""

NAMES = tuple(dict.fromkeys([*PAPER, *SUMS, *PROTOCOLS]))

_ONE_PER_CLASS = {CATALOGUE[name].kind: name for name in reversed(PROTOCOLS)}.values()
DEFAULT = tuple(name for name in NAMES if name in PAPER or name in SUMS or name in _ONE_PER_CLASS)
"""The paper, the sums, and the first protocol of every class."""


def check(name: str | None = None, *, progress: Progress = quiet) -> Iterator[Statement]:
    """Check the paper's statements and one protocol of every class, or what has the given name."""
    chosen = DEFAULT if name is None else (one_of("protocol", name, NAMES),)
    for at, one in enumerate(chosen):
        progress("checking", at / len(chosen))
        try:
            if one in PAPER:
                yield from PAPER[one]()
            if one in SUMS:
                yield privacy_check(one, SUMS[one](), SUM_TARGET)
            if one in CATALOGUE:
                yield catalogue_check(one)
        except Exception as error:
            yield Statement.unchecked(one, one, problem=type(error).__name__)


def catalogue_check(name: str) -> Statement:
    """Check a protocol of the catalogue."""
    entry = CATALOGUE[name]
    if entry.model != "local":
        target = CENTRAL_TARGETS[name] if entry.model == "central" else TARGET
        return privacy_check(name, entry.make(target), target)
    exact = message_table(entry.make(LOCAL_TARGET)).privacy()
    return Statement(
        group=name,
        source=entry.title,
        quantity=Quantity.EPSILON,
        claimed=LOCAL_TARGET.epsilon,
        computed=exact.epsilon,
        basis=Basis.ENUMERATED,
        holds=exact.ratio is not None and exact.ratio <= exponential_above(LOCAL_TARGET.epsilon),
        parameters={"users": 1},
    )


def privacy_check(name: str, protocol: HasGuarantee, target: Target) -> Statement:
    """Compare the delta of the target with the delta of the noise that the calibration chose."""
    title = CATALOGUE[name].title if name in CATALOGUE else type(protocol).__name__
    oracle = ORACLES.get(type(protocol))
    if oracle is None:
        return Statement.unchecked(name, title, problem="no oracle")
    return at_most(
        name,
        title,
        Quantity.DELTA,
        claimed=target.delta,
        computed=oracle(protocol, target),
        basis=_BASES.get(type(protocol), Basis.RECOMPUTED),
        rounding=ROUNDED,
        epsilon=target.epsilon,
        users=target.users,
        honest=target.honest,
    )


Oracle = Callable[[Any, Target], float | Fraction]


def _ratio(target: Target) -> Fraction:
    """Just above e^epsilon, so that a sum with it never exceeds the true delta."""
    return exponential_above(target.epsilon)


def _binomial_noise(probability: float, target: Target, *, moved: int) -> Fraction:
    return binomial_shift_delta(people=target.honest, probability=probability, moved=moved, ratio=_ratio(target))


def _shifts(target: Target, *noise: NDArray[np.float64]) -> float:
    """Counts with the given noise, one of each moved up and one moved down."""
    return worse_way([Pair.shifted(one, by) for by in (1, -1) for one in noise], float(_ratio(target)))


def _dummy(protocol: DummyHistogram, target: Target) -> float | Fraction:
    if isinstance(protocol.noise, Binomial):
        return _binomial_noise(protocol.noise.probability, target, moved=2)
    return _shifts(target, _compound_poisson(protocol.noise, target))


def _sparse(protocol: SparseHistogram, target: Target) -> float:
    return _shifts(
        target, *(_compound_poisson(distribution, target) for distribution in (protocol.pairs, protocol.lone))
    )


def _compound_poisson(distribution: CompoundPoisson, target: Target) -> NDArray[np.float64]:
    """The honest users' part of the noise."""
    share = distribution.rate * target.honest / target.users
    listed = compound_poisson(
        share, np.array(distribution.size_weights) / sum(distribution.size_weights), most=_FARTHEST
    )
    return listed[: int(np.flatnonzero(listed > 1e-25)[-1]) + 1]


def _public_coin(protocol: PublicCoinHistogram, target: Target) -> float:
    distribution = near_the_mean(target.honest, protocol.noise.probability)
    return _shifts(target, *[distribution] * protocol.rows)


def _private_coin(protocol: PrivateCoinHistogram, target: Target) -> float:
    """E[(1 - e^epsilon N' / N)_+], N = 1 + Bin(m, t), N' = Bin(m + 1, t), for m noise messages of honest users."""
    noise, chance = target.honest * protocol.noise_messages, 2.0**-protocol.elements
    own, other = (_from_zero(noise + more, chance) for more in (0, 1))
    supports = np.arange(1, own.size + 1)[:, None]
    gain = np.maximum(1 - float(_ratio(target)) * np.arange(other.size)[None, :] / supports, 0.0)
    return float(own @ gain @ other)


def _hashed(protocol: HashedHistogram, target: Target) -> float:
    """E[(N - e^epsilon N')_+] / rate for the dummies N and N' on two graphs that share every q-th pair."""
    rate, ratio = protocol.dummies.rate * target.honest / target.users, float(_ratio(target))
    both = 1 / protocol.family.modulus
    alone, shared = (compound_poisson(rate * part, np.ones(1), most=_FARTHEST) for part in (1 - both, both))
    alone, shared = (listed[: int(np.flatnonzero(listed > NEVER)[-1]) + 1] for listed in (alone, shared))
    own, other = np.arange(alone.size)[:, None], np.arange(alone.size)[None, :]
    gains = (alone @ np.maximum(own + common - ratio * (other + common), 0.0) @ alone for common in range(shared.size))
    return float(sum(chance * gain for chance, gain in zip(shared.tolist(), gains, strict=True)) / rate)


def _from_zero(trials: int, probability: float) -> NDArray[np.float64]:
    """The binomial probabilities from 0 on, without the negligible upper tail."""
    distribution = binomial(trials, probability)
    return distribution[: int(np.flatnonzero(distribution > NEVER)[-1]) + 1]


def _blanket(protocol: BlanketHistogram | BlanketSum, target: Target) -> float:
    pair, ratio = coins_pair(target.honest, protocol.flip_probability), float(_ratio(target))
    return pair.delta(ratio) if isinstance(protocol, BlanketSum) else pair.delta_beside(pair, ratio)


def coins_pair(users: int, flip: float) -> Pair:
    """(B, Bin(B, 1/2) + own bit) for a bit of 1 and of 0, where B ~ Bin(users - 1, 2 flip) others toss a fair coin."""
    tossed = binomial(users - 1, 2 * flip)
    one, zero = [], []
    for coins in np.flatnonzero(tossed > NEVER).tolist():
        heads = tossed[coins] * binomial(coins, 0.5)
        low, high = np.append(heads, 0.0), np.append(0.0, heads)
        one.append(flip * low + (1 - flip) * high)
        zero.append((1 - flip) * low + flip * high)
    return Pair(np.concatenate(one), np.concatenate(zero))


def _amplified(protocol: AmplifiedOracle, target: Target) -> float:
    """The better of the bound for every randomizer and the bound for this one."""
    ratio, oracle = float(_ratio(target)), protocol.oracle
    covered = 1.0 if isinstance(oracle, RandomizedResponse) else math.exp(-oracle.epsilon)
    cases = ((1.0, 0.0), (telling_share(oracle), covered))
    return min(copies_pair(target.honest, oracle.epsilon, telling=t, covered=h).delta(ratio) for t, h in cases)


def telling_share(oracle: FrequencyOracle) -> float:
    """The probability of a message that is more likely under one of two values, from each definition."""
    odds, bins = math.exp(oracle.epsilon), oracle.bins
    if isinstance(oracle, RandomizedResponse):
        return (odds + 1) / (odds + bins - 1)
    if isinstance(oracle, LocalHashing):
        cells = oracle.cells or 2
        return (odds + 1) / (odds + cells - 1) * (1 - 1 / cells)
    if isinstance(oracle, UnaryEncoding):  # exactly one of two bits is set
        other = 1 / (1 + (odds if oracle.optimised else math.sqrt(odds)))
        own = 0.5 if oracle.optimised else 1 - other
        return own * (1 - other) + (1 - own) * other
    assert isinstance(oracle, HadamardResponse)
    return 0.5


def copies_pair(users: int, local_epsilon: float, *, telling: float, covered: float) -> Pair:
    """The number of copies that others send, the number of telling messages, and how many favour the first value.

    Another user sends a copy of a telling message with probability 2 t / (e^epsilon0 + 1), of either kind equally
    likely, and a copy of another message with probability (1 - t) h. The user's own message is telling with probability
    t, and then favours the first value with probability e^epsilon0 / (e^epsilon0 + 1).
    """
    likely = 1 / (1 + math.exp(-local_epsilon))
    tell, plain = 2 * telling * (1 - likely), (1 - telling) * covered
    copies = binomial(users - 1, tell + plain)
    one, zero = [], []
    for number in np.flatnonzero(copies > NEVER).tolist():
        tells = binomial(number, tell / (tell + plain)) * copies[number]
        # telling messages, including the user's own if it is telling
        with_owns, withouts = telling * np.append(0.0, tells), (1 - telling) * np.append(tells, 0.0)
        for total in np.flatnonzero(with_owns + withouts > NEVER).tolist():
            with_own, without = with_owns[total], withouts[total]
            coins = binomial(max(total - 1, 0), 0.5)
            low, high = (np.append(coins, 0.0), np.append(0.0, coins)) if total else (np.ones(1), np.zeros(1))
            others = binomial(total, 0.5)
            one.append(with_own * (likely * high + (1 - likely) * low) + without * others)
            zero.append(with_own * (likely * low + (1 - likely) * high) + without * others)
    return Pair(np.concatenate(one), np.concatenate(zero))


def _real_sum(protocol: RealSum, target: Target) -> float:
    """Laplace noise on a sum that moves by `scale`, and what the honest users' shares reveal beyond the sum.

    By the theorem on shares this is a distance of 2^-sigma, sigma = ((shares - 2) (log2 n - log2 e) - log2 q) / 2.
    """
    mixing = math.log2(target.honest) - math.log2(math.e)
    sigma = ((protocol.shares - 2) * mixing - protocol.modulus_bits) / 2
    # the noise is epsilon-private by itself if P(k) / P(k - scale) <= decay^-scale is at most e^epsilon
    noise = 0.0 if Fraction(protocol.noise.decay) ** -protocol.scale <= _ratio(target) else 1.0
    return noise + (1 + float(_ratio(target))) * math.exp2(-sigma)


def _central(protocol: LaplaceHistogram | StabilityHistogram, target: Target) -> Fraction:
    return central_delta(protocol, ratio=_ratio(target))


def central_delta(protocol: LaplaceHistogram | StabilityHistogram, *, ratio: Fraction) -> Fraction:
    """The exact delta over all neighbouring datasets of two bins: one user moves from one bin to the other."""
    distributions, users = count_distributions(protocol), protocol.users
    both: list[Distribution] = [
        {
            (x, y): p * q
            for (x, p), (y, q) in product(distributions[count].items(), distributions[users - count].items())
        }
        for count in range(users + 1)
    ]
    steps = [(count, count + 1) for count in range(users)]
    return max(exact_delta(both[x], both[y], ratio=ratio) for x, y in (*steps, *((y, x) for x, y in steps)))


def count_distributions(protocol: LaplaceHistogram | StabilityHistogram) -> list[Distribution]:
    """The distribution of what is published for a bin with 0, 1, ..., users holders.

    A stability-based histogram leaves out an empty bin and a bin whose noisy count is below the threshold: None.
    """
    decay, users = Fraction(protocol.noise.decay), protocol.users
    if isinstance(protocol, LaplaceHistogram):
        return [_noisy(count, decay, first=-1, last=users + 1) for count in range(users + 1)]
    threshold = protocol.threshold
    distributions: list[Distribution] = [{None: Fraction(1)}]
    for count in range(1, users + 1):
        noisy = _noisy(count, decay, first=min(count, threshold) - 1, last=max(threshold, users) + 1)
        hidden: dict[Any, Fraction] = {None: sum((p for k, p in noisy.items() if k < threshold), Fraction(0))}
        distributions.append(hidden | {k: p for k, p in noisy.items() if k >= threshold})
    return distributions


def _noisy(count: int, decay: Fraction, *, first: int, last: int) -> dict[Any, Fraction]:
    """A count with discrete Laplace noise, where `first` and `last` stand for whole tails.

    Beyond the counts the likelihood ratio of two datasets is constant.
    """
    distribution = {k: (1 - decay) / (1 + decay) * decay ** abs(k - count) for k in range(first + 1, last)}
    return distribution | {end: decay ** abs(end - count) / (1 + decay) for end in (first, last)}


def message_table(protocol: HistogramProtocol) -> FiniteRandomizer:
    """The distribution of one message of a local protocol, or of which of two bins it supports.

    A hashed or projected report reveals nothing else about two given bins.
    """
    if isinstance(protocol, LocalHashing):
        cells = protocol.cells or 2
        response = FiniteRandomizer.of(protocol._response, range(cells)).table[0]
        return _supporting(response[0,], each_other=response[1,], cells=cells)
    if isinstance(protocol, BassilySmith):
        own = Fraction(protocol.true_support)
        return _supporting(own, each_other=1 - own, cells=2)
    if not isinstance(protocol, EnumerableProtocol):
        raise TypeError(f"{type(protocol).__name__} does not list the distribution of its messages")
    return FiniteRandomizer.of(protocol, range(LOCAL_TARGET.bins))


def _supporting(own: Fraction, *, each_other: Fraction, cells: int) -> FiniteRandomizer:
    """Two bins with independent uniform cells: a report names the own cell with probability `own`."""
    rows: dict[int, dict[Any, Fraction]] = {0: {}, 1: {}}
    for first, second, named in product(range(cells), repeat=3):
        supported = (first == named, second == named)
        for value, cell in ((0, first), (1, second)):
            p = Fraction(1, cells**2) * (own if cell == named else each_other)
            rows[value][supported] = rows[value].get(supported, Fraction(0)) + p
    return FiniteRandomizer.single(rows)


ORACLES: dict[type, Oracle] = {
    Histogram: lambda protocol, target: _binomial_noise(protocol.missing_probability, target, moved=2),
    BinarySum: lambda protocol, target: _binomial_noise(protocol.missing_probability, target, moved=1),
    DummyHistogram: _dummy,
    SparseHistogram: _sparse,
    PublicCoinHistogram: _public_coin,
    PrivateCoinHistogram: _private_coin,
    HashedHistogram: _hashed,
    BlanketHistogram: _blanket,
    BlanketSum: _blanket,
    AmplifiedOracle: _amplified,
    RealSum: _real_sum,
    LaplaceHistogram: _central,
    StabilityHistogram: _central,
}

_BASES = {
    RealSum: Basis.BOUND,
    LaplaceHistogram: Basis.ENUMERATED,
    StabilityHistogram: Basis.ENUMERATED,
}
"""How the delta is known, if it is not recomputed."""

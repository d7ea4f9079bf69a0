"""What the other protocols promise, beside what is exactly true of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from shuffledp.protocols import BlanketHistogram, BlanketSum, DummyHistogram, PrivateCoinHistogram, SparseHistogram
from shuffledp.protocols.amplified_oracle import AmplifiedOracle
from shuffledp.protocols.central import LaplaceHistogram, StabilityHistogram
from shuffledp.protocols.local import BassilySmith, HadamardResponse, LocalHashing, RandomizedResponse, UnaryEncoding
from shuffledp.protocols.public_coin import PublicCoinHistogram
from shuffledp.protocols.real_sum import RealSum
from shuffledp.verification.finite import FiniteRandomizer
from shuffledp.verification.statements.verdict import Verdict

EPSILON, DELTA = 1.0, 1e-6
_TERMS = 40


def sparse() -> Iterator[Verdict]:
    """SparseHistogram, calibrated."""
    yield _curve(SparseHistogram.calibrate(users=10_000, bins=10**6, epsilon=EPSILON, delta=DELTA))


def dummy() -> Iterator[Verdict]:
    """DummyHistogram, calibrated, with either kind of dummies."""
    for kind in ("binomial", "poisson"):
        protocol = DummyHistogram.calibrate(users=10_000, bins=100, epsilon=EPSILON, delta=DELTA, dummies=kind)
        yield _curve(protocol, f" with {kind} dummies")


def blanket() -> Iterator[Verdict]:
    """The bound on the privacy of CSU+19's sum and histogram, against all multisets of messages of some people."""
    ratio = Fraction(3, 2)
    for protocol in (
        BlanketSum(users=30, flip_probability=0.125),
        BlanketHistogram(users=8, bins=2, flip_probability=0.125),
    ):
        table = FiniteRandomizer.of(protocol, range(2))
        yield Verdict.at_most(
            statement=f"{type(protocol).__name__}, bound",
            claim=f"delta at epsilon {math.log(ratio):.3f}, n = {protocol.users}",
            claimed=protocol.privacy.delta(math.log(ratio)),
            exact=float(table.shuffled_delta(users=protocol.users, ratio=ratio).delta),
        )


def public_coin() -> Iterator[Verdict]:
    """PublicCoinHistogram, calibrated."""
    yield _curve(PublicCoinHistogram.calibrate(users=10_000, bins=100, epsilon=EPSILON, delta=DELTA))


def private_coin() -> Iterator[Verdict]:
    """PrivateCoinHistogram: its bound for two bins, one element and one noise message, against all multisets."""
    users, ratio = 6, Fraction(3, 2)
    protocol = PrivateCoinHistogram(users=users, bins=2, elements=1, noise_messages=1)
    elements = range(1 << protocol.bits_per_element)
    inside = {bin: [y for y in elements if ((bin + 1) & y).bit_count() % 2 == 0] for bin in range(2)}
    each = Fraction(2, len(elements) ** 2)
    table = FiniteRandomizer(
        {bin: {(real, noise): each for real in inside[bin] for noise in elements} for bin in range(2)}
    )
    yield Verdict.at_most(
        statement="PrivateCoinHistogram, bound",
        claim=f"delta at epsilon {math.log(ratio):.3f}, n = {users}",
        claimed=protocol.privacy.delta(math.log(ratio)),
        exact=float(table.shuffled_delta(users=users, ratio=ratio).delta),
    )
    yield _curve(PrivateCoinHistogram.calibrate(users=10_000, bins=100, epsilon=EPSILON, delta=DELTA))


def real_sum() -> Iterator[Verdict]:
    """RealSum, calibrated."""
    yield _curve(RealSum.calibrate(users=10_000, epsilon=EPSILON, delta=DELTA))


def amplified() -> Iterator[Verdict]:
    """Amplification by shuffling, against the enumeration of all multisets of messages of 30 people."""
    users, delta = 30, 0.01
    protocol = AmplifiedOracle.calibrate(users=users, bins=2, epsilon=EPSILON, delta=delta, kind=RandomizedResponse)
    table = FiniteRandomizer.of(protocol.oracle, range(2))  # type: ignore[arg-type]
    yield Verdict.at_most(
        statement="AmplifiedOracle, promise",
        claim=f"epsilon at delta {delta:g}, n = {users}",
        claimed=EPSILON,
        exact=table.shuffled_privacy(users=users, delta=Fraction(delta)).epsilon,
    )


def local() -> Iterator[Verdict]:
    """The likelihood ratio of one message. What is hashed or projected with public words is a response on few cells."""
    choice: dict[str, Any] = {"users": 1, "epsilon": EPSILON}
    for kind in (RandomizedResponse, HadamardResponse, UnaryEncoding):
        yield _ratio(kind, FiniteRandomizer.of(kind(bins=4, **choice), range(4)))
    hashing = LocalHashing(bins=100, **choice)
    cells = hashing.cells or 2
    yield _ratio(LocalHashing, FiniteRandomizer.of(RandomizedResponse(bins=cells, **choice), range(cells)))
    truth = Fraction(BassilySmith(bins=100, **choice).true_support)
    signs = {sign: {sign: truth, not sign: 1 - truth} for sign in (False, True)}
    yield _ratio(BassilySmith, FiniteRandomizer.single(signs))


def central() -> Iterator[Verdict]:
    """LaplaceHistogram and StabilityHistogram, calibrated."""
    choice: dict[str, Any] = {"users": 1000, "bins": 100, "epsilon": EPSILON, "delta": DELTA}
    yield _curve(LaplaceHistogram.calibrate(**choice))
    stability = StabilityHistogram.calibrate(**choice)
    yield Verdict.at_most(
        statement="StabilityHistogram, promise",
        claim=f"delta at epsilon {EPSILON:g}",
        claimed=DELTA,
        exact=stability.delta(EPSILON),
    )


def _curve(protocol: Any, which: str = "") -> Verdict:
    bound = "" if protocol.privacy.exact else ", by an upper bound"
    return Verdict.at_most(
        statement=f"{type(protocol).__name__}{which}, promise",
        claim=f"delta at epsilon {EPSILON:g}{bound}",
        claimed=DELTA,
        exact=protocol.privacy.delta(EPSILON),
    )


def _ratio(kind: type[Any], table: FiniteRandomizer) -> Verdict:
    exact = table.privacy()
    promised = _exponential_below(EPSILON)
    return Verdict(
        statement=f"{kind.__name__}, promise",
        claim="epsilon of a message",
        claimed=EPSILON,
        exact=exact.epsilon,
        holds=exact.ratio is not None and exact.ratio <= promised,  # not by the rounded logarithm
    )


def _exponential_below(number: float) -> Fraction:
    """A fraction just below e^number, number > 0: the first terms of the series."""
    return sum((Fraction(number) ** k / math.factorial(k) for k in range(_TERMS)), Fraction(0))

"""What the other protocols promise: beside an enumeration where that is possible, else beside their own curves."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from shuffledp.protocols import BlanketHistogram, BlanketSum, DummyHistogram, PrivateCoinHistogram, SparseHistogram
from shuffledp.protocols.central import LaplaceHistogram, StabilityHistogram
from shuffledp.protocols.local import BassilySmith, HadamardResponse, LocalHashing, RandomizedResponse, UnaryEncoding
from shuffledp.protocols.shuffled.amplified import AmplifiedOracle
from shuffledp.protocols.shuffled.public_coin import PublicCoinHistogram
from shuffledp.protocols.sums.real_sum import RealSum
from shuffledp.verification.exact.finite import FiniteRandomizer
from shuffledp.verification.statements import small_outputs, small_tables
from shuffledp.verification.statements.verdict import BOUND, ENUMERATED, OWN_CURVE, Verdict

EPSILON, DELTA = 1.0, 1e-6
RATIO = Fraction(3, 2)
"""e^epsilon where outcomes are enumerated."""
_TERMS = 40


def sparse() -> Iterator[Verdict]:
    """SparseHistogram: its curve for one person and two bins against all outcomes, and calibrated."""
    yield _against("SparseHistogram", small_outputs.sparse_histogram(), small_outputs.sparse_delta(ratio=RATIO))
    yield _promise(SparseHistogram.calibrate(users=10_000, bins=10**6, epsilon=EPSILON, delta=DELTA))


def dummy() -> Iterator[Verdict]:
    """DummyHistogram: its curve for three people against all multisets; calibrated with either kind of dummies."""
    yield _against_table(*small_tables.dummy_histogram(users=3, bins=2))
    for kind in ("binomial", "poisson"):
        protocol = DummyHistogram.calibrate(users=10_000, bins=100, epsilon=EPSILON, delta=DELTA, dummies=kind)
        yield _promise(protocol, f" with {kind} dummies")


def blanket() -> Iterator[Verdict]:
    """The bound on the privacy of CSU+19's sum and histogram, against all multisets of messages of some people."""
    for protocol in (
        BlanketSum(users=30, flip_probability=0.125),
        BlanketHistogram(users=8, bins=2, flip_probability=0.125),
    ):
        yield _against_table(protocol, FiniteRandomizer.of(protocol, range(2)))


def public_coin() -> Iterator[Verdict]:
    """PublicCoinHistogram: one and two rows of two cells against all multisets, and calibrated."""
    for rows in (1, 2):
        yield _against_table(*small_tables.public_coin(users=2, rows=rows), f" with {rows} row{'s' * (rows - 1)}")
    yield _promise(PublicCoinHistogram.calibrate(users=10_000, bins=100, epsilon=EPSILON, delta=DELTA))


def private_coin() -> Iterator[Verdict]:
    """PrivateCoinHistogram: its bound for six people against all multisets, and calibrated."""
    yield _against_table(*small_tables.private_coin(users=6))
    yield _promise(PrivateCoinHistogram.calibrate(users=10_000, bins=100, epsilon=EPSILON, delta=DELTA))


def real_sum() -> Iterator[Verdict]:
    """RealSum, calibrated."""
    yield _promise(RealSum.calibrate(users=10_000, epsilon=EPSILON, delta=DELTA))


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
        basis=ENUMERATED,
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
    """LaplaceHistogram and StabilityHistogram: with a few people and two bins against all outputs, and calibrated."""
    few: dict[str, Any] = {"bins": 2, "epsilon": 0.5, "delta": 0.05}
    choice: dict[str, Any] = {"users": 1000, "bins": 100, "epsilon": EPSILON, "delta": DELTA}
    laplace = LaplaceHistogram.calibrate(users=4, **few)
    yield _against("LaplaceHistogram", laplace, float(small_outputs.laplace_delta(laplace, ratio=RATIO)))
    yield _promise(LaplaceHistogram.calibrate(**choice))
    stability = StabilityHistogram.calibrate(users=18, **few)  # so that both bins can be large
    yield _against("StabilityHistogram", stability, float(small_outputs.stability_delta(stability, ratio=RATIO)))
    yield _promise(StabilityHistogram.calibrate(**choice))


def _against_table(protocol: Any, table: FiniteRandomizer, which: str = "") -> Verdict:
    """The protocol's curve or bound against all multisets of messages."""
    truth = table.shuffled_delta(users=protocol.users, ratio=RATIO).delta
    return _against(f"{type(protocol).__name__}{which}", protocol, float(truth))


def _against(name: str, protocol: Any, truth: float) -> Verdict:
    curve, exact = _curve(protocol)
    return Verdict.at_most(
        statement=f"{name}, {'curve' if exact else 'bound'}",
        claim=f"delta at epsilon {math.log(RATIO):.3f}, n = {protocol.users}",
        claimed=curve(math.log(RATIO)),
        exact=truth,
        basis=ENUMERATED,
    )


def _promise(protocol: Any, which: str = "") -> Verdict:
    """A calibrated protocol against the curve that it was calibrated with: nothing new, but nothing forgotten."""
    curve, exact = _curve(protocol)
    return Verdict.at_most(
        statement=f"{type(protocol).__name__}{which}, promise",
        claim=f"delta at epsilon {EPSILON:g}",
        claimed=DELTA,
        exact=curve(EPSILON),
        basis=OWN_CURVE if exact else BOUND,
    )


def _curve(protocol: Any) -> tuple[Callable[[float], float], bool]:
    """Delta as a function of epsilon, and whether the protocol calls it exact."""
    if isinstance(protocol, StabilityHistogram):
        return protocol.delta, True
    return protocol.privacy.delta, protocol.privacy.exact


def _ratio(kind: type[Any], table: FiniteRandomizer) -> Verdict:
    exact = table.privacy()
    promised = _exponential_below(EPSILON)
    return Verdict(
        statement=f"{kind.__name__}, promise",
        claim="epsilon of a message",
        claimed=EPSILON,
        exact=exact.epsilon,
        basis=ENUMERATED,
        holds=exact.ratio is not None and exact.ratio <= promised,  # not by the rounded logarithm
    )


def _exponential_below(number: float) -> Fraction:
    """A fraction just below e^number, number > 0: the first terms of the series."""
    return sum((Fraction(number) ** k / math.factorial(k) for k in range(_TERMS)), Fraction(0))

"""What every protocol of the catalogue promises, beside an enumeration where that is possible and its own curve.

An enumeration shares nothing with the accounting: it lists the messages or outputs of a few people in fractions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial

from shuffledp.accounting.curve import Curve
from shuffledp.protocols.catalogue import Entry
from shuffledp.protocols.local import BassilySmith, HadamardResponse, LocalHashing, RandomizedResponse, UnaryEncoding
from shuffledp.protocols.local.frequency_oracle import FrequencyOracle
from shuffledp.protocols.shuffled.amplified import AmplifiedOracle
from shuffledp.protocols.shuffled.blanket import BlanketHistogram
from shuffledp.protocols.sums.blanket_sum import BlanketSum
from shuffledp.protocols.sums.real_sum import RealSum
from shuffledp.protocols.target import Target
from shuffledp.verification.exact.finite import FiniteRandomizer
from shuffledp.verification.statements import small_outputs, small_tables
from shuffledp.verification.statements.verdict import BOUND, ENUMERATED, OWN_CURVE, Verdict

EPSILON, DELTA = 1.0, 1e-6
TARGET = Target(users=10_000, bins=100, epsilon=EPSILON, delta=DELTA)
PUBLISHED = Target(users=200_000, bins=100, epsilon=EPSILON, delta=DELTA)
"""Published parameters need more people."""

RATIO = Fraction(3, 2)
"""e^epsilon where outcomes are enumerated."""

_TERMS = 40
"""Terms of the exponential series: the rest is far below the precision of a float."""

_FEW_SHUFFLED = 30
_FEWER_SHUFFLED = 8
"""People whose shuffled reports are enumerated, of two kinds and of four."""


def of_entry(name: str, entry: Entry) -> Iterator[Verdict]:
    """Enumerations of this protocol, if there are any, then its promise; a local one is known by its messages alone."""
    if name in ENUMERATIONS:
        yield from ENUMERATIONS[name]()
    if entry.model != "local":
        protocol = entry.make(PUBLISHED if entry.published else TARGET)
        yield _promise(entry.title, protocol.privacy)


def real_sum() -> Iterator[Verdict]:
    """RealSum, calibrated."""
    yield _promise("RealSum", RealSum.calibrate(users=TARGET.users, epsilon=EPSILON, delta=DELTA).privacy)


def _sparse() -> Iterator[Verdict]:
    """One person and two bins, against all outcomes."""
    protocol = small_outputs.sparse_histogram()
    yield _against("SparseHistogram", protocol.users, protocol.privacy, small_outputs.sparse_delta(ratio=RATIO))


def _dummy() -> Iterator[Verdict]:
    """Three people, against all multisets."""
    protocol, table = small_tables.dummy_histogram(users=3, bins=2)
    yield _against_table("DummyHistogram", protocol.users, protocol.privacy, table)


def _blanket() -> Iterator[Verdict]:
    """The bound for CSU+19's sum and histogram, against all multisets of messages of some people."""
    for protocol in (
        BlanketSum(users=30, flip_probability=0.125),
        BlanketHistogram(users=8, bins=2, flip_probability=0.125),
    ):
        table = FiniteRandomizer.of(protocol, range(2))
        yield _against_table(type(protocol).__name__, protocol.users, protocol.privacy, table)


def _public_coin() -> Iterator[Verdict]:
    """One and two rows of two cells, against all multisets."""
    for rows in (1, 2):
        protocol, table = small_tables.public_coin(users=2, rows=rows)
        title = f"PublicCoinHistogram with {rows} row{'s' * (rows - 1)}"
        yield _against_table(title, protocol.users, protocol.privacy, table)


def _private_coin() -> Iterator[Verdict]:
    """The bound for six people, against all multisets."""
    protocol, table = small_tables.private_coin(users=6)
    yield _against_table("PrivateCoinHistogram", protocol.users, protocol.privacy, table)


def _shuffled(kind: type[FrequencyOracle], users: int) -> Callable[[], Iterator[Verdict]]:
    """Amplification by shuffling, against the enumeration of all multisets of reports on two bins."""

    def verdicts() -> Iterator[Verdict]:
        delta = 0.01
        protocol = AmplifiedOracle.calibrate(users=users, bins=2, epsilon=EPSILON, delta=delta, kind=kind)
        table = FiniteRandomizer.of(protocol.oracle, range(2))  # type: ignore[arg-type]
        yield Verdict.at_most(
            statement=f"shuffled {kind.__name__}, promise",
            claim=f"epsilon at delta {delta:g}, n = {users}",
            claimed=EPSILON,
            exact=table.shuffled_privacy(users=users, delta=Fraction(delta)).epsilon,
            basis=ENUMERATED,
        )

    return verdicts


def _local(kind: Callable[..., FrequencyOracle], name: str) -> Callable[[], Iterator[Verdict]]:
    """The likelihood ratio of one message that can be listed."""

    def verdicts() -> Iterator[Verdict]:
        yield _ratio(name, FiniteRandomizer.of(kind(users=1, bins=4, epsilon=EPSILON), range(4)))  # type: ignore[arg-type]

    return verdicts


def _hashing() -> Iterator[Verdict]:
    """What is hashed with public words is a response on few cells."""
    cells = LocalHashing(users=1, bins=100, epsilon=EPSILON).cells or 2
    table = FiniteRandomizer.of(RandomizedResponse(users=1, bins=cells, epsilon=EPSILON), range(cells))
    yield _ratio("LocalHashing", table)


def _signs() -> Iterator[Verdict]:
    """What is projected with public words is a response on two signs."""
    truth = Fraction(BassilySmith(users=1, bins=100, epsilon=EPSILON).true_support)
    signs = {sign: {sign: truth, not sign: 1 - truth} for sign in (False, True)}
    yield _ratio("BassilySmith", FiniteRandomizer.single(signs))


def _laplace() -> Iterator[Verdict]:
    """A few people and two bins, against all outputs."""
    protocol = small_outputs.laplace_histogram()
    truth = float(small_outputs.laplace_delta(protocol, ratio=RATIO))
    yield _against("LaplaceHistogram", protocol.users, protocol.privacy, truth)


def _stability() -> Iterator[Verdict]:
    """So many people that both bins can be large, against all outputs."""
    protocol = small_outputs.stability_histogram()
    truth = float(small_outputs.stability_delta(protocol, ratio=RATIO))
    yield _against("StabilityHistogram", protocol.users, protocol.privacy, truth)


ENUMERATIONS: dict[str, Callable[[], Iterator[Verdict]]] = {
    "stability": _stability,
    "laplace": _laplace,
    "response": _local(RandomizedResponse, "RandomizedResponse"),
    "unary-symmetric": _local(partial(UnaryEncoding, optimised=False), "UnaryEncoding, symmetric"),
    "unary": _local(UnaryEncoding, "UnaryEncoding"),
    "hadamard": _local(HadamardResponse, "HadamardResponse"),
    "hashing": _hashing,
    "bassily-smith": _signs,
    "shuffled-response": _shuffled(RandomizedResponse, _FEW_SHUFFLED),
    "shuffled-hadamard": _shuffled(HadamardResponse, _FEWER_SHUFFLED),
    "shuffled-unary": _shuffled(UnaryEncoding, _FEWER_SHUFFLED),
    "blanket": _blanket,
    "public-coin": _public_coin,
    "private-coin": _private_coin,
    "dummy": _dummy,
    "sparse": _sparse,
}
"""By name of the catalogue; that of P^hist is with the paper's theorems."""


def _against_table(title: str, users: int, curve: Curve, table: FiniteRandomizer) -> Verdict:
    """The protocol's curve or bound against all multisets of messages."""
    return _against(title, users, curve, float(table.shuffled_delta(users=users, ratio=RATIO).delta))


def _against(title: str, users: int, curve: Curve, truth: float) -> Verdict:
    return Verdict.at_most(
        statement=f"{title}, {'curve' if curve.exact else 'bound'}",
        claim=f"delta at epsilon {math.log(RATIO):.3f}, n = {users}",
        claimed=curve.delta(math.log(RATIO)),
        exact=truth,
        basis=ENUMERATED,
    )


def _promise(title: str, curve: Curve) -> Verdict:
    """A calibrated protocol against the curve that it was calibrated with: nothing new, but nothing forgotten."""
    return Verdict.at_most(
        statement=f"{title}, promise",
        claim=f"delta at epsilon {EPSILON:g}",
        claimed=DELTA,
        exact=curve.delta(EPSILON),
        basis=OWN_CURVE if curve.exact else BOUND,
    )


def _ratio(name: str, table: FiniteRandomizer) -> Verdict:
    exact = table.privacy()
    promised = _exponential_below(EPSILON)
    return Verdict(
        statement=f"{name}, promise",
        claim="epsilon of a message",
        claimed=EPSILON,
        exact=exact.epsilon,
        basis=ENUMERATED,
        holds=exact.ratio is not None and exact.ratio <= promised,  # not by the rounded logarithm
    )


def _exponential_below(number: float) -> Fraction:
    """A fraction just below e^number, number > 0: the first terms of the series."""
    return sum((Fraction(number) ** k / math.factorial(k) for k in range(_TERMS)), Fraction(0))

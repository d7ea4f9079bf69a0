"""Section 3 and the appendix: Theorems 3.1 and 3.2 with the paper's constants, and the smooth laws behind them.

Zero and messages are checked on the table of messages of a few people, privacy and error on the exact laws of many.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from shuffledp.accounting import theorems
from shuffledp.accounting.smoothness import Check, binomial_lemma, corollary, smooth_delta
from shuffledp.protocols import BinarySum, Histogram
from shuffledp.verification.exact.finite import FiniteRandomizer
from shuffledp.verification.exact.pairs import ROUNDED, Pair, near_the_mean, worse_way
from shuffledp.verification.statements.verdict import ENUMERATED, OWN_LAW, RECOMPUTED, Verdict

EPSILON, DELTA, BETA = 0.5, 1e-6, 0.05
BINS = 10**6
_MOVED = "moved binomial counts, listed"
_FEW, _FEW_BINS = 4, 2
"""People and bins whose messages are listed one by one."""


def binary_sum() -> Iterator[Verdict]:
    """Theorem 3.1, with as few people as it allows."""
    users = theorems.theorem_users(epsilon=EPSILON, delta=DELTA)
    protocol = BinarySum.published(users=users, epsilon=EPSILON, delta=DELTA)
    yield _private("Theorem 3.1 i, privacy", protocol, epsilon=EPSILON, delta=DELTA)
    yield Verdict.at_most(
        statement="Theorem 3.1 ii, error",
        claim=f"people, but for {BETA:g}",
        claimed=theorems.sum_error_bound(epsilon=EPSILON, delta=DELTA, beta=BETA),
        exact=float(protocol.error(BETA).per_bin),
        basis=OWN_LAW,
    )
    few = BinarySum(users=_FEW, missing_probability=0.25)
    yield _zero("Theorem 3.1 iii, zero", few, FiniteRandomizer.of(few, [0, 1]), dataset=(0,) * _FEW, label=1)
    yield _messages("Theorem 3.1 iv, messages", few, values=2, claimed=2)
    yield _enumerated(few, FiniteRandomizer.of(few, [0, 1]))


def histogram() -> Iterator[Verdict]:
    """Theorem 3.2, for a million bins."""
    users = theorems.theorem_users(epsilon=EPSILON, delta=DELTA)
    protocol = Histogram.published(users=users, bins=BINS, epsilon=2 * EPSILON, delta=2 * DELTA)
    error = protocol.error(BETA)
    yield _private("Theorem 3.2 i, privacy", protocol, epsilon=2 * EPSILON, delta=2 * DELTA)
    yield Verdict.at_most(
        statement="Theorem 3.2 ii, error of a bin",
        claim=f"people, but for {BETA:g}",
        claimed=theorems.sum_error_bound(epsilon=EPSILON, delta=DELTA, beta=BETA),
        exact=float(error.per_bin),
        basis=OWN_LAW,
    )
    yield Verdict.at_most(
        statement="Theorem 3.2 iii, error of all bins",
        claim=f"people, but for {BETA:g}, d = {BINS:,}",
        claimed=theorems.simultaneous_error_bound(users=users, epsilon=EPSILON, delta=DELTA, beta=BETA),
        exact=float(error.simultaneous),
        basis=OWN_LAW,
    )
    few = Histogram(users=_FEW, bins=_FEW_BINS, missing_probability=0.25)
    table = FiniteRandomizer.of(few, range(_FEW_BINS))
    yield _zero("Theorem 3.2, an empty bin is zero", few, table, dataset=(0,) * _FEW, label=1)
    yield _messages("Theorem 3.2 iv, messages", few, values=_FEW_BINS, claimed=1 + _FEW_BINS)
    yield _enumerated(few, table)


def smoothness() -> Iterator[Verdict]:
    """The appendix's lemmas on smooth distributions."""
    users = theorems.theorem_users(epsilon=EPSILON, delta=DELTA)
    yield _smooth("Lemma: the binomial is smooth", binomial_lemma(trials=1000, probability=0.09, alpha=0.6))
    noise = BinarySum.published(users=users, epsilon=EPSILON, delta=DELTA)
    weak = BinarySum.calibrate(users=1000, epsilon=EPSILON, delta=1e-3)
    yield Verdict.at_most(
        statement="Lemma: smooth gives private",
        claim=f"delta at epsilon {EPSILON:g} of Bin(1000, {weak.missing_probability:.3g})",
        claimed=smooth_delta(weak.noise, epsilon=EPSILON, shifts=1),
        exact=_delta(weak, EPSILON),
        basis=RECOMPUTED,
        oracle=_MOVED,
        rounded=ROUNDED,
    )
    yield _smooth("Corollary: the noise is smooth", corollary(users=users, epsilon=EPSILON, delta=DELTA))
    yield _private("Corollary: the sum is private", noise, epsilon=EPSILON, delta=DELTA)


def _private(statement: str, protocol: BinarySum | Histogram, *, epsilon: float, delta: float) -> Verdict:
    """A promise beside the law of the noise, listed."""
    return Verdict.at_most(
        statement=statement,
        claim=f"delta at epsilon {epsilon:g}, n = {protocol.users:,}",
        claimed=delta,
        exact=_delta(protocol, epsilon),
        basis=RECOMPUTED,
        oracle=_MOVED,
        rounded=ROUNDED,
    )


def _delta(protocol: BinarySum | Histogram, epsilon: float) -> float:
    """One or two counts with the protocol's missing messages that move by one."""
    law = near_the_mean(protocol.users, protocol.missing_probability)
    moved = (1,) if isinstance(protocol, BinarySum) else (1, -1)
    return worse_way([Pair.shifted(law, by) for by in moved], math.exp(epsilon))


def _smooth(statement: str, check: Check) -> Verdict:
    claim = f"delta at epsilon {check.epsilon:.3g}: {check.statement.partition(' is')[0]}"
    return Verdict.at_most(
        statement=statement, claim=claim, claimed=check.claimed_delta, exact=check.exact_delta, basis=OWN_LAW
    )


def _zero(
    statement: str, protocol: BinarySum | Histogram, table: FiniteRandomizer, *, dataset: tuple[int, ...], label: int
) -> Verdict:
    """The probability, over all messages, that the analyzer reports a bin that nobody holds."""
    law = table.shuffled_law(dataset)
    wrong = sum(p for messages, p in law.items() if protocol.estimate(protocol.tally(list(messages)))[label] != 0)
    return Verdict.at_most(
        statement=statement, claim="chance of a phantom", claimed=0.0, exact=float(wrong), basis=ENUMERATED
    )


def _enumerated(protocol: BinarySum | Histogram, table: FiniteRandomizer) -> Verdict:
    """The privacy curve that all calibration uses, against all multisets of messages of a few people."""
    ratio = Fraction(3, 2)
    return Verdict.at_most(
        statement="privacy curve, enumerated",
        claim=f"delta at epsilon {math.log(ratio):.3f}, n = {_FEW}",
        claimed=protocol.privacy.delta(math.log(ratio)),
        exact=table.shuffled_delta(users=_FEW, ratio=ratio).delta,
        basis=ENUMERATED,
        oracle="all multisets of messages of all neighbours",
    )


def _messages(statement: str, protocol: BinarySum | Histogram, *, values: int, claimed: int) -> Verdict:
    most = max(len(messages) for value in range(values) for messages in protocol.randomizer_law(value))
    claim = f"messages of a person, d = {values}" if values != claimed else "messages of a person"
    return Verdict.at_most(
        statement=statement, claim=claim, claimed=float(claimed), exact=float(most), basis=ENUMERATED
    )

"""The statements of the paper (Balcer and Cheu, ITC 2020), each beside the number that an exact computation gives.

Theorems 3.1 and 3.2 are checked with the paper's constants, for the smallest number of users that they allow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from itertools import product

from shuffledp.accounting import theorems
from shuffledp.accounting.theorems import binomial_lemma, corollary, smooth_delta
from shuffledp.paper import SupportIdentification
from shuffledp.paper.divergence import ROUNDED, Pair, near_the_mean, worse_way
from shuffledp.paper.finite_randomizer import FiniteRandomizer
from shuffledp.paper.gap import Gap
from shuffledp.paper.pure_privacy import FiniteProtocol, opposite_bits, response, shuffler_removal, to_local
from shuffledp.protocols import BinarySum, Histogram
from shuffledp.protocols.local import HadamardResponse, RandomizedResponse, UnaryEncoding

EPSILON, DELTA, BETA = 0.5, 1e-6, 0.05
BINS = 10**6
_SUPPORT_EPSILON = 1.0
_SUCCESS = 0.99
_FEW, _FEW_BINS = 4, 2
"""Users and bins whose messages are enumerated."""

UNRESOLVED = 1e-29
"""Tails are cut off or rounded up there."""


class Basis(StrEnum):
    """How the computed number is known."""

    ENUMERATED = "enumerated"
    """All outcomes are listed with exact probabilities; no code is shared with the accounting."""
    RECOMPUTED = "recomputed"
    """The distributions that a theorem compares are listed again and summed; no privacy curve is used."""
    NOISE = "noise"
    """The exact distribution of the protocol's noise, as the accounting computes it."""
    BOUND = "bound"
    """An independently computed upper bound: the true number may be smaller."""


class Quantity(StrEnum):
    """What a statement is about."""

    DELTA = "delta"
    EPSILON = "epsilon"
    ERROR = "error"
    MESSAGES = "messages"
    FALSE_POSITIVE = "false positive"
    SUCCESS = "success"
    DISTANCE = "distance"


@dataclass(frozen=True, kw_only=True)
class Statement:
    """One claim about a number, and the number.

    `group` selects it, `source` is the place in the paper or the title of a protocol, and `parameters` are the numbers
    that the claim is made for. `claimed` is the bound, which for a claim of separation is the (infinite) epsilon
    without a shuffler. `problem` says why nothing was computed: "no oracle" or the type of an exception.
    """

    group: str
    source: str
    quantity: Quantity
    claimed: float
    computed: float
    basis: Basis
    holds: bool
    parameters: Mapping[str, float] = field(default_factory=dict)
    problem: str = ""

    @classmethod
    def unchecked(cls, group: str, source: str, *, problem: str) -> Statement:
        """A claim that could not be checked, which does not hold."""
        return cls(
            group=group,
            source=source,
            quantity=Quantity.DELTA,
            claimed=0.0,
            computed=math.inf,
            basis=Basis.BOUND,
            holds=False,
            problem=problem,
        )

    @property
    def is_limit(self) -> bool:
        """Whether `computed` is only an upper limit: a bound, or a tail too small to resolve."""
        return self.basis is Basis.BOUND or (
            self.basis in (Basis.NOISE, Basis.RECOMPUTED) and 0 < self.computed < UNRESOLVED
        )

    @property
    def slack(self) -> float | None:
        """The ratio of the claimed to the computed number; None where it has no meaning."""
        if self.quantity is Quantity.SUCCESS:
            return None
        return self.claimed / self.computed if 0 < self.claimed < math.inf and 0 < self.computed < math.inf else None


def at_most(
    group: str,
    source: str,
    quantity: Quantity,
    *,
    claimed: float,
    computed: float | Fraction,
    basis: Basis,
    rounding: float = 0.0,
    **parameters: float,
) -> Statement:
    """The claim that a number is at most `claimed`.

    Fractions are compared exactly. A float may exceed the claim by its own relative rounding error.
    """
    if isinstance(computed, Fraction) and math.isfinite(claimed):
        holds = computed <= Fraction(claimed)
    else:
        holds = float(computed) <= claimed * (1 + rounding)
    return Statement(
        group=group,
        source=source,
        quantity=quantity,
        claimed=claimed,
        computed=float(computed),
        basis=basis,
        holds=holds,
        parameters=parameters,
    )


def theorem_3_1() -> Iterator[Statement]:
    """P^zsum with the paper's noise and the fewest users that the theorem allows."""
    users = theorems.theorem_users(epsilon=EPSILON, delta=DELTA)
    protocol = BinarySum.published(users=users, epsilon=EPSILON, delta=DELTA)
    yield _privacy("zsum", "Theorem 3.1 i", protocol, epsilon=EPSILON, delta=DELTA)
    yield at_most(
        "zsum",
        "Theorem 3.1 ii",
        Quantity.ERROR,
        claimed=theorems.sum_error_bound(epsilon=EPSILON, delta=DELTA, beta=BETA),
        computed=float(protocol.error(BETA).per_bin),
        basis=Basis.NOISE,
        beta=BETA,
    )
    few = BinarySum(users=_FEW, missing_probability=0.25)
    outputs = FiniteRandomizer.of(few, [0, 1]).shuffled_distribution((0,) * _FEW)
    nonzero = sum((p for sent, p in outputs.items() if few.estimate(few.tally(list(sent)))[1] != 0), Fraction(0))
    yield at_most(
        "zsum",
        "Theorem 3.1 iii",
        Quantity.FALSE_POSITIVE,
        claimed=0.0,
        computed=nonzero,
        basis=Basis.ENUMERATED,
        users=_FEW,
    )
    yield _messages("zsum", "Theorem 3.1 iv", few, claimed=2)


def theorem_3_2() -> Iterator[Statement]:
    """P^hist with the paper's noise, the fewest users that the theorem allows and a million bins."""
    users = theorems.theorem_users(epsilon=EPSILON, delta=DELTA)
    protocol = Histogram.published(users=users, bins=BINS, epsilon=2 * EPSILON, delta=2 * DELTA)
    error = protocol.error(BETA)
    yield _privacy("hist", "Theorem 3.2 i", protocol, epsilon=2 * EPSILON, delta=2 * DELTA)
    yield at_most(
        "hist",
        "Theorem 3.2 ii",
        Quantity.ERROR,
        claimed=theorems.sum_error_bound(epsilon=EPSILON, delta=DELTA, beta=BETA),
        computed=float(error.per_bin),
        basis=Basis.NOISE,
        beta=BETA,
    )
    yield at_most(
        "hist",
        "Theorem 3.2 iii",
        Quantity.ERROR,
        claimed=theorems.simultaneous_error_bound(users=users, epsilon=EPSILON, delta=DELTA, beta=BETA),
        computed=float(error.simultaneous),
        basis=Basis.NOISE,
        beta=BETA,
        bins=BINS,
    )
    few = Histogram(users=_FEW, bins=_FEW_BINS, missing_probability=0.25)
    yield _messages("hist", "Theorem 3.2 iv", few, claimed=1 + _FEW_BINS)


def smooth_distributions() -> Iterator[Statement]:
    """The appendix: binomial noise is smooth, also with the constants of the theorems, and smooth noise is private."""
    users = theorems.theorem_users(epsilon=EPSILON, delta=DELTA)
    for source, trials, smooth in (
        ("Lemma, binomial is smooth", 1000, binomial_lemma(trials=1000, probability=0.09, alpha=0.6)),
        ("Corollary, noise is smooth", users, corollary(users=users, epsilon=EPSILON, delta=DELTA)),
    ):
        yield at_most(
            "smooth",
            source,
            Quantity.DELTA,
            claimed=smooth.claimed_delta,
            computed=smooth.exact_delta,
            basis=Basis.NOISE,
            epsilon=smooth.epsilon,
            users=trials,
        )
    weak = BinarySum.calibrate(users=1000, epsilon=EPSILON, delta=1e-3)
    yield at_most(
        "smooth",
        "Lemma, smooth is private",
        Quantity.DELTA,
        claimed=smooth_delta(weak.noise, epsilon=EPSILON, shifts=1),
        computed=_shift_delta(weak, EPSILON),
        basis=Basis.RECOMPUTED,
        rounding=ROUNDED,
        epsilon=EPSILON,
        users=weak.users,
    )


def support_identification() -> Iterator[Statement]:
    """Section 3.3: with the claimed number of users P^hist succeeds with probability 0.99."""
    problem = SupportIdentification(items_in_support=2, bins=BINS)
    users = problem.claimed_sample_size(epsilon=_SUPPORT_EPSILON, delta=DELTA)
    protocol = Histogram.published(users=users, bins=BINS, epsilon=_SUPPORT_EPSILON, delta=DELTA)
    success = problem.success(protocol, rule="paper")
    yield Statement(
        group="support",
        source="Section 3.3, support identification",
        quantity=Quantity.SUCCESS,
        claimed=_SUCCESS,
        computed=success,
        basis=Basis.NOISE,
        holds=success >= _SUCCESS,
        parameters={"users": users, "bins": BINS},
    )


def single_message() -> Iterator[Statement]:
    """Claim 4.2, Theorem 4.1 and the lemma of CSU+19 that Claim 4.2 strengthens."""
    kinds = ((RandomizedResponse, 8), (HadamardResponse, 3), (UnaryEncoding, 3))
    tables = [(FiniteRandomizer.of(kind(users=n, bins=3, epsilon=1.0), range(3)), n) for kind, n in kinds]
    found = [(table.privacy(), table.shuffled_privacy(users=n)) for table, n in tables]
    yield Statement(
        group="single-message",
        source="Claim 4.2",
        quantity=Quantity.EPSILON,
        claimed=max(shuffled.epsilon for _, shuffled in found),
        computed=max(local.epsilon for local, _ in found),
        basis=Basis.ENUMERATED,
        holds=all(local.ratio == shuffled.ratio for local, shuffled in found),
    )
    users = 3
    protocol = FiniteProtocol(users=users, randomizer=response(epsilon=1.0), analyzer=tuple)
    local = to_local(protocol)
    distances = []
    for dataset in product(protocol.randomizer.values, repeat=users):
        one, other = protocol.output_distribution(dataset), local.output_distribution(dataset)
        outcomes = {*one, *other}
        distances.append(sum((abs(one.get(o, Fraction(0)) - other.get(o, Fraction(0))) for o in outcomes), Fraction(0)))
    yield at_most(
        "single-message",
        "Theorem 4.1",
        Quantity.DISTANCE,
        claimed=0.0,
        computed=max(distances),
        basis=Basis.ENUMERATED,
        users=users,
    )
    ratio, users = Fraction(5, 4), 5
    lemma = shuffler_removal(response(epsilon=4.0), users=users, ratio=ratio)
    yield Statement(
        group="single-message",
        source="Lemma of CSU+19",
        quantity=Quantity.DELTA,
        claimed=float(lemma.shuffled_delta),
        computed=float(lemma.local_delta),
        basis=Basis.ENUMERATED,
        holds=lemma.holds,
        parameters={"epsilon": math.log(ratio) + math.log(users), "users": users},
    )


def r_infinity() -> Iterator[Statement]:
    """Claim 4.3: the shuffled messages reveal nothing, the unshuffled messages everything."""
    randomizer, users = opposite_bits(), 8
    shuffled = randomizer.shuffled_privacy(users=users)
    yield _separation(
        "r-infinity", "Claim 4.3, R^infinity", randomizer, shuffled.epsilon, users, private=shuffled.ratio == 1
    )


def r_gap() -> Iterator[Statement]:
    """Claim 4.4: a finite epsilon when shuffled, and none for the pre-shuffled randomizer."""
    gap, users = Gap.uniform(), 2
    epsilon = gap.privacy(users=users).epsilon
    yield _separation(
        "r-gap", "Claim 4.4, R^gap", gap.randomizer.pre_shuffled(), epsilon, users, private=epsilon < math.inf
    )


def _separation(
    group: str, source: str, alone: FiniteRandomizer, shuffled_epsilon: float, users: int, *, private: bool
) -> Statement:
    """A randomizer that is private when shuffled and has no finite epsilon alone."""
    local_epsilon = alone.privacy().epsilon
    return Statement(
        group=group,
        source=source,
        quantity=Quantity.EPSILON,
        claimed=local_epsilon,
        computed=shuffled_epsilon,
        basis=Basis.ENUMERATED,
        holds=private and local_epsilon == math.inf,
        parameters={"users": users},
    )


def _privacy(group: str, source: str, protocol: BinarySum | Histogram, *, epsilon: float, delta: float) -> Statement:
    return at_most(
        group,
        source,
        Quantity.DELTA,
        claimed=delta,
        computed=_shift_delta(protocol, epsilon),
        basis=Basis.RECOMPUTED,
        rounding=ROUNDED,
        epsilon=epsilon,
        users=protocol.users,
    )


def _shift_delta(protocol: BinarySum | Histogram, epsilon: float) -> float:
    """Delta of one or two binomial counts that move by one."""
    noise = near_the_mean(protocol.users, protocol.missing_probability)
    moved = (1,) if isinstance(protocol, BinarySum) else (1, -1)
    return worse_way([Pair.shifted(noise, by) for by in moved], math.exp(epsilon))


def _messages(group: str, source: str, protocol: BinarySum | Histogram, *, claimed: int) -> Statement:
    """The largest number of messages of one user, over all outcomes of the randomizer."""
    most = max(len(messages) for value in range(2) for messages in protocol.randomizer_distribution(value))
    return at_most(
        group, source, Quantity.MESSAGES, claimed=float(claimed), computed=float(most), basis=Basis.ENUMERATED, bins=2
    )


PAPER: dict[str, Callable[[], Iterator[Statement]]] = {
    "zsum": theorem_3_1,
    "hist": theorem_3_2,
    "smooth": smooth_distributions,
    "support": support_identification,
    "single-message": single_message,
    "r-infinity": r_infinity,
    "r-gap": r_gap,
}

"""Privacy curves against enumerations of a few people, and against whole numbers: the margins are on the safe side.

An enumeration lists all multisets of messages, or all outputs, of all neighbouring datasets in fractions, which are
compared with the curve as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product

from shuffledp.accounting.amplification import Amplification
from shuffledp.accounting.blanket_curve import BlanketCurve
from shuffledp.accounting.confidence import lower_bound, upper_bound
from shuffledp.accounting.curve import Curve, PrivacyCurve, Shift
from shuffledp.noise import Binomial
from shuffledp.protocols import BinarySum, Histogram
from shuffledp.protocols.local import HadamardResponse, LocalHashing, RandomizedResponse
from shuffledp.protocols.local.frequency_oracle import FrequencyOracle
from shuffledp.protocols.shuffled.amplified import AmplifiedOracle
from shuffledp.protocols.shuffled.blanket import BlanketHistogram
from shuffledp.protocols.sums.blanket_sum import BlanketSum
from shuffledp.verification.exact.enumeration import shifted_delta
from shuffledp.verification.exact.finite import FiniteRandomizer
from shuffledp.verification.exact.pairs import ROUNDED, binomial_shift_delta, exponential_above
from shuffledp.verification.statements import calibrations, local_messages, small_outputs, small_tables
from shuffledp.verification.statements.verdict import ENUMERATED, RECOMPUTED, Verdict

RATIO = Fraction(3, 2)
"""e^epsilon where outcomes are enumerated."""

_MULTISETS = "all multisets of messages of all neighbours"
_OUTPUTS = "all outputs for all neighbours"
_WHOLE = "moved binomial counts, in whole numbers"


def of_name(name: str) -> Iterator[Verdict]:
    """The enumerations of a protocol, if there are any."""
    yield from ENUMERATIONS.get(name, tuple)()


def accounting() -> Iterator[Verdict]:
    """Curves at several sizes, their inverse, the sizes where outcomes are taken together, and confidence bounds."""
    for kind, moved in ((BinarySum, 1), (Histogram, 2)):
        yield _margins(kind, moved)
        yield _inverse(kind, moved)
    yield from (_either_way(by) for by in (1, -1))
    yield _composed()
    yield _reported()
    yield from (_amplified(telling) for telling in (1.0, 0.5))
    yield _blocks()
    yield from _confidence()


def _margins(kind: type[BinarySum] | type[Histogram], moved: int) -> Verdict:
    """The place where the curve is least above the truth: a margin of the wrong sign shows."""
    least = None
    for people, probability, ratio in product((5, 40), (2.0**-4, 0.5), (Fraction(1), Fraction(6, 5), Fraction(3))):
        protocol = kind(users=people, bins=moved, missing_probability=probability)
        claimed = protocol.privacy.delta(math.log(ratio))
        exact = binomial_shift_delta(people=people, probability=probability, moved=moved, ratio=ratio)
        if exact and (least is None or Fraction(claimed) / exact < least[0]):
            least = Fraction(claimed) / exact, claimed, exact, people, ratio
    assert least is not None
    _, claimed, exact, people, ratio = least
    return Verdict.at_most(
        statement=f"{kind.__name__}, curve where it is closest",
        claim=f"delta at epsilon {math.log(ratio):.3f}, n = {people}",
        claimed=claimed,
        exact=exact,
        basis=RECOMPUTED,
        oracle=_WHOLE,
    )


def _inverse(kind: type[BinarySum] | type[Histogram], moved: int) -> Verdict:
    """The delta that a curve's epsilon really has."""
    people, probability, delta = 40, 0.25, 1e-3
    protocol = kind(users=people, bins=moved, missing_probability=probability)
    epsilon = protocol.privacy.epsilon(delta)
    ratio = exponential_above(epsilon)
    return Verdict.at_most(
        statement=f"{kind.__name__}, epsilon for a delta",
        claim=f"delta at epsilon {epsilon:.4g}, n = {people}",
        claimed=delta,
        exact=binomial_shift_delta(people=people, probability=probability, moved=moved, ratio=ratio),
        basis=RECOMPUTED,
        oracle=_WHOLE,
    )


def _either_way(by: int) -> Verdict:
    """A count that moves up or down: whichever way it is written down, both directions are there."""
    people, probability, ratio = 40, 2.0**-4, Fraction(3, 2)
    law = Binomial(trials=people, probability=probability)
    return Verdict.at_most(
        statement=f"curve of a count that moves by {by:+d}",
        claim=f"delta at epsilon {math.log(ratio):.3f}, n = {people}",
        claimed=PrivacyCurve.of_shifts(Shift(law=law, by=by)).delta(math.log(ratio)),
        exact=binomial_shift_delta(people=people, probability=probability, moved=1, ratio=ratio),
        basis=RECOMPUTED,
        oracle=_WHOLE,
    )


def _composed() -> Verdict:
    """Two releases of different bits of the same person, each of which a neighbour moves up or down."""
    people, probability = 8, 0.25
    curve = BinarySum(users=people, missing_probability=probability).privacy
    law = {k: Binomial(trials=people, probability=probability).pmf_fraction(k) for k in range(people + 1)}
    return Verdict.at_most(
        statement="BinarySum, two releases",
        claim=f"delta at epsilon {math.log(RATIO):.3f}, n = {people}",
        claimed=curve.times(2).delta(math.log(RATIO)),
        exact=max(shifted_delta([law, law], ways, ratio=RATIO) for ways in product((1, -1), repeat=2)),
        basis=ENUMERATED,
        oracle="all pairs of outputs, every way the bits can move",
    )


def _reported() -> Verdict:
    """A protocol of 80 people of whom 60 reported: the noise of 60 is what is left."""
    target = calibrations.TARGET
    everybody = Histogram.calibrate(users=target.users, bins=2, epsilon=target.epsilon, delta=target.delta)
    ran = everybody.for_reports(target.honest)
    return Verdict.at_most(
        statement="Histogram, some did not report",
        claim=f"delta at epsilon {target.epsilon:g}, {target.honest} of {target.users}",
        claimed=ran.privacy.delta(target.epsilon),
        exact=binomial_shift_delta(
            people=target.honest,
            probability=everybody.missing_probability,
            moved=2,
            ratio=exponential_above(target.epsilon),
        ),
        basis=RECOMPUTED,
        oracle=_WHOLE,
    )


def _amplified(telling: float) -> Verdict:
    """The bound for every randomizer, and for one whose messages tell half of the time, with as many others."""
    users, local_epsilon, ratio = 60, 2.0, 1.5
    bound = Amplification(local_epsilon=local_epsilon, users=users, telling=telling)
    pair = calibrations.copies_pair(users, local_epsilon, telling=telling, covered=math.exp(-local_epsilon))
    every = calibrations.copies_pair(users, local_epsilon, telling=1.0, covered=0.0)
    return Verdict.at_most(
        statement=f"amplification, telling {telling:g}",
        claim=f"delta at epsilon {math.log(ratio):.3f}, n = {users}",
        claimed=bound.delta(math.log(ratio)),
        exact=min(pair.delta(ratio), every.delta(ratio)),
        basis=RECOMPUTED,
        oracle="copies that others send of either value's messages, listed",
        rounded=ROUNDED,
    )


def _blocks() -> Verdict:
    """So many coins that the curve takes numbers of them together, on the safe side."""
    users, flip, ratio = 4000, 0.125, 1.2
    return Verdict.at_most(
        statement="BlanketSum, bound with blocks",
        claim=f"delta at epsilon {math.log(ratio):.3f}, n = {users:,}",
        claimed=BlanketCurve(users=users, flip_probability=flip, shifts=1).delta(math.log(ratio)),
        exact=calibrations.coins_pair(users, flip).delta(ratio),
        basis=RECOMPUTED,
        oracle="coins of the others and the own bit, listed",
        rounded=ROUNDED,
    )


def _confidence() -> Iterator[Verdict]:
    """Clopper and Pearson's bounds, which audits rest on: the tail at the bound, in fractions."""
    successes, trials, failure = 37, 120, 0.01
    low, high = lower_bound(successes, trials, failure=failure), upper_bound(successes, trials, failure=failure)
    for words, p, numbers in (
        ("lower", low, range(successes, trials + 1)),
        ("upper", high, range(successes + 1)),
    ):
        chance = Fraction(p)
        tail = sum(math.comb(trials, k) * chance**k * (1 - chance) ** (trials - k) for k in numbers)
        yield Verdict.at_most(
            statement=f"{words} confidence bound",
            claim=f"chance that it fails, {successes} of {trials}",
            claimed=failure,
            exact=Fraction(tail),
            basis=RECOMPUTED,
            oracle="the binomial tail, in fractions",
        )


def _sparse() -> Iterator[Verdict]:
    """One person and two bins, against all outcomes."""
    protocol = small_outputs.sparse_histogram()
    yield _against(
        "SparseHistogram", protocol.users, protocol.privacy, small_outputs.sparse_delta(ratio=RATIO), _OUTPUTS
    )


def _dummy() -> Iterator[Verdict]:
    """Three people, against all multisets."""
    protocol, table = small_tables.dummy_histogram(users=3, bins=2)
    yield _against_table("DummyHistogram", protocol.users, protocol.privacy, table)


def _blanket_sum() -> Iterator[Verdict]:
    """The bound for CSU+19's sum."""
    protocol = BlanketSum(users=30, flip_probability=0.125)
    yield _against_table("BlanketSum", protocol.users, protocol.privacy, FiniteRandomizer.of(protocol, range(2)))


def _blanket() -> Iterator[Verdict]:
    """The bound for CSU+19's histogram."""
    protocol = BlanketHistogram(users=8, bins=2, flip_probability=0.125)
    yield _against_table("BlanketHistogram", protocol.users, protocol.privacy, FiniteRandomizer.of(protocol, range(2)))


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
        delta, epsilon = 0.01, 1.0
        protocol = AmplifiedOracle.calibrate(users=users, bins=2, epsilon=epsilon, delta=delta, kind=kind)
        table = local_messages.table(protocol.oracle)
        yield Verdict.at_most(
            statement=f"shuffled {kind.__name__}, bound",
            claim=f"epsilon at delta {delta:g}, n = {users}",
            claimed=epsilon,
            exact=table.shuffled_privacy(users=users, delta=Fraction(delta)).epsilon,
            basis=ENUMERATED,
            oracle=_MULTISETS,
        )

    return verdicts


def _laplace() -> Iterator[Verdict]:
    """A few people and two bins, against all outputs."""
    protocol = small_outputs.laplace_histogram()
    yield _against(
        "LaplaceHistogram",
        protocol.users,
        protocol.privacy,
        small_outputs.laplace_delta(protocol, ratio=RATIO),
        _OUTPUTS,
    )


def _stability() -> Iterator[Verdict]:
    """As many people as it takes for both bins to be large, against all outputs."""
    protocol = small_outputs.stability_histogram()
    yield _against(
        "StabilityHistogram",
        protocol.users,
        protocol.privacy,
        small_outputs.stability_delta(protocol, ratio=RATIO),
        _OUTPUTS,
    )


def _against_table(title: str, users: int, curve: Curve, table: FiniteRandomizer) -> Verdict:
    return _against(title, users, curve, table.shuffled_delta(users=users, ratio=RATIO).delta, _MULTISETS)


def _against(title: str, users: int, curve: Curve, truth: float | Fraction, oracle: str) -> Verdict:
    return Verdict.at_most(
        statement=f"{title}, {'curve' if curve.exact else 'bound'}",
        claim=f"delta at epsilon {math.log(RATIO):.3f}, n = {users}",
        claimed=curve.delta(math.log(RATIO)),
        exact=truth,
        basis=ENUMERATED,
        oracle=oracle,
    )


_FEW_SHUFFLED = 30
_FEWER_SHUFFLED = 8
"""People whose shuffled reports are enumerated, of two kinds and of four."""

ENUMERATIONS: dict[str, Callable[[], Iterator[Verdict]]] = {
    "blanket-sum": _blanket_sum,
    "stability": _stability,
    "laplace": _laplace,
    "shuffled-response": _shuffled(RandomizedResponse, _FEW_SHUFFLED),
    "shuffled-hadamard": _shuffled(HadamardResponse, _FEWER_SHUFFLED),
    "shuffled-hashing": _shuffled(LocalHashing, _FEWER_SHUFFLED),
    "blanket": _blanket,
    "public-coin": _public_coin,
    "private-coin": _private_coin,
    "sparse": _sparse,
    "dummy": _dummy,
}
"""By the name of the protocol."""

"""Section 4: what a single message cannot do (Claim 4.2, Theorem 4.1, the lemma of CSU+19) and several can."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

from shuffledp.protocols.local import HadamardResponse, RandomizedResponse, UnaryEncoding
from shuffledp.verification.exact.finite import FiniteRandomizer
from shuffledp.verification.exact.gap import Gap
from shuffledp.verification.exact.local_simulation import FiniteProtocol, to_local
from shuffledp.verification.exact.pure import opposite_bits, removal_cost, response, shuffler_removal
from shuffledp.verification.statements.verdict import ENUMERATED, Verdict

_BINS = 3
_USERS = 8
_FEW = 3


def single_message() -> Iterator[Verdict]:
    """Claim 4.2, Theorem 4.1 and the lemma of CSU+19, for the local protocols whose messages can be listed."""
    for kind in (RandomizedResponse, HadamardResponse, UnaryEncoding):
        table = FiniteRandomizer.of(kind(users=_USERS, bins=_BINS, epsilon=1.0), range(_BINS))
        users = _USERS if kind is RandomizedResponse else _FEW
        shuffled, local = table.shuffled_privacy(users=users), table.privacy()
        yield Verdict(
            statement=f"Claim 4.2, {kind.__name__}",
            claim=f"local epsilon equals that of {users} shuffled",
            claimed=shuffled.epsilon,
            exact=local.epsilon,
            basis=ENUMERATED,
            holds=shuffled.ratio == local.ratio,
        )
    yield _same_law(response(epsilon=1.0))
    yield from _removal()


def _same_law(randomizer: FiniteRandomizer) -> Verdict:
    """The largest distance, over all inputs, between the laws of what a shuffled and a local analyzer see."""
    protocol = FiniteProtocol(users=_FEW, randomizer=randomizer, analyzer=tuple)
    local = to_local(protocol)
    distances = []
    for dataset in product(randomizer.values, repeat=_FEW):
        first, second = protocol.output_law(dataset), local.output_law(dataset)
        distances.append(sum(abs(first.get(o, Fraction(0)) - second.get(o, Fraction(0))) for o in {*first, *second}))
    return Verdict.at_most(
        statement="Theorem 4.1, simulation",
        claim=f"distance of laws, all inputs of {_FEW}",
        claimed=0.0,
        exact=float(max(distances)),
        basis=ENUMERATED,
    )


def _removal() -> Iterator[Verdict]:
    """For a message that says much, where the local delta at epsilon + ln n is not 0, and for one that says little."""
    users, ratio = 5, Fraction(5, 4)
    lemma = shuffler_removal(response(epsilon=4.0), users=users, ratio=ratio)
    yield Verdict(
        statement="CSU+19 lemma, local delta",
        claim=f"at epsilon {math.log(ratio):.3f} + ln {users}",
        claimed=float(lemma.shuffled_delta),
        exact=float(lemma.local_delta),
        basis=ENUMERATED,
        holds=lemma.holds,
    )
    users, delta = 20, Fraction(1, 100)
    cost = removal_cost(response(epsilon=1.0), users=users, delta=delta)
    yield Verdict.at_most(
        statement="CSU+19 lemma, local epsilon",
        claim=f"at delta {float(delta):g}, n = {users}",
        claimed=cost.promised,
        exact=cost.local.epsilon,
        basis=ENUMERATED,
    )


def r_infinity() -> Iterator[Verdict]:
    """Claim 4.3: nothing is learnt from the shuffled messages, everything from a person's own."""
    randomizer = opposite_bits()
    yield Verdict.at_most(
        statement="R^infinity, shuffled",
        claim=f"epsilon among {_USERS}",
        claimed=0.0,
        exact=randomizer.shuffled_privacy(users=_USERS).epsilon,
        basis=ENUMERATED,
    )
    yield _not_private("R^infinity, as sent", randomizer)


def r_gap() -> Iterator[Verdict]:
    """Claim 4.4: finite epsilon shuffled among two or more, none for the pre-shuffled randomizer."""
    gap = Gap.uniform()
    yield _not_private("R^gap, pre-shuffled", gap.randomizer.pre_shuffled())
    for users in (2, 3, 10):
        epsilon = gap.privacy(users=users).epsilon
        yield Verdict(
            statement="R^gap, shuffled",
            claim=f"epsilon among {users}",
            claimed=None,
            exact=epsilon,
            basis=ENUMERATED,
            holds=gap.floor - 1e-12 <= epsilon < math.inf,
        )


def _not_private(statement: str, randomizer: FiniteRandomizer) -> Verdict:
    exact = randomizer.privacy().epsilon
    return Verdict(
        statement=statement,
        claim="no finite epsilon",
        claimed=math.inf,
        exact=exact,
        basis=ENUMERATED,
        holds=exact == math.inf,
    )

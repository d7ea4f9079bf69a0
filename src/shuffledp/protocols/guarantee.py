"""What a release promises: whether published promises are kept, what is left when people drop out, and the words."""

from __future__ import annotations

import math
from typing import Protocol, TypeVar

from shuffledp.accounting import theorems
from shuffledp.accounting.curve import Curve, Guarantee, privacy_figure
from shuffledp.accounting.rounding import PROMISED_DELTA, PURE_DELTA
from shuffledp.errors import ParameterError, TooFewUsersError
from shuffledp.formatting import counted, in_paragraphs, people_at_most, percent_at_most, share_at_most, surely
from shuffledp.protocols.target import Target

_USUAL_DELTA = 1e-6
"""The delta at which a curve is described where no guarantee was asked for."""


HOW_SURE, NOT_PROTECTED = "How sure", "Not protected"
"""Titles of paragraphs: an estimate says the first about itself, and a release ends with the last."""


class Promising(Protocol):
    """The part of every protocol that is about people and promises."""

    @property
    def users(self) -> int:
        """How many people take part."""

    @property
    def honest_users(self) -> int | None:
        """How many of the people surely follow the protocol."""

    @property
    def guarantee(self) -> Guarantee | None:
        """What the noise was chosen for."""

    @property
    def privacy(self) -> Curve:
        """The privacy of the whole release for every epsilon, counting the honest people's noise only."""


P = TypeVar("P", bound=Promising)


def kept_promise(protocol: P) -> P:
    """A protocol with published parameters, if these give what they promise; for a large epsilon some do not."""
    promised = protocol.guarantee
    assert promised is not None
    reached = protocol.privacy.delta(promised.epsilon)
    if reached > promised.delta:
        raise ParameterError(
            f"the published parameters reach only delta={share_at_most(reached)} at epsilon={promised.epsilon:g}, not "
            f"{promised.delta:g}: they are meant for a small epsilon; use calibrate"
        )
    return protocol


def theorem_noise(target: Target, *, share: int, exactly: int, name: str) -> float:
    """The missing probability of the paper's theorems for a share of (epsilon, delta): all for a sum, half for bins.

    `exactly` is how many people an exact calibration needs, for the error that says there are too few.
    """
    if target.epsilon > share:
        raise ParameterError(
            f"epsilon={target.epsilon:g} is above {share}, where {name} does not hold: calibrate instead"
        )
    epsilon, delta = target.epsilon / share, target.delta / share
    try:
        return theorems.theorem_probability(users=target.users, epsilon=epsilon, delta=delta)
    except TooFewUsersError as error:
        raise target.too_few(
            error.minimum_users,
            how="with the theorem's constants",
            instead=f"or calibrate exactly to need only {exactly}",
        ) from None


def computed(values: int) -> str:
    """How the promise of shifted bins is known: two shifts are summed outcome by outcome, more on a fine grid."""
    return "computed exactly" if values == 1 else "computed as an upper bound"


def reached(promised: Guarantee, curve: Curve) -> Guarantee:
    """What is left of a guarantee when fewer people reported than it needs."""
    figures = f"({privacy_figure(promised.epsilon)}, {privacy_figure(promised.delta)})"
    basis = f"fewer people reported than the promised {figures} needs"
    return Guarantee(epsilon=curve.epsilon(promised.delta), delta=promised.delta, basis=basis)


def changed(promised: Guarantee, curve: Curve) -> Guarantee:
    """What is left of a guarantee when the protocol is not the one that it was made for."""
    figures = f"({privacy_figure(promised.epsilon)}, {privacy_figure(promised.delta)})"
    basis = f"parameters were changed since they were chosen for {figures}"
    delta = promised.delta or _USUAL_DELTA
    return Guarantee(epsilon=curve.epsilon(delta), delta=delta, basis=basis)


def promised_or_usual(protocol: Promising) -> Guarantee:
    """The guarantee of a protocol, or what its curve gives at a usual delta where none was asked for."""
    if protocol.guarantee is not None:
        return protocol.guarantee
    basis = "from the exact curve" if protocol.privacy.exact else "from an upper bound of the curve"
    return Guarantee(epsilon=protocol.privacy.epsilon(_USUAL_DELTA), delta=_USUAL_DELTA, basis=basis)


def kept(promised: Guarantee, curve: Curve, *, tolerance: float = 0.0) -> bool:
    """Whether a curve gives a guarantee, with an epsilon that is larger by at most a `tolerance`, relative to it."""
    if math.isinf(promised.epsilon):
        return True
    reached = curve.delta(promised.epsilon * (1 + tolerance))
    return reached <= (promised.delta * (1 + PROMISED_DELTA) if promised.delta else PURE_DELTA)


def describe_release(
    protocol: Promising,
    *,
    trust: str,
    noise: str,
    error: float,
    beta: float,
    hides: bool = False,
    replaced: str = "one person's value by any other",
) -> str:
    """The guarantee and its neighbours, who must be trusted, the error to expect, the noise, what is not protected.

    Paragraphs with a title each, for people who know none of our words. Bounds are rounded so that they hold. `hides`
    says that some values are not shown, `replaced` what differs between neighbours.
    """
    promised = promised_or_usual(protocol)
    not_shown = ", where a value that is not shown counts as 0" if hides else ""
    return in_paragraphs(
        {
            "Guarantee": _promise_in_words(promised, replaced),
            "Who must be trusted": trust,
            HOW_SURE: (
                f"With probability at least {surely(beta)} no estimate is off by more than {people_at_most(error)} "
                f"({percent_at_most(error, protocol.users)} of all), whatever people hold{not_shown}."
            ),
            "Noise": noise,
            NOT_PROTECTED: (
                "Who took part, and how many did. What is true of many people together. People who take part in "
                "further releases, unless all of them are accounted for together."
            ),
        }
    )


def _promise_in_words(promised: Guarantee, replaced: str) -> str:
    if not math.isfinite(promised.epsilon):
        figure = privacy_figure(promised.delta)
        return f"This release gives no differential privacy at delta={figure}, for any epsilon ({promised.basis})."
    rest = f", plus at most {privacy_figure(promised.delta)}" if promised.delta else ""
    return (
        f"{promised} ({promised.basis}). In words: replacing {replaced} multiplies the chance of "
        f"anything that could be published by at most {share_at_most(math.exp(promised.epsilon), digits=3)}{rest}."
    )


def trusted_in_the_shuffled_model(protocol: Promising, *, drawn: bool, batches: int = 1) -> str:
    """Who must be trusted. Counts `drawn` by whoever holds the data need no shuffler and no honest people.

    Where `batches` were joined, the honest people are those of each of them.
    """
    if drawn:
        return (
            "Whoever holds the data and drew the noise: they have seen every value. The promise is about everybody "
            "who sees only what is published."
        )
    together = protocol.users // batches
    people = counted(together, "person", things="people") + (" of every batch" if batches > 1 else "")
    honest = protocol.honest_users
    who = f"all {people}" if honest in (None, together) else f"at least {honest:,} of the {people}"
    return (
        "A shuffler, and other people. The promise holds if a shuffler mixes all messages before anyone else sees them "
        f"and tells nobody who sent what, and if {who} follow the protocol: the noise is theirs."
    )

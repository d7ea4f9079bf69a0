"""What a release promises: whether published promises are kept, what is left when people drop out, and the words."""

from __future__ import annotations

import math
from typing import Protocol, TypeVar

from shuffledp.accounting import theorems
from shuffledp.accounting.curve import Curve
from shuffledp.accounting.guarantee import Guarantee
from shuffledp.errors import ParameterError, TooFewUsersError
from shuffledp.protocols.target import Target
from shuffledp.words import readable

_USUAL_DELTA = 1e-6
"""The delta at which a curve is described where no guarantee was asked for."""


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
            f"the published parameters reach only delta={reached:.2g} at epsilon={promised.epsilon:g}, not "
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


def reached(promised: Guarantee, curve: Curve) -> Guarantee:
    """What is left of a guarantee when fewer people reported than it needs."""
    basis = f"fewer people reported than the promised ({promised.epsilon:g}, {promised.delta:g}) needs"
    return Guarantee(epsilon=curve.epsilon(promised.delta), delta=promised.delta, basis=basis)


def describe_release(
    protocol: Promising, *, bins: int, noise: str, error: float, beta: float, drawn: bool = False
) -> str:
    """The guarantee, its neighbours and conditions, the noise, the error to expect, and what is not protected.

    A tally that was `drawn` from its law by whoever holds the data needs no shuffler and no honest people.
    """
    promised = protocol.guarantee
    if promised is None:
        basis = "from the exact curve" if protocol.privacy.exact else "from an upper bound of the curve"
        promised = Guarantee(epsilon=protocol.privacy.epsilon(_USUAL_DELTA), delta=_USUAL_DELTA, basis=basis)
    promise = (
        f"This release gives {promised}: replacing one person's value by any other changes the probability of every "
        f"outcome by a factor of at most {math.exp(promised.epsilon):.3g}, but for {promised.delta:g}."
        if math.isfinite(promised.epsilon)
        else f"This release gives no differential privacy at delta={promised.delta:g}, for any epsilon."
    )
    users, honest = protocol.users, protocol.honest_users
    trusted = "all" if honest == users else f"at least {honest:,} of the"
    condition = (
        "That holds for whoever sees only what is published."
        if drawn
        else f"That holds if {trusted} {users:,} people follow the protocol and the shuffler mixes all messages before "
        "anyone else sees them."
    )
    return (
        f"{promise} {condition} {noise} "
        f"With probability {1 - beta:g} no estimate among {readable(bins)} bins is off by more than "
        f"{error:.0f} people, {error / users:.2g} of all. Not protected: who took part and how many did; what is true "
        f"of many people together; people who take part in further releases, unless all of them are composed."
    )

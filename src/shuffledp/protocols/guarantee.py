"""The guarantee of a protocol: whether its curve keeps it, and the weaker one if people drop out or fields change."""

from __future__ import annotations

import math
from typing import Protocol, TypeVar

from shuffledp.accounting import theorems
from shuffledp.accounting.curve import Curve, Guarantee, privacy_figure
from shuffledp.accounting.rounding import PROMISED_DELTA, PURE_DELTA
from shuffledp.errors import ParameterError, TooFewUsersError
from shuffledp.formatting import share_at_most
from shuffledp.protocols.target import Target

_USUAL_DELTA = 1e-6
"""The delta at which a curve is described if no guarantee was requested."""


class HasGuarantee(Protocol):
    """The part of every protocol that concerns people and the guarantee."""

    @property
    def users(self) -> int:
        """The number of people who take part."""

    @property
    def honest_users(self) -> int | None:
        """The number of people who follow the protocol; None for all."""

    @property
    def guarantee(self) -> Guarantee | None:
        """The guarantee that the noise was calibrated for."""

    @property
    def privacy(self) -> Curve:
        """The privacy curve of the whole release, counting only the noise of honest people."""


P = TypeVar("P", bound=HasGuarantee)


def require_guarantee(protocol: P) -> P:
    """Return a protocol with published parameters if they give the guarantee; for a large epsilon some do not."""
    requested = protocol.guarantee
    assert requested is not None
    reached = protocol.privacy.delta(requested.epsilon)
    if reached > requested.delta:
        raise ParameterError(
            f"the published parameters reach only delta={share_at_most(reached)} at epsilon={requested.epsilon:g}, not "
            f"{requested.delta:g}: they are meant for a small epsilon; use calibrate"
        )
    return protocol


def theorem_noise(target: Target, *, share: int, exactly: int, name: str) -> float:
    """The missing probability of the paper's theorems for a share of (epsilon, delta): all for a sum, half for bins.

    `exactly` is the number of people that an exact calibration needs, for the error message.
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
    """The basis of the guarantee of shifted bins: two shifts are summed exactly, more on a fine grid."""
    return "computed exactly" if values == 1 else "computed as an upper bound"


def reached(requested: Guarantee, curve: Curve) -> Guarantee:
    """The weaker guarantee if fewer people reported than the requested one needs."""
    figures = f"({privacy_figure(requested.epsilon)}, {privacy_figure(requested.delta)})"
    basis = f"fewer people reported than the promised {figures} needs"
    return Guarantee(epsilon=curve.epsilon(requested.delta), delta=requested.delta, basis=basis)


def changed(requested: Guarantee, curve: Curve) -> Guarantee:
    """The guarantee of a protocol whose parameters were changed after its calibration."""
    figures = f"({privacy_figure(requested.epsilon)}, {privacy_figure(requested.delta)})"
    basis = f"parameters were changed since they were chosen for {figures}"
    delta = requested.delta or _USUAL_DELTA
    return Guarantee(epsilon=curve.epsilon(delta), delta=delta, basis=basis)


def guarantee_or_usual(protocol: HasGuarantee) -> Guarantee:
    """The guarantee of a protocol, or its curve at a usual delta if no guarantee was requested."""
    if protocol.guarantee is not None:
        return protocol.guarantee
    basis = "from the exact curve" if protocol.privacy.exact else "from an upper bound of the curve"
    return Guarantee(epsilon=protocol.privacy.epsilon(_USUAL_DELTA), delta=_USUAL_DELTA, basis=basis)


def kept(requested: Guarantee, curve: Curve, *, tolerance: float = 0.0) -> bool:
    """Whether a curve gives a guarantee, with an epsilon that may be larger by a relative `tolerance`."""
    if math.isinf(requested.epsilon):
        return True
    reached = curve.delta(requested.epsilon * (1 + tolerance))
    return reached <= (requested.delta * (1 + PROMISED_DELTA) if requested.delta else PURE_DELTA)

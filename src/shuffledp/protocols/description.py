"""The words that go with a release."""

from __future__ import annotations

import math

from shuffledp.accounting.curve import PrivacyCurve
from shuffledp.estimate import Guarantee, readable


def describe_release(
    *,
    guarantee: Guarantee | None,
    privacy: PrivacyCurve,
    users: int,
    honest_users: int,
    bins: int,
    noise: str,
    error: float,
    beta: float,
) -> str:
    """The guarantee, its neighbours and conditions, the noise, the error to expect, and what is not protected."""
    promised = guarantee or Guarantee(epsilon=privacy.epsilon(1e-6), delta=1e-6, basis="from the exact curve")
    promise = (
        f"This release gives {promised}: replacing one person's value by any other changes the probability of every "
        f"outcome by a factor of at most {math.exp(promised.epsilon):.3g}, but for {promised.delta:g}."
        if math.isfinite(promised.epsilon)
        else f"This release gives no differential privacy at delta={promised.delta:g}, for any epsilon."
    )
    trusted = "all" if honest_users == users else f"at least {honest_users:,} of the"
    return (
        f"{promise} That holds if {trusted} {users:,} people follow the protocol and the shuffler mixes all messages "
        f"before anyone else sees them. {noise} "
        f"With probability {1 - beta:g} no estimate among {readable(bins)} bins is off by more than "
        f"{error:.0f} people, {error / users:.2g} of all. Not protected: who took part and how many did; what is true "
        f"of many people together; people who take part in further releases, unless all of them are composed."
    )


def reached(guarantee: Guarantee | None, privacy: PrivacyCurve, *, enough: bool) -> Guarantee | None:
    """What is left of a guarantee when fewer people reported than it was calibrated for."""
    if guarantee is None or enough:
        return guarantee
    basis = f"fewer people reported than the promised ({guarantee.epsilon:g}, {guarantee.delta:g}) needs"
    return Guarantee(epsilon=privacy.epsilon(guarantee.delta), delta=guarantee.delta, basis=basis)

"""What every release has in common: who counts for its guarantee, what it cost, and the words that go with it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.guarantee import Guarantee
from shuffledp.checks import head_count, honest_among, reporting, whole
from shuffledp.errors import ParameterError
from shuffledp.pipeline.domain import Domain
from shuffledp.pipeline.estimate import Estimate, Intervals
from shuffledp.words import readable


class MessageCount(NamedTuple):
    """How many messages one person sends."""

    expected: float
    maximum: float


def expected_messages(*, bins: int, noise_per_bin: float) -> float:
    """One message for the value, and a person's noise in every bin; infinite where no float can hold it."""
    try:
        return 1 + bins * noise_per_bin
    except OverflowError:
        return math.inf


def bits_to_name(bins: int) -> int:
    """Bits that tell so many bins apart."""
    return max(1, (bins - 1).bit_length())


def check_people_and_bins(protocol: Any) -> None:
    """Validates and settles `users`, `bins` and `honest_users` of a frozen record at its construction."""
    users = head_count("users", protocol.users)
    settled = {
        "users": users,
        "bins": whole("bins", protocol.bins),
        "honest_users": honest_among(protocol.honest_users, users=users),
    }
    for name, value in settled.items():
        object.__setattr__(protocol, name, value)


class Curve(Protocol):
    """The privacy of a release for every epsilon."""

    @property
    def exact(self) -> bool:
        """Whether it is the truth, not only an upper bound."""

    def delta(self, epsilon: float) -> float:
        """The delta for an epsilon."""

    def epsilon(self, delta: float) -> float:
        """The epsilon for a delta."""


class Release(Protocol):
    """The fields of a protocol that are about people and promises."""

    @property
    def users(self) -> int:
        """How many people take part."""

    @property
    def honest_users(self) -> int | None:
        """How many of them surely follow the protocol."""

    @property
    def guarantee(self) -> Guarantee | None:
        """What the noise was chosen for."""

    @property
    def privacy(self) -> Curve:
        """The privacy curve."""


R = TypeVar("R", bound=Release)


def kept_promise(protocol: R) -> R:
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


class Described(Protocol):
    """A protocol that can tell about itself."""

    @property
    def users(self) -> int:
        """How many people take part."""

    @property
    def guarantee(self) -> Guarantee | None:
        """What the noise was chosen for."""

    def describe(self, *, beta: float, drawn: bool = False) -> str:
        """The guarantee, its conditions and the error to expect, in words."""


def assembled(
    protocol: Described,
    *,
    symbols: NDArray[Any],
    counts: NDArray[np.float64],
    intervals: Callable[[int], Intervals],
    bins: int,
    beta: float,
    estimator: str,
    domain: Domain | None,
    people: int | None = None,
    about: Callable[..., str] | None = None,
) -> Estimate:
    """The estimate of a protocol; `intervals` gives those that hold for so many bins at once."""
    return Estimate(
        symbols=symbols,
        counts=counts,
        per_bin=intervals(1),
        simultaneous=intervals(bins),
        people=protocol.users if people is None else people,
        bins=bins,
        beta=beta,
        estimator=estimator,
        guarantee=protocol.guarantee,
        about=partial(about or protocol.describe, beta=beta),
        domain=domain,
    )


def ran_with(protocol: R, reports: int, **fields: Any) -> R:
    """The protocol as it really ran when only so many people reported, with the fields that this changes.

    Only the noise of min(honest_users, reports) people is then sure. If that is less than was calibrated for, the
    guarantee is the one that was reached.
    """
    people = reporting(reports, users=protocol.users)
    honest = min(protocol.honest_users or people, people)
    ran: Any = replace(protocol, users=people, honest_users=honest, **fields)  # type: ignore[type-var]
    promised = protocol.guarantee
    if promised is not None and honest != protocol.honest_users:
        basis = f"fewer people reported than the promised ({promised.epsilon:g}, {promised.delta:g}) needs"
        epsilon = ran.privacy.epsilon(promised.delta)
        ran = replace(ran, guarantee=Guarantee(epsilon=epsilon, delta=promised.delta, basis=basis))
    return ran  # type: ignore[no-any-return]


def describe_release(
    protocol: Release, *, bins: int, noise: str, error: float, beta: float, drawn: bool = False
) -> str:
    """The guarantee, its neighbours and conditions, the noise, the error to expect, and what is not protected.

    A tally that was `drawn` from its law by whoever holds the data needs no shuffler and no honest people.
    """
    promised = protocol.guarantee
    if promised is None:
        basis = "from the exact curve" if protocol.privacy.exact else "from an upper bound of the curve"
        promised = Guarantee(epsilon=protocol.privacy.epsilon(1e-6), delta=1e-6, basis=basis)
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

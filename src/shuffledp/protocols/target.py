"""The target of a calibration, validated once, and whether a protocol's curve keeps its guarantee."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from shuffledp.accounting.curve import Curve, Guarantee, privacy_figure
from shuffledp.accounting.rounding import PROMISED_DELTA, PURE_DELTA
from shuffledp.errors import ParameterError, TooFewUsersError
from shuffledp.formatting import ShortRepr, share_at_most
from shuffledp.validation import head_count, honest_among, target_delta, target_epsilon, values_each, whole

_USUAL_DELTA = 1e-6
"""The delta at which a curve is described if no guarantee was requested."""


@dataclass(frozen=True, kw_only=True)
class Target(ShortRepr):
    """(epsilon, delta)-privacy of the whole release, for `users` people and `bins` possible values.

    At least `honest_users` people follow the protocol; by default all. Each person holds at most `values_per_person`
    different values. People with fewer values are padded with the first of the `padding_bins`, which come after the
    possible values. By default there is one for each value, and none if everyone holds exactly one value.
    """

    users: int
    bins: int
    epsilon: float
    delta: float
    honest_users: int | None = None
    values_per_person: int = 1
    padding_bins: int | None = None

    def __post_init__(self) -> None:
        users = head_count("users", self.users)
        settled = {
            "users": users,
            "bins": whole("bins", self.bins),
            "honest_users": honest_among(self.honest_users, users=users),
            "epsilon": target_epsilon(self.epsilon),
            "delta": target_delta(self.delta),
            "values_per_person": (values := values_each(self.values_per_person)),
            "padding_bins": padding_bins_of(self.padding_bins, values=values),
        }
        for name, value in settled.items():
            object.__setattr__(self, name, value)

    @property
    def honest(self) -> int:
        """The number of people who follow the protocol."""
        return self.users if self.honest_users is None else self.honest_users

    @property
    def cells(self) -> int:
        """The number of possible values and padding bins."""
        return self.bins + (self.padding_bins or 0)

    @property
    def settled(self) -> dict[str, Any]:
        """The fields of every protocol for this target."""
        return {
            "users": self.users,
            "bins": self.cells,
            "honest_users": self.honest,
            "values_per_person": self.values_per_person,
            "padding_bins": self.padding_bins,
        }

    def needs_one_value(self, protocol: type) -> None:
        """Refuse several or optional values, for a protocol that counts exactly one."""
        need_one_value(protocol, values=self.values_per_person, padding_bins=self.padding_bins or 0)

    def guarantee(self, basis: str) -> Guarantee:
        """The requested guarantee."""
        return Guarantee(epsilon=self.epsilon, delta=self.delta, basis=basis)

    def too_few(self, needed: int, *, how: str = "", instead: str = "") -> TooFewUsersError:
        """The error with the number of people that suffice, `how` the noise is made, and a hint."""
        name = "users" if self.honest == self.users else "honest_users"
        made = f" {how}" if how else ""
        return TooFewUsersError(
            f"{name}={self.honest} is too few for epsilon={self.epsilon:g}, delta={self.delta:g}{made}: needs at "
            f"least {needed}" + (f", {instead}" if instead else ""),
            minimum_users=needed,
        )


def padding_bins_of(given: Any, *, values: int) -> int:
    """The number of padding bins: one for each value that may be missing."""
    if given is None:
        return values if values > 1 else 0
    padding_bins = whole("padding_bins", given, minimum=0)
    if padding_bins not in (0, values):
        raise ParameterError(f"padding_bins must be 0 or values_per_person={values}, one for each that may be missing")
    return padding_bins


def need_one_value(protocol: type, *, values: int, padding_bins: int = 0) -> None:
    """Refuse several or optional values, for a protocol that counts exactly one."""
    if values != 1 or padding_bins:
        raise ParameterError(
            f"{protocol.__name__} counts exactly one value of each person: for several, or for people without one, use "
            "Histogram, SparseHistogram or DummyHistogram (hist, sparse, dummy), or a curator"
        )


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

"""The target of a calibration: people, values and the guarantee, validated once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shuffledp.accounting.curve import Guarantee
from shuffledp.errors import ParameterError, TooFewUsersError
from shuffledp.formatting import ShortRepr
from shuffledp.validation import head_count, honest_among, target_delta, target_epsilon, values_each, whole


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

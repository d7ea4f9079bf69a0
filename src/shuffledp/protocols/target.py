"""What one asks of a protocol: five numbers that always travel together, checked once."""

from __future__ import annotations

from dataclasses import dataclass

from shuffledp.accounting.guarantee import Guarantee
from shuffledp.brief import Brief
from shuffledp.checks import head_count, honest_among, target_delta, target_epsilon, whole
from shuffledp.errors import TooFewUsersError


@dataclass(frozen=True, kw_only=True)
class Target(Brief):
    """(epsilon, delta)-privacy of the whole release, for `users` people and `bins` possible values.

    `honest_users` is how many of the people surely follow the protocol; all of them unless given.
    """

    users: int
    bins: int
    epsilon: float
    delta: float
    honest_users: int | None = None

    def __post_init__(self) -> None:
        users = head_count("users", self.users)
        settled = {
            "users": users,
            "bins": whole("bins", self.bins),
            "honest_users": honest_among(self.honest_users, users=users),
            "epsilon": target_epsilon(self.epsilon),
            "delta": target_delta(self.delta),
        }
        for name, value in settled.items():
            object.__setattr__(self, name, value)

    @property
    def honest(self) -> int:
        """How many people surely follow the protocol."""
        return self.users if self.honest_users is None else self.honest_users

    def promise(self, basis: str) -> Guarantee:
        """The guarantee that is asked for."""
        return Guarantee(epsilon=self.epsilon, delta=self.delta, basis=basis)

    def too_few(self, needed: int, *, how: str = "", instead: str = "") -> TooFewUsersError:
        """The error that says how many people would do, `how` the noise is made, and what else would help."""
        name = "users" if self.honest == self.users else "honest_users"
        made = f" {how}" if how else ""
        return TooFewUsersError(
            f"{name}={self.honest} is too few for epsilon={self.epsilon:g}, delta={self.delta:g}{made}: needs at "
            f"least {needed}" + (f", {instead}" if instead else ""),
            minimum_users=needed,
        )

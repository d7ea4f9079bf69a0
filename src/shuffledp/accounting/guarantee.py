"""What a release promises."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """What was promised: (epsilon, delta)-differential privacy, and where the promise comes from."""

    epsilon: float
    delta: float
    basis: str

    def __str__(self) -> str:
        return f"({self.epsilon:g}, {self.delta:g})-differential privacy ({self.basis})"

"""What a release promises to each person, at the asked epsilon and at every other."""

from __future__ import annotations

from dataclasses import dataclass, field

from shuffledp.accounting.curve import Curve
from shuffledp.accounting.guarantee import Guarantee
from shuffledp.brief import Brief


@dataclass(frozen=True, kw_only=True)
class Privacy(Brief):
    """The promised (epsilon, delta), and the whole curve of the release."""

    guarantee: Guarantee | None
    curve: Curve = field(repr=False)

    def delta(self, epsilon: float) -> float:
        """A delta such that the release is (epsilon, delta)-private; never below the smallest."""
        return self.curve.delta(epsilon)

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon for which the curve gives this delta; inf if there is none."""
        return self.curve.epsilon(delta)

    @property
    def exact(self) -> bool:
        """Whether the curve is the truth, up to rounding, or an upper bound."""
        return self.curve.exact

    @property
    def neighbours(self) -> str:
        """Which datasets count as neighbours."""
        return self.curve.neighbours

    def __str__(self) -> str:
        promise = "no promise was asked for" if self.guarantee is None else str(self.guarantee)
        return f"{promise}, for {self.neighbours}"

"""One statement: what is claimed, what is exactly true, and whether the claim holds."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A claim about one number. `claimed` is its stated bound, or None where the claim is only that it is finite."""

    statement: str
    claim: str
    claimed: float | None
    exact: float
    holds: bool

    @classmethod
    def at_most(cls, *, statement: str, claim: str, claimed: float, exact: float) -> Verdict:
        """The claim that a number is at most the stated one."""
        return cls(statement=statement, claim=claim, claimed=claimed, exact=exact, holds=exact <= claimed)

    @property
    def slack(self) -> float | None:
        """How many times larger the claimed number is than it need be; None where that means nothing."""
        if self.claimed is None or not (0 < self.claimed < math.inf and 0 < self.exact < math.inf):
            return None
        return self.claimed / self.exact

    def as_dict(self) -> dict[str, Any]:
        """For JSON; an infinite number is the word."""
        fields = {**asdict(self), "slack": self.slack}
        return {name: "infinite" if value == math.inf else value for name, value in fields.items()}

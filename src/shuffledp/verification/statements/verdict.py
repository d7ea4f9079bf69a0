"""One statement: what is claimed, what is true, how that is known, and whether the claim holds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

ENUMERATED = "enumerated"
"""All outcomes are listed with their probabilities; nothing is shared with the accounting of the protocols."""
OWN_CURVE = "own curve"
"""The exact privacy curve that the protocol itself is calibrated with, evaluated again."""
OWN_LAW = "own law"
"""The exact law of the protocol's noise, as its accounting computes it."""
BOUND = "bound"
"""The protocol's own upper bound: the truth may be smaller."""

UNRESOLVED = 1e-29
"""Below it, tails that accounting rounds up are all that is seen."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A claim about one number. `claimed` is its stated bound, or None where the claim is only that it is finite.

    `basis` says how `exact` is known; where `is_limit`, the true number may be smaller.
    """

    statement: str
    claim: str
    claimed: float | None
    exact: float
    basis: str
    holds: bool
    has_slack: bool = True

    @classmethod
    def at_most(cls, *, statement: str, claim: str, claimed: float, exact: float, basis: str) -> Verdict:
        """The claim that a number is at most the stated one."""
        return cls(statement=statement, claim=claim, claimed=claimed, exact=exact, basis=basis, holds=exact <= claimed)

    @classmethod
    def at_least(cls, *, statement: str, claim: str, claimed: float, exact: float, basis: str) -> Verdict:
        """The claim that a probability is at least the stated one; a ratio of the two says little."""
        holds = exact >= claimed
        return cls(
            statement=statement, claim=claim, claimed=claimed, exact=exact, basis=basis, holds=holds, has_slack=False
        )

    @property
    def is_limit(self) -> bool:
        """Whether `exact` is only an upper limit: a bound, or a tail too small to be resolved."""
        return self.basis == BOUND or (self.basis != ENUMERATED and 0 < self.exact < UNRESOLVED)

    @property
    def slack(self) -> float | None:
        """How many times larger the claimed number is than it need be, or than the limit; None if meaningless."""
        if (
            not self.has_slack
            or self.claimed is None
            or not (0 < self.claimed < math.inf and 0 < self.exact < math.inf)
        ):
            return None
        return self.claimed / self.exact

    def as_dict(self) -> dict[str, Any]:
        """For JSON; an infinite number is the word. An upper limit is not called exact, nor its slack the slack."""
        exact, slack = ("exact_below", "slack_above") if self.is_limit else ("exact", "slack")
        fields = {
            "statement": self.statement,
            "claim": self.claim,
            "claimed": self.claimed,
            "basis": self.basis,
            exact: self.exact,
            slack: self.slack,
            "holds": self.holds,
        }
        return {name: "infinite" if value == math.inf else value for name, value in fields.items()}

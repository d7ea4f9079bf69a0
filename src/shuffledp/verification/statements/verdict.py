"""One statement: what is claimed, what is true, what was run, how the truth is known, and whether the claim holds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from shuffledp.verification.drawn.agreement import Agreement

ENUMERATED = "enumerated"
"""All outcomes are listed with their probabilities; nothing is shared with the accounting of the protocols."""
RECOMPUTED = "recomputed"
"""The laws that a theorem compares are written down anew and summed outcome by outcome; no curve is asked."""
COUNTED = "counted"
"""The shipped code was run many times, and what came out was counted; a false alarm is as rare as stated."""
OWN_LAW = "own law"
"""The exact law of the protocol's noise, as its accounting computes it."""
BOUND = "bound"
"""An upper bound, computed anew: the truth may be smaller."""

FORMULA = "formula"
ONE_BY_ONE = "one person at a time"
TOGETHER = "vectorised"
DRAWN = "drawn"
"""What was run: no sampler; `randomize` for one person's value, as in deployment; `randomize` for many people at once;
the sampler of a tally, a release or a law."""

UNRESOLVED = 1e-29
"""Below it, tails that are rounded up or left out are all that is seen."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A claim about one number. `claimed` is its stated bound, or None where the claim is only that it is finite.

    `basis` says how `exact` is known; where `is_limit`, the true number may be smaller. `ran` is what was run, `oracle`
    what it is compared with. Of a row that was counted, `claimed` is the probability of the event that was furthest
    from it, `exact` the share that was seen, and `chance` how likely any event is that far off, at most.
    """

    statement: str
    claim: str
    claimed: float | None
    exact: float
    basis: str
    holds: bool
    has_slack: bool = True
    ran: str = FORMULA
    oracle: str = ""
    chance: float | None = None

    @classmethod
    def at_most(
        cls,
        *,
        statement: str,
        claim: str,
        claimed: float,
        exact: float | Fraction,
        basis: str,
        oracle: str = "",
        rounded: float = 0.0,
    ) -> Verdict:
        """The claim that a number is at most the stated one; a fraction is compared as it is.

        `rounded` is the share by which a number that is computed in floats may be too large.
        """
        holds = float(exact) <= claimed * (1 + rounded)
        if isinstance(exact, Fraction) and math.isfinite(claimed):
            holds = exact <= Fraction(claimed)
        return cls(
            statement=statement,
            claim=claim,
            claimed=claimed,
            exact=float(exact),
            basis=basis,
            holds=holds,
            oracle=oracle,
        )

    @classmethod
    def counted(cls, agreement: Agreement, *, statement: str, claim: str, ran: str, oracle: str) -> Verdict:
        """What was drawn beside its law: holds unless it is less likely than a false alarm may be."""
        return cls(
            statement=statement,
            claim=claim,
            claimed=agreement.expected,
            exact=agreement.seen,
            basis=COUNTED,
            holds=agreement.holds,
            has_slack=False,
            ran=ran,
            oracle=oracle,
            chance=agreement.chance,
        )

    @classmethod
    def at_least(cls, *, statement: str, claim: str, claimed: float, exact: float, basis: str) -> Verdict:
        """The claim that a probability is at least the stated one; a ratio of the two says little."""
        holds = exact >= claimed
        return cls(
            statement=statement, claim=claim, claimed=claimed, exact=exact, basis=basis, holds=holds, has_slack=False
        )

    @classmethod
    def without_oracle(cls, title: str) -> Verdict:
        """A calibration that nothing is known to compare with: it is not known to hold."""
        return cls(
            statement=f"{title}, promise",
            claim="nothing to compare with: add it to verification/statements/calibrations.py",
            claimed=0.0,
            exact=math.inf,
            basis=BOUND,
            holds=False,
        )

    @classmethod
    def not_checked(cls, error: Exception) -> Verdict:
        """A statement whose check broke off: it is not known to hold. The kind of error is named, not its words."""
        return cls(
            statement="a statement could not be checked",
            claim=type(error).__name__,
            claimed=0.0,
            exact=math.inf,
            basis=COUNTED,
            holds=False,
        )

    @property
    def is_limit(self) -> bool:
        """Whether `exact` is only an upper limit: a bound, or a tail too small to be resolved."""
        return self.basis == BOUND or (self.basis in (OWN_LAW, RECOMPUTED) and 0 < self.exact < UNRESOLVED)

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
            "ran": self.ran,
            "basis": self.basis,
            "oracle": self.oracle,
            exact: self.exact,
            slack: self.slack,
            "holds": self.holds,
        } | ({} if self.chance is None else {"chance": self.chance})
        return {name: "infinite" if value == math.inf else value for name, value in fields.items()}

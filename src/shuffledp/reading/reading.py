"""From a tally to estimates: what every way of reading offers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ErrorBound:
    """Errors in people that are exceeded with probability at most beta, on the worst dataset.

    `per_bin` is for any single bin, `simultaneous` for the largest error over all bins.
    """

    beta: float
    per_bin: float
    simultaneous: float

"""The true errors of an estimate. Not private: for data one owns, and for simulations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.histogram.estimate import Estimate

Truth = Iterable[tuple[NDArray[np.int64], NDArray[np.int64]]]
"""True counts in batches: the position of each bin in the estimate (-1 if it is not reported), and its people."""


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """The true errors of one estimate. Not private: for data one owns, and for simulations.

    `covered` says whether all simultaneous intervals hold their true counts; `per_bin_coverage` is the share of the
    compared bins whose own interval does. `found` of the `occupied` bins are reported. `false_positives` are reported
    bins that nobody holds. `true_counts` are those of the reported bins, in the order of the estimate.
    """

    largest_error: float
    covered: bool
    per_bin_coverage: float
    occupied: int
    found: int
    false_positives: int
    true_counts: NDArray[np.int64] = field(repr=False, compare=False)


def evaluate(estimate: Estimate, truth: Truth) -> Evaluation:
    """Compare an estimate with the true counts of at least all occupied bins."""
    largest, covered, held, compared, occupied, found, false_positives = 0.0, True, 0, 0, 0, 0, 0
    true_counts = np.zeros(len(estimate), dtype=np.int64)
    for at, people in truth:
        seen = at >= 0
        true_counts[at[seen]] = people[seen]
        error = np.where(seen, np.abs(_at(estimate.counts, at) - people), people)
        inside, inside_all = (
            np.where(
                seen,
                (_at(bounds.low, at) <= people) & (people <= _at(bounds.high, at)),
                people <= bounds.unreported_high,
            )
            for bounds in (estimate.per_bin, estimate.simultaneous)
        )
        largest = max(largest, float(error.max(initial=0.0)))
        covered = covered and bool(inside_all.all())
        held, compared = held + int(inside.sum()), compared + people.size
        occupied, found = occupied + int((people > 0).sum()), found + int((seen & (people > 0)).sum())
        false_positives += int((seen & (people == 0) & (_at(estimate.counts, at) > 0)).sum())
    return Evaluation(
        largest_error=largest,
        covered=covered,
        per_bin_coverage=held / max(compared, 1),
        occupied=occupied,
        found=found,
        false_positives=false_positives,
        true_counts=true_counts,
    )


def _at(values: NDArray[Any], at: NDArray[np.int64]) -> NDArray[Any]:
    """Values at positions; any value for the position -1."""
    return values[np.maximum(at, 0)] if values.size else np.zeros(at.size, dtype=values.dtype)

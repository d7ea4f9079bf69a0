"""The true errors of an estimate. Not private: for data one owns, and for simulations.

Under a contribution cap there are two truths. Intervals cover the capped counts; the uncapped counts are the numbers of
people who have each value. Of the error against the second, uncapped - capped comes from the cap, and estimate - capped
from the noise.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.data.people import TrueCounts
from shuffledp.histogram.estimate import Estimate


@dataclass(frozen=True, kw_only=True)
class UncappedErrors:
    """The errors of the values of one estimate against the numbers of people who have them, without the cap.

    Of `shown` values, `covered` have a simultaneous interval that holds the uncapped count. `largest_error` is over all
    values, shown or not; at that value, the cap leaves out `cap_error` people, and the estimate exceeds the capped
    count by `noise_error`. `true_counts` are the uncapped counts of the reported bins.
    """

    shown: int
    covered: int
    largest_error: float
    cap_error: int
    noise_error: float
    true_counts: NDArray[np.int64] = field(repr=False, compare=False)


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """The true errors of one estimate. Not private: for data one owns, and for simulations.

    `covered` says whether all simultaneous intervals hold their true counts; `per_bin_coverage` is the share of the
    compared bins whose own interval does. Under a contribution cap these, the `largest_error` and the `true_counts` of
    the reported bins are about the capped counts, and `uncapped` is about all values that people have. `found` of the
    `occupied` values, which somebody has, are shown. `false_positives` are shown values that nobody has.
    """

    largest_error: float
    covered: bool
    per_bin_coverage: float
    occupied: int
    found: int
    false_positives: int
    true_counts: NDArray[np.int64] = field(repr=False, compare=False)
    uncapped: UncappedErrors | None = None


def evaluate(estimate: Estimate, truth: Iterable[TrueCounts]) -> Evaluation:
    """Compare an estimate with the true counts of at least all occupied bins."""
    largest, covered, held, compared, occupied = 0.0, True, 0, 0, 0
    capped, everybody = np.zeros(len(estimate), dtype=np.int64), np.zeros(len(estimate), dtype=np.int64)
    values = np.ones(len(estimate), dtype=np.bool_)
    worst: tuple[float, int, float] | None = None
    for part in truth:
        seen, people = part.at >= 0, part.people
        has = people if part.uncapped is None else part.uncapped
        capped[part.at[seen]], everybody[part.at[seen]] = people[seen], has[seen]
        estimated = np.where(seen, _at(estimate.counts, part.at), 0.0)
        inside, inside_all = (
            np.where(
                seen,
                (_at(bounds.low, part.at) <= people) & (people <= _at(bounds.high, part.at)),
                people <= bounds.unreported_high,
            )
            for bounds in (estimate.per_bin, estimate.simultaneous)
        )
        largest = max(largest, float(np.abs(estimated - people).max(initial=0.0)))
        covered = covered and bool(inside_all.all())
        held, compared = held + int(inside.sum()), compared + people.size
        values[part.at[seen]] = part.values
        occupied += int((has > 0).sum()) if part.values else 0
        if part.uncapped is not None:
            worst = _worse(worst, estimated, people, has)
    low, high = estimate.simultaneous.low, estimate.simultaneous.high
    return Evaluation(
        largest_error=largest,
        covered=covered,
        per_bin_coverage=held / max(compared, 1),
        occupied=occupied,
        found=int((values & (everybody > 0)).sum()),
        false_positives=int((values & (everybody == 0)).sum()),
        true_counts=capped,
        uncapped=None
        if worst is None
        else UncappedErrors(
            shown=int(values.sum()),
            covered=int((values & (low <= everybody) & (everybody <= high)).sum()),
            largest_error=worst[0],
            cap_error=worst[1],
            noise_error=worst[2],
            true_counts=everybody,
        ),
    )


def _worse(
    worst: tuple[float, int, float] | None,
    estimated: NDArray[np.float64],
    capped: NDArray[np.int64],
    everybody: NDArray[np.int64],
) -> tuple[float, int, float]:
    """The largest error against the uncapped counts so far, and its parts from the cap and from the noise."""
    worst = worst or (0.0, 0, 0.0)
    if not everybody.size:
        return worst
    errors = np.abs(estimated - everybody)
    at = int(errors.argmax())
    if errors[at] <= worst[0]:
        return worst
    return float(errors[at]), int(everybody[at] - capped[at]), float(estimated[at] - capped[at])


def _at(values: NDArray[Any], at: NDArray[np.int64]) -> NDArray[Any]:
    """Values at positions; any value for the position -1."""
    return values[np.maximum(at, 0)] if values.size else np.zeros(at.size, dtype=values.dtype)

"""What there is to choose between: error against messages per person, and error against the number of bins."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from shuffledp.brief import Brief
from shuffledp.errors import ParameterError
from shuffledp.jobs.plan import Plan, plan
from shuffledp.progress import Progress, quiet
from shuffledp.protocols import SparseHistogram

_CHOICES = ("hist", "hist-unbiased", "dummy", "sparse")
_GROWING = ("hist", "hist-unbiased", "sparse")  # the error of dummy is that of hist-unbiased
_BUDGETS = (1.02, 1.05, 1.1, 1.2, 1.4, 1.7, 2.0, 2.5)
"""Messages beyond a person's own, as multiples of the usual calibration's; densest where the error falls fast."""
_BELOW = 0.95
"""Budgets begin a little below the usual calibration, where the line of the picture does."""
_BIN_POWERS = (3.32, 6.64, 10, 13.3, 16.6, 20, 28, 36, 44, 52, 60, 64)
"""From ten bins, in steps of ten to a million, to 2^64."""


class Point(NamedTuple):
    """Messages per person, and the simultaneous error in people."""

    messages: float
    error: float


@dataclass(frozen=True, kw_only=True)
class TradeOff(Brief):
    """What each protocol gives for the numbers that were asked about, and for other numbers of bins.

    `choices` are the protocols that are possible, by name. `sparse_budgets` is what SparseHistogram gives for budgets
    of messages, in their order. `errors` are the errors of the protocols whose error is finite throughout, for
    2^`bin_powers` bins.
    """

    asked: Plan
    choices: Mapping[str, Point]
    sparse_budgets: tuple[Point, ...]
    bin_powers: tuple[float, ...]
    errors: Mapping[str, tuple[float, ...]]


def trade_off(asked: Plan, *, progress: Progress = quiet) -> TradeOff:
    """What there is to choose between, for the people and the guarantee of a plan."""
    rows = {name: asked.row(name) for name in _CHOICES}
    errors = _errors_by_bins(asked, progress)
    return TradeOff(
        asked=asked,
        choices={name: Point(row.messages, row.simultaneous) for name, row in rows.items() if not row.problem},
        sparse_budgets=_sparse_budgets(asked),
        bin_powers=_BIN_POWERS,
        errors={name: found for name, found in errors.items() if all(map(math.isfinite, found))},
    )


def _sparse_budgets(asked: Plan) -> tuple[Point, ...]:
    best, usual, own = asked.row("sparse-best"), asked.row("sparse").messages, asked.values_per_person
    points = [Point(best.messages, best.simultaneous)]
    for factor in _BUDGETS:
        try:
            protocol = SparseHistogram.calibrate(
                users=asked.users,
                bins=asked.bins,
                epsilon=asked.epsilon,
                delta=asked.delta,
                honest_users=asked.honest_users,
                values_per_person=asked.values_per_person,
                messages=own + _BELOW * factor * (usual - own),
            )
        except ParameterError:  # too few messages for the guarantee
            continue
        points.append(Point(protocol.messages_per_user.expected, float(protocol.error(asked.beta).simultaneous)))
    return tuple(sorted(points))


def _errors_by_bins(asked: Plan, progress: Progress) -> dict[str, tuple[float, ...]]:
    plans = []
    for done, power in enumerate(_BIN_POWERS):
        progress("planning for other numbers of values", done / len(_BIN_POWERS))
        plans.append(
            plan(
                users=asked.users,
                bins=round(2**power),
                epsilon=asked.epsilon,
                delta=asked.delta,
                beta=asked.beta,
                honest_users=asked.honest_users,
                values_per_person=asked.values_per_person,
                practical_messages=math.inf,  # nothing is recommended here
            )
        )
    return {name: tuple(found.row(name).simultaneous for found in plans) for name in _GROWING}

"""The number of people that each model needs for the same problem: the paper's Table 2 and its earlier example.

Every cell is for the same total (epsilon, delta), and for a success of at least 99/100. The success of histogram
protocols is exact, over the sample and the noise; that of local baselines is observed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import numpy as np

from shuffledp.errors import ParameterError
from shuffledp.formatting import readable
from shuffledp.paper.bernoulli import BernoulliMean, SumProtocol, binary_sum, blanket_sum, central_sum, local_sum
from shuffledp.paper.local_baselines import (
    CONFIDENCE,
    LocalBaseline,
    LocalChasing,
    LocalJumping,
    LocalSupport,
    measured_users,
)
from shuffledp.paper.pointers import PointerChasing, PointerJumping
from shuffledp.paper.support_identification import SupportIdentification
from shuffledp.progress import Progress, quiet
from shuffledp.protocols import BinarySum, BlanketSum, Histogram, SparseHistogram
from shuffledp.protocols.central import StabilityHistogram
from shuffledp.protocols.protocol import HistogramProtocol
from shuffledp.validation import one_of, target_delta, target_epsilon, whole

LONGEST_PERMUTATION = 100_000
"""The local baseline takes 15 minutes, 0.15 s for each of some 5,000 trials."""
LEAST_ALPHA = 0.001
"""The local model needs 8 million people, whose success takes half a second to compute."""
MOST_ITEMS = 100_000
"""One success takes 9 s to compute; a search needs about 25."""
_TYPICAL_TRIALS, _NEARLY_DONE = 5000, 0.95
"""Expected steps of a measurement; the progress bar waits just before its end if there are more."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """The number of people needed. `too_few` was observed to be too small; `problem` explains a missing number."""

    users: float | None = None
    too_few: int | None = None
    trials: int | None = None
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class Approach:
    """A protocol or a bound; `how` is exact, measured or bound."""

    name: str
    model: str
    how: str
    title: str


@dataclass(frozen=True, kw_only=True)
class Separation:
    """Columns of cells, one for each size of the problem."""

    problem: str
    size_name: str
    sizes: tuple[float, ...]
    epsilon: float
    delta: float
    confidence: float
    columns: tuple[Approach, ...]
    cells: tuple[tuple[Cell, ...], ...]

    def column(self, name: str) -> tuple[Cell, ...]:
        """The cells of a column, in the order of the sizes."""
        return self.cells[[column.name for column in self.columns].index(name)]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain Python values."""
        listed = [
            {**asdict(column), "cells": [asdict(cell) for cell in cells]}
            for column, cells in zip(self.columns, self.cells, strict=True)
        ]
        return {**{name: value for name, value in vars(self).items() if name != "cells"}, "columns": listed}


@dataclass(frozen=True, kw_only=True)
class _Question:
    """The parameters that all cells share."""

    epsilon: float
    delta: float
    rng: np.random.Generator
    tell: Callable[[int], None]

    def _measured(self, baseline: Callable[[int], LocalBaseline], start: float) -> Cell:
        made = cache(baseline)
        found = measured_users(lambda users, rng: made(users).run(rng), start=start, rng=self.rng, tell=self.tell)
        return Cell(users=found.users, too_few=found.too_few, trials=found.trials)

    def item_cells(
        self,
        local: type[LocalChasing | LocalJumping | LocalSupport],
        problem: Any,
        support: SupportIdentification,
        *,
        items: int,
    ) -> dict[str, Callable[[], Cell]]:
        """The cells of a local baseline, of every protocol that finds the support, and of the paper's bounds."""
        total: dict[str, Any] = {"bins": support.bins, "epsilon": self.epsilon, "delta": self.delta}

        def needed(protocol: Callable[[int], HistogramProtocol], rule: str = "any") -> Callable[[], Cell]:
            return lambda: Cell(users=support.sample_size(protocol, rule=rule))

        def bound(power: int) -> Cell:
            """The paper's h log h / epsilon^power * log(1 / delta), with log h at least 1 as h = 1 needs people too."""
            return Cell(users=items * max(1.0, math.log(items)) / self.epsilon**power * -math.log(self.delta))

        return {
            "local": lambda: self._measured(
                lambda users: local(problem=problem, users=users, epsilon=self.epsilon),
                local.guess(problem, self.epsilon),
            ),
            "claim": self._halved(
                lambda: Cell(users=support.claimed_sample_size(epsilon=self.epsilon, delta=self.delta))
            ),
            "paper": needed(lambda users: Histogram.published(users=users, **total), rule="paper"),
            "exact": needed(lambda users: Histogram.calibrate(users=users, **total)),
            "sparse": needed(lambda users: SparseHistogram.calibrate(users=users, messages=math.inf, **total)),
            "central": needed(lambda users: StabilityHistogram.calibrate(users=users, **total)),
            "shuffled-bound": lambda: bound(2),
            "central-bound": lambda: bound(1),
        }

    def _halved(self, cell: Callable[[], Cell]) -> Callable[[], Cell]:
        """A cell of Theorem 3.2, which doubles its parameters: its errors quote halves of the total."""

        def explained() -> Cell:
            try:
                return cell()
            except ParameterError as error:
                halves = f"{self.epsilon / 2:g}, {self.delta / 2:g}"
                why = f"for ({self.epsilon:g}, {self.delta:g}) in total the theorem is used with half of it, ({halves})"
                return Cell(problem=f"{why}: {str(error).rstrip('.')}")

        return explained


_ITEM_COLUMNS = (
    Approach(name="local", model="local", how="measured", title="local"),
    Approach(name="claim", model="shuffled", how="exact", title="shuffled, paper's proof"),
    Approach(name="paper", model="shuffled", how="exact", title="shuffled, paper's noise"),
    Approach(name="exact", model="shuffled", how="exact", title="shuffled, exact"),
    Approach(name="sparse", model="shuffled", how="exact", title="shuffled, sparse"),
    Approach(name="central", model="central", how="exact", title="central, stability"),
)
_GROWTH = tuple(f"h max(1, log h) log(1/delta) / {divisor}" for divisor in ("epsilon^2", "epsilon"))


def _bounds(**formulas: str) -> tuple[Approach, ...]:
    return tuple(
        Approach(name=f"{model}-bound", model=model, how="bound", title=formula) for model, formula in formulas.items()
    )


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A problem of the command, with a function for the cells of one size."""

    size_name: str
    sizes: tuple[float, ...]
    columns: tuple[Approach, ...]
    cells: Callable[..., dict[str, Callable[[], Cell]]]
    options: tuple[str, ...] = ()


def _chasing_cells(asked: _Question, size: float) -> dict[str, Callable[[], Cell]]:
    length = whole("l", size)
    if length > LONGEST_PERMUTATION:
        raise ParameterError(f"l must be at most {LONGEST_PERMUTATION:,}, got {readable(length)}")
    problem = PointerChasing(steps=2, length=length)
    return {
        **asked.item_cells(LocalChasing, problem, problem.support_problem, items=1),
        "local-bound": lambda: Cell(users=length / math.exp(asked.epsilon)),
    }


def _jumping_cells(asked: _Question, size: float, branching: int | None = None) -> dict[str, Callable[[], Cell]]:
    levels = _items(size, minimum=2)
    problem = PointerJumping(levels=levels, **({} if branching is None else {"branching": branching}))

    def local_bound() -> Cell:
        if problem.branching != levels**4:
            return Cell(problem="the lower bound is for s = h^4")
        return Cell(users=levels**3 / (asked.epsilon**2 * math.log(levels)))

    cells = asked.item_cells(LocalJumping, problem, problem.support_problem, items=levels)
    return {**cells, "local-bound": local_bound}


def _items(size: float, minimum: int = 1) -> int:
    items = whole("h", size, minimum=minimum)
    if items > MOST_ITEMS:
        raise ParameterError(f"h must be at most {MOST_ITEMS:,}, got {readable(items)}")
    return items


def _support_cells(asked: _Question, size: float, bins: int = 1024) -> dict[str, Callable[[], Cell]]:
    problem = SupportIdentification(items_in_support=_items(size), bins=bins)
    return asked.item_cells(LocalSupport, problem, problem, items=problem.items_in_support)


def _bernoulli_cells(asked: _Question, size: float) -> dict[str, Callable[[], Cell]]:
    problem = BernoulliMean(alpha=size)
    if problem.alpha < LEAST_ALPHA:
        raise ParameterError(f"alpha must be at least {LEAST_ALPHA:g}, got {size:g}")
    epsilon, delta = asked.epsilon, asked.delta
    total: dict[str, Any] = {"epsilon": epsilon, "delta": delta}

    def needed(protocol: Callable[[int], SumProtocol]) -> Callable[[], Cell]:
        return lambda: Cell(users=problem.sample_size(protocol))

    return {
        "local": needed(lambda users: local_sum(users=users, epsilon=epsilon)),
        "paper": needed(lambda users: binary_sum(BinarySum.published(users=users, **total))),
        "exact": needed(lambda users: binary_sum(BinarySum.calibrate(users=users, truncated=False, **total))),
        "blanket": needed(lambda users: blanket_sum(BlanketSum.calibrate(users=users, **total))),
        "central": needed(lambda users: central_sum(users=users, epsilon=epsilon)),
        "local-bound": lambda: Cell(users=problem.local_bound(epsilon=epsilon)),
        "shuffled-bound": lambda: Cell(users=problem.shuffled_bound(epsilon=epsilon, delta=delta)),
    }


PROBLEMS: dict[str, Problem] = {
    "pointer-chasing": Problem(
        size_name="l",
        sizes=(10, 100, 1000, 10_000),
        columns=(
            *_ITEM_COLUMNS,
            *_bounds(local="l / e^epsilon", shuffled="log(1/delta) / epsilon^2", central="log(1/delta) / epsilon"),
        ),
        cells=_chasing_cells,
    ),
    "pointer-jumping": Problem(
        size_name="h",
        sizes=(2, 4, 6, 8),
        columns=(
            *_ITEM_COLUMNS,
            *_bounds(local="h^3 / (epsilon^2 log h)", shuffled=_GROWTH[0], central=_GROWTH[1]),
        ),
        cells=_jumping_cells,
        options=("branching",),
    ),
    "support": Problem(
        size_name="h",
        sizes=(2, 4, 8, 16),
        columns=(*_ITEM_COLUMNS, *_bounds(shuffled=_GROWTH[0], central=_GROWTH[1])),
        cells=_support_cells,
        options=("bins",),
    ),
    "bernoulli": Problem(
        size_name="alpha",
        sizes=(0.1, 0.03, 0.01),
        columns=(
            Approach(name="local", model="local", how="exact", title="local, coin flips"),
            Approach(name="paper", model="shuffled", how="exact", title="shuffled, paper's noise"),
            Approach(name="exact", model="shuffled", how="exact", title="shuffled, exact"),
            Approach(name="blanket", model="shuffled", how="exact", title="shuffled, CSU+19"),
            Approach(name="central", model="central", how="exact", title="central, Laplace"),
            *_bounds(local="1 / (alpha epsilon)^2", shuffled="1/alpha^2 + log(1/delta) / (alpha epsilon)"),
        ),
        cells=_bernoulli_cells,
    ),
}


def separate(
    problem: str,
    *,
    epsilon: float,
    delta: float,
    seed: int,
    sizes: Sequence[float] | None = None,
    local: bool = True,
    progress: Progress = quiet,
    **options: int,
) -> Separation:
    """Compute the numbers of people that every model needs, for growing sizes of a problem.

    Without `local` the simulated baseline, which takes nearly all of the time, is left out. `options` are `branching`
    for pointer-jumping and `bins` for support. A column that is impossible has the reason in its cells.
    """
    chosen, rng = PROBLEMS[one_of("problem", problem, PROBLEMS)], np.random.default_rng(whole("seed", seed, minimum=0))
    epsilon, delta = target_epsilon(epsilon), target_delta(delta)
    for name in options:
        if name not in chosen.options:
            raise ParameterError(
                f"{name} is no option of {problem}, which has {' and '.join(chosen.options) or 'none'}"
            )
    if sizes is not None and (isinstance(sizes, str) or not isinstance(sizes, Iterable)):
        raise ParameterError(f"sizes must be a list of values of {chosen.size_name}, got {sizes!r}")
    listed = tuple(chosen.sizes if sizes is None else sizes)
    if not listed:
        raise ParameterError(f"{chosen.size_name} needs at least one value")
    columns = tuple(column for column in chosen.columns if local or column.how != "measured")
    total, rows = len(columns) * len(listed), []

    def tell(trials: int) -> None:
        progress("measuring", (done + min(_NEARLY_DONE, trials / _TYPICAL_TRIALS)) / total)

    asked = _Question(epsilon=epsilon, delta=delta, rng=rng, tell=tell)
    makers = [chosen.cells(asked, size, **options) for size in listed]  # refuses bad sizes before any work
    done = 0
    for cells in makers:
        row = []
        for column in columns:
            row.append(_made(cells[column.name]))
            done += 1
            progress("measuring", done / total)
        rows.append(row)
    return Separation(
        problem=problem,
        size_name=chosen.size_name,
        sizes=listed,
        epsilon=epsilon,
        delta=delta,
        confidence=CONFIDENCE,
        columns=columns,
        cells=tuple(zip(*rows, strict=True)),
    )


def _made(cell: Callable[[], Cell]) -> Cell:
    try:
        return cell()
    except ParameterError as error:
        return Cell(problem=str(error))

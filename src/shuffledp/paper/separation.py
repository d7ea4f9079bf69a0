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
from shuffledp.validation import target_delta, target_epsilon, whole

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

    def measured(self, baseline: Callable[[int], LocalBaseline], start: float) -> Cell:
        made = cache(baseline)
        found = measured_users(lambda users, rng: made(users).run(rng), start=start, rng=self.rng, tell=self.tell)
        return Cell(users=found.users, too_few=found.too_few, trials=found.trials)

    def support_cells(self, problem: SupportIdentification) -> dict[str, Callable[[], Cell]]:
        finders = _item_finders(bins=problem.bins, epsilon=self.epsilon, delta=self.delta)

        def needed(name: str, rule: str = "any") -> Callable[[], Cell]:
            return lambda: Cell(users=problem.sample_size(finders[name], rule=rule))

        return {
            "claim": self._halved(
                lambda: Cell(users=problem.claimed_sample_size(epsilon=self.epsilon, delta=self.delta))
            ),
            "paper": needed("paper", rule="paper"),
            **{name: needed(name) for name in ("exact", "sparse", "central")},
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

    def bound(self, *, items: int, power: int) -> Cell:
        """The paper's h log h / epsilon^power * log(1 / delta), with log h at least 1 as h = 1 needs people too."""
        return Cell(users=items * max(1.0, math.log(items)) / self.epsilon**power * -math.log(self.delta))


def _item_finders(*, bins: int, epsilon: float, delta: float) -> dict[str, Callable[[int], HistogramProtocol]]:
    """From the number of people to a zero-preserving protocol, for (epsilon, delta) in total."""
    total: dict[str, Any] = {"bins": bins, "epsilon": epsilon, "delta": delta}
    return {
        "paper": lambda users: Histogram.published(users=users, **total),
        "exact": lambda users: Histogram.calibrate(users=users, **total),
        "sparse": lambda users: SparseHistogram.calibrate(users=users, messages=math.inf, **total),
        "central": lambda users: StabilityHistogram.calibrate(users=users, **total),
    }


def _sum_protocols(*, epsilon: float, delta: float) -> dict[str, Callable[[int], SumProtocol]]:
    total: dict[str, Any] = {"epsilon": epsilon, "delta": delta}
    return {
        "local": lambda users: local_sum(users=users, epsilon=epsilon),
        "paper": lambda users: binary_sum(BinarySum.published(users=users, **total)),
        "exact": lambda users: binary_sum(BinarySum.calibrate(users=users, truncated=False, **total)),
        "blanket": lambda users: blanket_sum(BlanketSum.calibrate(users=users, **total)),
        "central": lambda users: central_sum(users=users, epsilon=epsilon),
    }


_SUPPORT_COLUMNS = (
    Approach(name="claim", model="shuffled", how="exact", title="shuffled, paper's proof"),
    Approach(name="paper", model="shuffled", how="exact", title="shuffled, paper's noise"),
    Approach(name="exact", model="shuffled", how="exact", title="shuffled, exact"),
    Approach(name="sparse", model="shuffled", how="exact", title="shuffled, sparse"),
    Approach(name="central", model="central", how="exact", title="central, stability"),
)
_LOCAL = Approach(name="local", model="local", how="measured", title="local")


_GROWTH = tuple(f"h max(1, log h) log(1/delta) / {divisor}" for divisor in ("epsilon^2", "epsilon"))


def _bounds(local: str, shuffled: str, central: str) -> tuple[Approach, ...]:
    formulas = {"local": local, "shuffled": shuffled, "central": central}
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
    problem, epsilon = PointerChasing(steps=2, length=length), asked.epsilon

    return {
        "local": lambda: asked.measured(
            lambda users: LocalChasing(problem=problem, users=users, epsilon=epsilon),
            LocalChasing.guess(problem, epsilon),
        ),
        **asked.support_cells(problem.support_problem),
        "local-bound": lambda: Cell(users=length / math.exp(epsilon)),
        "shuffled-bound": lambda: asked.bound(items=1, power=2),
        "central-bound": lambda: asked.bound(items=1, power=1),
    }


def _jumping_cells(asked: _Question, size: float, branching: int | None = None) -> dict[str, Callable[[], Cell]]:
    levels, epsilon = _items(size, minimum=2), asked.epsilon
    problem = PointerJumping(levels=levels, **({} if branching is None else {"branching": branching}))

    def local_bound() -> Cell:
        if problem.branching != levels**4:
            return Cell(problem="the lower bound is for s = h^4")
        return Cell(users=levels**3 / (epsilon**2 * math.log(levels)))

    return {
        "local": lambda: asked.measured(
            lambda users: LocalJumping(problem=problem, users=users, epsilon=epsilon),
            LocalJumping.guess(problem, epsilon),
        ),
        **asked.support_cells(problem.support_problem),
        "local-bound": local_bound,
        "shuffled-bound": lambda: asked.bound(items=levels, power=2),
        "central-bound": lambda: asked.bound(items=levels, power=1),
    }


def _items(size: float, minimum: int = 1) -> int:
    items = whole("h", size, minimum=minimum)
    if items > MOST_ITEMS:
        raise ParameterError(f"h must be at most {MOST_ITEMS:,}, got {readable(items)}")
    return items


def _support_cells(asked: _Question, size: float, bins: int = 1024) -> dict[str, Callable[[], Cell]]:
    problem = SupportIdentification(items_in_support=_items(size), bins=bins)

    return {
        "local": lambda: asked.measured(
            lambda users: LocalSupport(problem=problem, users=users, epsilon=asked.epsilon),
            LocalSupport.guess(problem, asked.epsilon),
        ),
        **asked.support_cells(problem),
        "shuffled-bound": lambda: asked.bound(items=problem.items_in_support, power=2),
        "central-bound": lambda: asked.bound(items=problem.items_in_support, power=1),
    }


def _bernoulli_cells(asked: _Question, size: float) -> dict[str, Callable[[], Cell]]:
    problem = BernoulliMean(alpha=size)
    if problem.alpha < LEAST_ALPHA:
        raise ParameterError(f"alpha must be at least {LEAST_ALPHA:g}, got {size:g}")
    makers = _sum_protocols(epsilon=asked.epsilon, delta=asked.delta)

    def needed(maker: Callable[[int], SumProtocol]) -> Callable[[], Cell]:
        return lambda: Cell(users=problem.sample_size(maker))

    return {
        **{name: needed(maker) for name, maker in makers.items()},
        "local-bound": lambda: Cell(users=problem.local_bound(epsilon=asked.epsilon)),
        "shuffled-bound": lambda: Cell(users=problem.shuffled_bound(epsilon=asked.epsilon, delta=asked.delta)),
    }


PROBLEMS: dict[str, Problem] = {
    "pointer-chasing": Problem(
        size_name="l",
        sizes=(10, 100, 1000, 10_000),
        columns=(
            _LOCAL,
            *_SUPPORT_COLUMNS,
            *_bounds("l / e^epsilon", "log(1/delta) / epsilon^2", "log(1/delta) / epsilon"),
        ),
        cells=_chasing_cells,
    ),
    "pointer-jumping": Problem(
        size_name="h",
        sizes=(2, 4, 6, 8),
        columns=(
            _LOCAL,
            *_SUPPORT_COLUMNS,
            *_bounds("h^3 / (epsilon^2 log h)", *_GROWTH),
        ),
        cells=_jumping_cells,
        options=("branching",),
    ),
    "support": Problem(
        size_name="h",
        sizes=(2, 4, 8, 16),
        columns=(
            _LOCAL,
            *_SUPPORT_COLUMNS,
            *_bounds("", *_GROWTH)[1:],
        ),
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
            *_bounds("1 / (alpha epsilon)^2", "1/alpha^2 + log(1/delta) / (alpha epsilon)", "")[:2],
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
    if not isinstance(problem, str) or problem not in PROBLEMS:
        raise ParameterError(f"problem must be one of {', '.join(PROBLEMS)}; got {problem!r}")
    chosen, rng = PROBLEMS[problem], np.random.default_rng(whole("seed", seed, minimum=0))
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

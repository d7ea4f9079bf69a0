"""Measure every protocol on the same people, values and guarantee, and compute trade-offs.

`compare` runs seeded trials and is not private: errors are differences from the truth.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shuffledp.errors import ParameterError, ShuffledpError
from shuffledp.formatting import ShortRepr
from shuffledp.histogram.estimate import Estimate
from shuffledp.histogram.tally import Tally
from shuffledp.progress import Progress, quiet
from shuffledp.protocols import SparseHistogram
from shuffledp.protocols.catalogue import CATALOGUE, Entry, named
from shuffledp.protocols.protocol import HistogramProtocol
from shuffledp.protocols.shuffled.histogram import Histogram
from shuffledp.protocols.target import Target
from shuffledp.release.plan import Plan, plan_for
from shuffledp.validation import failure_probability, head_count, target_delta, target_epsilon, whole

_LISTED_BINS = 10**7
"""For protocols that estimate every bin."""

_MOST_WORK = 5.2e9
"""The most steps of one trial, which takes a few seconds."""


@dataclass(frozen=True, kw_only=True)
class Measurement(ShortRepr):
    """One protocol on one dataset: the largest error over all bins, in people, over several trials.

    mean            of the largest error; `low` and `high` are its 95 % interval
    bound           exceeded with probability at most beta, for any data
    messages, bits  per person
    seconds         of one trial
    problem         why the protocol was not measured; empty if it was
    """

    name: str
    title: str
    model: str
    users: int
    bins: int
    mean: float = math.nan
    low: float = math.nan
    high: float = math.nan
    bound: float = math.nan
    messages: float = math.nan
    bits: float = math.nan
    seconds: float = math.nan
    problem: str = ""


def compare(
    *,
    users: Iterable[int],
    bins: Iterable[int],
    epsilon: float,
    delta: float,
    beta: float = 0.05,
    trials: int = 20,
    seed: int = 0,
    data: str | Tally = "zipf",
    protocols: Iterable[str] | None = None,
    progress: Progress = quiet,
) -> list[Measurement]:
    """Return a measurement for every protocol, number of people and number of bins.

    `data` is zipf, uniform, adversarial (one value with half of the people, all others with a count that truncation
    hides half of the time), or a tally of true counts with bins numbered from 0.
    """
    epsilon, delta, beta = target_epsilon(epsilon), target_delta(delta), failure_probability(beta)
    trials, seed = whole("trials", trials, minimum=2), whole("seed", seed, minimum=0)
    entries = {name: named(name, what="protocols") for name in (CATALOGUE if protocols is None else protocols)}
    cases = [(head_count("users", n), whole("bins", d, minimum=2)) for n in users for d in bins]
    results = []
    for at, (people, possible) in enumerate(cases):
        target = Target(users=people, bins=possible, epsilon=epsilon, delta=delta)
        truth = data if isinstance(data, Tally) else true_histogram(data, target)
        if truth.total != people:
            raise ParameterError(f"users must be the number of people in the data, {truth.total:,}, got {people:,}")
        if len(truth) > possible:
            raise ParameterError(f"bins must be at least the {len(truth):,} values in the data, got {possible:,}")
        for done, (name, entry) in enumerate(entries.items()):
            progress("comparing", (at + done / len(entries)) / len(cases))
            results.append(_measure(name, entry, truth, target, beta=beta, trials=trials, seed=seed))
    progress("comparing", 1.0)
    return results


def true_histogram(kind: str, target: Target) -> Tally:
    """Return the true counts of the occupied bins of a synthetic dataset."""
    users, bins = target.users, target.bins
    if kind == "uniform":
        occupied = min(users, bins)
        return _occupied(np.full(occupied, users // occupied) + (np.arange(occupied) < users % occupied))
    if kind == "zipf":
        weights = 1 / np.arange(1, min(users, bins) + 1)
        counts = np.floor(users * weights / weights.sum()).astype(np.int64)
        counts[0] += users - counts.sum()
        return _occupied(counts)
    if kind == "adversarial":
        hidden = _hidden_size(target)
        groups = min(bins - 1, (users // 2) // hidden)
        return _occupied(np.append(users - groups * hidden, np.full(groups, hidden)))
    raise ParameterError(f"data must be zipf, uniform, adversarial or a tally, got {kind!r}")


def _hidden_size(target: Target) -> int:
    """The count that P^hist hides about half of the time."""
    try:
        mean = Histogram.for_target(target).noise.mean
    except ParameterError:  # too few people
        mean = target.users / 4
    return max(1, round(mean))


def _occupied(counts: NDArray[np.int64]) -> Tally:
    held = counts[counts > 0]
    return Tally(np.arange(held.size), held)


def _measure(
    name: str, entry: Entry, truth: Tally, target: Target, *, beta: float, trials: int, seed: int
) -> Measurement:
    users, bins = target.users, target.bins
    nothing = Measurement(name=name, title=entry.title, model=entry.model, users=users, bins=bins)
    if entry.false_positives and bins > _LISTED_BINS:
        return replace(nothing, problem=f"estimates every bin: at most {_LISTED_BINS:,}")
    try:
        protocol = entry.make(target)
    except ShuffledpError as error:
        return replace(nothing, problem=str(error))
    if protocol.drawing_cost > _MOST_WORK:
        return replace(nothing, problem=f"too slow: a trial takes about {protocol.drawing_cost:.1g} steps")
    rng = np.random.default_rng([seed, users, bins % 2**63, *name.encode()])
    if entry.false_positives:
        truth = truth.dense(bins=bins)
    started = time.perf_counter()
    errors = [_largest_error(_trial(protocol, truth, rng), truth) for _ in range(trials)]
    seconds = (time.perf_counter() - started) / trials
    mean, reach = fmean(errors), _t_quantile(trials - 1) * stdev(errors) / math.sqrt(trials)
    sent = protocol.messages_per_user.expected
    return replace(
        nothing,
        mean=mean,
        low=max(0.0, mean - reach),
        high=mean + reach,
        bound=protocol.error(beta).simultaneous,
        messages=sent,
        bits=sent * protocol.bits_per_message,
        seconds=seconds,
    )


def _trial(protocol: HistogramProtocol, truth: Tally, rng: np.random.Generator) -> Estimate:
    """One estimate with fresh public coins, because the error is over them too."""
    tossed = protocol.fresh(rng)
    return tossed.estimate(tossed.sample_tally(truth, rng=rng), reports=protocol.users)


def _largest_error(estimate: Estimate, truth: Tally) -> float:
    """The largest error over all bins; a bin that is not reported counts as 0."""
    if len(estimate) == len(truth):
        return float(np.abs(estimate.counts - truth.counts).max())
    estimates = np.zeros(len(truth))
    estimates[np.searchsorted(truth.symbols, estimate.symbols)] = estimate.counts  # only occupied bins were sampled
    return float(np.abs(estimates - truth.counts).max())


def _t_quantile(freedom: int) -> float:
    """The 97.5 % quantile of Student's t distribution."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.975))


_CHOICES = ("hist", "hist-unbiased", "dummy", "sparse")
_GROWING = ("hist", "hist-unbiased", "sparse")  # dummy has the error of hist-unbiased
_BUDGETS = (1.02, 1.05, 1.1, 1.2, 1.4, 1.7, 2.0, 2.5)
"""Extra messages as multiples of the default calibration's; densest where the error falls fast."""
_BELOW = 0.95
"""Budgets start slightly below the default calibration, where the line of the figure starts."""
_BIN_POWERS = (3.32, 6.64, 10, 13.3, 16.6, 20, 28, 36, 44, 52, 60, 64)
"""Powers of 2: ten bins to a million in factors of ten, then to 2^64."""


class Point(NamedTuple):
    """Messages per person and simultaneous error in people."""

    messages: float
    error: float


@dataclass(frozen=True, kw_only=True)
class TradeOff(ShortRepr):
    """Error against messages, and error against the number of bins.

    choices         the possible protocols of the plan, by name
    sparse_budgets  SparseHistogram for several budgets of messages, in order
    errors          for 2^`bin_powers` bins, of each protocol whose error is finite for all of them
    """

    asked: Plan
    choices: Mapping[str, Point]
    sparse_budgets: tuple[Point, ...]
    bin_powers: tuple[float, ...]
    errors: Mapping[str, tuple[float, ...]]


def trade_off(asked: Plan, *, progress: Progress = quiet) -> TradeOff:
    """Compute the trade-offs for the people and the guarantee of a plan."""
    rows = {name: asked.row(name) for name in _CHOICES}
    target = Target(
        users=asked.users,
        bins=asked.bins,
        epsilon=asked.epsilon,
        delta=asked.delta,
        honest_users=asked.honest_users,
        values_per_person=asked.values_per_person,
    )
    errors = _errors_by_bins(target, asked.beta, progress)
    return TradeOff(
        asked=asked,
        choices={name: Point(row.messages, row.simultaneous) for name, row in rows.items() if not row.problem},
        sparse_budgets=_sparse_budgets(asked, target),
        bin_powers=_BIN_POWERS,
        errors={name: found for name, found in errors.items() if all(map(math.isfinite, found))},
    )


def _sparse_budgets(asked: Plan, target: Target) -> tuple[Point, ...]:
    best, usual, own = asked.row("sparse-best"), asked.row("sparse").messages, asked.values_per_person
    points = [Point(best.messages, best.simultaneous)]
    for factor in _BUDGETS:
        try:
            protocol = SparseHistogram.for_target(target, messages=own + _BELOW * factor * (usual - own))
        except ParameterError:  # too few messages for the guarantee
            continue
        points.append(Point(protocol.messages_per_user.expected, float(protocol.error(asked.beta).simultaneous)))
    return tuple(sorted(points))


def _errors_by_bins(target: Target, beta: float, progress: Progress) -> dict[str, tuple[float, ...]]:
    plans = []
    for done, power in enumerate(_BIN_POWERS):
        progress("planning for other numbers of values", done / len(_BIN_POWERS))
        wanted = replace(target, bins=round(2**power))
        plans.append(plan_for(wanted, beta=beta, practical_messages=math.inf))  # only the rows are used
    return {name: tuple(found.row(name).simultaneous for found in plans) for name in _GROWING}

"""Every protocol of the paper's comparison table, on the same people, values and total (epsilon, delta), measured.

Nothing here is private: errors are differences from the truth, and all randomness is seeded.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from statistics import fmean, stdev

import numpy as np
from numpy.typing import NDArray

from shuffledp.brief import Brief
from shuffledp.checks import failure_probability, head_count, target_delta, target_epsilon, whole
from shuffledp.errors import ParameterError, ShuffledpError
from shuffledp.pipeline.estimate import Estimate
from shuffledp.pipeline.tally import Tally
from shuffledp.progress import Progress, quiet
from shuffledp.protocols.catalogue import CATALOGUE, Entry, named
from shuffledp.protocols.protocol import HistogramProtocol
from shuffledp.protocols.shuffled.histogram import Histogram
from shuffledp.protocols.target import Target

_LISTED_BINS = 10**7
"""Protocols that estimate every bin need a number for each."""

_MOST_WORK = 5.2e9
"""Elementary steps of one trial: more take longer than a few seconds."""


@dataclass(frozen=True, kw_only=True)
class Measurement(Brief):
    """One protocol on one dataset: the largest error over all bins, in people, over some trials.

    `low` and `high` are a 95 % interval for the mean error; `bound` is what the error exceeds with probability at most
    beta on any dataset. `seconds` is what one trial took. `problem` says why there is nothing.
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
    """A measurement for every protocol, number of people and number of bins.

    `data` is zipf, uniform, adversarial (one value with half of the people, all others of the size that truncation
    hides), or a tally of true counts with bins numbered from 0.
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
            raise ParameterError(f"the data has {truth.total:,} people, not users={people:,}")
        if len(truth) > possible:
            raise ParameterError(f"the data has {len(truth):,} different values, more than bins={possible:,}")
        for done, (name, entry) in enumerate(entries.items()):
            progress("comparing", (at + done / len(entries)) / len(cases))
            results.append(_measure(name, entry, truth, target, beta=beta, trials=trials, seed=seed))
    progress("comparing", 1.0)
    return results


def true_histogram(kind: str, target: Target) -> Tally:
    """The true counts of occupied bins of a made-up dataset."""
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
    raise ParameterError(f"data must be zipf, uniform, adversarial or the name of a file, got {kind!r}")


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
    if entry.phantoms and bins > _LISTED_BINS:
        return replace(nothing, problem=f"estimates every bin: at most {_LISTED_BINS:,}")
    try:
        protocol = entry.make(target)
    except ShuffledpError as error:
        return replace(nothing, problem=str(error))
    if protocol.drawing_cost > _MOST_WORK:
        return replace(nothing, problem=f"too slow: a trial takes about {protocol.drawing_cost:.1g} steps")
    rng = np.random.default_rng([seed, users, bins % 2**63, *name.encode()])
    if entry.phantoms:
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
    """One estimate; public coins are tossed anew, since errors are over them too."""
    tossed = protocol.fresh(rng)
    return tossed.estimate(tossed.sample_tally(truth, rng=rng), reports=protocol.users)


def _largest_error(estimate: Estimate, truth: Tally) -> float:
    """Over all bins: those that are not reported count as 0, and those that are not listed in the truth are empty."""
    if len(estimate) == len(truth):
        return float(np.abs(estimate.counts - truth.counts).max())
    estimates = np.zeros(len(truth))
    estimates[np.searchsorted(truth.symbols, estimate.symbols)] = estimate.counts  # only occupied bins were drawn
    return float(np.abs(estimates - truth.counts).max())


def _t_quantile(freedom: int) -> float:
    """The 97.5 % quantile of Student's law."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.975))

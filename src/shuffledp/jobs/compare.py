"""Every protocol of the paper's comparison table, on the same people, values and total (epsilon, delta), measured.

Nothing here is private: errors are differences from the truth, and all randomness is seeded.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from statistics import NormalDist, fmean, stdev
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.checks import failure_probability, head_count, target_delta, target_epsilon, whole
from shuffledp.errors import ParameterError, ShuffledpError
from shuffledp.pipeline.estimate import Estimate
from shuffledp.pipeline.run import drawn_or_run
from shuffledp.pipeline.tally import Tally
from shuffledp.progress import Progress, quiet
from shuffledp.protocols import BlanketHistogram, DummyHistogram, Histogram, SparseHistogram
from shuffledp.protocols.central import LaplaceHistogram, StabilityHistogram
from shuffledp.protocols.local import BassilySmith, HadamardResponse, LocalHashing, RandomizedResponse, UnaryEncoding
from shuffledp.protocols.shuffled.amplified import AmplifiedOracle
from shuffledp.protocols.shuffled.private_coin.histogram import PrivateCoinHistogram
from shuffledp.protocols.shuffled.public_coin import PublicCoinHistogram

_LISTED_BINS = 10**7
"""Protocols that estimate every bin need a number for each."""

_MOST_WORK = 5.2e9
"""Comparisons of a report with a bin in one trial: more take longer than a few seconds."""

_MOST_REPORTS = 10**7
"""Where every report is made, they must fit in memory."""

_SOLVING = 100
"""Decoding a message by linear algebra takes as long as so many comparisons."""


@dataclass(frozen=True, kw_only=True)
class Contender:
    """A protocol of the table: how it is made for a guarantee, and how it is read.

    `lists_bins` says that every bin is estimated. `work` is how many comparisons of reports with bins a trial takes.
    """

    title: str
    model: str
    make: Callable[..., Any]
    estimator: str
    lists_bins: bool = True
    work: Callable[[Any], float] = lambda protocol: 0.0


def _every_bin(protocol: Any) -> float:
    """Every report is compared with every bin."""
    return float(protocol.users) * float(protocol.bins)


def _solutions(protocol: PrivateCoinHistogram) -> float:
    """Every message is decoded, and supports a few bins."""
    supported = 1 + protocol.bins * 2.0**-protocol.elements
    return protocol.users * protocol.messages_per_user.expected * supported * _SOLVING


def _half(make: Callable[..., Any]) -> Callable[..., Any]:
    """The theorem promises twice what it is asked for."""
    return lambda *, epsilon, delta, **fields: make(epsilon=epsilon / 2, delta=delta / 2, **fields)


CONTENDERS: dict[str, Contender] = {
    "stability": Contender(
        title="stability-based [BNS16]",
        model="central",
        make=StabilityHistogram.calibrate,
        estimator="truncated",
        lists_bins=False,
    ),
    "laplace": Contender(
        title="discrete Laplace [DMNS06]", model="central", make=LaplaceHistogram.calibrate, estimator="unbiased"
    ),
    "response": Contender(
        title="d-ary randomized response", model="local", make=RandomizedResponse.calibrate, estimator="unbiased"
    ),
    "unary-symmetric": Contender(
        title="symmetric unary encoding",
        model="local",
        make=lambda *, delta, **fields: UnaryEncoding(optimised=False, **fields),
        estimator="unbiased",
    ),
    "unary": Contender(
        title="optimised unary encoding", model="local", make=UnaryEncoding.calibrate, estimator="unbiased"
    ),
    "hashing": Contender(
        title="optimised local hashing",
        model="local",
        make=LocalHashing.calibrate,
        estimator="unbiased",
        work=_every_bin,
    ),
    "hadamard": Contender(
        title="Hadamard response", model="local", make=HadamardResponse.calibrate, estimator="unbiased"
    ),
    "bassily-smith": Contender(
        title="Bassily-Smith [BS15]", model="local", make=BassilySmith.calibrate, estimator="unbiased", work=_every_bin
    ),
    "shuffled-response": Contender(
        title="shuffled d-ary response [BBGN19]",
        model="shuffled",
        make=partial(AmplifiedOracle.calibrate, kind=RandomizedResponse),
        estimator="unbiased",
    ),
    "shuffled-hadamard": Contender(
        title="shuffled Hadamard response",
        model="shuffled",
        make=partial(AmplifiedOracle.calibrate, kind=HadamardResponse),
        estimator="unbiased",
    ),
    "shuffled-unary": Contender(
        title="shuffled unary encoding",
        model="shuffled",
        make=partial(AmplifiedOracle.calibrate, kind=UnaryEncoding),
        estimator="unbiased",
        work=_every_bin,
    ),
    "shuffled-hashing": Contender(
        title="shuffled local hashing [WXD+19]",
        model="shuffled",
        make=partial(AmplifiedOracle.calibrate, kind=LocalHashing),
        estimator="unbiased",
        work=_every_bin,
    ),
    "csu-published": Contender(
        title="CSU+19, published", model="shuffled", make=BlanketHistogram.from_paper, estimator="unbiased"
    ),
    "csu": Contender(
        title="CSU+19, calibrated", model="shuffled", make=BlanketHistogram.calibrate, estimator="unbiased"
    ),
    "public-coin-published": Contender(
        title="GGK+19 public coin, published",
        model="shuffled",
        make=PublicCoinHistogram.from_paper,
        estimator="smallest",
    ),
    "public-coin": Contender(
        title="GGK+19 public coin, calibrated",
        model="shuffled",
        make=PublicCoinHistogram.calibrate,
        estimator="smallest",
    ),
    "private-coin-published": Contender(
        title="GGK+19 private coin, published",
        model="shuffled",
        make=PrivateCoinHistogram.from_paper,
        estimator="unbiased",
        work=_solutions,
    ),
    "private-coin": Contender(
        title="GGK+19 private coin, calibrated",
        model="shuffled",
        make=PrivateCoinHistogram.calibrate,
        estimator="unbiased",
        work=_solutions,
    ),
    "dummy": Contender(title="dummy messages", model="shuffled", make=DummyHistogram.calibrate, estimator="unbiased"),
    "hist-published": Contender(
        title="P^hist, theorem's constants",
        model="shuffled",
        make=_half(Histogram.from_theorem),
        estimator="truncated",
        lists_bins=False,
    ),
    "hist": Contender(
        title="P^hist, exact", model="shuffled", make=Histogram.calibrate, estimator="truncated", lists_bins=False
    ),
    "sparse": Contender(
        title="SparseHistogram (ours)",
        model="shuffled",
        make=SparseHistogram.calibrate,
        estimator="truncated",
        lists_bins=False,
    ),
    "sparse-best": Contender(
        title="SparseHistogram, best error (ours)",
        model="shuffled",
        make=partial(SparseHistogram.calibrate, messages=math.inf),
        estimator="truncated",
        lists_bins=False,
    ),
}


@dataclass(frozen=True, kw_only=True)
class Measurement:
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


def compare_protocols(
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
    names = list(CONTENDERS) if protocols is None else list(protocols)
    for name in names:
        if name not in CONTENDERS:
            raise ParameterError(f"protocols must be among {', '.join(CONTENDERS)}; got {name!r}")
    cases = [(head_count("users", n), whole("bins", d, minimum=2)) for n in users for d in bins]
    wish: dict[str, float] = {"epsilon": epsilon, "delta": delta}
    results = []
    for at, (people, possible) in enumerate(cases):
        truth = data if isinstance(data, Tally) else true_histogram(data, users=people, bins=possible, **wish)
        if truth.total != people:
            raise ParameterError(f"the data has {truth.total:,} people, not users={people:,}")
        if len(truth) > possible:
            raise ParameterError(f"the data has {len(truth):,} different values, more than bins={possible:,}")
        for done, name in enumerate(names):
            progress("comparing", (at + done / len(names)) / len(cases))
            results.append(
                _measure(name, CONTENDERS[name], truth, bins=possible, beta=beta, trials=trials, seed=seed, **wish)
            )
    progress("comparing", 1.0)
    return results


def true_histogram(kind: str, *, users: int, bins: int, epsilon: float, delta: float) -> Tally:
    """The true counts of occupied bins of a made-up dataset."""
    if kind == "uniform":
        occupied = min(users, bins)
        return _occupied(np.full(occupied, users // occupied) + (np.arange(occupied) < users % occupied))
    if kind == "zipf":
        weights = 1 / np.arange(1, min(users, bins) + 1)
        counts = np.floor(users * weights / weights.sum()).astype(np.int64)
        counts[0] += users - counts.sum()
        return _occupied(counts)
    if kind == "adversarial":
        hidden = _hidden_size(users, epsilon, delta)
        groups = min(bins - 1, (users // 2) // hidden)
        return _occupied(np.append(users - groups * hidden, np.full(groups, hidden)))
    raise ParameterError(f"data must be zipf, uniform, adversarial or the name of a file, got {kind!r}")


def _hidden_size(users: int, epsilon: float, delta: float) -> int:
    """The count that P^hist hides about half of the time."""
    try:
        mean = Histogram.calibrate(users=users, bins=2, epsilon=epsilon, delta=delta).noise.mean
    except ParameterError:  # too few people
        mean = users / 4
    return max(1, round(mean))


def _occupied(counts: NDArray[np.int64]) -> Tally:
    held = counts[counts > 0]
    return Tally(np.arange(held.size), held)


def _measure(
    name: str,
    contender: Contender,
    truth: Tally,
    *,
    bins: int,
    epsilon: float,
    delta: float,
    beta: float,
    trials: int,
    seed: int,
) -> Measurement:
    about: dict[str, Any] = {
        "name": name,
        "title": contender.title,
        "model": contender.model,
        "users": truth.total,
        "bins": bins,
    }
    if contender.lists_bins and bins > _LISTED_BINS:
        return Measurement(**about, problem=f"estimates every bin: at most {_LISTED_BINS:,}")
    try:
        protocol = contender.make(users=truth.total, bins=bins, epsilon=epsilon, delta=delta)
    except ShuffledpError as error:
        return Measurement(**about, problem=str(error))
    if not hasattr(protocol, "sample_tally") and truth.total > _MOST_REPORTS:
        return Measurement(**about, problem=f"makes every report: at most {_MOST_REPORTS:,} people")
    if contender.work(protocol) > _MOST_WORK:
        return Measurement(**about, problem=f"too slow: {truth.total:,} people's messages against every bin")
    rng = np.random.default_rng([seed, truth.total, bins % 2**63, *name.encode()])
    if contender.lists_bins:
        dense = np.zeros(bins, dtype=np.int64)
        dense[truth.symbols] = truth.counts
        truth = Tally(np.arange(bins), dense)
    started = time.perf_counter()
    errors = [_largest_error(_trial(protocol, contender, truth, rng), truth) for _ in range(trials)]
    seconds = (time.perf_counter() - started) / trials
    mean, reach = fmean(errors), _t_quantile(trials - 1) * stdev(errors) / math.sqrt(trials)
    sent = protocol.messages_per_user.expected
    return Measurement(
        **about,
        mean=mean,
        low=max(0.0, mean - reach),
        high=mean + reach,
        bound=protocol.error(beta, estimator=contender.estimator).simultaneous,
        messages=sent,
        bits=sent * protocol.bits_per_message,
        seconds=seconds,
    )


def _trial(protocol: Any, contender: Contender, truth: Tally, rng: np.random.Generator) -> Estimate:
    """One estimate; public coins are tossed anew, since errors are over them too."""
    if hasattr(protocol, "coin"):
        protocol = replace(protocol, coin=int(rng.integers(2**63)))
    return drawn_or_run(protocol, truth, rng=rng, estimator=contender.estimator)


def _largest_error(estimate: Estimate, truth: Tally) -> float:
    """Over all bins: those that are not reported count as 0, and those that are not listed in the truth are empty."""
    if len(estimate) == len(truth):
        return float(np.abs(estimate.counts - truth.counts).max())
    estimates = np.zeros(len(truth))
    estimates[np.searchsorted(truth.symbols, estimate.symbols)] = estimate.counts  # only occupied bins were drawn
    return float(np.abs(estimates - truth.counts).max())


def _t_quantile(freedom: int) -> float:
    """The 97.5 % quantile of Student's law, by the Cornish-Fisher expansion (within 1 % from 3 degrees on)."""
    z = NormalDist().inv_cdf(0.975)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + math.fsum(term / freedom ** (power + 1) for power, term in enumerate(terms))

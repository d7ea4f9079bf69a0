"""Counts of messages that support a bin: how to read them, and how far off they can be.

A message of a person with value x supports bin x with probability p, and every other bin with probability q. The
number of messages that support bin j is Bin(c_j, p) + Bin(n - c_j, q), so (supports - n q) / (p - q) is an unbiased
estimate of the true count c_j. Nothing is clipped or rescaled: a projection would be biased.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.search import first_safe
from shuffledp.errors import DataError, ParameterError
from shuffledp.noise import Binomial
from shuffledp.noise.coins import count_heads
from shuffledp.pipeline.domain import Domain
from shuffledp.pipeline.estimate import Estimate, Intervals
from shuffledp.pipeline.inputs import check_domain, check_messages, check_tally
from shuffledp.pipeline.tally import Tally
from shuffledp.protocols.release import Described, assembled
from shuffledp.reading.reading import ErrorBound

_MANY_DRAWS, _MANY_TRIALS = 8, 1 << 22


def read_supports(
    protocol: Described,
    tally: Tally,
    *,
    bins: int,
    supports: tuple[float, float],
    bound: ErrorBound,
    people: int,
    domain: Domain | None,
    about: Callable[..., str] | None = None,
) -> Estimate:
    """The unbiased estimate of every bin from (p, q) = `supports`, with intervals as wide as the error bound."""
    check_tally(tally, Tally)
    check_domain(domain, bins=bins)
    check_messages(tally, people=people)
    if len(tally) != bins or not tally.complete:
        raise DataError("this protocol estimates every bin: tally messages, or draw the tally from all true counts")
    p, q = supports
    counts: NDArray[np.float64] = ((tally.counts - people * q) / (p - q)).astype(np.float64)

    def intervals(at_once: int) -> Intervals:
        error = bound.per_bin if at_once == 1 else bound.simultaneous
        low, high = (np.clip(edge, 0, people).astype(np.int64) for edge in (counts - error, np.ceil(counts + error)))
        return Intervals(low=low, high=high, unreported_high=0)

    return assembled(
        protocol,
        symbols=np.arange(bins),
        counts=counts,
        intervals=intervals,
        bins=bins,
        beta=bound.beta,
        estimator="unbiased",
        domain=domain,
        people=people,
        about=about,
    )


def only_unbiased(estimator: str) -> None:
    """Refuses other estimators."""
    if estimator != "unbiased":
        raise ParameterError(f"estimator must be unbiased for this protocol, got {estimator!r}")


def flipped_reach(users: int, flip: float, risk: float) -> float:
    """How far a sum of bits, each flipped with probability `flip`, goes beyond its mean but for `risk`, on one side.

    Chernoff's bound for Bin(users, flip), which has the heaviest tail: every flip of a 0 has a larger moment generating
    function than one of a 1 (docs/proofs/comparison.md).
    """
    needed = math.log(1 / risk) / users

    def excess(share: float) -> float:
        return needed - _divergence(share, flip)

    if excess(1.0) > 0:
        return users * (1 - flip)
    return users * (first_safe(excess, flip, 1.0, tolerance=1e-12 + 1e-9 * flip) - flip)


def draw_supports(
    counts: NDArray[np.int64], *, users: int, supports: tuple[float, float], rng: np.random.Generator
) -> NDArray[np.int64]:
    """For each true count c an independent draw of Bin(c, p) + Bin(users - c, q), exactly, for p and q on the grid."""
    drawn = np.empty_like(counts)
    order = np.argsort(counts, kind="stable")
    values, starts = np.unique(counts[order], return_index=True)
    for value, where in zip(values.tolist(), np.split(order, starts[1:]), strict=True):
        own, others = (
            _binomial(trials, probability, where.size, rng)
            for trials, probability in zip((value, users - value), supports, strict=True)
        )
        drawn[where] = own + others
    return drawn


def _binomial(trials: int, probability: float, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Exact draws; a table for inversion pays from a few draws of one law on."""
    if not trials:
        return np.zeros(size, dtype=np.int64)
    if probability > 0.5:
        return trials - _binomial(trials, 1 - probability, size, rng)
    if size < _MANY_DRAWS and trials < _MANY_TRIALS:
        return np.array([count_heads(trials, probability, rng) for _ in range(size)], dtype=np.int64)
    return Binomial(trials=trials, probability=probability).sample(size, rng=rng)


def _divergence(share: float, flip: float) -> float:
    """Kullback-Leibler divergence between coins of these probabilities."""
    heads = share * math.log(share / flip)
    return heads + (1 - share) * math.log((1 - share) / (1 - flip)) if share < 1 else heads

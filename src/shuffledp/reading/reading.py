"""What every way of reading a tally offers.

A reading goes from the counts of shuffled messages to estimates, intervals and the errors to expect. It knows the law
of the counts and the number of people; it knows nothing of privacy and of how messages are made.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from shuffledp.errors import DataError
from shuffledp.pipeline.estimate import Intervals
from shuffledp.pipeline.inputs import check_bins
from shuffledp.pipeline.tally import Tally, sorted_order

_MOST_LISTED = 2**32
"""A tally is filled up with the bins that did not occur only where a count for each fits in memory."""


@dataclass(frozen=True, kw_only=True)
class ErrorBound:
    """Errors in people that are exceeded with probability at most beta, on the worst dataset.

    `per_bin` is for any single bin, `simultaneous` for the largest error over all bins, where a bin that is not
    reported counts as an estimate of 0. `shown` and `hidden` take these two apart: with probability at least 1 - beta,
    no bin that is reported is off by more than `shown`, and every bin that more than `hidden` people hold is reported.
    After a release the same two are the widths of its intervals and their `unreported_high`, which are usually smaller.
    """

    beta: float
    per_bin: float
    simultaneous: float
    shown: float
    hidden: int


class Reading(Protocol):
    """One way to read a tally."""

    @property
    def name(self) -> str:
        """Truncated (nothing is reported that nobody holds), unbiased, or smallest."""

    @property
    def people(self) -> int:
        """How many people sent the messages."""

    @property
    def phantoms(self) -> bool:
        """Whether every bin is reported, so that one that nobody holds can look occupied."""

    def evidence(self, tally: Tally) -> Tally:
        """The entries that are reported, in an order that says nothing about the data; all that the estimate needs.

        The evidence of evidence is the same again.
        """

    def point(self, evidence: Tally) -> NDArray[np.float64]:
        """The estimate of each reported bin, in people."""

    def intervals(self, evidence: Tally, *, beta: float, bins: int) -> Intervals:
        """Bounds on true counts that hold for any given number of bins at once, but for probability beta."""

    def error(self, *, beta: float, bins: int, occupied: int) -> float:
        """The smallest error in people that the estimates of these bins exceed with probability at most beta.

        At most `occupied` of the bins are held by anybody.
        """


@runtime_checkable
class Truncating(Protocol):
    """A reading that leaves out whatever could be an empty bin; `phantoms` is then False."""

    def shown_and_hidden(self, *, beta: float, bins: int, occupied: int) -> tuple[float, int]:
        """How far off a reported bin, and how many people an unreported one can be, together but for beta."""

    def report_chance(self, count: int, *, at_least: float = 0.0) -> float:
        """How likely a bin of `count` people is reported with an estimate of `at_least` people; 0 for an empty one."""


def possible_counts(low: NDArray[Any], high: NDArray[Any], *, people: int) -> Intervals:
    """Intervals of a reading that reports every bin, without the counts that nobody's data can have."""
    least, most = (np.clip(end, 0, people).astype(np.int64) for end in (np.floor(low), np.ceil(high)))
    return Intervals(least, most, unreported_high=0)


def around_estimates(
    counts: NDArray[np.float64], *, per_bin: Intervals, simultaneous: Intervals
) -> tuple[Intervals, Intervals]:
    """The same intervals, widened where needed so that each holds its estimate and what holds for all holds for one.

    An unbiased estimate may be negative, or larger than the number of people: an interval then reaches from the
    possible counts to the estimate. Wider intervals cover all that they covered.
    """
    if (counts < per_bin.low).any() or (counts > per_bin.high).any():
        low = np.minimum(per_bin.low, np.floor(counts).astype(np.int64))
        high = np.maximum(per_bin.high, np.ceil(counts).astype(np.int64))
        per_bin = Intervals(low, high, unreported_high=per_bin.unreported_high)
    return per_bin, Intervals(
        np.minimum(simultaneous.low, per_bin.low),
        np.maximum(simultaneous.high, per_bin.high),
        unreported_high=max(simultaneous.unreported_high, per_bin.unreported_high),
    )


def in_order(tally: Tally) -> Tally:
    """The same tally with its entries in an order that says nothing about the data."""
    order = sorted_order(tally.symbols)
    if isinstance(order, slice):
        return tally
    return replace(tally, symbols=tally.symbols[order], counts=tally.counts[order])


def every_bin(tally: Tally, *, bins: int) -> Tally:
    """The tally in order, with an entry for every bin; refused where some were not drawn."""
    if len(tally) == bins:
        return in_order(tally)
    if not tally.complete or bins > _MOST_LISTED:
        raise DataError(
            "every bin is estimated, which needs the count of every bin: tally messages, or give sample_tally an array "
            "with all true counts"
        )
    check_bins(tally.symbols, bins=bins, what="symbol")
    return tally.dense(bins=bins)

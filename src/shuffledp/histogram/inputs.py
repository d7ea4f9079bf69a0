"""Validation of values, messages and tallies, without values in error messages; padding of people with few values.

A person who may hold several values is padded to exactly that number of different bins with the first padding bins,
each used once. Every bin then counts a person at most once, and replacing a person moves at most that number of bins
down and the same number up, each by one. A single padding bin for all missing values would move by more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.errors import DataError, ParameterError
from shuffledp.formatting import readable
from shuffledp.histogram.domain import Domain
from shuffledp.histogram.tally import Tally, increasing

Counts = Tally | Mapping[Any, int] | ArrayLike
"""True counts: an array with every bin, or a mapping or a Tally of some bins."""


MOST_BINS = 2**24
"""The most bins that are estimated one by one: they must fit in memory."""


def few_enough_bins(bins: int) -> int:
    """Refuse more bins than can be estimated one by one."""
    if bins > MOST_BINS:
        raise ParameterError(f"bins={readable(bins)} is too many: this protocol estimates every bin, at most 2^24")
    return bins


def people_in_bins(values: ArrayLike, *, bins: int) -> NDArray[np.int64]:
    """Validate the bins of people, and return them as machine integers."""
    people = np.atleast_1d(np.asarray(values))
    if not people.size:
        return np.empty(0, dtype=np.int64)
    check_bins(people, bins=bins, what="value")
    return people.astype(np.int64)


def check_bins(numbers: NDArray[Any], *, bins: int, what: str) -> None:
    """Refuse anything but a flat array of whole numbers from 0 to bins - 1."""
    if numbers.ndim != 1:
        raise DataError(f"one {what} per entry of a flat array is needed, got {numbers.ndim} dimensions")
    if numbers.size and (numbers.dtype.kind not in "iu" or numbers.min() < 0 or numbers.max() >= bins):
        raise DataError(
            f"a {what} is not a bin between 0 and {readable(bins - 1)} "
            "(it is not shown, since it may be personal); encode labels with Domain.encode first"
        )


def check_domain(domain: Domain | None, *, bins: int) -> None:
    """Refuse a domain without a label for every bin of the protocol."""
    if domain is not None and not isinstance(domain, Domain):
        raise ParameterError(f"domain must be a Domain, got {type(domain).__name__}: use Domain.of(labels)")
    if domain is not None and domain.size != bins:
        raise ParameterError(f"the domain has {readable(domain.size)} labels, the protocol {readable(bins)} bins")


def true_counts(counts: Counts, *, users: int, bins: int, part: bool = False, each: int = 1) -> Tally:
    """Validate true counts and return them as a tally; the counts of a `part` of the bins may add up to fewer people.

    Each person is counted in `each` different bins.
    """
    if isinstance(counts, Tally):
        truth = counts
    elif isinstance(counts, Mapping) or hasattr(counts, "items"):
        truth = Tally.from_mapping(dict(counts.items()))
    else:
        dense = np.asarray(counts)
        if dense.ndim != 1 or dense.size != bins or dense.dtype.kind not in "iu":
            raise DataError(f"an array of counts needs one whole number for each of the {readable(bins)} bins")
        truth = Tally(np.arange(dense.size), dense.astype(np.int64))
    if truth.counts.ndim != 1:
        raise DataError("true counts have one number for each bin, not one for each kind of message")
    _check_symbols(truth, bins=bins)
    if len(truth) and truth.counts.min() < 0:
        raise DataError("counts must not be negative")
    if truth.total > users * each if part else truth.total != users * each:
        together = "" if each == 1 else f" with {each} values each, padding included"
        raise DataError(f"the counts add up to {truth.total} people, the protocol is for {users}{together}")
    if each > 1 and len(truth) and truth.counts.max() > users:
        raise DataError(f"a bin has more than {users} people")
    return truth


def _check_symbols(truth: Tally, *, bins: int) -> None:
    """Refuse repeated symbols, and whole numbers that are not bins; other labels belong to an implicit domain."""
    symbols = truth.symbols
    if increasing(symbols):
        lowest, highest = (int(symbols[0]), int(symbols[-1])) if symbols.size else (0, 0)
    else:
        numbers = [symbol for symbol in symbols.tolist() if isinstance(symbol, int)] or [0]
        lowest, highest = min(numbers), max(numbers)
        if len(set(symbols.tolist())) != symbols.size:
            raise DataError("counts are given twice for the same bin")
    if lowest < 0 or highest >= bins:
        raise DataError(f"counts are given for a bin that is not between 0 and {readable(bins - 1)}")
    if symbols.size > bins:
        raise DataError(f"counts are given for {symbols.size} values, but there are only {readable(bins)} bins")


def check_tally(tally: object, kind: type) -> None:
    """Refuse everything that is not a tally."""
    if not isinstance(tally, kind):
        raise DataError(f"estimate needs a tally, got {type(tally).__name__}: pass messages through tally() first")


def check_messages(tally: Tally, *, people: int, each: int = 1) -> None:
    """Refuse a wrong number of messages; sampled tallies have none."""
    if tally.messages not in (None, people * each):
        raise DataError(
            f"{tally.messages} messages do not fit {people} people; give the number who reported as reports="
        )


NONE = -1
"""The bin number of a missing value."""


def filled_up(values: ArrayLike, *, bins: int, each: int, padding_bins: int) -> NDArray[np.int64]:
    """Return rows of exactly `each` different bins, one for each person; a flat array if everyone holds one bin.

    `values` has a row for each person, of at most `each` bins, with NONE for missing values, which the last
    `padding_bins` of all `bins` replace.
    """
    rows = _rows(values, real=bins - padding_bins, each=each)
    held = rows != NONE
    missing = each - held.sum(axis=1)
    if not padding_bins and missing.any():
        raise DataError(f"each person must hold exactly {each} values: a person has fewer")
    whole = np.full((rows.shape[0], each), NONE, dtype=np.int64)
    whole[:, : rows.shape[1]] = rows
    empty = whole == NONE
    # the first empty place takes the first padding bin, and so on
    whole[empty] = (bins - padding_bins + np.cumsum(empty, axis=1) - 1)[empty]
    _refuse_repeated(whole)
    return whole[:, 0] if each == 1 else whole


def holders_of_padding(holdings: ArrayLike) -> NDArray[np.int64]:
    """The number of people in each padding bin, from the numbers of people who hold 0, 1, ... up to all values."""
    by_number = np.asarray(holdings, dtype=np.int64)
    return np.cumsum(by_number)[-2::-1]


def _rows(values: ArrayLike, *, real: int, each: int) -> NDArray[np.int64]:
    rows = np.asarray(values)
    if not rows.size:
        rows = rows.reshape(rows.shape[0] if rows.ndim == 2 else 0, 0).astype(np.int64)
    if rows.ndim == 1 and each == 1:
        rows = rows[:, np.newaxis]
    if rows.ndim != 2 or rows.shape[1] > each:
        raise DataError(f"a row of at most {each} bins for each person is needed, with -1 where there is none")
    if rows.size and (rows.dtype.kind not in "iu" or rows.min() < NONE or rows.max() >= real):
        raise DataError(
            f"a value is not a bin between 0 and {readable(real - 1)}, or -1 for none (it is not shown, since it may "
            "be personal); encode labels with Domain.encode first"
        )
    return rows.astype(np.int64)


def _refuse_repeated(whole: NDArray[Any]) -> None:
    """Refuse a person with the same bin twice: it would move by two and break the guarantee."""
    ordered = np.sort(whole, axis=1)
    if (ordered[:, 1:] == ordered[:, :-1]).any():
        raise DataError("a person holds a bin twice: each of their values counts once")

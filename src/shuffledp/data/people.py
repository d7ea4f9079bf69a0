"""People's values as counts of bins: of a listed domain, or of the universe of all values by name."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.data.bins import CrossBins, Encoder, encoders_of
from shuffledp.data.engine import open_engine
from shuffledp.data.labels import BinKind, CrossKind, Kind, check_countable, finder
from shuffledp.data.source import Source
from shuffledp.data.tables import Memory
from shuffledp.errors import DataError, ParameterError
from shuffledp.histogram.domain import Domain
from shuffledp.histogram.inputs import holders_of_padding
from shuffledp.histogram.labels import LONGEST_NUMBER, Absent, MoreThan, NotAValue
from shuffledp.histogram.tally import Tally, as_symbols
from shuffledp.progress import Progress, quiet
from shuffledp.protocols.protocol import HistogramProtocol, MessageProtocol

LONGEST_VALUE = 8192
EVERYTHING = 2 ** (8 * LONGEST_VALUE)
"""The number of values of up to LONGEST_VALUE bytes: the universe without a domain."""


def names_of(kind: Kind | CrossKind, entries: Any) -> NDArray[Any]:
    """Return the labels of some entries as symbols."""
    named = as_symbols(kind.labels(entries))
    if named.dtype == object and any(map(_too_long, named)):
        raise DataError(f"a value is longer than {LONGEST_VALUE:,} bytes: shorten the values before they are counted")
    return named


def _too_long(label: Any) -> bool:
    """Whether a label is not among the values that EVERYTHING counts, or too long to be written."""
    if isinstance(label, tuple):
        return any(map(_too_long, label))
    if isinstance(label, int):
        return label.bit_length() > LONGEST_NUMBER
    return isinstance(label, str) and len(label.encode()) > LONGEST_VALUE


def _nothing() -> None:
    """Do nothing."""


@dataclass(frozen=True, eq=False)
class TrueCounts:
    """The true counts of some bins: their places in an estimate (-1 for others) or numbers, and the people of each.

    `uncapped` has the people of each value without the contribution cap. `values` is False for bins that are not
    values.
    """

    at: NDArray[np.int64]
    people: NDArray[np.int64]
    uncapped: NDArray[np.int64] | None = None
    values: bool = True


class People:
    """One value, or a set of a few, for each person of a source, on the engine where they are.

    `values` are the possible values; `domain` also has the marker of people who have more values than count. `rng` is
    for simulations.
    """

    def __init__(self, source: Source, *, progress: Progress = quiet, rng: np.random.Generator | None = None) -> None:
        self.source, self._progress = source, progress
        self._engine = open_engine(source, progress=progress, rng=rng)
        self._encoder: Encoder | None = None
        everything = Domain.implicit(EVERYTHING ** len(source.names))
        self.values = source.domain if isinstance(source.domain, Domain) else everything
        try:
            kinds = self._kinds_of_values()
            possible = source.possible or [None] * len(kinds)
            for name, kind, values in zip(source.names, kinds, possible, strict=True):
                check_countable(kind, listed=values is not None, name=name)
            self._kind: Kind | CrossKind = CrossKind(tuple(kinds)) if len(kinds) > 1 else kinds[0]
            if source.possible is not None:
                self._use_bins(
                    encoders_of(
                        source.possible,
                        kinds,
                        missing=not source.drop_missing,
                        other=source.other,
                        # a refusal would reveal something about the people who satisfy a condition, without spending
                        refuses=not source.in_sets,
                    ),
                    kinds,
                )
        except BaseException:
            self._engine.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._engine.close()

    @property
    def listed(self) -> bool:
        """Whether there is a list of the possible values."""
        return self._encoder is not None

    @property
    def padding_bins(self) -> int:
        """The number of padding bins, for people with fewer values than allowed."""
        return self.source.bins_per_person if self.source.in_sets else 0

    @cached_property
    def domain(self) -> Domain:
        """The labels of all bins except padding bins."""
        counted = self.source.count_capped
        return self.values.with_more_than(self.source.values_per_person) if counted else self.values

    @property
    def _labels_without_value(self) -> NDArray[Any]:
        """The labels of the marker, if there is one, then of padding bins."""
        most, number = self.source.values_per_person, self.padding_bins
        marker = [MoreThan(values=most)] if self.source.count_capped else []
        return as_symbols([*marker, *(Absent(most=number - at) for at in range(1, number + 1))])

    def number(self, *, count: bool) -> int:
        """Return the number of people; with `count`, from the true histogram, which is counted first."""
        if count:
            self._engine.counts(self._encoder)
        people = self._engine.people()
        if not people:
            kept = " with a value" if self.source.drop_missing and not self.source.in_sets else ""
            raise DataError(f"data must have at least one row{kept}, got none")
        return people

    def send(self, protocol: HistogramProtocol, *, before: Callable[[], None] = _nothing) -> Tally:
        """Make and shuffle everybody's messages and return their tally; call `before` first."""
        assert self._encoder is not None
        if not isinstance(protocol, MessageProtocol):
            raise ParameterError(f"messages must be False for {type(protocol).__name__}: a curator is given the values")
        before()
        return self._engine.tally(protocol, self._encoder)

    def draw(self, protocol: HistogramProtocol, *, before: Callable[[], None] = _nothing) -> Tally:
        """Sample the tally of the shuffled messages from its exact distribution; call `before` just before that.

        In the universe this goes batch by batch, and only reported values are named or kept.
        """
        if not protocol.samples_exactly:
            raise ParameterError("messages must be True for this protocol, whose counts cannot be sampled")
        if self._encoder is not None:
            counts = self._dense(self._encoder)
            before()
            return protocol.sample_tally(counts)
        without = self._without_value()
        before()
        seen, done = [], 0
        for labels, people in self._engine.counts():
            reported = _reported(protocol, people)
            seen.append(reported.renamed(names_of(self._kind, labels.take(reported.symbols))))
            done += int(people.sum())
            self._progress("drawing noise", done / (protocol.users * self.source.bins_per_person))
        if self.padding_bins:
            reported = _reported(protocol, without)
            seen.append(reported.renamed(self._labels_without_value[reported.symbols]))
        return Tally.join(seen)

    def named(self) -> Iterator[tuple[list[Any], NDArray[np.int64]]]:
        """Return the labels of all values, and the true number of people of each, in batches."""
        for labels, people in self._engine.counts():
            yield self._kind.labels(labels), people

    def count_uncapped(self) -> None:
        """Count all values of everybody, if they are listed: those outside a list are refused before a release."""
        if self.source.cap is None:
            return
        if self._encoder is not None:
            self._dense_uncapped  # noqa: B018  (cached)
        elif self.source.possible is not None:
            deque(self._engine.uncapped(), maxlen=0)

    def truth(self, labels: NDArray[Any], symbols: NDArray[Any]) -> Iterator[TrueCounts]:
        """Return the true counts in batches, with the places of their bins among reported labels.

        `symbols` are the numbers of these labels in a listed domain.
        """
        if self._encoder is not None:
            for part in self.numbered_truth():
                yield replace(part, at=places(symbols, part.at))
            return
        values, others = [], {}
        for at, label in enumerate(labels.tolist()):
            if isinstance(label, NotAValue):
                others[label] = at
            else:
                values.append((label, at))
        find = finder(self._kind, values)
        if self.source.cap is None:
            yield from (TrueCounts(find(batch), people) for batch, people in self._engine.counts())
        else:
            yield from (TrueCounts(find(batch), people, all_) for batch, people, all_ in self._engine.uncapped())
        if self.padding_bins:
            found = np.array([others.get(one, -1) for one in self._labels_without_value.tolist()])
            yield TrueCounts(found, self._without_value(), values=False)

    def numbered(self) -> Tally:
        """Return the true counts of numbered bins; in the universe, of occupied bins without their names."""
        values, others = self.numbered_truth()
        held = slice(None) if self._encoder is not None else values.people > 0
        return Tally(np.append(values.at[held], others.at), np.append(values.people[held], others.people))

    def numbered_truth(self) -> list[TrueCounts]:
        """Return the true counts of numbered values, in the universe of those that anybody has, then of other bins."""
        has_cap = self.source.cap is not None
        if self._encoder is not None:
            uncapped = self._dense_uncapped if has_cap else None
            people = self._dense(self._encoder)[: self.values.size]
        elif has_cap:
            both = np.concatenate([[capped, all_] for _, capped, all_ in self._engine.uncapped()], axis=1)
            people, uncapped = both[:, np.lexsort(both[::-1])]  # not in the order of the data
        else:
            people, uncapped = np.sort(np.concatenate([people for _, people in self._engine.counts()])), None
        others = self._without_value()
        return [
            TrueCounts(np.arange(people.size), people, uncapped),
            TrueCounts(people.size + np.arange(others.size), others, values=False),
        ]

    def _kinds_of_values(self) -> list[Kind]:
        data, whole = self.source.data, self._engine.label_type
        several = len(self.source.names) > 1
        types = [whole.field(at).type for at in range(whole.num_fields)] if several else [whole]
        if isinstance(data, Memory):
            given = zip(data.kinds, types, data.declared, strict=True)
            return [kind or Kind(type_, declared=declared) for kind, type_, declared in given]
        return [Kind(type_) for type_ in types]

    def _use_bins(self, encoders: Sequence[Encoder | None], kinds: Sequence[Kind]) -> None:
        """Count bins if all columns have them, else values of the universe with bins in some columns."""
        found = {at: encode for at, encode in enumerate(encoders) if encode is not None}
        if len(found) == len(kinds):
            self._encoder = CrossBins(list(found.values())) if len(found) > 1 else found[0]
            self.values = self._encoder.domain
            return
        self._engine.replace_by_bins(found)
        self._kind = CrossKind(tuple(BinKind(found[at].domain) if at in found else one for at, one in enumerate(kinds)))
        sizes = (found[at].domain.size if at in found else EVERYTHING for at in range(len(kinds)))
        self.values = Domain.implicit(math.prod(sizes))

    def _dense(self, encoder: Encoder) -> NDArray[np.int64]:
        counts = np.zeros(self.values.size, dtype=np.int64)
        for bins, people in self._engine.counts(encoder):
            np.add.at(counts, np.asarray(bins), people)
        return np.concatenate([counts, self._without_value()])

    @cached_property
    def _dense_uncapped(self) -> NDArray[np.int64]:
        counts = np.zeros(self.values.size, dtype=np.int64)
        for bins, _, people in self._engine.uncapped(self._encoder):
            np.add.at(counts, np.asarray(bins), people)
        return counts

    def _without_value(self) -> NDArray[np.int64]:
        """The number of people with the marker, if there is one, then in each padding bin."""
        if not self.padding_bins:
            return np.empty(0, dtype=np.int64)
        found = self._engine.holdings(self._encoder)
        holdings = [found.get(held, 0) for held in range(self.padding_bins + 1)]
        marker = holdings[-1:] if self.source.count_capped else []
        return np.concatenate([np.array(marker, dtype=np.int64), holders_of_padding(holdings)])


def _reported(protocol: HistogramProtocol, people: NDArray[np.int64]) -> Tally:
    """Report some bins of the universe; the symbols are their places."""
    return protocol.estimator.statistic(protocol.sample_tally(Tally(np.arange(people.size), people), part=True))


def places(symbols: NDArray[Any], bins: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places of numbered bins among increasing symbols; -1 for absent ones."""
    if not symbols.size:
        return np.full(bins.size, -1)
    at = np.minimum(np.searchsorted(symbols, bins), symbols.size - 1)
    return np.where(symbols[at] == bins, at, -1)

"""People's values as counts of bins: of a listed domain, or of the universe of all values by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.data.bins import Encoder, encoder_of
from shuffledp.data.engine import open_engine
from shuffledp.data.labels import CrossKind, Kind, check_countable, finder
from shuffledp.data.source import Source
from shuffledp.data.tables import Memory
from shuffledp.errors import DataError, ParameterError
from shuffledp.histogram.domain import Domain
from shuffledp.histogram.inputs import holders_of_padding
from shuffledp.histogram.labels import LONGEST_NUMBER, Absent
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
    """Do nothing before noise is sampled."""


class People:
    """One value, or a set of a few values, for each person of a source, on the engine where they are.

    `rng` chooses one row, or some values, of each person in a simulation.
    """

    def __init__(self, source: Source, *, progress: Progress = quiet, rng: np.random.Generator | None = None) -> None:
        self.source, self._progress = source, progress
        self._engine = open_engine(source, progress=progress, rng=rng)
        self._encoder: Encoder | None = None
        everything = Domain.implicit(EVERYTHING ** len(source.names))
        self.domain = source.domain if isinstance(source.domain, Domain) else everything
        try:
            self._kind = self._kind_of_values()
            for name, kind in zip(source.names, self.kinds, strict=True):
                check_countable(kind, listed=source.possible is not None, name=name)
            if source.possible is not None:
                self._encoder = encoder_of(
                    source.possible,
                    self._kind,
                    missing=not source.drop_missing,
                    other=source.other,
                    # a refusal would reveal something about the people who satisfy a condition, without spending budget
                    refuses=not source.in_sets,
                )
                self.domain = self._encoder.domain
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
    def kinds(self) -> tuple[Kind, ...]:
        """How the values of each column are read."""
        return self._kind.kinds if isinstance(self._kind, CrossKind) else (self._kind,)

    @property
    def padding_bins(self) -> int:
        """The number of padding bins, for people with fewer values than allowed; 0 where all hold exactly one."""
        return self.source.values_per_person if self.source.in_sets else 0

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
        absent = self._absent()
        before()
        seen, done = [], 0
        for labels, people in self._engine.counts():
            reported = _reported(protocol, people)
            seen.append(reported.renamed(names_of(self._kind, labels.take(reported.symbols))))
            done += int(people.sum())
            self._progress("drawing noise", done / (protocol.users * self.source.values_per_person))
        if self.padding_bins:
            reported = _reported(protocol, absent)
            seen.append(reported.renamed(_absent_labels(self.padding_bins)[reported.symbols]))
        return Tally.join(seen)

    def truth(
        self, labels: NDArray[Any], symbols: NDArray[Any]
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Return the true counts in batches, with the places of their values among reported labels; -1 for others.

        `symbols` are the numbers of the same labels in a listed domain.
        """
        if self._encoder is not None:
            dense = self._dense(self._encoder)
            yield places(symbols, np.arange(dense.size)), dense
            return
        values, absent = [], {}
        for at, label in enumerate(labels.tolist()):
            if isinstance(label, Absent):
                absent[label] = at
            else:
                values.append((label, at))
        find = finder(self._kind, values)
        for batch, people in self._engine.counts():
            yield find(batch), people
        if self.padding_bins:
            yield np.array([absent.get(one, -1) for one in _absent_labels(self.padding_bins).tolist()]), self._absent()

    def numbered(self) -> Tally:
        """Return the true counts of numbered bins; in the universe, of occupied bins without their names."""
        if self._encoder is not None:
            dense = self._dense(self._encoder)
            return Tally(np.arange(dense.size), dense)
        counts = np.sort(np.concatenate([people for _, people in self._engine.counts()] + [self._absent()]))
        return Tally(np.arange(counts.size), counts)

    def _kind_of_values(self) -> Kind | CrossKind:
        """How the engine's entries are read."""
        data, whole = self.source.data, self._engine.label_type
        several = len(self.source.names) > 1
        types = [whole.field(at).type for at in range(whole.num_fields)] if several else [whole]
        if isinstance(data, Memory):
            given = zip(data.kinds, types, data.declared, strict=True)
            kinds = [kind or Kind(type_, declared=declared) for kind, type_, declared in given]
        else:
            kinds = [Kind(type_) for type_ in types]
        return CrossKind(tuple(kinds)) if several else kinds[0]

    def _dense(self, encoder: Encoder) -> NDArray[np.int64]:
        """The true count of every bin of the listed domain, and of padding bins."""
        counts = np.zeros(self.domain.size, dtype=np.int64)
        for bins, people in self._engine.counts(encoder):
            np.add.at(counts, np.asarray(bins), people)
        return np.concatenate([counts, self._absent()])

    def _absent(self) -> NDArray[np.int64]:
        """The number of people in each padding bin."""
        if not self.padding_bins:
            return np.empty(0, dtype=np.int64)
        holdings = self._engine.holdings(self._encoder)
        return holders_of_padding([holdings.get(held, 0) for held in range(self.padding_bins + 1)])


def _reported(protocol: HistogramProtocol, people: NDArray[np.int64]) -> Tally:
    """The reported part of some bins of the universe with these counts; its symbols are their places."""
    return protocol.estimator.statistic(protocol.sample_tally(Tally(np.arange(people.size), people), part=True))


def _absent_labels(padding_bins: int) -> NDArray[Any]:
    return as_symbols([Absent(most=padding_bins - number) for number in range(1, padding_bins + 1)])


def places(symbols: NDArray[Any], bins: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places of numbered bins among increasing symbols; -1 for absent ones."""
    if not symbols.size:
        return np.full(bins.size, -1)
    at = np.minimum(np.searchsorted(symbols, bins), symbols.size - 1)
    return np.where(symbols[at] == bins, at, -1)

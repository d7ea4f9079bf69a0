"""People's values as bins: of a listed domain, or of the universe of all values by name."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.engines import Column, Files, find_files, open_engine
from shuffledp.engines.codebook import Codebook
from shuffledp.engines.files import names_something
from shuffledp.engines.kinds import Finder, Kind
from shuffledp.engines.tables import Memory, read_memory
from shuffledp.errors import DataError, ParameterError
from shuffledp.pipeline.domain import Domain
from shuffledp.pipeline.labels import LONGEST_NUMBER
from shuffledp.pipeline.tally import Tally, as_symbols
from shuffledp.progress import Progress, quiet
from shuffledp.protocols.protocol import HistogramProtocol, MessageProtocol

LONGEST_VALUE = 8192
EVERYTHING = 2 ** (8 * LONGEST_VALUE)
"""How many values of up to LONGEST_VALUE bytes there are: the universe where no domain is given."""


def _nothing() -> None:
    """What is done before noise is drawn unless something else is."""


class People:
    """One value for each person, on the engine where they are; see private_histogram for the parameters.

    `rng` chooses a row of each person in a simulation.
    """

    def __init__(
        self,
        data: Any,
        *,
        column: Hashable | None,
        user: Hashable | None,
        drop_missing: bool,
        domain: Domain | Iterable[Any] | None,
        other: bool,
        engine: str | None = None,
        master: str | None = None,
        delimiter: str | None = None,
        encoding: str | None = None,
        format: str | None = None,
        progress: Progress = quiet,
        rng: np.random.Generator | None = None,
    ) -> None:
        data = _found(data, column, delimiter=delimiter, encoding=encoding, format=format)
        self.column = _column(data, column, user=user, drop_missing=drop_missing)
        labels = _labels(domain)
        if labels is None and other:
            raise ParameterError("other needs a domain: without one, every value is counted by itself")
        self._progress = progress
        self._engine = open_engine(self.column, engine=engine, master=master, progress=progress, rng=rng)
        self._codebook: Codebook | None = None
        self.domain = domain if isinstance(domain, Domain) else Domain.implicit(EVERYTHING)
        try:
            self._kind = self._kind_of_values()
            if labels is not None:
                self._codebook = Codebook(labels, label_type=self._kind, missing=not drop_missing, other=other)
                self.domain = self._codebook.domain
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
        return self._codebook is not None

    def number(self, *, count: bool) -> int:
        """How many people there are; with `count`, from the true histogram, which is counted if it was not yet."""
        if count:
            self._engine.counts()
        people = self._engine.people()
        if not people:
            kept = " with a value" if self.column.drop_missing else ""
            raise DataError(f"the data has no row{kept}: there is nobody to count")
        return people

    def send(self, protocol: HistogramProtocol, *, before: Callable[[], None] = _nothing) -> Tally:
        """The tally of everybody's messages, really made and shuffled; `before` is called before the first is made."""
        assert self._codebook is not None
        if not isinstance(protocol, MessageProtocol):
            raise ParameterError(f"{type(protocol).__name__} has no messages: a curator is given the values")
        before()
        return self._engine.tally(protocol, self._codebook)

    def draw(self, protocol: HistogramProtocol, *, before: Callable[[], None] = _nothing) -> Tally:
        """The tally of the shuffled messages, drawn from its exact law; `before` is called when all but that is done.

        In the universe, batch by batch: only the values that are reported are ever named or kept.
        """
        if not protocol.draws_its_law:
            raise ParameterError("the counts of this protocol cannot be drawn: really make the messages (--messages)")
        if self._codebook is not None:
            counts = self._dense(self._codebook)
            before()
            return protocol.sample_tally(counts)
        before()
        seen, done = [], 0
        for labels, people in self._engine.counts():
            drawn = protocol.sample_tally(Tally(np.arange(people.size), people), part=True)
            reported = protocol.reading.evidence(drawn)
            seen.append(reported.renamed(_names(self._kind, labels.take(reported.symbols))))
            done += int(people.sum())
            self._progress("drawing noise", done / protocol.users)
        return Tally.join(seen)

    def truth(
        self, labels: NDArray[Any], symbols: NDArray[Any]
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """The true counts in batches, beside the places of their values among reported labels; -1 for the others.

        `symbols` are the numbers of the same labels in a listed domain.
        """
        if self._codebook is not None:
            dense = self._dense(self._codebook)
            yield places(symbols, np.arange(dense.size)), dense
            return
        find = Finder(self._kind, ((label, at) for at, label in enumerate(labels.tolist())))
        for batch, people in self._engine.counts():
            yield find(batch), people

    def numbered(self) -> Tally:
        """The true counts of numbered bins; of the universe, those of occupied ones, whose names do not matter."""
        if self._codebook is not None:
            dense = self._dense(self._codebook)
            return Tally(np.arange(dense.size), dense)
        counts = np.sort(np.concatenate([people for _, people in self._engine.counts()]))
        return Tally(np.arange(counts.size), counts)

    def _kind_of_values(self) -> Kind:
        """How the engine's entries are read."""
        data = self.column.data
        if not isinstance(data, Memory):
            return Kind(self._engine.label_type)
        return data.kind or Kind(self._engine.label_type, declared=data.declared)

    def _dense(self, codebook: Codebook) -> NDArray[np.int64]:
        """The true count of every bin of the listed domain."""
        counts = np.zeros(self.domain.size, dtype=np.int64)
        for labels, people in self._engine.counts():
            np.add.at(counts, codebook(labels), people)
        return counts


def _found(data: Any, column: Hashable | None, **how: str | None) -> Any:
    """The data, with names of files looked up, to be read in the way that is asked for."""
    if isinstance(data, Iterator) and not hasattr(data, "schema"):
        data = list(data)
    if isinstance(data, str | os.PathLike):
        return find_files([data], **how)
    if isinstance(data, list | tuple) and data and all(isinstance(part, _name_of_file(column)) for part in data):
        for place, name in enumerate(map(os.fspath, data), start=1):
            if not names_something(name):  # it may be somebody's value, and is not shown
                raise DataError(
                    f"entry {place} of the list is no file: a list of text together with column= is taken for names of "
                    "files; for a list of values leave out column="
                )
        return find_files(data, **how)
    if given := [f"{name}=" for name, value in how.items() if value is not None]:
        raise ParameterError(f"{' and '.join(given)} say how files are read: this data is not in files that I open")
    return data


def _column(data: Any, column: Hashable | None, *, user: Hashable | None, drop_missing: bool) -> Column:
    """The column of whatever data is."""
    on_spark = type(data).__module__.startswith("pyspark.")
    if on_spark and column is None and len(data.columns) == 1:
        column = data.columns[0]
    if not on_spark and not isinstance(data, Files):
        data = read_memory(data, column=column, user=user)
        column, user = data.name, data.user
    if column is None:
        raise ParameterError("column must be the name of a column: it says which values to count")
    return Column(data=data, name=column, user=user, drop_missing=drop_missing)  # type: ignore[arg-type]


def _name_of_file(column: Hashable | None) -> Any:
    """What the entries of a list must be to be names of files: text could be values, unless a column is named."""
    return os.PathLike if column is None else str | os.PathLike


def _labels(domain: Domain | Iterable[Any] | None) -> list[Any] | None:
    """The labels of a listed domain; None for a universe."""
    if isinstance(domain, Domain):
        return domain.decode(np.arange(domain.size)).tolist() if domain.can_list else None
    if not hasattr(domain, "__len__"):  # the type of a column of categories
        domain = getattr(domain, "categories", domain)
    if hasattr(getattr(domain, "dtype", None), "categories"):
        raise ParameterError(
            "domain must be known without the data, and the categories of a column may come from it: give a list, or "
            "pd.CategoricalDtype([...])"
        )
    if isinstance(domain, str | bytes) or not isinstance(domain, Iterable | None):
        raise ParameterError(f"domain must be a list of labels or a Domain, got {type(domain).__name__}")
    return None if domain is None else list(domain)


def _names(kind: Kind, entries: Any) -> NDArray[Any]:
    """The labels of some entries as symbols."""
    named = as_symbols(kind.labels(entries))
    if named.dtype == object and any(map(_too_long, named)):
        raise DataError(f"a value is longer than {LONGEST_VALUE:,} bytes: shorten the values before they are counted")
    return named


def _too_long(label: Any) -> bool:
    """Whether a label is none of the values that EVERYTHING counts, or too long to be written."""
    if isinstance(label, int):
        return label.bit_length() > LONGEST_NUMBER
    return isinstance(label, str) and len(label.encode()) > LONGEST_VALUE


def places(symbols: NDArray[Any], bins: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where numbered bins are among increasing symbols; -1 for those that are not there."""
    if not symbols.size:
        return np.full(bins.size, -1)
    at = np.minimum(np.searchsorted(symbols, bins), symbols.size - 1)
    return np.where(symbols[at] == bins, at, -1)

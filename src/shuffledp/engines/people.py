"""People's values as bins: of a listed domain, or of the universe of all values by name."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.engines import Column, Files, find_files, open_engine
from shuffledp.engines.codebook import Codebook
from shuffledp.engines.tables import has_columns
from shuffledp.errors import DataError, ParameterError
from shuffledp.jobs.evaluate import Truth, places
from shuffledp.jobs.plan import PRACTICAL_MESSAGES, Option, choose
from shuffledp.pipeline.domain import Domain
from shuffledp.pipeline.estimate import Estimate
from shuffledp.pipeline.tally import Tally
from shuffledp.progress import Progress, quiet

LONGEST_VALUE = 8192
EVERYTHING = 2 ** (8 * LONGEST_VALUE)
"""How many values of up to LONGEST_VALUE bytes there are: the universe where no domain is given."""


class Values:
    """One value for each person, on the engine where they are; see private_histogram for the parameters.

    `rng` chooses a row of each person in a simulation.
    """

    def __init__(
        self,
        data: Any,
        *,
        column: str | None,
        user: str | None,
        drop_missing: bool,
        domain: Domain | Iterable[Any] | None,
        other: bool,
        engine: str | None = None,
        master: str | None = None,
        progress: Progress = quiet,
        rng: np.random.Generator | None = None,
    ) -> None:
        self.column = _column(data, column, user=user, drop_missing=drop_missing)
        labels = _labels(domain)
        if labels is None and other:
            raise ParameterError("other needs a domain: without one, every value is counted by itself")
        self._progress = progress
        self._engine = open_engine(self.column, engine=engine, master=master, progress=progress, rng=rng)
        self._codebook: Codebook | None = None
        self.domain = domain if isinstance(domain, Domain) else Domain.implicit(EVERYTHING)
        if labels is not None:
            try:
                kind = self._engine.label_type
                self._codebook = Codebook(labels, label_type=kind, missing=not drop_missing, other=other)
            except BaseException:
                self._engine.close()
                raise
            self.domain = self._codebook.domain

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._engine.close()

    @property
    def listed(self) -> bool:
        """Whether there is a list of the possible values."""
        return self._codebook is not None

    def people(self, *, count: bool) -> int:
        """How many people there are; with `count`, from the true histogram, which is counted if it was not yet."""
        if count:
            self._engine.counts()
        people = self._engine.people()
        if not people:
            kept = " with a value" if self.column.drop_missing else ""
            raise DataError(f"the data has no row{kept}: there is nobody to count")
        return people

    def calibrate(
        self,
        *,
        users: int,
        epsilon: float,
        delta: float,
        beta: float,
        protocol: str | None,
        estimator: str | None,
        messages: bool = False,
    ) -> tuple[Any, Option, str]:
        """The protocol that is asked for or the planner's advice, for these people and values; and why."""
        option, reason = choose(
            users=users,
            bins=self.domain.size,
            epsilon=epsilon,
            delta=delta,
            beta=beta,
            protocol=protocol,
            estimator=estimator,
            phantoms=self.listed,
            practical_messages=PRACTICAL_MESSAGES if messages else math.inf,
        )
        wish = {"users": users, "bins": self.domain.size, "epsilon": epsilon, "delta": delta, "honest_users": None}
        return option.calibrate(**wish), option, reason

    def send(self, protocol: Any) -> Any:
        """The tally of everybody's messages, really made and shuffled."""
        assert self._codebook is not None
        return self._engine.tally(protocol, self._codebook)

    def draw(self, protocol: Any) -> Any:
        """The tally of the shuffled messages, drawn from its exact law.

        In the universe, batch by batch: only the values that are reported are ever named or kept.
        """
        if not hasattr(protocol, "sample_tally"):
            raise ParameterError("the counts of this protocol cannot be drawn: really make the messages (--messages)")
        if self._codebook is not None:
            return protocol.sample_tally(self._dense(self._codebook))
        seen, done = [], 0
        for labels, people in self._engine.counts():
            drawn = protocol.sample_tally(Tally(np.arange(people.size), people), part=True)
            at = protocol.visible(drawn)
            seen.append(drawn.pick(at, named=_names(labels, at)))
            done += int(people.sum())
            self._progress("drawing noise", done / protocol.users)
        return type(seen[0]).join(seen)

    def truth(self, estimate: Estimate) -> Truth:
        """The true counts, beside their places in an estimate."""
        if self._codebook is not None:
            dense = self._dense(self._codebook)
            yield places(estimate, np.arange(dense.size)), dense
            return
        import pyarrow
        import pyarrow.compute as compute

        reported = pyarrow.array(estimate.labels.tolist(), self._engine.label_type)
        for labels, people in self._engine.counts():
            yield np.asarray(compute.fill_null(compute.index_in(labels, reported), -1), dtype=np.int64), people

    def numbered(self) -> Tally:
        """The true counts of numbered bins; of the universe, those of occupied ones, whose names do not matter."""
        if self._codebook is not None:
            dense = self._dense(self._codebook)
            return Tally(np.arange(dense.size), dense)
        counts = np.sort(np.concatenate([people for _, people in self._engine.counts()]))
        return Tally(np.arange(counts.size), counts)

    def _dense(self, codebook: Codebook) -> NDArray[np.int64]:
        """The true count of every bin of the listed domain."""
        counts = np.zeros(self.domain.size, dtype=np.int64)
        for labels, people in self._engine.counts():
            np.add.at(counts, codebook(labels), people)
        return counts


def _column(data: Any, column: str | None, *, user: str | None, drop_missing: bool) -> Column:
    """The column of whatever data is; names of files are looked up."""
    if isinstance(data, str | os.PathLike):
        data = find_files([data])
    elif isinstance(data, list | tuple) and data and all(isinstance(part, _name_of_file(column)) for part in data):
        data = find_files(data)
    if column is None and (isinstance(data, Files) or has_columns(data)):
        raise ParameterError("column must be the name of a column: it says which values to count")
    return Column(data=data, name="value" if column is None else column, user=user, drop_missing=drop_missing)


def _name_of_file(column: str | None) -> Any:
    """What the entries of a list must be to be names of files: text could be values, unless a column is named."""
    return os.PathLike if column is None else str | os.PathLike


def _labels(domain: Domain | Iterable[Any] | None) -> list[Any] | None:
    """The labels of a listed domain; None for a universe."""
    if isinstance(domain, Domain):
        return domain.decode(np.arange(domain.size)).tolist() if domain.can_list else None
    if isinstance(domain, str | bytes) or not isinstance(domain, Iterable | None):
        raise ParameterError(f"domain must be a list of labels or a Domain, got {type(domain).__name__}")
    return None if domain is None else list(domain)


def _names(labels: Any, at: NDArray[np.int64]) -> NDArray[Any]:
    """Some of the labels of an Arrow array as symbols."""
    chosen = labels.take(at)
    if str(chosen.type).startswith("int") and not chosen.null_count:
        return np.asarray(chosen, dtype=np.int64)
    named: list[Any] = chosen.to_pylist()
    if any(isinstance(name, str) and len(name.encode("utf-8", "surrogatepass")) > LONGEST_VALUE for name in named):
        raise DataError(f"a value is longer than {LONGEST_VALUE:,} bytes: shorten the values before they are counted")
    return np.fromiter(named, dtype=object, count=len(named))

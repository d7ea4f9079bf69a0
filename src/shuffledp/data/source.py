"""`Source`: which values of which data are counted, whose they are, and which rows count."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from shuffledp.data.bins import Possible, PossibleValues, possible_values
from shuffledp.data.files import Files, find_files, names_something
from shuffledp.data.tables import Memory, read_memory
from shuffledp.errors import DataError, ParameterError
from shuffledp.histogram.facts import Cap
from shuffledp.validation import MOST_VALUES, values_each

if TYPE_CHECKING:
    from shuffledp.data.where import Condition


@dataclass(frozen=True, kw_only=True)
class Source:
    """A column of some data, or several whose values are counted together; `Source.of` opens the data.

    `data` is `Files`, a table in memory (`Memory`) or a Spark DataFrame, and `names` are the columns. `user` names a
    column that identifies the person of a row; rows without a user are left out. Missing values are a value of their
    own unless `drop_missing`. `domain` has the possible values, by default any; `other` counts all values outside a
    list together. `engine` is local or spark, `master` the address of Spark.

    Each person counts with the value of one of their rows, chosen at random; rows that `drop_missing` leaves out belong
    to no person. With larger `values_per_person`, a condition `where`, or `count_capped`, people hold *sets*: all
    different values of their rows that satisfy the condition, or a random choice of `values_per_person` of them. A set
    can be empty, and its person still counts: the number of people depends on `user` alone. With `count_capped`, people
    who have more different values than count also hold a marker, which is no value.
    """

    data: Any
    names: tuple[str, ...]
    user: str | None = None
    values_per_person: int = 1
    count_capped: bool = False
    where: Condition | None = None
    drop_missing: bool = False
    domain: PossibleValues | None = None
    other: bool = False
    engine: str | None = None
    master: str | None = None
    possible: list[Possible | None] | None = field(init=False, repr=False)

    @classmethod
    def of(
        cls,
        data: Any,
        *,
        column: Hashable | list[Any] | None = None,
        user: Hashable | None = None,
        where: str | Condition | None = None,
        delimiter: str | None = None,
        encoding: str | None = None,
        format: str | None = None,
        **options: Any,
    ) -> Source:
        """Open data of any kind that `private_histogram` takes; `options` are the other fields."""
        data = _opened(data, column, delimiter=delimiter, encoding=encoding, format=format)
        condition = None
        if where is not None:
            from shuffledp.data.where import Condition

            condition = where if isinstance(where, Condition) else Condition.parse(where)
        on_spark = is_spark(data)
        if on_spark and column is None and len(data.columns) == 1:
            column = data.columns[0]
        if not on_spark and not isinstance(data, Files):
            compared = () if condition is None else condition.columns
            data = read_memory(data, column=column, user=user, compared=compared)
            column, user = list(data.names), data.user
        if column is None:
            raise ParameterError("column must be the name of a column: it says which values to count")
        names: Any = tuple(column) if isinstance(column, list) else (column,)
        return cls(data=data, names=names, user=user, where=condition, **options)  # type: ignore[arg-type]

    def __post_init__(self) -> None:
        named = isinstance(self.names, tuple) and all(isinstance(name, str) and name for name in self.names)
        if not named or not self.names:
            raise ParameterError("column must be the name of a column, or a list of names")
        if not (isinstance(self.user, str) and self.user) and self.user is not None:
            raise ParameterError("user must be the name of a column")
        if repeated := next((name for name in self.names if self.names.count(name) > 1), None):
            raise ParameterError(f"column {repeated!r} is given twice: name each column of a cross table once")
        if self.user in self.names:  # the number of people would be the number of different values
            raise ParameterError("user and column must not be the same column: user identifies the person of a row")
        object.__setattr__(self, "values_per_person", values_each(self.values_per_person))
        if self.values_per_person > 1 and self.user is None:
            raise ParameterError(
                f"values_per_person={self.values_per_person} needs user, the column that identifies the person of a "
                "row: without it each row is a person with one value"
            )
        if not isinstance(self.count_capped, bool):
            raise ParameterError(f"count_capped must be True or False, got {type(self.count_capped).__name__}")
        if self.count_capped and self.user is None:
            raise ParameterError(
                "count_capped needs user, the column that identifies the person of a row: without it each row is a "
                "person with one value"
            )
        if self.bins_per_person > MOST_VALUES:
            raise ParameterError(
                f"values_per_person must be at most {MOST_VALUES - 1} with count_capped, got {self.values_per_person}"
            )
        object.__setattr__(self, "possible", possible_values(self.domain, self.names))
        if self.possible is None and self.other:
            raise ParameterError("other needs a domain: without one, every value is counted by itself")
        engine = self.engine or ("spark" if is_spark(self.data) else "local")
        if engine not in ("local", "spark"):
            raise ParameterError(f"engine must be local or spark, got {engine!r}")
        if engine == "local" and (self.master is not None or is_spark(self.data)):
            raise ParameterError("engine must be spark for a Spark DataFrame or a master, got 'local'")
        object.__setattr__(self, "engine", engine)
        if engine == "local":
            compared = () if self.where is None else self.where.columns
            _check_spelling(self.needed if isinstance(self.data, Files) else compared)

    @property
    def name(self) -> str:
        """The name of the column, or of all columns crossed."""
        return " \N{MULTIPLICATION SIGN} ".join(self.names)

    @property
    def in_sets(self) -> bool:
        """Whether people hold sets."""
        return self.values_per_person > 1 or self.where is not None or self.count_capped

    @property
    def bins_per_person(self) -> int:
        """The most bins in which a person counts, with the marker."""
        return self.values_per_person + self.count_capped

    @property
    def cap(self) -> Cap | None:
        """The contribution cap; None if each row is a person."""
        return None if self.user is None else Cap(values=self.values_per_person, counted=self.count_capped)

    @property
    def continuous(self) -> dict[str, str]:
        """The dtypes of columns of floats or timestamps in memory that are counted value by value."""
        if not isinstance(self.data, Memory):
            return {}
        found = zip(self.names, self.data.continuous, self.possible or [None] * len(self.names), strict=False)
        return {name: dtype for name, dtype, possible in found if dtype is not None and possible is None}

    @property
    def needed(self) -> list[str]:
        """The columns to read."""
        compared = () if self.where is None else self.where.columns
        return list(dict.fromkeys((*self.names, *([] if self.user is None else [self.user]), *compared)))


def is_spark(data: Any) -> bool:
    """Whether data is a Spark DataFrame."""
    return type(data).__module__.startswith("pyspark.")


def _check_spelling(names: Iterable[str]) -> None:
    """Refuse names that differ only in capitals, which DuckDB takes for the same."""
    seen: dict[str, str] = {}
    for name in names:
        if (other := seen.setdefault(name.lower(), name)) != name:
            raise DataError(f"columns {other!r} and {name!r} differ only in capitals: rename one of them")


def _opened(data: Any, column: Any, **how: str | None) -> Any:
    if hasattr(data, "read") and hasattr(data, "readline"):
        raise DataError(
            f"data must be a table, an array of values or names of files, got {type(data).__name__}: give the name of "
            "the file, or read it into a table first"
        )
    if isinstance(data, Iterator) and not hasattr(data, "schema"):
        data = list(data)
    if isinstance(data, str | os.PathLike):
        return find_files([data], **how)
    # text could be values, unless a column is named
    path: Any = os.PathLike if column is None else str | os.PathLike
    if isinstance(data, list | tuple) and data and all(isinstance(part, path) for part in data):
        for place, name in enumerate(map(os.fspath, data), start=1):
            if not names_something(name):  # it may be a person's value, and is not shown
                raise DataError(
                    f"entry {place} of the list is no file: with column, a list of text must be names of files; for a "
                    "list of values leave out column"
                )
        return find_files(data, **how)
    if given := [name for name, value in how.items() if value is not None]:
        raise ParameterError(f"{' and '.join(given)} must be left out for data that is not in files")
    return data

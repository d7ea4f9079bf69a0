"""Which columns can be counted value by value: not those of numbers or moments that hardly ever repeat.

Which values of which data: one for each person, or a set of a few.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from shuffledp.data.labels import Kind
from shuffledp.errors import DataError, ParameterError
from shuffledp.validation import values_each


def check_countable(label_type: Any, *, listed: bool, name: str | None = None) -> None:
    """Refuses a column of continuous values that has no list of intervals, periods or values.

    `label_type` is the type of the column, or the Kind of its entries; of several columns, a struct type. The type
    alone decides, before anything is counted: types that may come from people's values say nothing. `name` is that of
    the column, for the error.
    """
    from pyarrow import types

    kind = label_type if isinstance(label_type, Kind) else Kind(label_type)
    if listed or not kind.declared or kind.type is None:
        return
    if types.is_struct(kind.type):
        for part in kind.type:
            check_countable(part.type, listed=False, name=name)
        return
    column = "the column" if name is None else f"column {name!r}"
    if types.is_floating(kind.type) or (types.is_decimal(kind.type) and kind.type.scale > 0):
        raise ParameterError(
            f"{column} holds numbers with fractions ({kind.type}), which hardly ever repeat: count them in intervals, "
            "such as --edges 0,18,30,65 or --edges 0:120:5 (domain=Edges(...) in Python), or list the possible values "
            "with --domain"
        )
    if types.is_timestamp(kind.type):
        raise ParameterError(
            f"{column} holds moments ({kind.type}), which hardly ever repeat: count them by hour, day, week, month or "
            "year, such as --by month --from 2026-01-01 --to 2027-01-01 (domain=Periods(...) in Python), or list the "
            "possible values with --domain"
        )


class RowCondition(Protocol):
    """What a row must satisfy to count: SQL for both engines over columns that are quoted by name."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it compares."""

    def to_duckdb(self, *, types: Mapping[str, str] | None = None) -> str:
        """A truth value in DuckDB's SQL, NULL where it is undecided; with the types of the columns it never fails."""

    def to_spark(self) -> str:
        """The same in Spark's SQL."""


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of some data, or several whose values are counted together.

    `data` is `Files`, `Memory` (or what `read_memory` makes one of) or a Spark DataFrame. `user` names a column that
    says whose row it is, and rows of nobody are left out. Missing values are a value of their own unless
    `drop_missing`.

    Each person counts with one value, that of one of their rows, chosen at random; rows that `drop_missing` leaves out
    are nobody's. Where `values_per_person` is larger or there is a condition `where`, people hold *sets*: all
    different values of their rows that satisfy the condition, of which that number is chosen at random where there
    are more. The set of a person can then be empty, and they still count: how many people there are depends on nothing
    but `user`.
    """

    data: Any
    names: tuple[str, ...]
    user: str | None = None
    drop_missing: bool = False
    values_per_person: int = 1
    where: RowCondition | None = None

    def __post_init__(self) -> None:
        named = isinstance(self.names, tuple) and all(isinstance(name, str) and name for name in self.names)
        if not named or not self.names:
            raise ParameterError("column must be the name of a column, or a list of names")
        if not (isinstance(self.user, str) and self.user) and self.user is not None:
            raise ParameterError("user must be the name of a column")
        if repeated := next((name for name in self.names if self.names.count(name) > 1), None):
            raise ParameterError(f"column {repeated!r} is given twice: name each column of a cross table once")
        if self.user in self.names:  # each value would be one person, and their number that of the different values
            raise ParameterError(
                "user and column are the same column: user says whose row it is, column what they hold"
            )
        object.__setattr__(self, "values_per_person", values_each(self.values_per_person))
        if self.values_per_person > 1 and self.user is None:
            raise ParameterError(
                f"values_per_person={self.values_per_person} needs user, the column that says whose row it is (--user "
                "on the command line): without it each row is a person with one value"
            )

    @property
    def name(self) -> str:
        """What the values are called: the column, or all of them crossed."""
        return " \N{MULTIPLICATION SIGN} ".join(self.names)

    @property
    def in_sets(self) -> bool:
        """Whether people hold sets, which can be empty, and not exactly one value."""
        return self.values_per_person > 1 or self.where is not None

    @property
    def needed(self) -> list[str]:
        """The columns to read."""
        compared = () if self.where is None else self.where.columns
        return list(dict.fromkeys((*self.names, *([] if self.user is None else [self.user]), *compared)))

    def check(self, present: list[str], *, listed: bool = True) -> None:
        """Refuses a column that is not there; the present ones are listed where they cannot be a person's values."""
        for name in self.needed:
            if name not in present:
                options = f"there are {', '.join(present)}" if listed else "compare it with the first line of the file"
                raise DataError(f"there is no column {name!r}: {options}")


def check_spelling(names: Iterable[str]) -> None:
    """Refuses columns whose names differ only in capitals, which DuckDB takes for the same."""
    seen: dict[str, str] = {}
    for name in names:
        if (other := seen.setdefault(name.lower(), name)) != name:
            raise DataError(f"columns {other!r} and {name!r} differ only in capitals: rename one of them")

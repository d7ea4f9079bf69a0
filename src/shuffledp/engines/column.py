"""Which values of which data: one for each person."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shuffledp.errors import DataError, ParameterError


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of some data.

    `data` is `Files`, `Memory` (or what `read_memory` makes one of) or a Spark DataFrame. `user` names a column that
    says whose row it is: each person then counts with one of their rows, chosen at random, and rows of nobody are left
    out. Missing values are a value of their own unless `drop_missing`.
    """

    data: Any
    name: str
    user: str | None = None
    drop_missing: bool = False

    def __post_init__(self) -> None:
        for field in ("name", "user"):
            value = getattr(self, field)
            if not (isinstance(value, str) and value) and not (field == "user" and value is None):
                raise ParameterError(f"{'column' if field == 'name' else field} must be the name of a column")
        if self.user == self.name:  # each value would be one person, and their number that of the different values
            raise ParameterError(
                "user and column are the same column: user says whose row it is, column what they hold"
            )

    @property
    def needed(self) -> list[str]:
        """The columns to read."""
        return [self.name] if self.user is None else [self.name, self.user]

    def check(self, present: list[str], *, listed: bool = True) -> None:
        """Refuses a column that is not there; the present ones are listed where they cannot be a person's values."""
        for name in self.needed:
            if name not in present:
                options = f"there are {', '.join(present)}" if listed else "compare it with the first line of the file"
                raise DataError(f"there is no column {name!r}: {options}")

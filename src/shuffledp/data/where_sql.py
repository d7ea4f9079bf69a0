"""Comparisons as SQL that never fails and gives the same answer on DuckDB and on Spark; quoting of names and texts.

Columns can have any type, so a value is taken as its text, and the text is read as the type of the literal:

| literal | value |
|---|---|
| number | a number: a whole one of up to 38 digits is compared exactly, any other as a float |
| 'text' | the text itself, byte by byte; fractions have their shortest text, so that 1.0 is 1 in every type |
| DATE | the day of a date or timestamp as `histogram.periods` reads it, in UTC where it has a zone |
| TRUE, FALSE | a truth value, or the text true or false in any case |

Values that cannot be read like this are undecided (NULL), and so are missing values and NaN.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from math import inf
from typing import Any

from shuffledp.histogram.edges import LONGEST, NUMBER, scaled
from shuffledp.histogram.periods import MOMENT


def quoted_name(column: str) -> str:
    """Return a column name in DuckDB's quotes."""
    return '"' + column.replace('"', '""') + '"'


def quoted_text(value: str) -> str:
    """Return a text as a literal of DuckDB."""
    return "'" + value.replace("'", "''") + "'"


Literal = Decimal | str | date | bool

_DIGITS = 38
"""The most digits of whole numbers on both engines."""

_WHOLE = f"[+-]?[0-9]{{1,{_DIGITS}}}"


class Sql(ABC):
    """Comparisons that both engines write alike; each has its own syntax of types, texts and patterns."""

    _floats: str
    """The names of the types of floats."""

    _infinities: str
    """Infinite floats as texts."""

    @abstractmethod
    def text(self, column: str) -> str:
        """A value as text; NULL where it is missing or NaN."""

    @abstractmethod
    def _name(self, column: str) -> str:
        """A column name in quotes."""

    @abstractmethod
    def _is_decimal(self, name: str) -> str:
        """Whether a column has the type of decimal numbers."""

    @abstractmethod
    def _literal(self, text: str) -> str:
        """A text literal with any content."""

    @abstractmethod
    def _matches(self, text: str, pattern: str) -> str:
        """Whether a whole text matches a pattern."""

    @abstractmethod
    def _trimmed(self, text: str) -> str:
        """A text without spaces around it."""

    @abstractmethod
    def _float(self, value: float) -> str:
        """A float, which may be infinite."""

    @abstractmethod
    def _later(self, moment: str, minutes: str) -> str:
        """The timestamp of a text, some minutes later; NULL if it has none."""

    def _is_float(self, name: str) -> str:
        return f"typeof({name}) IN {self._floats}"

    def _part(self, text: str, pattern: str, group: int) -> str:
        """The match of a group of a pattern in a text; empty if there is none."""
        return f"regexp_extract({text}, {self._literal(pattern)}, {group})"

    def ordered(self, column: str, sign: str, literal: Literal) -> str:
        """Return whether a value is below or above a literal."""
        if isinstance(literal, str):
            return f"({self.text(column)} {sign} {self._literal(literal)})"
        if isinstance(literal, date):
            return f"({self._day(column)} {sign} DATE '{literal.isoformat()}')"
        assert isinstance(literal, Decimal), "truth values have no order"
        return self._number(column, _whole_order(sign, literal), f"{{}} {sign} {self._float(float(literal))}")

    def among(self, column: str, literals: Sequence[Any]) -> str:
        """Return whether a value is one of some literals, all of one type."""
        first = literals[0]
        if isinstance(first, str):
            return f"({self.text(column)} IN ({', '.join(map(self._literal, literals))}))"
        if isinstance(first, bool):
            truth = f"lower({self.text(column)})"
            read = f"CASE {truth} WHEN 'true' THEN TRUE WHEN 'false' THEN FALSE END"
            return f"({read} IN ({', '.join(str(one).upper() for one in literals)}))"
        if isinstance(first, date):
            days = ", ".join(f"DATE '{one.isoformat()}'" for one in literals)
            return f"({self._day(column)} IN ({days}))"
        whole = [scaled(one, 0) for one in literals if one == one.to_integral_value() and one.adjusted() < _DIGITS]
        floats = ", ".join(self._float(float(one)) for one in literals)
        exactly = f"{{}} IN ({', '.join(map(_decimal, whole))})" if whole else "FALSE"
        return self._number(column, exactly, f"{{}} IN ({floats})")

    def _number(self, column: str, whole: str, other: str) -> str:
        """A comparison for whole numbers and one for all others; {} stands for the value."""
        text = self.text(column)
        trimmed = self._trimmed(text)
        infinite = f"({self._is_float(self._name(column))} AND {text} IN {self._infinities})"
        return (
            f"CASE WHEN {self._matches(text, f' *{_WHOLE} *')} AND length({text}) <= {LONGEST} "
            f"THEN {whole.format(f'TRY_CAST({trimmed} AS DECIMAL({_DIGITS}, 0))')} "
            f"WHEN ({self._matches(text, f' *{NUMBER} *')} AND length({text}) <= {LONGEST}) OR {infinite} "
            f"THEN {other.format(f'TRY_CAST({trimmed} AS DOUBLE)')} END"
        )

    def _shortest(self, name: str, kind: str) -> str:
        """The text of a value, without zeros at the end of a fraction.

        In many tools one missing value turns a column of whole numbers into floats, and one longer fraction makes all
        decimals longer: that must not change how the values of others compare.
        """
        text = f"CAST({name} AS {kind})"
        near, zeros = f"TRY_CAST({text} AS DOUBLE)", self._literal("[.]?0+$")
        whole = f"TRY_CAST({near} AS DECIMAL({_DIGITS}, 0))"
        return (
            f"CASE WHEN {self._is_float(name)} AND {near} = {whole} THEN CAST({whole} AS {kind}) "
            f"WHEN {self._is_decimal(name)} AND {text} LIKE '%.%' THEN regexp_replace({text}, {zeros}, '') "
            f"ELSE {text} END"
        )

    def _day(self, column: str) -> str:
        """The day of a date or timestamp, in UTC where it has a zone; NULL for any other value."""
        text = self.text(column)
        trimmed = self._trimmed(text)
        zone = "^.{16}[0-9:.]*([+-])([0-9]{2}):?([0-9]{2})?"
        sign, *parts = (self._part(trimmed, zone, group) for group in (1, 2, 3))
        hours, minutes = (f"coalesce(TRY_CAST({digits} AS INTEGER), 0)" for digits in parts)
        behind = f"CASE {sign} WHEN '-' THEN 1 ELSE -1 END * ({hours} * 60 + {minutes})"
        day = f"CAST({self._later(f'substr({trimmed}, 1, 16)', behind)} AS DATE)"
        return f"CASE WHEN {self._matches(text, f' *{MOMENT} *')} THEN {day} END"


def _whole_order(sign: str, literal: Decimal) -> str:
    """Compare a whole number with any number by the next whole number above it."""
    if literal and literal.adjusted() >= _DIGITS:
        return "TRUE" if ("<" in sign) == (literal > 0) else "FALSE"
    above = scaled(literal, 0)
    if above != literal:
        sign = "<" if "<" in sign else ">="
    if abs(above) >= 10**_DIGITS:
        return "TRUE" if ("<" in sign) == (above > 0) else "FALSE"
    return f"{{}} {sign} {_decimal(above)}"


def _decimal(whole: int) -> str:
    return f"CAST('{whole}' AS DECIMAL({_DIGITS}, 0))"


@dataclass(frozen=True)
class DuckDB(Sql):
    """The SQL of DuckDB; `types` has the types of columns as DuckDB names them."""

    types: Mapping[str, str]

    _floats, _infinities = "('DOUBLE', 'FLOAT')", "('inf', '-inf')"

    def text(self, column: str) -> str:
        """A value as text."""
        name = self._name(column)
        if zone := _ZONES.get(self.types.get(column, "")):
            # DuckDB stores timestamps outside the calendar, but fails to write them, even where that is not needed
            known = f"{name} >= {zone[0]} '0001-01-01{zone[1]}' AND {name} < {zone[0]} '10000-01-01{zone[1]}'"
            written = f"CAST(CASE WHEN {known} THEN {name} END AS VARCHAR)"
            return f"coalesce({written}, CASE WHEN {name} IS NOT NULL THEN '' END)"
        text = self._shortest(name, "VARCHAR")
        # a NaN has a sign, which DuckDB writes too
        return f"CASE WHEN NOT ({self._is_float(name)} AND {text} IN ('nan', '-nan')) THEN {text} END"

    def _literal(self, text: str) -> str:
        return quoted_text(text)

    def _matches(self, text: str, pattern: str) -> str:
        return f"regexp_full_match({text}, '{pattern}')"

    def _trimmed(self, text: str) -> str:
        return f"trim({text}, ' ')"

    def _float(self, value: float) -> str:
        return f"CAST('{value!r}' AS DOUBLE)"

    def _later(self, moment: str, minutes: str) -> str:
        return f"(TRY_CAST({moment} AS TIMESTAMP) + to_minutes({minutes}))"

    def _name(self, column: str) -> str:
        return quoted_name(column)

    def _is_decimal(self, name: str) -> str:
        return f"starts_with(typeof({name}), 'DECIMAL')"


_ZONES = {
    "TIMESTAMP": ("TIMESTAMP", ""),
    "TIMESTAMP_S": ("TIMESTAMP_S", ""),
    "TIMESTAMP_MS": ("TIMESTAMP_MS", ""),
    "TIMESTAMP WITH TIME ZONE": ("TIMESTAMPTZ", " 00:00:00+00"),
}
"""Types of timestamps, and the syntax of their literals."""


@dataclass(frozen=True)
class Spark(Sql):
    """The SQL of Spark. Texts are written as bytes, which mean the same under every setting of a session."""

    _floats, _infinities = "('double', 'float')", "('Infinity', '-Infinity')"

    def text(self, column: str) -> str:
        """A value as text."""
        name = self._name(column)
        written = self._shortest(name, "STRING")
        plain = f"nullif({written}, CASE WHEN {self._is_float(name)} THEN 'NaN' END)"
        # the text of a timestamp with a zone would be in the zone of the session
        in_utc = f"get_json_object(to_json(named_struct('v', {name}), map('timeZone', 'UTC')), '$.v')"
        return f"collate(CASE WHEN typeof({name}) = 'timestamp' THEN {in_utc} ELSE {plain} END, 'UTF8_BINARY')"

    def _literal(self, text: str) -> str:
        return f"CAST(X'{text.encode('utf-8', 'surrogatepass').hex()}' AS STRING)"

    def _matches(self, text: str, pattern: str) -> str:
        whole = rf"^(?:{pattern})\z"  # $ would also match before a line break at the end
        return f"({text} RLIKE {self._literal(whole)})"

    def _trimmed(self, text: str) -> str:
        return f"trim({text})"

    def _float(self, value: float) -> str:
        return f"CAST('{'Infinity' if value == inf else '-Infinity' if value == -inf else repr(value)}' AS DOUBLE)"

    def _later(self, moment: str, minutes: str) -> str:
        return f"timestampadd(MINUTE, {minutes}, TRY_CAST({moment} AS TIMESTAMP_NTZ))"

    def _name(self, column: str) -> str:
        return "`" + column.replace("`", "``") + "`"

    def _is_decimal(self, name: str) -> str:
        return f"startswith(typeof({name}), 'decimal')"

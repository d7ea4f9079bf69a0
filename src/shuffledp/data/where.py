"""Conditions on the rows of a table, such as `country = 'DE' AND age >= 18`, for DuckDB and for Spark alike.

    condition  = part { OR part }
    part       = factor { AND factor }
    factor     = NOT factor | ( condition ) | column test
    test       = ( = | != | <> | < | <= | > | >= ) literal | [NOT] IN ( literal {, literal} ) | IS [NOT] NULL
    literal    = number | 'text' | DATE '2026-01-31' | TRUE | FALSE
    column     = name | "name in double quotes"

A row passes, fails, or is undecided, as in SQL: a comparison with a value that is missing, or that cannot be read as
what it is compared with, is undecided. No data makes it an error. How values are read is in `sql`,
beside this module.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from shuffledp.data.where_sql import DuckDB, Literal, Spark, Sql
from shuffledp.errors import ParameterError
from shuffledp.histogram.edges import NUMBER, read_number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_TOKEN = re.compile(
    rf"""(?P<space>[ \t\r\n]+)|(?P<number>{NUMBER.replace("(", "(?:")})(?![\w.])|(?P<text>'(?:[^']|'')*')"""
    r"""|(?P<name>"(?:[^"]|"")+")|(?P<word>[^\W\d]\w*)|(?P<sign><=|>=|<>|!=|[=<>(),])"""
)
_KEYWORDS = ("AND", "OR", "NOT", "IN", "IS", "NULL", "TRUE", "FALSE")
_ORDER = ("<", "<=", ">", ">=")
_COMPARED = ("=", "!=", "<>", *_ORDER)
_MOST_PARTS, _MOST_LITERALS, _DEEPEST = 100, 5_000, 50
"""Of one condition, which DuckDB and Spark must plan in about a second."""


class _Node(Protocol):
    def sql(self, dialect: Sql) -> str: ...


@dataclass(frozen=True)
class _Among:
    """Whether a value is one of some literals."""

    column: str
    literals: tuple[Literal, ...]

    def sql(self, dialect: Sql) -> str:
        kinds: dict[type, list[Literal]] = {}
        for literal in self.literals:
            kinds.setdefault(type(literal), []).append(literal)
        return _joined("OR", [dialect.among(self.column, alike) for alike in kinds.values()])


@dataclass(frozen=True)
class _Ordered:
    """Whether a value is below or above a literal."""

    column: str
    sign: str
    literal: Literal

    def sql(self, dialect: Sql) -> str:
        return dialect.ordered(self.column, self.sign, self.literal)


@dataclass(frozen=True)
class _Missing:
    """Whether there is no value; never undecided."""

    column: str

    def sql(self, dialect: Sql) -> str:
        return f"({dialect.text(self.column)} IS NULL)"


@dataclass(frozen=True)
class _Not:
    part: _Node

    def sql(self, dialect: Sql) -> str:
        return f"(NOT {self.part.sql(dialect)})"


@dataclass(frozen=True)
class _Joined:
    """Parts of which all (AND) or one (OR) must hold."""

    word: str
    parts: tuple[_Node, ...]

    def sql(self, dialect: Sql) -> str:
        return _joined(self.word, [part.sql(dialect) for part in self.parts])


def _joined(word: str, parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else "(" + f" {word} ".join(parts) + ")"


@dataclass(frozen=True)
class Condition:
    """A condition on rows, as it was written, and the columns that it asks for."""

    text: str
    columns: tuple[str, ...] = field(compare=False)
    _root: _Node = field(compare=False, repr=False)

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Reads a condition; an error says where it is wrong, and shows no literal, which may be personal."""
        if not isinstance(text, str):
            raise ParameterError(f"where must be text, such as \"country = 'DE'\", got {type(text).__name__}")
        parser = _Parser(text)
        root = parser.condition()
        parser.end()
        return cls(text, tuple(dict.fromkeys(parser.columns)), root)

    def __str__(self) -> str:
        return self.text

    def to_duckdb(self, *, types: Mapping[str, str] | None = None) -> str:
        """An expression of DuckDB; `types` has the types of columns as DESCRIBE shows them.

        Without it, a moment that no calendar has is an error of DuckDB.
        """
        return self._root.sql(DuckDB(types or {}))

    def to_spark(self) -> str:
        """An expression of Spark."""
        return self._root.sql(Spark())


class _Parser:
    """Reads from left to right, one token ahead."""

    def __init__(self, text: str) -> None:
        self._tokens = list(_tokens(text))
        self._at, self._depth, self._parts, self._literals = 0, 0, 0, 0
        self.columns: list[str] = []

    def condition(self) -> _Node:
        return self._chain("OR", lambda: self._chain("AND", self._factor))

    def end(self) -> None:
        if self._kind != "end":
            raise self._refused("AND, OR or the end")

    def _chain(self, word: str, part: Callable[[], _Node]) -> _Node:
        parts = [part()]
        while self._take(word):
            parts.append(part())
        return parts[0] if len(parts) == 1 else _Joined(word, tuple(parts))

    def _factor(self) -> _Node:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._refused(f"at most {_DEEPEST} parentheses or NOT inside each other")
        try:
            if self._take("NOT"):
                return _Not(self._factor())
            if self._take("("):
                found = self.condition()
                self._need(")")
                return found
            return self._test(self._column())
        finally:
            self._depth -= 1

    def _test(self, column: str) -> _Node:
        self._parts += 1
        if self._parts > _MOST_PARTS:
            raise self._refused(f"at most {_MOST_PARTS} comparisons (IN takes a list)")
        if self._take("IS"):
            negated = self._take("NOT")
            self._need("NULL")
            return _Not(_Missing(column)) if negated else _Missing(column)
        if self._take("NOT"):
            self._need("IN")
            return _Not(self._list(column))
        if self._take("IN"):
            return self._list(column)
        sign = self._word
        if sign not in _COMPARED:
            raise self._refused("=, !=, <, <=, >, >=, IN (...) or IS NULL")
        self._at += 1
        literal = self._literal()
        if sign in _ORDER:
            if isinstance(literal, bool):
                self._at -= 1
                raise self._refused("a number, 'text' or DATE '2026-01-31': truth values have no order")
            return _Ordered(column, sign, literal)
        return _Among(column, (literal,)) if sign == "=" else _Not(_Among(column, (literal,)))

    def _list(self, column: str) -> _Node:
        self._need("(")
        literals = [self._literal()]
        while self._take(","):
            literals.append(self._literal())
        self._need(")")
        return _Among(column, tuple(literals))

    def _column(self) -> str:
        kind, text = self._kind, self._tokens[self._at][1]
        if not (kind == "name" or (kind == "word" and self._word not in _KEYWORDS)):
            raise self._refused('the name of a column (in double quotes if it is unusual, such as "my column")')
        self._at += 1
        self.columns.append(text[1:-1].replace('""', '"') if kind == "name" else text)
        return self.columns[-1]

    def _literal(self) -> Literal:
        self._literals += 1
        if self._literals > _MOST_LITERALS:
            raise self._refused(f"at most {_MOST_LITERALS:,} numbers and texts")
        kind, text, _ = self._tokens[self._at]
        if kind == "number" and (number := read_number(text)) is not None:
            self._at += 1
            return number
        if kind == "text":
            self._at += 1
            return text[1:-1].replace("''", "'")
        if self._take("TRUE") or self._take("FALSE"):
            return self._tokens[self._at - 1][1].upper() == "TRUE"
        if self._word == "DATE" and self._tokens[self._at + 1][0] == "text":
            self._at += 1
            try:
                found = datetime.strptime(self._tokens[self._at][1], "'%Y-%m-%d'").date()
            except ValueError:
                raise self._refused("a date such as DATE '2026-01-31'") from None
            self._at += 1
            return found
        if self._word == "NULL":
            raise self._refused("IS NULL or IS NOT NULL, since nothing equals NULL")
        raise self._refused("a number, 'text' in single quotes, DATE '2026-01-31', TRUE or FALSE")

    @property
    def _kind(self) -> str:
        return self._tokens[self._at][0]

    @property
    def _word(self) -> str:
        """The next keyword or sign; empty for anything else."""
        kind, text, _ = self._tokens[self._at]
        return text.upper() if kind in ("word", "sign") else ""

    def _take(self, word: str) -> bool:
        found = self._word == word
        self._at += found
        return found

    def _need(self, word: str) -> None:
        if not self._take(word):
            raise self._refused(word)

    def _refused(self, needed: str) -> ParameterError:
        kind, text, place = self._tokens[self._at]
        found = {"end": "the end", "text": "a text", "number": "a number"}.get(kind, text)
        return _error(place, f"{needed} is needed, not {found}")


def _tokens(text: str) -> list[tuple[str, str, int]]:
    """Kind, text and place of every token, and of the end."""
    found, at = [], 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            reason = {"'": "a text has no end: ' is missing", '"': 'a name has no end: " is missing'}
            raise _error(at, reason.get(text[at], "nothing in a condition begins like this"))
        kind = str(token.lastgroup)
        if kind != "space":
            found.append((kind, token[0], at))
        at = token.end()
    return [*found, ("end", "", at)]


def _error(place: int, reason: str) -> ParameterError:
    return ParameterError(
        f"where cannot be read at character {place + 1}: {reason}; a condition is written like  country = 'DE' AND "
        "(age >= 18 OR age IS NULL)"
    )

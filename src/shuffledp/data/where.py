"""Conditions on rows, such as `country = 'DE' AND age >= 18`: parsed by sqlglot, rendered for DuckDB and for Spark.

    test       = column ( = | != | <> | < | <= | > | >= ) literal | [NOT] IN ( literal {, literal} ) | IS [NOT] NULL
    literal    = number | 'text' | DATE '2026-01-31' | TRUE | FALSE

Tests are joined by NOT, AND, OR and parentheses. sqlglot knows far more of SQL, so only the tokens and syntax tree
nodes of this language are accepted. A condition depends on its own row alone: functions such as current_date or
random() are no part of it. SQL's other keywords are column names here.

A row passes, fails, or is undecided, as in SQL. No data makes it an error. `where_sql` says how values are compared.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from shuffledp.data.where_sql import DuckDB, Literal, Spark, Sql
from shuffledp.errors import MissingExtraError, ParameterError
from shuffledp.histogram.edges import read_number

try:
    from sqlglot import Parser, Token, Tokenizer, TokenType, exp
    from sqlglot.errors import ParseError, TokenError
except ImportError:
    raise MissingExtraError("sqlglot", extra="files") from None

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_WORDS = {word: TokenType[word] for word in ("AND", "OR", "NOT", "IN", "IS", "NULL", "TRUE", "FALSE", "DATE")}
_SIGNS = {"<=": TokenType.LTE, ">=": TokenType.GTE, "<>": TokenType.NEQ, "!=": TokenType.NEQ}
_ACCEPTED = {
    *_WORDS.values(), *_SIGNS.values(), TokenType.EQ, TokenType.LT, TokenType.GT, TokenType.L_PAREN, TokenType.R_PAREN,
    TokenType.COMMA, TokenType.IDENTIFIER, TokenType.STRING,
}  # fmt: skip
_OF_NUMBERS = {TokenType.NUMBER, TokenType.DOT, TokenType.DASH, TokenType.PLUS}
_NAME = re.compile(r"[^\W\d]\w*")
_ORDER = {exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}
_MOST_TESTS, _MOST_LITERALS, _DEEPEST = 100, 5_000, 25
"""Limits of one condition: DuckDB and Spark plan the largest one in about a second, and sqlglot needs about 25 of the
1,000 nested calls that Python allows for each level of parentheses."""

_TOO_DEEP = f"at most {_DEEPEST} parentheses or NOT inside each other are possible"
_UNKNOWN = "this is no part of a condition"
_NEEDS_TEST = "the name of a column with =, !=, <, <=, >, >=, IN (...) or IS NULL is needed"
_NEEDS_LITERAL = "a number, 'text' in single quotes, DATE '2026-01-31', TRUE or FALSE is needed"


class _Tokenizer(Tokenizer):
    """The keywords of this language alone, without comments."""

    KEYWORDS = {**_WORDS, **_SIGNS}  # noqa: RUF012
    COMMENTS = []  # noqa: RUF012
    COMMANDS = set()  # noqa: RUF012


class _Node(Protocol):
    def sql(self, dialect: Sql) -> str: ...


@dataclass(frozen=True)
class _Among:
    column: str
    literals: tuple[Literal, ...]

    def sql(self, dialect: Sql) -> str:
        kinds: dict[type, list[Literal]] = {}
        for literal in self.literals:
            kinds.setdefault(type(literal), []).append(literal)
        return _joined("OR", [dialect.among(self.column, alike) for alike in kinds.values()])


@dataclass(frozen=True)
class _Ordered:
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
    """A condition on rows: its text, and the columns that it compares."""

    text: str
    columns: tuple[str, ...] = field(compare=False)
    _root: _Node = field(compare=False, repr=False)

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Parse a condition; an error gives the place and shows no literal, which may be personal."""
        if not isinstance(text, str):
            raise ParameterError(
                f"where must be text, such as \"country = 'DE'\", that names columns of the data, got "
                f"{type(text).__name__}"
            )
        checker = _Checker()
        try:
            root = checker.node(_tree(text))
        except RecursionError:
            raise _error(None, _TOO_DEEP) from None
        return cls(text, tuple(dict.fromkeys(checker.columns)), root)

    def __str__(self) -> str:
        return self.text

    def to_duckdb(self, *, types: Mapping[str, str] | None = None) -> str:
        """Return a DuckDB expression; `types` has the types of columns as DESCRIBE shows them.

        Without `types`, DuckDB fails at a timestamp outside the calendar.
        """
        return self._root.sql(DuckDB(types or {}))

    def to_spark(self) -> str:
        """Return a Spark expression."""
        return self._root.sql(Spark())


def _tree(text: str) -> exp.Expr:
    try:
        tokens = list(_checked_tokens(text, _Tokenizer().tokenize(text)))
        trees = Parser(error_message_context=len(text)).parse_into(exp.Condition, tokens, text)
    except TokenError:
        raise _error(None, "a quote is missing") from None
    except ParseError as error:  # its own message shows the text
        before = error.errors[0].get("start_context") or ""
        raise _error(len(before), "this part is unexpected, or one is missing before or after it") from None
    if len(trees) != 1 or trees[0] is None:
        raise _error(0, _NEEDS_TEST)
    return trees[0]


def _checked_tokens(text: str, tokens: list[Token]) -> Iterator[Token]:
    """The tokens with numbers in one piece and all words but keywords as names; any other is refused."""
    at = 0
    while at < len(tokens):
        token, kind = tokens[at], tokens[at].token_type
        at += 1
        if token.comments:  # sqlglot has comments of templates in every dialect
            raise _error(token.start, _UNKNOWN)
        if kind in _OF_NUMBERS:
            end = token.end
            while at < len(tokens) and tokens[at].token_type in _OF_NUMBERS and tokens[at].start == end + 1:
                end, at = tokens[at].end, at + 1
            kind, number = TokenType.NUMBER, text[token.start : end + 1]
            if read_number(number) is None:
                raise _error(token.start, _NEEDS_LITERAL)
            token = Token(kind, number, token.line, token.col, token.start, end)
        elif kind == TokenType.VAR or (kind == TokenType.DATE and not _is_next(tokens, at, TokenType.STRING)):
            if not _NAME.fullmatch(token.text):
                raise _error(token.start, _UNKNOWN)
            token = Token(TokenType.IDENTIFIER, token.text, token.line, token.col, token.start, token.end)
        elif kind == TokenType.COMMA and _is_next(tokens, at, TokenType.COMMA, TokenType.R_PAREN):
            raise _error(tokens[at].start, _NEEDS_LITERAL)
        elif kind not in _ACCEPTED or token.text == "!":
            raise _error(token.start, _UNKNOWN)
        yield token


def _is_next(tokens: list[Token], at: int, *kinds: TokenType) -> bool:
    return at < len(tokens) and tokens[at].token_type in kinds


class _Checker:
    """Converts the nodes of a syntax tree that are part of the language, and refuses all others."""

    def __init__(self) -> None:
        self.columns: list[str] = []
        self._tests = self._literals = 0

    def node(self, tree: exp.Expr, depth: int = 0) -> _Node:
        if depth > _DEEPEST:
            raise _error(_place(tree), _TOO_DEEP)
        if isinstance(tree, exp.Paren):
            return self.node(tree.this, depth + 1)
        if isinstance(tree, exp.Not):
            return _Not(self.node(tree.this, depth + 1))
        if isinstance(tree, exp.And | exp.Or):
            word = "AND" if isinstance(tree, exp.And) else "OR"
            return _Joined(word, tuple(self.node(part, depth) for part in tree.flatten(unnest=False)))
        return self._test(tree)

    def _test(self, tree: exp.Expr) -> _Node:
        self._tests += 1
        if self._tests > _MOST_TESTS:
            raise _error(_place(tree), f"at most {_MOST_TESTS} comparisons are possible (IN takes a list)")
        if not isinstance(tree, exp.EQ | exp.NEQ | exp.LT | exp.LTE | exp.GT | exp.GTE | exp.In | exp.Is):
            raise _error(_place(tree), _NEEDS_TEST)
        column = self._column(tree.this)
        if isinstance(tree, exp.Is):
            if not isinstance(tree.expression, exp.Null):
                raise _error(_place(tree), "NULL is needed after IS")
            return _Missing(column)
        if isinstance(tree, exp.In):
            if set(tree.args) - {"this", "expressions"} or not tree.expressions:
                raise _error(_place(tree), "a list in parentheses is needed after IN")
            return _Among(column, tuple(self._literal(one, tree) for one in tree.expressions))
        literal = self._literal(tree.expression, tree)
        if sign := _ORDER.get(type(tree)):
            if isinstance(literal, bool):
                raise _error(_place(tree), "TRUE and FALSE have no order: use = or !=")
            return _Ordered(column, sign, literal)
        return _Among(column, (literal,)) if isinstance(tree, exp.EQ) else _Not(_Among(column, (literal,)))

    def _column(self, tree: exp.Expr) -> str:
        # names come from IDENTIFIER tokens, which are quoted; sqlglot also takes some keywords for names
        if not isinstance(tree, exp.Column) or len(tree.parts) > 1 or not tree.name or not tree.this.quoted:
            raise _error(_place(tree), _NEEDS_TEST)
        self.columns.append(tree.name)
        return tree.name

    def _literal(self, tree: exp.Expr, test: exp.Expr) -> Literal:
        self._literals += 1
        if self._literals > _MOST_LITERALS:
            raise _error(_place(tree), f"at most {_MOST_LITERALS:,} numbers and texts are possible")
        if isinstance(tree, exp.Literal):
            if tree.is_string:
                return str(tree.this)
            if (number := read_number(tree.this)) is not None:
                return number
        if isinstance(tree, exp.Boolean):
            return bool(tree.this)
        if isinstance(tree, exp.Cast) and isinstance(tree.this, exp.Literal):  # DATE before a text
            try:
                return datetime.strptime(tree.this.this, "%Y-%m-%d").date()
            except ValueError:
                raise _error(_place(tree), "a date such as DATE '2026-01-31' is needed") from None
        if isinstance(tree, exp.Null):
            raise _error(_place(test), "nothing equals NULL: IS NULL or IS NOT NULL is needed")
        raise _error(_place(tree), _NEEDS_LITERAL)


def _place(tree: exp.Expr) -> int:
    """Where a part of the tree begins in the text."""
    return min((node.meta["start"] for node in tree.walk() if "start" in node.meta), default=0)


def _error(place: int | None, reason: str) -> ParameterError:
    at = "" if place is None else f" at character {place + 1}"
    return ParameterError(
        f"where cannot be read{at}: {reason}; a condition is written like  country = 'DE' AND (age >= 18 OR age IS "
        "NULL)"
    )

"""Rewrite one function, method or constant of a JavaScript module, found by name and compared token by token.

White space and comments do not matter. A pattern is a run of tokens that must occur exactly once inside its target.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from mutants.errors import MutantError

_IGNORED = re.compile(r"\s+|//[^\n]*|/\*.*?\*/", re.DOTALL)
_TOKEN = re.compile(
    r"""\#?[A-Za-z_$][\w$]* | \d[\w.]* | "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])*' | `(?:\\.|[^`\\])*`
    | [=!]==? | [<>]=? | \*\*=? | &&=? | \|\|=? | \?\?=? | \?\. | => | \+\+ | -- | \.\.\. | [-+*/%&|^]= | .""",
    re.VERBOSE | re.DOTALL,
)
_REGULAR_EXPRESSION = re.compile(r"/(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\\n])+/[a-z]*")
_BEFORE_A_REGULAR_EXPRESSION = frozenset(["=>", "&&", "||", "return", *"(,=:[!?{};"])
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")


@dataclass(frozen=True)
class _Token:
    text: str
    start: int
    end: int


def rewrite(source: str, name: str, pattern: str, replacement: str) -> str:
    """Return the module with the pattern inside `name` replaced; `name` is qualified, as in "Class.method"."""
    tokens = _tokens(source)
    first, last = 0, len(tokens)
    for part in name.split("."):
        first, last = _extent(tokens, part, first, last)
    wanted = [token.text for token in _tokens(pattern)]
    size = len(wanted)
    found = [at for at in range(first, last - size + 1) if [t.text for t in tokens[at : at + size]] == wanted]
    if len(found) != 1:
        raise MutantError(f"the pattern matches {len(found)} times, not once: {pattern}")
    start, end = tokens[found[0]].start, tokens[found[0] + size - 1].end
    return source[:start] + replacement + source[end:]


def _tokens(source: str) -> list[_Token]:
    tokens: list[_Token] = []
    at = 0
    while at < len(source):
        ignored = _IGNORED.match(source, at)
        if ignored:
            at = ignored.end()
            continue
        before = tokens[-1].text if tokens else ";"
        found = _REGULAR_EXPRESSION.match(source, at) if before in _BEFORE_A_REGULAR_EXPRESSION else None
        found = found or _TOKEN.match(source, at)
        assert found is not None  # a token is at least one character
        tokens.append(_Token(found.group(), found.start(), found.end()))
        at = found.end()
    return tokens


def _extent(tokens: Sequence[_Token], name: str, first: int, last: int) -> tuple[int, int]:
    """Return where the only declaration of a function, method, class or constant begins and ends."""
    found = [extent for at in range(first, last) if tokens[at].text == name for extent in _declared(tokens, at)]
    if len(found) != 1:
        raise MutantError(f"{name} is declared {len(found)} times, not once")
    return found[0]


def _declared(tokens: Sequence[_Token], at: int) -> list[tuple[int, int]]:
    before, after = tokens[at - 1].text if at else "", tokens[at + 1].text
    if before in ("const", "let"):
        return [(at, _end_of_statement(tokens, at))]
    if before == "class":
        body = next(i for i in range(at, len(tokens)) if tokens[i].text == "{")
        return [(at, _end_of_bracket(tokens, body))]
    if after == "(" and before not in (".", "?."):
        body = _end_of_bracket(tokens, at + 1)
        if body < len(tokens) and tokens[body].text == "{":  # no call is followed by a block
            return [(at, _end_of_bracket(tokens, body))]
    return []


def _end_of_bracket(tokens: Sequence[_Token], at: int) -> int:
    """Return the position after the matching closing bracket."""
    depth = 0
    for place in range(at, len(tokens)):
        depth += (tokens[place].text in _OPENING) - (tokens[place].text in _CLOSING)
        if depth == 0:
            return place + 1
    raise MutantError("a bracket is not closed")


def _end_of_statement(tokens: Sequence[_Token], at: int) -> int:
    depth = 0
    for place in range(at, len(tokens)):
        depth += (tokens[place].text in _OPENING) - (tokens[place].text in _CLOSING)
        if depth == 0 and tokens[place].text == ";":
            return place
    raise MutantError("a statement does not end")

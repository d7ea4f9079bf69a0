"""Rewrite one function, class or constant of a Python module, found by name and changed in its syntax tree.

Formatting, comments and the position in the file do not matter. A pattern is Python source and must match exactly once
inside its target:

- an expression matches an equal expression;
- a string literal matches inside a string or f-string that contains it, for example an SQL statement;
- `name=value` matches an assignment or a keyword argument;
- anything else is one or more statements that follow each other. An empty replacement deletes them.

An empty pattern replaces the whole value of a constant.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence

from mutants.errors import MutantError

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def rewrite(source: str, name: str, pattern: str, replacement: str) -> str:
    """Return the module with the pattern inside `name` replaced; `name` is qualified, as in "Class.method"."""
    tree = ast.parse(source)
    target = _find(tree, name)
    old, new = _parse(pattern), _parse(replacement)
    if _same(old, new):
        raise MutantError("the replacement equals the pattern")
    if not pattern:
        if not isinstance(target, (ast.Assign, ast.AnnAssign)) or not isinstance(new[0], ast.Expr):
            raise MutantError("only the value of a constant can be replaced without a pattern")
        target.value = new[0].value
    else:
        matches = _rewriter(old, new).count_in(target)
        if matches != 1:
            raise MutantError(f"the pattern matches {matches} times, not once: {pattern}")
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _parse(source: str) -> list[ast.stmt]:
    return ast.parse(source).body or [ast.Pass()]


def _find(tree: ast.Module, name: str) -> ast.AST:
    found: ast.AST = tree
    for part in name.split("."):
        body = found.body if isinstance(found, (ast.Module, *_DEFINITIONS)) else []
        named = [statement for statement in body if _name(statement) == part]
        if not named:
            raise MutantError(f"there is no {name}")
        found = named[-1]  # the last one is in force: overloads come first
    return found


def _name(statement: ast.stmt) -> str | None:
    if isinstance(statement, _DEFINITIONS):
        return statement.name
    if isinstance(statement, ast.Assign):
        target = statement.targets[0]
    elif isinstance(statement, ast.AnnAssign):
        target = statement.target
    else:
        return None
    return target.id if isinstance(target, ast.Name) else None


class _Rewriter:
    """Replaces every match below a node and counts them; this one matches whole statements."""

    def __init__(self, old: Sequence[ast.stmt], new: Sequence[ast.stmt]) -> None:
        self._old, self._new = old, new
        self._matches = 0

    def count_in(self, node: ast.AST) -> int:
        """Replace all matches and return their number."""
        self._visit(node)
        return self._matches

    def _visit(self, node: ast.AST) -> None:
        for field, value in ast.iter_fields(node):
            if isinstance(value, list):
                value[:] = self._replaced_in(value)
            elif isinstance(value, ast.AST):
                setattr(node, field, self._replaced(value))

    def _replaced(self, node: ast.AST) -> ast.AST:
        """Return the node or its replacement."""
        self._visit(node)
        return node

    def _replaced_in(self, items: list[object]) -> list[object]:
        size, at, result = len(self._old), 0, list[object]()
        while at < len(items):
            item = items[at]
            if _same(items[at : at + size], self._old):
                self._matches += 1
                result += copy.deepcopy(self._new)
                at += size
            else:
                result.append(self._replaced(item) if isinstance(item, ast.AST) else item)
                at += 1
        return result


class _ExpressionRewriter(_Rewriter):
    def __init__(self, old: ast.expr, new: ast.expr) -> None:
        super().__init__([ast.Expr(old)], [ast.Expr(new)])
        self._expressions = (old, new)

    def _replaced(self, node: ast.AST) -> ast.AST:
        old, new = self._expressions
        if not _same(node, old):
            return super()._replaced(node)
        self._matches += 1
        return copy.deepcopy(new)


class _StringRewriter(_Rewriter):
    def __init__(self, old: str, new: str) -> None:
        super().__init__([ast.Expr(ast.Constant(old))], [ast.Expr(ast.Constant(new))])
        self._texts = (old, new)

    def _replaced(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            self._matches += node.value.count(self._texts[0])
            return ast.Constant(node.value.replace(*self._texts))
        return super()._replaced(node)


class _AssignmentRewriter(_Rewriter):
    def __init__(self, old: ast.Assign, new: ast.Assign) -> None:
        super().__init__([old], [new])
        self._keywords = tuple(ast.keyword(arg=_name(one), value=one.value) for one in (old, new))

    def _replaced(self, node: ast.AST) -> ast.AST:
        if not _same(node, self._keywords[0]):
            return super()._replaced(node)
        self._matches += 1
        return copy.deepcopy(self._keywords[1])


def _rewriter(old: list[ast.stmt], new: list[ast.stmt]) -> _Rewriter:
    match old, new:
        case [ast.Expr(ast.Constant(str() as text))], [ast.Expr(ast.Constant(str() as instead))]:
            return _StringRewriter(text, instead)
        case [ast.Expr(expression)], [ast.Expr(instead)]:
            return _ExpressionRewriter(expression, instead)
        case [ast.Assign([ast.Name()]) as assignment], [ast.Assign([ast.Name()]) as instead]:
            return _AssignmentRewriter(assignment, instead)
    return _Rewriter(old, new)


def _same(one: object, other: object) -> bool:
    """Whether two trees are equal, whether or not their names are read, assigned or deleted."""
    if isinstance(one, ast.AST):
        fields = [field for field in one._fields if field not in ("ctx", "kind", "type_comment")]
        return type(one) is type(other) and all(
            _same(getattr(one, field, None), getattr(other, field, None)) for field in fields
        )
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(_same, one, other))
    return type(one) is type(other) and one == other

"""How to make such a release again, but for the data: as a program and as a command."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

from shuffledp.jobs.release import Release

_LONGEST_EDGES = 400
"""Characters of edges that are repeated; the JSON of a release has all of them."""


def call(release: Release) -> str:
    """The function with its options; empty where they are not known, or people were asked by a task."""
    if not release.asked or "task" in release.asked:
        return ""
    options = {name: repr(value) for name, value in release.asked.items() if name != "domain"}
    if "domain" in release.asked:
        options["domain"] = _in_python(release.asked["domain"])
    return f"private_histogram(data, {', '.join(f'{name}={value}' for name, value in options.items())})"


def _in_python(possible: Any) -> str:
    """What was said to be possible: of one column or, in a list, of each."""
    if isinstance(possible, list):
        return f"[{', '.join(map(_in_python, possible))}]"
    if not isinstance(possible, dict):
        return f"[{possible} values]"
    if "edges" in possible:
        return f"Edges({_short(possible['edges'])!r})"
    return f"Periods({possible['by']!r}, start={possible['from']!r}, stop={possible['to']!r})"


def command(release: Release) -> str:
    """The command that does the same with a file; empty where no column of a file was asked for."""
    if "column" not in release.asked:
        return ""
    words = ["shuffledp", "run", "FILE"]
    for name, value in release.asked.items():
        words += _words(name, value, columns=_columns(release))
    return " ".join(words)


def _columns(release: Release) -> list[str]:
    column = release.asked["column"]
    return [str(name) for name in column] if isinstance(column, list) else [str(column)]


def _words(name: str, value: Any, *, columns: list[str]) -> Iterator[str]:
    """An option, as often as it is needed."""
    if name == "column":
        for column in columns:
            yield from ("--column", shlex.quote(column))
    elif name == "domain":
        parts = value if isinstance(value, list) else [value] * len(columns)
        for column, possible in zip(columns, parts, strict=True):
            yield from _possible_words(possible, of=f"{column}=" if len(columns) > 1 else "")
    else:
        yield f"--{name.replace('_', '-')}"
        if name == "quantiles":
            yield ",".join(f"{share:g}" for share in value)
        elif value is not True:
            yield shlex.quote(f"{value:.15g}" if isinstance(value, float) else str(value))


def _possible_words(possible: Any, *, of: str) -> Iterator[str]:
    """What a column can hold; `of` names the column where there are several."""
    if not isinstance(possible, dict):
        possible = {"domain": "FILE"}
    for option, text in possible.items():
        yield from (f"--{option}", shlex.quote(f"{of}{_short(text) if option == 'edges' else text}"))


def _short(edges: str) -> str:
    return edges if len(edges) <= _LONGEST_EDGES else "EDGES"

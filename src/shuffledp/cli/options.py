"""The options that several commands share, each said once, and how people write numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from shuffledp.errors import ParameterError

# the panels of the help; what has none is essential and stands first
ROWS, PROTOCOL, RESULT, PLACE = "Rows and values", "Protocol", "Result", "Where it runs"


def option(kind: str, help: str, *, name: str | None = None, panel: str | None = None, **more: Any) -> Any:
    """An option that takes a value of some kind, such as NUMBER; it is called like its parameter unless named."""
    return typer.Option(*([name] if name else []), metavar=kind, help=help, rich_help_panel=panel, **more)


def flag(name: str, help: str, *, panel: str | None = None) -> Any:
    """An option without a value."""
    return typer.Option(name, metavar="", help=help, rich_help_panel=panel)


Files = Annotated[list[str], typer.Argument(metavar="FILE", show_default=False, hidden=True)]
"""Described in the text of each command: the list of arguments would show how it is made."""

Column = Annotated[str, option("COLUMN", "The column whose values are counted.")]
Epsilon = Annotated[float, option("NUMBER", "Privacy loss of the whole release.")]
Delta = Annotated[float, option("NUMBER", "Chance that the privacy loss is larger; well below 1 / people.")]
Beta = Annotated[float, option("NUMBER", "Chance that an interval or error bound may fail.")]
Seed = Annotated[int, option("NUMBER", "The same seed gives the same trials.")]

User = Annotated[
    str | None,
    option("COLUMN", "The column that says whose row it is: each person counts with one, at random.", panel=ROWS),
]
DropMissing = Annotated[bool, flag("--drop-missing", "Leave out rows without a value.", panel=ROWS)]
Domain = Annotated[
    Path | None,
    option("FILE", "Publicly known list of possible values: one per line, or a table with that column.", panel=ROWS),
]
Other = Annotated[bool, flag("--other", "Count values outside the domain together.", panel=ROWS)]
Delimiter = Annotated[str | None, option("CHARACTER", "Between the fields of CSV files, if not a comma.", panel=ROWS)]
Encoding = Annotated[
    str | None, option("NAME", "Of text files, if not UTF-8: latin-1, cp1252, utf-16 and so on.", panel=ROWS)
]
Format = Annotated[
    str | None,
    option("csv|tsv|jsonl|parquet|arrow", "Of the files, if their names do not say; - is csv.", panel=ROWS),
]

ProtocolName = Annotated[
    str | None,
    option("NAME", "{advised}, the best unless given; or another one: {others}.", panel=PROTOCOL),
]
Estimator = Annotated[
    str | None,
    option("truncated|unbiased", "truncated: no phantom values; unbiased: needs --domain.", panel=PROTOCOL),
]

Top = Annotated[int, option("NUMBER", "How many of the largest values to show.", panel=RESULT, min=1)]
Json = Annotated[bool, flag("--json", "Print the whole result as JSON.", panel=RESULT)]
Figure = Annotated[Path | None, option("FILE", "Draw the result: .svg, .png or .pdf.", panel=RESULT)]


def with_names(text: str) -> str:
    """A help text with the names that stand in braces looked up, which takes a moment and so waits for --help."""
    return re.sub(r"\{(\w+)\}", lambda place: ", ".join(_NAMES[place[1]]()), text)


def _advised() -> list[str]:
    from shuffledp.protocols.catalogue import CATALOGUE

    # hist-unbiased is hist with --estimator unbiased
    return [name for name, entry in CATALOGUE.items() if entry.advised and name != "hist-unbiased"]


def _others() -> list[str]:
    from shuffledp.protocols.catalogue import CATALOGUE

    return [name for name, entry in CATALOGUE.items() if entry.model == "shuffled" and not entry.advised]


def _compared() -> list[str]:
    from shuffledp.protocols.catalogue import CATALOGUE

    return list(CATALOGUE)


def _verified() -> list[str]:
    from shuffledp.verification.statements import NAMES

    return list(NAMES)


_NAMES: dict[str, Callable[[], list[str]]] = {
    "advised": _advised,
    "others": _others,
    "compared": _compared,
    "verified": _verified,
}


def parse_whole(text: str, *, name: str) -> int:
    """A whole number as people write it: 100000, 100_000, 1e6, 2^64 or 2**64."""
    plain = text.replace("**", "^").replace("_", "").replace(",", "")
    number = 0
    if power := re.fullmatch(r"(\d+)\^(\d{1,5})", plain):
        number = int(power[1]) ** int(power[2])
    elif re.fullmatch(r"\d+|\d+(\.\d+)?e\d{1,2}", plain):
        number = int(plain) if plain.isdigit() else round(float(plain))
    if number < 1:
        raise ParameterError(f"{name} must be a whole number such as 100000, 1e6 or 2^64, got {text!r}")
    return number


def parse_wholes(text: str, *, name: str) -> list[int]:
    """Whole numbers with commas between them."""
    return [parse_whole(part, name=name) for part in text.split(",")]

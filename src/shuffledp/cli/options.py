"""The options that several commands share, each said once, and how people write numbers.

Moments and lengths of time as people write them: 2027-01-31, 2027-01-31T12:00, 30d, 12h.

Files that a command would overwrite are kept unless it is told otherwise: a release cannot be made again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import typer

from shuffledp.errors import ParameterError

# the panels of the help; what has none is essential and stands first
ROWS, PROTOCOL, RESULT, PLACE = "Rows and values", "Protocol", "Result", "Where it runs"


def whole_number(text: str | int) -> int:
    """A whole number of an option as people write it; its range is checked where it is used."""
    number = text if isinstance(text, int) else read_whole(text)
    if number is None:
        raise typer.BadParameter(f"a whole number is needed, such as 1000000, 1e6 or 2^20; got {shortened(str(text))}")
    return number


def option(kind: str, help: str, *, name: str | None = None, panel: str | None = None, **more: Any) -> Any:
    """An option that takes a value of some kind, such as NUMBER; it is called like its parameter unless named."""
    return typer.Option(*([name] if name else []), metavar=kind, help=help, rich_help_panel=panel, **more)


def flag(name: str, help: str, *, panel: str | None = None) -> Any:
    """An option without a value."""
    return typer.Option(name, metavar="", help=help, rich_help_panel=panel)


Files = Annotated[list[str], typer.Argument(metavar="FILE", show_default=False, hidden=True)]
"""Described in the text of each command: the list of arguments would show how it is made."""

Columns = Annotated[
    list[str], option("COLUMN", "The column whose values are counted; several give a cross table.", name="--column")
]
Epsilon = Annotated[float, option("NUMBER", "Privacy loss of the whole release.")]
Delta = Annotated[float, option("NUMBER", "Chance that the privacy loss is larger; well below 1 / people.")]
Beta = Annotated[float, option("NUMBER", "Chance that an interval or error bound may fail.")]
Seed = Annotated[int, option("NUMBER", "The same seed gives the same trials.", parser=whole_number)]

User = Annotated[
    str | None,
    option("COLUMN", "The column that says whose row it is: each person counts with one, at random.", panel=ROWS),
]
ValuesPerPerson = Annotated[
    int,
    option("NUMBER", "How many different values of a person count at most; needs --user.", panel=ROWS),
]
DropMissing = Annotated[bool, flag("--drop-missing", "Leave out rows without a value.", panel=ROWS)]
Domain = Annotated[
    list[str] | None,
    option("FILE", "Publicly known list of possible values: one per line, or a table with that column.", panel=ROWS),
]
Edges = Annotated[
    list[str] | None,
    option("EDGES", "Count numbers in intervals: 0,18,30,65 or 0:120:5 (from, to, step).", panel=ROWS),
]
By = Annotated[
    list[str] | None,
    option("PERIOD", "Count dates by hour, day, week, month or year; needs --from and --to.", panel=ROWS),
]
From = Annotated[
    list[str] | None, option("DATE", "The first date that is counted by itself.", name="--from", panel=ROWS)
]
To = Annotated[list[str] | None, option("DATE", "The first date after the last period.", name="--to", panel=ROWS)]
Where = Annotated[
    str | None,
    option("CONDITION", "Count values of these rows only, such as \"country = 'DE'\".", panel=ROWS),
]
Other = Annotated[bool, flag("--other", "Count values outside the domain together.", panel=ROWS)]
Delimiter = Annotated[str | None, option("CHARACTER", "Between the fields of CSV files, if not a comma.", panel=ROWS)]
Encoding = Annotated[
    str | None, option("NAME", "Of text files, if not UTF-8: latin-1, cp1252, utf-16 and so on.", panel=ROWS)
]
Format = Annotated[
    str | None,
    option("NAME", "csv, tsv, jsonl, parquet or arrow, where the name of a file does not say; - is csv.", panel=ROWS),
]

Trust = Annotated[
    str,
    option(
        "shuffler|curator",
        "curator: smaller error where you are trusted with everybody's data; the same promise.",
        panel=PROTOCOL,
    ),
]
ProtocolName = Annotated[
    str | None,
    option("NAME", "The best of {advised} unless given; `shuffledp protocols` lists all.", panel=PROTOCOL),
]
Estimator = Annotated[
    str | None,
    option(
        "truncated|unbiased",
        "truncated: shows no value that nobody holds; unbiased: shows all, needs --domain.",
        panel=PROTOCOL,
    ),
]

Consistent = Annotated[
    bool,
    flag("--consistent", "Adjust the estimates: none negative, together as many as people hold.", panel=RESULT),
]
Quantiles = Annotated[
    str | None,
    option("SHARES", "Quantiles of values in order: 0.25,0.5,0.75; needs --edges, --by or --domain.", panel=RESULT),
]
Ranges = Annotated[
    bool, flag("--ranges", "Count ranges of values in order: the distribution function and quantiles.", panel=RESULT)
]
Top = Annotated[int, option("NUMBER", "How many of the largest values to show.", panel=RESULT, parser=whole_number)]
Force = Annotated[bool, flag("--force", "Overwrite files that exist.", panel=RESULT)]
Json = Annotated[bool, flag("--json", "Print the whole result as JSON.", panel=RESULT)]
Explain = Annotated[bool, flag("--explain", "Print the full explanation of the result.", panel=RESULT)]
Figure = Annotated[Path | None, option("FILE", "Draw the result: .svg, .png or .pdf.", panel=RESULT)]


def with_names(text: str) -> str:
    """A help text with the names that stand in braces looked up, which takes a moment and so waits for --help."""
    return re.sub(r"\{(\w+)\}", lambda place: ", ".join(_NAMES[place[1]]()), text)


def _advised() -> list[str]:
    from shuffledp.protocols.catalogue import CATALOGUE

    return [name for name, entry in CATALOGUE.items() if entry.advised]


def _verified() -> list[str]:
    from shuffledp.paper.protocol_checks import NAMES

    return list(NAMES)


_NAMES: dict[str, Callable[[], list[str]]] = {
    "advised": _advised,
    "verified": _verified,
}


def parse_whole(text: str, *, name: str) -> int:
    """A whole number of at least 1 as people write it."""
    number = read_whole(text)
    if number is None or number < 1:
        raise ParameterError(
            f"{name} must be a whole number from 1 to 2^{_MOST_POWER}, such as 100000, 1e6 or 2^64, got "
            f"{shortened(text)}"
        )
    return number


def parse_wholes(text: str, *, name: str) -> list[int]:
    """Whole numbers with commas between them."""
    parts = text.split(",")
    if any(part.startswith("0") for part in parts[1:]):
        raise ParameterError(
            f"{name} takes numbers with commas between them: write 1000000 or 1e6 for one, got {shortened(text)}"
        )
    return [parse_whole(part, name=name) for part in parts]


def parse_pair(name: str, text: str) -> tuple[float, float]:
    """An epsilon and a delta with a comma between them; their range is checked where they are used."""
    try:
        epsilon, delta = (float(part) for part in text.split(","))
    except ValueError:
        raise ParameterError(
            f"{name} must be an epsilon and a delta with a comma between them, such as 3,1e-5; got {shortened(text)}"
        ) from None
    return epsilon, delta


_MOST_DIGITS = 4000
"""Python reads no longer numbers from text."""

_MOST_POWER = 100_000
"""Bits of the largest number that is meant: far more than the values of 8,192 bytes need."""


def read_whole(text: str) -> int | None:
    """100000, 100_000, 100,000, 1e6, 1.5e6, 10^6, 2^64 or 2**64; None for anything else."""
    plain = text.strip().replace("**", "^").replace("_", "")
    if re.fullmatch(r"[+-]?\d{1,3}(,\d{3})+", plain):
        plain = plain.replace(",", "")
    if power := re.fullmatch(r"(\d{1,20})\^(\d{1,6})", plain, flags=re.ASCII):
        base, exponent = int(power[1]), int(power[2])
        return base**exponent if exponent * (base - 1).bit_length() <= _MOST_POWER else None
    if re.fullmatch(r"[+-]?\d+", plain, flags=re.ASCII):
        return int(plain) if len(plain) <= _MOST_DIGITS else None
    if re.fullmatch(r"\d+(\.\d+)?[eE]\+?\d{1,3}", plain, flags=re.ASCII):
        number = Decimal(plain)
        return int(number) if number == number.to_integral_value() else None
    return None


def shortened(text: str) -> str:
    """What was typed, as an error shows it."""
    return repr(text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + "...")


_MOST_SHOWN = 40


_UNITS = {"s": 1, "min": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
_LENGTH = re.compile(r"([1-9][0-9]{0,8})(s|min|h|d|w)")


def length_of(text: str, *, name: str) -> timedelta:
    """A length of time such as 30d, 12h, 45min, 90s or 2w."""
    if (found := _length(text)) is None:
        raise ParameterError(f"{name} must be a length of time such as 30d, 12h, 45min or 90s; got {shortened(text)}")
    return found


def moment_of(text: str, *, name: str, after: datetime) -> datetime:
    """A date or a time, in UTC unless it says otherwise, or a length of time after a moment."""
    try:
        if (later := _length(text)) is not None:
            return after + later
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).replace(microsecond=0)
    except (ValueError, OverflowError):
        raise ParameterError(
            f"{name} must be a time such as 2027-01-31T12:00Z, a date, or a length of time such as 30d; got "
            f"{shortened(text)}"
        ) from None


def _length(text: str) -> timedelta | None:
    found = _LENGTH.fullmatch(text.strip())
    return timedelta(seconds=int(found[1]) * _UNITS[found[2]]) if found else None


def keep_existing(paths: Iterable[Path], *, force: bool) -> None:
    """Refuses to overwrite any of the paths, before anything is drawn; with `force` all may be overwritten."""
    if existing := [str(path) for path in paths if path.exists() and not force]:
        they = "exists" if len(existing) == 1 else "exist"
        raise ParameterError(
            f"{' and '.join(existing)} already {they}: give another name, or --force to overwrite what is there"
        )


def refuse_repeated(paths: Iterable[Path]) -> None:
    """Refuses an output that is given twice, also by another way to it."""
    seen = set()
    for path in paths:
        if path.resolve() in seen:
            raise ParameterError(f"{path} is given twice as an output: give each of them another name")
        seen.add(path.resolve())

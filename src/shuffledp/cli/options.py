"""Options that several commands share, and how their texts are parsed.

Numbers: 1000000, 1e6, 2^20. Times: 2027-01-31, 2027-01-31T12:00, 30d, 12h. Existing files are not overwritten without
--force, because a release cannot be repeated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, is_dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

import typer

from shuffledp.atomic_file import refuse_same
from shuffledp.errors import DataError, ParameterError, TaskError

if TYPE_CHECKING:
    from shuffledp.protocols.free_text import TextChoices

# panels of the help; options without a panel come first
ROWS, TEXTS, PROTOCOL, RESULT, PLACE = "Rows and values", "Free text", "Protocol", "Result", "Where it runs"


def whole_number(text: str | int) -> int:
    """Parse a whole number; its range is checked by the library."""
    number = text if isinstance(text, int) else read_whole(text)
    if number is None:
        raise typer.BadParameter(f"must be a whole number such as 1000000, 1e6 or 2^20, got {shortened(str(text))}")
    return number


def argument(kind: str) -> Any:
    """Return an argument, which is hidden in the list of arguments and described in the text of its command."""
    return typer.Argument(metavar=kind, show_default=False, hidden=True)


def option(kind: str, help: str, *, name: str | None = None, panel: str | None = None, **more: Any) -> Any:
    """Return an option that takes a value, such as NUMBER; it is called like its parameter unless named."""
    return typer.Option(*([name] if name else []), metavar=kind, help=help, rich_help_panel=panel, **more)


def integer(help: str, kind: str = "NUMBER", *, panel: str | None = None) -> Any:
    """Return an option that takes a whole number."""
    return option(kind, help, panel=panel, parser=whole_number)


def flag(name: str, help: str, *, panel: str | None = None) -> Any:
    """Return an option without a value."""
    return typer.Option(name, metavar="", help=help, rich_help_panel=panel)


class Without(frozenset[str]):
    """Options of a record that a command does not have: `Annotated[Record, Without({"name"})]`."""


def from_records(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command as typer needs it, with one parameter for each option of its records of options."""
    records = dict[str, Callable[..., Any]]()
    options = dict[str, Parameter]()
    for name, parameter in signature(command, eval_str=True).parameters.items():
        kind, *notes = get_args(parameter.annotation) or [parameter.annotation]
        if is_dataclass(kind):
            records[name] = cast("Callable[..., Any]", kind)
            (left_out,) = notes or [Without()]
            inside = signature(records[name], eval_str=True).parameters
            options |= {each: one for each, one in inside.items() if each not in left_out}
        else:
            options[name] = parameter.replace(kind=Parameter.KEYWORD_ONLY)

    def called(**values: Any) -> None:
        for name, record in records.items():
            own = [each for each in signature(record).parameters if each in values]
            values[name] = record(**{each: values.pop(each) for each in own})
        command(**values)

    called.__signature__ = Signature(list(options.values()))  # type: ignore[attr-defined]
    called.__annotations__ = {name: one.annotation for name, one in options.items()}
    return called


Files = Annotated[list[str], argument("FILE")]
File = Annotated[Path, argument("FILE")]

Columns = Annotated[list[str], option("COLUMN", "The column to count; repeat it for a cross table.")]
Epsilon = Annotated[float, option("NUMBER", "Privacy loss of the whole release.")]
Delta = Annotated[float, option("NUMBER", "Probability of a larger privacy loss; much smaller than 1 / people.")]
Beta = Annotated[float, option("NUMBER", "Failure probability of intervals and error bounds.")]
Seed = Annotated[int, integer("Seed of the trials.")]
Ranges = Annotated[
    bool, flag("--ranges", "Count ranges of ordered values: distribution function and quantiles.", panel=RESULT)
]
Top = Annotated[
    int | None, integer("Number of the largest values to show; default: 15, or 62 of ordered values.", panel=RESULT)
]
Force = Annotated[bool, flag("--force", "Overwrite existing files.", panel=RESULT)]
Block = Annotated[
    Path | None,
    option("FILE", "Hide texts that contain a line of this file, ignoring case; =WORD: the whole text.", panel=RESULT),
]
Explain = Annotated[bool, flag("--explain", "Print the details too.", panel=RESULT)]
Json = Annotated[bool, flag("--json", "Print the whole result as JSON.", panel=RESULT)]
Figure = Annotated[Path | None, option("FILE", "Draw a figure: .svg, .png or .pdf.", panel=RESULT)]
Master = Annotated[
    str | None, option("ADDRESS", "Where Spark runs, such as local[4] or spark://host:7077.", panel=PLACE)
]


@dataclass(frozen=True, kw_only=True)
class FileFormat:
    """How files with data are read."""

    delimiter: Annotated[str | None, option("CHARACTER", "Delimiter of CSV files; default: comma.", panel=ROWS)] = None
    encoding: Annotated[str | None, option("NAME", "Encoding of text files; default: UTF-8.", panel=ROWS)] = None
    format: Annotated[
        str | None,
        option("NAME", "csv, tsv, jsonl, parquet or arrow; default: by file name, csv for -.", panel=ROWS),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Which rows count for whom, and the possible values of each column."""

    user: Annotated[
        str | None,
        option("COLUMN", "The column that identifies people: one random row per person counts.", panel=ROWS),
    ] = None
    values_per_person: Annotated[int, option("NUMBER", "The most values per person; needs --user.", panel=ROWS)] = 1
    count_capped: Annotated[
        bool, flag("--count-capped", "Also count the people who have more values; needs --user.", panel=ROWS)
    ] = False
    where: Annotated[
        str | None, option("CONDITION", "Count only these rows, such as \"country = 'DE'\".", panel=ROWS)
    ] = None
    drop_missing: Annotated[bool, flag("--drop-missing", "Ignore rows without a value.", panel=ROWS)] = False
    domain: Annotated[
        list[str] | None,
        option(
            "FILE|LIST",
            "Public list of possible values: a,b,c; or a file, one per line, or a table with the column.",
            panel=ROWS,
        ),
    ] = None
    edges: Annotated[
        list[str] | None,
        option("EDGES", "Count numbers in intervals: 0,18,30,65 or 0:120:5 (from, to, step).", panel=ROWS),
    ] = None
    by: Annotated[
        list[str] | None,
        option("PERIOD", "Count dates by hour, day, week, month or year; needs --from and --to.", panel=ROWS),
    ] = None
    start: Annotated[list[str] | None, option("DATE", "Start of the first period.", name="--from", panel=ROWS)] = None
    stop: Annotated[list[str] | None, option("DATE", "End of the last period, exclusive.", name="--to", panel=ROWS)] = (
        None
    )
    date_format: Annotated[
        list[str] | None,
        option("FORMAT", "Format of dates that are text, such as %m/%d/%Y; default: 2026-10-31.", panel=ROWS),
    ] = None
    other: Annotated[bool, flag("--other", "Count values outside the domain together.", panel=ROWS)] = False


@dataclass(frozen=True, kw_only=True)
class Texts:
    """The code of free texts."""

    free_text: Annotated[
        int | None,
        integer("Any text of at most this length: find the texts that many people share.", "BYTES", panel=TEXTS),
    ] = None
    alphabet: Annotated[
        str | None,
        option(
            "NAME|CHARACTERS",
            "Characters of the texts: letters, words, host, text, url, or the characters themselves; default: text.",
            panel=TEXTS,
        ),
    ] = None
    pieces: Annotated[
        Path | None,
        option(
            "FILE",
            "Public list of frequent pieces, one per line; the longest that fits is used. --alphabet adds characters.",
            panel=TEXTS,
        ),
    ] = None
    normalise: Annotated[
        str | None,
        option("STEPS", "Some of trim,lower,query,slash, or none; default: trim,lower.", panel=TEXTS),
    ] = None
    levels: Annotated[
        int | None,
        integer(
            "The most pieces of a text; default: enough for its length, or half as many with --pieces.", panel=TEXTS
        ),
    ] = None
    width: Annotated[
        int | None, integer("Most characters of a piece; default: for the smallest detection limit.", panel=TEXTS)
    ] = None

    def choices(self) -> TextChoices | None:
        """Return the choices of a code; None without --free-text."""
        if self.free_text is None:
            if given := [name for name, value in vars(self).items() if value is not None]:
                raise ParameterError(f"{given[0]} must be given with --free-text, which has the length of the texts")
            return None
        from shuffledp.histogram.text_code import LONGEST_TEXT
        from shuffledp.protocols.free_text import NORMALISATION, TextChoices, parse_normalisation, read_pieces

        if not 1 <= self.free_text <= LONGEST_TEXT:
            raise ParameterError(f"--free-text must be 1 to {LONGEST_TEXT} bytes, got {self.free_text}")
        steps = () if self.normalise == "none" else tuple((self.normalise or "").split(","))
        return TextChoices(
            longest=self.free_text,
            alphabet=self.alphabet,
            pieces=() if self.pieces is None else read_pieces(self.pieces),
            normalisation=NORMALISATION if self.normalise is None else parse_normalisation(steps),
            levels=self.levels,
            width=self.width,
        )


@dataclass(frozen=True, kw_only=True)
class Mechanism:
    """Who is trusted, and which protocol and estimator."""

    trust: Annotated[
        str,
        option(
            "shuffler|curator",
            "curator: smaller error if you are trusted with the raw data; same guarantee.",
            panel=PROTOCOL,
        ),
    ] = "shuffler"
    protocol: Annotated[
        str | None,
        option("NAME", "Default: the best of {advised}. `shuffledp protocols` lists all.", panel=PROTOCOL),
    ] = None
    estimator: Annotated[
        str | None,
        option(
            "truncated|unbiased",
            "truncated: no false positives; unbiased: shows all values, needs --domain.",
            panel=PROTOCOL,
        ),
    ] = None


def with_names(text: str) -> str:
    """Return a help text with the lists of names for its placeholders, which take a moment to load."""
    return re.sub(r"\{(\w+)\}", lambda place: ", ".join(_names(place[1])), text)


def _names(kind: str) -> Iterable[str]:
    if kind == "verified":
        from shuffledp.paper.protocol_checks import NAMES

        return NAMES
    from shuffledp.protocols.catalogue import CATALOGUE

    return [name for name, entry in CATALOGUE.items() if entry.advised]


def parse_whole(text: str, *, name: str) -> int:
    """Parse a whole number of at least 1."""
    number = read_whole(text)
    if number is None or number < 1:
        raise ParameterError(
            f"{name} must be a whole number from 1 to 2^{_MOST_POWER}, such as 100000, 1e6 or 2^64, got "
            f"{shortened(text)}"
        )
    return number


def parse_wholes(text: str, *, name: str) -> list[int]:
    """Parse whole numbers, separated by commas."""
    parts = text.split(",")
    if any(part.startswith("0") for part in parts[1:]):
        raise ParameterError(
            f"{name} must be numbers separated by commas, got {shortened(text)}: write 1000000 or 1e6 for one number"
        )
    return [parse_whole(part, name=name) for part in parts]


def parse_pair(name: str, text: str | None) -> tuple[float, float] | None:
    """Parse an epsilon and a delta, separated by a comma; their range is checked by the library."""
    if text is None:
        return None
    try:
        epsilon, delta = (float(part) for part in text.split(","))
    except ValueError:
        raise ParameterError(
            f"{name} must be an epsilon and a delta separated by a comma, such as 3,1e-5, got {shortened(text)}"
        ) from None
    return epsilon, delta


_MOST_DIGITS = 4000
"""The longest number that Python parses."""

_MOST_POWER = 100_000
"""Bits of the largest accepted number, more than values of 8,192 bytes need."""


def read_whole(text: str) -> int | None:
    """Parse 100000, 100_000, 100,000, 1e6, 1.5e6, 10^6, 2^64 or 2**64; return None for anything else."""
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
    """Return a text as errors show it."""
    return repr(text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + "...")


_MOST_SHOWN = 40


_UNITS = {"s": 1, "min": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
_LENGTH = re.compile(r"([1-9][0-9]{0,8})(s|min|h|d|w)")


def seconds_of(text: str, *, name: str) -> int:
    """Parse a length of time such as 30d, 12h, 45min, 90s or 2w."""
    if (found := _length(text)) is None:
        raise ParameterError(f"{name} must be a length of time such as 30d, 12h, 45min or 90s, got {shortened(text)}")
    return int(found.total_seconds())


def moment_of(text: str, *, name: str, after: datetime) -> datetime:
    """Parse a date or a time, in UTC by default, or a length of time after a moment."""
    try:
        if (later := _length(text)) is not None:
            return after + later
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).replace(microsecond=0)
    except (ValueError, OverflowError):
        raise ParameterError(
            f"{name} must be a time such as 2027-01-31T12:00Z, a date, or a length of time such as 30d, got "
            f"{shortened(text)}"
        ) from None


def _length(text: str) -> timedelta | None:
    found = _LENGTH.fullmatch(text.strip())
    return timedelta(seconds=int(found[1]) * _UNITS[found[2]]) if found else None


def lines_of(path: Path, what: str = "") -> Iterator[str]:
    """The lines of a file that are not empty; read as they are needed, since the file may be long."""
    try:
        with path.open(encoding="utf-8-sig", newline=None) as file:
            yield from (line.removesuffix("\n") for line in file if line.strip())
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise DataError(f"cannot read {what}{path}: {reason}") from None


def refuse_link(file: Path | None, name: str, what: str) -> None:
    """Refuse a link in place of the file of an option, without showing it: it is a secret."""
    if file is not None and re.search(r"^https?:/|#token=", str(file), flags=re.IGNORECASE):
        raise ParameterError(f"{name} must be {what}, got a link")


def check_ledger(path: Path | None) -> None:
    """Refuse a ledger that does not exist, with the command that creates it."""
    if path is not None and not path.exists():
        raise DataError(f"there is no ledger {path}: create it with `shuffledp ledger {path} --limit 3,1e-5`")


def keep_existing(paths: Iterable[Path], *, force: bool) -> None:
    """Refuse to overwrite existing files unless `force`, before anything is released."""
    if existing := [str(path) for path in paths if path.exists() and not force]:
        they = "exists" if len(existing) == 1 else "exist"
        raise ParameterError(f"{' and '.join(existing)} already {they}: use another name, or --force to overwrite")


def check_outputs(paths: Sequence[Path], inputs: Sequence[Path], *, check: Callable[[Path], None], force: bool) -> None:
    """Refuse files of a result that could not be written, before anything is released; `check` knows the formats."""
    for path in paths:
        check(path)
        refuse_same(path, inputs, "an output")
    refuse_repeated(paths)
    keep_existing(paths, force=force)


def refuse_repeated(paths: Iterable[Path]) -> None:
    """Refuse an output that is given twice, also under another path."""
    seen = set()
    for path in paths:
        if path.resolve() in seen:
            raise ParameterError(f"{path} is given twice as an output: use different names")
        seen.add(path.resolve())


@contextmanager
def tasks_from_options() -> Iterator[None]:
    """Raise errors of a task as wrong parameters, because the task comes from options and not from a file."""
    try:
        yield
    except TaskError as error:
        raise ParameterError(str(error)) from None

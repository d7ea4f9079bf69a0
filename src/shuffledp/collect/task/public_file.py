"""Public files: JSON with one form and one spelling, whose SHA-256 is the id of a task or a series.

Everybody reads the same file, in every language. So a name occurs once in an object, numbers are whole or exact text,
and the id does not depend on spaces or on the order of names.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from shuffledp.errors import TaskError

T = TypeVar("T")

_TIME = "%Y-%m-%dT%H:%M:%SZ"

MOST_FILE_BYTES = 64 * 2**20
"""Bytes of a task file, which a client holds in memory."""

_WRITTEN = re.compile(r"(0|[1-9][0-9]{0,15})(?:/2\^([1-9][0-9]{0,3}))?")
_DECIMAL = re.compile(r"(0|[1-9][0-9]{0,8})(\.[0-9]{1,30})?(e-[1-9][0-9]{0,2})?")


class PublicFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, dict=True):
    """A record whose id is the SHA-256 of its canonical bytes."""

    @property
    def canonical(self) -> bytes:
        """The one spelling of this file: sorted names, no spaces, UTF-8."""
        return canonical_bytes(msgspec.to_builtins(self))

    @cached_property
    def id(self) -> bytes:
        """The SHA-256 of the canonical bytes."""
        return hashlib.sha256(self.canonical).digest()

    @property
    def name(self) -> str:
        """The id in hexadecimal digits."""
        return self.id.hex()

    def to_json(self) -> str:
        """Return a readable file; spaces do not change its id."""
        return json.dumps(msgspec.to_builtins(self), ensure_ascii=False, indent=2) + "\n"


def canonical_bytes(plain: Any) -> bytes:
    """Return the one spelling of JSON: sorted names, no spaces, UTF-8."""
    try:
        return json.dumps(plain, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
    except UnicodeEncodeError:
        raise TaskError("a text of the task is not valid Unicode: it has an unpaired surrogate") from None


def read_file(source: str | bytes | Path, parse: Callable[[bytes], T]) -> T:
    """Return what `parse` makes of the bytes of a file, or of bytes; its errors name the file."""
    if isinstance(source, bytes):
        return parse(source)
    path = Path(source)
    try:
        with path.open("rb") as file:
            content = file.read(MOST_FILE_BYTES + 1)
    except (OSError, ValueError) as error:  # a ValueError where the name is not valid
        raise TaskError(f"the task {path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    try:
        return parse(content)
    except TaskError as error:
        raise TaskError(f"{path} is no task that can be used: {error}") from None


def strict_json(content: bytes) -> Any:
    """Read JSON that all parsers read alike: UTF-8, no name twice, whole numbers only."""
    if len(content) > MOST_FILE_BYTES:
        raise TaskError(f"it is longer than {MOST_FILE_BYTES:,} bytes")
    if not content.strip():
        raise TaskError("it is empty")
    try:
        return json.loads(
            content.decode(), object_pairs_hook=_without_repeats, parse_float=_no_float, parse_constant=_no_float
        )
    except TaskError:
        raise
    except (ValueError, RecursionError) as error:  # also wrong UTF-8, and numbers of thousands of digits
        raise TaskError(f"it is not JSON in UTF-8 ({str(error)[:80]})") from None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise TaskError("a name is there twice in one object, so parsers could read it differently")
    return found


def _no_float(text: str) -> Any:
    raise TaskError(f"numbers in a task are whole, and fractions are text such as 5161/2^13; got {text[:40]}")


def converted(plain: Any, kind: type[T]) -> T:
    """Return JSON of the right form as a record."""
    try:
        return msgspec.convert(plain, kind)
    except msgspec.ValidationError as error:
        if isinstance(error.__cause__, TaskError):
            raise error.__cause__ from None
        raise TaskError(str(error)[:200]) from None


_JSON_NAMES = {
    int: "a whole number",
    str: "text",
    bool: "true or false",
    type(None): "nothing (null)",
    list: "a list",
    dict: "an object with named fields",
}


_JSON_KINDS: dict[type[inspect.Type], type] = {
    inspect.IntType: int,
    inspect.StrType: str,
    inspect.EnumType: str,
    inspect.LiteralType: str,
    inspect.ListType: list,
    inspect.DictType: dict,
    inspect.UnionType: dict,
    inspect.StructType: dict,
}


def check_form(value: Any, form: inspect.Type, path: str = "", *, of: str = "a task") -> None:
    """Refuse JSON that does not have the form of a task, or of the part of a task at `path`.

    `of` is what the whole JSON is called in messages.
    """
    if isinstance(form, inspect.UnionType) and isinstance(form.types[1], inspect.NoneType):
        form = form.types[0]  # a field that may be missing, but not be null
    _check_type(value, _JSON_KINDS[type(form)], path, of)
    match form:
        case inspect.ListType():
            for at, part in enumerate(value):
                check_form(part, form.item_type, f"{path}[{at}]", of=of)
        case inspect.EnumType():
            _check_choice(value, [str(one) for one in form.cls], path)
        case inspect.LiteralType():
            _check_choice(value, form.values, path)
        case inspect.UnionType():
            check_form(value, _member(value, form, path), path, of=of)
        case inspect.StructType():
            _check_fields(value, form, path, of)


def _check_type(value: Any, kind: type, path: str, of: str = "a task") -> None:
    if type(value) is kind:
        return
    wanted, got = _JSON_NAMES[kind], _JSON_NAMES.get(type(value), "a number")
    raise TaskError(f"`{path}` must be {wanted}, got {got}" if path else f"{of} must be {wanted}, got {got}")


def _check_choice(value: str, choices: Sequence[Any], path: str) -> None:
    if value not in choices:
        others = f"{', '.join(choices[:-1])} or " if len(choices) > 1 else ""
        raise TaskError(f"`{path}` must be {others}{choices[-1]}, got {value!r:.60}")


def _check_fields(value: dict[str, Any], form: inspect.StructType, path: str, whole: str) -> None:
    of = f"`{path}`" if path else whole
    types = {field.encode_name: field.type for field in form.fields}
    tag = {form.tag_field} if form.tag_field else set()
    for field in form.fields:
        if field.required and field.encode_name not in value:
            raise TaskError(f"the field `{field.encode_name}` of {of} is missing")
    for name, part in value.items():
        if name in types:
            check_form(part, types[name], f"{path}.{name}" if path else name, of=whole)
        elif name not in tag:
            raise TaskError(f"`{name:.60}` is no field of {of}")


def _member(value: dict[str, Any], form: inspect.UnionType, path: str) -> inspect.StructType:
    members = {one.tag: one for one in form.types if isinstance(one, inspect.StructType)}
    field = next(iter(members.values())).tag_field or ""
    if field not in value:
        raise TaskError(f"the field `{field}` of `{path}` is missing")
    _check_type(value[field], str, f"{path}.{field}")
    _check_choice(value[field], list(members), f"{path}.{field}")
    return members[value[field]]


def exact_text(number: float) -> str:
    """Write a number that is not negative as numerator/2^k in lowest terms, such as 5161/2^13, or as a whole number."""
    exact = Fraction(number)
    power = exact.denominator.bit_length() - 1
    return str(exact.numerator) if power == 0 else f"{exact.numerator}/2^{power}"


def read_exact(text: str, *, name: str) -> float:
    """Read the number that `exact_text` wrote; any other spelling is refused, since the task's id depends on it."""
    found = _WRITTEN.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise TaskError(f"{name} must be a whole number or a fraction such as 5161/2^13, as text; got {text!r:.60}")
    number = math.ldexp(int(found[1]), -int(found[2] or 0))
    if exact_text(number) != text:
        raise TaskError(f"{name}={text!r} must be in lowest terms and have at most 53 binary digits")
    return number


def read_decimal(text: str, *, name: str) -> float:
    """Read a decimal number such as 0.5 or 1e-6; its text is part of the task, and the nearest float is used."""
    if not isinstance(text, str) or not _DECIMAL.fullmatch(text):
        raise TaskError(f"{name} must be a decimal number as text, such as 0.5 or 1e-6; got {text!r:.60}")
    return float(text)


def decimal_text(number: float) -> str:
    """Return the shortest decimal text of a number."""
    text = repr(float(number)).replace("e-0", "e-")
    return text.removesuffix(".0")


def is_hexadecimal(text: str, digits: int = 64) -> bool:
    """Whether a text has this number of hexadecimal digits in small letters; a SHA-256 or a public key has 64."""
    return len(text) == digits and not set(text) - set("0123456789abcdef")


def read_moment(text: str, name: str) -> datetime:
    """Read a time as task files have it."""
    try:
        moment = datetime.strptime(text, _TIME)
        if moment.strftime(_TIME) == text:
            return moment.replace(tzinfo=UTC)
    except ValueError:
        pass
    raise TaskError(f"{name} must be a time in UTC such as 2027-01-31T12:00:00Z; got {text!r:.60}")


def moment_in_text(moment: datetime) -> str:
    """Write a time as in task files."""
    return moment.astimezone(UTC).strftime(_TIME)

"""The values in a task file: addresses, possible answers, and the check of the file's form.

Answers are a list, a range of whole numbers, an external list identified by its SHA-256, texts that nobody listed with
the public code that cuts them into pieces, numbers in intervals, or several choices from a list. Every answer is
counted: one that is not listed, or cannot be cut, as (other), no answer as (none). If a person did not report because
of their answer, the shuffler would learn something about it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import cached_property
from ipaddress import IPv4Address, IPv6Address
from typing import Any
from urllib.parse import urlsplit

import msgspec
import numpy as np
from msgspec import inspect
from numpy.typing import NDArray

from shuffledp.collect.task.exact import decimal_text as decimal_text
from shuffledp.collect.task.exact import exact_text as exact_text
from shuffledp.collect.task.exact import read_decimal as read_decimal
from shuffledp.collect.task.exact import read_exact as read_exact
from shuffledp.collect.task.listed import MOST_LISTED, check_answers
from shuffledp.collect.task.listed import NONE as NONE
from shuffledp.collect.task.listed import OTHER as OTHER
from shuffledp.collect.task.listed import AnswerNumbers as AnswerNumbers
from shuffledp.collect.task.several import AnswerChoices as AnswerChoices
from shuffledp.collect.task.several import AnswerEdges as AnswerEdges
from shuffledp.errors import ParameterError, TaskError
from shuffledp.histogram.text_code import OTHER as OTHER_SYMBOL
from shuffledp.histogram.text_code import Step, TextCode


def is_hexadecimal(text: str, digits: int = 64) -> bool:
    """Whether a text has this number of hexadecimal digits in small letters; a SHA-256 or a public key has 64."""
    return len(text) == digits and not set(text) - set("0123456789abcdef")


_NAME = re.compile(r"(?!xn--)[a-z0-9_-]+(\.(?!xn--)[a-z0-9_-]+)*\.?", re.IGNORECASE)
"""A host name in characters that all URL parsers treat alike. Parts that begin with xn-- stand for other letters, and
parsers differ in which they allow."""

_NUMBER = re.compile(r"[0-9]+|0[xX][0-9a-fA-F]*")
"""The last part of a host that browsers take for an IPv4 address, in one of its many spellings."""


def check_address(address: str, name: str) -> None:
    """Refuse text that is no address of a server or of a file on one, or that parsers could read differently."""
    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # such as a port that is not a number
        usable = False
    if not usable or parts.query or parts.fragment or not address.isascii() or not address.isprintable():
        raise TaskError(f"the address of {name} must be such as https://host:port; got {address!r:.80}")
    if parts.username is not None or parts.password is not None:
        raise TaskError(f"the address of {name} must not hold a name or a password: everybody reads it")
    if " " in address or "\\" in address:
        raise TaskError(f"the address of {name} must not have spaces or backslashes; got {address!r:.80}")
    if not _is_host(parts.hostname or "", in_brackets=parts.netloc.startswith("[")):
        raise TaskError(
            f"the host in the address of {name} must be a name of letters, digits, - and _, without xn--, or an IP "
            f"address in its usual spelling; got {address!r:.80}"
        )


def _is_host(host: str, *, in_brackets: bool) -> bool:
    try:
        if in_brackets:
            return "%" not in host and bool(IPv6Address(host))
        if _NUMBER.fullmatch(host.removesuffix(".").rpartition(".")[2]):
            return bool(IPv4Address(host))
    except ValueError:
        return False
    return bool(_NAME.fullmatch(host))


MOST_ANSWERS = 2**32
"""The numbers that messages can hold."""


class AnswerList(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="list"):
    """The answers themselves."""

    values: list[str]

    def check(self) -> None:
        """Refuse answers that are equal or cannot be printed."""
        check_answers(self.values)
        if len(self.values) > MOST_LISTED:
            raise TaskError(f"a task lists at most {MOST_LISTED:,} answers: keep more in a file (kind listed-at)")

    @property
    def size(self) -> int:
        """The number of answers."""
        return len(self.values)


class AnswerRange(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="range"):
    """The whole numbers start .. stop - 1."""

    start: int
    stop: int

    def check(self) -> None:
        """Refuse a range that is empty or too long."""
        if not -(2**53) < self.start < self.stop < 2**53 or self.stop - self.start > MOST_ANSWERS - 2:
            raise TaskError("a range of answers needs start < stop, both below 2^53, and at most 2^32 - 2 numbers")

    @property
    def size(self) -> int:
        """The number of answers."""
        return self.stop - self.start


class AnswersElsewhere(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="listed-at"):
    """A text file with one answer in each line, at an address, identified by its SHA-256."""

    address: str
    sha256: str
    size: int

    def check(self) -> None:
        """Refuse a wrong address, SHA-256 or size."""
        check_address(self.address, "the list of answers")
        if not is_hexadecimal(self.sha256):
            raise TaskError("the sha256 of a list of answers must be 64 hexadecimal digits, in small letters")
        if not 0 < self.size <= MOST_ANSWERS - 2:
            raise TaskError(f"the size of a list of answers must be between 1 and 2^32 - 2, got {self.size}")

    def read(self, content: bytes) -> list[str]:
        """Return the answers in a file, whose SHA-256 must match."""
        if hashlib.sha256(content).hexdigest() != self.sha256:
            raise TaskError("the list of answers is not the one that the task names: its SHA-256 is another")
        try:
            values = content.decode().removesuffix("\n").split("\n")
        except UnicodeDecodeError:
            raise TaskError("the list of answers is not UTF-8") from None
        check_answers(values)
        if len(values) != self.size:
            raise TaskError(f"the list has {len(values):,} answers, and the task says {self.size:,}")
        return values


class PieceAlphabet(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="alphabet"):
    """All texts of 1 to `width` of these characters."""

    characters: str
    width: int


class PieceList(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="list"):
    """The pieces themselves."""

    values: list[str]


class AnswerText(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="text", dict=True):
    """Any text of at most `longest` bytes, cut into at most `levels` pieces after its normalisation."""

    longest: int
    levels: int
    pieces: PieceAlphabet | PieceList
    normalisation: list[Step]

    @classmethod
    def of(cls, code: TextCode) -> AnswerText:
        """Return the answers with this code."""
        return cls(
            longest=code.longest,
            levels=code.levels,
            pieces=PieceList(list(code.pieces)) if code.pieces else PieceAlphabet(code.alphabet, code.width),
            normalisation=list(code.normalisation),
        )

    def check(self) -> None:
        """Refuse a code that cannot be used."""
        _ = self.code

    @property
    def size(self) -> int:
        """The number of listed answers: none."""
        return 0

    @cached_property
    def code(self) -> TextCode:
        """The code that gives every text its values."""
        if isinstance(self.pieces, PieceAlphabet):
            pieces: dict[str, Any] = {"alphabet": self.pieces.characters, "width": self.pieces.width}
        else:
            pieces = {"pieces": tuple(self.pieces.values)}
        try:
            return TextCode(levels=self.levels, longest=self.longest, normalisation=tuple(self.normalisation), **pieces)
        except ParameterError as error:
            raise TaskError(f"the code of the answers cannot be used: {error}") from None

    def path(self, answer: Any) -> tuple[int, ...]:
        """The symbols of an answer on all levels."""
        try:
            return self.code.path(answer)
        except Exception:  # an object may fail to give its text; not reporting would reveal something
            return self.code.path(_NO_TEXT)

    def is_other(self, answer: Any) -> bool:
        """Whether an answer is too long or cannot be cut into pieces, and so counts as (other)."""
        return self.path(answer)[0] == OTHER_SYMBOL

    def values_of(self, answer: Any) -> NDArray[np.int64]:
        """The values of an answer on all levels; every answer has them."""
        return self.code.values_at(self.path(answer))


_NO_TEXT = "\ud800"
"""No valid text, so its path is that of (other)."""

Answers = AnswerList | AnswerRange | AnswersElsewhere | AnswerText | AnswerEdges | AnswerChoices


def kind_of(answers: Answers) -> str:
    """The kind of answers, as a task file names it."""
    return str(type(answers).__struct_config__.tag)


_JSON_TYPES = {
    int: "a whole number",
    str: "text",
    bool: "true or false",
    type(None): "nothing (null)",
    list: "a list",
    dict: "an object with named fields",
}


def check_form(value: Any, form: inspect.Type, path: str = "", *, of: str = "a task") -> None:
    """Refuse JSON that does not have the form of a task, or of the part of a task at `path`.

    `of` is what the whole JSON is called in messages.
    """
    match form:
        case inspect.IntType():
            _check_type(value, int, path, of)
        case inspect.StrType():
            _check_type(value, str, path, of)
        case inspect.DictType():
            _check_type(value, dict, path, of)
        case inspect.ListType():
            _check_type(value, list, path, of)
            for at, part in enumerate(value):
                check_form(part, form.item_type, f"{path}[{at}]", of=of)
        case inspect.EnumType():
            _check_type(value, str, path, of)
            _check_choice(value, [str(one) for one in form.cls], path)
        case inspect.LiteralType():
            _check_type(value, str, path, of)
            _check_choice(value, form.values, path)
        case inspect.UnionType():
            _check_type(value, dict, path, of)
            check_form(value, _member(value, form, path), path, of=of)
        case inspect.StructType():
            _check_type(value, dict, path, of)
            _check_fields(value, form, path, of)


def _check_type(value: Any, kind: type, path: str, of: str = "a task") -> None:
    if type(value) is kind:
        return
    wanted, got = _JSON_TYPES[kind], _JSON_TYPES.get(type(value), "a number")
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
    """The member of a union that the tag of an object names, or the only one where nothing is the other choice."""
    objects = [one for one in form.types if isinstance(one, inspect.StructType)]
    if len(objects) == 1:
        return objects[0]
    members = {one.tag: one for one in objects}
    field = next(iter(members.values())).tag_field or ""
    if field not in value:
        raise TaskError(f"the field `{field}` of `{path}` is missing")
    _check_type(value[field], str, f"{path}.{field}")
    _check_choice(value[field], list(members), f"{path}.{field}")
    return members[value[field]]

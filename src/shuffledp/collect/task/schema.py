"""Numbers of a task file, exactly: a float is the fraction m / 2^k that it is, as text such as 5161/2^13.

Addresses in a task: everybody reads them, and clients go there.

The answers that a task counts: a list, a range of whole numbers, or a list kept elsewhere under its fingerprint.

Whatever somebody answers has a place: what is not in the list is (other), no answer is (none). Not reporting because of
the answer would tell the shuffler something.

What is wrong with the form of a task, in words: the library that reads it speaks of types and paths.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence
from fractions import Fraction
from ipaddress import IPv4Address, IPv6Address
from typing import Any
from urllib.parse import urlsplit

import msgspec

from shuffledp.errors import TaskError
from shuffledp.histogram.domain import Domain

_WRITTEN = re.compile(r"(0|[1-9][0-9]{0,15})(?:/2\^([1-9][0-9]{0,3}))?")
_DECIMAL = re.compile(r"(0|[1-9][0-9]{0,8})(\.[0-9]{1,30})?(e-[1-9][0-9]{0,2})?")


def is_hexadecimal(text: str, digits: int = 64) -> bool:
    """Whether a text is so many hexadecimal digits in small letters: as many as a SHA-256 or a public key has."""
    return len(text) == digits and not set(text) - set("0123456789abcdef")


def written(number: float) -> str:
    """A number that is not negative as numerator/2^k, in lowest terms, or as a whole number."""
    exact = Fraction(number)
    power = exact.denominator.bit_length() - 1
    return str(exact.numerator) if power == 0 else f"{exact.numerator}/2^{power}"


def read(text: str, *, name: str) -> float:
    """The number that `written` wrote; refused in any other spelling, since the task's id depends on it."""
    found = _WRITTEN.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise TaskError(f"{name} must be a whole number or a fraction such as 5161/2^13, as text; got {text!r:.60}")
    number = math.ldexp(int(found[1]), -int(found[2] or 0))
    if written(number) != text:
        raise TaskError(f"{name}={text!r} must be in lowest terms and have at most 53 binary digits")
    return number


def decimal(text: str, *, name: str) -> float:
    """A figure that people state, such as 0.5 or 1e-6; its text is part of the task, and the nearest float is used."""
    if not isinstance(text, str) or not _DECIMAL.fullmatch(text):
        raise TaskError(f"{name} must be a decimal number as text, such as 0.5 or 1e-6; got {text!r:.60}")
    return float(text)


def stated(number: float) -> str:
    """The shortest decimal text of a figure."""
    text = repr(float(number)).replace("e-0", "e-")
    return text.removesuffix(".0")


_NAME = re.compile(r"(?!xn--)[a-z0-9_-]+(\.(?!xn--)[a-z0-9_-]+)*\.?", re.IGNORECASE)
"""Of a host, in characters that every reader of addresses takes as they are. What begins with xn-- stands for other
letters, and readers differ in which they allow."""

_NUMBER = re.compile(r"[0-9]+|0[xX][0-9a-fA-F]*")
"""What a host ends with that browsers take for an IPv4 address, in one of its many spellings."""


def check_address(address: str, name: str) -> None:
    """Refuses what is no address of a server or a file on one, or what readers could take for different ones."""
    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # such as a port that is no number
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


OTHER, NONE = "(other)", "(none)"
MOST_LISTED = 100_000
"""Answers in a task file itself: more make it too long to be read by everybody, and belong in a file of their own."""

_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,15})")
"""A whole number as text, in its one spelling, of as many digits as numbers below 2^53 have."""

MOST_ANSWERS = 2**32
"""More cannot be named in messages."""


class AnswerList(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="list"):
    """The answers themselves."""

    values: list[str]

    def check(self) -> None:
        """Refuses what cannot be told apart or printed."""
        _check_answers(self.values)
        if len(self.values) > MOST_LISTED:
            raise TaskError(f"a task lists at most {MOST_LISTED:,} answers: keep more in a file (kind listed-at)")

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.values)


class AnswerRange(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="range"):
    """The whole numbers start .. stop - 1."""

    start: int
    stop: int

    def check(self) -> None:
        """Refuses a range that is empty or too long."""
        if not -(2**53) < self.start < self.stop < 2**53 or self.stop - self.start > MOST_ANSWERS - 2:
            raise TaskError("a range of answers needs start < stop, both below 2^53, and at most 2^32 - 2 numbers")

    @property
    def size(self) -> int:
        """How many there are."""
        return self.stop - self.start


class AnswersElsewhere(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="listed-at"):
    """A text file with one answer in each line, kept at an address, known by its SHA-256."""

    address: str
    sha256: str
    size: int

    def check(self) -> None:
        """Refuses an address or a fingerprint that is none."""
        check_address(self.address, "the list of answers")
        if not is_hexadecimal(self.sha256):
            raise TaskError("the sha256 of a list of answers must be 64 hexadecimal digits, in small letters")
        if not 0 < self.size <= MOST_ANSWERS - 2:
            raise TaskError(f"the size of a list of answers must lie between 1 and 2^32 - 2, got {self.size}")

    def read(self, content: bytes) -> list[str]:
        """The answers of a file that has the fingerprint."""
        if hashlib.sha256(content).hexdigest() != self.sha256:
            raise TaskError("the list of answers is not the one that the task names: its SHA-256 is another")
        try:
            values = content.decode().removesuffix("\n").split("\n")
        except UnicodeDecodeError:
            raise TaskError("the list of answers is not UTF-8") from None
        _check_answers(values)
        if len(values) != self.size:
            raise TaskError(f"the list has {len(values):,} answers, and the task says {self.size:,}")
        return values


Answers = AnswerList | AnswerRange | AnswersElsewhere


def _check_answers(values: Sequence[str]) -> None:
    if not values:
        raise TaskError("a task needs at least one possible answer")
    if len(set(values)) != len(values):
        raise TaskError("the answers of a task must differ: one is there twice")
    if {OTHER, NONE} & set(values):
        raise TaskError(f"{OTHER} and {NONE} are answers of every task: leave them out of the list")
    for value in values:
        if not value.strip():
            raise TaskError("an answer of a task must not be empty: no answer at all is (none)")
        if any("\ud800" <= char <= "\udfff" for char in value) or "\n" in value or "\r" in value:
            raise TaskError("an answer must be text of one line, without unpaired surrogates")


class AnswerNumbers:
    """The number of every answer: the values in their order, then (other), then (none)."""

    def __init__(self, values: Sequence[str] | range) -> None:
        self._values: Sequence[Any] = values
        self._found = None if isinstance(values, range) else {value: at for at, value in enumerate(values)}
        self.size = len(values) + 2

    def bin_of(self, answer: Any) -> int:
        """The place of an answer: no answer or an empty text is (none), an unknown one (other). It never fails."""
        try:
            if answer is None or (isinstance(answer, str) and not answer):
                return self.size - 1
            return self._known(answer)
        except Exception:  # whatever an object does when it is asked for its text: not to report would tell something
            return self.size - 2

    def _known(self, answer: Any) -> int:
        other = self.size - 2
        if self._found is not None:
            return self._found.get(str(answer), other)
        number = _whole(answer)
        return other if number is None or number not in self._values else self._values.index(number)

    @property
    def domain(self) -> Domain:
        """The labels of all places."""
        return Domain.of([*self._values, OTHER, NONE], in_order=isinstance(self._values, range))


def _whole(answer: Any) -> int | None:
    """The whole number that an answer is, or that its text is."""
    if isinstance(answer, str):
        return int(answer) if _WHOLE.fullmatch(answer) else None
    number = None if isinstance(answer, bool) else int(answer)
    return number if number == answer else None


_KINDS = {
    "int": "a whole number",
    "str": "text",
    "bool": "true or false",
    "null": "nothing (null)",
    "array": "a list",
    "object": "an object with named fields",
    "float": "a number",
}
"""Types as JSON has them."""

_CHOICES = {"admission": "anybody, secret or tokens", "answers.kind": "list, range or listed-at"}
"""What the fields with few possible values may be."""

_AT = r"(?: - at `\$\.?(?P<at>[^`]*)`)?"
_EXPECTED = re.compile(rf"Expected `(?P<wanted>\w+)`, got `(?P<got>\w+)`{_AT}")
_UNKNOWN = re.compile(rf"Object contains unknown field `(?P<name>.*?)`{_AT}", flags=re.DOTALL)
_MISSING = re.compile(rf"Object missing required field `(?P<name>\w+)`{_AT}")
_VALUE = re.compile(rf"Invalid (?:enum )?value (?P<got>.*?){_AT}", flags=re.DOTALL)
_LONGEST = 200


def in_words(message: str) -> str:
    """An error of msgspec as a sentence without its end; one that is not known stays as it is, shortened."""
    if found := _EXPECTED.fullmatch(message):
        wanted, got = (_KINDS.get(found[name], found[name]) for name in ("wanted", "got"))
        if not found["at"]:
            return f"this is no task: a task is {wanted}, got {got}"
        return f"`{found['at']}` must be {wanted}, got {got}"
    if found := _UNKNOWN.fullmatch(message):
        return f"`{found['name']:.60}` is no field of {_place(found['at'])}"
    if found := _MISSING.fullmatch(message):
        return f"the field `{found['name']}` of {_place(found['at'])} is missing"
    if (found := _VALUE.fullmatch(message)) and found["at"]:
        choices = _CHOICES.get(found["at"])
        needs = f" must be {choices}" if choices else " cannot be that"
        return f"`{found['at']}`{needs}; got {found['got']:.60}"
    return message[:_LONGEST]


def _place(path: str | None) -> str:
    return f"`{path}`" if path else "a task"

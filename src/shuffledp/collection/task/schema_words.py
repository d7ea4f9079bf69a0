"""What is wrong with the form of a task, in words: the library that reads it speaks of types and paths."""

from __future__ import annotations

import re

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

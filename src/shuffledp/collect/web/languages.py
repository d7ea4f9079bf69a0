"""The languages of the survey page: catalogues of its texts, one JSON file each in `catalogues/`.

A page has the language of its task if there is a catalogue for it, and English otherwise. It never depends on the
visitor, so that the page is the same for everybody. A text may have placeholders such as {users}; a text that depends
on a number is an object with the plural forms `one` and `other`. Texts under `script` also go to the program.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

_FOLDER = Path(__file__).parent / "catalogues"

DEFAULT = "en"

SHIPPED = tuple(sorted(path.stem for path in _FOLDER.glob("*.json")))
"""The languages that have a catalogue, as BCP 47 tags."""


class Catalogue:
    """The texts of one language, and how it writes numbers."""

    def __init__(self, language: str) -> None:
        content = json.loads((_FOLDER / f"{language}.json").read_text(encoding="utf-8"))
        self.language = language
        self.script: Mapping[str, Any] = content["script"]
        self._texts: Mapping[str, Any] = {**self.script, **content["page"]}
        self._digits = str.maketrans({".": content["decimal"], ",": content["group"]})

    def text(self, key: str, *parts: str, **values: Any) -> Markup:
        """Return a text with its placeholders filled in; values that are no markup are escaped."""
        found = self._texts[key]
        for part in parts:
            found = found[part]
        return escape(found).format(**values)

    def plural(self, key: str, *parts: str, number: int) -> Markup:
        """Return the form of a text for a number; the shipped languages have a singular form for one only."""
        return self.text(key, *parts, "one" if number == 1 else "other", number=self.number(number))

    def number(self, number: int | str) -> str:
        """Write a number, or one that was formatted in English, such as 2.72 or 2,981, in this language."""
        return (number if isinstance(number, str) else f"{number:,}").translate(self._digits)


@cache
def catalogue_for(language: str | None) -> Catalogue:
    """Return the catalogue for the language of a task, such as "de" or "de-AT"; English if there is none."""
    first = (language or DEFAULT).lower().split("-")[0]
    return Catalogue(first if first in SHIPPED else DEFAULT)

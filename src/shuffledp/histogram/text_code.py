"""A public code that cuts a text into pieces, so that texts nobody listed can be counted prefix by prefix.

A text is normalised, then cut into the longest pieces of a public list, from its start. Its path has one symbol for
each of L levels: its pieces, then END to the last level. A text that cannot be cut into at most L pieces, or is too
long, has the path of (other); an empty one that of (none). On each level a person's value is parent * (number of
symbols) + symbol, where the parent is 0 on level 0, else the first 48 bits of SHA-256(symbols before, two bytes each,
most significant first). Texts with the same prefix have the same values up to its last level, so the analyzer can
search texts as the leaves of a tree.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.errors import ParameterError
from shuffledp.histogram.hash_family import MOST_LEVELS
from shuffledp.histogram.labels import NO_TEXT, OTHER_TEXT, NoText, text_label
from shuffledp.validation import whole

END, OTHER, NONE = 0, 1, 2
"""The symbols that are no pieces; pieces are numbered from 3 on."""

FIRST_PIECE = 3
MOST_SYMBOLS = 1 << 14
"""The most symbols: values are then below 2^62 and fit a machine integer."""

MOST_WIDTH = 4
PARENT_BITS = 48
"""The length of a parent's hash: two of 10^4 prefixes are equal with a probability of 2 in 10^7."""

LONGEST_TEXT = 256
"""The most bytes of a text."""

WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
"""The characters with the Unicode property White_Space, spelled out since languages trim different ones."""


_MOST_MARKS = 2 * LONGEST_TEXT
"""The most combining marks in a row that are normalised, since the time grows with the square of their number: a text
with more is too long in any case.
"""


class Step(StrEnum):
    """A step of normalisation. Unicode normalisation (NFC) always comes first; the others follow in this order."""

    TRIM = "trim"  # spaces at both ends
    LOWER = "lower"  # small letters
    QUERY = "query"  # everything from the first ? or # on is removed
    SLASH = "slash"  # slashes at the end are removed


@dataclass(frozen=True, kw_only=True)
class TextCode:
    """A code with `levels` levels for texts of at most `longest` bytes of UTF-8.

    The pieces are listed, or all texts of 1 to `width` characters of an `alphabet`.
    """

    levels: int
    longest: int
    pieces: tuple[str, ...] = ()
    alphabet: str = ""
    width: int = 1
    normalisation: tuple[Step, ...] = (Step.TRIM, Step.LOWER)

    def __post_init__(self) -> None:
        if not 1 <= whole("levels", self.levels) <= MOST_LEVELS:
            raise ParameterError(f"levels must be 1 to {MOST_LEVELS}, got {self.levels}")
        if not 1 <= whole("longest", self.longest) <= LONGEST_TEXT:
            raise ParameterError(f"longest must be 1 to {LONGEST_TEXT} bytes, got {self.longest}")
        order = [step for step in Step if step in self.normalisation]
        if list(self.normalisation) != order:
            raise ParameterError(f"normalisation must be some of {', '.join(Step)}, in this order")
        if bool(self.pieces) == bool(self.alphabet):
            raise ParameterError("either pieces or an alphabet must be given")
        if self.alphabet and not 1 <= whole("width", self.width) <= MOST_WIDTH:
            raise ParameterError(f"width must be 1 to {MOST_WIDTH} characters, got {self.width}")
        if self.symbols > MOST_SYMBOLS:
            raise ParameterError(
                f"a code must have at most {MOST_SYMBOLS - FIRST_PIECE:,} pieces, got {self.symbols - FIRST_PIECE:,}"
            )
        self._check_pieces(self.pieces or tuple(self.alphabet))

    def _check_pieces(self, pieces: Sequence[str]) -> None:
        if len(set(pieces)) != len(pieces):
            again = next(piece for at, piece in enumerate(pieces) if piece in pieces[:at])
            what = "pieces" if self.pieces else "characters of the alphabet"
            raise ParameterError(f"{what} must differ: one is there twice, {again!r:.40}")
        for piece in pieces:
            if not piece or not piece.isprintable():
                raise ParameterError(f"a piece must be printable text of one line, got {piece!r:.40}")
            if unicodedata.normalize("NFC", piece) != piece or (
                Step.LOWER in self.normalisation and piece.lower() != piece
            ):
                raise ParameterError(f"the piece {piece!r:.40} is not normalised, so no text could contain it")

    @property
    def symbols(self) -> int:
        """The number of symbols: END, OTHER, NONE and the pieces."""
        if self.pieces:
            return FIRST_PIECE + len(self.pieces)
        return FIRST_PIECE + sum(int(len(self.alphabet) ** length) for length in range(1, self.width + 1))

    @property
    def values(self) -> int:
        """The number of possible values of one level."""
        return self.symbols << PARENT_BITS

    @cached_property
    def listed(self) -> tuple[str, ...]:
        """The pieces in the order of their symbols: shorter texts of an alphabet first."""
        if self.pieces:
            return self.pieces
        lengths = range(1, self.width + 1)
        return tuple("".join(chars) for length in lengths for chars in product(self.alphabet, repeat=length))

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {piece: FIRST_PIECE + at for at, piece in enumerate(self.listed)}

    @cached_property
    def _longest_piece(self) -> int:
        return max(map(len, self.listed))

    def normalise(self, answer: Any) -> str | None:
        """Return the text that counts; None for text that is not valid Unicode."""
        text = "" if answer is None else str(answer)
        if any("\ud800" <= char <= "\udfff" for char in text):
            return None
        text = unicodedata.normalize("NFC", _with_short_marks(text))
        if Step.TRIM in self.normalisation:
            text = text.strip(WHITE_SPACE)
        if Step.LOWER in self.normalisation:
            text = unicodedata.normalize("NFC", text.lower())
        if Step.QUERY in self.normalisation:
            text = text.partition("?")[0].partition("#")[0]
        return text.rstrip("/") if Step.SLASH in self.normalisation else text

    def path(self, answer: Any) -> tuple[int, ...]:
        """The symbols of an answer on all levels; every answer has a path."""
        text = self.normalise(answer)
        found = (OTHER,) if text is None else (NONE,) if not text else self.cut(text)
        return found + (END,) * (self.levels - len(found))

    def cut(self, text: str) -> tuple[int, ...]:
        """The symbols of the longest pieces from the start of a text on; (OTHER,) where it cannot be cut."""
        if len(text.encode()) > self.longest:
            return (OTHER,)
        found, at = list[int](), 0
        while at < len(text):
            lengths = range(min(self._longest_piece, len(text) - at), 0, -1)
            piece = next(
                (text[at : at + length] for length in lengths if text[at : at + length] in self._numbers), None
            )
            if piece is None or len(found) == self.levels:
                return (OTHER,)
            found.append(self._numbers[piece])
            at += len(piece)
        return tuple(found)

    def text(self, path: Sequence[int]) -> str:
        """The text of the pieces in a path."""
        return "".join(self.listed[symbol - FIRST_PIECE] for symbol in path if symbol >= FIRST_PIECE)

    def label(self, path: Sequence[int]) -> str | NoText:
        """The label under which the people of a path are reported."""
        if path[0] >= FIRST_PIECE:
            return text_label(self.text(path))
        return OTHER_TEXT if path[0] == OTHER else NO_TEXT

    def continues(self, pieces: tuple[int, ...]) -> bool:
        """Whether another piece can follow: in texts of an alphabet only the last piece is shorter than the others."""
        return bool(self.pieces) or not pieces or len(self.listed[pieces[-1] - FIRST_PIECE]) == self.width

    def starts_text(self, pieces: tuple[int, ...]) -> bool:
        """Whether their text is cut into these pieces; elsewhere a longer piece is taken, in longer texts too."""
        return self.cut(self.text(pieces)) == pieces

    def parent(self, path: Sequence[int]) -> int:
        """The parent of the values that continue a path; 0 for the empty one."""
        if not path:
            return 0
        written = b"".join(int(symbol).to_bytes(2) for symbol in path)
        return int.from_bytes(hashlib.sha256(written).digest()[: PARENT_BITS // 8])

    def values_of(self, answer: Any) -> NDArray[np.int64]:
        """The values of an answer on all levels."""
        return self.values_at(self.path(answer))

    def values_at(self, path: Sequence[int]) -> NDArray[np.int64]:
        """The values of a path on its levels."""
        return np.array([self.parent(path[:at]) * self.symbols + symbol for at, symbol in enumerate(path)])


def _with_short_marks(text: str) -> str:
    """A text without the rest of very long runs of combining marks."""
    if len(text) <= _MOST_MARKS:
        return text
    kept, run = list[str](), 0
    for char in text:
        run = run + 1 if unicodedata.combining(char) else 0
        if run <= _MOST_MARKS:
            kept.append(char)
    return "".join(kept)

"""Choose a code for texts: its characters or pieces, the width of a piece and the number of levels.

Wider pieces need fewer levels, so less noise, but more pieces, so more buckets and more messages of few people. Which
code has the smallest detection limit therefore depends on the number of people.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import ascii_lowercase, digits

from shuffledp.errors import DataError, ParameterError
from shuffledp.formatting import ShortRepr
from shuffledp.histogram.hash_family import MOST_LEVELS
from shuffledp.histogram.text_code import FIRST_PIECE, LONGEST_TEXT, MOST_SYMBOLS, MOST_WIDTH, Step, TextCode
from shuffledp.protocols.free_text import FreeText
from shuffledp.validation import whole

ALPHABETS = {
    "letters": ascii_lowercase,
    "words": f"{ascii_lowercase} '-",
    "host": f"{ascii_lowercase}{digits}-.",
    "text": f"{ascii_lowercase}{digits} '&-./:_",
    "url": f"{ascii_lowercase}{digits}-._~:/@%+=&?#,!",
}
"""Named alphabets of small letters; any other text is an alphabet itself."""

DEFAULT_ALPHABET = "text"
NORMALISATION = (Step.TRIM, Step.LOWER)

MOST_MESSAGES = 500.0
"""The expected messages of a person above which a code with fewer messages is preferred."""

_WIDTHS = (1, 2, 3)
"""The widths to try; the pieces of four letters are too many."""


@dataclass(frozen=True, kw_only=True)
class TextChoices(ShortRepr):
    """The choices of a code for texts of at most `longest` bytes; None stands for the best one.

    The pieces are listed, or texts of up to `width` characters of an `alphabet`. With both, the characters of the
    alphabet are pieces too.
    """

    longest: int
    alphabet: str | None = None
    pieces: tuple[str, ...] = ()
    normalisation: tuple[Step, ...] = NORMALISATION
    levels: int | None = None
    width: int | None = None

    def __post_init__(self) -> None:
        if not 1 <= whole("longest", self.longest) <= LONGEST_TEXT:
            raise ParameterError(f"longest must be 1 to {LONGEST_TEXT} bytes, got {self.longest}")
        if self.levels is not None and not 1 <= whole("levels", self.levels) <= MOST_LEVELS:
            raise ParameterError(f"levels must be 1 to {MOST_LEVELS}, got {self.levels}")
        if self.pieces and self.width is not None:
            raise ParameterError("width must be left out with pieces, which have widths of their own")
        if self.width is not None and not 1 <= whole("width", self.width) <= MOST_WIDTH:
            raise ParameterError(f"width must be 1 to {MOST_WIDTH} characters, got {self.width}")
        if not self._codes:
            raise ParameterError(
                f"a code must have at most {MOST_LEVELS} levels and {MOST_SYMBOLS - FIRST_PIECE:,} pieces, and texts "
                f"of {self.longest} bytes with this alphabet and width need more: use shorter texts, fewer characters "
                "or a list of pieces"
            )

    @property
    def characters(self) -> str:
        """The characters of the alphabet; none if only pieces are given."""
        if self.alphabet is None:
            return "" if self.pieces else ALPHABETS[DEFAULT_ALPHABET]
        return ALPHABETS.get(self.alphabet, self.alphabet)

    @property
    def _codes(self) -> list[TextCode]:
        """The codes to choose from. Errors of parameters are those of the narrowest one."""
        longest = whole("longest", self.longest)
        if self.pieces:
            listed = (*self.pieces, *(char for char in self.characters if char not in set(self.pieces)))
            levels = math.ceil(longest / 2) if self.levels is None else self.levels
            return [TextCode(longest=longest, levels=levels, pieces=listed, normalisation=self.normalisation)]
        if self.alphabet == "":
            raise ParameterError("alphabet must have at least one character")
        return list(self._of_alphabet(longest))

    def _of_alphabet(self, longest: int) -> Iterator[TextCode]:
        chars = self.characters
        shortest = min(len(char.encode("utf-8", "replace")) for char in chars)  # TextCode refuses invalid Unicode
        for width in _WIDTHS if self.width is None else (self.width,):
            levels = self.levels or math.ceil(longest / shortest / width)
            symbols = sum(len(chars) ** length for length in range(1, width + 1))
            fits = levels <= MOST_LEVELS and symbols + FIRST_PIECE <= MOST_SYMBOLS
            if fits or (self.width is not None and self.levels is not None):
                yield TextCode(
                    longest=longest, levels=levels, alphabet=chars, width=width, normalisation=self.normalisation
                )

    def search(
        self, *, users: int, epsilon: float, delta: float, honest_users: int | None = None, beta: float = 0.05
    ) -> FreeText:
        """The search with the smallest detection limit at up to 500 messages; otherwise with the fewest messages."""
        made = [
            FreeText.for_target(code, users=users, epsilon=epsilon, delta=delta, honest_users=honest_users)
            for code in self._codes
        ]
        if len(made) == 1:
            return made[0]
        plans = [(one.plan(beta=beta), one) for one in made]
        short = [pair for pair in plans if pair[0].messages <= MOST_MESSAGES]
        if short:
            return min(short, key=lambda pair: (pair[0].detection_limit, pair[0].messages))[1]
        return min(plans, key=lambda pair: pair[0].messages)[1]


def read_pieces(path: Path) -> tuple[str, ...]:
    """Read a file with one piece on each line; empty lines do not count."""
    try:
        lines = path.read_bytes().decode("utf-8-sig").split("\n")
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise DataError(f"{path} is not UTF-8 text: pieces must be one on each line") from None
    pieces = tuple(line.removesuffix("\r") for line in lines if line.removesuffix("\r"))
    if not pieces:
        raise DataError(f"{path} has no pieces: there must be one on each line")
    return pieces


def parse_normalisation(names: Sequence[str]) -> tuple[Step, ...]:
    """The steps with these names, in the order in which they are applied."""
    unknown = [name for name in names if name not in list(Step)]
    if unknown:
        raise ParameterError(f"normalisation must be some of {', '.join(Step)}, got {unknown[0]!r:.40}")
    return tuple(step for step in Step if step in names)

"""Free text: find the texts that many people share, although nobody listed the possible ones.

Every answer is a path in a public tree of prefixes (`TextCode`). A person sends one hashed value for each level of the
tree (`HashedHistogram.for_levels`), in one report. The analyzer walks through the tree (`estimators/text_search.py`)
with tests whose errors are known exactly (`estimators/text_search.py`).

Exact are: the distributions of all counts, up to the quality of expanded seeds, and so every threshold and tail. Upper
bounds are: sums of tails over tests and candidates, and before a release the expected number of candidates. Two
prefixes have the same values by chance with probability 2^-48, which is neglected. All statements about texts hold
if everyone follows the protocol: forged reports can plant texts that nobody holds.

`TextChoices` chooses a code: its characters or pieces, the width of a piece and the number of levels. Wider pieces need
fewer levels, so less noise, but more pieces, so more buckets and more messages of few people. Which code has the
smallest detection limit therefore depends on the number of people.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from string import ascii_lowercase, digits
from typing import Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.errors import DataError, ParameterError
from shuffledp.estimators.base import around_estimates
from shuffledp.estimators.text_search import ALONE, UNREPORTED, Found, LevelCounts, TextTests, search
from shuffledp.formatting import ShortRepr
from shuffledp.histogram.domain import Domain
from shuffledp.histogram.estimate import Estimate
from shuffledp.histogram.facts import RISK, Detection
from shuffledp.histogram.hash_family import MOST_LEVELS
from shuffledp.histogram.intervals import Intervals
from shuffledp.histogram.tally import Tally, as_symbols
from shuffledp.histogram.text_code import FIRST_PIECE, LONGEST_TEXT, MOST_SYMBOLS, MOST_WIDTH, Step, TextCode
from shuffledp.progress import Progress, quiet
from shuffledp.protocols.shuffled.hashed import DUMMIES, HashedHistogram
from shuffledp.protocols.target import Target
from shuffledp.randomness import generator
from shuffledp.validation import failure_probability, whole

MOST_EQUAL = 4
"""The most times that equal messages of a text count. Among 10^7 honest messages of one text, with 2^36 seeds, five are
equal with a probability below 10^-10."""


@dataclass(frozen=True, kw_only=True)
class TextPlan(ShortRepr):
    """The properties of a release before any answer, for any answers.

    A text that at least `detection_limit` people hold is reported with probability 1 - beta; all texts that at least
    `all_reported` people hold are reported at once with that probability. Both assume no more candidates than the bound
    on their expected number, `candidates`; with ten times more they are a few percent larger. With probability at most
    `risk` is any reported text held by nobody, if everyone follows the protocol. About `planting_messages` forged
    messages make a text appear that nobody holds, in every second case.
    """

    detection_limit: int
    all_reported: int
    risk: float
    beta: float
    messages: float
    bits_per_message: int
    candidates: int
    planting_messages: int

    @property
    def bytes(self) -> float:
        """The expected number of bytes of one person's messages, before encryption."""
        return self.messages * self.bits_per_message / 8


@dataclass(frozen=True, kw_only=True)
class FreeText:
    """The search for texts with the `code` in the messages of the `protocol`."""

    code: TextCode
    protocol: HashedHistogram

    def __post_init__(self) -> None:
        code, protocol = self.code, self.protocol
        if (protocol.levels, protocol.bins, protocol.family.pieces) != (code.levels, code.values, code.symbols):
            raise ParameterError(
                "protocol must have the levels, values and pieces of the code: use FreeText.for_target"
            )

    @classmethod
    def for_target(
        cls,
        code: TextCode,
        *,
        users: int,
        epsilon: float,
        delta: float,
        honest_users: int | None = None,
        dummies: float = DUMMIES,
    ) -> Self:
        """Return the search with the least noise that makes the whole release (epsilon, delta)-private."""
        target = Target(
            users=users, bins=code.values, epsilon=epsilon, delta=delta, honest_users=honest_users, padding_bins=0
        )
        protocol = HashedHistogram.for_levels(target, levels=code.levels, pieces=code.symbols, dummies=dummies)
        return cls(code=code, protocol=protocol)

    @cached_property
    def tests(self) -> TextTests:
        """The tests of the search."""
        return _tests(self.code, self.protocol)

    def plan(self, *, beta: float = 0.05, risk: float = RISK) -> TextPlan:
        """The detection limit, the cost and the risk of a release, before any answer."""
        beta, risk = failure_probability(beta), failure_probability(risk)
        tests, protocol = self.tests, self.protocol
        lengths = range(1, self.code.levels + 1)
        expected = {length: tests.expected_candidates(length) for length in lengths}
        thresholds = {length: tests.whole(length, candidates=expected[length], risk=risk) for length in lengths}
        return TextPlan(
            detection_limit=tests.limit(thresholds, beta),
            all_reported=tests.limit(thresholds, beta, people=protocol.users),
            risk=risk,
            beta=beta,
            messages=protocol.messages_per_user.expected,
            bits_per_message=protocol.bits_per_message,
            candidates=sum(expected.values()),
            planting_messages=tests.planting_messages(thresholds),
        )

    def estimate(
        self,
        tally: Tally,
        *,
        beta: float = 0.05,
        risk: float = RISK,
        reports: int | None = None,
        forged: bool = False,
        processes: int = 1,
        progress: Progress = quiet,
        counts: LevelCounts | None = None,
    ) -> Estimate:
        """Find the texts in the tally of all messages, and estimate the number of people of each.

        `detection` of the result has the detection limit, and the `risk` that any reported text is held by nobody. The
        simultaneous intervals of all reported texts and the bound `unreported_high` on all others hold at once.
        `reports` and `forged` are those of every protocol. `counts` counts messages elsewhere than in this process.
        """
        beta, risk = failure_probability(beta), failure_probability(risk)
        ran, tally = self.protocol.accept(tally, reports=reports, forged=forged)
        counts = counts or TallyCounts(ran, tally, threads=processes)
        return self._search(ran, counts, beta=beta, risk=risk, progress=progress)

    def estimate_local(
        self, messages: LocalMessages, *, beta: float = 0.05, risk: float = RISK, progress: Progress = quiet
    ) -> Estimate:
        """Find the texts of local data in messages that are made level by level."""
        beta, risk = failure_probability(beta), failure_probability(risk)
        return self._search(self.protocol._as_kept, messages, beta=beta, risk=risk, progress=progress)

    def _search(
        self, ran: HashedHistogram, counts: LevelCounts, *, beta: float, risk: float, progress: Progress
    ) -> Estimate:
        tests = _tests(self.code, ran)
        found = search(self.code, tests, counts, risk=risk, progress=progress)
        return self._estimate(ran, tests, found, beta=beta, risk=risk)

    def _estimate(self, ran: HashedHistogram, tests: TextTests, found: Found, *, beta: float, risk: float) -> Estimate:
        texts = sorted(found.texts, key=lambda one: (bool(one.length), one.symbols))
        counts = np.zeros(len(texts))
        ends = np.zeros((4, len(texts)), dtype=np.int64)
        for length in {one.length for one in texts}:
            at = np.array([place for place, one in enumerate(texts) if one.length == length])
            totals = np.array([texts[place].total for place in at.tolist()])
            estimator = tests.counted(ran.levels if not length else tests.copies(length))
            counts[at] = estimator.estimate(totals)
            ends[:2, at] = estimator.interval(totals, beta=ALONE * beta)
            every = tests.share(length) * (1 - UNREPORTED) * beta / max(1, found.candidates[length])
            ends[2:, at] = estimator.interval(totals, beta=every)
        alone, every_limit = (
            tests.limit(found.thresholds, UNREPORTED * beta, people=people, prefix=found.prefix)
            for people in (None, ran.users)
        )
        per_bin, simultaneous = around_estimates(
            counts,
            per_bin=Intervals(ends[0], ends[1], unreported_high=min(ran.users, alone - 1)),
            simultaneous=Intervals(ends[2], ends[3], unreported_high=min(ran.users, every_limit - 1)),
        )
        limit = tests.limit(found.thresholds, beta, prefix=found.prefix)
        return Estimate(
            symbols=as_symbols([self.code.label(one.symbols) for one in texts]),
            counts=counts,
            per_bin=per_bin,
            simultaneous=simultaneous,
            people=ran.users,
            bins=ran.bins,
            beta=beta,
            estimator=ran.estimator.name,
            guarantee=ran.guarantee,
            about=partial(ran.facts),
            domain=Domain.implicit(ran.bins),
            detection=Detection(limit=limit, risk=risk, longest=self.code.longest, candidates=tuple(found.compared)),
        )


class _Counts(ABC):
    """Counts of the messages of a level, which are kept until another level is counted."""

    def __init__(self, protocol: HashedHistogram, *, threads: int) -> None:
        self._protocol, self._threads = protocol, threads
        self._level, self._messages = -1, np.empty(0, dtype=np.int64)

    def supports(self, level: int, parents: NDArray[np.int64]) -> NDArray[np.int64]:
        """The counts of all values of some parents, as one row for each parent."""
        return self._protocol.family.supports(self._of(level), parents, threads=self._threads)

    def count(self, level: int, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """The counts of some values."""
        return self._protocol.family.count(self._of(level), values, threads=self._threads)

    def _of(self, level: int) -> NDArray[np.int64]:
        if level != self._level:
            self._level, self._messages = level, self._made(level)
        return self._messages

    @abstractmethod
    def _made(self, level: int) -> NDArray[np.int64]:
        """The messages of a level."""


class TallyCounts(_Counts):
    """Counts of the messages in a tally; an equal one counts at most `MOST_EQUAL` times.

    A forger could repeat a message that is consistent with one continuation of every prefix.
    """

    def __init__(self, protocol: HashedHistogram, tally: Tally, *, threads: int = 1) -> None:
        super().__init__(protocol, threads=threads)
        self._tally = tally

    def _made(self, level: int) -> NDArray[np.int64]:
        messages = self._protocol.level(self._tally, level)
        return np.repeat(messages.symbols, np.minimum(messages.counts, MOST_EQUAL))


class LocalMessages(_Counts):
    """Messages of local data, which are made and counted level by level, so that those of one level fit in memory.

    `texts` has the number of people of each text. Every level is made once: its seeds must not be drawn again.
    """

    def __init__(
        self,
        search: FreeText,
        texts: Mapping[str | None, int],
        *,
        threads: int = 1,
        rng: np.random.Generator | None = None,
    ) -> None:
        super().__init__(search.protocol, threads=threads)
        self._values = np.array([search.code.values_of(text) for text in texts], dtype=np.int64)
        self._people = np.array(list(texts.values()), dtype=np.int64)
        if self._people.sum() != search.protocol.users:
            raise DataError(f"the texts have {self._people.sum()} people, the protocol is for {search.protocol.users}")
        self._rng, self.made = generator(rng), 0

    def _made(self, level: int) -> NDArray[np.int64]:
        made = self._protocol.level_messages(np.repeat(self._values[:, level], self._people), rng=self._rng)
        self.made += made.size
        return made


def _tests(code: TextCode, protocol: HashedHistogram) -> TextTests:
    return TextTests(values=protocol.estimator, levels=code.levels, pieces=code.symbols - FIRST_PIECE)


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

"""Search for frequent texts that nobody listed, in a tree of prefixes.

The candidates of a level are the prefixes of the level before, continued by every piece, or ended. One product of
matrices counts the messages of the level that are consistent with each (`HashFamily.supports`). The tests of
`TextTests` decide which ones are continued, and which whole texts are reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from shuffledp.estimators.text_tests import TextTests, is_tested
from shuffledp.histogram.text_code import END, FIRST_PIECE, NONE, OTHER, TextCode
from shuffledp.progress import Progress, quiet

_PARENTS_AT_ONCE = 4096
"""The most prefixes whose continuations are counted together: with 2,000 pieces, their counts take 65 MB."""


class LevelCounts(Protocol):
    """The numbers of messages of a level that are consistent with values."""

    def supports(self, level: int, parents: NDArray[np.int64]) -> NDArray[np.int64]:
        """The counts of all values of some parents, as one row for each parent."""

    def count(self, level: int, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """The counts of some values."""


@dataclass
class Ended:
    """A text that has ended, and the sum of its counts on the levels since then; `symbols` is its path so far."""

    symbols: tuple[int, ...]
    length: int
    total: int


@dataclass(kw_only=True)
class Found:
    """The reported texts, with (other) and (none) first, and the thresholds of each number of pieces."""

    texts: list[Ended] = field(default_factory=list)
    thresholds: dict[int, int] = field(default_factory=dict)
    candidates: dict[int, int] = field(default_factory=dict)
    """The number of candidates of each number of pieces."""

    compared: list[int] = field(default_factory=list)
    """The number of counts that were compared with a threshold on each level."""


def search(code: TextCode, tests: TextTests, counts: LevelCounts, *, risk: float, progress: Progress = quiet) -> Found:
    """Walk through the tree of prefixes level by level."""
    found, ended = Found(), list[Ended]()
    starts: list[tuple[int, ...]] = [()]
    for level in range(code.levels):
        progress("search", level / code.levels)
        last = level == code.levels - 1
        begun = _just_ended(level, starts)
        continued = [path for path in starts if code.continues(path)]
        shorter = [one for path, one in begun.items() if level and not code.continues(path[:level])]
        _count_ended(code, counts, level, ended + shorter)  # the others are counted with their continuations
        ended += begun.values()
        pieces = len(continued) * (code.symbols - FIRST_PIECE)
        found.candidates[level] = len(begun)
        found.compared.append(pieces + len(ended))
        if last:
            found.candidates[level + 1] = pieces
            threshold = tests.whole(level + 1, candidates=pieces, risk=risk)
        else:
            threshold = tests.prefix
        passed = list(_continued(code, counts, level, continued, threshold, begun))
        if last:
            ended += [Ended(path, len(path), total) for path, total in passed]
        else:
            ended = [one for one in ended if _keeps(tests, level, one)]
            starts = [path for path, _ in passed]
    for length in range(1, code.levels + 1):
        found.thresholds[length] = tests.whole(length, candidates=found.candidates[length], risk=risk)
    found.texts = [one for one in ended if not one.length or one.total >= found.thresholds[one.length]]
    progress("search", 1.0)
    return found


def _just_ended(level: int, starts: list[tuple[int, ...]]) -> dict[tuple[int, ...], Ended]:
    """The texts that can end on this level by their path; on the first level (other) and (none)."""
    paths = [(OTHER,), (NONE,)] if not level else [(*path, END) for path in starts]
    return {path: Ended(path, level, 0) for path in paths}


def _count_ended(code: TextCode, counts: LevelCounts, level: int, ended: list[Ended]) -> None:
    """Add the counts of this level to those of texts that have ended."""
    if not ended:
        return
    for one in ended:
        one.symbols += (END,) * (level + 1 - len(one.symbols))
    values = [code.parent(one.symbols[:-1]) * code.symbols + END for one in ended]
    for one, count in zip(ended, counts.count(level, np.array(values)).tolist(), strict=True):
        one.total += count


def _continued(
    code: TextCode,
    counts: LevelCounts,
    level: int,
    starts: list[tuple[int, ...]],
    threshold: int,
    begun: dict[tuple[int, ...], Ended],
) -> Iterator[tuple[tuple[int, ...], int]]:
    """The continued prefixes that reach a threshold and are the start of some text, with their counts.

    Texts that end here have their counts beside those of their continuations.
    """
    for at in range(0, len(starts), _PARENTS_AT_ONCE):
        block = starts[at : at + _PARENTS_AT_ONCE]
        supports = counts.supports(level, np.array([code.parent(path) for path in block]))
        for row, path in enumerate(block):
            for symbol in (END, OTHER, NONE):
                if (ending := begun.get((*path, symbol))) is not None:
                    ending.total = int(supports[row, symbol])
        for row, symbol in np.argwhere(supports[:, FIRST_PIECE:] >= threshold).tolist():
            path = (*block[row], FIRST_PIECE + symbol)
            if code.starts_text(path):
                yield path, int(supports[row, FIRST_PIECE + symbol])


def _keeps(tests: TextTests, level: int, one: Ended) -> bool:
    """Whether an ended text is counted on one more level; (other) and (none) always are."""
    copies = level - one.length + 1
    return not one.length or not is_tested(copies) or one.total >= tests.ended(copies)

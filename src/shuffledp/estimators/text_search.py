"""Search for frequent texts that nobody listed, in a tree of prefixes.

The candidates of a level are the prefixes of the level before, continued by every piece, or ended. One product of
matrices counts the messages of the level that are consistent with each (`HashFamily.supports`). The tests of
`TextTests` decide which ones are continued, and which whole texts are reported.

Forged reports can make far more prefixes pass than honest ones: a message whose seed ignores the last piece is
consistent with all continuations of a prefix. If more pass than `TextTests.most_continued`, a continuation is judged by
how far it exceeds the rare continuations of its own prefix, and the threshold of the level is raised until few enough
pass. So time and memory are bounded, and the detection limit tells the price.
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

_COUNTS_AT_ONCE = 1 << 22
"""The counts of continuations that are made together: they take 34 MB for every thread."""

_RARE = 0.05
"""The share of the continuations of a prefix that count as rare."""


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

    prefix: int = 0
    """The largest threshold of continued prefixes."""


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
        passed, threshold = _continued(code, tests, counts, level, continued, threshold, begun)
        if last:
            longest = threshold
            ended += [Ended(path, len(path), total) for path, total in passed]
        else:
            ended = [one for one in ended if _keeps(tests, level, one)]
            starts = [path for path, _ in passed]
            found.prefix = max(found.prefix, threshold)
    for length in range(1, code.levels + 1):
        found.thresholds[length] = tests.whole(length, candidates=found.candidates[length], risk=risk)
    found.thresholds[code.levels] = longest
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
    tests: TextTests,
    counts: LevelCounts,
    level: int,
    starts: list[tuple[int, ...]],
    threshold: int,
    begun: dict[tuple[int, ...], Ended],
) -> tuple[list[tuple[tuple[int, ...], int]], int]:
    """The continued prefixes that reach a threshold and are the start of some text, with their counts.

    Returned with the threshold, which is raised where too many would reach it.
    """
    passed, raised = list[tuple[tuple[int, ...], int]](), False
    for supports, block in _blocks(code, counts, level, starts):
        _count_begun(supports, block, begun)
        pieces = supports[:, FIRST_PIECE:]
        if len(passed) + np.count_nonzero(pieces >= threshold) > tests.most_continued:
            raised = True
            break
        passed += _passed(code, block, pieces, threshold)
    if not raised:
        return passed, threshold
    passed = []
    for supports, block in _blocks(code, counts, level, starts):
        pieces = tests.over_rare(supports[:, FIRST_PIECE:], _RARE)
        known = np.array([count for _, count in passed])
        threshold = _few_enough(np.append(pieces[pieces >= threshold], known), threshold, tests.most_continued)
        passed = [one for one in passed if one[1] >= threshold] + _passed(code, block, pieces, threshold)
        _count_begun(supports, block, begun)
    return passed, threshold


def _count_begun(
    supports: NDArray[np.int64], block: list[tuple[int, ...]], begun: dict[tuple[int, ...], Ended]
) -> None:
    """Give texts that end here their counts, which are beside those of their continuations."""
    for row, path in enumerate(block):
        for symbol in (END, OTHER, NONE):
            if (ending := begun.get((*path, symbol))) is not None:
                ending.total = int(supports[row, symbol])


def _blocks(
    code: TextCode, counts: LevelCounts, level: int, starts: list[tuple[int, ...]]
) -> Iterator[tuple[NDArray[np.int64], list[tuple[int, ...]]]]:
    """The counts of all continuations of some prefixes at a time, as one row for each prefix."""
    size = max(1, _COUNTS_AT_ONCE // code.symbols)
    for at in range(0, len(starts), size):
        block = starts[at : at + size]
        yield counts.supports(level, np.array([code.parent(path) for path in block])), block


def _passed(
    code: TextCode, block: list[tuple[int, ...]], pieces: NDArray[np.int64], threshold: int
) -> list[tuple[tuple[int, ...], int]]:
    """The continuations that reach a threshold and are the start of some text, with their counts."""
    places = np.argwhere(pieces >= threshold).tolist()
    found = (((*block[row], FIRST_PIECE + at), int(pieces[row, at])) for row, at in places)
    return [(path, count) for path, count in found if code.starts_text(path)]


def _few_enough(counts: NDArray[np.int64], threshold: int, most: int) -> int:
    """The smallest threshold, not below the given one, that at most this number of counts reach."""
    if counts.size <= most:
        return threshold
    return max(threshold, int(np.partition(counts, counts.size - most - 1)[counts.size - most - 1]) + 1)


def _keeps(tests: TextTests, level: int, one: Ended) -> bool:
    """Whether an ended text is counted on one more level; (other) and (none) always are."""
    copies = level - one.length + 1
    return not one.length or not is_tested(copies) or one.total >= tests.ended(copies)

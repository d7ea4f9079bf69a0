"""Search for frequent texts that nobody listed, in a tree of prefixes.

The candidates of a level are the prefixes of the level before, continued by every piece, or ended. A prefix that c of n
people hold has c + Bin(n - c, 1 / q) + Poisson(dummies) consistent messages, independently on every level, since every
level has its own seeds. The same people hold a text of k < L pieces on all of the last L - k levels; their counts add
up to a count on `copies` levels,

    copies c + Bin(copies (n - c), 1 / q) + Poisson(copies dummies).

Three tests are thresholds on such counts:

    prefix      a prefix is continued if its count is one that a prefix nobody holds has with probability at most
                1 / (4 pieces). Every continued prefix then has at most 1/4 false continuations on average, whatever
                the data: a third more work at most. The threshold is known before the release.
    ended text  its count on its first 1, 2, 4, ... levels is one that a text nobody holds has with probability at most
                1/64.
    whole text  it is reported if its count on all its levels is one that a text nobody holds has with probability at
                most its part of the risk. All texts of k pieces are a group, and the candidates of a group share the
                part of the group. Their number is known before any count of a whole text is.

Half of the risk is for texts of L pieces, which are most of the candidates; the rest is shared equally by the other
groups, (other) and (none) among them, which are always reported. Tests before the last one may miss a text with a tenth
of beta. docs/proofs/hashed-histogram.md proves detection limits and intervals.

Forged reports can make far more prefixes pass: a message whose seed ignores the last piece is consistent with all
continuations of a prefix. If more pass than `TextTests.most_continued`, a continuation is judged by how far it exceeds
the rare continuations of its own prefix, and the threshold of the level is raised until few enough pass. So time and
memory are bounded, and the detection limit tells the price.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property, lru_cache, partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from shuffledp.estimators.base import first_high
from shuffledp.estimators.supports import Block, HashedValues, exceeds
from shuffledp.histogram.text_code import END, FIRST_PIECE, NONE, OTHER, TextCode
from shuffledp.noise import IntegerDistribution
from shuffledp.noise.binomial import Matches
from shuffledp.noise.compound_poisson import Poisson
from shuffledp.noise.distribution import TAIL, Sum
from shuffledp.progress import Progress, quiet

Prefix = tuple[int, ...]
"""The symbols of a text, as far as they are known."""

FALSE_PER_PREFIX = 0.25
"""The expected number of false continuations of a prefix. Fewer would lose frequent texts, more would cost time."""

FALSE_ENDED = 1 / 64
"""The probability that an ended text that nobody holds is counted on one more level."""

FEWEST_CONTINUED, CONTINUED = 1000, 2
"""The number of prefixes of a level that are continued at least, if they pass their test, and at most, relative to the
expected number for the worst honest data. Without a limit, forged reports could make a search endless."""

EARLY_SHARE = 0.1
"""The part of beta for all tests before the last one, whose thresholds are lower."""

UNREPORTED = 0.5
"""The part of beta for texts that are missed although more people hold them than the bound on unreported texts."""

ALONE = 1 - EARLY_SHARE * UNREPORTED
"""The part of beta for the interval of a single text: 0.05 beta + max(0.45, 0.475) beta + 0.475 beta = beta, since a
miss and an interval that is too low are both a count that is too low.
"""


@dataclass(frozen=True, kw_only=True)
class CopiedValues(HashedValues):
    """The estimator of the people of a value that has the same holders on `copies` levels, from the sum of counts."""

    copies: int = 1

    def estimate(self, supports: NDArray[np.int64]) -> NDArray[np.float64]:
        """The mean of the unbiased estimates of all levels."""
        others = self.messages * self.probability + self.dummies.mean
        return ((supports / self.copies - others) / (1 - self.probability)).astype(np.float64)

    def variance(self, count: int = 0) -> float:
        """The variance of the estimate."""
        return super().variance(count) / self.copies

    def _distribution(self, count: int) -> Sum:
        people = Matches(trials=self.copies * (self.people - count), buckets=self.family.modulus)
        return Sum(people, _poisson(self.dummies.rate * self.copies))

    def _fewest_holders(self, supports: NDArray[np.int64]) -> NDArray[np.int64]:
        return -(-supports // self.copies)

    def _most_holders(self, supports: NDArray[np.int64]) -> NDArray[np.int64]:
        return supports // self.copies

    def _blocks_near(self, supports: NDArray[np.int64]) -> list[Block]:
        return [block for block in self.blocks if self._is_near(supports, block)]

    def _is_near(self, supports: NDArray[np.int64], block: Block) -> bool:
        """Whether counts of a block could have these supports; others are less likely than any beta (Bernstein)."""
        log = -math.log(TAIL)
        reach = log / 3 + math.sqrt((log / 3) ** 2 + 2 * log * block.at_fewest.variance)
        least = self.copies * block.fewest + block.at_most.mean - reach
        most = self.copies * block.most + block.at_fewest.mean + reach
        return bool(((least <= supports) & (supports <= most)).any())


@dataclass(frozen=True, kw_only=True)
class TextTests:
    """The tests for texts of up to `levels` pieces, of `pieces` possible ones; `values` estimates one level."""

    values: HashedValues
    levels: int
    pieces: int

    def copies(self, length: int) -> int:
        """The number of levels on which a text of this number of pieces is counted as a whole."""
        return max(1, self.levels - length)

    def share(self, length: int) -> float:
        """The part of a risk for the texts of this number of pieces; 0 pieces stand for (other) and (none)."""
        return 0.5 if length == self.levels else 0.5 / self.levels

    def counted(self, copies: int) -> CopiedValues:
        """The estimator of counts on several levels."""
        return _copied(self.values, copies)

    def threshold(self, copies: int, risk: float) -> int:
        """The smallest count that a value nobody holds reaches with at most this probability."""
        nobody = self.nobody(copies)
        return first_high(nobody, exceeds(nobody.window.above, risk)) + 1

    def nobody(self, copies: int) -> IntegerDistribution:
        """The count of a value that nobody holds."""
        return _others(self.values, copies, 0)

    @cached_property
    def prefix(self) -> int:
        """The threshold for a prefix to be continued."""
        return self.threshold(1, FALSE_PER_PREFIX / self.pieces)

    def ended(self, copies: int) -> int:
        """The threshold for an ended text to be counted on one more level."""
        return self.threshold(copies, FALSE_ENDED)

    def whole(self, length: int, *, candidates: int, risk: float) -> int:
        """The threshold for a text of this number of pieces to be reported."""
        return self.threshold(self.copies(length), self.share(length) * risk / max(1, candidates))

    # misses -------------------------------------------------------------------------------------------------------

    def miss(self, count: int, *, copies: int, threshold: int) -> float:
        """The probability that a value with this number of people is below a threshold."""
        return _others(self.values, copies, count).window.below(threshold - copies * count)

    def early_miss(self, count: int, prefix: int | None = None) -> float:
        """The probability, at most, that a text with this number of people is lost before its last test.

        `prefix` is a raised threshold for a prefix to be continued.
        """
        prefixes = (self.levels - 1) * self.miss(count, copies=1, threshold=max(self.prefix, prefix or 0))
        ended = (
            self.miss(count, copies=copies, threshold=self.ended(copies))
            for copies in range(1, self.levels - 1)
            if is_tested(copies)
        )
        return min(1.0, prefixes + sum(ended))

    def limit(
        self, thresholds: Mapping[int, int], beta: float, *, people: int | None = None, prefix: int | None = None
    ) -> int:
        """The detection limit for these thresholds of whole texts, by the number of pieces, and `prefix` of prefixes.

        A text with this number of people is reported with probability at least 1 - beta; with `people`, so are all such
        texts of this number of people at once.
        """
        found = self._first(partial(self.early_miss, prefix=prefix), EARLY_SHARE * beta, people, start=1)
        for length in sorted(thresholds, reverse=True):  # the longest texts have the highest limit
            chance = partial(self.miss, copies=self.copies(length), threshold=thresholds[length])
            found = self._first(chance, (1 - EARLY_SHARE) * beta, people, start=found)
        return found

    def _first(self, chance: Callable[[int], float], beta: float, people: int | None, *, start: int) -> int:
        """The smallest count from a start on that is lost with at most this probability; one more than all people at
        most.

        Of all people, at most people / count texts have this count. The chance falls with the count.
        """

        def fails(count: int) -> bool:
            return (1.0 if people is None else max(1.0, people / count)) * chance(count) > beta

        counts = range(start, self.values.people + 1)
        return start + bisect_left(counts, True, key=lambda count: not fails(count))

    def planting_messages(self, thresholds: Mapping[int, int]) -> int:
        """The fewest forged messages that in about every second case make a text appear that nobody holds.

        A forger knows all thresholds, and adds to the easiest text the messages that are missing on average.
        """

        def needed(length: int) -> float:
            prefixes = min(length, self.levels - 1) * (self.prefix - self.nobody(1).mean)
            return prefixes + thresholds[length] - self.nobody(self.copies(length)).mean

        return math.ceil(min(map(needed, thresholds)))

    # before the release -------------------------------------------------------------------------------------------

    @cached_property
    def most_prefixes(self) -> float:
        """An upper bound on the expected number of continued prefixes of a level, for any data.

        A prefix with c people is continued with a probability of at most P(count of nobody >= threshold - c). The sum
        over all prefixes is at most n times the largest ratio of this to c. False ones are at most a quarter of the
        prefixes of the level before.
        """
        window = self.nobody(1).window
        counts = np.arange(1, max(2, self.prefix + 1 - window.first))  # larger ones pass for certain: the ratio falls
        chances = np.array([window.above(self.prefix - 1 - count) for count in counts.tolist()])
        held = self.values.people * float((chances / counts).max())
        return held / (1 - FALSE_PER_PREFIX)

    @cached_property
    def most_continued(self) -> int:
        """The most prefixes of a level that are continued; honest reports have fewer."""
        return max(FEWEST_CONTINUED, math.ceil(CONTINUED * self.most_prefixes))

    def over_rare(self, supports: NDArray[np.int64], share: float) -> NDArray[np.int64]:
        """Counts without the excess of each row's rare ones, which forged messages for the whole row have made."""
        usual = self.values.people * self.values.probability + self.values.dummies.mean
        rare = np.quantile(supports, share, axis=1, method="lower", keepdims=True)
        return np.asarray(supports - np.maximum(0, rare - math.ceil(usual)))

    def expected_candidates(self, length: int) -> int:
        """An upper bound on the expected number of such texts that are compared with a threshold.

        There are no more texts of a number of pieces than combinations of pieces.
        """
        every = float(self.pieces) ** min(length, 32)
        if length < self.levels:
            return math.ceil(min(every, self.most_prefixes))
        return math.ceil(min(every, self.most_prefixes * self.pieces))


def is_tested(copies: int) -> bool:
    """Whether an ended text is tested after this number of levels: more tests than powers of two gain little."""
    return copies & (copies - 1) == 0


@lru_cache(maxsize=256)
def _poisson(rate: float) -> Poisson:
    return Poisson(rate=rate)


@lru_cache(maxsize=64)
def _copied(one: HashedValues, copies: int) -> CopiedValues:
    return CopiedValues(**{each.name: getattr(one, each.name) for each in fields(one)}, copies=copies)


@lru_cache(maxsize=4096)
def _others(one: HashedValues, copies: int, count: int) -> IntegerDistribution:
    """The distribution of consistent messages that are not of the people who hold a value."""
    return _copied(one, copies)._distribution(count)


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
    """A text that has ended, its path so far, and the sum of its counts since then."""

    symbols: Prefix
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
    starts: list[Prefix] = [()]
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


def _just_ended(level: int, starts: list[Prefix]) -> dict[Prefix, Ended]:
    """The texts that can end on this level by their path; on the first level (other) and (none)."""
    paths = [(OTHER,), (NONE,)] if not level else [(*path, END) for path in starts]
    return {path: Ended(path, level, 0) for path in paths}


def _count_ended(code: TextCode, counts: LevelCounts, level: int, ended: list[Ended]) -> None:
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
    starts: list[Prefix],
    threshold: int,
    begun: dict[Prefix, Ended],
) -> tuple[list[tuple[Prefix, int]], int]:
    """The continued prefixes that reach a threshold, raised where too many would, and start some text; and it."""
    passed, raised = list[tuple[Prefix, int]](), False
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


def _count_begun(supports: NDArray[np.int64], block: list[Prefix], begun: dict[Prefix, Ended]) -> None:
    """Texts that end here have their counts beside those of their continuations."""
    for row, path in enumerate(block):
        for symbol in (END, OTHER, NONE):
            if (ending := begun.get((*path, symbol))) is not None:
                ending.total = int(supports[row, symbol])


def _blocks(
    code: TextCode, counts: LevelCounts, level: int, starts: list[Prefix]
) -> Iterator[tuple[NDArray[np.int64], list[Prefix]]]:
    """The counts of all continuations of some prefixes at a time, one row for each prefix."""
    size = max(1, _COUNTS_AT_ONCE // code.symbols)
    for at in range(0, len(starts), size):
        block = starts[at : at + size]
        yield counts.supports(level, np.array([code.parent(path) for path in block])), block


def _passed(code: TextCode, block: list[Prefix], pieces: NDArray[np.int64], threshold: int) -> list[tuple[Prefix, int]]:
    places = np.argwhere(pieces >= threshold).tolist()
    found = (((*block[row], FIRST_PIECE + at), int(pieces[row, at])) for row, at in places)
    return [(path, count) for path, count in found if code.starts_text(path)]


def _few_enough(counts: NDArray[np.int64], threshold: int, most: int) -> int:
    """The smallest threshold, not below the given one, that at most this number of counts reach."""
    if counts.size <= most:
        return threshold
    return max(threshold, int(np.partition(counts, counts.size - most - 1)[counts.size - most - 1]) + 1)


def _keeps(tests: TextTests, level: int, one: Ended) -> bool:
    """Whether an ended text is counted on one more level."""
    copies = level - one.length + 1
    return not one.length or not is_tested(copies) or one.total >= tests.ended(copies)
